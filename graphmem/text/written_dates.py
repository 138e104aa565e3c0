"""Dates as texts write them: ``2026-01-31``, ``31.01.2026``, ``31 January 2026``."""

import re
from collections.abc import Iterator
from typing import Final

from graphmem.model import dates
from graphmem.model.dates import WrittenDate
from graphmem.text.line_spans import LineSpan

_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])")
_DOTTED = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.((?:19|20)\d\d)")
_WRITTEN_DATE = re.compile(
    r"(?<![\w.-])(?:"
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)?(?: ?(?:z|[+-]\d\d(?::?\d\d)?))?)?"
    r"|\d{4}/\d\d/\d\d|\d{8}t\d{4}(?:\d\d)?z?"
    r"|\d{1,2}\.\d{1,2}\.\d{4}"
    r"|\d{1,2}(?:st|nd|rd|th)? [a-z]{3,9}\.?,? \d{4}|[a-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}"
    r")(?![\w-])"
)
_MONTH_NAMES: Final = (
    ("jan", "january"), ("feb", "february"), ("mar", "march"), ("apr", "april"), ("may",), ("jun", "june"),
    ("jul", "july"), ("aug", "august"), ("sep", "sept", "september"), ("oct", "october"),
    ("nov", "november"), ("dec", "december"),
)  # fmt: skip


def date_of(folded: str) -> WrittenDate | None:
    """Return the date that a text is: in the forms of :mod:`graphmem.model.dates`, or as ``31.01.2026``."""
    dotted = _DOTTED.fullmatch(folded)
    if dotted:
        return dates.parse(f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}")
    # The names of the days in e-mail have a capital letter.
    return dates.parse(folded) or dates.parse(folded[:1].upper() + folded[1:])


def dates_of(line: str) -> Iterator[tuple[LineSpan, WrittenDate]]:
    """Yield the dates of a line, and where they stand."""
    for match in _WRITTEN_DATE.finditer(line):
        date = date_of(match[0])
        if date is not None:
            yield LineSpan(*match.span()), date


def is_same(date: WrittenDate, written: WrittenDate) -> bool:
    """Return whether a written date is the one that is sought: the day alone, or the same moment."""
    if date.precision == "day":
        return date.iso[:10] == written.iso[:10]
    step = {"minute": 60_000_000, "second": 1_000_000}.get(date.precision, 1)
    return written.precision != "day" and date.at // step == written.at // step


def month_spellings(text: str) -> tuple[str, ...]:
    if _MONTH.fullmatch(text) is None:
        return ()
    year, month = text.split("-")
    return text, *(f"{name} {year}" for name in _MONTH_NAMES[int(month) - 1])


def day_spellings(date: WrittenDate) -> list[tuple[str, ...]]:
    """Return the words in a row as which the day of a date is written, without ``2026-01-31``."""
    year, month, day = date.iso[:10].split("-")
    days = list(
        dict.fromkeys((day, str(int(day)), *(f"{int(day)}{end}" for end in ("st", "nd", "rd", "th"))))
    )
    named = [
        form
        for name in _MONTH_NAMES[int(month) - 1]
        for each in days
        for form in ((each, name, year), (name, each, year))
    ]
    dotted = [(d, m, year) for d in {day, str(int(day))} for m in {month, str(int(month))}]
    return [*named, *sorted(dotted)]
