"""Days and times as vCards, PDFs, pictures and banks write them, in ISO 8601."""

from __future__ import annotations

import re
from typing import Final

_WRITTEN: Final = re.compile(
    r"(?:D:)?(\d{4}|-)[-:]?(\d\d)[-:]?(\d\d)"
    r"(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d)(?:\.\d+)?)?(?:(Z)[\d']*|([+-]\d\d)[':]?(\d\d)?'?)?)?",
    re.ASCII,
)


def iso(text: str) -> str:
    """Return a day or a time in ISO 8601, a day without a year as `--05-17`; another text as it stands."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        return text
    year, month, day, hour, minute, second, utc, hours, minutes = match.groups()
    clock = f"T{hour}:{minute}:{second or '00'}" if hour else ""
    offset = utc or (f"{hours}:{minutes or '00'}" if hours else "")
    return f"{year}-{month}-{day}{clock}{offset}"
