"""Days, weekdays, months, quarters and years in the words of a question: "8 May", "Friday", "April", "2025".

A day or a month without a year may be of several years, and a weekday of two weeks. So words have several
intervals, the likeliest first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple

from graphmem.text import languages

LANGUAGES: Final = ("en", "de", "fr", "es")
"""The languages of the names of months and weekdays, the strongest first."""
NAMES_OF_PEOPLE: Final = frozenset({"april", "may", "mai", "june", "august"})
"""Months that are names of people, too: "tasks for June"."""
WORDS_OF_OTHER_MEANING: Final = frozenset({"may", "march", "mar", "mars", "jan", "juin"})
"""Months that have another meaning, too: "tasks that may be late"."""
_YEAR = re.compile(r"(?:19|20|21)\d\d")
_DAY = re.compile(r"([1-9]|[12]\d|3[01])(?:st|nd|rd|th)?")
_ISO_DAY = re.compile(r"((?:19|20|21)\d\d)-(\d\d)-(\d\d)")
_ISO_MONTH = re.compile(r"((?:19|20|21)\d\d)-(\d\d)")
_QUARTER = re.compile(r"q([1-4])")
_NEXT: Final = frozenset({"next", "coming", "nachster", "nachsten", "nachste", "prochain", "proximo"})
_LAST: Final = frozenset({"last", "past", "previous", "letzter", "letzten", "letzte", "dernier", "pasado"})
_THIS: Final = frozenset({"this", "current", "diesen", "dieser", "ce", "este"})


class Interval(NamedTuple):
    """A time from ``start`` up to ``end``, midnights in UTC."""

    start: datetime
    end: datetime


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


def intervals(tokens: Sequence[str], today: datetime) -> list[Interval]:
    """Return the times that consecutive words may mean, the likeliest first; none if they say no such time.

    A day or a month without a year is of this year, else of the next one if it is over, else of the last
    one. A weekday is the next one, today among them, else the last one.

    Args:
        tokens: words as search compares them, or a day as ISO 8601 writes it.
        today: midnight in UTC.
    """
    if tokens[0] in _NEXT | _LAST | _THIS and len(tokens) == 2:
        return _shifted(tokens[0], intervals(tokens[1:], today), today)
    if tokens[0] in ("weekend", "wochenende") and len(tokens) == 1:
        saturday = today + timedelta(days=5 - today.weekday())
        return [Interval(saturday, saturday + timedelta(days=2))]
    if len(tokens) == 1:
        return _of_word(tokens[0], today)
    if len(tokens) <= 3 and _YEAR.fullmatch(tokens[-1]):
        return _of_year(tokens[:-1], int(tokens[-1]))
    if len(tokens) == 2:
        return [each for year in _years(today) for each in _of_year(tokens, year)]
    return []


def _of_word(token: str, today: datetime) -> list[Interval]:
    if token in weekdays():
        coming = today + timedelta(days=(weekdays()[token] - today.weekday()) % 7)
        return [_day(coming), _day(coming - timedelta(weeks=1))]
    if _YEAR.fullmatch(token):
        return [_months_from(int(token), 1, 12)]
    if iso := _ISO_DAY.fullmatch(token):
        return _of_day(*map(int, iso.groups()))
    if (iso := _ISO_MONTH.fullmatch(token)) and 1 <= int(iso[2]) <= 12:
        return [_months_from(int(iso[1]), int(iso[2]), 1)]
    return [each for year in _years(today) for each in _of_year([token], year)]


def _of_year(tokens: Sequence[str], year: int) -> list[Interval]:
    """Return the month, the quarter, or the day of a year."""
    if len(tokens) == 1:
        if quarter := _QUARTER.fullmatch(tokens[0]):
            return [_months_from(year, 3 * int(quarter[1]) - 2, 3)]
        return [_months_from(year, months()[tokens[0]], 1)] if tokens[0] in months() else []
    if len(tokens) != 2:
        return []
    name, number = tokens if tokens[0] in months() else reversed(tokens)
    day = _DAY.fullmatch(number)
    return _of_day(year, months()[name], int(day[1])) if name in months() and day else []


def _of_day(year: int, month: int, day: int) -> list[Interval]:
    try:
        return [_day(datetime(year, month, day, tzinfo=UTC))]
    except ValueError:
        return []


def _day(start: datetime) -> Interval:
    return Interval(start, start + timedelta(days=1))


def _months_from(year: int, month: int, count: int) -> Interval:
    end = month - 1 + count
    return Interval(
        datetime(year, month, 1, tzinfo=UTC),
        datetime(year + end // 12, end % 12 + 1, 1, tzinfo=UTC),
    )


def _years(today: datetime) -> list[int]:
    return [today.year, today.year + 1, today.year - 1]


def _shifted(word: str, candidates: Sequence[Interval], today: datetime) -> list[Interval]:
    """Return the candidate that "next", "last" or "this" means."""
    if word in _NEXT:
        return sorted(each for each in candidates if each.start > today)[:1]
    if word in _LAST:
        return sorted((each for each in candidates if each.end <= today), reverse=True)[:1]
    return list(candidates[:1])
