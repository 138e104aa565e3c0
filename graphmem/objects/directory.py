"""Objects as files of a local directory."""

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from graphmem.errors import ObjectMissing, ObjectStoreFull, ObjectStoreUnavailable
from graphmem.neo4j_local.private_files import flush, flush_directory
from graphmem.objects import backend
from graphmem.settings import Settings

INCOMING = ".incoming"
"""Directory of temporary files. It is on the file system of the objects, so that a rename is atomic."""
LOCK = ".lock"
_PAGE_KEYS = 1_000


class DirectoryBackend(backend.Backend):
    """A directory in which every object is a file. Only this user may enter it. The first put makes it.

    Puts leave ``reserve`` bytes free on its disk: the embedded Neo4j is on the same one, and fails where that
    is full.
    """

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        self.root = root or settings.objects_path
        self.reserve = settings.disk_reserve if settings.neo4j_uri is None and root is None else 0

    def stage(self) -> backend.Staged:
        with backend.disk_errors():
            folder = self._directory(INCOMING)
            self._check_space()
            handle, path = tempfile.mkstemp(dir=folder)
            return backend.Staged(os.fdopen(handle, "w+b"), path, self._check_space)

    def commit(self, key: str, staged: backend.Staged) -> None:
        """Rename the temporary file, after its bytes are on the disk."""
        with backend.disk_errors():
            flush(staged.file)
            path = self.root / key
            # Who deletes waits meanwhile: it either sees the new time or ends before.
            with self._locked(fcntl.LOCK_SH):
                folder = self._directory(*key.split("/")[:-1])
                if _holds(path, staged):
                    os.utime(path)
                else:
                    assert staged.path is not None
                    os.replace(staged.path, path)
                    staged.path = None
                # Who put the same bytes just now may not have come to it yet.
                flush_directory(folder)

    def open(self, key: str, start: int = 0, end: int | None = None) -> backend.ByteReader:
        del end
        with backend.disk_errors():
            try:
                file = _open(self.root / key)
            except FileNotFoundError:
                if not self.root.is_dir():
                    raise ObjectStoreUnavailable(
                        "The directory of the object store does not exist: is its disk mounted?"
                    ) from None
                raise ObjectMissing(sha256=key.rpartition("/")[2]) from None
            size = os.fstat(file.fileno()).st_size
            file.seek(start)
        return backend.ByteReader(file, size, backend.disk_errors)

    def find(self, key: str) -> backend.ObjectEntry | None:
        with backend.disk_errors(), contextlib.suppress(FileNotFoundError):
            stat = os.lstat(self.root / key)
            return backend.ObjectEntry(key, stat.st_size, stat.st_mtime_ns // 1_000)
        return None

    def delete(self, key: str, modified_before: int | None = None) -> bool:
        path = self.root / key
        with backend.disk_errors(), contextlib.suppress(FileNotFoundError), self._locked(fcntl.LOCK_EX):
            if modified_before is not None and os.lstat(path).st_mtime_ns >= modified_before * 1_000:
                return False
            path.unlink()
            self._flush_or_remove(path.parent)
            return True
        return False

    def pages(self, segment: str | None = None) -> Iterator[list[backend.ObjectEntry]]:
        page: list[backend.ObjectEntry] = []
        with backend.disk_errors():
            for key in self._keys(segment):
                entry = self.find(key)
                if entry is not None:
                    page.append(entry)
                if len(page) >= _PAGE_KEYS:
                    yield page
                    page = []
        yield page

    def leftovers(self, modified_before: int, *, remove: bool) -> backend.Leftovers:
        count = size = 0
        with backend.disk_errors():
            for entry in _entries(self.root / INCOMING):
                with contextlib.suppress(FileNotFoundError):
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_mtime_ns >= modified_before * 1_000:
                        continue
                    if remove:
                        os.unlink(entry.path)
                    count, size = count + 1, size + stat.st_size
        return backend.Leftovers(count, size)

    def _check_space(self) -> None:
        if not self.reserve:
            return
        free = shutil.disk_usage(self.root).free
        if free < self.reserve:
            raise ObjectStoreFull(free_bytes=free, needed_bytes=self.reserve)

    def _keys(self, segment: str | None) -> Iterator[str]:
        segments = [segment] if segment else [entry.name for entry in _entries(self.root)]
        for name in segments:
            for folder in _entries(self.root / name):
                for entry in _entries(Path(folder.path)):
                    if entry.is_file(follow_symlinks=False):
                        yield f"{name}/{folder.name}/{entry.name}"

    def _directory(self, *names: str) -> Path:
        """Make the directory of these names below the root, for this user only; have it on the disk."""
        folder = self.root.joinpath(*names)
        missing = itertools.takewhile(lambda path: not path.is_dir(), (folder, *folder.parents))
        for path in reversed(list(missing)):
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
                flush_directory(path.parent)
        return folder

    def _flush_or_remove(self, folder: Path) -> None:
        """Remove a directory, and those above it, while they are empty. Have the change on the disk."""
        while folder != self.root:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent
        flush_directory(folder)

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Hold the lock of the directory: shared to put, alone to delete."""
        handle = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind)
            yield
        finally:
            os.close(handle)


def _open(path: Path) -> BinaryIO:
    """Open a file for reading. A link is refused: objects are never links."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", buffering=0)


def _holds(path: Path, staged: backend.Staged) -> bool:
    """Return whether a file holds the staged bytes, each of them."""
    try:
        with _open(path) as file:
            if os.fstat(file.fileno()).st_size != staged.size:
                return False
            digest = hashlib.sha256()
            while chunk := file.read(backend.CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        # Whatever cannot be read is replaced.
        return False
    return digest.hexdigest() == staged.stored().sha256


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a directory by name, none if it is no directory."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
