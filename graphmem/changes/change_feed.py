"""The feed of a process: how far each owner has written, and the newest changes, for all who watch.

While somebody watches, one small read at a time asks how far the watched owners have written. What is new is
worked out once for all watchers of an owner, and a bounded stretch of it is kept. A watcher that is further
behind reads its part from the database at its own pace, so that nothing is buffered for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import structlog

from graphmem.changes import recorded_transactions
from graphmem.changes.change_cursors import END, Place
from graphmem.changes.derived_changes import Change, changes_of
from graphmem.changes.recorded_transactions import RecordedTransaction
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError
from graphmem.registry import Context
from graphmem.writing import Writers
from graphmem.writing.state import LockedOwner

INTERVAL_SECONDS: Final = 0.3
"""Seconds between two reads of how far the watched owners have written."""
KEPT_CHANGES: Final = 5_000
"""Changes of one owner that are kept for watchers."""
KEPT_CHARACTERS: Final = 4_000_000
"""Characters of their values."""

_log = structlog.get_logger("graphmem.changes")


class Head(NamedTuple):
    """How far an owner has written, and what tells the owner's node from one that was there before."""

    node_key: str = ""
    sequence: int = 0
    recorded_at: int = 0


class _HeadRow(NamedTuple):
    owner: str
    node_key: str
    sequence: int
    revision: int | None
    recorded_at: int
    is_stamped: bool
    is_dated: bool


class _Heads(NamedTuple):
    heads: list[_HeadRow]


@dataclass(frozen=True, slots=True)
class Part:
    """The changes of one transaction; ``written`` has what streams send of them, by index and form."""

    sequence: int
    changes: list[Change]
    written: dict[tuple[int, bool], bytes] = field(default_factory=dict[Any, bytes], compare=False)


@dataclass(slots=True)
class _Watched:
    """An owner that somebody watches. ``parts`` has all changes after ``start``, up to ``end``."""

    watchers: int = 0
    head: Head = field(default_factory=Head)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    parts: deque[Part] = field(default_factory=deque[Part])
    start: int = 0
    end: int = 0
    size: int = 0
    changes: int = 0
    deriving: asyncio.Lock = field(default_factory=asyncio.Lock)

    def advance(self, head: Head) -> None:
        """Note how far the owner has written, and wake all who wait for it."""
        if head.node_key != self.head.node_key:
            self.clear(head.sequence if self.head.node_key == "" else 0)
        self.head = head
        self.news.set()
        self.news = asyncio.Event()

    def clear(self, sequence: int) -> None:
        """Keep nothing, and go on after a place."""
        self.parts.clear()
        self.start = self.end = sequence
        self.size = self.changes = 0

    def keep(self, parts: Iterable[Part], end: int) -> None:
        """Keep more changes, and forget the oldest where they are too many."""
        for part in parts:
            self.parts.append(part)
            self.size += _size(part)
            self.changes += len(part.changes)
        self.end = end
        while self.parts and (self.changes > KEPT_CHANGES or self.size > KEPT_CHARACTERS):
            gone = self.parts.popleft()
            self.start = gone.sequence
            self.size -= _size(gone)
            self.changes -= len(gone.changes)


