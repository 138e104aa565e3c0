"""Which fields say from when and until when something held, and whether a relationship has ended.

The answer is worked out when a relationship is read, from its metadata and a time. Nothing of it is stored:
what is stored does not depend on the day. :mod:`graphmem.model.valid_time` reads the same fields for the
answers as of a time.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from graphmem import tables
from graphmem.model import canonical, dates, times
from graphmem.model.identity import squeezed

_SPANS: Final = {name: frozenset(words.split()) for name, words in tables.read("model/spans").items()}
STARTS, FIELDS = _SPANS["starts"], _SPANS["ends"]  # the fields that name a start, and those that name an end
STARTS_OF_THINGS, OF_VALUES = _SPANS["of_things"], _SPANS["of_values"]
"""The starts that count for an entity, and the fields that say of one when its values held."""
ROLES: Final = _SPANS["roles"]  # the fields that say what somebody is in a relationship
_ENDED_IF: Final = {
    "ended": "true", "isended": "true", "hasended": "true", "expired": "true", "terminated": "true",
    "current": "false", "iscurrent": "false", "active": "false", "isactive": "false", "ongoing": "false",
}  # fmt: skip
"""Fields of which one value (canonical JSON) says that a relationship has ended, at an unknown time."""
NAMES: Final = FIELDS | STARTS | _ENDED_IF.keys()
"""Every field that decides whether a relationship has ended, in the same spelling."""
PERIODS: Final = "periods"
"""The field of a relationship that lists its periods, each with the fields that were said of it."""
VALUE_LIMIT: Final = 80  # characters of a value (JSON) that may be a date; longer ones are not read
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"(\d{4})[-/](\d{2})|([A-Za-z]{3,9})\.? (\d{4})", re.ASCII)


class Ending(NamedTuple):
    """When a relationship ends: the first instant after it (microseconds), and the stored value (JSON)."""

    at: int
    value: str


def ended(metadata: Iterable[tuple[str, str]], now: int) -> str | None:
    """Return the value (JSON) that says that a relationship ended before a time (microseconds), if it did."""
    moments = [end for _, end in ends(metadata, now)]
    return min(moments).value if moments else None


def validity(metadata: Iterable[tuple[str, str]]) -> tuple[int | None, int | None]:
    """Return when a relationship began, and the first instant after it, as far as its metadata says so."""
    fields = list(metadata)
    moments = [end for _, end in ends(fields, times.LATEST)]
    return max(_starts(fields), default=None), min(moments).at if moments else None


def periods(metadata: Iterable[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return the metadata of each period of a relationship, the earliest first; all of it if it has one."""
    fields = list(metadata)
    listed = canonical.decode(dict(fields).get(PERIODS, "null"))
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return [fields]
    return [[(name, canonical.encode(value)) for name, value in each.items()] for each in listed]


def ends(metadata: Iterable[tuple[str, str]], now: int) -> list[tuple[str, Ending]]:
    """Return the fields that say that a relationship ended before a time, each with that end. An end that
    lies before the start is that of an earlier time: who left and came back is there."""
    fields = list(metadata)
    every = ((name, _end(name, value)) for name, value in fields)
    last_start = max(_starts(fields), default=times.EARLIEST)
    return [
        (name, end)
        for name, end in every
        if end is not None and end.at <= now and (end.at > last_start or end.at == times.EARLIEST)
    ]


def _starts(fields: Iterable[tuple[str, str]]) -> list[int]:
    return [span.start for name, value in fields if squeezed(name) in STARTS and (span := span_of(value))]


def _end(name: str, value: str) -> Ending | None:
    spelled = squeezed(name)
    if _ENDED_IF.get(spelled) == value:
        return Ending(times.EARLIEST, value)
    span = span_of(value) if spelled in FIELDS else None
    return None if span is None else Ending(span.after, value)


class Span(NamedTuple):
    """The time that a value names: its first instant, and the first instant after it (microseconds)."""

    start: int
    after: int


def span_of(value: str) -> Span | None:
    """Return the time that a value (JSON) names: a date, a time, a month or a year; ``None`` for others."""
    if value[:1] not in '"0123456789':
        return None
    text = (canonical.decode(value) if value[0] == '"' else value).strip()
    if _YEAR.fullmatch(text):
        return _months(int(text), 1, 12)
    if (month := _MONTH.fullmatch(text)) is not None:
        year, number = month[1] or month[4], int(month[2]) if month[2] else dates.month_number(month[3])
        return _months(int(year), number, 1)
    written = dates.parse(text)
    if written is None:
        return None
    return Span(written.at, written.at + (times.DAY if written.precision == "day" else 0))


def _months(year: int, month: int, count: int) -> Span | None:
    """Return the time of some months from one on; ``None`` if there is no such month."""
    if not 1 <= month <= 12:
        return None
    start, after = (
        _start_of(year + (number - 1) // 12, (number - 1) % 12 + 1) for number in (month, month + count)
    )
    return None if start is None or after is None else Span(start, after)


def _start_of(year: int, month: int) -> int | None:
    if not 1 <= year <= 9999:
        return None
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1_000_000
