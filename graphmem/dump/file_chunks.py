"""The bytes of files in a dump: chunks of one size, and the check that they are those that were stored."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from graphmem.dump.records import FileChunk
    from graphmem.model.fact_records import SourceRecord

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
    """Return the bytes of a chunk. ValueError: it is no base64 in its canonical form."""
    try:
        chunk = base64.b64decode(data, validate=True)
    except binascii.Error as exc:
        raise ValueError("the bytes of a file are no base64") from exc
    if base64.b64encode(chunk).decode() != data:
        raise ValueError("the bytes of a file are not in canonical base64")
    return chunk


class FileOrder:
    """Checks the chunks of the files of one owner.

    The chunks of a file follow the first source of its content, in order and without a gap. All but the last
    have the same size. A file has all of its chunks, or none.
    """

    def __init__(self) -> None:
        self._contents = Contents()
        self._source: SourceRecord | None = None
        self._offset = 0
        self._digest = hashlib.sha256()

    def begin(self, source: SourceRecord) -> bool:
        """Go on to the next source; return whether its content is new, so that its chunks may follow."""
        is_new = self._contents.meet(source.content_hash)
        self._source = source if is_new else None
        self._offset, self._digest = 0, hashlib.sha256()
        return is_new

    def add(self, chunk: FileChunk) -> bool:
        """Check the next chunk; return whether it is the last one of its file.

        Raises:
            ValueError: the chunk is out of order, or the file is not the one that was stored.
        """
        source = self._source
        if source is None or (chunk.content_hash, chunk.offset) != (source.content_hash, self._offset):
            raise ValueError("a chunk of a file is out of order")
        data = decoded(chunk.data)
        if len(data) != min(FILE_CHUNK_BYTES, source.size - self._offset) or not data:
            raise ValueError("a chunk of a file has a wrong size")
        self._digest.update(data)
        self._offset += len(data)
        if self._offset < source.size:
            return False
        if self._digest.hexdigest() != source.content_hash:
            raise ValueError("the bytes of a file are not those that were stored: their hash differs")
        self._source, self._offset = None, 0
        return True

    def end(self) -> None:
        """Check that no file is cut off here. ValueError: chunks of the last file are missing."""
        if self._offset:
            raise ValueError("the bytes of a file are cut off")
        self._source = None
