"""Objects of a sealed instance: bytes are sealed before they reach a backend, and names tell nothing.

Nothing that is not sealed is written, not even into a temporary file, and nothing that is not sealed is read.
The methods block, as those of backends do.
"""

import contextlib
import hashlib
from collections.abc import Iterator

from graphmem.errors import DecryptionFailed, ObjectDamaged
from graphmem.objects.backend import Backend, ByteReader, Staged, StoredObject
from graphmem.sealing import InstanceKeys
from graphmem.sealing.sealed_files import HEAD_BYTES, SEGMENT_BYTES, TAG_BYTES, FileOpener, FileSealer, key_id


class SealedStaged:
    """Bytes on their way into a sealed store: like :class:`Staged`, whose file has them sealed."""

    def __init__(self, keys: InstanceKeys, owner: str, staged: Staged) -> None:
        self._staged = staged
        self._sealer = FileSealer(keys.of(owner), staged.write)
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._size += len(chunk)
        self._sealer.add(chunk)

    def stored(self) -> StoredObject:
        """Return the object that the bytes make, before they were sealed."""
        return StoredObject(self._digest.hexdigest(), self._size)

    def finish(self, name: str) -> Staged:
        """Seal the last bytes for the name of the object."""
        self._sealer.finish()
        self._staged.replace_beginning(self._sealer.head(name))
        return self._staged

    def close(self) -> None:
        """Close the file, and remove it if it is not committed."""
        self._staged.close()


class SealedReader(ByteReader):
    """The open bytes of a sealed object from ``start`` on; ``size``: bytes of the whole object."""

    def __init__(
        self, keys: InstanceKeys, backend: Backend, owner: str, key: str, start: int, end: int | None
    ) -> None:
        self._name = key.rpartition("/")[2]
        whole = (start, end) == (0, None)
        reader = backend.open(key) if whole else backend.open(key, 0, HEAD_BYTES)
        try:
            with self._opened():
                self._opener = FileOpener(keys, owner, self._name, _exactly(reader, HEAD_BYTES), reader.size)
            self.size = self._opener.size
            self._number = min(start, self.size) // SEGMENT_BYTES
            if not whole:
                reader.close()
                stop = self.size if end is None else min(end, self.size)
                # Past the last segment there is nothing to ask for.
                segments = (self._number, max(self._number, -(-stop // SEGMENT_BYTES)))
                first, last = (HEAD_BYTES + number * (SEGMENT_BYTES + TAG_BYTES) for number in segments)
                reader = backend.open(key, min(first, reader.size), min(last, reader.size))
        except BaseException:
            reader.close()
            raise
        self._reader = reader
        self._plain = memoryview(b"")
        self._skip = min(start, self.size) - self._number * SEGMENT_BYTES

    def read(self, count: int) -> bytes:
        if not self._plain:
            sealed = _exactly(self._reader, SEGMENT_BYTES + TAG_BYTES)
            if not sealed:
                return b""
            with self._opened():
                self._plain = memoryview(self._opener.open(self._number, sealed))[self._skip :]
            self._number, self._skip = self._number + 1, 0
        chunk, self._plain = self._plain[:count], self._plain[count:]
        return bytes(chunk)

    def close(self) -> None:
        self._reader.close()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[None]:
        try:
            yield
        except DecryptionFailed as exc:
            raise ObjectDamaged(
                f"the bytes of a stored file cannot be opened, and none are answered: {exc}. Store the same "
                "file again, or restore it from a backup",
                object=self._name, **exc.details,
            ) from exc  # fmt: skip


def is_newest(keys: InstanceKeys, backend: Backend, owner: str, key: str) -> bool:
    """Return whether the newest key of its owner sealed an object. Raises ObjectMissing: there is no
    object."""
    reader = backend.open(key, 0, HEAD_BYTES)
    try:
        return key_id(_exactly(reader, HEAD_BYTES)) == keys.of(owner).id
    finally:
        reader.close()


def _exactly(reader: ByteReader, count: int) -> bytes:
    """Return ``count`` bytes, fewer at the end: a reader may return them in parts."""
    parts: list[bytes] = []
    while count and (part := reader.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
