"""The file of a dump: frames of compressed lines, each with its checksum, and a manifest at the end.

How it is laid out is written down in ``docs/dump-format.md``. Nothing here knows what a line says.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import zstandard

from graphmem import __version__
from graphmem.errors import DumpDamaged
from graphmem.model import canonical, times

MAGIC: Final = b"\x89graphmem-dump\r\n\x1a\n"
"""What a dump begins with; a transfer that changes line ends or cuts the eighth bit breaks it at once."""
FORMAT: Final = 1
RECORDS: Final = 1_000
"""Lines of a chunk at most."""
CHUNK: Final = 1 << 20
"""Bytes of lines after which a chunk ends: the line that reaches it is its last."""
FRAME_LIMIT: Final = 64 << 20
"""Bytes that a frame may have, inflated or not. A line is what one request brought: some 10 MB at most."""
LEVEL: Final = 3
"""Of compression. With the other parameters it decides the bytes of a dump: it stays as it is."""

_FRAME: Final = struct.Struct(">cII")
_DIGEST: Final = 32
_HEADER, _CHUNK, _MANIFEST, _END = b"H", b"C", b"M", b"E"


@dataclass(frozen=True, slots=True)
class Header:
    """What a dump says of its making; times are microseconds. Nothing of it is part of the root."""

    format: int
    graphmem: str
    created_at: int


@dataclass(slots=True)
class Manifest:
    """What a dump holds: its chunks as [records, bytes, SHA-256], and what its maker counted in them."""

    chunks: list[list[Any]] = field(default_factory=list)
    contents: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """One hash for all lines: SHA-256 over the hashes of the chunks."""
        return hashlib.sha256(b"".join(bytes.fromhex(one[2]) for one in self.chunks)).hexdigest()

    @property
    def records(self) -> int:
        """How many lines there are."""
        return sum(one[0] for one in self.chunks)

    @property
    def size(self) -> int:
        """How many bytes the lines have."""
        return sum(one[1] for one in self.chunks)


class Writer:
    """Writes lines into a file; a chunk is held in memory at most."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lines: list[bytes] = []
        self._held = 0
        self._packed = zstandard.ZstdCompressor(
            level=LEVEL, write_checksum=False, write_content_size=True, write_dict_id=False, threads=0
        )
        self._whole = hashlib.sha256()
        self.manifest = Manifest()
        file.write(MAGIC)
        said = {"format": FORMAT, "graphmem": __version__, "created_at": times.render(times.now())}
        self._frame(_HEADER, canonical.encode(said).encode())
        # What follows is the same for the same state, down to the last frame.
        self._whole = hashlib.sha256()

    def add(self, line: bytes) -> None:
        """Take one line, without its end.

        Raises:
            ValueError: it is longer than a chunk may be.
        """
        if len(line) >= FRAME_LIMIT:
            raise ValueError("a line is too long")
        self._lines.append(line)
        self._held += len(line) + 1
        if len(self._lines) == RECORDS or self._held >= CHUNK:
            self._flush()

    def finish(self, contents: dict[str, Any]) -> Manifest:
        """Write what is held, the manifest and the end."""
        self._flush()
        self.manifest.contents = contents
        said = {"chunks": self.manifest.chunks, "contents": contents, "root": self.manifest.root}
        self._frame(_MANIFEST, canonical.encode(said).encode(), packed=True)
        self._file.write(_FRAME.pack(_END, _DIGEST, _DIGEST) + self._whole.digest())
        return self.manifest

    def _flush(self) -> None:
        if self._lines:
            data = b"\n".join(self._lines) + b"\n"
            digest = self._frame(_CHUNK, data, packed=True)
            self.manifest.chunks.append([len(self._lines), len(data), digest.hex()])
            self._lines.clear()
            self._held = 0

    def _frame(self, kind: bytes, data: bytes, *, packed: bool = False) -> bytes:
        digest = hashlib.sha256(data).digest()
        payload = self._packed.compress(data) if packed else data
        frame = _FRAME.pack(kind, len(payload), len(data)) + digest + payload
        self._whole.update(frame)
        self._file.write(frame)
        return digest


