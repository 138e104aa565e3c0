"""The bytes of files in a dump: chunks of one size, and the check that they are those that were stored."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Final

FILE_CHUNK_BYTES: Final = 3 << 18
"""Bytes of a file in one record: 1 MiB in base64. Never change it: it decides the lines of a dump."""
LISTED_FILES_LIMIT: Final = 200
"""Missing files that a result lists; all are counted."""


@dataclass(frozen=True, slots=True)
class MissingFile:
    owner: str
    source_id: str
    content_hash: str
    name: str | None
    reason: str


@dataclass(slots=True)
class MissingFiles:
    count: int = 0
    listed: list[MissingFile] = field(default_factory=list)

    def add(self, file: MissingFile) -> None:
        self.count += 1
        if len(self.listed) < LISTED_FILES_LIMIT:
            self.listed.append(file)


class Contents:
    """Which contents of one owner were met: 16 bytes of each hash, so that millions fit in memory."""

    def __init__(self) -> None:
        self._met: set[bytes] = set()

    def meet(self, content_hash: str) -> bool:
        size = len(self._met)
        self._met.add(bytes.fromhex(content_hash[:32]))
        return len(self._met) > size


def decoded(data: str) -> bytes:
    """Return the bytes of a chunk. Raises ValueError: it is no base64 in its canonical form."""
    try:
        chunk = base64.b64decode(data, validate=True)
    except binascii.Error as exc:
        raise ValueError("the bytes of a file are no base64") from exc
    if base64.b64encode(chunk).decode() != data:
        raise ValueError("the bytes of a file are not in canonical base64")
    return chunk
