"""Dates in text: which texts are a date, and what instant they mean.

A text is a date only where it can be nothing else: ISO 8601 with all of year, month and day; the same with
slashes, year first; the compact form of calendars with its time (``20260131T090000Z``); the form of e-mail
(``Sat, 31 Jan 2026 09:00:00 +0100``); and a day with its month written out in English. Numbers, bare years,
months without a day, times without a day and days whose order is in doubt (``01/02/2026``) are no dates.

The years are 1 to 9999. Without a zone a time is UTC, and a day alone begins at its first moment in UTC.
"""

import re
from typing import Final, Literal, NamedTuple

from graphmem.model import times

Precision = Literal["day", "minute", "second", "microsecond"]  # how fine a date was written
LENGTH_LIMIT: Final = 64  # characters of the longest text that may be a date

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTH: Final = {
    **{name: place for place, name in enumerate(_MONTHS, 1)},
    **{name[:3]: place for place, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_DAY, _NAME, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>[A-Za-z]{3,9})\.?", r"(?P<year>\d{4})"
_CLOCK = r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,12}))?)?"
_ZONE = r"(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)"
_NTH = r"(?i:st|nd|rd|th)?"
_SHAPES: Final = tuple(
    re.compile(shape, re.ASCII)
    for shape in (
        rf"{_YEAR}(?P<dash>[-/])(?P<month>\d{{2}})(?P=dash){_DAY.replace('{1,2}', '{2}')}"
        rf"(?:[Tt ]{_CLOCK}\s?{_ZONE}?)?",
        rf"{_YEAR}(?P<month>\d{{2}})(?P<day>\d{{2}})"
        rf"T(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE}?",
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{_DAY} {_NAME} {_YEAR} {_CLOCK}"
        r" ?(?P<zone>[+-]\d{4}|GMT|UTC|UT|Z)",
        rf"{_DAY}{_NTH} {_NAME},? {_YEAR}",
        rf"{_NAME} {_DAY}{_NTH},? {_YEAR}",
    )
)


class WrittenDate(NamedTuple):
    """A date: its instant in microseconds, and how it was written.

    ``iso`` is the text in ISO 8601, of the same precision and in the same zone; ``offset`` that zone as
    ``+01:00``, ``None`` where none was written.
    """

    at: int
    iso: str
    precision: Precision
    offset: str | None


def parse(text: str) -> WrittenDate | None:
    if not 8 <= len(text) <= LENGTH_LIMIT:
        return None
    for shape in _SHAPES:
        match = shape.fullmatch(text)
        if match is not None:
            return _written(match.groupdict())
    return None


def month_number(name: str) -> int:
    """Return the number of a month by its English name, whole or shortened; else 0."""
    return _MONTH.get(name.lower(), 0)


def _written(part: dict[str, str | None]) -> WrittenDate | None:
    month = part["month"] or ""
    number = int(month) if month.isdigit() else month_number(month)
    day = f"{part['year']}-{number:02d}-{int(part['day'] or 0):02d}"
    hour, minute, second = part.get("hour"), part.get("minute"), part.get("second")
    fraction = part.get("fraction")
    clock = f"T{hour}:{minute}" if hour else ""
    clock += f":{second}" if second else ""
    offset = _offset(part.get("zone"))
    zone = part.get("zone") or ""
    zone = offset if offset and zone[0] in "+-" else "Z" if zone else ""
    try:
        # An instant has microseconds; finer digits are kept in the text.
        at = times.parse(f"{day}{clock}{f'.{fraction[:6]}' if fraction else ''}{zone}")
    except ValueError:
        return None
    precision: Precision = "microsecond" if fraction else "second" if second else "minute" if hour else "day"
    return WrittenDate(at, f"{day}{clock}{f'.{fraction}' if fraction else ''}{zone}", precision, offset)


def _offset(zone: str | None) -> str | None:
    if not zone:
        return None
    if zone[0] not in "+-":
        return "+00:00"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"
