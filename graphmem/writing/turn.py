"""The turns of an owner's writer: what waits, what shares a commit, and what happens when one fails."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from graphmem.database.driver import Database, round_trips
from graphmem.embedding.meaning import Embedder
from graphmem.errors import (
    DatabaseCrowded,
    DatabaseFull,
    DiskFull,
    GraphmemError,
    InternalError,
    ServiceBusy,
    TransactionTooLarge,
    Unavailable,
)
from graphmem.model import ids, state_hash, times
from graphmem.model.identity import Alternatives
from graphmem.model.items import Item
from graphmem.model.reduction import Torn
from graphmem.settings import Settings
from graphmem.writing import disk, vectors
from graphmem.writing import state as states
from graphmem.writing.decide import decide
from graphmem.writing.queue import SETTLED, Decided, Waiting, look_no_more
from graphmem.writing.refolding import Read, refold, refold_moved
from graphmem.writing.requests import Receipt, WriteRequest
from graphmem.writing.rows import edge_types, parameters
from graphmem.writing.state import State

TURN_REQUESTS = 200
TURN_OBSERVATIONS = 1_000
TURN_CHARACTERS = 8_000_000
"""Where a turn ends; a single request may be larger than that."""

QUEUE_CHARACTERS = 64_000_000
"""Characters of values that may wait for one owner; more is refused with 503."""

REMEMBERED = 10_000
"""Registered rules of identity, and owners' revisions, that a process remembers."""

LOSSES_BEFORE_LOCK = 2
"""Turns lost to another process before the lock is taken first."""

_log = structlog.get_logger("graphmem.writer")


class Writers:
    """The writers of one process: one per owner that has something to write."""

    def __init__(self, database: Database, settings: Settings, embedder: Embedder) -> None:
        self._database = database
        self.embedder = embedder
        self._settings = settings
        self._writers: dict[str, _Writer] = {}
        self._identity: dict[tuple[str, str], Alternatives] = {}
        self._settled: dict[str, int] = {}

    def alternatives(self, owner: str) -> Callable[[str], Alternatives | None]:
        """Return how the registered alternatives of a type were when this process last saw them.

        Every turn looks whether they still hold, and identifies its items anew where they do not.
        """
        return lambda entity_type: self._identity.get((owner, entity_type))

    async def submit(self, request: WriteRequest) -> Receipt:
        """Have a request decided and written; return its answer once it is durable.

        Raises:
            IdempotencyMismatch, StoreRefused: it is refused; nothing of it was written.
            ServiceBusy: too many requests of this owner wait already.
            DiskFull: there is too little space where the database is.
            Unavailable: the database failed; ``details.in_doubt`` says whether it may have been written.
        """
        if request.commit:
            self.check_disk()
        writer = self._writers.get(request.owner)
        if writer is None:
            writer = _Writer(
                self._database, request.owner, self._settings, self._identity, self._settled,
                self.embedder,
            )  # fmt: skip
            self._writers[request.owner] = writer
        if len(writer.waiting) >= self._settings.max_waiting or writer.weight > QUEUE_CHARACTERS:
            raise ServiceBusy(waiting=len(writer.waiting))
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Receipt] = loop.create_future()
        trace_id = structlog.contextvars.get_contextvars().get("trace_id", "")
        deadline = loop.time() + self._settings.write_timeout
        trips, span = round_trips.get(None), self._database.tracer.current_span()
        waiting = Waiting(request, answer, trace_id, trips, deadline, request.weight, span)
        writer.waiting.append(waiting)
        writer.weight += waiting.weight
        if writer.task is None:
            # A context of its own: a turn belongs to all of its requests, not to the first of them.
            writer.task = asyncio.create_task(self._drain(writer), context=contextvars.Context())
        return await answer

    def check_disk(self) -> None:
        """Refuse to write where the embedded database has little space left.

        Raises:
            DiskFull: less than ``Settings.disk_reserve`` is free.
        """
        disk.check(self._settings)

    def waiting(self) -> int:
        """Return how many requests wait for a turn."""
        return sum(len(writer.waiting) for writer in self._writers.values())

    async def refold(self, owner: str, entity_ids: list[str]) -> None:
        """Fold some entities again that were folded under other rules than those of their types today."""
        request = WriteRequest(
            operation="refold", owner=owner, agent="", client="", transaction_id=ids.transaction_id(),
            items=[], looking=tuple(entity_ids), commit=False,
        )  # fmt: skip
        await self.submit(request)

    async def close(self) -> None:
        """Wait until everything that waits is written; what takes longer than a shutdown may is refused."""
        end = asyncio.get_running_loop().time() + self._settings.shutdown_seconds
        while tasks := [writer.task for writer in self._writers.values() if writer.task]:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                for writer in self._writers.values():
                    writer.refuse_waiting()
            await asyncio.wait(tasks, timeout=max(left, 1.0))

    async def _drain(self, writer: _Writer) -> None:
        try:
            while writer.waiting:
                await writer.turn()
        finally:
            writer.task = None
            self._writers.pop(writer.owner, None)


