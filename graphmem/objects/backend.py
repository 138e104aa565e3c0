"""What a place of objects can do: the interface of the local directory and of S3.

All methods block, and several threads may call them at once. Keys are those of
:mod:`graphmem.objects.keys`. Times are microseconds since 1970 in UTC.
"""

from __future__ import annotations

import abc
import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from graphmem.errors import ObjectStoreFull, ObjectStoreRefused, ObjectStoreUnavailable

CHUNK_BYTES = 1 << 20  # bytes that are read, hashed and written at once
_SPACE_BYTES = 16 << 20  # bytes that a put writes between two looks at the free space of the disk
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Raise errors of the file system as errors of the object store.

    Raises:
        ObjectStoreFull: the disk, a quota or a limit on the size of files leaves no space.
        ObjectStoreRefused: this user may not read or write there, or a file is in the way of a directory.
        ObjectStoreUnavailable: the disk fails otherwise.
    """
    try:
        yield
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        if exc.errno in _FULL:
            raise ObjectStoreFull(reason=reason) from exc
        if exc.errno in _REFUSED:
            raise ObjectStoreRefused(reason=reason) from exc
        raise ObjectStoreUnavailable(reason=reason) from exc


class StoredObject(NamedTuple):
    """An object that is in the store: the SHA-256 of its bytes in hexadecimal digits, and their number."""

    sha256: str
    size: int


class ObjectEntry(NamedTuple):
    """A key that a place holds, with size in bytes and the time of its last put."""

    key: str
    size: int
    modified_at: int


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Number and bytes of the temporary files of puts that did not end."""

    count: int = 0
    size: int = 0


class ByteReader:
    """The open bytes of an object, or of a range of it. ``size``: bytes of the whole object. ``errors``
    raises the errors of reading ``source`` as those of the object store."""

    def __init__(self, source: Any, size: int, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._source = source
        self.size = size
        self._errors = errors

    def read(self, count: int) -> bytes:
        """Return up to ``count`` bytes, none at the end."""
        with self._errors():
            return self._source.read(count)

    def close(self) -> None:
        self._source.close()


class Staged:
    """Bytes on their way into the store: a temporary file, and the hash of what it holds.

    Args:
        file: an empty file, open for writing and reading.
        path: its name. What still has the name is removed by :meth:`close`; a commit sets it to None.
        check_space: raises where the disk is nearly full; called every 16 MiB.
    """

    def __init__(self, file: IO[bytes], path: str, check_space: Callable[[], None]) -> None:
        self.file = file
        self.path: str | None = path
        self.size = 0
        self._digest = hashlib.sha256()
        self._check_space = check_space
        self._next_look = _SPACE_BYTES

    def write(self, chunk: bytes) -> None:
        with disk_errors():
            self.file.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)
        if self.size >= self._next_look:
            self._next_look = self.size + _SPACE_BYTES
            with disk_errors():
                self._check_space()

    def replace_beginning(self, data: bytes) -> None:
        with disk_errors():
            self.file.seek(0)
            self.file.write(data)
            self.file.seek(0)
            self._digest = hashlib.sha256()
            while chunk := self.file.read(CHUNK_BYTES):
                self._digest.update(chunk)

    def stored(self) -> StoredObject:
        return StoredObject(self._digest.hexdigest(), self.size)

    def finish(self, name: str) -> Staged:
        """Return what a backend commits as the object of a name."""
        del name
        return self

    def close(self) -> None:
        """Close the file, and remove it if it is not committed."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)


class Backend(abc.ABC):
    @abc.abstractmethod
    def stage(self) -> Staged:
        """Return an empty temporary file."""

    @abc.abstractmethod
    def commit(self, key: str, staged: Staged) -> None:
        """Make the staged bytes the object of a key, whole or not at all.

        An object that is there with other bytes is replaced. One with these bytes need not be written again,
        but its modified time becomes recent: what removes old objects must leave it.
        """

    @abc.abstractmethod
    def open(self, key: str, start: int = 0, end: int | None = None) -> ByteReader:
        """Open the bytes from ``start`` up to ``end``, or to the last. Raises ObjectMissing: there is no
        object."""

    @abc.abstractmethod
    def find(self, key: str) -> ObjectEntry | None:
        """Return size and modified time of an object, ``None`` if there is none."""

    @abc.abstractmethod
    def delete(self, key: str, modified_before: int | None = None) -> bool:
        """Delete an object if it was modified before a time; return whether it was deleted."""

    @abc.abstractmethod
    def pages(self, segment: str | None = None) -> Iterator[list[ObjectEntry]]:
        """Yield pages of the keys below a segment, or of all. What is no object may be among them."""

    @abc.abstractmethod
    def leftovers(self, modified_before: int, *, remove: bool) -> Leftovers:
        """Count the files of puts that did not end and were modified before a time; remove them if wanted."""

    def close(self) -> None:
        return
