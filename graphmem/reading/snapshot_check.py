"""Checking the stored state of an owner against the observations."""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from graphmem.checking.audit import Audit
from graphmem.checking.stretch import Report
from graphmem.context import Context
from graphmem.database.jobs import single_flight, within
from graphmem.neo4j_local.private_files import write_private


async def stored_types(context: Context) -> tuple[list[str], list[str], int]:
    """Return the types of entities and of relationships of the actor's owner, and how many there are."""
    return await context.graph.only("audit.types", tuple[list[str], list[str], int])


async def audit(
    context: Context, *, fix: bool, deep: bool = False, progress: Callable[[int], None] | None = None,
    place: Path | None = None,
) -> Report:  # fmt: skip
    """Check all data of the actor's owner; wait while another check of it runs.

    ``fix`` repairs what differs. ``deep`` folds every observation in Python, in place of a reduction in the
    database. ``progress`` is called with the number of things that were checked since the last call. The file
    ``place`` says how far the check came: where a process was killed, and no other check ran since then, the
    next one goes on there.
    """
    state = None
    if place is not None:
        with contextlib.suppress(OSError, ValueError):
            state = json.loads(await asyncio.to_thread(place.read_text))
    report, *_ = await audit_within(
        context, math.inf, state, fix=fix, deep=deep, progress=progress, place=place
    )
    return report


async def audit_within(
    context: Context, seconds: float, state: dict[str, Any] | None = None, *, fix: bool, deep: bool = False,
    progress: Callable[[int], None] | None = None, place: Path | None = None,
) -> tuple[Report, int, dict[str, Any] | None]:  # fmt: skip
    """Check the data of the actor's owner for so many seconds, one page at least; see :func:`audit`.

    Returns its report, the number of all entities and relationships, and where it goes on as ``state``, None
    at the end. Raises ServiceBusy: another check of the owner runs, and the time for this one is limited.
    """
    services, owner = context.services, context.actor.owner
    former = "" if state is None else state["holder"]
    async with single_flight(services.database, owner, former, waits=seconds == math.inf) as lease:
        if place is not None and lease.last_holder != former:
            state = None
        if fix and state is None:
            await services.database.write("audit.regain", owner)
        entities, relationships, total = await stored_types(context)
        every = Audit(services.database, owner, services.writers, fix=fix, deep=deep, progress=progress)
        if state is not None:
            every.resume(state)
            if progress is not None:
                progress(every.report.checked)

        async def pages() -> AsyncIterator[None]:
            async for _ in every.pages(entities, relationships):
                if place is not None:
                    text = json.dumps({**every.state, "holder": lease.holder})
                    await asyncio.to_thread(write_private, place, text)
                yield

        lease.is_kept = not await within(pages(), seconds)
        if place is not None:
            await asyncio.to_thread(place.unlink, missing_ok=True)
    going_on = {**every.state, "holder": lease.holder} if lease.is_kept else None
    return every.report, total, going_on
