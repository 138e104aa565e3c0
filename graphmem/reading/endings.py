"""Which relationships have ended, now or as of a time. This is worked out when they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from graphmem.model import ending, times
from graphmem.reading import as_of
from graphmem.reading.as_of import Clocks
from graphmem.reading.shared_rows import RelationshipRow, refuse_stale_keys
from graphmem.registry import Context

VALUE_LIMIT: Final = 80
"""Characters of a value that may be the end of a relationship; longer ones are not read."""
_READ_AT_ONCE: Final = 500
"""Relationships that one query recomputes."""


class _Metadata(NamedTuple):
    """The fields of a relationship that may say that it ended."""

    key: str
    fields: list[list[str]]
    refold: int | None


def instant(clocks: Clocks) -> int:
    """Return the time (microseconds) at which relationships are current: the request's, or the clock's."""
    return times.now() if clocks.at is None else clocks.at


def has_ended(row: RelationshipRow, at: int) -> bool:
    """Return whether a relationship ended before a time."""
    return ending.ended(zip(row.fields, row.values, strict=True), at) is not None


async def ended(context: Context, written: Mapping[str, Collection[str]], clocks: Clocks) -> set[str]:
    """Return the keys of the relationships that have ended as of the clocks.

    Args:
        written: for each relationship by its key, the keys under which it was written.
    """
    at = instant(clocks)
    if clocks.now:
        rows = await context.graph.only(
            "relationship.endings",
            list[_Metadata],
            keys=sorted(written),
            names=sorted(ending.NAMES),
            characters=VALUE_LIMIT,
        )
        refuse_stale_keys((each.key, each.refold) for each in rows)
        return {
            each.key
            for each in rows
            if ending.ended(((name, value) for name, value in each.fields), at) is not None
        }
    shown = sorted(written)
    found: set[str] = set()
    for start in range(0, len(shown), _READ_AT_ONCE):
        keys = [key for each in shown[start : start + _READ_AT_ONCE] for key in sorted(written[each])]
        rows = await as_of.relationships(context, keys, clocks)
        found.update(row.key for row in rows if has_ended(row, at))
    return found
