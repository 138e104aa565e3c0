"""The writer of one owner: its turns, and what happens when one fails."""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import structlog
from cachetools import LRUCache

from graphmem import errors
from graphmem.database import left_out
from graphmem.database.admission import Admission
from graphmem.database.driver import Database, round_trips
from graphmem.database.left_out import Damage
from graphmem.database.queries import Queries
from graphmem.embedding.meaning import Embedder
from graphmem.model import state_hash, times
from graphmem.model.reduction import Torn
from graphmem.model.schema import SchemaDocument
from graphmem.settings import Settings
from graphmem.writing import forms, parting, refolding, vectors
from graphmem.writing import state as states
from graphmem.writing.refolding import refold
from graphmem.writing.state import State
from graphmem.writing.turn_rows import parameters
from graphmem.writing.waiting_requests import SETTLED, Decided, Waiting
from graphmem.writing.write_requests import LookAgain, Needs, Receipt, Touched, WriteRequest

_log = structlog.get_logger("graphmem.writer")


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What one turn takes, unless a single request is larger, and what may wait for one."""

    requests: int = 200
    observations: int = 1_000
    characters: int = 8_000_000
    queue_characters: int = 64_000_000  # that may wait for one owner; more is refused with 503
    # Turns lost to another process before the next one takes the owner's lock first.
    losses_before_lock: int = 2


TURN_LIMITS: Final = TurnLimits()
LARGE_CHARACTERS: Final = 1_000_000
"""A turn of more takes much memory of the database, which a crowd of them would end again and again."""


@dataclass(slots=True)
class Known:
    """What the writers of a process remember of all owners."""

    # Registered schemas by owner and type, and the revisions up to which it sees every commit whole.
    documents: LRUCache[tuple[str, str], SchemaDocument] = field(default_factory=lambda: LRUCache(10_000))
    revisions: LRUCache[str, int] = field(default_factory=lambda: LRUCache(10_000))
    # The places of large turns.
    large: Admission = field(default_factory=lambda: Admission(timeout_seconds=30.0, what="large stores run"))


@dataclass(slots=True)
class OwnerWriter:
    """The writer of one owner."""

    database: Database
    owner: str
    settings: Settings
    embedder: Embedder
    known: Known
    limits: TurnLimits
    waiting: deque[Waiting] = field(default_factory=deque)
    characters: int = 0
    task: asyncio.Task[None] | None = None
    further: Touched = field(default_factory=Touched)  # what the decision needs beside what its requests name

    def add(self, waiting: Waiting) -> None:
        self.waiting.append(waiting)
        self.characters += waiting.characters

    async def turn(self) -> None:
        """Take as many of the requests that wait as fit into one turn, and answer each."""
        batch = self._take()
        if not batch:
            return
        lost_before = self.database.first_runs.lost_seconds
        try:
            count = sum(waiting.request.observation_count for waiting in batch)
            self.database.metrics.turn_requests.observe(len(batch))
            self.database.metrics.turn_observations.observe(count)
            if not await self._try(batch):
                # One request is at fault: the others must not share its error.
                for waiting in batch:
                    await self._try([waiting])
        except Exception as exc:
            # Counting or tracing a turn failed: its callers wait for an answer all the same.
            _log.error("a turn failed outside its requests", exc_info=exc)
            self._fail(batch, exc)
        for waiting in self.waiting:
            waiting.deadline += self.database.first_runs.lost_seconds - lost_before

    def refuse_waiting(self) -> None:
        self._fail(list(self.waiting), errors.ServiceBusy("the service is stopping: try again in a moment"))
        self.waiting.clear()
        self.characters = 0

    async def _try(self, batch: list[Waiting]) -> bool:
        """Settle a batch, or fail it; return false where one of several is at fault and none was written."""
        trips = [0]
        round_trips.set(trips)
        with (
            structlog.contextvars.bound_contextvars(trace_id=batch[0].trace_id, requests=len(batch)),
            self.database.tracer.turn(waiting.span for waiting in batch),
        ):
            try:
                is_large = sum(waiting.characters for waiting in batch) > LARGE_CHARACTERS
                async with self.known.large.place(self.owner) if is_large else contextlib.nullcontext():
                    await self._settle(batch)
            except (errors.DatabaseCrowded, errors.AuthInvalid) as exc:
                # Others use up the memory, or the owner is erased: one request alone would fare no better.
                self._fail(batch, exc)
            except errors.DatabaseFull as exc:
                if len(batch) > 1:
                    return False
                # A request in doubt may have been written, so it is not too large.
                too_large = batch[0].characters and not batch[0].in_doubt
                self._fail(batch, errors.TransactionTooLarge(in_doubt=False) if too_large else exc)
            except Exception as exc:
                if not isinstance(exc, errors.Unavailable):
                    _log.error("a turn failed", exc_info=exc)
                    if len(batch) > 1:
                        return False
                self._fail(batch, await self._cause(batch, exc))
            finally:
                for waiting in batch:
                    if waiting.round_trips is not None:
                        waiting.round_trips[0] += trips[0]
        return True

    async def _cause(self, batch: list[Waiting], exc: Exception) -> Exception:
        """Return the damage that failed a turn, if another look meets it, else what failed the turn."""
        if isinstance(exc, left_out.MET_DAMAGE):
            with left_out.noting(Damage(drops=False, is_checking=True)):
                try:
                    await self._look(batch, self.database.reads(self.owner))
                except Exception as cause:
                    return cause if isinstance(cause, errors.GraphmemError) else exc
        return exc

    def _fail(self, batch: list[Waiting], exc: Exception) -> None:
        for waiting in batch:
            waiting.fail(exc)

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        observations = characters = 0
        now = asyncio.get_running_loop().time()
        while self.waiting and len(batch) < self.limits.requests:
            first = self.waiting[0]
            if first.deadline < now and not first.answer.done():
                busy = errors.ServiceBusy("the request waited too long for its turn: try again in a moment")
                self._fail([first], busy)
            if not first.answer.done():
                observations += first.request.observation_count
                characters += first.characters
                is_full = observations > self.limits.observations or characters > self.limits.characters
                if batch and (is_full or not (first.request.shares_turn and batch[0].request.shares_turn)):
                    break
                batch.append(first)
            self.waiting.popleft()
            self.characters -= first.characters
        return batch

    async def _settle(self, batch: list[Waiting]) -> None:
        """Look, decide and write until it is written, or the database failed for too long."""
        loop = asyncio.get_running_loop()
        end, first_runs = loop.time() + self.settings.retry_seconds, self.database.first_runs
        lost_before = first_runs.lost_seconds
        turns = self.database.metrics.turns
        losses = failures = 0
        self.further = Touched()
        while True:
            try:
                lock_first = losses >= self.limits.losses_before_lock
                outcome = await (self._locked if lock_first else self._optimistic)(batch)
            except Torn:
                # Another process wrote while this one read: the turn is as good as lost.
                outcome = "looked_again"
            except LookAgain as exc:
                self.further.add(exc.further)
                continue
            except errors.Unavailable as exc:
                turns["failed"].inc()
                # A failed read leaves no doubt. After a write without an answer, the next attempt reads by
                # the transaction's id whether it was written.
                if exc.details.pop("wrote", False):
                    for waiting in batch:
                        waiting.in_doubt = True
                if isinstance(exc, errors.DiskFull | errors.DatabaseFull) and not isinstance(
                    exc, errors.DatabaseCrowded
                ):
                    raise
                failures += 1
                # While the database plans it does not fail.
                if loop.time() > end + first_runs.lost_seconds - lost_before:
                    raise type(exc)(str(exc), in_doubt=False) from exc
                await asyncio.sleep(min(1.0, 0.05 * 2**failures) * random.uniform(0.5, 1.0))
                continue
            turns[outcome].inc()
            if outcome in SETTLED:
                return
            # Nobody is faster than the holder of the lock: a turn that has lost for long takes it.
            losses = losses + 1 if loop.time() < end else self.limits.losses_before_lock

    async def _optimistic(self, batch: list[Waiting]) -> str:
        reads = self.database.reads(self.owner)
        state = await self._look(batch, reads)
        if state.read.is_new_owner and any(waiting.request.writes_facts for waiting in batch):
            await self._create_owner(batch)
        is_followed = state.read.revision in (0, self.known.revisions.get(self.owner))
        if not is_followed or state.addresses.unparted:
            # Another process wrote, perhaps just now. A reader may see the new revision of the owner before
            # an index finds the rest of the commit; the holder of the lock sees all of it.
            return await self._locked(batch)
        if state.is_stale:
            # A write of its own, so that the turn then looks at the folds that it will change.
            self.settings.check_disk()
            await refold(reads, state)
            refolding.settle(state)
            if await self._write_turn(Decided(state, []), self.database.writes(self.owner)):
                self.known.revisions[self.owner] = state.read.revision + 1
            return "looked_again"
        await _inform(batch, reads, state)
        decided = self._decide(state, batch)
        if forms.takes_two(state.new) or forms.recounted(state):
            return await self._locked(batch)
        if decided.writes:
            if not await self._write_turn(decided, self.database.writes(self.owner)):
                return "lost"
            self.known.revisions[self.owner] = state.read.revision + 1
        return decided.answer()

    async def _locked(self, batch: list[Waiting]) -> str:
        """Take a turn under the owner's lock; return its outcome."""
        try:
            decided = await self._under_lock(batch)
        except (errors.DatabaseFull, errors.DiskFull):
            # The transaction was rolled back.
            raise
        except Torn as exc:
            # The holder of the lock sees every commit whole, so this is damage.
            raise left_out.refused(str(exc)) from exc
        except errors.Unavailable as exc:
            # A commit without an answer may have been done, as a single statement without one.
            exc.details["wrote"] = True
            raise
        self.known.revisions[self.owner] = decided.state.read.revision + decided.writes
        return decided.answer()

    async def _under_lock(self, batch: list[Waiting]) -> Decided:
        async with self.database.transaction(self.owner) as tx:
            await tx.rows("owner.lock")
            state = await self._fold_again(batch, tx)
            await _inform(batch, tx, state)
            decided = self._decide(state, batch)
            if decided.writes and not await self._write_turn(decided, tx):
                # Nobody changes the revision of a locked owner: the owner was erased since the last turn.
                raise states.owner_erased()
            if forms.recounted(decided.state):
                await self._fold_again(batch, tx)
        return decided

    async def _fold_again(self, batch: list[Waiting], tx: Queries) -> State:
        """Fold what the batch touches and what waits to be folded; return the state after it."""
        state = await self._look(batch, tx)
        if state.addresses.unparted:
            self.settings.check_disk()
            placed = await parting.move(tx, state)
            await self._write_turn(Decided(state, []), tx)
            await tx.rows("parting.place", placed=placed)
            state = await self._look(batch, tx)
        if state.is_stale:
            self.settings.check_disk()
            await refold(tx, state)
            refolding.settle(state)
            await self._write_turn(Decided(state, []), tx)
            state = await self._look(batch, tx)
        return state

    async def _look(self, batch: list[Waiting], queries: Queries) -> State:
        """Return what the batch touches; it is read again where an identity rule has changed."""
        while True:
            touched = _touched_by(*(waiting.request for waiting in batch))
            touched.add(self.further)
            look, rules_off = await forms.read(touched, queries), self.settings.merge_rules_off_by_type
            state = states.of_look(look, self.owner, touched, rules_off)
            for entity_type, head in state.heads.items():
                if head.active is None:
                    self.known.documents.pop((self.owner, entity_type), None)
                else:
                    self.known.documents[self.owner, entity_type] = head.active.document
            is_identified = True
            for waiting in batch:
                old, new = waiting.request, waiting.request.identified(state)
                if new is not old:
                    is_identified = is_identified and _touched_by(new) == _touched_by(old)
                    waiting.request = new
            if is_identified:
                return state

    async def _write_turn(self, decided: Decided, queries: Queries) -> bool:
        """Return whether a turn is written: not if another process wrote meanwhile."""
        params = parameters(decided.state)
        await vectors.embed(params, self.embedder)
        with _write_in_doubt():
            return await forms.write(params, queries)

    async def _create_owner(self, batch: list[Waiting]) -> None:
        """Create the owner's node; AuthInvalid if the account was deleted meanwhile. All requests of an owner
        act for one account, or for none."""
        account_id = max(waiting.request.account for waiting in batch)
        with _write_in_doubt():
            created = await self.database.write(
                "owner.create", self.owner, state_hash=state_hash.EMPTY, account_id=account_id
            )
        if not created:
            raise states.owner_erased()

    def _decide(self, state: State, batch: list[Waiting]) -> Decided:
        decided = Decided(state, batch)
        clock, needs = times.now(), Needs()
        for waiting in batch:
            with needs:
                try:
                    decided.outcomes.append(waiting.request.decide(state, clock))
                except errors.GraphmemError as exc:
                    decided.outcomes.append(exc)
        needs.read()
        self._leave_out_refused(decided)
        return decided

    def _leave_out_refused(self, decided: Decided) -> None:
        """Answer requests that write nothing and name people at addresses, and look again without them:
        nothing that they say may part people."""
        batch, addresses = decided.batch, decided.state.addresses.partings.keys()
        done = Decided(decided.state, [])
        for waiting, outcome in zip(batch, decided.outcomes, strict=True):
            is_written = isinstance(outcome, Receipt) and waiting.request.writes_facts
            if addresses and not is_written and addresses & _touched_by(waiting.request).addresses.keys():
                done.batch.append(waiting)
                done.outcomes.append(outcome)
        if done.batch:
            done.answer()
            batch[:] = [waiting for waiting in batch if waiting not in done.batch]
            raise LookAgain(Touched())


@contextlib.contextmanager
def _write_in_doubt() -> Iterator[None]:
    try:
        yield
    except errors.DatabaseFull:
        # The statement was rolled back.
        raise
    except errors.Unavailable as exc:
        exc.details["wrote"] = True
        raise


async def _inform(batch: list[Waiting], queries: Queries, state: State) -> None:
    for waiting in batch:
        waiting.request = await waiting.request.informed(queries, state)


def _touched_by(*requests: WriteRequest) -> Touched:
    touched = Touched()
    for request in requests:
        request.touch(touched)
    return touched
