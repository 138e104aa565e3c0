"""Files of copies, beside the database: an owner with many entities is searched with little memory.

``search/`` in the data directory has a folder for each owner, and in it a file of arrays
(:class:`graphmem.search.copy_arrays.FileOutput`) for the model whose vectors it has. A file says up to where
it follows its owner; what changed since is read from the database. Files are derived: a damaged one is
ignored and written anew. They are in no backup and no dump.

A file is replaced by a rename: a process that is killed while it writes leaves the older one. One process at
a time writes the file of an owner, by a lock of its folder; another process writes a file without a name.
"""

import asyncio
import contextlib
import contextvars
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import structlog

from graphmem import __version__
from graphmem.database.driver import Database
from graphmem.neo4j_local.private_files import disk_bytes, private_directory
from graphmem.search import owner_copy
from graphmem.search.compaction import Before
from graphmem.search.copy_arrays import CopyArrays, FileDamaged, FileOutput, header_of, mapped
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import Key, Mark, MemoryCopies, OwnerCopy, OwnerState

FORMAT: Final = 1
"""Files of another format, or of a version of this package that may split texts otherwise, are ignored."""
_SUFFIX: Final = ".copy"
_UNREADABLE: Final = (OSError, FileDamaged, LookupError, TypeError, ValueError)

_log = structlog.get_logger("graphmem.search.copy_files")


class Opened(NamedTuple):
    """What a file has, as :class:`graphmem.search.owner_copy.OwnerCopy` has it."""

    documents: SearchCopy
    mark: Mark
    newest: str
    damaged: dict[str, str]


