"""Comparing the passages of sources with the key under which they were stored.

What a file says is known from its bytes alone. So a difference is not mended in place: the worker reads the
file again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database
from graphmem.ingest.passages import WAITING, key_of
from graphmem.model import times

SOURCES_AT_ONCE: Final = 20
"""Sources that one query reads."""


class _Stored(NamedTuple):
    """A node of passages."""

    owner: str
    reader: str
    key: str | None
    texts: list[str]
    places: list[int]


class _Source(NamedTuple):
    id: str
    recorded_at: int
    reader: str
    stored: list[_Stored]


async def differences(database: Database, owner: str) -> AsyncIterator[AuditDifference]:
    """Yield the sources whose passages are missing, too many, of another owner or reader, or changed."""
    queries, at = database.reads(owner), (times.EARLIEST, "")
    while rows := await queries.only(
        "audit.passages", list[_Source], at=at[0], after=at[1], limit=SOURCES_AT_ONCE
    ):
        at = rows[-1].recorded_at, rows[-1].id
        for row in rows:
            stored = [[each.owner, each.reader, each.key] for each in row.stored]
            derived = [[owner, row.reader, key_of(each.texts, each.places)] for each in row.stored[:1]]
            if row.reader != WAITING and (stored != derived or not stored):
                yield AuditDifference(row.id, "passages", stored or None, derived or row.reader)
