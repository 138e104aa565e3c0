"""The file of a request, as its transaction writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.ingest.media_types import types_contradict
from graphmem.model import ids


@dataclass(frozen=True, slots=True)
class NewSource:
    """A file whose bytes the object store has.

    Attributes:
        content_hash: SHA-256 of the bytes, in hex.
        size: bytes.
        mime_type: what the bytes are.
        name: the name that the caller gives the file, if any.
        declared_type: the mime type that the caller gives it, if any.
        file_key: the idempotency key that stands for these bytes, if any.
    """

    owner: str
    content_hash: str
    size: int
    mime_type: str
    name: str | None = None
    declared_type: str | None = None
    file_key: str | None = None

    @property
    def id(self) -> str:
        """Its id: the same bytes are one source of an owner."""
        return ids.source_id(self.owner, self.content_hash)

    def row(self, transaction_id: str, recorded_at: int) -> dict[str, Any]:
        """Return the row of its transaction: the source, and the name that this store gives it."""
        # The index of keys holds only the stores that have one.
        key = {} if self.file_key is None else {"owner": self.owner, "file_key": self.file_key}
        return {
            "id": self.id,
            "transaction_id": transaction_id,
            "properties": {
                "owner": self.owner,
                "content_hash": self.content_hash,
                "size": self.size,
                "mime_type": self.mime_type,
                "recorded_at": recorded_at,
            },
            "stored": {
                "name": self.name, "declared_type": self.declared_type, "recorded_at": recorded_at, **key,
            },
        }  # fmt: skip

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What its store warns of: a declared type that types_contradict the bytes. Both types are kept."""
        if self.declared_type is None or not types_contradict(self.declared_type, self.mime_type):
            return []
        message = f"the file was declared as {self.declared_type}, and its bytes are {self.mime_type}"
        types = {"mime_type": self.mime_type, "declared_type": self.declared_type}
        return [{"code": "MIME_TYPE_MISMATCH", "message": message, **types}]

    def result(self, *, known: bool) -> dict[str, Any]:
        """Return what the receipt of its request says of it; ``known``: its bytes were stored before."""
        return {
            "source": {
                "source_id": self.id, "content_hash": self.content_hash, "file_size": self.size,
                "mime_type": self.mime_type, "deduplicated": known,
            }
        }  # fmt: skip
