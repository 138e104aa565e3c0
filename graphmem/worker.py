"""Work that nobody waits for: folding again after a change of schema, and what entities mean.

Whoever reads or writes a stale entity has it folded first, so nothing depends on that; it only spares the
next reader the wait, and counters and searches the stale ones. Vectors that are in no index yet are compared
one by one; here they are put into it, many at once. What has no vector of the model in use is given one.
All of it goes on where another process, or the one before it, left off.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from graphmem.database.halving import in_halves
from graphmem.embedding import meaning
from graphmem.embedding.meaning import Vector
from graphmem.errors import EmbeddingRefused, GraphmemError
from graphmem.registry import Services

INTERVAL = 2.0
"""Seconds between two looks at what waits."""
STRETCH = 200
"""Entities that are looked at, and folded again, at once."""
WAITING = 1_000
"""Types that are looked at."""
TAKEN = 20
"""Types that are taken at one look."""
PLACED = 1_000
"""Vectors that are put into the index by one statement. Each makes a part of the index: few large ones are
searched sooner, and to merge small ones takes most of what the index costs."""
UNDERSTOOD = 64
"""Entities whose vectors are asked for at once."""

WORK = {"work_once": "fold", "understand_once": "vector", "place_once": "index"}
"""Kinds of work, as they are counted."""

FULL = {"understand_once": UNDERSTOOD, "place_once": PLACED}
"""How much at once means that there is likely more."""

_log = structlog.get_logger("graphmem.worker")


async def work(services: Services) -> None:
    """Do what waits, again and again, for as long as a service runs.

    The model of the service that was started last is the one in use: those of others, whose workers would
    otherwise undo its work, rest.
    """
    failed = False
    while True:
        try:
            await claim(services)
            break
        except GraphmemError as exc:
            _later(failed, "claim", exc)
            failed = True
            await asyncio.sleep(INTERVAL)
    await asyncio.gather(*(_again(services, what) for what in (work_once, understand_once, place_once)))


async def claim(services: Services) -> None:
    """Have every entity be given a vector of the model of this process."""
    model = services.embedder.model
    (row,) = await services.database.write("meaning.claim", None, model=model)
    if row["before"] not in (None, model):
        _log.info("another model is in use: all vectors are made anew", model=model, before=row["before"])


async def _again(services: Services, what: Callable[[Services], Awaitable[int]]) -> None:
    """Do one kind of work; while there is more of it, half of the time."""
    failed = False
    while True:
        start = time.monotonic()
        done = 0
        try:
            done = await what(services)
            services.metrics.worked.labels(WORK[what.__name__]).inc(done)
            failed = False
        except GraphmemError as exc:
            _later(failed, what.__name__, exc)
            failed = True
        except Exception:
            _log.exception("unexpected fault of the worker: it goes on later", work=what.__name__)
        # A few wait until there are more: each statement costs as much as dozens of vectors.
        full = done >= FULL.get(what.__name__, math.inf)
        await asyncio.sleep(time.monotonic() - start if full else INTERVAL)


def _later(failed: bool, work: str, exc: GraphmemError) -> None:
    """Tell that work waits: once, and not at every look, since a database may be away for hours."""
    (_log.debug if failed else _log.warning)("the worker goes on later", work=work, reason=str(exc)[:500])


async def place_once(services: Services) -> int:
    """Put some vectors into the vector index; return how many."""
    (row,) = await services.database.write("meaning.place", None, limit=PLACED)
    return row["placed"]


async def understand_once(services: Services, only: str | None = None) -> int:
    """Give some entities, of all owners or of one only, their vectors; return how many.

    Raises:
        EmbeddingUnavailable: the service that makes them does not answer as it should.
    """
    model = services.embedder.model
    rows = await services.database.read("meaning.waiting", None, model=model, only=only, limit=UNDERSTOOD)
    waiting = rows[0]["waiting"] if rows else []
    services.metrics.backlog.labels("vector").set(len(waiting))
    texts = [
        meaning.text_of(name, zip(fields, values, strict=True)) for _, _, name, fields, values in waiting
    ]
    vectors = await _embedded(services, texts) if waiting else []
    rows = [
        {"id": entity_id, "was": of, "of": meaning.key(text), "vector": vector}
        for (entity_id, of, *_), text, vector in zip(waiting, texts, vectors, strict=True)
    ]
    if not rows:
        return 0
    (row,) = await services.database.write("meaning.set", None, model=model, rows=rows)
    _log.info("understood", entities=row["done"], model=model)
    return row["done"]


async def _embedded(services: Services, texts: list[str]) -> list[Vector | None]:
    """Return the vectors of some texts; in halves where some are refused: one alone has none."""
    try:
        return await services.embedder.embed(texts)
    except EmbeddingRefused as exc:
        if len(texts) < 2:
            _log.warning("a text has no vector: the service refuses it", reason=str(exc)[:500])
            return [None]
        half = len(texts) // 2
        return [*await _embedded(services, texts[:half]), *await _embedded(services, texts[half:])]


async def work_once(services: Services) -> int:
    """Fold again some of what waits; return how many entities that were.

    Which types are taken is drawn: one that fails again and again keeps no other from its turn.
    """
    (row,) = await services.database.read("schema.pending", None, limit=WAITING)
    pending = row["pending"]
    services.metrics.backlog.labels("fold").set(len(pending))
    done = 0
    for owner, kind, projection in random.sample(pending, min(len(pending), TAKEN)):
        try:
            folded = 0
            for live in (True, False):
                folded += await _fold(services, owner, kind, live, projection)
            await services.database.write("schema.folded", owner, type=kind, projection=projection)
            _log.info("folded again", owner=owner, type=kind, entities=folded)
            done += folded
        except GraphmemError as exc:
            _log.warning("a type is folded again later", owner=owner, type=kind, reason=str(exc)[:500])
    return done


async def _fold(services: Services, owner: str, kind: str, live: bool, projection: str | None) -> int:
    done, after = 0, ""
    while after is not None:
        (row,) = await services.database.read(
            "schema.unfolded", owner, type=kind, live=live, projection=projection, after=after, limit=STRETCH
        )
        if row["entities"]:
            await in_halves(row["entities"], partial(services.writers.refold, owner))
            done += len(row["entities"])
        after = row["last"]
    return done
