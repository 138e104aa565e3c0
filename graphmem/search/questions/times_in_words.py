"""Times in the words of a question, such as "next week": the intervals that the rules of times make of them.

Days are those of the time zone of the question (:data:`graphmem.model.times.ZONE`). A week begins on Monday.
A date without a time of day is the whole day: what is due today is not past. A day or a month without a year
is of this year, else of the next one if it is over, else of the last one. A weekday is the next one, today
among them, else the last one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from graphmem.model import dates, times
from graphmem.search.questions import lexicon
from graphmem.search.questions.chart import Action, Chart, Edge
from graphmem.text import languages, words

_YEAR = re.compile(r"(?:19|20|21)\d\d")
_MONTHDAY = re.compile(r"([1-9]|[12]\d|3[01])(?:st|nd|rd|th)?")
_ISO_DAY = re.compile(r"(?:19|20|21)\d\d-\d\d-\d\d")
_ISO_MONTH = re.compile(r"((?:19|20|21)\d\d)-(\d\d)")
_QUARTER = re.compile(r"q([1-4])")
Direction = Literal["future", "past"]
DATE_CHARACTERS: Final = 2 * dates.LENGTH_LIMIT
"""Characters of the longest value that is read as a date, blanks around it included."""
COUNT_LIMIT: Final = 1_000  # most units of "the next 30 days"


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


class Period(NamedTuple):
    """A time that a question asks for: its words, and the interval in microseconds without its end.

    Attributes:
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


def is_iso(text: str) -> bool:
    """Return whether a text is a day or a month as ISO 8601 writes it."""
    return bool(_ISO_DAY.fullmatch(text) or _ISO_MONTH.fullmatch(text))


def is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


@functools.cache
def names_of(what: Literal["months", "weekdays"]) -> Mapping[str, int]:
    """Return the number of the month (1 to 12) or weekday (0 to 6, Monday first) that each name means."""
    of_language: Callable[[str], Mapping[str, int]] = getattr(languages, what)
    known = [name for name, tables in lexicon.LANGUAGES.items() if "units_of_time" in tables]
    return {name: number for each in reversed(known) for name, number in of_language(each).items()}


_WORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "unit": lexicon.meanings("units_of_time"),
    "shift": lexicon.numbers("shifts"),
    "bound": lexicon.meanings("bounds"),
    "number": lexicon.numbers("numbers"),
    "before_length": {word: 0 for word, side in lexicon.meanings("ago").items() if side == "before"},
    "after_length": {word: 0 for word, side in lexicon.meanings("ago").items() if side == "after"},
}
"""The words of times by category, and what they mean."""
_DAYS_FROM_TODAY: Final = lexicon.numbers("days_from_today")
_WEEKEND, _FUTURE, _PAST, _DUE = map(lexicon.words, ("weekend", "future", "past", "due"))
_UNIT_LENGTHS: Final = {
    "hour": times.DAY // 24, "day": times.DAY, "week": 7 * times.DAY, "month": 30 * times.DAY,
    "year": 365 * times.DAY,
}  # fmt: skip
_UNIT_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
Moments = tuple[Moment, ...] | None  # the times that words may mean, the likeliest first


