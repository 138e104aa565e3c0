"""Times as people give them on the command line: ``yesterday``, ``2026-11``, ``"last week"``."""

from __future__ import annotations

import re
from typing import Final

from graphmem.errors import InvalidInput
from graphmem.model import times

_UNITS: Final = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_AGO: Final = re.compile(r"(\d{1,6}) ?([smh])(?:ec|econd|in|inute|our)?s?(?: ago)?")
"""So long ago, such as ``10m`` and ``2 hours ago``; days and longer times are periods."""
HELP = "Or yesterday, 'last week', '3 days ago', 2026-11: their {moment} moment in UTC."
"""What is added to the help of an option."""


def iso(text: str, path: str, *, is_end: bool) -> str:
    """Return a time in ISO 8601; what is written so is returned as it is. Times in words are in UTC.

    Raises InvalidInput: the text says no time.

    Args:
        path: that of the argument, such as ``$.at``.
        is_end: a day, a week, a month or a year means its last moment, else its first one.
    """
    try:
        times.parse(text)
    except ValueError:
        return _of_words(text, path, is_end=is_end)
    return text


def _of_words(text: str, path: str, *, is_end: bool) -> str:
    from graphmem.search.questions import times_in_words

    now = times.now()
    if ago := _AGO.fullmatch(text.strip().lower()):
        return times.render(now - int(ago[1]) * _UNITS[ago[2]])
    if text.strip().lower() == "now":
        return times.render(now)
    period = times_in_words.of_words(text, now)
    # "soon" and "past" say no more than a side of now.
    if period is None or {period.start, period.end} == {None, now}:
        message = (
            f"{path}: {text!r} is no time; give one such as 2026-11-05, 2026-11-05T09:00:00Z, 2026-11, "
            "yesterday, 'last week', '3 days ago' or 'March 2026'"
        )
        raise InvalidInput(message, issues=[{"path": path, "message": "no time"}])
    # A month or a weekday without more is rather the last one.
    first = min(period.readings, key=lambda each: (each.start or 0) > now)
    begin, end = first.start, None if first.end is None else first.end - 1
    at = (end if end is not None else begin) if is_end else (begin if begin is not None else end)
    return times.render(now if at is None else at)