@dataclass(slots=True)
class _Writer:
    database: Database
    owner: str
    settings: Settings
    identity: dict[tuple[str, str], Alternatives]
    settled: dict[str, int]
    embedder: Embedder
    waiting: deque[Waiting] = field(default_factory=deque)
    weight: int = 0
    task: asyncio.Task[None] | None = None
    probing: list[Waiting] = field(default_factory=list)
    """Of the turn under way, those for which the write looks for likely duplicates."""

    async def turn(self) -> None:
        """Take what waits, as much as fits, and answer each of it."""
        batch = self._take()
        if not batch:
            return
        try:
            self.database.metrics.turn(len(batch), sum(waiting.request.observations for waiting in batch))
            if not await self._try(batch):
                # One of them met a fault of its own: the others must not share it.
                for waiting in batch:
                    await self._try([waiting])
        except Exception as exc:
            # Counting or tracing a turn failed: its callers wait for an answer all the same.
            _log.error("a turn failed outside its requests", exc_info=exc)
            self._fail(batch, exc)

    def refuse_waiting(self) -> None:
        """Refuse what has not begun."""
        self._fail(list(self.waiting), ServiceBusy("the service is stopping: try again in a moment"))
        self.waiting.clear()
        self.weight = 0

    async def _try(self, batch: list[Waiting]) -> bool:
        """Settle a batch, or fail it; return false where one of several is at fault and none was written."""
        trips = [0]
        round_trips.set(trips)
        with (
            structlog.contextvars.bound_contextvars(trace_id=batch[0].trace_id, requests=len(batch)),
            self.database.tracer.turn(waiting.span for waiting in batch),
        ):
            try:
                await self._settle(batch)
            except DatabaseCrowded as exc:
                # One after the other they would crowd it as much.
                self._fail(batch, exc)
            except DatabaseFull as exc:
                if len(batch) > 1:
                    return False
                # What may have been written all the same is not too large.
                too_large = batch[0].weight and not batch[0].in_doubt
                self._fail(batch, TransactionTooLarge(in_doubt=False) if too_large else exc)
            except Exception as exc:
                if not isinstance(exc, Unavailable):
                    _log.error("a turn failed", exc_info=exc)
                    if len(batch) > 1:
                        return False
                self._fail(batch, exc)
            finally:
                for waiting in batch:
                    if waiting.round_trips is not None:
                        waiting.round_trips[0] += trips[0]
        return True

    def _fail(self, batch: list[Waiting], exc: Exception) -> None:
        for waiting in batch:
            waiting.fail(exc)

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        observations = characters = 0
        now = asyncio.get_running_loop().time()
        while self.waiting and len(batch) < TURN_REQUESTS:
            first = self.waiting[0]
            if first.deadline < now and not first.answer.done():
                self._fail([first], ServiceBusy("it waited too long for its turn: try again in a moment"))
            if not first.answer.done():
                observations += first.request.observations
                characters += first.weight
                if batch and (observations > TURN_OBSERVATIONS or characters > TURN_CHARACTERS):
                    break
                if batch and (first.request.alone or batch[0].request.alone):
                    break
                batch.append(first)
            self.waiting.popleft()
            self.weight -= first.weight
        return batch

    async def _settle(self, batch: list[Waiting]) -> None:
        """Look, decide and write until it is written or the database failed for too long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.settings.retry_seconds
        turns = self.database.metrics.turns
        losses = failures = 0
        while True:
            self.probing = []
            try:
                outcome = await (self._optimistic if losses < LOSSES_BEFORE_LOCK else self._locked)(batch)
            except Torn:
                # Another process wrote while this one looked: the turn is as good as lost.
                outcome = "looked_again"
            except Unavailable as exc:
                turns["failed"].inc()
                # A read never leaves a doubt; after a write that was not answered, the look at the
                # transaction's id tells the next attempt whether it was done.
                if exc.details.pop("wrote", False):
                    for waiting in batch:
                        waiting.in_doubt = True
                if look_no_more(self.probing, exc):
                    continue
                if isinstance(exc, DiskFull | DatabaseFull) and not isinstance(exc, DatabaseCrowded):
                    raise
                failures += 1
                if loop.time() > end:
                    raise type(exc)(str(exc), in_doubt=False) from exc
                await asyncio.sleep(min(1.0, 0.05 * 2**failures) * random.uniform(0.5, 1.0))
                continue
            turns[outcome].inc()
            if outcome in SETTLED:
                return
            # With the lock nobody is faster: what has been tried for long is written all the same.
            losses = losses + 1 if loop.time() < end else LOSSES_BEFORE_LOCK

    async def _optimistic(self, batch: list[Waiting]) -> str:
        state = await self._look(batch, self._read)
        if state is None:
            if any(waiting.request.commit for waiting in batch):
                await self._write("owner.create", state_hash=state_hash.EMPTY)
            state = states.empty()
        if state.revision not in (0, self.settled.get(self.owner)):
            # Another process wrote, perhaps just now. Of a commit a reader may see the owner's revision and
            # not yet what is found by an index: who holds the lock sees all of it.
            return await self._locked(batch)
        if stale := state.stale():
            # Folded again first, by a write of its own: the turn then looks at what it will write to.
            disk.check(self.settings)
            await refold(self._read, state, stale)
            if await self._write("write.turn", **await self._params(Decided(state, []))):
                self._seen_whole(state.revision + 1)
            return "looked_again"
        await self._move(state, batch, self._read)
        decided = self._decide(state, batch)
        if decided.writes:
            rows = await self._write("write.turn", **await self._params(decided))
            if not rows:
                return "lost"
            decided.written(rows[0])
            self._seen_whole(state.revision + 1)
        return decided.answer()

    def _seen_whole(self, revision: int) -> None:
        """Remember up to where every commit of this owner is known to be seen whole."""
        if len(self.settled) > REMEMBERED:
            self.settled.clear()
        self.settled[self.owner] = revision

    async def _locked(self, batch: list[Waiting]) -> str:
        try:
            decided = await self._under_lock(batch)
        except (DatabaseFull, DiskFull):
            # Rolled back for certain.
            raise
        except Torn as exc:
            # Who holds the lock sees every commit whole.
            raise InternalError(
                "what is kept of something that this is about was damaged in the database, and nothing was "
                "written: `graphmem snapshots check --auto-fix` derives it again from its observations"
            ) from exc
        except Unavailable as exc:
            # Whether a commit that was not answered was done is as unknown as with a single statement.
            exc.details["wrote"] = True
            raise
        self._seen_whole(decided.state.revision + decided.writes)
        return decided.answer()

    async def _under_lock(self, batch: list[Waiting]) -> Decided:
        async with self.database.transaction(self.owner) as tx:
            await tx.run("owner.lock")
            state = await self._look(batch, tx.run) or states.empty()
            if stale := state.stale():
                disk.check(self.settings)
                await refold(tx.run, state, stale)
                await tx.run("write.turn", **await self._params(Decided(state, [])))
                state = await self._look(batch, tx.run) or states.empty()
            await self._move(state, batch, tx.run)
            decided = self._decide(state, batch)
            if decided.writes:
                (row,) = await tx.run("write.turn", **await self._params(decided))
                decided.written(row)
        return decided

    @staticmethod
    async def _move(state: State, batch: list[Waiting], read: Read) -> None:
        for waiting in batch:
            if (moving := waiting.request.moving) is not None:
                await refold_moved(read, state, moving)

    async def _look(self, batch: list[Waiting], read: Read) -> State | None:
        """Return what the batch touches; looked at again where a rule of identity has changed."""
        while True:
            rows = await read("write.look", **self._touched(batch))
            state = states.seen(rows[0])
            if state is None or not self._identify(batch, state):
                return state

    def _identify(self, batch: list[Waiting], state: State) -> bool:
        """Identify items anew by the rules that were looked at; return whether one of them is another now."""
        changed = False
        if len(self.identity) > REMEMBERED:
            self.identity.clear()
        for kind, head in state.heads.items():
            alternatives = head.alternatives
            if alternatives is None:
                self.identity.pop((self.owner, kind), None)
            else:
                self.identity[self.owner, kind] = alternatives
        for waiting in batch:
            known = waiting.request.items
            items = [self._identified(waiting.request, item, state) for item in known]
            if any(one is not item for one, item in zip(items, known, strict=True)):
                looked_at = [(item.entity_id, item.entity_type) for item in known]
                changed = changed or [(one.entity_id, one.entity_type) for one in items] != looked_at
                waiting.request = replace(waiting.request, items=items)
        return changed

    def _identified(self, request: WriteRequest, item: Item, state: State) -> Item:
        given = item.given_type or ""
        kind = state.aliases.get(given, item.given_type)
        head = state.heads.get(kind or "")
        alternatives = head.alternatives if head else None
        if (item.entity_type, item.alternatives) == (kind, alternatives):
            return item
        return item.identified(self.owner, request.transaction_id, kind, alternatives)

    async def _read(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        return await self.database.read(name, self.owner, **params)

    async def _params(self, decided: Decided) -> dict[str, Any]:
        """Return the parameters of a turn, vectors included, and the types of the edges that it changes."""
        params = parameters(decided.state, self.owner, probes=decided.probes())
        self.probing = decided.probing()
        await vectors.embed(params, self.embedder)
        return {"edge_types": edge_types(params), **params}

    async def _write(self, name: str, **params: Any) -> list[dict[str, Any]]:
        try:
            return await self.database.write(name, self.owner, **params)
        except DatabaseFull:
            # Rolled back for certain.
            raise
        except Unavailable as exc:
            exc.details["wrote"] = True
            raise

    @staticmethod
    def _touched(batch: list[Waiting]) -> dict[str, Any]:
        return states.touched(waiting.request for waiting in batch)

    def _decide(self, state: State, batch: list[Waiting]) -> Decided:
        decided = Decided(state, batch)
        clock = times.now()
        for waiting in batch:
            try:
                decided.outcomes.append(decide(state, waiting.request, clock))
            except GraphmemError as exc:
                decided.outcomes.append(exc)
        return decided
