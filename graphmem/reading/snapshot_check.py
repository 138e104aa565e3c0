"""Checking the stored state of an owner against the observations."""

import math
from collections.abc import Callable
from typing import Any

from graphmem.checking.audit import Audit
from graphmem.checking.stretch import Report
from graphmem.context import Context
from graphmem.database.jobs import single_flight, within


async def stored_types(context: Context) -> tuple[list[str], list[str], int]:
    """Return the types of entities and of relationships of the actor's owner, and how many there are."""
    return await context.graph.only("audit.types", tuple[list[str], list[str], int])


async def audit(
    context: Context, *, fix: bool, deep: bool = False, progress: Callable[[int], None] | None = None
) -> Report:
    """Check all data of the actor's owner; wait while another check of it runs.

    ``fix`` repairs what differs. ``deep`` folds every observation in Python, in place of a reduction in the
    database. ``progress`` is called with the number of things that were checked since the last call.
    """
    report, *_ = await audit_within(context, math.inf, fix=fix, deep=deep, progress=progress)
    return report


async def audit_within(
    context: Context, seconds: float, state: dict[str, Any] | None = None, *, fix: bool, deep: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Report, int, dict[str, Any] | None]:  # fmt: skip
    """Check the data of the actor's owner for so many seconds, one page at least; see :func:`audit`.

    Returns its report, the number of all entities and relationships, and where it goes on as ``state``, None
    at the end. Raises ServiceBusy: another check of the owner runs, and the time for this one is limited.
    """
    services, owner = context.services, context.actor.owner
    former = "" if state is None else state["holder"]
    async with single_flight(services.database, owner, former, waits=seconds == math.inf) as lease:
        if fix and state is None:
            await services.database.write("audit.regain", owner)
        entities, relationships, total = await stored_types(context)
        every = Audit(services.database, owner, services.writers, fix=fix, deep=deep, progress=progress)
        if state is not None:
            every.resume(state)
        lease.is_kept = not await within(every.pages(entities, relationships), seconds)
    going_on = {**every.state, "holder": lease.holder} if lease.is_kept else None
    return every.report, total, going_on
