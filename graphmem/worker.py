"""Work that nobody waits for: entities are folded again after the schema of their type has changed.

Whoever reads or writes a stale entity has it folded first, so nothing depends on this; it only spares the
next reader the wait, and counters and searches the stale ones. It goes on where another process, or the one
before it, left off.
"""

from __future__ import annotations

import asyncio
import random

import structlog

from graphmem.errors import DatabaseFull, GraphmemError, TransactionTooLarge
from graphmem.registry import Services

INTERVAL = 2.0
"""Seconds between two looks at what waits."""
STRETCH = 200
"""Entities that are looked at, and folded again, at once."""
WAITING = 1_000
"""Types that are looked at."""
TAKEN = 20
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
        except Exception:
            _log.exception("unexpected fault of the worker: it goes on later")


async def work_once(services: Services) -> int:
    """Fold again some of what waits; return how many entities that were.

    Which types are taken is drawn: one that fails again and again keeps no other from its turn.
    """
    (row,) = await services.graph.read("schema.pending", None, limit=WAITING)
    pending = row["pending"]
    done = 0
    for owner, kind, projection in random.sample(pending, min(len(pending), TAKEN)):
        try:
            folded = 0
            for live in (True, False):
                folded += await _fold(services, owner, kind, live, projection)
            await services.graph.write("schema.folded", owner, type=kind, projection=projection)
            _log.info("folded again", owner=owner, type=kind, entities=folded)
            done += folded
        except GraphmemError as exc:
            _log.warning("a type is folded again later", owner=owner, type=kind, reason=str(exc)[:500])
    return done


async def _fold(services: Services, owner: str, kind: str, live: bool, projection: str | None) -> int:
    done, after = 0, ""
    while after is not None:
        (row,) = await services.graph.read(
            "schema.unfolded", owner, type=kind, live=live, projection=projection, after=after, limit=STRETCH
        )
        if row["entities"]:
            await _refold(services, owner, row["entities"])
            done += len(row["entities"])
        after = row["last"]
    return done


async def _refold(services: Services, owner: str, entity_ids: list[str]) -> None:
    """Fold some entities again; in halves, where their values are too large to be held at once."""
    try:
        await services.writers.refold(owner, entity_ids)
    except (DatabaseFull, TransactionTooLarge):
        if len(entity_ids) < 2:
            raise
        half = len(entity_ids) // 2
        for some in (entity_ids[:half], entity_ids[half:]):
            await _refold(services, owner, some)
