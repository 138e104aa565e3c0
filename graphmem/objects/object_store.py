"""The object store: bytes of owners, by their SHA-256, streamed both ways in bounded memory."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import secrets
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple, ParamSpec, TypeVar

from graphmem.errors import ObjectDamaged, ObjectMissing
from graphmem.objects.backend import (
    CHUNK_BYTES,
    Backend,
    ByteReader,
    Leftovers,
    ObjectEntry,
    Staged,
    StoredObject,
)
from graphmem.objects.keys import key_below, object_key, owner_of, owner_segment, parse_key
from graphmem.objects.sealed import SealedReader, SealedStaged, is_newest
from graphmem.sealing import InstanceKeys
from graphmem.sealing.sealed_files import object_name, plain_size

THREADS = 8  # puts, reads and look-ups that run at once in one process; others wait

Source = AsyncIterable[bytes] | Path | BinaryIO
"""Where the bytes of a put come from: an asynchronous iterator, the path of a file, or an open file."""


P = ParamSpec("P")
R = TypeVar("R")


class ListedObject(NamedTuple):
    segment: str  # the path segment of its owner
    owner: str | None  # the owner, ``None`` if the segment is shortened
    name: str  # the SHA-256 of its bytes; in a sealed instance what stands for it
    size: int  # bytes that it takes in the store
    modified_at: int  # time of its last put, in microseconds


class ObjectStore:
    """Puts, reads and lists objects. A backend keeps them; it is opened when it is first used.

    Args:
        kind: ``directory`` or ``s3``.
        place: where the objects are, for people.
        open_backend: returns the backend; called once, in a thread.
        keys: those of the instance, None where it is not sealed.

    Every method raises:
        Raises ObjectStoreUnavailable: the store is down, full, or refuses access.
    """

    def __init__(
        self, kind: str, place: str, open_backend: Callable[[], Backend], keys: InstanceKeys | None = None
    ) -> None:
        self.kind = kind
        self.place = place
        self._open_backend = open_backend
        self._keys = keys
        self._opening = threading.Lock()
        self._opened: Backend | None = None
        # Threads of its own: a store that hangs must not keep other work of the process from a thread.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="objects")

    async def put(self, owner: str, source: Source) -> StoredObject:
        """Store bytes; return their hash and number. The object is there whole, or not at all.

        An object with these bytes stays as it is and counts as new for the removal of old objects. One whose
        bytes are damaged is replaced.

        Raises:
            OSError: the file of ``source`` cannot be read.
            ValueError: the owner has no segment.
        """
        owner_segment(owner)
        staged = await self._run(self._stage, owner)
        try:
            async for chunk in self._chunks(source):
                await self._run(staged.write, chunk)
            stored = staged.stored()
            await self._run(self._commit, owner, stored.sha256, staged)
        finally:
            staged.close()
        return stored

    async def read(
        self, owner: str, sha256: str, start: int = 0, end: int | None = None, *, size: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the bytes from ``start`` up to ``end``, or to the last one, in chunks of up to 1 MiB.

        Bytes that are read as a whole are compared with their hash before the last chunk is yielded. For a
        range, only the size of the object is checked.

        Args:
            size: bytes that the object is known to have.

        Raises:
            ObjectMissing: there is no such object.
            ObjectDamaged: its bytes are not those that were stored.
            ValueError: the range is none.
        """
        if start < 0 or (end is not None and end < start):
            raise ValueError(f"there is no range from {start} to {end}")
        reader = await self._run(self._open, owner, sha256, start, end)
        try:
            stop = reader.size if end is None else end
            if stop > reader.size or start > stop or size not in (None, reader.size):
                raise ObjectDamaged(sha256=sha256, size=reader.size, expected_size=size)
            whole = start == 0 and stop == reader.size
            digest = hashlib.sha256() if whole else None
            last = b""
            left = stop - start
            while left:
                chunk = await self._run(_next_chunk, reader, min(left, CHUNK_BYTES), digest)
                if not chunk:
                    raise ObjectDamaged(sha256=sha256, size=stop - left, expected_size=reader.size)
                left -= len(chunk)
                if last:
                    yield last
                last = chunk
            if digest is not None and digest.hexdigest() != sha256:
                raise ObjectDamaged(sha256=sha256, size=reader.size)
            if last:
                yield last
        finally:
            reader.close()

    async def size(self, owner: str, sha256: str) -> int:
        """Return the bytes that an object has; raises ObjectMissing: there is none."""
        entry = await self._find(owner, sha256)
        if entry is None:
            raise ObjectMissing(sha256=sha256)
        return entry.size if self._keys is None else plain_size(entry.size)

    async def exists(self, owner: str, sha256: str) -> bool:
        return await self._find(owner, sha256) is not None

    async def seal_anew(self, owner: str, sha256: str) -> bool:
        """Seal an object with the newest key of its owner; return whether another one had sealed it.

        Raises:
            ObjectMissing, ObjectDamaged: as :meth:`read`.
        """
        keys, key = self._keys, self._key(owner, sha256)
        if keys is None or await self._run(lambda: is_newest(keys, self._backend(), owner, key)):
            return False
        await self.put(owner, self.read(owner, sha256))
        return True

    async def delete(self, owner: str, sha256: str, *, modified_before: int | None = None) -> bool:
        """Delete an object, unless it was put at ``modified_before`` or later; return whether it was."""
        return await self._run(lambda: self._backend().delete(self._key(owner, sha256), modified_before))

    async def names(self, owner: str, hashes: Iterable[str]) -> set[str]:
        return await self._run(lambda: {self._name(owner, sha256) for sha256 in hashes})

    async def keys(self, owner: str | None = None) -> AsyncIterator[ListedObject]:
        """Yield the objects of an owner, or of all owners, in the order of keys. Other files are left out."""
        segment = owner_segment(owner) if owner is not None else None
        pages = await self._run(lambda: self._backend().pages(segment))
        while (page := await self._run(next, pages, None)) is not None:
            for entry in page:
                parsed = parse_key(entry.key)
                if parsed is not None:
                    listed, name = parsed
                    yield ListedObject(listed, owner_of(listed), name, entry.size, entry.modified_at)

    async def remove(self, listed: ListedObject, *, modified_before: int | None = None) -> bool:
        """Delete a listed object if it was not put again; return whether it was deleted."""
        key = key_below(listed.segment, listed.name)
        return await self._run(lambda: self._backend().delete(key, modified_before))

    async def erase(self, owner: str) -> int:
        erased = 0
        async for listed in self.keys(owner):
            erased += await self.remove(listed)
        return erased

    async def leftovers(self, modified_before: int, *, remove: bool = False) -> Leftovers:
        """Count the files of puts that did not end and were modified before a time; remove them if wanted."""
        return await self._run(lambda: self._backend().leftovers(modified_before, remove=remove))

    async def check(self) -> None:
        """Write, read and delete a small object that belongs to no owner."""
        await self._run(self._check)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        if self._opened is not None:
            self._opened.close()

    async def _find(self, owner: str, sha256: str) -> ObjectEntry | None:
        return await self._run(lambda: self._backend().find(self._key(owner, sha256)))

    async def _chunks(self, source: Source) -> AsyncIterator[bytes]:
        if isinstance(source, AsyncIterable):
            pending = bytearray()
            async for part in source:
                pending += part
                if len(pending) >= CHUNK_BYTES:
                    yield bytes(pending)
                    pending.clear()
            if pending:
                yield bytes(pending)
            return
        file = await self._run(source.open, "rb") if isinstance(source, Path) else source
        try:
            while chunk := await self._run(file.read, CHUNK_BYTES):
                yield chunk
        finally:
            if file is not source:
                file.close()

    async def _run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run blocking work in a thread. A cancelled caller waits for its end, because it uses open files."""
        future = asyncio.get_running_loop().run_in_executor(
            self._threads, functools.partial(work, *args, **kwargs)
        )
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            while not future.done():
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:
                    continue
            # Nobody else closes what the thread has opened.
            if future.exception() is None and (close := getattr(future.result(), "close", None)):
                close()
            raise

    # What follows runs in threads.

    def _backend(self) -> Backend:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_backend()
            return self._opened

    def _key(self, owner: str, sha256: str) -> str:
        key = object_key(owner, sha256)
        return key if self._keys is None else key_below(owner_segment(owner), self._name(owner, sha256))

    def _name(self, owner: str, sha256: str) -> str:
        return sha256 if self._keys is None else object_name(self._keys.first_of(owner), sha256)

    def _stage(self, owner: str) -> Staged | SealedStaged:
        staged = self._backend().stage()
        try:
            return staged if self._keys is None else SealedStaged(self._keys, owner, staged)
        except BaseException:
            staged.close()
            raise

    def _commit(self, owner: str, sha256: str, staged: Staged | SealedStaged) -> None:
        key = self._key(owner, sha256)
        self._backend().commit(key, staged.finish(key.rpartition("/")[2]))

    def _open(self, owner: str, sha256: str, start: int, end: int | None) -> ByteReader:
        key = self._key(owner, sha256)
        if self._keys is None:
            return self._backend().open(key, start, end)
        try:
            return SealedReader(self._keys, self._backend(), owner, key, start, end)
        except ObjectMissing as exc:
            # The caller knows it by its hash.
            raise ObjectMissing(sha256=sha256) from exc

    def _check(self) -> None:
        backend = self._backend()
        # No segment begins with a dot.
        key, content = f".probe-{secrets.token_hex(8)}", secrets.token_bytes(32)
        staged = backend.stage()
        try:
            staged.write(content)
            backend.commit(key, staged)
        finally:
            staged.close()
        try:
            reader = backend.open(key)
            try:
                if reader.read(len(content)) != content:
                    raise ObjectDamaged("The store answers other bytes than it was given.")
            finally:
                reader.close()
        finally:
            backend.delete(key)


def _next_chunk(reader: ByteReader, count: int, digest: hashlib._Hash | None) -> bytes:
    chunk = reader.read(count)
    if digest is not None:
        digest.update(chunk)
    return chunk
