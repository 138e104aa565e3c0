"""Sources as answers show them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from typing_extensions import TypedDict

from graphmem.errors import NotFound
from graphmem.model import times
from graphmem.registry import Context

URL_SCHEME = "graphmem://"
"""A source's ``storage_url`` is this and its id. It names the source, and no place where its bytes are."""


class StoredName(TypedDict):
    """A name that a store gave a file, the mime type that it declared, and who stored it."""

    name: str | None
    mime_type: str | None
    stored_at: str
    transaction_id: str
    client: str


class SourceReference(TypedDict):
    """A file, as what was stored with it names it: the newest of its names, and its first store."""

    source_id: str
    content_hash: str
    mime_type: str
    original_filename: str | None
    created_at: str


class Source(SourceReference):
    """A file. The same bytes are one source, however often and under whatever names they were stored.

    ``content_hash`` is the SHA-256 of the bytes, ``file_size`` their number, ``mime_type`` what they are.
    ``names`` are those of the last 20 stores, newest first; ``original_filename`` is the newest name.
    ``observation_count`` counts the observations that were stored with the file. If the file is
    ``withdrawn``, none of them counts. ``id`` is ``source_id``.
    """

    id: str
    file_size: int
    names: list[StoredName]
    storage_url: str
    observation_count: int
    withdrawn: bool


class NameRow(NamedTuple):
    """A store of a file, as ``source/_row.cypher`` reads it; times are microseconds."""

    name: str | None
    declared_type: str | None
    recorded_at: int
    transaction_id: str
    client: str


class SourceRow(NamedTuple):
    """The columns of ``source/_row.cypher``. ``recorded_at``: microseconds, of the first store."""

    id: str
    content_hash: str
    size: int
    mime_type: str
    recorded_at: int
    observation_count: int
    withdrawn: bool
    names: list[NameRow]

    @property
    def name(self) -> str | None:
        """The newest name."""
        return next((each.name for each in self.names if each.name is not None), None)

    @property
    def declared_type(self) -> str | None:
        """The mime type that was declared last."""
        return next((each.declared_type for each in self.names if each.declared_type is not None), None)


async def read_sources(context: Context, ids: Collection[str]) -> list[SourceRow]:
    """Return those of some sources that the caller's owner has, by id."""
    return await context.graph.only("source.by_id", list[SourceRow], ids=sorted(ids)) if ids else []


async def read_source(context: Context, source_id: str) -> SourceRow:
    """Return one source.

    Raises:
        NotFound: the caller's owner has no such source.
    """
    rows = await read_sources(context, [source_id])
    if not rows:
        raise NotFound(f"there is no source {source_id}: GET /sources lists them", source_id=source_id)
    return rows[0]


def as_reference(row: SourceRow) -> SourceReference:
    """Return a source as answers about other things have it."""
    return {
        "source_id": row.id,
        "content_hash": row.content_hash,
        "mime_type": row.mime_type,
        "original_filename": row.name,
        "created_at": times.render(row.recorded_at),
    }


def as_source(row: SourceRow) -> Source:
    """Return a source as answers have it."""
    return {
        **as_reference(row),
        "id": row.id,
        "file_size": row.size,
        "names": [
            {
                "name": each.name,
                "mime_type": each.declared_type,
                "stored_at": times.render(each.recorded_at),
                "transaction_id": each.transaction_id,
                "client": each.client,
            }
            for each in row.names
        ],
        "storage_url": f"{URL_SCHEME}{row.id}",
        "observation_count": row.observation_count,
        "withdrawn": row.withdrawn,
    }
