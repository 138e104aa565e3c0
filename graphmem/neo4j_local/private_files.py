"""File system helpers of this package: private files and directories, readable errors, ends of logs."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from graphmem.errors import DataDirectoryRefused, GraphmemError

LOCK_SECONDS = 60.0
ABANDONED_AFTER_SECONDS = 86_400.0
"""A partial file that nobody has written to for this long belongs to nothing under way."""
_CAUSES = {
    errno.ENOSPC: "the disk is full: free some space there and run this again",
    errno.EDQUOT: "the disk quota is used up: free some space there and run this again",
    errno.EACCES: "this user may not read or write there: give it permission, or name another directory",
    errno.EPERM: "this user may not read or write there: give it permission, or name another directory",
    errno.EROFS: "that file system is read-only: name another directory",
    errno.EEXIST: "a file is where a directory should be: move it away, or name another directory",
    errno.ENOTDIR: "a file is where a directory should be: move it away, or name another directory",
}


def cause(error: OSError, path: Path | str) -> str:
    """Return a text that names the path, why it failed and what to do."""
    other = f"{error.strerror or error}: repair that, or name another directory"
    return f"{path}: {_CAUSES.get(error.errno or 0, other)}"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def used_as_data(root: Path) -> Iterator[None]:
    """Report errors of files in the block as DataDirectoryRefused of the data directory ``root``."""
    try:
        yield
    except OSError as exc:
        why = cause(exc, exc.filename or root)
        raise DataDirectoryRefused(
            f"the data directory {root} (GRAPHMEM_DATA_DIR) cannot be used: {why}"
        ) from exc


def private_directory(path: Path) -> None:
    """Make a directory that only its owner may enter (mode 0700), and its parents."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def is_private(info: os.stat_result) -> bool:
    """Return whether a file belongs to this user, and nobody else may read or write it."""
    return sys.platform == "win32" or (info.st_uid == os.getuid() and not info.st_mode & 0o077)


@contextmanager
def changing(path: Path, refused: type[GraphmemError] = DataDirectoryRefused) -> Iterator[None]:
    """Hold the lock of a file that is read and then written: one process at a time changes it. It is
    ``refused`` where another process holds the lock for a minute."""
    import filelock

    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"), LOCK_SECONDS, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout as exc:
        message = f"another process has been changing {path} for {LOCK_SECONDS:.0f} s: wait for it, or end it"
        raise refused(message) from exc
    try:
        yield
    finally:
        lock.release()


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file atomically, and see it on the disk. By default only its owner may read it."""

    def publish(partial: Path) -> None:
        partial.chmod(mode)
        partial.replace(path)

    with _partial(path, publish) as file:
        file.write(text.encode())


def flush(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def disk_bytes(path: Path) -> int:
    """Return what a file, or a directory with all below it, takes on the disk, as far as it can be seen.
    Files that come and go meanwhile do not disturb it."""
    total = 0
    below = (os.path.join(at, name) for at, folders, names in os.walk(path) for name in (*folders, *names))
    for each in (path, *below):
        with contextlib.suppress(OSError):
            total += os.lstat(each).st_blocks * 512
    return total


def flush_directory(path: Path) -> None:
    """Return once the names in a directory are on the disk. Without its name, a file is lost."""
    if sys.platform != "win32":
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def tail(path: Path, lines: int, start: int = 0) -> list[str]:
    """Return the last non-blank lines of a log, from byte ``start`` on. A missing file has no lines."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(start if start <= size else 0, size - 400 * lines))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    filled = [line for line in text.splitlines() if any(c.isprintable() and not c.isspace() for c in line)]
    return filled[-lines:] if lines > 0 else []


@contextmanager
def new_file(path: Path, force: bool, refused: type[GraphmemError]) -> Iterator[BinaryIO]:
    """Yield a file that gets its name once it is complete; a partial file is removed. It is ``refused`` where
    it exists and is not replaced by ``force``, or cannot be written."""
    # Unlike Path's methods, these do not raise for an unusable path: opening the file reports the reason.
    if os.path.isdir(path):
        raise refused(f"{path} is a directory: give the name of a file in it", path=str(path))
    if os.path.exists(path) and not force:
        raise refused(f"{path} exists: give another name, or --force to replace it", path=str(path))
    try:
        _remove_abandoned(path)
        with _partial(path, lambda partial: _publish(partial, path, force, refused)) as file:
            yield file
    except OSError as exc:
        raise refused(f"{path} cannot be written: {exc.strerror or exc}", path=str(path)) from exc


@contextmanager
def _partial(path: Path, publish: Callable[[Path], None]) -> Iterator[BinaryIO]:
    """Yield a private file beside ``path`` that is published once its bytes are on the disk, else removed."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(
            partial, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)
        ) as file:
            yield file
            flush(file)
        publish(partial)
        flush_directory(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove partial files of this name that nobody has written to for a day: what wrote them was killed."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    oldest = time.time() - ABANDONED_AFTER_SECONDS
    for entry in os.scandir(path.parent):
        with contextlib.suppress(OSError):
            if pattern.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)


def _publish(partial: Path, path: Path, force: bool, refused: type[GraphmemError]) -> None:
    """Give a complete file its name. A file that appeared meanwhile is replaced only by ``force``."""
    refusal = refused(f"{path} was created meanwhile: give another name", path=str(path))
    try:
        if not force:
            os.link(partial, path)
    except FileExistsError:
        raise refusal from None
    except OSError:  # a file system without links, as of USB sticks
        if path.exists():
            raise refusal from None
        force = True
    if force:
        partial.replace(path)
