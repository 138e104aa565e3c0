"""Whether the metadata of a relationship says that it ended.

The answer is worked out when a relationship is read, from its metadata and a time. Nothing of it is stored:
what is stored does not depend on the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from graphmem.model import canonical, dates, times

FIELDS: Final = frozenset({
    "until", "untildate", "till", "to", "todate", "dateto", "toyear",
    "end", "ends", "ended", "enddate", "dateend", "dateended", "endat", "endon", "endsat", "endson",
    "endedat", "endedon", "endedin", "endtime", "enddatetime", "endyear", "yearend",
    "validto", "validuntil", "validtill", "validthrough", "activeuntil", "employeduntil",
    "left", "lefton", "leftat", "leftin", "leftdate", "dateleft", "departed", "departedon", "departuredate",
    "resigned", "resignedon", "retiredon", "lastday", "divorcedon",
    "expired", "expiredat", "expiredon", "expires", "expiresat", "expireson", "expiry", "expirydate",
    "expirationdate", "terminated", "terminatedat", "terminatedon", "terminationdate", "dissolvedon",
    "finishedat", "finishedon", "stoppedat", "stoppedon",
})  # fmt: skip
"""The fields that name the end of a relationship, in lower case and without ``_``, ``-`` and blanks."""
_ENDED_IF: Final = {
    "ended": "true", "isended": "true", "hasended": "true", "expired": "true", "terminated": "true",
    "current": "false", "iscurrent": "false", "active": "false", "isactive": "false", "ongoing": "false",
}  # fmt: skip
"""Fields of which one value (canonical JSON) says that a relationship has ended, at an unknown time."""
NAMES: Final = FIELDS | _ENDED_IF.keys()
"""Every field that may say that a relationship has ended, in the same spelling."""
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"(\d{4})[-/](\d{2})|([A-Za-z]{3,9})\.? (\d{4})", re.ASCII)


class Ending(NamedTuple):
    """When a relationship ends: the first instant after it (microseconds), and the stored value (JSON)."""

    at: int
    value: str


def ended(metadata: Iterable[tuple[str, str]], now: int) -> str | None:
    """Return the value that says that a relationship ended before a time; ``None`` if it is current.

    Args:
        metadata: names and canonical JSON values of the relationship's fields.
        now: the time, in microseconds.
    """
    ends = [end for _, end in _ends(metadata, now)]
    return min(ends).value if ends else None


def ending_fields(metadata: Iterable[tuple[str, str]], now: int) -> list[str]:
    """Return the fields that say that a relationship ended before a time; without them it is current."""
    return [name for name, _ in _ends(metadata, now)]


def _ends(metadata: Iterable[tuple[str, str]], now: int) -> list[tuple[str, Ending]]:
    """Return the fields that say that a relationship ended before a time, each with that end."""
    ends = ((name, _end(name, value)) for name, value in metadata)
    return [(name, end) for name, end in ends if end is not None and end.at <= now]


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _end(name: str, value: str) -> Ending | None:
    plain = _plain(name)
    if _ENDED_IF.get(plain) == value:
        return Ending(times.EARLIEST, value)
    if plain not in FIELDS or value[:1] not in '"0123456789':
        return None
    decoded = canonical.decode(value) if value[0] == '"' else value
    at = _after(decoded.strip())
    return None if at is None else Ending(at, value)


def _after(text: str) -> int | None:
    """Return the first instant after a date, a time, a month or a year; ``None`` if the text is neither."""
    if _YEAR.fullmatch(text):
        return _start_of(int(text) + 1, 1)
    if (month := _MONTH.fullmatch(text)) is not None:
        year, number = month[1] or month[4], int(month[2]) if month[2] else dates.month_number(month[3])
        return _start_of(int(year) + number // 12, number % 12 + 1) if 1 <= number <= 12 else None
    written = dates.parse(text)
    if written is None:
        return None
    return written.at + (times.DAY if written.precision == "day" else 0)


def _start_of(year: int, month: int) -> int | None:
    if not 1 <= year <= 9999:
        return None
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1_000_000