@dataclass(frozen=True)
class Calendar:
    """What words of time mean at a moment. ``tokens`` are as search compares them, ISO 8601 as written. A
    part of a year is its first month, from 0, and how many months it has, or minus the number of its day."""

    tokens: Sequence[str]
    now: int

    @property
    def today(self) -> int:
        """Midnight, as clocks show it."""
        return times.midnight(self.now)

    def words_at(self, place: int) -> Iterator[Edge]:
        """Yield what the word at a place may be of a time."""
        for category, value in self._meanings(self.tokens[place]):
            yield Edge(category, place, place + 1, value)

    def _meanings(self, token: str) -> Iterator[tuple[str, Any]]:
        for category, table in _WORDS.items():
            if token in table:
                yield category, table[token]
        if (month := names_of("months").get(token)) is not None:
            yield "month", (month - 1, 1)
        if token in _FUTURE:
            yield "PERIOD", Period(token, "future", self.now, None)
        if token in _PAST:
            yield "PERIOD", Period(token, "past", None, self.now)
        if moments := self._moments(token):
            yield "time", moments
        if quarter := _QUARTER.fullmatch(token):
            yield "quarter", (3 * int(quarter[1]) - 3, 3)
        if monthday := _MONTHDAY.fullmatch(token):
            yield "monthday", -int(monthday[1])
        if token.isdecimal() and len(token) < 5:
            yield "number", int(token)
        if _YEAR.fullmatch(token):
            yield "year", int(token)

    def _moments(self, token: str) -> Moments:
        """Return the days, the month or the year that one word says."""
        if (weekday := names_of("weekdays").get(token)) is not None:
            coming = self.today + (weekday - _weekday(self.today)) % 7 * times.DAY
            return _day(coming), _day(coming - 7 * times.DAY)
        if (shift := _DAYS_FROM_TODAY.get(token)) is not None:
            return (_day(self.today + shift * times.DAY),)
        if token in _WEEKEND:
            saturday = self.today + (5 - _weekday(self.today)) * times.DAY
            return (Moment(saturday, saturday + 2 * times.DAY),)
        if _YEAR.fullmatch(token):
            return (_months_from(int(token), 0, 12),)
        if _ISO_DAY.fullmatch(token) and (written := dates.parse(token)) is not None:
            return (_day(written.at),)
        iso = _ISO_MONTH.fullmatch(token)
        return (_months_from(int(iso[1]), int(iso[2]) - 1, 1),) if iso and 1 <= int(iso[2]) <= 12 else None

    @property
    def actions(self) -> dict[str, Action]:
        """The functions that the rules of times name."""
        return {
            "same": lambda _start, _end, value: value,
            "length": lambda _start, _end, count, unit: _length(count, unit),
            "day": lambda _start, _end, month, day: (month[0], day),
            "day_of_years": lambda _start, _end, month, day: self._of_years((month[0], day)),
            "of_years": lambda _start, _end, part: self._of_years(part),
            "of_year": lambda _start, _end, part, year: _of_year(part, year),
            "chosen": lambda _start, _end, shift, moments: self._chosen(shift, moments),
            "chosen_part": lambda _start, _end, shift, part: self._chosen(shift, self._of_years(part)),
            "dated": self._dated,
            "shifted": self._shifted,
            "stretch": self._stretch,
            # Italian says "due", which is two, behind its word for next.
            "stretch_of": lambda start, end, count, shift, unit: (
                None if self.tokens[start] in _DUE else self._stretch(start, end, shift, _length(count, unit))
            ),
            "stretch_behind": lambda start, end, length, *shifts: self._stretch(
                start, end, shifts[-1], length
            ),
            "bounded_length": lambda start, end, bound, length: (
                self._stretch(start, end, 1, length) if bound in ("until", "within") else None
            ),
            "ago": lambda start, end, length: self._period(
                start, end, _day(times.midnight(self.now - length))
            ),
            "bounded": lambda start, end, bound, *within: (
                self._bounded(start, end, bound, within[-1]) if bound != "over" or len(within) > 1 else None
            ),
            "bounded_part": lambda start, end, bound, part: (
                self._bounded(start, end, bound, self._dated(start, end, moments))
                if (moments := self._of_years(part))
                else None
            ),
        }

    def _of_years(self, part: tuple[int, int]) -> Moments:
        year = int(times.render(self.today)[:4])
        return tuple(each for of in (year, year + 1, year - 1) for each in _of_year(part, of) or ()) or None

    def _chosen(self, shift: int, moments: Moments) -> Moments:
        """Return the next one of some times, or the last one."""
        among = sorted(moments or (), reverse=shift < 0)
        if shift:
            among = [
                each for each in among if (each.start > self.today if shift > 0 else each.end <= self.today)
            ]
        return tuple(among if shift else moments or ())[:1] or None

    def _dated(self, start: int, end: int, moments: tuple[Moment, ...]) -> Period:
        first, *others = [self._period(start, end, each) for each in moments]
        return first._replace(others=tuple(others))

    def _shifted(self, start: int, end: int, shift: int, unit: str) -> Period | None:
        """Return a week, a month, a quarter or a year."""
        if unit == "week":
            monday = self.today + (7 * shift - _weekday(self.today)) * times.DAY
            return self._period(start, end, Moment(monday, monday + 7 * times.DAY))
        if (size := _UNIT_MONTHS.get(unit)) is None:
            return None
        year, month, _ = map(int, times.render(self.today)[:10].split("-"))
        return self._period(start, end, _months_from(year, ((month - 1) // size + shift) * size, size))

    def _stretch(self, start: int, end: int, shift: int, length: int | None) -> Period | None:
        if length is None:
            return None
        phrase = self._words(start, end)
        if shift > 0:
            return Period(phrase, "future", self.now, self.now + length)
        return Period(phrase, "past", self.now - length, self.now) if shift < 0 else None

    def _bounded(self, start: int, end: int, bound: str, within: Period) -> Period | None:
        """Return what begins or ends with a time; ``by`` and ``until`` have the whole of it."""
        if within.start is None or within.end is None:
            return None
        phrase = self._words(start, end)
        if bound in ("over", "within"):
            return within._replace(
                words=phrase, others=tuple(each._replace(words=phrase) for each in within.others)
            )
        readings: list[Period] = []
        for each in within.readings:
            edge = each.start if bound in ("since", "before") else each.end
            is_over = bound == "since" or (edge or 0) <= self.now
            interval = (edge, None) if bound in ("since", "after") else (None, edge)
            readings.append(Period(phrase, "past" if is_over else "future", *interval))
        if bound == "since":
            # Nobody says "since April" of one to come.
            readings.sort(key=lambda each: (each.start or 0) > self.now)
        elif bound == "until":
            readings.sort(key=lambda each: each.direction == "past")
        return readings[0]._replace(others=tuple(readings[1:]))

    def _words(self, start: int, end: int) -> str:
        return " ".join(self.tokens[start:end])

    def _period(self, start: int, end: int, moment: Moment) -> Period:
        moment = Moment(*map(times.from_clocks, moment))
        return Period(self._words(start, end), "past" if moment.end <= self.now else "future", *moment)


def of_words(text: str, now: int) -> Period | None:
    """Return the time that a whole text says, ``None`` if it says none."""
    tokens = [each if is_iso(each) else " ".join(words.tokens(each)) for each in text.split()]
    calendar, none = Calendar(tokens, now), [False] * len(tokens)
    edges = [edge for place in range(len(tokens)) for edge in calendar.words_at(place)]
    lone = [edge._replace(symbol="lone_month") for edge in edges if edge.symbol == "month"]
    phrases = Chart(none, none, calendar.actions).parse("times", [*edges, *lone])
    return next((each.value for each in phrases if each[:3] == ("PERIOD", 0, len(tokens))), None)


def _day(midnight: int) -> Moment:
    return Moment(midnight, midnight + times.DAY)


def _length(count: int, unit: str) -> int | None:
    """Return how many microseconds some units are, ``None`` for too many and for quarters."""
    is_length = count in range(1, COUNT_LIMIT + 1) and unit in _UNIT_LENGTHS
    return count * _UNIT_LENGTHS[unit] if is_length else None


def _weekday(midnight: int) -> int:
    """Return the number of a weekday, 0 for Monday; the first day that is counted was a Thursday."""
    return (midnight // times.DAY + 3) % 7


def _months_from(year: int, month: int, count: int) -> Moment:
    """Return some months from one on that is counted from January of a year, which is 0."""
    bounds = (divmod(each, 12) for each in (month, month + count))
    return Moment(*(times.parse(f"{year + years}-{rest + 1:02}-01") for years, rest in bounds))


def _of_year(part: tuple[int, int], year: int) -> Moments:
    """Return a part of a year, ``None`` if it has no such day."""
    month, count = part
    if count > 0:
        return (_months_from(year, month, count),)
    try:
        return (_day(times.parse(f"{year}-{month + 1:02}-{-count:02}")),)
    except ValueError:
        return None


def moment(value: Any) -> Moment | None:
    """Return the date that a decoded value is, ``None`` if it is none."""
    is_short = isinstance(value, str) and len(value) <= DATE_CHARACTERS
    return _moment(value.strip(), times.ZONE.get()) if is_short else None


@functools.lru_cache(maxsize=8_192)
def _moment(text: str, _zone: ZoneInfo | None) -> Moment | None:
    written = dates.parse(text)
    if written is None:
        return None
    if written.precision == "day":
        return Moment(*map(times.from_clocks, _day(written.at)))
    return Moment(written.at, written.at + 1)
