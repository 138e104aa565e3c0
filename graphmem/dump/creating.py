"""Creating a dump: the facts of each owner up to one moment, and the accounts, streamed into a file."""

import asyncio
import base64
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from graphmem.database.driver import Database
from graphmem.dump import container, records
from graphmem.dump.records import FILE_CHUNK_BYTES, Contents, MissingFile, MissingFiles
from graphmem.errors import DatabaseFull, DumpRefused, ObjectDamaged, ObjectMissing
from graphmem.model import canonical
from graphmem.model.fact_records import SourceRecord, columns, line, members
from graphmem.model.fact_table import OBSERVATION, PARTS, SCHEMA, SOURCE, TRANSACTION, no_counts
from graphmem.model.schema import version_order
from graphmem.neo4j_local.private_files import flush, new_file
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys
from graphmem.sealing.sealed_dumps import DumpSealer
from graphmem.writing.state import LockedOwner

PAGE_TRANSACTIONS: Final = 500  # transactions that one query reads; fewer where their values are large
PENDING_RECORDS_LIMIT: Final = 500  # records that are held until a thread writes them
SPOOL_BYTES: Final = 2 << 20
"""Bytes of a file that are held in memory until all of it is read and checked; more wait on the disk."""
Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the work done since the last call, and the total where it is known.

