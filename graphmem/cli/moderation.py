"""``graphmem sandbox``: decide reports of abuse, and wipe a public sandbox, on its own machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import typer

from graphmem.cli.session import Draw, Session
from graphmem.cli.tables import List
from graphmem.errors import ConfigurationInvalid
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.context import Services
    from graphmem.sandbox.reports import Report, Reports

T = TypeVar("T")
SHOWN_LIMIT = 200  # reports that one list shows
Status = Literal["received", "resolved", "rejected"]


def _on_sandbox(session: Session, work: Callable[[Services], Awaitable[T]]) -> T:
    """Run ``work`` on the sandbox of this machine.

    Raises ConfigurationInvalid: the settings are those of none.
    """
    from graphmem.cli.in_process import on_services

    chosen = session.local_settings()
    if not chosen.sandbox:
        raise ConfigurationInvalid(
            "these settings are those of no sandbox: give --env sandbox, or set GRAPHMEM_SANDBOX",
            setting="GRAPHMEM_SANDBOX",
        )
    return on_services(chosen, work)


def _on_reports(session: Session, work: Callable[[Reports], Awaitable[T]]) -> T:
    from graphmem.sandbox.reports import Reports

    return _on_sandbox(session, lambda services: work(Reports(services.database)))


def _report_row(report: Report) -> dict[str, Any]:
    decided_at = report.decided_at and times.render(report.decided_at)
    return {**report._asdict(), "submitted_at": times.render(report.submitted_at), "decided_at": decided_at}


async def _wiped(services: Services) -> dict[str, Any]:
    from graphmem.sandbox.wiping import wipe_now

    return {"erased_owners": await wipe_now(services), "seeded": True}


def reset_sandbox(session: Session, yes: bool = False) -> dict[str, Any]:
    if not yes:
        typer.confirm("Wipe everything in this sandbox?", abort=True, err=True)
    return _on_sandbox(session, _wiped)


def list_reports(session: Session, status: Status = "received") -> tuple[dict[str, Any], Draw]:
    listed = _on_reports(session, lambda reports: reports.all(status, SHOWN_LIMIT))
    rows = [_report_row(report) for report in listed]

    def draw() -> List | str:
        cells = (
            (row["id"], row["submitted_at"], row["reason"], row["entity_id"] or row["url"] or "",
             row["description"][:200])
            for row in rows
        )  # fmt: skip
        columns = "id", "submitted", "reason", "entity", "description"
        return List(columns, cells) if rows else f"no report is {status}"

    return {"reports": rows}, draw


def show_report(session: Session, report_id: str) -> dict[str, Any]:
    return _report_row(_on_reports(session, lambda reports: reports.get(report_id)))


def confirm_report(
    session: Session, report_id: str, notes: str | None = None, everything: bool = False
) -> dict[str, Any]:
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


def reject_report(session: Session, report_id: str, notes: str | None = None) -> dict[str, Any]:
    return _report_row(_on_reports(session, lambda reports: reports.decide(report_id, "rejected", notes)))
