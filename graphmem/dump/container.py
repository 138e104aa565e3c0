"""The file of a dump: frames of compressed lines, each with its checksum, and a manifest at the end.

``docs/dump-format.md`` describes the layout. This module does not look into lines.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import zstandard

from graphmem import __version__
from graphmem.errors import DumpDamaged, KeyDestroyed
from graphmem.model import canonical, times
from graphmem.model.fact_table import DUMP_FORMAT
from graphmem.sealing.instance_keys import InstanceKeys
from graphmem.sealing.sealed_dumps import DumpSealer

MAGIC: Final = b"\x89graphmem-dump\r\n\x1a\n"
"""The first bytes of a dump. A transfer that changes line ends or cuts the eighth bit changes them."""
FORMAT: Final = DUMP_FORMAT
"""The format that is written. Every format up to it is read."""
CHUNK_LINES_LIMIT: Final = 1_000
CHUNK_BYTES: Final = 1 << 20  # a chunk ends with the line that reaches this many bytes
FRAME_BYTES_LIMIT: Final = 64 << 20
"""Largest frame, compressed or not. A line holds what one request wrote: some 10 MB at most."""
COMPRESSION_LEVEL: Final = 3
"""Never change it: with the other parameters of the compressor it decides the bytes of a dump."""

_FRAME: Final = struct.Struct(">cII")
_DIGEST: Final = 32
_HEADER, _CHUNK, _SEALED, _MANIFEST, _END = b"H", b"C", b"S", b"M", b"E"


@dataclass(frozen=True, slots=True)
class Header:
    """How a dump was made; ``created_at`` is microseconds. The root does not cover the header. ``files``:
    whether the dump has the bytes of files; ``sealed``: which keys open it, None for a plain dump."""

    format: int
    graphmem: str
    created_at: int
    files: bool = False
    sealed: dict[str, Any] | None = None


@dataclass(slots=True)
class Manifest:
    """The contents of a dump: its chunks as [lines, bytes, SHA-256], and the counts of its records."""

    chunks: list[list[Any]] = field(default_factory=list)
    contents: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """One hash for all lines: SHA-256 over the hashes of the chunks."""
        return hashlib.sha256(b"".join(bytes.fromhex(chunk[2]) for chunk in self.chunks)).hexdigest()


class DumpWriter:
    """Writes lines into a file. It holds one chunk in memory."""

    def __init__(self, file: BinaryIO, *, files: bool = True, sealer: DumpSealer | None = None) -> None:
        self._file = file
        self._sealer = sealer
        self._lines: list[bytes] = []
        self._chunk_bytes = 0
        self._compressor = zstandard.ZstdCompressor(
            level=COMPRESSION_LEVEL, write_checksum=False, write_content_size=True, write_dict_id=False,
            threads=0,
        )  # fmt: skip
        self._file_hash = hashlib.sha256()
        self.manifest = Manifest()
        file.write(MAGIC)
        created_at = times.render(times.now())
        header = {"format": FORMAT, "graphmem": __version__, "created_at": created_at, "files": files}
        if sealer is not None:
            header["sealed"] = sealer.header
        self._frame(_HEADER, canonical.encode(header).encode())
        # The hash begins after the header, so that the same state has the same hash.
        self._file_hash = hashlib.sha256()

    @property
    def is_sealed(self) -> bool:
        return self._sealer is not None

    def add(self, line: bytes) -> None:
        """Add one line, without its line feed. Raises ValueError: the line is longer than a frame may be."""
        if len(line) >= FRAME_BYTES_LIMIT:
            raise ValueError("a line is too long")
        self._lines.append(line)
        self._chunk_bytes += len(line) + 1
        if len(self._lines) == CHUNK_LINES_LIMIT or self._chunk_bytes >= CHUNK_BYTES:
            self._flush()

    def begin_owner(self, owner: str) -> None:
        """Begin the records of an owner: in a sealed dump no chunk has those of two."""
        if self._sealer is not None:
            self._flush()
            self._sealer.owner = owner

    def finish(self, contents: dict[str, Any]) -> Manifest:
        self._flush()
        self.manifest.contents = contents
        manifest = {"chunks": self.manifest.chunks, "contents": contents, "root": self.manifest.root}
        if self._sealer is not None:
            manifest["sealed"] = self._sealer.end(_sealed_digest(manifest))
        self._frame(_MANIFEST, canonical.encode(manifest).encode(), compress=True)
        self._file.write(_FRAME.pack(_END, _DIGEST, _DIGEST) + self._file_hash.digest())
        return self.manifest

    def _flush(self) -> None:
        if self._lines:
            data = b"\n".join(self._lines) + b"\n"
            if self._sealer is None:
                digest = self._frame(_CHUNK, data, compress=True)
            else:
                sealed = self._sealer.seal(len(self.manifest.chunks), self._compressor.compress(data))
                digest = self._frame(_SEALED, sealed, size=len(data))
            self.manifest.chunks.append([len(self._lines), len(data), digest.hex()])
            self._lines.clear()
            self._chunk_bytes = 0

    def _frame(self, kind: bytes, data: bytes, *, compress: bool = False, size: int | None = None) -> bytes:
        """Write one frame; return the hash of its data. ``size``: bytes of what is sealed in the data."""
        digest = hashlib.sha256(data).digest()
        payload = self._compressor.compress(data) if compress else data
        frame = _FRAME.pack(kind, len(payload), len(data) if size is None else size) + digest + payload
        self._file_hash.update(frame)
        self._file.write(frame)
        return digest


class DumpReader:
    """Reads a dump from its beginning. Whoever reads to the end has checked every byte."""

    def __init__(self, file: BinaryIO, keys: InstanceKeys | None = None) -> None:
        """Read the header.

        Args:
            keys: those that open a sealed dump. Without them its checksums are compared, and it has no lines.

        Raises:
            DumpDamaged: the file is no dump, is damaged, or has a format that this version does not know.
            DecryptionFailed: it was sealed with other keys.
        """
        self._file = file
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=FRAME_BYTES_LIMIT)
        self._file_hash = hashlib.sha256()
        self.position = 0
        """Bytes read so far."""
        self.manifest = Manifest()
        """The chunks read so far; after the last one also the counts of the records."""
        if self._take(len(MAGIC), "the file is shorter than the beginning of a dump") != MAGIC:
            raise DumpDamaged(
                "this file is no dump of graphmem: give a file that `graphmem backup create` wrote"
            )
        kind, data, _ = self._frame()
        if kind != _HEADER:
            raise self._damaged("the header is missing")
        self.header = self._header(data)
        self._opener = None
        if keys is not None and self.header.sealed is not None:
            from graphmem.sealing.sealed_dumps import DumpOpener

            self._opener = DumpOpener(keys, self.header.sealed)
        self._file_hash = hashlib.sha256()

        self.erased_owners: set[str] = set()
        """Owners whose records a sealed dump has, and whose keys were destroyed: they are left out."""

    @property
    def is_closed(self) -> bool:
        """Whether the dump is sealed, and no keys open it here."""
        return self.header.sealed is not None and self._opener is None

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield the lines of each chunk, then check the end of the file.

        Raises:
            DumpDamaged: a byte is not as it was written.
            DecryptionFailed: a chunk of a sealed dump does not open, or the dump was cut.
        """
        chunks = self.manifest.chunks
        kind, data, digest = self._frame()
        expected = _CHUNK if self.header.sealed is None else _SEALED
        while kind == expected:
            if kind == _SEALED and not data:
                # No key opens it here, or no longer: the manifest says how much it holds.
                chunks.append([None, None, digest.hex()])
                yield []
                kind, data, digest = self._frame()
                continue
            # Lines are counted before they are split: a few kilobytes may hold millions of empty lines.
            if data.count(b"\n") > CHUNK_LINES_LIMIT:
                raise self._damaged(f"chunk {len(chunks) + 1} has too many lines")
            lines = data.split(b"\n")
            if lines.pop() or not lines:
                raise self._damaged(f"chunk {len(chunks) + 1} does not end with a line feed")
            chunks.append([len(lines), len(data), digest.hex()])
            yield lines
            kind, data, digest = self._frame()
        if kind != _MANIFEST:
            raise self._damaged("the manifest is missing")
        self._finish(data)

    def _finish(self, data: bytes) -> None:
        """Compare the manifest with the chunks, and the file with the hash at its end."""
        manifest = self._object(data, "manifest")
        sealed = manifest.pop("sealed", "")
        self._take_sizes(manifest.get("chunks"))
        if manifest.get("chunks") != self.manifest.chunks or manifest.get("root") != self.manifest.root:
            raise self._damaged("the manifest does not fit the chunks")
        if self._opener is not None:
            self._opener.check_end(str(sealed), _sealed_digest(manifest))
        contents = manifest.get("contents")
        if not isinstance(contents, dict):
            raise self._damaged("the manifest does not count the records")
        digest = self._file_hash.digest()
        end = _FRAME.unpack(self._take(_FRAME.size, "the end is missing"))
        if end != (_END, _DIGEST, _DIGEST) or self._take(_DIGEST, "the end is cut off") != digest:
            raise self._damaged("the hash of the file does not fit")
        if self._file.read(1):
            raise self._damaged("bytes follow the end")
        self.manifest.contents = contents

    def _take_sizes(self, chunks: Any) -> None:
        try:
            sizes = [[int(lines), int(size)] for lines, size, _ in chunks]
        except (TypeError, ValueError) as exc:
            raise self._damaged("the manifest does not count the lines") from exc
        for chunk, size in zip(self.manifest.chunks, sizes, strict=False):
            if chunk[0] is None:
                chunk[:2] = size

    def _frame(self) -> tuple[bytes, bytes, bytes]:
        """Return kind, data and hash of the next frame. No more is decompressed than the frame announces."""
        head = self._take(_FRAME.size, "the manifest is missing: the file was cut off or is incomplete")
        kind, payload_size, size = _FRAME.unpack(head)
        if kind not in (_HEADER, _CHUNK, _SEALED, _MANIFEST) or max(payload_size, size) > FRAME_BYTES_LIMIT:
            raise self._damaged("the beginning of a frame is not valid")
        digest = self._take(_DIGEST, "a frame is cut off")
        payload = self._take(payload_size, "a frame is cut off")
        if kind == _SEALED:
            if hashlib.sha256(payload).digest() != digest:
                raise self._damaged("the hash of a frame does not fit")
            data = self._opened(payload, size)
        else:
            data = payload if kind == _HEADER else self._decompress(payload, size)
            if len(data) != size or hashlib.sha256(data).digest() != digest:
                raise self._damaged("the hash of a frame does not fit")
        self._file_hash.update(head)
        self._file_hash.update(digest)
        self._file_hash.update(payload)
        return kind, data, digest

    def _opened(self, payload: bytes, size: int) -> bytes:
        """Return what is sealed in a payload, nothing where no key opens it."""
        if self._opener is None:
            return b""
        try:
            compressed = self._opener.open(len(self.manifest.chunks), payload)
        except KeyDestroyed as exc:
            self.erased_owners.add(exc.details["owner"])
            return b""
        data = self._decompress(compressed, size)
        if len(data) != size:
            raise self._damaged("a frame has another size than it announces")
        return data

    def _decompress(self, payload: bytes, size: int) -> bytes:
        try:
            # The library allocates the size that the payload announces: compare it first.
            if zstandard.get_frame_parameters(payload).content_size != size:
                raise self._damaged("a frame announces another size than it has")
            return self._decompressor.decompress(payload, max_output_size=size, allow_extra_data=False)
        except zstandard.ZstdError as exc:
            raise self._damaged("a frame cannot be decompressed") from exc

    def _take(self, size: int, fault: str) -> bytes:
        """Read exactly ``size`` bytes; ``fault`` describes a file that has fewer."""
        data = self._file.read(size)
        self.position += len(data)
        if len(data) != size:
            raise self._damaged(fault)
        return data

    def _header(self, data: bytes) -> Header:
        header = self._object(data, "header")
        version, graphmem = header.get("format"), header.get("graphmem")
        if type(version) is not int or not 1 <= version <= FORMAT:
            raise DumpDamaged(
                f"this dump has format {version}, made by graphmem {graphmem}, and this version reads "
                f"formats 1 to {FORMAT}: install that version or a newer one",
                format=version,
                known=FORMAT,
            )
        try:
            # The first dumps of format 2 say nothing of files, and have none.
            files = header.get("files", False) is True
            sealed = header.get("sealed")
            if sealed is not None and not isinstance(sealed, dict):
                raise ValueError("what is said of keys is no object")
            return Header(version, str(graphmem), times.parse(header["created_at"]), files, sealed)
        except (KeyError, ValueError, TypeError) as exc:
            raise self._damaged("the header has no valid time") from exc

    def _object(self, data: bytes, part: str) -> dict[str, Any]:
        try:
            value = canonical.decode(data)
        except ValueError as exc:
            raise self._damaged(f"the {part} is not JSON") from exc
        if not isinstance(value, dict):
            raise self._damaged(f"the {part} is not an object")
        return value

    def _damaged(self, fault: str) -> DumpDamaged:
        return damaged(fault, byte=self.position)


def _sealed_digest(manifest: dict[str, Any]) -> bytes:
    """Return the SHA-256 of a manifest: it covers the hash of every chunk of a sealed dump."""
    return hashlib.sha256(canonical.encode(manifest).encode()).digest()


def damaged(fault: str, **details: Any) -> DumpDamaged:
    where = "".join(f", {name} {value:,}" for name, value in details.items())
    return DumpDamaged(f"the dump is damaged{where}: {fault}. Fetch it again, or take another one", **details)