class ChangeFeed:
    """The feed of one process."""

    def __init__(self, database: Database, writers: Writers) -> None:
        self._database = database
        self._writers = writers
        self._watched: dict[str, _Watched] = {}
        self._task: asyncio.Task[None] | None = None
        self.is_ending = False
        """Whether the process stops."""

    @contextlib.contextmanager
    def watching(self, owner: str) -> Iterator[None]:
        """Watch an owner for the block: the feed notes what the owner writes."""
        watched = self._watched.setdefault(owner, _Watched())
        watched.watchers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
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
        """Stop asking how far owners have written."""
        self.end()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def head(self, owner: str, *, stamped: bool = True, dated: bool = True) -> Head:
        """Return how far an owner has written and all of it can be read.

        Args:
            stamped, dated: nothing while it is not noted which observations a withdrawal concerns, or when
                merges by rule held: what the withdrawal changed is not wholly known yet.
        """
        heads = await self._read([owner], stamped=stamped, dated=dated)
        return heads.get(owner, Head())

    async def after(self, context: Context, place: Place, sequence: int) -> tuple[list[Part], Place]:
        """Return the next changes after a place, up to a sequence, and the place after them."""
        watched = self._watched.get(context.actor.owner)
        if watched is not None and watched.start <= place.sequence and place.part == END:
            if watched.end < sequence and place.sequence >= watched.end:
                await self._derive(context, watched, sequence)
            found = [part for part in watched.parts if part.sequence > place.sequence]
            if watched.start <= place.sequence:
                return found, Place(max(watched.end, place.sequence))
        return await _read_after(context, place, sequence)

    async def follow(self, context: Context, place: Place | None) -> AsyncGenerator[tuple[list[Part], Place]]:
        """Yield changes after a place until the process ends; with the place after them.

        It yields no parts once in a while when nothing happens, so that its caller can look after itself.

        Args:
            place: ``None`` is the newest place.
        """
        owner = context.actor.owner
        with self.watching(owner):
            at = place
            if at is None:
                at = Place((await self.head(owner, stamped=False, dated=False)).sequence)
            watched = self._watched[owner]
            yield [], at
            while not self.is_ending:
                if at.sequence < watched.head.sequence or (at.part != END and watched.head.sequence):
                    parts, at = await self.after(context, at, watched.head.sequence)
                    yield parts, at
                    continue
                await self.news(owner, watched.head, 1.0)
                yield [], at

    async def news(self, owner: str, head: Head, seconds: float) -> None:
        """Wait until a watched owner has written more than up to a head, but no longer than some seconds."""
        watched = self._watched[owner]
        if watched.head.sequence <= head.sequence and not self.is_ending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(watched.news.wait(), seconds)

    async def _derive(self, context: Context, watched: _Watched, sequence: int) -> None:
        """Work out what follows the changes that are kept, once for all who wait for it."""
        async with watched.deriving:
            if watched.end >= sequence:
                return
            parts, place = await _read_after(context, Place(watched.end), sequence)
            watched.keep(parts, place.sequence)

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

    async def _read(self, owners: list[str], *, stamped: bool = True, dated: bool = True) -> dict[str, Head]:
        """Return how far owners have written."""
        row = await self._database.reads(None).only("change.heads", _Heads, owners=owners)
        heads: dict[str, Head] = {}
        for each in row.heads:
            if each.revision is None or (stamped > each.is_stamped) or (dated > each.is_dated):
                continue
            sequence, recorded_at = each.sequence, each.recorded_at
            watched = self._watched.get(each.owner)
            is_new = watched is None or watched.head.sequence != sequence
            if is_new and self._writers.whole_revision(each.owner) != each.revision:
                # A reader may see a commit in part. The holder of the lock sees every commit whole.
                locked = await self._database.writes(each.owner).one("owner.lock", LockedOwner)
                if locked is None or locked.revision is None:
                    continue
                sequence, recorded_at = locked.sequence, max(recorded_at, locked.recorded_at or 0)
            heads[each.owner] = Head(each.node_key, sequence, recorded_at)
        return heads


def _size(part: Part) -> int:
    return sum(
        len(shown.value) for each in part.changes for shown in (*each.before.values(), *each.after.values())
    )


async def _read_after(context: Context, place: Place, sequence: int) -> tuple[list[Part], Place]:
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
        parts += grouped(run, await changes_of(context, run))
        run = []
        if each is not None:
            parts.append(Part(each.sequence, [Change(each, 0, "database.restored", each.id)]))
    return parts


def grouped(transactions: list[RecordedTransaction], changes: list[Change]) -> list[Part]:
    """Return changes by transaction."""
    by_sequence: dict[int, list[Change]] = {each.sequence: [] for each in transactions}
    for change in changes:
        by_sequence[change.transaction.sequence].append(change)
    return [Part(sequence, own) for sequence, own in by_sequence.items()]
