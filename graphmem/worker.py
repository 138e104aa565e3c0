"""The background work of a service: interpreting files, folding entities again, vectors, webhooks, copies.

Large files and webhooks wait for it. No other request depends on it. A request folds a stale entity before it
reads or writes it; the work only spares requests that time. Entities without a vector of the model in use are
given one. The work continues where another process left off.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import structlog

from graphmem.checking.resealing import reseal
from graphmem.context import Services
from graphmem.copies.exchanging import exchange_waiting
from graphmem.database.jobs import in_halves
from graphmem.embedding import meaning
from graphmem.errors import EmbeddingRefused, GraphmemError
from graphmem.interpretation import make_passages, run_next
from graphmem.operations.subscriptions import deliver
from graphmem.sandbox.wiping import look_after
from graphmem.writing.vectors import of_texts

INTERVAL_SECONDS: Final = 2.0  # pause between two passes of one kind of work
REFOLDED_LIMIT: Final = 200  # entities that are folded again at once
PENDING_TYPES_LIMIT: Final = 1_000  # types with stale entities that one pass reads
REFOLDED_TYPES_LIMIT: Final = 20  # types that one pass folds again
WITHDRAWN_LIMIT: Final = 2_000
"""Things of one owner that one pass folds again because other observations count."""
EMBEDDED_LIMIT: Final = 64  # entities whose vectors one pass makes

_log = structlog.get_logger("graphmem.worker")


@dataclass(frozen=True, slots=True)
class WorkKind:
    name: str  # as metrics and logs name it
    run: Callable[[Services], Awaitable[int]]  # does one pass; returns for how many entities
    # A pass for so many entities is followed by the next one at once, as there is likely more.
    batch_size: float = math.inf


async def work(services: Services) -> None:
    """Do all kinds of work for as long as the service runs.

    The model of the service that was started last is the one in use. The workers of services with another
    model make no vectors, so that the two do not undo each other's work.
    """
    failed = False
    while True:
        try:
            await claim(services)
            break
        except GraphmemError as exc:
            _log_delay("claim", exc, again=failed)
            failed = True
            await asyncio.sleep(INTERVAL_SECONDS)
    await asyncio.gather(*(repeat(services, kind) for kind in KINDS))


async def claim(services: Services) -> None:
    model = services.embedder.model
    before = await services.database.writes(None).only("meaning.claim", str, model=model)
    if before not in (None, model):
        _log.info("another model is in use: all vectors are made anew", model=model, before=before)


async def repeat(services: Services, kind: WorkKind) -> None:
    """Do one kind of work again and again; while there is more of it, half of the time."""
    failed = False
    while True:
        start = time.monotonic()
        done = 0
        try:
            done = await kind.run(services)
            services.metrics.worked.labels(kind.name).inc(done)
            failed = False
        except GraphmemError as exc:
            _log_delay(kind.name, exc, again=failed)
            failed = True
        except Exception:
            _log.exception("unexpected fault of the worker: it goes on later", work=kind.name)
        # Small batches wait for more: each statement costs as much as dozens of vectors.
        pause = time.monotonic() - start if done >= kind.batch_size else INTERVAL_SECONDS
        await asyncio.sleep(pause)


def _log_delay(work: str, exc: GraphmemError, *, again: bool) -> None:
    """Warn that work waits: once, not in every pass, as a database may be away for hours."""
    (_log.debug if again else _log.warning)("the worker goes on later", work=work, reason=str(exc)[:500])


class _WaitingEntity(NamedTuple):
    """An entity without a vector; ``of`` is the key of the text of its old one."""

    entity_id: str
    owner: str
    of: str
    name: str
    fields: list[str]
    values: list[str]

    @property
    def text(self) -> str:
        return meaning.text_of(self.name, zip(self.fields, self.values, strict=True))


async def make_vectors(services: Services, only_owner: str | None = None) -> int:
    """Make the vectors of some entities, of all owners or of one; return how many."""
    model = services.embedder.model
    waiting = await services.database.reads(None).one(
        "meaning.waiting", list[_WaitingEntity], model=model, only=only_owner, limit=EMBEDDED_LIMIT
    )
    services.metrics.backlog.labels("vector").set(len(waiting or ()))
    if not waiting:
        return 0
    texts = [entity.text for entity in waiting]
    parts = await in_halves(texts, partial(_embed, services), too_much=(EmbeddingRefused,))
    made = [packed for part in parts for packed in part]
    rows = [
        {"id": each.entity_id, "owner": each.owner, "was": each.of, "of": meaning.key(text), "packed": packed}
        for each, text, packed in zip(waiting, texts, made, strict=True)
    ]
    stored = await services.database.writes(None).only(
        "meaning.set", int, model=model, rows=rows, owners=sorted({entity.owner for entity in waiting})
    )
    _log.info("vectors made", entities=stored, model=model)
    return stored


async def _embed(services: Services, texts: list[str]) -> list[bytes | None]:
    """Return the vectors of some texts; a single one that the service refuses has none."""
    try:
        return await of_texts(texts, services.embedder)
    except EmbeddingRefused as exc:
        if len(texts) > 1:
            raise
        _log.warning("a text has no vector: the service refuses it", reason=str(exc)[:500])
        return [None]


async def refold_stale(services: Services, only_owner: str | None = None) -> int:
    """Fold stale entities of some types again, of all owners or of one; return how many. The types are chosen
    at random, so that a type that always fails keeps no other waiting."""
    pending = await services.database.reads(None).only(
        "schema.pending", list[tuple[str, str, str | None]], only=only_owner, limit=PENDING_TYPES_LIMIT
    )
    services.metrics.backlog.labels("fold").set(len(pending))
    done = 0
    for owner, kind, projection in random.sample(pending, min(len(pending), REFOLDED_TYPES_LIMIT)):
        try:
            folded = 0
            for live in (True, False):
                folded += await _refold_type(services, owner, kind, live, projection)
            await services.database.write("schema.folded", owner, type=kind, projection=projection)
            _log.info("folded again", owner=owner, type=kind, entities=folded)
            done += folded
        except GraphmemError as exc:
            _log.warning("a type is folded again later", owner=owner, type=kind, reason=str(exc)[:500])
    return done


async def _refold_type(services: Services, owner: str, kind: str, live: bool, projection: str | None) -> int:
    done = 0
    last: str | None = ""
    while last is not None:
        entities, last = await services.database.reads(owner).only(
            "schema.unfolded", tuple[list[str], str | None], type=kind, live=live, projection=projection,
            after=last, limit=REFOLDED_LIMIT,
        )  # fmt: skip
        if entities:
            await in_halves(entities, partial(services.writers.refold, owner))
            done += len(entities)
    return done


async def refold_withdrawn(services: Services, only_owner: str | None = None) -> int:
    owners = await services.database.reads(None).only(
        "exclusion.owners", list[str], only=only_owner, limit=PENDING_TYPES_LIMIT
    )
    done = 0
    for owner in random.sample(owners, min(len(owners), REFOLDED_TYPES_LIMIT)):
        try:
            done += await services.writers.refold_withdrawn(owner, WITHDRAWN_LIMIT)
        except GraphmemError as exc:
            _log.warning("withdrawn observations are folded out later", owner=owner, reason=str(exc)[:500])
    return done


async def seal_anew(services: Services) -> int:
    if (keys := services.keys) is None:
        return 0
    where = services.database, services.objects, keys
    return await reseal(*where, write_seconds=services.settings.write_timeout)


KINDS: Final = (
    WorkKind("interpret", run_next, batch_size=1),
    WorkKind("passages", make_passages, batch_size=1),
    WorkKind("fold", refold_stale),
    WorkKind("exclusion", refold_withdrawn, batch_size=WITHDRAWN_LIMIT),
    WorkKind("vector", make_vectors, batch_size=EMBEDDED_LIMIT),
    WorkKind("deliver", deliver),
    WorkKind("copies", exchange_waiting, batch_size=1),
    WorkKind("sandbox", look_after),
    WorkKind("reseal", seal_anew),
    WorkKind("receipts", lambda services: services.receipts.drop(), batch_size=1),
)
"""All kinds of work; a service does them at the same time."""
