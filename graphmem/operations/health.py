"""Checking what is kept of an owner against what was observed."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments
from graphmem.checking.audit import Audit, Report
from graphmem.registry import Context, Scope, operation


class CheckSnapshots(Arguments):
    """What ``server.check_snapshots`` takes."""

    auto_fix: bool = Field(default=False, description="Whether to set right what is not as observed.")


class Difference(TypedDict):
    """One part that is kept otherwise than the observations say."""

    what: str
    stored: Any
    derived: Any


class StaleSnapshot(TypedDict):
    """What is not right of one entity, relationship or counter, named by ``id``."""

    id: str
    differences: list[Difference]


class SnapshotHealth(TypedDict):
    """What a check found.

    ``checked`` counts entities and relationships, ``stale`` those that are not as observed; the first 200
    of them are told. ``counts_compared`` is false where something was written during the check: counters
    and the state hash are then left for another time.
    """

    healthy: bool
    message: str
    checked: int
    unchecked: int
    stale: int
    fixed: int
    counts_compared: bool
    stale_snapshots: list[StaleSnapshot]


@operation(
    "server.check_snapshots",
    "POST /health_check_snapshots",
    tool="health_check_snapshots",
    command="snapshots check",
    scope=Scope.WRITE,
    sandbox=False,
)
async def check_snapshots(context: Context, arguments: CheckSnapshots) -> SnapshotHealth:
    """Derive every snapshot again from its observations, and compare it with the one that is kept.

    Names, identifiers, liveness, edges, counters and the state hash are compared as well. `auto_fix` sets
    right what differs; nothing that was observed is ever changed. Writes may go on meanwhile.
    """
    report = await audit(context, fix=arguments.auto_fix)
    return told(report)


async def audit(context: Context, *, fix: bool, deep: bool = False, progress: Any = None) -> Report:
    """Check all that the actor's owner has.

    Args:
        fix: set right what differs.
        deep: fold every observation again, instead of having the database reduce them.
        progress: is told how many were checked since it was told last.
    """
    services = context.services
    kinds = await context.graph.one("audit.types")
    assert kinds is not None
    owner = context.actor.owner
    every = Audit(services.graph, owner, services.writers, fix=fix, deep=deep, progress=progress)
    return await every.run(kinds["entities"], kinds["relationships"])


def told(report: Report) -> SnapshotHealth:
    """Return the answer for a report."""
    left = report.stale_count - report.fixed
    if report.unchecked:
        message = f"{report.unchecked} changed whenever they were looked at: check again when less is written"
    elif not report.stale_count:
        message = "everything is as observed"
    elif left:
        message = f"{left} of {report.checked} are not as observed: auto_fix sets them right"
    else:
        message = f"{report.fixed} were not as observed and have been set right"
    return {
        "healthy": not left and not report.unchecked,
        "message": message,
        "checked": report.checked,
        "unchecked": report.unchecked,
        "stale": report.stale_count,
        "fixed": report.fixed,
        "counts_compared": report.settled,
        "stale_snapshots": [
            {
                "id": subject_id,
                "differences": [
                    {"what": one.what, "stored": one.stored, "derived": one.derived} for one in differences
                ],
            }
            for subject_id, differences in report.stale.items()
        ],
    }
