"""Valid time: when what an observation says was so, by the dates that stand in its own fields.

An observation that says since when something held counts from then on, whenever it was made; one that says
until when, counts until then. The database puts observations with equal dates together
(``cypher/observation/_by_dates.cypher``), and :func:`weighed` says which of them count at a time:

- A start counts from its first instant. An end counts to its last instant: "until 2022" is all of 2022.
- Without a start, an observation counts from its time of observation. If it says an end alone, it belongs to
  the latest start before that end. If there is none, and it was made after the end, it counts at every
  earlier time.
- Of several ends of one start, that of the newest observation holds. A correction of a start or an end holds
  for all observations with dates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from graphmem.model import ending, times
from graphmem.model.identity import squeezed

NAMES: Final = ending.STARTS | ending.FIELDS
"""The fields whose values may be dates that say when something held, as :func:`squeezed` spells them."""


class Dated(NamedTuple):
    """Observations of one subject that count and have equal dates; times are microseconds.

    Attributes:
        dates: fields and values (JSON) that may be dates; none for all observations without dates.
        is_correction: whether they are corrections.
        by_then: whether they were made by the time that is asked for.
        first: the least time of observation, if they have dates.
        newest: time and id of the newest of them; None where none of them counts.
    """

    dates: list[list[str]]
    is_correction: bool
    by_then: bool
    first: int | None
    newest: tuple[int, str] | None

    @property
    def rank(self) -> tuple[bool, int, str]:
        """What decides between two that say something else: the greater holds."""
        at, observation_id = self.newest or (0, "")
        return self.is_correction, at, observation_id

    def says(self, names: frozenset[str]) -> list[ending.Span | None] | None:
        """Return the dates of some fields, ``[None]`` where one is cleared; ``None`` if they say nothing."""
        values = [value for name, value in self.dates if squeezed(name) in names]
        spans = [span for value in values if (span := ending.span_of(value)) is not None]
        return [*spans] or ([None] if "null" in values else None)


class Weighed(NamedTuple):
    """Which observations count at a time.

    Attributes:
        counted: for each :class:`Dated`, whether it counts.
        holding: for each, whether its values held then, if its dates are those of values.
        is_there: whether a relationship with these observations was there, if it was not deleted.
    """

    counted: list[bool]
    holding: list[bool]
    is_there: bool


def weighed(groups: Sequence[Dated], at: int, *, is_relationship: bool) -> Weighed:
    """Return which observations of a subject count at a time (microseconds).

    An entity is there from its first observation on, also if it begins later: it may be a plan.
    """
    dated = [group for group in groups if group.dates]
    if at == times.LATEST or not dated:
        return Weighed([group.by_then for group in groups], [True] * len(groups), is_there=True)
    starts = ending.STARTS if is_relationship else ending.STARTS_OF_THINGS
    stated = _StatedDates(sorted(dated, key=lambda group: group.rank), starts)
    counted, holding = list[bool](), list[bool]()
    for group in groups:
        of_values = is_relationship or any(squeezed(name) in ending.OF_VALUES for name, _ in group.dates)
        start = stated.start(group, of_values=of_values)
        has_begun = group.by_then if start is None else start <= at
        end = stated.end(start) if group.dates else None
        counted.append(has_begun or (group.by_then and not is_relationship))
        holding.append(not of_values or not group.dates or (has_begun and (end is None or at < end)))
    counting = [group for group, counts in zip(groups, counted, strict=True) if counts and group.dates]
    return Weighed(counted, holding, stated.is_there(sorted(counting, key=lambda group: group.rank), at))


def dates_of(fields: Mapping[str, str]) -> list[list[str]]:
    """Return the fields and values (JSON) of an observation that may be dates, as :class:`Dated` has them."""
    return [
        [name, value]
        for name, value in fields.items()
        if squeezed(name) in NAMES and len(value) <= ending.VALUE_LIMIT
    ]


class _StatedDates:
    """What the observations of one subject say of its dates, by rank."""

    def __init__(self, dated: Sequence[Dated], names: frozenset[str]) -> None:
        self._names = names
        corrections = [group for group in dated if group.is_correction]
        self._corrected = (_newest(corrections, names), _newest(corrections, ending.FIELDS))
        starts = (self._start_and_end(group)[0] for group in dated)
        self._starts = sorted({start for start in starts if start is not None})
        self._ends: dict[int | None, int | None] = {}
        for group in dated:
            if (end := group.says(ending.FIELDS)) is not None:
                self._ends[self.start(group, of_values=True)] = _earliest(end)

    def _start_and_end(self, group: Dated) -> tuple[int | None, int | None]:
        """Return the start and the end that observations say; those of a correction hold for all."""
        start, end = self._corrected
        start = start or group.says(self._names)
        end = end or group.says(ending.FIELDS)
        return _latest(start), _earliest(end)

    def start(self, group: Dated, *, of_values: bool) -> int | None:
        """Return from when on observations count; ``None``: from their times of observation."""
        if not group.dates:
            return None
        start, end = self._start_and_end(group)
        if start is not None or end is None:
            return start
        before = [each for each in self._starts if each < end]
        if before or group.first is None:
            return before[-1] if before else None
        return times.EARLIEST if of_values and end <= group.first else None

    def end(self, start: int | None) -> int | None:
        """Return the first instant after what began at a start."""
        corrected = self._corrected[1]
        end = self._ends.get(start) if corrected is None else _earliest(corrected)
        return None if end is None or (start is not None and end <= start) else end

    def is_there(self, counting: Sequence[Dated], at: int) -> bool:
        """Return whether a relationship was there: it had begun, and its last end is not past."""
        start = self._corrected[0] or _newest(counting, self._names)
        end = self._corrected[1] or _newest(counting, ending.FIELDS)
        begins, ends = _latest(start), _earliest(end)
        has_ended = ends is not None and ends <= at and (begins is None or begins < ends)
        return not has_ended and (begins is None or begins <= at)


def _newest(dated: Sequence[Dated], names: frozenset[str]) -> list[ending.Span | None] | None:
    """Return what the last of some observations says that says something."""
    stated = [spans for group in dated if (spans := group.says(names)) is not None]
    return stated[-1] if stated else None


def _latest(spans: list[ending.Span | None] | None) -> int | None:
    return max((span.start for span in spans or () if span is not None), default=None)


def _earliest(spans: list[ending.Span | None] | None) -> int | None:
    return min((span.after for span in spans or () if span is not None), default=None)
