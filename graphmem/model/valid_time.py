"""Valid time: when what an observation says was so, by the dates that stand in its own fields.

An observation that says since when something held counts from then on, whenever it was made; one that says
until when, counts until then. The database puts observations with equal dates together
(``cypher/observation/_by_dates.cypher``), and :func:`weighed` says which of them count at a time:

- A start counts from its first instant. An end counts to its last instant: "until 2022" is all of 2022.
- Without a start, an observation counts from its time of observation. If it says an end alone, it belongs to
  the latest start before that end. If there is none, and it was made after the end, it counts at every
  earlier time.
- Of several ends of one start, that of the newest observation holds. A period without an end ends with no
  other: what is told later of an earlier one leaves it alone. A correction holds for the latest period.

:mod:`graphmem.model.period_folds` has what holds without a time: the period without an end, else the last.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from graphmem.model import ending, times
from graphmem.model.identity import squeezed

NAMES: Final = ending.STARTS | ending.FIELDS
"""The fields whose values may be dates that say when something held, as :func:`squeezed` spells them."""


class Dated(NamedTuple):
    """Observations of one subject that count and have equal dates; times are microseconds."""

    dates: list[list[str]]  # fields and values (JSON) that may be dates
    is_correction: bool  # whether they are corrections
    by_then: bool  # whether they were made by the time that is asked for
    first: int | None  # the least time of observation, if they have dates
    newest: tuple[int, str] | None  # time and id of the newest of them; None where none of them counts

    @property
    def rank(self) -> tuple[bool, int, str]:
        """What decides between two that say something else: the greater holds."""
        at, observation_id = self.newest or (0, "")
        return self.is_correction, at, observation_id

    @property
    def is_dated(self) -> bool:
        """Whether a value is a date, or clears one."""
        return self.says(NAMES) is not None

    @property
    def is_of_values(self) -> bool:
        """Whether the dates of an entity say when its values held."""
        return self.says(ending.OF_VALUES) is not None

    def says(self, names: frozenset[str]) -> list[ending.Span | None] | None:
        """Return the dates of some fields, ``[None]`` where one is cleared; ``None`` if they say nothing."""
        values = [value for name, value in self.dates if squeezed(name) in names]
        spans = [span for value in values if (span := ending.span_of(value)) is not None]
        return [*spans] or ([None] if "null" in values else None)


class Weighed(NamedTuple):
    """Which observations count at a time."""

    counted: list[bool]  # for each :class:`Dated`, whether it counts
    holding: list[bool]  # for each, whether its values held then, if its dates are those of values
    is_there: bool  # whether a relationship with these observations was there, if it was not deleted


def weighed(groups: Sequence[Dated], at: int, *, is_relationship: bool) -> Weighed:
    """Return which observations of a subject count at a time (microseconds). An entity is there from its
    first observation on, also if it begins later: it may be a plan."""
    dated = [group for group in groups if group.is_dated]
    if at == times.LATEST or not dated:
        return Weighed([group.by_then for group in groups], [True] * len(groups), is_there=True)
    stated = _StatedDates(dated, is_relationship=is_relationship)
    counted, holding = list[bool](), list[bool]()
    held_then: list[bool] = []
    for group in groups:
        of_values = group.is_dated and (is_relationship or group.is_of_values)
        start, end = stated.period(group, of_values=of_values) if group.is_dated else (None, None)
        has_begun = group.by_then if start is None else start <= at
        counted.append(has_begun or (group.by_then and not is_relationship))
        holding.append(not of_values or (has_begun and (end is None or at < end)))
        held_then += [holding[-1]] if of_values and counted[-1] else []
    return Weighed(counted, holding, any(held_then) or not held_then)


def periods(groups: Sequence[Dated], *, is_relationship: bool) -> list[tuple[int, int]]:
    """Return the start of the period of each of some groups, and the first instant after it (microseconds).
    They say when values held; without a start or an end it is the earliest time or the latest."""
    stated = _StatedDates(groups, is_relationship=is_relationship)
    spans = (stated.period(group, of_values=False) for group in groups)
    return [
        (times.EARLIEST if start is None else start, times.LATEST if end is None else end)
        for start, end in spans
    ]


def dates_of(fields: Mapping[str, str]) -> list[list[str]]:
    return [
        [name, value]
        for name, value in fields.items()
        if squeezed(name) in NAMES and len(value) <= ending.VALUE_LIMIT
    ]


class _StatedDates:
    """What the observations of one subject say of its dates."""

    def __init__(self, dated: Sequence[Dated], *, is_relationship: bool) -> None:
        self._names = ending.STARTS if is_relationship else ending.STARTS_OF_THINGS
        by_rank = sorted(dated, key=lambda group: group.rank)
        corrections = [group for group in by_rank if group.is_correction and group.says(self._names)]
        self._corrected = corrections[-1].says(self._names) if corrections else None
        self._last: int | None = None
        # It corrects what the field of the same name says.
        corrected = {squeezed(name) for name, _ in corrections[-1].dates} if corrections else set[str]()
        for names in (self._names & corrected, self._names):
            starts = (_latest(group.says(names)) for group in by_rank if not group.is_correction)
            self._last = max((start for start in starts if start is not None), default=None)
            if self._last is not None:
                break
        self._starts = sorted({start for group in by_rank if (start := self._start(group)) is not None})
        self._ends: dict[int | None, int | None] = {}
        for group in by_rank:
            if (end := group.says(ending.FIELDS)) is not None:
                self._ends[self._place(group)] = _earliest(end)

    def _start(self, group: Dated) -> int | None:
        """Return the start that observations say; a correction replaces that of the latest period."""
        start = _latest(group.says(self._names))
        is_corrected = self._corrected is not None and start is not None
        if is_corrected and (group.is_correction or start == self._last):
            return _latest(self._corrected)
        return start

    def _place(self, group: Dated) -> int | None:
        start, stated_end = self._start(group), group.says(ending.FIELDS)
        if start is not None or (stated_end is None and group.says(self._names) != [None]):
            return start
        end = _earliest(stated_end)
        return max((each for each in self._starts if end is None or each < end), default=None)

    def period(self, group: Dated, *, of_values: bool) -> tuple[int | None, int | None]:
        """Return when the period of observations begins, if it says so, and the first instant after it."""
        start, stated_end = self._place(group), _earliest(group.says(ending.FIELDS))
        end = self._ends.get(start)
        if end is not None and start is not None and end <= start:
            end = None
        if (
            of_values
            and start is None
            and stated_end is not None
            and stated_end <= (group.first or stated_end)
        ):
            return times.EARLIEST, end
        return start, end


def _latest(spans: list[ending.Span | None] | None) -> int | None:
    return max((span.start for span in spans or () if span is not None), default=None)


def _earliest(spans: list[ending.Span | None] | None) -> int | None:
    return min((span.after for span in spans or () if span is not None), default=None)
