"""A public sandbox for its visitors: its terms, and reports of abuse."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from graphmem import tables
from graphmem.arguments import Arguments, NotBlank, Nothing
from graphmem.auth.rates import meter
from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.model import ids, times
from graphmem.reading import answers
from graphmem.registry import REGISTRY, Scope, operation
from graphmem.sandbox.reports import Reports, redacted
from graphmem.sandbox.terms import Terms, terms_of

DESCRIPTION_LIMIT: Final = 8_000  # characters of a description that are kept
CHECK_DAYS: Final = 1  # days after which it makes sense to ask what became of a report


def _check_sandbox(context: Context) -> None:
    if not context.services.settings.sandbox:
        raise NotFound("this service is no public sandbox: GET /server-info says what it is")


class TermsAnswer(Terms):
    """The terms, and the requests that answer 403 SANDBOX_DISABLED by method and path, such as POST /undo."""

    closed_requests: list[str]


@operation("sandbox.terms", Scope.READ)
async def sandbox_terms(context: Context, arguments: Nothing) -> TermsAnswer:
    """Return the terms of this public sandbox: what it offers, what it refuses, and when it is wiped."""
    _check_sandbox(context)
    closed = {route for each in REGISTRY.values() if not each.sandbox for route in each.routes}
    # Those of REST alone stand in its own table.
    rows = tables.read("api/rest_routes")["routes"]
    closed |= {(row["method"], row["path"]) for row in rows if not row.get("sandbox", True)}
    requests = sorted(map(" ".join, closed))
    return {**terms_of(context.services.settings, times.now()), "closed_requests": requests}


class ReportAbuse(Arguments):
    reason: Literal["abuse", "pii_leak", "illegal_content", "spam", "bug", "other"]
    description: Annotated[str, Field(min_length=1, max_length=100_000), NotBlank] = Field(
        description="What you saw, and where. Personal data in it is replaced, and "
        f"{DESCRIPTION_LIMIT} characters are kept."
    )
    entity_id: Annotated[str, Field(pattern=f"^{ids.ENTITY_ID.pattern}$")] | None = None
    url: Annotated[str, Field(max_length=2_000)] | None = None
    reporter_contact: Annotated[str, Field(max_length=200)] | None = None
    metadata: dict[str, Any] | None = None


class RedactionPreview(TypedDict):
    """What was stored of a description.

    ``fields_redacted_count`` counts what rules found to be personal data, ``backstop_hits`` what only looked
    like it and was removed as well.
    """

    applied: bool
    redacted_description: str
    fields_redacted_count: int
    backstop_hits: int


class FiledReport(TypedDict):
    """A report. ``access_token`` is in no later answer; with it its sender asks what became of the report."""

    report_id: str
    access_token: str
    status: str
    submitted_at: str
    next_check_suggested_at: str
    redaction_preview: RedactionPreview


@operation("sandbox.report", Scope.WRITE)
async def report_abuse(context: Context, arguments: ReportAbuse) -> FiledReport:
    """Report abuse of this public sandbox to whoever runs it.

    When it is confirmed, the entity that it is about is erased at once, or everything.
    """
    _check_sandbox(context)
    now = times.now()
    # The rules take longer the longer a text is.
    redaction = redacted(arguments.description[:DESCRIPTION_LIMIT])
    report_id, token = await Reports(context.services.database).add(
        arguments.reason, redaction, entity_id=arguments.entity_id,
        url=None if arguments.url is None else redacted(arguments.url).text,
        contact=arguments.reporter_contact, address=meter().address, now=now,
    )  # fmt: skip
    return {
        "report_id": report_id,
        "access_token": token,
        "status": "received",
        "submitted_at": times.render(now),
        "next_check_suggested_at": times.render(now + CHECK_DAYS * times.DAY),
        "redaction_preview": {
            "applied": bool(redaction.replaced or redaction.suspicious),
            "redacted_description": redaction.text,
            "fields_redacted_count": redaction.replaced,
            "backstop_hits": redaction.suspicious,
        },
    }


class AskReport(Arguments):
    access_token: str = Field(min_length=1, max_length=200)


class ReportStatus(TypedDict):
    """What became of a report. ``resolution_notes`` are those of whoever decided it."""

    report_id: str
    status: str
    reason: str
    submitted_at: str
    decided_at: str | None
    resolution_notes: str | None


@operation("sandbox.report_status", Scope.READ)
async def report_status(context: Context, arguments: AskReport) -> ReportStatus:
    """Return what became of a report, for whoever has its access token."""
    _check_sandbox(context)
    report = await Reports(context.services.database).of_token(arguments.access_token)
    return {**answers.of_row(ReportStatus, report), "report_id": report.id, "resolution_notes": report.notes}
