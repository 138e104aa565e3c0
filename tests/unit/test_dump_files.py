"""The bytes of files in a dump: which chunks are taken, in which order, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import os

import pytest

from graphmem.dump.batches import Batch, FileContent, OwnerStart, batches
from graphmem.dump.records import FILE_CHUNK_BYTES, FileChunk, Owner, RecordOrder
from graphmem.model import ids
from graphmem.model.fact_records import Record, SourceRecord
from tests.support.walks import walk_over
from tests.unit.test_dump_records import observation, transaction

DATA = os.urandom(2 * FILE_CHUNK_BYTES + 5)
SMALL = b"Dear Ada"


def source(data: bytes = DATA, owner: str = "a", size: int | None = None) -> SourceRecord:
    content_hash = hashlib.sha256(data).hexdigest()
    return SourceRecord(
        id=ids.source_id(owner, content_hash), content_hash=content_hash,
        size=len(data) if size is None else size, mime_type="text/plain",
    )  # fmt: skip


def chunks(data: bytes = DATA, step: int = FILE_CHUNK_BYTES) -> list[FileChunk]:
    content_hash = hashlib.sha256(data).hexdigest()
    return [
        FileChunk(content_hash=content_hash, offset=start, data=encoded(data[start : start + step]))
        for start in range(0, len(data), step)
    ]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def taken(*parts: Record | list[FileChunk]) -> int:
    """Check the records of one owner's transaction; return how many files miss their bytes."""
    order = RecordOrder()
    for part in [Owner(id="a"), transaction(), *parts]:
        for record in part if isinstance(part, list) else [part]:
            order.check(record)
    order.end()
    return order.missing_files


def test_a_file_follows_the_first_source_that_names_it() -> None:
    assert taken(source(), chunks()) == 0
    assert taken(source(), chunks(), transaction(2), source(), observation()) == 0
    assert taken(source(SMALL), chunks(SMALL), observation()) == 0


def test_a_file_may_lack_its_bytes() -> None:
    assert taken(source()) == 1
    assert taken(source(), observation(), transaction(2), source(), transaction(3), source(SMALL)) == 2


def test_a_file_of_another_owner_is_another_file() -> None:
    order = RecordOrder()
    for record in [
        Owner(id="a"), transaction(), source(SMALL), *chunks(SMALL),
        Owner(id="b"), transaction(), source(SMALL, "b"), *chunks(SMALL),
    ]:  # fmt: skip
        order.check(record)
    assert order.missing_files == 0


@pytest.mark.parametrize("owner", ["b", "", "A"])
def test_a_source_whose_id_does_not_fit_owner_and_content_is_refused(owner: str) -> None:
    with pytest.raises(ValueError, match="the id is not that of a source"):
        taken(source(SMALL, owner))


first, second, last = chunks()
other = chunks(SMALL)[0]
WRONG = {
    "the last is missing": [source(), first, second],
    "the last is missing before an observation": [source(), first, second, observation()],
    "the last is missing before a source": [source(), first, transaction(2), source(SMALL)],
    "the first is missing": [source(), second, last],
    "one is missing": [source(), first, last],
    "one comes twice": [source(), first, first, second, last],
    "one comes after the end": [source(), first, second, last, last],
    "they are in another order": [source(), second, first, last],
    "there is no source": [first],
    "the source is another": [source(SMALL), first],
    "they come with a later source": [source(), transaction(2), source(), first, second, last],
    "they come again with a later source": [
        source(SMALL), other, transaction(2), source(SMALL), other,
    ],
    "an observation stands before them": [source(SMALL), observation(), other],
    "a transaction stands before them": [source(SMALL), transaction(2), other],
    "a byte differs": [source(SMALL), other.model_copy(update={"data": encoded(b"Dear Bob")})],
    "the hash is another": [source(SMALL), other.model_copy(update={"content_hash": "0" * 64})],
    "the chunks are smaller": [source(), *chunks(step=FILE_CHUNK_BYTES // 3)],
    "the chunks are larger": [source(), *chunks(step=FILE_CHUNK_BYTES + 3)],
    "a byte is missing": [source(SMALL), other.model_copy(update={"data": encoded(SMALL[:-1])})],
    "a byte follows": [source(SMALL), other.model_copy(update={"data": encoded(SMALL + b"!")})],
    "the size of the source is another": [source(SMALL, size=7), other],
    "a chunk is empty": [source(SMALL), other.model_copy(update={"data": ""})],
    "it is no base64": [source(SMALL), other.model_copy(update={"data": "RGVhciBBZGE*"})],
    "it has no padding": [source(b"a"), chunks(b"a")[0].model_copy(update={"data": "YQ"})],
    "its base64 is not canonical": [source(b"a"), chunks(b"a")[0].model_copy(update={"data": "YR=="})],
    "it has a line feed": [source(SMALL), other.model_copy(update={"data": "RGVhciBB\nZGE="})],
}  # fmt: skip


@walk_over("records", WRONG.values())
def test_damaged_bytes_are_refused(records: list[Record]) -> None:
    with pytest.raises(ValueError):
        taken(*records)


def test_a_chunk_knows_its_size() -> None:
    assert [chunk.size for chunk in chunks()] == [FILE_CHUNK_BYTES, FILE_CHUNK_BYTES, 5]
    assert [chunks(b"x" * size)[0].size for size in (1, 2, 3, 4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("takes", [True, False])
def test_a_file_comes_before_the_batch_of_its_transaction(takes: bool) -> None:
    records = [
        Owner(id="a"), transaction(1, 1), transaction(2, 2), source(), *chunks(), observation(),
        transaction(3, 3), source(SMALL), *chunks(SMALL), Owner(id="b"),
    ]  # fmt: skip
    met: list[tuple[str, int] | str] = []
    for portion in batches(iter(records)):
        if isinstance(portion, FileContent):
            data = b"".join(portion.chunks) if takes else b""
            assert not takes or hashlib.sha256(data).hexdigest() == portion.content_hash
            met.append((portion.owner, portion.size))
        elif isinstance(portion, Batch):
            met.append(f"batch of {len(portion.parts)}")
            assert [len(part.of(SourceRecord)) for part in portion.parts] == [0, 1, 1]
        else:
            assert isinstance(portion, OwnerStart)
            met.append(f"owner {portion.owner}")
    assert met == ["owner a", ("a", len(DATA)), ("a", len(SMALL)), "batch of 3", "owner b"]
