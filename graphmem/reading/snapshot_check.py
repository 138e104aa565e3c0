"""Checking the stored state of an owner against the observations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from graphmem.checking.audit import Audit
from graphmem.checking.report import Report
from graphmem.context import Context
from graphmem.database.jobs import single_flight, within


class StoredTypes(NamedTuple):
    """The row of ``audit/types.cypher``; ``total`` counts entities and relationships."""

    entities: list[str]
    relationships: list[str]
    total: int


class PartialCheck(NamedTuple):
    """How far a check has come: its report, and where it goes on; ``state`` is None at the end."""

    report: Report
    total: int
    state: dict[str, Any] | None


async def stored_types(context: Context) -> StoredTypes:
    """Return the types of which the actor's owner has anything."""
    return await context.graph.only("audit.types", StoredTypes)


async def audit(
    context: Context, *, fix: bool, deep: bool = False, progress: Callable[[int], None] | None = None
) -> Report:
    """Check all data of the actor's owner; wait while another check of it runs.

    Args:
        fix: repair what differs.
        deep: fold every observation in Python, in place of a reduction in the database.
        progress: called with the number of things that were checked since the last call.
    """
    return (await audit_within(context, math.inf, fix=fix, deep=deep, progress=progress)).report


async def audit_within(
    context: Context, seconds: float, state: dict[str, Any] | None = None, *, fix: bool, deep: bool = False,
    progress: Callable[[int], None] | None = None,
) -> PartialCheck:  # fmt: skip
    """Check the data of the actor's owner for so many seconds, one page at least; see :func:`audit`.

    Args:
        state: where an earlier part of the check ended.

    Raises:
        ServiceBusy: another check of the owner runs, and the time for this one is limited.
    """
    services, owner = context.services, context.actor.owner
    former = "" if state is None else state["holder"]
    async with single_flight(services.database, owner, former, waits=seconds == math.inf) as lease:
        if fix and state is None:
            await services.database.write("audit.regain", owner)
        types = await stored_types(context)
        every = Audit(services.database, owner, services.writers, fix=fix, deep=deep, progress=progress)
        if state is not None:
            every.resume(state)
        lease.is_kept = not await within(every.pages(types.entities, types.relationships), seconds)
    going_on = {**every.state, "holder": lease.holder} if lease.is_kept else None
    return PartialCheck(every.report, types.total, going_on)
