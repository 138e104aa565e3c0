"""The file of a dump: whatever is changed of it is found, and nothing inflates beyond what was announced."""

from __future__ import annotations

import hashlib
import io
import struct
from typing import Any

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.dump import verifying
from graphmem.dump.container import (
    CHUNK_BYTES,
    CHUNK_LINES_LIMIT,
    FRAME_BYTES_LIMIT,
    MAGIC,
    DumpReader,
    DumpWriter,
)
from graphmem.errors import DumpDamaged
from tests.support.walks import walk_over

LINES = [f'{{"n":{i},"text":"{"x" * (i % 50)}"}}'.encode() for i in range(2 * CHUNK_LINES_LIMIT + 5)]


def written(lines: list[bytes]) -> bytes:
    file = io.BytesIO()
    writer = DumpWriter(file)
    for line in lines:
        writer.add(line)
    writer.finish({"lines": len(lines)})
    return file.getvalue()


def read(data: bytes) -> tuple[list[bytes], DumpReader]:
    reader = DumpReader(io.BytesIO(data))
    return [line for chunk in reader.chunks() for line in chunk], reader


WHOLE = written(LINES)


def test_what_is_written_is_read() -> None:
    lines, reader = read(WHOLE)
    assert lines == LINES
    assert [chunk[0] for chunk in reader.manifest.chunks] == [CHUNK_LINES_LIMIT, CHUNK_LINES_LIMIT, 5]
    assert reader.manifest.contents == {"lines": len(LINES)}
    assert reader.position == len(WHOLE)


