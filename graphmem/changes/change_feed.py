"""The feed of a process: how far each owner has written, and the newest changes, for all who watch.

While somebody watches, one small read at a time asks how far the watched owners have written. What is new
is worked out once for all watchers of an owner that are at the same place. A watcher that is further behind
reads its part at its own pace, so that nothing is buffered for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from graphmem.changes import recorded_transactions
from graphmem.changes.change import END, Change, Place
from graphmem.changes.derived_changes import changes_of
from graphmem.changes.recorded_transactions import RecordedTransaction
from graphmem.context import Context
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError, ServiceBusy
from graphmem.model import times
from graphmem.writing import Writers
from graphmem.writing.state import LockedOwner

if TYPE_CHECKING:  # the answers read stretches of the feed
    from graphmem.changes.standing_changes import StandingAnswers

INTERVAL_SECONDS: Final = 0.3  # seconds between two reads of how far the watched owners have written
KEPT_STRETCHES: Final = 4  # stretches of changes of one owner that are kept for watchers
STREAMS_LIMIT: Final = 1_000  # streams of one process, and calls that wait for changes

_log = structlog.get_logger("graphmem.changes")


class Head(NamedTuple):
    """How far an owner has written, and what tells the owner's node from one that was there before."""

    node_key: str = ""
    sequence: int = 0
    recorded_at: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """The changes of one transaction; ``written`` has what streams send of them, by index and form."""

    sequence: int
    changes: list[Change]
    written: dict[tuple[int, bool], bytes] = field(default_factory=dict[Any, bytes], compare=False)


Stretch = tuple[list[Part], Place]


@dataclass(slots=True)
class _Watched:
    """An owner that somebody watches; ``stretches`` are those read last, by where they begin and may end."""

    watchers: int = 0
    head: Head = field(default_factory=Head)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    stretches: OrderedDict[tuple[Place, int], asyncio.Task[Stretch]] = field(
        default_factory=OrderedDict[tuple[Place, int], "asyncio.Task[Stretch]"]
    )

    def advance(self, head: Head) -> None:
        """Note how far the owner has written, and wake all who wait for it."""
        if head.node_key != self.head.node_key:
            # The owner was erased, in part or as a whole.
            self.stretches.clear()
        self.head = head
        self.news.set()
        self.news = asyncio.Event()


