"""Sealed dumps: without its keys, a dump can be checked, and nothing of it changed that is restored."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from graphmem.dump import container, verifying
from graphmem.dump.container import MAGIC, DumpReader, DumpWriter
from graphmem.errors import DecryptionFailed, DumpDamaged
from graphmem.model import canonical
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_dumps import DumpSealer

ROOT = RootKey.read("7f" * 32)
LINES = [b'{"canary":"sings %d"}' % number for number in range(5)]
OWNERS = {"ada": LINES[:3], "eve": LINES[3:]}


@pytest.fixture
def keys(tmp_path: Path) -> InstanceKeys:
    return InstanceKeys.create(tmp_path / "keys.json", ROOT)


def write(keys: InstanceKeys, contents: dict[str, list[bytes]] = OWNERS) -> bytes:
    file = io.BytesIO()
    writer = DumpWriter(file, sealer=DumpSealer(keys))
    writer.add(b'{"of":"the instance"}')
    for owner, lines in contents.items():
        writer.begin_owner(owner)
        for line in lines:
            writer.add(line)
    writer.finish({"owners": [{"owner": owner} for owner in contents], "relationship_types": 0})
    return file.getvalue()


def read(data: bytes, keys: InstanceKeys | None) -> list[bytes]:
    reader = DumpReader(io.BytesIO(data), keys)
    return [line for lines in reader.chunks() for line in lines]


@dataclass
class Frame:
    kind: bytes
    size: int
    payload: bytes


def frames(data: bytes) -> Iterator[Frame]:
    place = len(MAGIC)
    while place < len(data):
        kind, length, size = container._FRAME.unpack_from(data, place)
        place += container._FRAME.size + 32
        if kind == b"E":
            return
        yield Frame(kind, size, data[place : place + length])
        place += length


def forged(data: bytes, change: Callable[[list[Frame]], None], **header: Any) -> bytes:
    """Return a dump that was changed by somebody without keys, with checksums that fit."""
    head, *chunks, manifest = frames(data)
    change(chunks)
    members = canonical.decode(head.payload)
    members["sealed"] |= header
    head.payload = canonical.encode(members).encode()
    text = canonical.decode(zstandard.ZstdDecompressor().decompress(manifest.payload))
    sizes = {each[2]: each[:2] for each in text["chunks"]}
    digests = [hashlib.sha256(chunk.payload).hexdigest() for chunk in chunks]
    text["chunks"] = [[*sizes.get(digest, [1, 1]), digest] for digest in digests]
    text["root"] = hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()
    plain = canonical.encode(text).encode()
    written, hashed = io.BytesIO(MAGIC), hashlib.sha256()
    written.seek(0, 2)
    parts = [(b"H", len(head.payload), head.payload, head.payload)]
    parts += [(chunk.kind, chunk.size, chunk.payload, chunk.payload) for chunk in chunks]
    parts += [(b"M", len(plain), zstandard.ZstdCompressor(level=3).compress(plain), plain)]
    for kind, size, payload, counted in parts:
        frame = container._FRAME.pack(kind, len(payload), size) + hashlib.sha256(counted).digest() + payload
        written.write(frame)
        if kind != b"H":
            hashed.update(frame)
    written.write(container._FRAME.pack(b"E", 32, 32) + hashed.digest())
    return written.getvalue()


def test_a_dump_opens_with_its_keys_alone(keys: InstanceKeys, tmp_path: Path) -> None:
    data = write(keys)
    assert read(data, keys) == [b'{"of":"the instance"}', *LINES]
    assert read(data, None) == []
    assert b"canary" not in data
    assert read(forged(data, lambda chunks: None), keys) == [b'{"of":"the instance"}', *LINES]
    other = InstanceKeys.create(tmp_path / "other.json", ROOT)
    with pytest.raises(DecryptionFailed, match=keys.record().instance):
        read(data, other)
    with pytest.raises(DecryptionFailed, match="--keys"):
        list(verifying.read(io.BytesIO(data)))


def test_what_was_erased_is_left_out(keys: InstanceKeys) -> None:
    data = write(keys)
    keys.destroy("ada")
    reader = DumpReader(io.BytesIO(data), keys)
    assert [line for lines in reader.chunks() for line in lines][1:] == OWNERS["eve"]
    assert reader.erased_owners == {"ada"}


def test_every_changed_byte_is_met_without_keys(keys: InstanceKeys) -> None:
    data = write(keys)
    start = data.index(b"S", len(MAGIC) + 60)
    for place in range(start, len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(DumpDamaged):
            read(changed, None)


FORGERIES: dict[str, Callable[[list[Frame], list[Frame]], None]] = {
    "chunks swapped": lambda chunks, _: chunks.insert(0, chunks.pop()),
    "a chunk left out": lambda chunks, _: chunks.pop(1) and None,
    "cut": lambda chunks, _: chunks.pop() and None,
    "a chunk twice": lambda chunks, _: chunks.append(chunks[-1]),
    "a chunk of an earlier dump": lambda chunks, earlier: chunks.__setitem__(1, earlier[1]),
    "all chunks of an earlier dump": lambda chunks, earlier: chunks.__setitem__(slice(None), earlier),
    "a bit": lambda chunks, _: setattr(chunks[0], "payload", chunks[0].payload[:-1] + b"\0"),
    "too short": lambda chunks, _: setattr(chunks[0], "payload", b"short"),
    "in clear": lambda chunks, _: setattr(chunks[0], "payload", zstandard.compress(b"{}\n")),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_with_checksums_that_fit_is_refused(keys: InstanceKeys, forgery: str) -> None:
    earlier = [each for each in frames(write(keys)) if each.kind == b"S"]
    data = forged(write(keys), lambda chunks: FORGERIES[forgery](chunks, earlier))
    with pytest.raises((DecryptionFailed, DumpDamaged)):
        read(data, keys)


def test_chunks_in_clear_are_no_part_of_a_sealed_dump(keys: InstanceKeys) -> None:
    def plain(chunks: list[Frame]) -> None:
        chunks[0] = Frame(b"C", 3, zstandard.compress(b"{}\n"))

    with pytest.raises(DumpDamaged):
        read(forged(write(keys), plain), keys)


def test_the_header_of_an_earlier_dump_opens_nothing(keys: InstanceKeys) -> None:
    earlier = canonical.decode(next(frames(write(keys))).payload)["sealed"]["dump"]
    with pytest.raises(DecryptionFailed):
        read(forged(write(keys), lambda chunks: None, dump=earlier), keys)
