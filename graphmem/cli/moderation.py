"""``graphmem sandbox``: decide reports of abuse, and wipe a public sandbox, on its own machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from graphmem.cli.command_groups import group_of
from graphmem.cli.session import Draw, Session, command
from graphmem.cli.tables import List, add
from graphmem.errors import ConfigurationInvalid
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.context import Services
    from graphmem.sandbox.reports import Report

T = TypeVar("T")
SHOWN_LIMIT = 200
"""Reports that one list shows."""
Status = Literal["received", "resolved", "rejected"]
ReportId = Annotated[str, typer.Argument(metavar="ID", help="Id of the report, as the list has it.")]
Notes = Annotated[str | None, typer.Option(help="What whoever sent the report may read.")]

app = typer.Typer(no_args_is_help=True)
reports = typer.Typer(no_args_is_help=True)
app.add_typer(
    reports,
    name="reports",
    help="List reports of abuse, and decide them.",
    cls=group_of("sandbox", "reports"),
)


def _on_sandbox(session: Session, work: Callable[[Services], Awaitable[T]]) -> T:
    """Run ``work`` on the sandbox of this machine; ConfigurationInvalid: the settings are those of none."""
    from graphmem.cli.in_process import on_services

    chosen = session.local_settings()
    if not chosen.sandbox:
        raise ConfigurationInvalid(
            "these settings are those of no sandbox: give --env sandbox, or set GRAPHMEM_SANDBOX",
            setting="GRAPHMEM_SANDBOX",
        )
    return on_services(chosen, work)


def _report_row(report: Report) -> dict[str, Any]:
    decided_at = report.decided_at and times.render(report.decided_at)
    return {**report._asdict(), "submitted_at": times.render(report.submitted_at), "decided_at": decided_at}


async def _wiped(services: Services) -> dict[str, Any]:
    from graphmem.sandbox.wiping import wipe_now

    return {"erased_owners": await wipe_now(services), "seeded": True}


@command(app, "reset")
def reset_sandbox(
    session: Session, yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False
) -> dict[str, Any]:
    """Wipe everything that visitors stored, and store the first world again. Services may run meanwhile.

    Reports stay.

    \b
    Example:
      graphmem --env sandbox sandbox reset --yes
    """
    if not yes:
        typer.confirm("Wipe everything in this sandbox?", abort=True, err=True)
    return _on_sandbox(session, _wiped)


@command(reports, "list")
def list_reports(
    session: Session,
    status: Annotated[Status, typer.Option(help="Only reports of this status.")] = "received",
) -> tuple[dict[str, Any], Draw]:
    """List reports of abuse, oldest first: by default those that wait to be decided.

    \b
    Example:
      graphmem --env sandbox sandbox reports list
    """
    from graphmem.sandbox.reports import Reports

    listed = _on_sandbox(session, lambda services: Reports(services.database).all(status, SHOWN_LIMIT))
    rows = [_report_row(report) for report in listed]

    def draw() -> List | str:
        table = List(None, ("id", "submitted", "reason", "entity", "description"))
        for row in rows:
            about = row["entity_id"] or row["url"] or ""
            add(table, row["id"], row["submitted_at"], row["reason"], about, row["description"][:200])
        return table if rows else f"no report is {status}"

    return {"reports": rows}, draw


@command(reports, "show")
def show_report(session: Session, report_id: ReportId) -> dict[str, Any]:
    """Show one report.

    \b
    Example:
      graphmem --env sandbox sandbox reports show rep_0123456789abcdef01234567
    """
    from graphmem.sandbox.reports import Reports

    return _report_row(_on_sandbox(session, lambda services: Reports(services.database).get(report_id)))


@command(reports, "confirm")
def confirm_report(
    session: Session,
    report_id: ReportId,
    notes: Notes = None,
    everything: Annotated[bool, typer.Option("--everything", help="Wipe the whole sandbox.")] = False,
) -> dict[str, Any]:
    """Confirm a report. The entity that it names is erased at once, with its relationships and files.

    What the first world says of the entity is stored again. A file that also says something about others
    stays, and kept_sources names it. If the report names no entity, or with --everything, the whole sandbox
    is wiped.

    \b
    Example:
      graphmem --env sandbox sandbox reports confirm rep_0123456789abcdef01234567 --notes "removed"
    """
    from graphmem.sandbox.reports import Reports
    from graphmem.sandbox.wiping import reset_entity

    async def work(services: Services) -> dict[str, Any]:
        reports = Reports(services.database)
        entity_id = (await reports.get(report_id)).entity_id
        if everything or entity_id is None:
            done = await _wiped(services)
        else:
            erased = await reset_entity(services, entity_id)
            done = {"erased_entities": erased.entities, "kept_sources": erased.kept_sources}
        return {**_report_row(await reports.decide(report_id, "resolved", notes)), **done}

    return _on_sandbox(session, work)


@command(reports, "reject")
def reject_report(session: Session, report_id: ReportId, notes: Notes = None) -> dict[str, Any]:
    """Reject a report: nothing is wiped.

    \b
    Example:
      graphmem --env sandbox sandbox reports reject rep_0123456789abcdef01234567 --notes "no abuse"
    """
    from graphmem.sandbox.reports import Reports

    return _report_row(
        _on_sandbox(session, lambda services: Reports(services.database).decide(report_id, "rejected", notes))
    )
