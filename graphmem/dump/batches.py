"""The records of a dump in batches that one write of an owner can hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from graphmem.dump.file_chunks import decoded
from graphmem.dump.records import AccountRecord, FileChunk, Owner, RelationshipTypeRecord
from graphmem.model import fact_records, facts
from graphmem.model.fact_records import (
    ObservationRecord,
    Record,
    Repeat,
    SchemaRecord,
    SourceRecord,
    Split,
    TransactionRecord,
)

BATCH_TRANSACTIONS_LIMIT: Final = 1_000
BATCH_OBSERVATIONS_LIMIT: Final = 1_000
BATCH_CHARACTERS_LIMIT: Final = 4_000_000
"""A batch ends before it exceeds one of these; a single transaction may be larger."""

R = TypeVar("R", bound=fact_records.RecordedPart)


@dataclass(slots=True)
class BatchPart:
    """A transaction with all that it recorded, by record class."""

    transaction: TransactionRecord
    records: dict[type[fact_records.RecordedPart], list[Any]] = field(default_factory=dict)

    def of(self, kind: type[R]) -> list[R]:
        return self.records.get(kind, [])

    @property
    def observations(self) -> list[ObservationRecord]:
        return self.of(ObservationRecord)

    @property
    def size(self) -> int:
        """The number of observations that it recorded first, or again, or moved."""
        moved = sum(len(split.observations) for split in self.of(Split))
        return len(self.observations) + len(self.of(Repeat)) + moved

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
    parts: list[BatchPart]

    @property
    def observations(self) -> list[ObservationRecord]:
        return [observation for part in self.parts for observation in part.observations]


@dataclass(slots=True)
class FileContent:
    """The bytes of a file of an owner, which are read from the dump as they are taken.

    It comes before the batch of the transaction that stored the file.
    """

    owner: str
    content_hash: str
    size: int
    chunks: Iterator[bytes]


@dataclass(slots=True)
class OwnerStart:
    """An owner with all schema versions: schemas are restored before the owner's transactions."""

    owner: str
    schemas: list[SchemaRecord] = field(default_factory=list)


def batches(
    records: Iterable[Record],
) -> Iterator[RelationshipTypeRecord | AccountRecord | OwnerStart | Batch | FileContent]:
    """Yield the records of a dump in its order: each owner's start, then the owner's files and batches."""
    start: OwnerStart | None = None
    pending = _PendingBatch()
    for part in _parts(records):
        if isinstance(part, RelationshipTypeRecord | AccountRecord):
            yield part
        elif isinstance(part, Owner):
            if start is not None:
                yield from _rest(start, pending)
            start, pending = OwnerStart(part.id), _PendingBatch()
        else:
            assert start is not None
            if isinstance(part, SchemaRecord):
                start.schemas.append(part)
                continue
            if not pending.started:
                yield start
                pending.started = True
            if isinstance(part, FileContent):
                part.owner = start.owner
                yield part
                for _ in part.chunks:
                    # Those that nobody took.
                    pass
                continue
            assert isinstance(part, BatchPart)
            if pending.parts and not pending.has_room(part):
                yield Batch(start.owner, pending.parts)
                pending = _PendingBatch(started=True)
            pending.add(part)
    if start is not None:
        yield from _rest(start, pending)


@dataclass(slots=True)
class _PendingBatch:
    """The parts of the next batch; ``started`` says whether the owner's start was yielded."""

    parts: list[BatchPart] = field(default_factory=list)
    observations: int = 0
    characters: int = 0
    started: bool = False

    def has_room(self, part: BatchPart) -> bool:
        return not (
            len(self.parts) == BATCH_TRANSACTIONS_LIMIT
            or self.observations + part.size > BATCH_OBSERVATIONS_LIMIT
            or self.characters + part.characters > BATCH_CHARACTERS_LIMIT
            or part.has_merge
            or self.parts[-1].has_merge
        )

    def add(self, part: BatchPart) -> None:
        self.parts.append(part)
        self.observations += part.size
        self.characters += part.characters


def _rest(start: OwnerStart, pending: _PendingBatch) -> Iterator[OwnerStart | Batch]:
    if not pending.started:
        yield start
    if pending.parts:
        yield Batch(start.owner, pending.parts)


def _parts(
    records: Iterable[Record],
) -> Iterator[Record | BatchPart | FileContent]:
    """Yield each transaction with all of its observations, and the other records unchanged.

    A file is yielded before the transaction that stored it, without its owner.
    """
    part: BatchPart | None = None
    records = iter(records)
    for record in records:
        if isinstance(record, fact_records.RecordedPart):
            assert part is not None
            part.records.setdefault(type(record), []).append(record)
            continue
        if isinstance(record, FileChunk):
            assert part is not None
            source = part.of(SourceRecord)[-1]
            yield FileContent("", source.content_hash, source.size, _chunks(record, records, source.size))
            continue
        if part is not None:
            yield part
            part = None
        if isinstance(record, TransactionRecord):
            part = BatchPart(record)
        else:
            yield record
    if part is not None:
        yield part


def _chunks(first: FileChunk, records: Iterator[Record], size: int) -> Iterator[bytes]:
    """Yield the bytes of a file of some size, from its first chunk on."""
    data = decoded(first.data)
    while data:
        yield data
        size -= len(data)
        if not size:
            return
        record = next(records)
        # The records were checked: a file has all of its chunks.
        assert isinstance(record, FileChunk)
        data = decoded(record.data)
