"""Standing queries: which entities begin or cease to be among the answers of a query, by writing or by time.

Nothing of it is stored. Whether an entity is an answer depends on what is shown of it, and on the clock. So
of each transaction only the entities are compared that it changed, as they were before and after it. Where
the query depends on time, those with a date that passes between two transactions are compared as well. Each
state is that of a read as of the transaction: whoever reads from the same place is told the same.
"""

from __future__ import annotations

import bisect
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from graphmem.changes.change import END, Change, Place, transaction_at
from graphmem.changes.change_feed import ChangeFeed, Head, Part, Stretch
from graphmem.changes.recorded_transactions import RecordedTransaction
from graphmem.changes.shown_states import SUBJECTS_PER_READ
from graphmem.context import Context
from graphmem.model import canonical, times
from graphmem.reading import answers, recomputed
from graphmem.reading.shared_rows import EntityRow

LOOK_MICROSECONDS: Final = 60_000_000
"""How often a standing query that depends on time is looked at, where nobody writes."""
READ_SECONDS: Final = 60.0  # how long a query counts as it was read, types and fields of the owner included
SETTLING_MICROSECONDS: Final = 2_000_000
"""Time before now that counts as now: a transaction of that time may not be committed yet."""
DAYS_LIMIT: Final = 400  # days without a transaction of which each beginning is looked at by itself

_Rows = dict[str, EntityRow | None]
Span = tuple[int, int]


class StandingQuery(Protocol):
    """A query that decides by one entity, and by the clock."""

    @property
    def subscription_id(self) -> str: ...

    @property
    def types(self) -> frozenset[str]:
        """The types of which its answers are; any if empty."""
        ...

    @property
    def is_timed(self) -> bool:
        """Whether its answers depend on the time."""
        ...

    def fits(self, row: EntityRow, clock: int) -> bool:
        """Return whether an entity that is shown is an answer at a time."""
        ...

    def moments(self, row: EntityRow, clock: int) -> Iterable[int]:
        """Return the times at which a date of an entity begins or ends."""
        ...

    def spans(self, start: int, end: int) -> list[Span]:
        """Return where dates lie of which the answer changes from one time to another, by the clock alone."""
        ...


@dataclass(slots=True)
class StandingAnswers:
    """The answers of a standing query, and how they change. Its days are those of the time zone."""

    context: Context
    query: StandingQuery
    read: Callable[[], Awaitable[StandingQuery]]
    zone: ZoneInfo | None = None
    _read_at: float = field(default_factory=time.monotonic)

    def is_due(self, place: Place) -> bool:
        """Return whether it is time to look what the clock alone changed."""
        return self.query.is_timed and times.now() - (place.clock or 0) > LOOK_MICROSECONDS

    async def after(self, place: Place, head: Head) -> Stretch:
        with times.days_of(self.zone):
            return await self._after(place, head)

    async def _after(self, place: Place, head: Head) -> Stretch:
        if time.monotonic() - self._read_at > READ_SECONDS:
            # A type may have another name now, or other fields.
            self.query, self._read_at = await self.read(), time.monotonic()
        context, feed = self.context, self.context.services.of(ChangeFeed)
        walk = await _Walk.begin(context, self.query, place)
        start = Place(walk.at.sequence)
        parts, following = list[Part](), start
        if start.sequence < head.sequence:
            parts, following = await feed.after(context, start, head.sequence)
        is_last = following.sequence >= head.sequence
        await walk.over(parts, head.recorded_at if is_last else None)
        by_sequence: dict[int, list[Change]] = {}
        for change in walk.changes:
            change_place = change.transaction.sequence, change.clock
            if change_place != (place.sequence, place.clock) or change.index > place.part:
                by_sequence.setdefault(change.transaction.sequence, []).append(change)
        return [Part(*each) for each in by_sequence.items()], Place(following.sequence, END, walk.clock)


