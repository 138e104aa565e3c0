"""Verifying and reading a dump. No database is needed."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from graphmem.dump import container, records
from graphmem.dump.container import DumpReader, damaged
from graphmem.dump.records import RecordOrder
from graphmem.errors import DecryptionFailed, DumpRefused
from graphmem.model import fact_table
from graphmem.model.fact_records import Record, TransactionRecord
from graphmem.sealing import InstanceKeys

Progress = Callable[[int], None]  # called with the bytes of the file that were read since the last call


class VerifyResult(NamedTuple):
    """A verified dump: each line is a record in its place, and every byte is as it was written.

    ``is_opened``: false for a sealed dump of which only the checksums were compared. ``missing_files``: how
    many files it names without their bytes; None where it was not opened. ``erased_owners``
    are those of a sealed dump whose keys were destroyed with their data: nobody can read what it has of them.
    """

    header: container.Header
    manifest: container.Manifest
    size: int
    missing_files: int | None = 0
    is_opened: bool = True
    erased_owners: tuple[str, ...] = ()


def verify(path: Path, progress: Progress | None = None, keys: InstanceKeys | None = None) -> VerifyResult:
    """Read a dump to its end and check all of it. Of a sealed dump without ``keys``, the checksums.

    Raises:
        DumpDamaged: the dump is not as it was written, or has a format that this version does not read.
        DumpRefused: the file cannot be read.
        DecryptionFailed: these keys do not open it.
    """
    with open_file(path) as file:
        reader = DumpReader(file, keys)
        order = RecordOrder()
        chunks = _chunks(reader, progress or (lambda done: None))
        for _ in chunks if reader.is_closed else _records(reader, chunks, order):
            pass
        missing = None if reader.is_closed else order.missing_files
        result = reader.header, reader.manifest, reader.position, missing
        erased = tuple(sorted(reader.erased_owners))
        return VerifyResult(*result, is_opened=not reader.is_closed, erased_owners=erased)


def _chunks(reader: DumpReader, progress: Progress) -> Iterator[list[bytes]]:
    reported = 0
    for lines in reader.chunks():
        yield lines
        progress(reader.position - reported)
        reported = reader.position
    progress(reader.position - reported)


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a dump for reading. Raises DumpRefused: the file cannot be read."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as exc:
        raise DumpRefused(f"{path} cannot be read: {exc.strerror or exc}", path=str(path)) from exc


def read(file: BinaryIO, keys: InstanceKeys | None = None) -> Iterator[Record]:
    """Yield the records of a dump, each checked as :func:`verify` does.

    Raises:
        DumpDamaged: the dump is not as it was written; the records before the damage have been yielded.
        DecryptionFailed: it is sealed, and ``keys`` do not open it.
    """
    reader = DumpReader(file, keys)
    if reader.is_closed:
        raise DecryptionFailed(
            "the dump is sealed: restore it where its keys are, or give the key file of its instance with "
            "--keys",
            **(reader.header.sealed or {}),
        )
    yield from _records(reader, reader.chunks(), RecordOrder())


def records_hash(path: Path, keys: InstanceKeys | None) -> tuple[int, str]:
    """Return how many records a dump has, and their SHA-256, which is the same for a sealed dump.

    Raises:
        DumpDamaged, DumpRefused, DecryptionFailed: as :func:`verify`; without ``keys`` a sealed one as well.
    """
    count, digest = 0, hashlib.sha256()
    with open_file(path) as file:
        for record in read(file, keys=keys):
            count += 1
            digest.update(record.line() + b"\n")
    return count, digest.hexdigest()


def _records(reader: DumpReader, chunks: Iterator[list[bytes]], order: RecordOrder) -> Iterator[Record]:
    line = 0
    counts: dict[str, Any] = {"owners": [], "relationship_types": 0}
    for lines in chunks:
        for text in lines:
            line += 1
            try:
                record = records.read(text)
                order.check(record)
                _count(counts, record, reader.header)
            except ValueError as exc:
                raise damaged(f"the line is not a valid record: {exc}", line=line) from exc
            if record.line() != text:
                raise damaged("the record is not in its canonical form", line=line)
            yield record
    try:
        order.end()
    except ValueError as exc:
        raise damaged(str(exc), line=line) from exc
    if reader.erased_owners:
        owners = reader.manifest.contents["owners"]
        owners[:] = [each for each in owners if each["owner"] not in reader.erased_owners]
    if reader.manifest.contents != counts:
        raise damaged("the manifest counts other records than the dump holds", line=line)


def _count(counts: dict[str, Any], record: Record, header: container.Header) -> None:
    """Count a record as the manifest does.

    Raises:
        ValueError: it has bytes of a file, and the header says that there are none.
    """
    if isinstance(record, records.RelationshipTypeRecord):
        counts["relationship_types"] += 1
        return
    if isinstance(record, records.AccountRecord):
        # Dumps of chosen owners have none, and do not count them.
        counts["accounts"] = counts.get("accounts", 0) + 1
        return
    if isinstance(record, records.Owner):
        files = {"files": 0, "file_bytes": 0} if header.files else {}
        kinds = fact_table.no_counts(header.format)
        counts["owners"].append({"owner": record.id, "recorded_at": 0, **kinds, **files})
        return
    owner = counts["owners"][-1]
    if isinstance(record, records.FileChunk):
        if not header.files:
            raise ValueError("the header says that the dump has no bytes of files")
        owner["files"] += record.offset == 0
        owner["file_bytes"] += record.size
        return
    name = fact_table.BY_RECORD[type(record)].plural
    owner[name] = owner.get(name, 0) + 1
    if isinstance(record, TransactionRecord):
        owner["recorded_at"] = record.recorded_at