class ChangeFeed:
    def __init__(self, database: Database, writers: Writers) -> None:
        self._database = database
        self._writers = writers
        self._watched: dict[str, _Watched] = {}
        self._task: asyncio.Task[None] | None = None
        self.is_ending = False
        """Whether the process stops."""

    def check_room(self) -> None:
        """Check that the process may serve one more stream. Raises ServiceBusy: it serves as many as it
        may."""
        if sum(watched.watchers for watched in self._watched.values()) >= STREAMS_LIMIT:
            raise ServiceBusy(f"this process serves {STREAMS_LIMIT:,} streams already: try again later")

    @contextlib.contextmanager
    def watching(self, owner: str) -> Iterator[None]:
        """Watch an owner for the block: the feed notes what the owner writes."""
        watched = self._watched.setdefault(owner, _Watched())
        watched.watchers += 1
        if self._task is None or self._task.done():
            # Its statements are not those of the request that comes first.
            self._task = asyncio.create_task(self._poll(), context=contextvars.Context())
        try:
            yield
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                self._watched.pop(owner, None)

    def end(self) -> None:
        """Let all who wait for changes end: the process stops."""
        self.is_ending = True
        for watched in self._watched.values():
            watched.advance(watched.head)

    def node_key(self, owner: str) -> str:
        """Return what tells the node of a watched owner from one that was there before."""
        return self._watched[owner].head.node_key

    async def close(self) -> None:
        self.end()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def head(self, owner: str, *, settled: bool = True) -> Head:
        """Return how far an owner has written and all of it can be read. ``settled``: nothing while what a
        withdrawal changed is not wholly known yet."""
        heads = await self._read([owner], settled=settled)
        return heads.get(owner, Head())

    async def after(self, context: Context, place: Place, sequence: int) -> Stretch:
        """Return the next changes after a place, up to a sequence, and the place after them. Those who are at
        one place share what is read and worked out."""
        watched = self._watched.get(context.actor.owner)
        if watched is None:
            return await _read_after(context, place, sequence)
        key, stretches = (place, sequence), watched.stretches
        task = stretches.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            stretches[key] = asyncio.create_task(_read_after(context, place, sequence))
        stretches.move_to_end(key)
        while len(stretches) > KEPT_STRETCHES:
            stretches.popitem(last=False)
        # Who goes away does not take it from the others.
        return await asyncio.shield(stretches[key])

    async def stretch(
        self, context: Context, place: Place, head: Head, standing: StandingAnswers | None
    ) -> Stretch | None:
        """Return the next changes after a place, up to a head, with the place after them; None: none came.
        ``standing`` tells the changes of the answers of a standing query in place of all changes."""
        is_behind = place.sequence < head.sequence or place.part != END
        if not head.sequence or not (is_behind or (standing is not None and standing.is_due(place))):
            return None
        if standing is not None:
            return await standing.after(place, head)
        return await self.after(context, place, head.sequence)

    async def follow(
        self, context: Context, place: Place | None, standing: StandingAnswers | None = None
    ) -> AsyncGenerator[Stretch]:
        """Yield changes after a place (None: the newest) until the process ends, with the place after them.
        It yields no parts once in a while when nothing happens, so that its caller can look after itself."""
        owner = context.actor.owner
        with self.watching(owner):
            at = place
            if at is None:
                at = Place((await self.head(owner, settled=False)).sequence)
                at = at if standing is None else at._replace(clock=times.now())
            watched = self._watched[owner]
            yield [], at
            while not self.is_ending:
                if (stretch := await self.stretch(context, at, watched.head, standing)) is not None:
                    at = stretch[1]
                    yield stretch
                    continue
                await self.news(owner, watched.head, 1.0)
                yield [], at

    async def news(self, owner: str, head: Head, seconds: float) -> None:
        """Wait until a watched owner has written more than up to a head, but no longer than some seconds."""
        watched = self._watched[owner]
        if watched.head.sequence <= head.sequence and not self.is_ending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(watched.news.wait(), seconds)

    async def _poll(self) -> None:
        """Ask how far the watched owners have written, for as long as somebody watches."""
        failed = False
        while self._watched:
            await asyncio.sleep(INTERVAL_SECONDS)
            try:
                for owner, head in (await self._read(list(self._watched))).items():
                    watched = self._watched.get(owner)
                    if watched is not None and head != watched.head:
                        watched.advance(head)
                failed = False
            except GraphmemError as exc:
                (_log.debug if failed else _log.warning)("watchers wait", reason=str(exc)[:500])
                failed = True
            except Exception:
                _log.exception("unexpected fault of the feed of changes: it goes on")

    async def _read(self, owners: list[str], *, settled: bool = True) -> dict[str, Head]:
        rows = await self._database.reads(None).only(
            "change.heads", list[tuple[str, str, int, int | None, int, bool]], owners=owners
        )
        heads: dict[str, Head] = {}
        for owner, node_key, sequence, revision, recorded_at, is_settled in rows:
            if revision is None or settled > is_settled:
                continue
            head, watched = Head(node_key, sequence, recorded_at), self._watched.get(owner)
            is_new = watched is None or watched.head.sequence != sequence
            if is_new and self._writers.known.revisions.get(owner) != revision:
                # A reader may see a commit in part. The holder of the lock sees every commit whole.
                locked = await self._database.writes(owner).one("owner.lock", LockedOwner)
                if locked is None or locked.revision is None:
                    continue
                head = Head(node_key, locked.sequence, max(recorded_at, locked.recorded_at or 0))
            heads[owner] = head
        return heads


async def _read_after(context: Context, place: Place, sequence: int) -> Stretch:
    """Read a stretch of transactions after a place, and work out their changes."""
    is_inside = place.part != END
    after = place.sequence - is_inside
    limit = recorded_transactions.TRANSACTIONS_PER_READ
    stretch = await recorded_transactions.since(context, after, sequence, limit)
    transactions = stretch.transactions
    is_last = len(transactions) < limit and not stretch.cut
    end = sequence if is_last else transactions[-1].sequence
    parts = await parts_of(context, transactions)
    if is_inside and parts and parts[0].sequence == place.sequence:
        rest = [change for change in parts[0].changes if change.index > place.part]
        parts[0] = Part(place.sequence, rest)
    return parts, Place(end)


async def parts_of(context: Context, transactions: list[RecordedTransaction]) -> list[Part]:
    """Return the changes of transactions in the owner's order; a restore is one change."""
    parts: list[Part] = []
    run: list[RecordedTransaction] = []
    for each in [*transactions, None]:
        if each is not None and not each.is_restored:
            run.append(each)
            continue
        # What a restore wrote may lie between the transactions before it and those after it.
        parts += grouped(run, (await changes_of(context, run))[0])
        run = []
        if each is not None:
            parts.append(Part(each.sequence, [Change(each, "database.restored", each.id)]))
    return parts


def grouped(transactions: list[RecordedTransaction], changes: list[Change]) -> list[Part]:
    by_sequence: dict[int, list[Change]] = {each.sequence: [] for each in transactions}
    for change in changes:
        by_sequence[change.transaction.sequence].append(change)
    return [Part(sequence, own) for sequence, own in by_sequence.items()]