@dataclass(slots=True)
class _Walk:
    """A walk along transactions, from after ``at``: what is shown of the entities that are compared.

    ``clock`` is the time that it begins after, then the one up to which it went; ``changes`` are what it
    found.
    """

    context: Context
    query: StandingQuery
    at: RecordedTransaction
    clock: int
    changes: list[Change] = field(default_factory=list[Change])
    _rows: _Rows = field(default_factory=dict[str, EntityRow | None])
    _clocks: dict[str, int] = field(default_factory=dict[str, int])
    _passed: list[RecordedTransaction] = field(default_factory=list[RecordedTransaction])

    @classmethod
    async def begin(cls, context: Context, query: StandingQuery, place: Place) -> _Walk:
        """Return a walk from a place; from before its changes, if it is among those of one moment."""
        _, transaction_id, time_recorded = await transaction_at(context, place.sequence)
        recorded_at = time_recorded or 0
        sequence, clock = place.sequence, recorded_at if place.clock is None else place.clock
        if place.part != END:
            is_between = clock > recorded_at
            sequence -= not is_between
            clock -= is_between
        known = transaction_id or "", sequence, recorded_at, "", "", answers.ANONYMOUS, None
        return cls(context, query, RecordedTransaction(*known, False, [], [], [], [], [], []), clock)

    async def over(self, parts: Sequence[Part], known: int | None) -> None:
        """Go along transactions; ``known``: up to which time all is read if nothing follows, else None."""
        passed = [(part.changes[0].transaction, part.changes) for part in parts if part.changes]
        moving = [each for each in passed if not each[0].is_restored]
        self._passed = [self.at, *(transaction for transaction, _ in moving)]
        if moving and not self.at.sequence:
            # Before the first transaction there is nothing that a date could pass of.
            self.clock = max(self.clock, moving[0][0].recorded_at)
        end = max(self.clock, self._passed[-1].recorded_at if moving else 0)
        if known is not None:
            end = max(end, times.now() - SETTLING_MICROSECONDS)
        touched = [(transaction, self._touched(changes)) for transaction, changes in moving]
        ids = {each for _, some in touched for each in some} | await self._dated(end)
        before = moving[0][0].recorded_at - 1 if moving else known
        if ids and before is not None:
            self._rows = await self._visible_entities(ids, before)
            self._clocks = dict.fromkeys(ids, self.clock)
        for transaction, some in touched:
            if some:
                await self._take(transaction, some)
        for entity_id in sorted(ids):
            self._let_pass(entity_id, end)
        for transaction, changes in passed:
            if transaction.is_restored:
                self.changes += [replace(change, clock=self.clock) for change in changes]
            else:
                self.clock = max(self.clock, transaction.recorded_at)
        self.clock = end
        self._number()

    def _touched(self, changes: Sequence[Change]) -> set[str]:
        """Return the entities that may be other answers after some changes."""
        types = self.query.types
        ids = set[str]()
        for change in changes:
            if types and change.entity_type not in types and not change.details:
                continue
            if change.kind.startswith("entity."):
                ids.update(change.entity_ids)
            elif change.kind == "observation.created" and change.observation is not None:
                # It may change the name, which is no field.
                ids.add(change.observation.subject_id)
        return {each for each in ids if ":" not in each}

    async def _dated(self, end: int) -> set[str]:
        """Return the entities of which the clock alone may make other answers up to a time."""
        spans = self.query.spans(self.clock, end) if self.query.is_timed and end > self.clock else []
        if not spans:
            return set()
        entity_ids = await self.context.graph.only(
            "change.dated", list[str], spans=[list(each) for each in spans], types=sorted(self.query.types)
        )
        return set(entity_ids)

    async def _visible_entities(self, entity_ids: Iterable[str], at_ingested: int) -> _Rows:
        """Return the entities that are shown as of a time of recording, ``None`` for each other one."""
        sorted_ids = sorted(entity_ids)
        rows: _Rows = dict.fromkeys(sorted_ids)
        for start in range(0, len(sorted_ids), SUBJECTS_PER_READ):
            some = sorted_ids[start : start + SUBJECTS_PER_READ]
            then = await recomputed.entities(self.context.of_writers, some, times.LATEST, at_ingested)
            pairs = ((each, then.rows.get(each)) for each in some)
            rows |= {each: row for each, row in pairs if row and row.live and row.observation_count}
        return rows

    async def _take(self, transaction: RecordedTransaction, entity_ids: set[str]) -> None:
        at = transaction.recorded_at
        after = await self._visible_entities(entity_ids, at)
        for entity_id in sorted(entity_ids):
            self._let_pass(entity_id, at)
            clock = self._clocks[entity_id]
            was, now = self._rows[entity_id], after[entity_id]
            self._rows[entity_id] = now
            begins = self._fits(now, clock)
            if begins != self._fits(was, clock):
                change = self._change(transaction, entity_id, now or was, transaction.id, begins=begins)
                self.changes.append(replace(change, clock=at))

    def _fits(self, row: EntityRow | None, clock: int) -> bool:
        return row is not None and self.query.fits(row, clock)

    def _let_pass(self, entity_id: str, end: int) -> None:
        start, row = self._clocks[entity_id], self._rows[entity_id]
        self._clocks[entity_id] = max(start, end)
        if row is None or not self.query.is_timed or start >= end:
            return
        days = range(start // times.DAY + 1, end // times.DAY + 1)[-DAYS_LIMIT:]
        points = {start, end, *(day * times.DAY for day in days)}
        points |= {each for each in self.query.moments(row, end) if start < each < end}
        for earlier, later in pairwise(sorted(points)):
            begins = self.query.fits(row, later)
            if begins != self.query.fits(row, earlier):
                self._turn(entity_id, row, earlier, later, begins=begins)

    def _turn(self, entity_id: str, row: EntityRow, earlier: int, later: int, *, begins: bool) -> None:
        """Note that an entity begins or ceases to be an answer between two times; mostly at the later one."""
        if self.query.fits(row, later - 1) == begins:
            moments = range(earlier + 1, later)
            later = moments[
                bisect.bisect_left(moments, True, key=lambda each: self.query.fits(row, each) == begins)
            ]
        place = bisect.bisect_left(self._passed, later, lo=1, key=lambda each: each.recorded_at) - 1
        last_passed = self._passed[place]._replace(recorded_at=later, operation="")
        change = self._change(last_passed, entity_id, row, later, begins=begins)
        self.changes.append(replace(change, clock=later))

    def _change(
        self, transaction: RecordedTransaction, entity_id: str, row: EntityRow | None, cause: str | int,
        *, begins: bool,
    ) -> Change:  # fmt: skip
        kind = "answer.began" if begins else "answer.ended"
        subscription_id = self.query.subscription_id
        return Change(
            transaction, kind, entity_id, row.type if row else None, row.name if row else None,
            details={"subscription_id": subscription_id},
            own_id=canonical.digest([subscription_id, cause, kind, entity_id])[:40],
        )  # fmt: skip

    def _number(self) -> None:
        """Put the changes in order: those of a transaction, then those of each moment after it."""

        def moment(change: Change) -> tuple[int, bool, int]:
            return change.transaction.sequence, not change.transaction.operation, change.clock or 0

        ordered = sorted(self.changes, key=lambda change: (moment(change), change.subject))
        counts: Counter[tuple[int, bool, int]] = Counter()
        self.changes = []
        for change in ordered:
            self.changes.append(replace(change, index=counts[moment(change)]))
            counts[moment(change)] += 1
