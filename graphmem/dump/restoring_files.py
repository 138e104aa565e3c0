"""The files of a dump: their bytes go into the object store before the database names them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from graphmem.dump.batches import Batch, FileContent
from graphmem.dump.file_chunks import Contents, MissingFile, MissingFiles
from graphmem.errors import ObjectMissing
from graphmem.model.fact_records import SourceRecord
from graphmem.objects import ObjectStore


class Result(Protocol):
    dry_run: bool
    files: int
    missing_files: MissingFiles


class FileRestorer:
    """Writes the files of a dump, one owner after the other, and finds those that are missing."""

    def __init__(
        self, objects: ObjectStore, result: Result, report: Callable[[str, int, int | None], None]
    ) -> None:
        self._objects, self._result, self._report = objects, result, report
        self._contents = Contents()

    def start_owner(self) -> None:
        """Go on to the next owner, whose files are others even if they hold the same bytes."""
        self._contents = Contents()

    async def restore(self, file: FileContent) -> None:
        """Write the bytes of a file. An object with these bytes stays as it is; a damaged one is replaced.

        Raises:
            ObjectStoreUnavailable: the object store cannot be written to.
        """
        self._result.files += 1
        self._contents.meet(file.content_hash)

        async def chunks() -> AsyncIterator[bytes]:
            for chunk in file.chunks:
                yield chunk
                self._report("files", len(chunk), None)

        if not self._result.dry_run:
            await self._objects.put(file.owner, chunks())

    async def note_missing(self, batch: Batch) -> None:
        """Note the files of a batch whose bytes are neither in the dump nor in the object store."""
        for source in (source for part in batch.parts for source in part.of(SourceRecord)):
            if not self._contents.meet(source.content_hash):
                continue
            if not await self._objects.exists(batch.owner, source.content_hash):
                file = batch.owner, source.id, source.content_hash, source.name, ObjectMissing.code
                self._result.missing_files.add(MissingFile(*file))
