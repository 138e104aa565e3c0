"""Times in the words of a question, such as "next week": the interval, and the fields whose dates count.

Times are UTC. A week begins on Monday. A date without a time of day is the whole day: what is due today is
not past.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from graphmem.model import dates, times
from graphmem.search.kinds import kind_dates
from graphmem.text import words

Direction = Literal["future", "past"]
Bound = Literal["since", "after", "before", "until"]
DAY_MICROSECONDS: Final = 24 * 3600 * 1_000_000
DATE_CHARACTERS: Final = 2 * dates.LENGTH_LIMIT
"""Characters of the longest value that is read as a date, blanks around it included."""
COUNT_LIMIT: Final = 1_000
"""Most units of "the next 30 days"."""


class Period(NamedTuple):
    """A time that a question asks for: its words and the interval, which an open end leaves open.

    Attributes:
        start, end: microseconds; the end is not part of the interval.
        is_due: only fields that say when something is due count.
        others: other intervals that the words may mean, the likeliest first. They count where nothing is of
            the first one: "April" is of this year, or of the next or the last one.
    """

    words: str
    direction: Direction
    start: int | None
    end: int | None
    is_due: bool = False
    others: tuple[Period, ...] = ()

    @property
    def readings(self) -> list[Period]:
        """The time and the other ones that the words may mean; what is due is rather to come."""
        every = [self._replace(others=()), *(each._replace(is_due=self.is_due) for each in self.others)]
        return sorted(every, key=lambda each: each.direction == "past") if self.is_due else every


class Moment(NamedTuple):
    """A date of an entity: its first microsecond, and the first one after it."""

    start: int
    end: int

    def is_within(self, period: Period) -> bool:
        """Return whether the date is within a period; what is not over yet is upcoming, and not past."""
        if period.start is None and period.end is not None:
            return self.end <= period.end
        after_start = period.start is None or (
            self.end > period.start if period.end is None else self.start >= period.start
        )
        return after_start and (period.end is None or self.start < period.end)


_FUTURE: Final = words.word_set(
    """upcoming future coming forthcoming soon kommende kommenden anstehende anstehenden proximas proximos
    prochaines"""
)
_PAST: Final = words.word_set("past previous bygone vergangene vergangenen")
_DAYS: Final = {
    "today": 0, "todays": 0, "tomorrow": 1, "tomorrows": 1, "yesterday": -1, "yesterdays": -1, "tonight": 0,
    "heute": 0, "morgen": 1, "gestern": -1, "aujourdhui": 0, "demain": 1, "hoy": 0,
}  # fmt: skip
_UNITS: Final = {
    "week": "week", "weeks": "week", "month": "month", "months": "month", "year": "year", "years": "year",
    "quarter": "quarter", "quarters": "quarter", "woche": "week", "monat": "month", "jahr": "year",
    "semaine": "week", "mois": "month", "semana": "week", "mes": "month",
}  # fmt: skip
_SHIFTS: Final = {
    "this": 0, "current": 0, "next": 1, "coming": 1, "following": 1, "last": -1, "previous": -1, "past": -1,
    "diese": 0, "dieser": 0, "diesen": 0, "dieses": 0, "nachste": 1, "nachster": 1, "nachsten": 1,
    "letzte": -1, "letzter": -1, "letzten": -1, "cette": 0, "ce": 0, "esta": 0, "este": 0,
}  # fmt: skip
_NUMBERS: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
_BOUNDS: Final[Mapping[str, Bound]] = {
    "since": "since", "seit": "since", "depuis": "since", "desde": "since",
    "after": "after", "nach": "after", "before": "before", "vor": "before", "avant": "before",
    "until": "until", "till": "until", "by": "until", "bis": "until", "hasta": "until",
}  # fmt: skip
"""Words before a time that leave one of its ends open."""
TIME_WORDS: Final = 4
"""Most words of one time."""


def period(tokens: Sequence[str], now: int) -> Period | None:
    """Return the time that consecutive words say, ``None`` if they say none.

    Args:
        tokens: words as search compares them, or a day as ISO 8601 writes it.
        now: in microseconds.
    """
    if (bound := _BOUNDS.get(tokens[0])) is None:
        return _period(tokens, now)
    within = _period(tokens[1:], now) if len(tokens) > 1 else None
    if within is None or within.start is None or within.end is None:
        return None
    readings = [_with_bound(each, bound, " ".join(tokens), now) for each in within.readings]
    if bound == "since":
        # Nobody says "since April" of one to come.
        readings = sorted(readings, key=lambda each: (each.start or 0) > now)
    elif bound == "until":
        readings = sorted(readings, key=lambda each: each.direction == "past")
    first, *others = readings
    return first._replace(others=tuple(others))


def _with_bound(within: Period, bound: Bound, phrase: str, now: int) -> Period:
    """Return what begins or ends with a time; ``by`` and ``until`` have the whole of it."""
    start, end = within.start or 0, within.end or 0
    if bound == "since":
        return Period(phrase, "past", start, None)
    if bound == "after":
        return Period(phrase, "past" if end <= now else "future", end, None)
    end = start if bound == "before" else end
    return Period(phrase, "past" if end <= now else "future", None, end)


def _period(tokens: Sequence[str], now: int) -> Period | None:
    phrase = " ".join(tokens)
    first, *rest = tokens
    today = _midnight(now)
    if not rest:
        if first in _FUTURE:
            return Period(phrase, "future", now, None)
        if first in _PAST:
            return Period(phrase, "past", None, now)
        if first in _DAYS:
            start = today + timedelta(days=_DAYS[first])
            return _bounded(phrase, start, start + timedelta(days=1), now)
    if len(tokens) == 2 and first in _SHIFTS and (unit := _UNITS.get(rest[0].removesuffix("s"))):
        return _bounded(phrase, *_unit(today, unit, _SHIFTS[first]), now)
    if len(tokens) == 3 and first in ("next", "coming", "last", "past"):
        count = _NUMBERS.get(rest[0], int(rest[0]) if rest[0].isdecimal() and len(rest[0]) < 5 else 0)
        return _counted(phrase, first in ("next", "coming"), count, rest[1], now) if count else None
    dated = [_bounded(phrase, *each, now) for each in kind_dates.intervals(tokens, today)]
    return dated[0]._replace(others=tuple(dated[1:])) if dated else None


def _midnight(now: int) -> datetime:
    return (times.EPOCH + timedelta(microseconds=now)).replace(hour=0, minute=0, second=0, microsecond=0)


def _micros(at: datetime) -> int:
    return (at - times.EPOCH) // timedelta(microseconds=1)


def _bounded(phrase: str, start: datetime, end: datetime, now: int) -> Period:
    return Period(phrase, "past" if _micros(end) <= now else "future", _micros(start), _micros(end))


def _unit(today: datetime, unit: str, shift: int) -> tuple[datetime, datetime]:
    """Return the beginning and the end of a week, a month, a quarter or a year."""
    if unit == "week":
        start = today - timedelta(days=today.weekday()) + timedelta(weeks=shift)
        return start, start + timedelta(weeks=1)
    size = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = (today.month - 1) // size * size
    return _month(today, first + shift * size), _month(today, first + (shift + 1) * size)


def _month(today: datetime, months: int) -> datetime:
    """Return the first day of a month, counted from January of this year."""
    return today.replace(year=today.year + months // 12, month=months % 12 + 1, day=1)


def _counted(phrase: str, is_next: bool, count: int, unit: str, now: int) -> Period | None:
    days = {"day": 1, "days": 1, "week": 7, "weeks": 7, "month": 30, "months": 30}.get(unit)
    if days is None or count > COUNT_LIMIT:
        return None
    length = count * days * DAY_MICROSECONDS
    return (
        Period(phrase, "future", now, now + length) if is_next else Period(phrase, "past", now - length, now)
    )


def moment(value: Any) -> Moment | None:
    """Return the date that a decoded value is, ``None`` if it is none."""
    return _moment(value.strip()) if isinstance(value, str) and len(value) <= DATE_CHARACTERS else None


@functools.lru_cache(maxsize=8_192)
def _moment(text: str) -> Moment | None:
    written = dates.parse(text)
    if written is None:
        return None
    length = DAY_MICROSECONDS if written.precision == "day" else 1
    return Moment(written.at, written.at + length)


_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(listed.split())
    for name, listed in {
        "due": """due_date due due_at due_on due_by date_due deadline deadline_at deadline_date payment_due
            payment_due_date renewal_date expires_at expires_on expiry_date expiration_date valid_until""",
        "start": """date_start starts_at start_at starts_on start_date start start_time begins_at begin_date
            scheduled_at scheduled_for scheduled_on scheduled_date event_date meeting_date appointment_date
            when
            started_at departure_date""",
        "own": """date issue_date issued_at issued_on date_issued sent_at sent_on received_at published_at
            published_on published_date occurred_at happened_at posted_at order_date payment_date datetime
            timestamp time""",
        "paid": "paid_at paid_on paid_date date_paid",
        "done": """completed_at completed_on completed_date date_completed completion_date finished_at
            finished_on closed_at closed_on closed_date resolved_at done_at""",
        "end": "ends_at end_at ends_on end_date date_end end end_time ended_at",
    }.items()
}
_NO_TIME_OF_ITS_OWN: Final = words.word_set(
    "birthday birth_date date_of_birth born created_at updated_at modified_at last_seen_at joined_at"
)


def time_fields(
    entity_type: str, fields: Collection[str], dated: Collection[str], asked: Period, state: str | None
) -> list[str]:
    """Return the fields of a type whose dates a time is about, the best first; only the first of them counts
    that an entity has.

    Args:
        fields: all fields of the type.
        dated: those of them whose values are dates.
        state: the meaning of the state that is asked for, if one is.
    """
    by_name = {"_".join(words.tokens(name)): name for name in sorted(fields, reverse=True)}
    groups = {name: list(listed) for name, listed in _GROUPS.items()}
    groups["own"] = [f"{entity_type}_date", f"{entity_type}_at", f"{entity_type}_time", *groups["own"]]
    if asked.is_due:
        order = ["due"]
    elif asked.direction == "past":
        order = ["own", "due", "start", "end"]
    else:
        order = ["due", "start", "own", "end"]
    if asked.direction == "past" and state in ("done", "ended", "paid") and not asked.is_due:
        order = [*(["paid"] if state == "paid" else ["done", "paid"]), *order]
    for group in order:
        if named := [by_name[name] for name in groups[group] if name in by_name]:
            return named
    if asked.is_due:
        return []
    others = sorted(name for name in dated if "_".join(words.tokens(name)) not in _NO_TIME_OF_ITS_OWN)
    return others[:1]


def due_fields(fields: Collection[str]) -> list[str]:
    """Return the fields that say when something is due, the best first."""
    by_name = {"_".join(words.tokens(name)): name for name in sorted(fields, reverse=True)}
    return [by_name[name] for name in _GROUPS["due"] if name in by_name]