class CopyFiles:
    """The files of all owners, of ``limit`` bytes. Every method waits for the disk: it is for a thread."""

    def __init__(self, root: Path, limit: int) -> None:
        self._root, self.limit = root, limit

    def path(self, key: Key) -> Path:
        return self._folder(key[0]) / f"{_name(key[1])}{_SUFFIX}"

    def _folder(self, owner: str) -> Path:
        return self._root / _name(owner)

    def open(self, key: Key, behind: Mark | None) -> Opened | None:
        """Map the file of a copy; ``None`` if none can be used, or it goes no further than ``behind``."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                about = header_of(file.fileno())
                mark = Mark(*about["mark"])
                if about["kind"] != _kind(key) or (behind and mark.revision <= behind.revision):
                    return None
                arrays = mapped(file.fileno(), about, is_checked=True)
            os.utime(path)
            documents = SearchCopy(CopyArrays(arrays), about["types"])
            return Opened(documents, mark, about["newest"], about["damaged"])
        except FileNotFoundError:
            return None
        except _UNREADABLE as exc:
            _log.warning("a file of a copy for searches is ignored", path=str(path), reason=str(exc)[:500])
            return None

    def mark(self, key: Key) -> Mark | None:
        """Return up to where the file of a copy goes; ``None`` if there is none that can be used."""
        with contextlib.suppress(*_UNREADABLE), self.path(key).open("rb") as file:
            about = header_of(file.fileno())
            return Mark(*about["mark"]) if about["kind"] == _kind(key) else None

    def write(
        self, before: Before, key: Key, mark: Mark | None = None, damaged: Mapping[str, str] | None = None
    ) -> SearchCopy | None:
        """Compact a copy into a file, and map that; ``None`` if the disk does not take it.

        Args:
            mark: up to where the copy has read its owner. Without it, or while another process writes, the
                file has no name, and is gone with the process.
        """
        try:
            if not self._make_room(key, sum(each.nbytes for each in before.arrays.values())):
                return None
            folder = self._folder(key[0])
            for each in (self._root, folder):
                private_directory(each)
            with _locked(folder) as is_alone:
                if mark is None or not is_alone:
                    with tempfile.TemporaryFile(dir=folder) as file:
                        return _written(file.fileno(), before, {})
                return self._replaced(before, key, mark, damaged or {})
        except OSError as exc:
            _log.warning("a copy for searches stays in memory", path=str(self._root), reason=str(exc))
            return None

    def _replaced(self, before: Before, key: Key, mark: Mark, damaged: Mapping[str, str]) -> SearchCopy:
        """Write the file of a copy anew. The lock of its folder is held: what is in the way is left over."""
        path = self.path(key)
        revisions = before.arrays["versions"][:, 0] * before.alive
        newest = before.arrays["ids"].item(int(revisions.argmax())).decode()
        # What the newest commit wrote is read again, to tell whether the database still has it.
        mark = mark._replace(revision=min(mark.revision, int(revisions.max()) - 1))
        about = {
            "kind": _kind(key), "owner": key[0], "mark": mark, "newest": newest, "damaged": dict(damaged)
        }  # fmt: skip
        new = path.with_suffix(".new")
        try:
            with open(os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "rb") as file:
                written = _written(file.fileno(), before, about)
            os.replace(new, path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        for other in set(path.parent.iterdir()) - {path}:
            other.unlink(missing_ok=True)
        return written

    def _make_room(self, key: Key, size: int) -> bool:
        """Return whether a file of a size fits, once those that were used longest ago are removed."""
        own = self.path(key)
        others = [each for each in self._root.glob(f"*/*{_SUFFIX}") if each != own]
        used = {each: each.stat().st_mtime for each in others if each.exists()}
        total = size + sum(map(disk_bytes, used))
        for each in sorted(used, key=used.__getitem__):
            if total <= self.limit or size > self.limit:
                break
            total -= disk_bytes(each)
            each.unlink(missing_ok=True)
        return total <= self.limit

    def used(self, key: Key) -> None:
        """Note that a copy is in use, for the order in which files give way."""
        with contextlib.suppress(OSError):
            os.utime(self.path(key))

    def erase(self, owner: str) -> None:
        """Remove the files of an owner."""
        shutil.rmtree(self._folder(owner), ignore_errors=True)

    def owners(self) -> Iterator[tuple[str, str]]:
        """Yield the owner of each file and the key of the owner's node; remove files that cannot be read."""
        for path in self._root.glob(f"*/*{_SUFFIX}"):
            try:
                with path.open("rb") as file:
                    about = header_of(file.fileno())
                yield about["owner"], Mark(*about["mark"]).node_key
            except _UNREADABLE:
                with contextlib.suppress(OSError):
                    path.unlink()


