"""Comparing the passages of sources with the key under which they were stored, and their vectors.

What a file says is known from its bytes alone. So a difference is not mended in place: the worker reads the
file again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database
from graphmem.embedding.meaning import DIMENSIONS, Embedder
from graphmem.ingest.passages import WAITING, key_of
from graphmem.model import times
from graphmem.writing import vectors

SOURCES_AT_ONCE: Final = 20
"""Sources that one query reads."""


class _Stored(NamedTuple):
    """A node of passages."""

    owner: str
    reader: str
    key: str | None
    texts: list[str]
    places: list[int]
    packed: bytes | None


class _Source(NamedTuple):
    id: str
    recorded_at: int
    reader: str
    stored: list[_Stored]


async def differences(database: Database, owner: str, embedder: Embedder) -> AsyncIterator[AuditDifference]:
    """Yield the sources whose passages are missing, too many, of another owner or reader, or changed.

    Vectors are compared where this process makes them; where a service does, their length is.
    """
    queries, at = database.reads(owner), (times.EARLIEST, "")
    while rows := await queries.only(
        "audit.passages", list[_Source], at=at[0], after=at[1], limit=SOURCES_AT_ONCE
    ):
        at = rows[-1].recorded_at, rows[-1].id
        for row in rows:
            stored = [[each.owner, each.reader, each.key] for each in row.stored]
            derived = [[owner, row.reader, key_of(each.texts, each.places)] for each in row.stored[:1]]
            if row.reader == WAITING:
                continue
            if stored != derived or not stored:
                yield AuditDifference(row.id, "passages", stored or None, derived or row.reader)
                continue
            packed, texts = row.stored[0].packed, row.stored[0].texts
            made = await vectors.of_passages(texts, embedder) if embedder.at_once else None
            length = len(texts) * DIMENSIONS
            is_sound = type(packed) is bytes and len(packed) == length
            if not is_sound or not (made is None or vectors.is_close(packed, made)):
                expected = f"{length} bytes" if made is None else vectors.shown(made)
                yield AuditDifference(row.id, "vectors of passages", vectors.shown(packed), expected)