def test_a_chunk_ends_where_its_lines_are_large() -> None:
    lines = [b"a" * (CHUNK_BYTES // 2), b"b" * (CHUNK_BYTES // 2), b"c", b"d" * (3 * CHUNK_BYTES), b"e"]
    lines_read, reader = read(written(lines))
    assert lines_read == lines
    assert [chunk[0] for chunk in reader.manifest.chunks] == [2, 2, 1]


def test_nothing_at_all_is_a_dump_too() -> None:
    assert read(written([]))[0] == []


def test_the_same_lines_give_the_same_bytes_but_for_the_header() -> None:
    other = written(LINES)
    assert WHOLE[-2000:] == other[-2000:]
    (packed,) = struct.unpack_from(">I", WHOLE, len(MAGIC) + 1)
    header = len(MAGIC) + 9 + 32 + packed
    assert WHOLE[header:] == other[header:]
    assert (
        read(WHOLE)[1].manifest.root
        == read(other)[1].manifest.root
        != read(written(LINES[1:]))[1].manifest.root
    )


@given(st.integers(0, len(WHOLE) * 8 - 1))
def test_every_flipped_bit_is_found(bit: int) -> None:
    changed = bytearray(WHOLE)
    changed[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(DumpDamaged):
        read(bytes(changed))


def test_every_flipped_bit_of_what_is_no_payload_is_found() -> None:
    """Exhaustively, where each bit has a meaning of its own: beginning, frames, manifest and end."""
    small = written(LINES[:2])
    for bit in range(len(small) * 8):
        changed = bytearray(small)
        changed[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(DumpDamaged):
            read(bytes(changed))


@given(st.integers(0, len(WHOLE) - 1))
@example(0)
@example(len(WHOLE) - 1)
def test_every_cut_is_found(length: int) -> None:
    with pytest.raises(DumpDamaged):
        read(WHOLE[:length])


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=8))
def test_everything_that_is_put_in_is_found(at: int, more: bytes) -> None:
    with pytest.raises(DumpDamaged):
        read(WHOLE[:at] + more + WHOLE[at:])


@given(st.binary(max_size=200))
def test_what_is_no_dump_is_refused(data: bytes) -> None:
    with pytest.raises(DumpDamaged):
        read(data)


def frame(kind: bytes, payload: bytes, size: int, digest: bytes) -> bytes:
    return kind + struct.pack(">II", len(payload), size) + digest + payload


def header() -> bytes:
    (packed,) = struct.unpack_from(">I", WHOLE, len(MAGIC) + 1)
    return WHOLE[: len(MAGIC) + 9 + 32 + packed]


@pytest.mark.parametrize("announced", [10, FRAME_BYTES_LIMIT, FRAME_BYTES_LIMIT + 1, 2**32 - 1])
def test_a_bomb_is_refused_before_it_is_inflated(announced: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(4 * FRAME_BYTES_LIMIT))
    inflated: list[int] = []

    class Inflater:
        def __init__(self, **_: Any) -> None: ...

        def decompress(self, *_: Any, **__: Any) -> bytes:
            inflated.append(1)
            return b""

    monkeypatch.setattr(zstandard, "ZstdDecompressor", Inflater)
    with pytest.raises(DumpDamaged):
        read(header() + frame(b"C", bomb, announced, hashlib.sha256(b"").digest()))
    assert not inflated


def test_a_bomb_that_hides_its_size_is_refused() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    payload = bomb.compress(bytes(4 * FRAME_BYTES_LIMIT)) + bomb.flush()
    with pytest.raises(DumpDamaged, match="another size"):
        read(header() + frame(b"C", payload, FRAME_BYTES_LIMIT, hashlib.sha256(b"").digest()))


def test_a_chunk_of_nothing_but_ends_of_lines_is_refused() -> None:
    data = b"\n" * FRAME_BYTES_LIMIT
    payload = zstandard.ZstdCompressor(write_content_size=True).compress(data)
    with pytest.raises(DumpDamaged, match="too many lines"):
        read(header() + frame(b"C", payload, len(data), hashlib.sha256(data).digest()))


def compressed(kind: bytes, data: bytes) -> bytes:
    """Return a frame whose hash fits, whatever it holds."""
    payload = zstandard.ZstdCompressor(write_content_size=True).compress(data)
    return frame(kind, payload, len(data), hashlib.sha256(data).digest())


def plain_header(data: bytes) -> bytes:
    return MAGIC + frame(b"H", data, len(data), hashlib.sha256(data).digest())


def end(frames: bytes) -> bytes:
    return b"E" + struct.pack(">II", 32, 32) + hashlib.sha256(frames).digest()


EMPTY_ROOT = read(written([]))[1].manifest.root
NO_COUNTS = compressed(b"M", f'{{"chunks":[],"contents":7,"root":"{EMPTY_ROOT}"}}'.encode())
COUNTS = compressed(b"M", f'{{"chunks":[],"contents":{{}},"root":"{EMPTY_ROOT}"}}'.encode())


def test_a_dump_that_is_made_by_hand_is_read() -> None:
    assert read(header() + COUNTS + end(COUNTS))[0] == []


@walk_over(
    "data, fault",
    [
        (MAGIC + compressed(b"C", b"{}\n"), "the header is missing"),
        (plain_header(b"{"), "the header is not JSON"),
        (plain_header(b"[]"), "the header is not an object"),
        (plain_header(b'{"format":1,"graphmem":"0.1"}'), "the header has no valid time"),
        (header() + compressed(b"C", b"{}"), "chunk 1 does not end with a line feed"),
        (header() + compressed(b"C", b"{}\n{}"), "chunk 1 does not end with a line feed"),
        (header() + compressed(b"C", b""), "chunk 1 does not end with a line feed"),
        (header() + plain_header(b"{}")[len(MAGIC) :], "the manifest is missing"),
        (header() + compressed(b"C", b"{}\n") + COUNTS, "the manifest does not fit the chunks"),
        (header() + compressed(b"M", b"[]"), "the manifest is not an object"),
        (header() + NO_COUNTS, "the manifest does not count the records"),
        (header() + COUNTS + end(b"another"), "the hash of the file does not fit"),
        (header() + COUNTS + end(COUNTS)[:-1], "the end is cut off"),
        (header() + COUNTS + end(COUNTS) + b"x", "bytes follow the end"),
    ],
)
def test_a_dump_whose_hashes_fit_is_refused_where_its_form_does_not(data: bytes, fault: str) -> None:
    """Who makes a dump by hand can make every hash fit."""
    with pytest.raises(DumpDamaged, match=fault):
        read(data)


def test_a_line_that_is_longer_than_a_frame_is_not_written() -> None:
    with pytest.raises(ValueError, match="too long"):
        DumpWriter(io.BytesIO()).add(bytes(FRAME_BYTES_LIMIT))


def test_a_newer_format_says_what_to_do() -> None:
    payload = b'{"created_at":"2026-01-01T00:00:00.000000Z","format":9,"graphmem":"9.0"}'
    newer = MAGIC + frame(b"H", payload, len(payload), hashlib.sha256(payload).digest())
    with pytest.raises(DumpDamaged, match=r"format 9, made by graphmem 9.0.*install"):
        DumpReader(io.BytesIO(newer))


@pytest.mark.parametrize(
    ("line", "contents", "fault"),
    [
        (b'{"id":"a"}', {}, "the line is not a valid record"),
        (b'{"record":"owner","id":"a"}', {}, "the record is not in its canonical form"),
        (b'{"id":"a","record":"owner"}', {}, "the manifest counts other records than the dump holds"),
    ],
)
def test_a_dump_whose_records_are_not_as_a_backup_writes_them_is_refused(
    line: bytes, contents: dict[str, Any], fault: str
) -> None:
    file = io.BytesIO()
    writer = DumpWriter(file)
    writer.add(line)
    writer.finish(contents)
    with pytest.raises(DumpDamaged, match=fault) as damaged:
        list(verifying.read(io.BytesIO(file.getvalue())))
    assert damaged.value.details["line"] == 1