def _name(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _kind(key: Key) -> list[Any]:
    """Return what must be the same where a file is written and where it is read."""
    return [FORMAT, __version__, sys.byteorder, *key]


def _written(handle: int, before: Before, about: Mapping[str, Any]) -> SearchCopy:
    output = FileOutput(handle)
    before.compact_into(output)
    output.complete({**about, "types": before.types})
    arrays = mapped(handle, header_of(handle), is_checked=False)
    return SearchCopy(CopyArrays(arrays), before.types)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Try to lock a folder for the block, without waiting; yield whether that went."""
    import fcntl

    handle, is_alone = os.open(folder, os.O_RDONLY | os.O_CLOEXEC), False
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = True
        yield is_alone
    finally:
        os.close(handle)


CHANGES_LEAST: Final = 1_000
"""Changes that are written into a file when the service ends: fewer are followed in one read."""
CHANGES_MOST: Final = 40_000
"""Changes after which a file is written anew, however small they are: fewer than a start follows."""
WRITE_AGAIN_SECONDS: Final = 300.0  # seconds until it is tried again to write a copy into a file
NOTED_SECONDS: Final = 60.0  # seconds after which the file of a copy is noted to be in use again


class FiledCopies(MemoryCopies[OwnerCopy]):
    """The copies of one process, and their files: a sealed instance has none."""

    def __init__(self, database: Database, memory: int, files: CopyFiles | None = None) -> None:
        super().__init__(database, memory)
        self._files_in_clear = files

    @property
    def _files(self) -> CopyFiles | None:
        return None if self._database.is_sealed else self._files_in_clear

    async def close(self) -> None:
        """End what is being read, and write what a start would have to follow for long."""
        await super().close()
        for key, copy in list(self._copies.items()):
            if copy.writing is not None:
                await asyncio.wait([copy.writing])
            elif copy.documents.bytes_in_file and copy.documents.changed >= CHANGES_LEAST:
                await self._begin_writing(key, copy)

    async def erase(self, owner: str) -> None:
        """Drop the copies of an owner who is erased, and remove their files."""
        for key in [key for key in self._copies if key[0] == owner]:
            self._copies[key].is_erased = True
            self._drop(key)
        await self._erase_files(owner)

    async def _erase_files(self, owner: str) -> None:
        if self._files is not None:
            await asyncio.to_thread(self._files.erase, owner)

    async def erase_unowned(self) -> None:
        """Remove the files of owners whom another process erased."""
        files = self._files
        for owner, node_key in [] if files is None else await asyncio.to_thread(list, files.owners()):
            state = await self._database.reads(owner).one("passages.state", OwnerState)
            if state is None or state.node_key != node_key:
                await self._erase_files(owner)

    def _replace(self, key: Key, copy: OwnerCopy, new: OwnerCopy) -> None:
        """Put another copy in the place of one. Searches that have the old one compare it as it is."""
        if self._copies.get(key) is copy:
            self._copies[key] = new

    def _writes(self, copy: OwnerCopy) -> bool:
        """Return whether a copy is being written into a file, or is to be."""
        documents = copy.documents
        is_far = documents.bytes_in_file > 0 and documents.changed > CHANGES_MOST
        is_due = is_far or owner_copy.is_to_be_written(documents, self._memory)
        is_written = copy.writing is not None or (is_due and time.monotonic() > copy.write_after)
        return self._files is not None and is_written

    def _begin_writing(self, key: Key, copy: OwnerCopy) -> asyncio.Task[None]:
        if copy.writing is None:
            copy.writing = asyncio.create_task(self._write(key, copy), context=contextvars.Context())
        return copy.writing

    async def _write(self, key: Key, copy: OwnerCopy) -> None:
        """Write a copy into its file while it is searched and changed, and go on with the file."""
        files, start = self._files, time.monotonic()
        assert files is not None
        try:
            newest = await asyncio.to_thread(files.mark, key)
            if newest and copy.filed and newest.revision > copy.filed.revision:
                # Another process was first: the next search maps that file, and follows from there.
                self._replace(key, copy, OwnerCopy(model=copy.model, behind=copy.filed))
                return
            async with copy.lock:
                before, mark, damaged = copy.documents.begin_compaction(), copy.mark, dict(copy.damaged)
            written = await asyncio.to_thread(files.write, before, key, mark, damaged)
            await copy.in_thread(lambda documents: documents.become(written))
            if written is None:
                copy.write_after = time.monotonic() + WRITE_AGAIN_SECONDS
                return
            copy.filed = await asyncio.to_thread(files.mark, key)
            if copy.is_erased:
                await self._erase_files(key[0])
            # Who has no file any more maps one that gave way, and keeps its place on the disk.
            for other, each in list(self._copies.items()):
                if each.mark and each.documents.bytes_in_file and not files.path(other).exists():
                    self._drop(other)
            _log.info("file for searches written", owner=key[0], seconds=round(time.monotonic() - start, 3))
        except Exception:
            copy.write_after = time.monotonic() + WRITE_AGAIN_SECONDS
            async with copy.lock:
                copy.documents.become(None)
            _log.exception("a copy for searches stays in memory", owner=key[0])
        finally:
            copy.writing = None

    def _note_use(self, key: Key, copy: OwnerCopy) -> None:
        if self._files is not None and time.monotonic() > copy.noted_at + NOTED_SECONDS:
            self._files.used(key)
            copy.noted_at = time.monotonic()
