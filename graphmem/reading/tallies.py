"""What the observations of one subject come to as of two clocks, put together from what the database counted.

The database counts observations with equal dates together; which of them count is decided here
(:mod:`graphmem.model.valid_time`). Times are microseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graphmem.model import facts, identity, period_folds, ranks, times, valid_time
from graphmem.model.reduction import Fold, Observation, OwnState, Winner, greatest
from graphmem.model.valid_time import Dated

NO_DATES: Final[list[Any]] = [[], False, True]  # what the database answers for observations without dates


class Tally(NamedTuple):
    """A row of ``observation/_tally_by_dates.cypher``; its beginning is one of ``relationship/_turn.cypher``.

    ``turn`` is [time, id, kind] of the newest lifecycle observation. ``made`` counts the observations that
    give values, and ``made_now`` those of them that count. ``moments`` are the times of recording; where they
    are not sent, ``version`` is their number.
    """

    dated: Dated
    turn: list[Any] | None
    made: int
    made_now: int
    moments: Sequence[int] = ()
    observations: int = 0
    created_at: int | None = None
    observed_at: int = 0
    version: int = 0


class Sum(NamedTuple):
    """The state of one subject by its own observations; ``unmade``: those that gave it values are excluded.
    ``counted`` and ``holding`` of :class:`~graphmem.model.valid_time.Weighed` are in ``by_dates``."""

    state: OwnState
    version: int
    unmade: bool
    is_there: bool
    by_dates: Mapping[str, tuple[bool, bool]]

    def shown_fields(self, observation: Observation, at: int) -> Mapping[str, str]:
        """Return the fields of an observation of an entity that count at a time."""
        days = valid_time.dates_of(observation.fields)
        dates = [days, observation.kind == "correction", observation.observed_at <= at] if days else NO_DATES
        if dates == NO_DATES and observation.observed_at > at:
            return {}
        return {name: value for name, value in observation.fields.items() if self.shows(dates, name)}

    def shows(self, dates: list[Any], field: str) -> bool:
        """Return whether a field of an observation with some dates counts. An entity has its names before its
        start and after its end; its dates, where it has no others then."""
        counts, holds = self.by_dates.get(repr(dates), (False, False))
        is_date = identity.squeezed(field) in valid_time.NAMES
        return counts and (holds or field in identity.NAMING or (is_date and not self.is_there))


def _counted(
    tallies: Sequence[Tally], at: int, *, is_relationship: bool
) -> tuple[list[Tally], valid_time.Weighed]:
    weighed = valid_time.weighed([each.dated for each in tallies], at, is_relationship=is_relationship)
    return [each for each, counts in zip(tallies, weighed.counted, strict=True) if counts], weighed


def presence(turns: Sequence[Tally], at: int) -> tuple[int, bool] | None:
    """Return the time of the last observation of a relationship that counts, and whether it was live.
    ``None``: it was not there, by its dates or because nothing of it counts."""
    counted, weighed = _counted(turns, at, is_relationship=True)
    turn = _turn(counted)
    if turn is None or _is_unmade(counted) or not weighed.is_there:
        return None
    return max(each.dated.newest[0] for each in counted if each.dated.newest), facts.is_live(turn[2])


def summed(tallies: Sequence[Tally], winners: Iterable[list[Any]], at: int, *, is_relationship: bool) -> Sum:
    """Return the state of one subject as of a time; winners: of ``observation/_winners_by_dates.cypher``."""
    counted, weighed = _counted(tallies, at, is_relationship=is_relationship)
    moments = {moment for each in counted for moment in each.moments}
    last = [each.dated.newest[0] for each in counted if each.dated.newest]
    by_dates = {
        repr([each.dated.dates, each.dated.is_correction, each.dated.by_then]): (counts, holds)
        for each, counts, holds in zip(tallies, weighed.counted, weighed.holding, strict=True)
    }
    total = Sum(OwnState(), 0, _is_unmade(counted), weighed.is_there, by_dates)
    state = OwnState.reduced(
        sum(each.observations for each in counted),
        min((each.created_at for each in counted if each.created_at is not None), default=None),
        max(last or [each.observed_at for each in counted], default=None),
        _turn(counted),
        _fold(total, winners, at, is_relationship=is_relationship),
    )
    return total._replace(state=state, version=sum(each.version for each in counted) or len(moments))


def _fold(total: Sum, winners: Iterable[list[Any]], at: int, *, is_relationship: bool) -> Fold:
    """Return the winner of each field among what counts, and holds, at a time."""
    parts: dict[str, dict[str, Winner]] = {}
    shown: dict[str, Winner] = {}
    for dates, (field, is_correction, observed_at, observation_id, value) in winners:
        winner = Winner(f"{bool(is_correction):d}.{ranks.time_rank(observed_at)}", observation_id, value)
        counts, holds = total.by_dates[repr(dates)]
        if counts:
            key = period_folds.part_key(dict(dates[0]), dates[1], is_relationship=is_relationship)
            part = parts.setdefault(key, {})
            part[field] = greatest(part.get(field), winner)
        if (counts and holds) if is_relationship else total.shows(dates, field):
            shown[field] = greatest(shown.get(field), winner)
    if at == times.LATEST:
        return period_folds.of_parts(parts, is_relationship=is_relationship)
    return period_folds.listed(shown, parts) if is_relationship else shown


def _turn(counted: Iterable[Tally]) -> list[Any] | None:
    return max((each.turn for each in counted if each.turn is not None), default=None)


def _is_unmade(counted: Sequence[Tally]) -> bool:
    return any(each.made for each in counted) and not any(each.made_now for each in counted)
