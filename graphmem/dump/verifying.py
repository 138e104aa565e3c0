"""Checking a dump, and reading it: no database is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from graphmem.dump import container, records
from graphmem.dump.container import Reader, damaged
from graphmem.dump.records import Order, Record
from graphmem.errors import DumpRefused

Progress = Callable[[int], None]
"""Is told how many bytes of the file were read since it was told last."""
_COUNTED: Final = {"schema": "schemas", "transaction": "transactions", "observation": "observations"}


@dataclass(frozen=True, slots=True)
class Verified:
    """A dump that is whole: each line is a record in its place, and every byte is as it was written."""

    header: container.Header
    manifest: container.Manifest
    size: int


def verify(path: Path, progress: Progress | None = None) -> Verified:
    """Read a dump to its end and check all of it.

    Raises:
        DumpDamaged: it is not as it was written, or of a format that this version does not read.
        DumpRefused: it cannot be read.
    """
    with opened(path) as file:
        reader = Reader(file)
        for _ in _checked(reader, progress or (lambda done: None)):
            pass
        return Verified(reader.header, reader.manifest, reader.at)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a dump for reading.

    Raises:
        DumpRefused: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield file
    except OSError as exc:
        raise DumpRefused(f"{path} cannot be read: {exc.strerror or exc}", path=str(path)) from exc


def read(file: BinaryIO, progress: Progress | None = None) -> Iterator[Record]:
    """Yield the records of a dump, each checked as :func:`verify` does.

    Raises:
        DumpDamaged: it is not as it was written; what came before has been yielded.
    """
    yield from _checked(Reader(file), progress or (lambda done: None))


def _checked(reader: Reader, progress: Progress) -> Iterator[Record]:
    order, number, at = Order(), 0, 0
    counted: dict[str, Any] = {"owners": [], "relationship_types": 0}
    for lines in reader.chunks():
        for text in lines:
            number += 1
            try:
                record = records.read(text)
                order.take(record)
            except ValueError as exc:
                raise damaged(f"no record: {exc}", line=number) from exc
            if record.line() != text:
                raise damaged("a record is not in its canonical form", line=number)
            _count(counted, record)
            yield record
        progress(reader.at - at)
        at = reader.at
    progress(reader.at - at)
    if reader.manifest.contents != counted:
        raise damaged("it holds something else than its manifest says", line=number)


def _count(counted: dict[str, Any], record: Record) -> None:
    if isinstance(record, records.RelationshipType):
        counted["relationship_types"] += 1
    elif isinstance(record, records.Owner):
        begun = {"owner": record.id, "recorded_at": 0, "schemas": 0, "transactions": 0, "observations": 0}
        counted["owners"].append(begun)
    else:
        last = counted["owners"][-1]
        last[_COUNTED[record.record]] += 1
        if isinstance(record, records.Transaction):
            last["recorded_at"] = record.recorded_at
