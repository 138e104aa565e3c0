"""Times in the words of a question, such as "next week": the interval, and the fields whose dates count.

Times are UTC. A week begins on Monday. A date without a time of day is the whole day: what is due today is
not past.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from graphmem.model import dates, times
from graphmem.search.questions import lexicon
from graphmem.text import languages, words

LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt")
"""The languages of the names of months and weekdays, the strongest first."""
NAMES_OF_PEOPLE: Final = lexicon.words("month_people")
"""Months that are names of people, too: "tasks for June"."""
WORDS_OF_OTHER_MEANING: Final = lexicon.words("month_words")
"""Months that have another meaning, too: "tasks that may be late"."""
SHIFTS: Final = lexicon.numbers("shifts")
_WEEKEND: Final = lexicon.words("weekend")
_YEAR = re.compile(r"(?:19|20|21)\d\d")
_DAY = re.compile(r"([1-9]|[12]\d|3[01])(?:st|nd|rd|th)?")
_ISO_DAY = re.compile(r"((?:19|20|21)\d\d)-(\d\d)-(\d\d)")
_ISO_MONTH = re.compile(r"((?:19|20|21)\d\d)-(\d\d)")
_QUARTER = re.compile(r"q([1-4])")


class Moment(NamedTuple):
    """A date of an entity, or a time that words say: its first microsecond, and the first one after it."""

    start: int
    end: int

    def is_within(self, period: Period) -> bool:
        """Return whether the date is within a period; what is not over yet is upcoming, and not past."""
        if period.start is None and period.end is not None:
            return self.end <= period.end
        # A day that is not over belongs to the next days.
        after_start = period.start is None or self.end > period.start
        return after_start and (period.end is None or self.start < period.end)


def is_iso(text: str) -> bool:
    """Return whether a text is a day or a month as ISO 8601 writes it."""
    return bool(_ISO_DAY.fullmatch(text) or _ISO_MONTH.fullmatch(text))


@cache
def months() -> Mapping[str, int]:
    """Return the number of the month (1 to 12) that each name means."""
    return {name: number for each in reversed(LANGUAGES) for name, number in languages.months(each).items()}


@cache
def weekdays() -> Mapping[str, int]:
    """Return the number of the weekday (0 to 6, Monday first) that each name means."""
    return {name: number for each in reversed(LANGUAGES) for name, number in languages.weekdays(each).items()}


def intervals(tokens: Sequence[str], today: int) -> list[Moment]:
    """Return the times that consecutive words may mean, the likeliest first; none if they say no such time.

    A day or a month without a year is of this year, else of the next one if it is over, else of the last
    one. A weekday is the next one, today among them, else the last one.

    Args:
        tokens: words as search compares them, or a day as ISO 8601 writes it.
        today: its midnight in UTC.
    """
    if (shift := SHIFTS.get(tokens[0])) is not None and len(tokens) == 2:
        candidates = intervals(tokens[1:], today)
        if shift > 0:
            candidates = sorted(each for each in candidates if each.start > today)
        elif shift < 0:
            candidates = sorted((each for each in candidates if each.end <= today), reverse=True)
        return candidates[:1]
    if tokens[0] in _WEEKEND and len(tokens) == 1:
        saturday = today + (5 - _weekday(today)) * times.DAY
        return [Moment(saturday, saturday + 2 * times.DAY)]
    if len(tokens) == 1:
        return _of_word(tokens[0], today)
    if len(tokens) <= 3 and _YEAR.fullmatch(tokens[-1]):
        return _of_year(tokens[:-1], int(tokens[-1]))
    if len(tokens) == 2:
        return [each for year in _years(today) for each in _of_year(tokens, year)]
    return []


def _of_word(token: str, today: int) -> list[Moment]:
    if token in weekdays():
        coming = today + (weekdays()[token] - _weekday(today)) % 7 * times.DAY
        return [_day(coming), _day(coming - 7 * times.DAY)]
    if _YEAR.fullmatch(token):
        return [_months_from(int(token), 0, 12)]
    if iso := _ISO_DAY.fullmatch(token):
        return _of_day(*map(int, iso.groups()))
    if (iso := _ISO_MONTH.fullmatch(token)) and 1 <= int(iso[2]) <= 12:
        return [_months_from(int(iso[1]), int(iso[2]) - 1, 1)]
    return [each for year in _years(today) for each in _of_year([token], year)]


def _of_year(tokens: Sequence[str], year: int) -> list[Moment]:
    """Return the month, the quarter, or the day of a year."""
    if len(tokens) == 1:
        if quarter := _QUARTER.fullmatch(tokens[0]):
            return [_months_from(year, 3 * int(quarter[1]) - 3, 3)]
        return [_months_from(year, months()[tokens[0]] - 1, 1)] if tokens[0] in months() else []
    if len(tokens) != 2:
        return []
    name, number = tokens if tokens[0] in months() else reversed(tokens)
    day = _DAY.fullmatch(number)
    return _of_day(year, months()[name], int(day[1])) if name in months() and day else []


def _of_day(year: int, month: int, day: int) -> list[Moment]:
    try:
        return [_day(times.parse(f"{year}-{month:02}-{day:02}"))]
    except ValueError:
        return []


def _day(midnight: int) -> Moment:
    return Moment(midnight, midnight + times.DAY)


def _weekday(midnight: int) -> int:
    """Return the number of a weekday, 0 for Monday; the first day that is counted was a Thursday."""
    return (midnight // times.DAY + 3) % 7


def _months_from(year: int, month: int, count: int) -> Moment:
    """Return some months from one on that is counted from January of a year, which is 0."""
    bounds = (divmod(each, 12) for each in (month, month + count))
    return Moment(*(times.parse(f"{year + years}-{rest + 1:02}-01") for years, rest in bounds))


def _years(today: int) -> list[int]:
    year = int(times.render(today)[:4])
    return [year, year + 1, year - 1]


Direction = Literal["future", "past"]
Bound = Literal["since", "after", "before", "until"]
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


_FUTURE: Final = lexicon.words("future")
_PAST: Final = lexicon.words("past")
_DAYS: Final = lexicon.numbers("days_from_today")
_UNITS: Final = lexicon.meanings("units_of_time")
_UNIT_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_UNIT_MONTHS: Final = {"week": 0, "month": 1, "quarter": 3, "year": 12}
_AGO: Final = lexicon.meanings("ago")
"""Words before or after a length of time: "two weeks ago"."""
_NUMBERS: Final = lexicon.numbers("numbers")
_BOUNDS: Final[Mapping[str, Bound]] = cast("Mapping[str, Bound]", lexicon.meanings("bounds"))
"""Words before a time that leave one of its ends open."""
TIME_WORDS: Final = 4
"""Most words of one time."""


def period(tokens: Sequence[str], now: int) -> Period | None:
    """Return the time that consecutive words say, ``None`` if they say none.

    Args:
        now: in microseconds.
    """
    if (day := _ago(tokens, now)) is not None:
        return _bounded(" ".join(tokens), day, now)
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
    today = now - now % times.DAY
    if not rest:
        if first in _FUTURE:
            return Period(phrase, "future", now, None)
        if first in _PAST:
            return Period(phrase, "past", None, now)
        if first in _DAYS:
            return _bounded(phrase, _day(today + _DAYS[first] * times.DAY), now)
    if len(tokens) == 2 and not SHIFTS.keys().isdisjoint(tokens):
        shift, unit = tokens if first in SHIFTS else reversed(tokens)
        if _UNITS.get(unit) in _UNIT_MONTHS:
            return _bounded(phrase, _unit(today, _UNITS[unit], SHIFTS[shift]), now)
    if len(tokens) == 3 and first in ("next", "coming", "last", "past"):
        if not (length := _length(*rest)):
            return None
        if first in ("next", "coming"):
            return Period(phrase, "future", now, now + length)
        return Period(phrase, "past", now - length, now)
    dated = [_bounded(phrase, each, now) for each in intervals(tokens, today)]
    return dated[0]._replace(others=tuple(dated[1:])) if dated else None


def _bounded(phrase: str, moment: Moment, now: int) -> Period:
    return Period(phrase, "past" if moment.end <= now else "future", *moment)


def _unit(today: int, unit: str, shift: int) -> Moment:
    """Return a week, a month, a quarter or a year."""
    if unit == "week":
        start = today + (7 * shift - _weekday(today)) * times.DAY
        return Moment(start, start + 7 * times.DAY)
    size, (year, month, _) = _UNIT_MONTHS[unit], map(int, times.render(today)[:10].split("-"))
    return _months_from(year, (month - 1) // size * size + shift * size, size)


def _length(number: str, unit: str) -> int:
    """Return the microseconds of "30 days" or "two weeks", 0 if the words say no such length."""
    count = _NUMBERS.get(number, int(number) if number.isdecimal() and len(number) < 5 else 0)
    return count * _UNIT_DAYS.get(_UNITS.get(unit, ""), 0) * times.DAY if count <= COUNT_LIMIT else 0


def _ago(tokens: Sequence[str], now: int) -> Moment | None:
    """Return the day of "two weeks ago" or "vor zwei Wochen"."""
    if len(tokens) != 3 or not (_AGO.get(tokens[0]) == "before" or _AGO.get(tokens[2]) == "after"):
        return None
    length = _length(*(tokens[1:] if _AGO.get(tokens[0]) == "before" else tokens[:2]))
    return _day((now - length) // times.DAY * times.DAY) if length else None


def is_day_from_today(token: str) -> bool:
    """Return whether a word is one such as "yesterday"."""
    return token in _DAYS


def moment(value: Any) -> Moment | None:
    """Return the date that a decoded value is, ``None`` if it is none."""
    return _moment(value.strip()) if isinstance(value, str) and len(value) <= DATE_CHARACTERS else None


@functools.lru_cache(maxsize=8_192)
def _moment(text: str) -> Moment | None:
    written = dates.parse(text)
    if written is None:
        return None
    length = times.DAY if written.precision == "day" else 1
    return Moment(written.at, written.at + length)


FIELDS: Final[Mapping[str, tuple[str, ...]]] = lexicon.fields("times")
"""Fields of dates, the best first: those that say when something is due, begins, ends …"""
_OCCASIONS: Final = frozenset(lexicon.fields("other")["occasions"])
"""Words of types of what takes place at a time."""
_NO_TIME_OF_ITS_OWN: Final = lexicon.fields("other")["no_time_of_its_own"]


def time_fields(
    entity_type: str, fields: Collection[str], dated: Collection[str], period: Period, state: str | None
) -> list[str]:
    """Return the fields of a type whose dates a time is about, the best first; only the first of them counts
    that an entity has.

    Args:
        fields: all fields of the type.
        dated: those of them whose values are dates.
        state: the meaning of the state that is asked for, if one is.
    """
    groups = {name: list(names) for name, names in FIELDS.items()}
    groups["own"] = [f"{entity_type}_date", f"{entity_type}_at", f"{entity_type}_time", *groups["own"]]
    if period.is_due:
        order = ["due"]
    elif period.direction == "past":
        order = ["own", "due", "start", "end"]
    else:
        order = ["due", "start", "own", "end"]
    if period.direction == "past" and state in ("done", "ended", "paid") and not period.is_due:
        order = [*(["paid"] if state == "paid" else ["done", "paid"]), *order]
    for group in order:
        if named := listed(groups[group], fields):
            return named
    if period.is_due:
        return []
    others = sorted(name for name in dated if "_".join(words.tokens(name)) not in _NO_TIME_OF_ITS_OWN)
    return others[:1]


def agenda_fields(entity_type: str, fields: Collection[str]) -> list[str]:
    """Return the fields of a type that say when something is on or due; that of an occasion may be any."""
    is_occasion = not _OCCASIONS.isdisjoint(entity_type.split("_"))
    groups = ("due", "start", *(["own"] if is_occasion else []), "end")
    return listed((name for group in groups for name in FIELDS[group]), fields)


def listed(names: Iterable[str], fields: Collection[str]) -> list[str]:
    by_name = {"_".join(words.tokens(name)): name for name in sorted(fields, reverse=True)}
    return [by_name[name] for name in names if name in by_name]
