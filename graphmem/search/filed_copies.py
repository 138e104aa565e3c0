"""Copies in memory that are written into files once they are large (:mod:`graphmem.search.copy_files`)."""

from __future__ import annotations

import asyncio
import contextvars
import time
from typing import Final

import structlog

from graphmem.database.driver import Database
from graphmem.search import owner_copy
from graphmem.search.copy_files import CopyFiles
from graphmem.search.memory_copies import Key, MemoryCopies
from graphmem.search.owner_copy import OwnerCopy, OwnerState

CHANGES_LEAST: Final = 1_000
"""Changes that are written into a file when the service ends: fewer are followed in one read."""
CHANGES_MOST: Final = 40_000
"""Changes after which a file is written anew, however small they are: fewer than a start follows."""
WRITE_AGAIN_SECONDS: Final = 300.0
"""Seconds until it is tried again to write a copy into a file."""
NOTED_SECONDS: Final = 60.0
"""Seconds after which the file of a copy is noted to be in use again."""

_log = structlog.get_logger("graphmem.search.filed_copies")


class FiledCopies(MemoryCopies[OwnerCopy]):
    """The copies of one process, and their files.

    Args:
        files: where large ones are kept; none of a sealed instance.
    """

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
        """Remove the files of owners who were erased by another process."""
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
        is_due = is_due and time.monotonic() > copy.write_after
        return self._files is not None and (copy.writing is not None or is_due)

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