The stages are ``create`` (in observations) and ``files`` (in bytes); they go on side by side.
"""


@dataclass(slots=True)
class OwnerContents:
    """The counts of facts and files of one owner in a dump, and the time of the newest transaction (µs)."""

    owner: str
    counts: dict[str, int]
    recorded_at: int = 0

    def count(self, name: str, more: int) -> None:
        """Count some facts, files or bytes; what is not counted from the beginning, if there is any."""
        if more:
            self.counts[name] = self.counts.get(name, 0) + more

    @property
    def counted(self) -> dict[str, Any]:
        return {"owner": self.owner, "recorded_at": self.recorded_at, **self.counts}


@dataclass(slots=True)
class CreateResult:
    """A created dump; ``size`` is that of its file in bytes. ``missing_files`` are those whose bytes the
    object store does not have, or has damaged."""

    path: Path
    size: int
    manifest: container.Manifest
    owners: list[OwnerContents] = field(default_factory=list)
    relationship_types: int = 0
    accounts: int = 0
    missing_files: MissingFiles = field(default_factory=MissingFiles)


async def create(
    database: Database, path: Path, owners: Sequence[str] = (), *, objects: ObjectStore | None,
    force: bool = False, database_name: str = "this database", progress: Progress | None = None,
    keys: InstanceKeys | None = None,
) -> CreateResult:  # fmt: skip
    """Write the facts of some owners, or of all, into a file, with the bytes of their files.

    The facts of an owner are those of one moment: later writes are left out. The file gets its name once it
    is complete and on disk; only its owner may read it. Partial files of backups to the same name are removed
    if nobody has written to them for a day.

    Args:
        owners: empty for all owners with all registered relationship types and all accounts. Else only the
            types of the owners' relationships are dumped, and no account.
        objects: where the bytes of files are; None leaves them out.
        database_name: how messages name the database.
        keys: those of a sealed instance: the dump is sealed as it is written.

    Raises:
        DumpRefused: the file exists, and ``force`` is not given or the database is empty; the file cannot be
            written; or an owner has stored nothing, or was erased meanwhile.
        Unavailable: the database or the object store failed.
    """
    with new_file(path, force, DumpRefused) as file:
        sealer = None if keys is None else DumpSealer(keys)
        writer = container.DumpWriter(file, files=objects is not None, sealer=sealer)
        creator = _Creator(database, objects, writer, progress or (lambda stage, done, total: None))
        result = await creator.run(owners)
        # The file is synced here in a thread, and then again at no cost: the loop of a service goes on.
        await asyncio.to_thread(flush, file)
        if not result.owners:
            refuse_empty_replacement(path, database_name)
        result.path, result.size = path, file.tell()
    return result


_TransactionPage = tuple[list[list[Any]], bool]
"""Transactions, each with its parts by kind, each of these a list by its columns; and whether more follow."""


class _Creator:
    def __init__(
        self, database: Database, objects: ObjectStore | None, writer: container.DumpWriter,
        progress: Progress,
    ) -> None:  # fmt: skip
        self._database, self._objects, self._writer, self._progress = database, objects, writer, progress
        self._missing = MissingFiles()
        self._pending: list[dict[str, Any]] = []

    async def run(self, chosen: Sequence[str]) -> CreateResult:
        owners = sorted(set(chosen) or [owner async for owner in self._database.owners()])
        # Where the facts of each owner end in the order of writes. Waiting for the lock of the owner makes
        # sure that every write up to there can be read whole.
        sequences, expected, types = dict[str, int](), 0, set[str]()
        for owner in owners:
            sequences[owner] = await self._sequence(owner)
            observations, relationship_types = await self._database.reads(owner).only(
                "dump.cut", tuple[int, list[str]]
            )
            expected, types = expected + observations, types.union(relationship_types)
        for owner in chosen:
            if not sequences[owner]:
                raise DumpRefused(f"the owner {owner} has stored nothing here", owner=owner)
        self._progress("create", 0, expected)
        if self._objects is not None:
            sizes = [await self._database.reads(owner).only("dump.file_bytes", int) for owner in owners]
            self._progress("files", 0, sum(sizes))
        result = CreateResult(Path(), 0, self._writer.manifest, missing_files=self._missing)
        for row in await self._database.reads(None).only("dump.relationship_types", list[list[Any]]):
            if not chosen or row[0] in types:
                self._add("relationship_type", columns(records.RelationshipTypeRecord), row)
                result.relationship_types += 1
        result.accounts = 0 if chosen else await self._accounts()
        for owner in owners:
            await self._write_pending()
            self._writer.begin_owner(owner)
            result.owners.append(await self._owner(owner, sequences[owner]))
        await self._write_pending()
        self._writer.finish({
            "owners": [contents.counted for contents in result.owners],
            "relationship_types": result.relationship_types,
            **({"accounts": result.accounts} if result.accounts else {}),
        })  # fmt: skip
        return result

    async def _sequence(self, owner: str) -> int:
        """Return how many transactions an owner has; 0 for an owner whose data is erased."""
        locked = await self._database.writes(owner).one("owner.lock", LockedOwner)
        return 0 if locked is None or locked.revision is None else locked.sequence

    async def _accounts(self) -> int:
        accounts = await self._database.reads(None).only("account.dumped", list[records.StoredAccount])
        for account in accounts:
            sorted_scopes = account._replace(scopes=sorted(account.scopes))
            self._add("account", columns(records.AccountRecord), sorted_scopes)
        return len(accounts)

    async def _owner(self, owner: str, sequence: int) -> OwnerContents:
        files = {"files": 0, "file_bytes": 0} if self._objects else {}
        contents = OwnerContents(owner, {**no_counts(container.FORMAT), **files})
        met = Contents()
        self._add("owner", ("id",), [owner])
        async for kind, versions in self._schemas(owner, sequence):
            for version in versions:
                self._add(SCHEMA.name, SCHEMA.columns, [kind, *version])
            contents.count(SCHEMA.plural, len(versions))
        async for row, *parts in self._transactions(owner, sequence):
            transaction = dict(zip(TRANSACTION.columns, row, strict=True))
            transaction["by"] = transaction["by"] and canonical.decode(transaction["by"])
            self._add(TRANSACTION.name, transaction.keys(), transaction.values())
            contents.count(TRANSACTION.plural, 1)
            contents.recorded_at = transaction["recorded_at"]
            for kind, facts in zip(PARTS, parts, strict=True):
                for fact in facts:
                    self._add(kind.name, kind.columns, fact)
                    if kind is SOURCE and self._objects is not None:
                        source = SourceRecord.model_construct(**dict(zip(kind.columns, fact, strict=True)))
                        await self._add_file(self._objects, contents, met, source)
                contents.count(kind.plural, len(facts))
                if kind is OBSERVATION:
                    self._progress("create", len(facts), None)
            if len(self._pending) >= PENDING_RECORDS_LIMIT:
                await self._write_pending()
        if contents.counts[TRANSACTION.plural] < sequence and await self._sequence(owner) < sequence:
            raise DumpRefused(
                f"the data of the owner {owner} was erased while the backup was written: run it again",
                owner=owner,
            )
        return contents

    async def _add_file(
        self, objects: ObjectStore, contents: OwnerContents, met: Contents, source: SourceRecord
    ) -> None:
        """Write the bytes of a file once all of them were read and checked, or note that it is missing."""
        if not met.meet(source.content_hash):
            return
        # Of a sealed instance nothing in clear waits on the disk.
        with tempfile.SpooledTemporaryFile(0 if self._writer.is_sealed else SPOOL_BYTES) as spool:
            try:
                async for chunk in objects.read(contents.owner, source.content_hash, size=source.size):
                    spool.write(chunk)
            except (ObjectMissing, ObjectDamaged) as exc:
                file = contents.owner, source.id, source.content_hash, source.name, exc.code
                self._missing.add(MissingFile(*file))
                return
            offset = spool.seek(0)
            while chunk := await asyncio.to_thread(spool.read, FILE_CHUNK_BYTES):
                data = base64.b64encode(chunk).decode()
                self._add("file", columns(records.FileChunk), [source.content_hash, offset, data])
                await self._write_pending()
                offset += len(chunk)
                self._progress("files", len(chunk), None)
        contents.count("files", 1)
        contents.count("file_bytes", offset)

    async def _schemas(self, owner: str, sequence: int) -> AsyncIterator[tuple[str, list[list[Any]]]]:
        """Yield each type with all versions of its schema, as their record has them without it."""
        after: str | None = ""
        while after is not None:
            type_, versions = await self._database.reads(owner).only(
                "dump.schemas", tuple[str | None, list[list[Any]]], after=after, sequence=sequence
            )
            if (after := type_) is not None:
                yield after, sorted(versions, key=lambda version: version_order(version[0]))

    async def _transactions(self, owner: str, sequence: int) -> AsyncIterator[list[Any]]:
        """Yield an owner's transactions in their order. The next page is read while this one is written."""
        reading = asyncio.create_task(self._page(owner, sequence, -(1 << 62), "", PAGE_TRANSACTIONS))
        try:
            while True:
                transactions, more = await reading
                if more:
                    last_id, last_recorded_at, *_ = transactions[-1][0]
                    reading = asyncio.create_task(
                        self._page(owner, sequence, last_recorded_at, last_id, PAGE_TRANSACTIONS)
                    )
                for row in transactions:
                    yield row
                if not more:
                    return
        finally:
            reading.cancel()

    async def _page(self, owner: str, sequence: int, since: int, after: str, limit: int) -> _TransactionPage:
        """Return the next transactions, fewer if the database cannot hold them."""
        try:
            return await self._database.reads(owner).only(
                "dump.page", _TransactionPage, since=since, after=after, sequence=sequence, limit=limit
            )
        except DatabaseFull:
            if limit == 1:
                raise
            return await self._page(owner, sequence, since, after, max(1, limit // 8))

    def _add(self, record: str, names: Iterable[str], values: Iterable[Any]) -> None:
        self._pending.append(members(record, names, values))

    async def _write_pending(self) -> None:
        """Encode and compress the records so far, in a thread: a service answers others meanwhile."""
        pending, self._pending = self._pending, []

        def write() -> None:
            for record in pending:
                self._writer.add(line(record))

        await asyncio.to_thread(write)


def refuse_empty_replacement(path: Path, database_name: str) -> None:
    """Refuse to replace a file by an empty dump: that file may be the last copy of the facts."""
    if os.path.exists(path):
        raise DumpRefused(
            f"{database_name} is empty, and {path} is not replaced by an empty dump: "
            "check that this is the right database, or give another name",
            path=str(path),
        )
