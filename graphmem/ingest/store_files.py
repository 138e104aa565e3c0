"""Read files to store: a request as JSON, a list of items as JSON, or one item per line (NDJSON)."""

from __future__ import annotations

from typing import Any

from graphmem.errors import InvalidJson
from graphmem.model import canonical


def read_request(data: bytes, name: str) -> dict[str, Any]:
    """Return the arguments of a store request; a list or several lines become its ``entities``.

    Raises:
        InvalidJson: the file has none of the three formats; ``details`` has the reason.
    """
    try:
        value = canonical.decode(data)
    except ValueError as whole:
        lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise _unreadable(name, str(whole)) from None
        return {"entities": [_line(name, number, line) for number, line in lines]}
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {"entities": value}
    raise _unreadable(name, "the file must contain an object or a list")


def _line(name: str, number: int, line: bytes) -> Any:
    try:
        return canonical.decode(line)
    except ValueError as exc:
        raise _unreadable(name, f"line {number}: {exc}") from None


def _unreadable(name: str, reason: str) -> InvalidJson:
    return InvalidJson(f"{name} cannot be read as JSON: {reason[:200]}", file=name, reason=reason[:200])
