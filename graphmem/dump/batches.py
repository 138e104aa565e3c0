"""The records of a dump in batches that one write of an owner can hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from graphmem.dump.records import AccountRecord, FileChunk, Owner, RelationshipTypeRecord, decoded
from graphmem.model import fact_records, facts

BATCH_TRANSACTIONS_LIMIT: Final = 1_000
BATCH_OBSERVATIONS_LIMIT: Final = 1_000
BATCH_CHARACTERS_LIMIT: Final = 4_000_000
"""A batch ends before it exceeds one of these; a single transaction may be larger."""

R = TypeVar("R", bound=fact_records.RecordedPart)
K = TypeVar("K", bound=fact_records.Record)


@dataclass(slots=True)
class BatchPart:
    """A transaction with all that it recorded, by record class."""

    transaction: fact_records.TransactionRecord
    records: dict[type[fact_records.RecordedPart], list[Any]] = field(default_factory=dict)

    def of(self, kind: type[R]) -> list[R]:
        return self.records.get(kind, [])

    @property
    def observations(self) -> list[fact_records.ObservationRecord]:
        return self.of(fact_records.ObservationRecord)

    @property
    def size(self) -> int:
        """The number of observations that it recorded first, or again, or moved."""
        moved = sum(len(split.observations) for split in self.of(fact_records.Split))
        return len(self.observations) + len(self.of(fact_records.Repeat)) + moved

    @property
    def has_merge(self) -> bool:
        """Whether it merges entities or ends a merge: it is then written alone."""
        return any(observation.kind in facts.MERGE_KINDS for observation in self.observations)

    @property
    def characters(self) -> int:
        return len(self.transaction.answer) + sum(
            len(value) for observation in self.observations for value in observation.values
        )


@dataclass(slots=True)
class Batch:
    """Transactions of one owner, in their order."""

    owner: str
    parts: list[BatchPart] = field(default_factory=list)
    size: int = field(default=0, compare=False)
    characters: int = field(default=0, compare=False)

    @property
    def observations(self) -> list[fact_records.ObservationRecord]:
        return [observation for part in self.parts for observation in part.observations]

    def has_room(self, part: BatchPart) -> bool:
        return not self.parts or not (
            len(self.parts) == BATCH_TRANSACTIONS_LIMIT
            or self.size + part.size > BATCH_OBSERVATIONS_LIMIT
            or self.characters + part.characters > BATCH_CHARACTERS_LIMIT
            or part.has_merge
            or self.parts[-1].has_merge
        )

    def add(self, part: BatchPart) -> None:
        self.parts.append(part)
        self.size += part.size
        self.characters += part.characters


@dataclass(slots=True)
class FileContent:
    """The bytes of a file, read from the dump as they are taken, before the transaction that stored it."""

    owner: str
    content_hash: str
    size: int
    chunks: Iterator[bytes]


@dataclass(slots=True)
class OwnerStart:
    """An owner with all schema versions: schemas are restored before the owner's transactions."""

    owner: str
    schemas: list[fact_records.SchemaRecord] = field(default_factory=list)


class _Stream:
    """The records of a dump, one after the other. Their order was checked."""

    def __init__(self, records: Iterable[fact_records.Record]) -> None:
        self._records = iter(records)
        self._next = next(self._records, None)

    def take(self, *kinds: type[K]) -> K | None:
        record = self._next
        if not isinstance(record, kinds):
            return None
        self._next = next(self._records, None)
        return record


def batches(
    records: Iterable[fact_records.Record],
) -> Iterator[RelationshipTypeRecord | AccountRecord | OwnerStart | Batch | FileContent]:
    """Yield the records of a dump in its order: each owner's start, then the owner's files and batches."""
    stream = _Stream(records)
    while of_instance := stream.take(RelationshipTypeRecord, AccountRecord):
        yield of_instance
    while owner := stream.take(Owner):
        yield OwnerStart(owner.id, list(iter(partial(stream.take, fact_records.SchemaRecord), None)))
        batch = Batch(owner.id)
        while transaction := stream.take(fact_records.TransactionRecord):
            part = BatchPart(transaction)
            while record := stream.take(fact_records.RecordedPart, FileChunk):
                if isinstance(record, FileChunk):
                    file = _file(owner.id, part.of(fact_records.SourceRecord)[-1], record, stream)
                    yield file
                    for _ in file.chunks:
                        # Those that nobody took.
                        pass
                else:
                    part.records.setdefault(type(record), []).append(record)
            if not batch.has_room(part):
                yield batch
                batch = Batch(owner.id)
            batch.add(part)
        if batch.parts:
            yield batch


def _file(owner: str, source: fact_records.SourceRecord, first: FileChunk, stream: _Stream) -> FileContent:

    def chunks() -> Iterator[bytes]:
        chunk, left = first, source.size
        while data := decoded(chunk.data):
            yield data
            left -= len(data)
            if not left:
                return
            following = stream.take(FileChunk)
            # The records were checked: a file has all of its chunks.
            assert following is not None
            chunk = following

    return FileContent(owner, source.content_hash, source.size, chunks())