class Reader:
    """Reads a dump from its beginning; every byte of it is checked by the time that it is read to its end."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the header.

        Raises:
            DumpDamaged: it is no dump, it is damaged, or of a format that this version does not know.
        """
        self._file = file
        self._inflater = zstandard.ZstdDecompressor(max_window_size=FRAME_LIMIT)
        self._whole = hashlib.sha256()
        self.at = 0
        """How many bytes were read."""
        self.manifest = Manifest()
        """What was read so far; once everything was read, with what its maker counted."""
        if self._take(len(MAGIC), "it is shorter than the beginning of a dump") != MAGIC:
            raise DumpDamaged(
                "this is no dump of graphmem: give the file that `graphmem backup create` wrote"
            )
        kind, data, _ = self._frame()
        if kind != _HEADER:
            raise self._damaged("its header is missing")
        self.header = self._header(data)
        self._whole = hashlib.sha256()

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield the lines of each chunk, and check the end of the file.

        Raises:
            DumpDamaged: anything of it is not as it was written.
        """
        chunks = self.manifest.chunks
        kind, data, digest = self._frame()
        while kind == _CHUNK:
            # Counted first: a few kilobytes may hold millions of empty lines.
            if data.count(b"\n") > RECORDS:
                raise self._damaged(f"chunk {len(chunks) + 1} has too many lines")
            lines = data.split(b"\n")
            if lines.pop() or not lines:
                raise self._damaged(f"chunk {len(chunks) + 1} does not end with a line")
            chunks.append([len(lines), len(data), digest.hex()])
            yield lines
            kind, data, digest = self._frame()
        if kind != _MANIFEST:
            raise self._damaged("it has no manifest")
        self._finish(data)

    def _finish(self, data: bytes) -> None:
        """Compare the manifest with what was read, and what was read with the hash at the end."""
        said = self._object(data, "manifest")
        if said.get("chunks") != self.manifest.chunks or said.get("root") != self.manifest.root:
            raise self._damaged("its manifest does not fit its chunks")
        contents = said.get("contents")
        if not isinstance(contents, dict):
            raise self._damaged("its manifest says nothing of what it holds")
        whole = self._whole.digest()
        kind, packed, size = _FRAME.unpack(self._take(_FRAME.size, "its end is missing"))
        if (kind, packed, size) != (_END, _DIGEST, _DIGEST) or self._take(_DIGEST, "its end is cut") != whole:
            raise self._damaged("its hash does not fit")
        if self._file.read(1):
            raise self._damaged("something follows its end")
        self.manifest.contents = contents

    def _frame(self) -> tuple[bytes, bytes, bytes]:
        """Return kind, data and hash of the next frame; nothing is inflated beyond what the frame says."""
        head = self._take(_FRAME.size, "it ends before its manifest: it was cut, or is not complete yet")
        kind, packed, size = _FRAME.unpack(head)
        if kind not in (_HEADER, _CHUNK, _MANIFEST) or max(packed, size) > FRAME_LIMIT:
            raise self._damaged("a frame begins with what none begins with")
        digest = self._take(_DIGEST, "it ends within a frame")
        payload = self._take(packed, "it ends within a frame")
        data = payload if kind == _HEADER else self._inflated(payload, size)
        if len(data) != size or hashlib.sha256(data).digest() != digest:
            raise self._damaged("the hash of a frame does not fit")
        self._whole.update(head)
        self._whole.update(digest)
        self._whole.update(payload)
        return kind, data, digest

    def _inflated(self, payload: bytes, size: int) -> bytes:
        try:
            # The library makes room for what the payload itself says: that is looked at first.
            if zstandard.get_frame_parameters(payload).content_size != size:
                raise self._damaged("a frame says another size than it has")
            return self._inflater.decompress(payload, max_output_size=size, allow_extra_data=False)
        except zstandard.ZstdError as exc:
            raise self._damaged("a frame cannot be inflated") from exc

    def _take(self, size: int, otherwise: str) -> bytes:
        data = self._file.read(size)
        self.at += len(data)
        if len(data) != size:
            raise self._damaged(otherwise)
        return data

    def _header(self, data: bytes) -> Header:
        said = self._object(data, "header")
        version, made_by = said.get("format"), said.get("graphmem")
        if version != FORMAT:
            raise DumpDamaged(
                f"this dump is of format {version}, made by graphmem {made_by}, and this version reads "
                f"format {FORMAT}: install that version or a newer one",
                format=version,
                known=FORMAT,
            )
        try:
            return Header(FORMAT, str(made_by), times.parse(said["created_at"]))
        except (KeyError, ValueError, TypeError) as exc:
            raise self._damaged("its header says no time") from exc

    def _object(self, data: bytes, what: str) -> dict[str, Any]:
        try:
            said = canonical.decode(data)
        except ValueError as exc:
            raise self._damaged(f"its {what} is no JSON") from exc
        if not isinstance(said, dict):
            raise self._damaged(f"its {what} is no object")
        return said

    def _damaged(self, why: str) -> DumpDamaged:
        return damaged(why, byte=self.at)


def damaged(why: str, **details: Any) -> DumpDamaged:
    """Return the error of a dump that is not as it was written, with where and what to do."""
    where = "".join(f", {name} {value:,}" for name, value in details.items())
    return DumpDamaged(f"the dump is damaged{where}: {why}. Fetch it again, or take another one", **details)
