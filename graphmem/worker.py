"""Work that nobody waits for: entities are folded again after the schema of their type has changed.

Whoever reads or writes a stale entity has it folded first, so nothing depends on this; it only spares the
next reader the wait, and counters and searches the stale ones. It goes on where another process, or the one
before it, left off.
"""

from __future__ import annotations

import asyncio

import structlog

from graphmem.errors import GraphmemError
from graphmem.registry import Services

INTERVAL = 2.0
"""Seconds between two looks at what waits."""
STRETCH = 200
"""Entities that are looked at, and folded again, at once."""
WAITING = 20
"""Types that are taken at one look."""

_log = structlog.get_logger("graphmem.worker")


async def work(services: Services) -> None:
    """Do what waits, again and again, for as long as a service runs."""
    while True:
        await asyncio.sleep(INTERVAL)
        try:
            await work_once(services)
        except GraphmemError as exc:
            _log.warning("the worker goes on later", reason=str(exc)[:500])


async def work_once(services: Services) -> int:
    """Fold again what waits; return how many entities that were."""
    (row,) = await services.graph.read("schema.pending", None, limit=WAITING)
    done = 0
    for owner, kind, projection in row["pending"]:
        for live in (True, False):
            done += await _fold(services, owner, kind, live, projection)
        await services.graph.write("schema.folded", owner, type=kind, projection=projection)
        _log.info("folded again", owner=owner, type=kind, entities=done)
    return done


async def _fold(services: Services, owner: str, kind: str, live: bool, projection: str | None) -> int:
    done, after = 0, ""
    while after is not None:
        (row,) = await services.graph.read(
            "schema.unfolded", owner, type=kind, live=live, projection=projection, after=after, limit=STRETCH
        )
        if row["entities"]:
            await services.writers.refold(owner, row["entities"])
            done += len(row["entities"])
        after = row["last"]
    return done
