"""The file of a request: what its store warns of, and what it answers."""

from __future__ import annotations

from typing import Any

from graphmem.ingest.media_types import types_contradict
from graphmem.model.fact_records import SourceRecord


def warnings(source: SourceRecord) -> list[dict[str, Any]]:
    """Return what its store warns of: a declared type that contradicts the bytes. Both types are kept."""
    if source.declared_type is None or not types_contradict(source.declared_type, source.mime_type):
        return []
    message = f"the file was declared as {source.declared_type}, and its bytes are {source.mime_type}"
    types = {"mime_type": source.mime_type, "declared_type": source.declared_type}
    return [{"code": "MIME_TYPE_MISMATCH", "message": message, **types}]


def result(source: SourceRecord, *, known: bool) -> dict[str, Any]:
    """Return what the receipt of its request says of it; ``known``: its bytes were stored before."""
    return {
        "source": {
            "source_id": source.id, "content_hash": source.content_hash, "file_size": source.size,
            "mime_type": source.mime_type, "deduplicated": known,
        }
    }  # fmt: skip
