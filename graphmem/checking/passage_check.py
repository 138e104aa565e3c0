"""Comparing the passages of sources with the key under which they were stored, and their vectors.

What a file says is known from its bytes alone. So a difference is not mended in place: the worker reads the
file again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database
from graphmem.database.left_out import keeping_unopened, wrong_types
from graphmem.embedding.meaning import DIMENSIONS, Embedder
from graphmem.ingest.passages import WAITING, key_of
from graphmem.writing import vectors

SOURCES_AT_ONCE: Final = 20
"""Sources that one query reads."""


class _Stored(NamedTuple):
    source_id: str
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


async def pages(
    database: Database, owner: str, embedder: Embedder, at: tuple[int, str] | None
) -> AsyncIterator[tuple[list[AuditDifference], tuple[int, str] | None]]:
    """Yield the sources whose passages are missing, too many, of another owner or reader, or changed.

    Vectors are compared where this process makes them; where a service does, their length is.

    Args:
        at: the time and id of the source to begin after. Each page comes with those to go on after, if there
            may be more.
    """
    queries = database.reads(owner)
    while at is not None:
        with keeping_unopened():
            rows = await queries.only(
                "audit.passages", list[_Source], at=at[0], after=at[1], limit=SOURCES_AT_ONCE
            )
        at = (rows[-1].recorded_at, rows[-1].id) if len(rows) == SOURCES_AT_ONCE else None
        differences = [await _difference(owner, row, embedder) for row in rows if row.reader != WAITING]
        yield [each for each in differences if each is not None], at


async def _difference(owner: str, row: _Source, embedder: Embedder) -> AuditDifference | None:
    if wrong := next(filter(None, map(wrong_types, row.stored)), None):
        return AuditDifference(row.id, "passages", wrong, row.reader)
    stored = [[each.owner, each.reader, each.key] for each in row.stored]
    derived = [[owner, row.reader, key_of(each.texts, each.places)] for each in row.stored[:1]]
    if stored != derived or not stored:
        return AuditDifference(row.id, "passages", stored or None, derived or row.reader)
    packed, texts = row.stored[0].packed, row.stored[0].texts
    made = await vectors.of_passages(texts, embedder) if embedder.at_once else None
    length = len(texts) * DIMENSIONS
    is_sound = type(packed) is bytes and len(packed) == length
    if is_sound and (made is None or vectors.is_close(packed, made)):
        return None
    expected = f"{length} bytes" if made is None else vectors.shown(made)
    return AuditDifference(row.id, "vectors of passages", vectors.shown(packed), expected)
