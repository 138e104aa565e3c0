"""Restoring a dump: its missing facts are written, and everything else is derived from them.

A restore never overwrites a fact. So it can be interrupted and run again, and a restore into a database that
holds facts gives the union of both. A fact that contradicts the database is a conflict: it is reported and
left out.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from graphmem.checking.audit import Audit
from graphmem.database.driver import Database
from graphmem.database.jobs import in_halves
from graphmem.database.relationship_vocabulary import Vocabulary
from graphmem.dump import records
from graphmem.dump.batches import Batch, BatchPart, FileContent, OwnerStart, batches
from graphmem.dump.conflicts import Conflict, Missing, Present, PresentRow, find_missing, present_params
from graphmem.dump.records import Contents, MissingFile, MissingFiles
from graphmem.dump.restore_request import DumpedTransaction, RestoreRequest
from graphmem.dump.restored_accounts import restore_account
from graphmem.dump.settling import (
    SettledVersion,
    StoredVersion,
    lose_dumped,
    lose_keys,
    lose_stored,
    settle_first,
    settle_schemas,
)
from graphmem.dump.verifying import VerifyResult, open_file, read, verify
from graphmem.errors import ObjectMissing
from graphmem.model import facts, ids
from graphmem.model.fact_records import Fact, RecordedPart, Repeat, SchemaRecord, SourceRecord
from graphmem.model.relationship import BUILTIN, RegistrationRefused, RelationshipKind
from graphmem.model.schema import Active, SchemaDocument, version_order
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys
from graphmem.writing import Writers
from graphmem.writing.state import LockedOwner

REPORTED_CONFLICTS_LIMIT: Final = 200  # conflicts that a result lists; all are counted

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the work done since the last call, and the total where it is known.

The stages are ``verify`` (in bytes), ``restore`` and ``wait`` (in observations), ``files`` (in bytes, beside
``restore``), ``check`` (in entities and relationships).
"""

_Portion = records.RelationshipTypeRecord | records.AccountRecord | OwnerStart | Batch | FileContent


@dataclass(slots=True)
class RestoreResult:
    """The counts of a restore.

    ``transactions`` and the like were missing and are written; ``known_…`` were in the database already.
    ``audited_owners`` had more facts than the dump, or an observation that had to wait: everything derived
    was made again for them. ``files`` were written into the object store, or were there already;
    ``missing_files`` have their bytes neither in the dump nor in the object store.
    """

    verified: VerifyResult
    dry_run: bool = False
    owners: int = 0
    relationship_types: int = 0
    accounts: int = 0
    known_accounts: int = 0
    schemas: int = 0
    transactions: int = 0
    observations: int = 0
    known_transactions: int = 0
    known_observations: int = 0
    files: int = 0
    missing_files: MissingFiles = field(default_factory=MissingFiles)
    missing_hashes: list[str] = field(default_factory=list)  # of all missing files
    audited_owners: list[str] = field(default_factory=list)
    conflict_count: int = 0
    conflicts: list[Conflict] = field(default_factory=list)

    def add_conflicts(self, conflicts: Sequence[Conflict]) -> None:
        self.conflict_count += len(conflicts)
        self.conflicts.extend(conflicts[: max(0, REPORTED_CONFLICTS_LIMIT - len(self.conflicts))])


async def restore(
    database: Database, vocabulary: Vocabulary, writers: Writers, path: Path, *, objects: ObjectStore,
    dry_run: bool = False, progress: Progress | None = None, keys: InstanceKeys | None = None,
) -> RestoreResult:  # fmt: skip
    """Write the facts of a dump that the database does not have. Services may write to it meanwhile.

    The whole dump is verified before anything is written. The bytes of a file are in the object store before
    the database names the file.

    Args:
        objects: where the bytes of files are written.
        dry_run: count what would be written, and write nothing.
        keys: those that open the dump, if it is sealed.

    Raises:
        DumpDamaged, DumpRefused, DecryptionFailed: the dump cannot be restored; nothing was written.
        Unavailable: the database or the object store failed. Restoring again goes on from there.
    """
    report = progress or (lambda stage, done, total: None)
    with open_file(path) as file:
        report("verify", 0, file.seek(0, 2))
    verified = verify(path, lambda done: report("verify", done, None), keys)
    restorer = Restorer(database, vocabulary, writers, objects, RestoreResult(verified, dry_run), report)
    owners = verified.manifest.contents["owners"]
    report("restore", 0, sum(owner["observations"] for owner in owners))
    report("files", 0, sum(owner.get("file_bytes", 0) for owner in owners))
    await _for_each_portion(path, restorer.restore, keys)
    if restorer.waiting:
        # Most of the dump may wait: it is read a second time rather than held in memory.
        report("wait", 0, sum(restorer.waiting.values()))
        await _for_each_portion(path, restorer.restore_waiting, keys)
    await restorer.audit()
    return restorer.result


async def _for_each_portion(
    path: Path, work: Callable[[_Portion], Awaitable[None]], keys: InstanceKeys | None
) -> None:
    with open_file(path) as file:
        # Reading checks the file once more: it may have been replaced since it was verified.
        for portion in batches(read(file, keys=keys)):
            await work(portion)


class Restorer:
    def __init__(
        self, database: Database, vocabulary: Vocabulary, writers: Writers, objects: ObjectStore,
        result: RestoreResult, report: Progress,
    ) -> None:  # fmt: skip
        self._database, self._vocabulary, self._writers = database, vocabulary, writers
        self._objects, self.result, self._report = objects, result, report
        self._contents = Contents()
        self._versions: dict[str, list[tuple[SchemaRecord, StoredVersion | None]]] = {}
        """By transaction: the versions of schemas that it is to record, with those whose place they take."""
        self._without_key: set[str] = set()
        """Transactions of the batch whose idempotency keys others have."""
        self.more: dict[str, Any] = {}
        """Properties that each transaction gets beside those of the dump."""
        self.learns = False
        """Whether this copy learns of the facts from another one at this moment."""
        self.unsettled: set[str] = set()
        """Subjects of observations that an earlier transaction recorded."""
        self._renamed: set[str] = set()
        """Owners of whose types other names may have changed."""
        self._aliases: dict[str, str] = {}
        self.waiting: dict[str, int] = {}
        """By owner: the observations that wait until all others are written."""
        self._late: set[str] = set()
        """Owners with an observation that was written after later ones."""
        self._living: set[str] = set()
        """Owners who had written something before the restore."""
        self._written: set[str] = set()
        """Owners with a transaction that was missing."""

    async def restore(self, portion: _Portion) -> None:
        if isinstance(portion, records.RelationshipTypeRecord):
            await self._register(portion)
        elif isinstance(portion, records.AccountRecord):
            await restore_account(self._database, portion, self.result)
        elif isinstance(portion, OwnerStart):
            await self._start_owner(portion)
        elif isinstance(portion, FileContent):
            await self._restore_file(portion)
        else:
            await self._restore_batch(portion)

    async def restore_waiting(self, portion: _Portion) -> None:
        """Write the observations of a portion that waited; its transactions are written already."""
        if not isinstance(portion, Batch) or portion.owner not in self.waiting:
            return
        missing = find_missing(portion, await self._present(portion, []), last=True)
        self.result.add_conflicts(missing.conflicts)
        await self._write_missing(portion.owner, missing)
        self._report("wait", missing.observations + len(missing.conflicts), None)

    async def restore_late(self, batch: Batch) -> None:
        """Write facts that known transactions lack: the version that took these did not know their kinds."""
        recorded = dict(await self._database.reads(batch.owner).only(
            "copy.recorded", list[tuple[str, list[str]]],
            transactions=[part.transaction.id for part in batch.parts],
        ))  # fmt: skip
        for part in batch.parts:
            known = recorded.get(part.transaction.id)
            late: dict[type[RecordedPart], list[Any]] = {
                kind: [each for each in records if each.id not in known]
                for kind, records in part.records.items()
                if known is not None and issubclass(kind, Fact)
            }
            if any(late.values()):
                dumped = DumpedTransaction(BatchPart(part.transaction, late), (), self.more, is_late=True)
                await self._writers.submit(_request(batch.owner, transactions=(dumped,)))

    async def audit(self) -> None:
        """Fold again what withdrawals changed.

        Everything is derived again for owners who have more facts than the dump, or had observations wait.
        A fact that comes between facts of the database may change what is derived from those, such as the
        version of a merged entity.
        """
        if self.result.dry_run:
            return
        for contents in self.result.verified.manifest.contents["owners"]:
            owner = contents["owner"]
            # An owner without any transaction has no row, not even after the restore.
            locked = await self._database.writes(owner).one("owner.lock", LockedOwner)
            has_more = locked is not None and locked.sequence > contents["transactions"]
            entities, relationships, total = await self._types(owner)
            # What was withdrawn before it was restored keeps the keys that it had while it counted.
            await self.settle(owner)
            if not has_more and owner not in self._late:
                continue
            self._report("check", 0, total)
            audit = Audit(
                self._database, owner, self._writers, fix=True,
                progress=lambda done: self._report("check", done, None),
            )  # fmt: skip
            await audit.run(entities, relationships)
            self.result.audited_owners.append(owner)

    async def settle(self, owner: str) -> None:
        """Fold again what was withdrawn, and settle what all versions of schemas decide."""
        await self._writers.refold_withdrawn(owner, sys.maxsize)
        if owner in self._renamed:
            await settle_schemas(self._database, owner)

    async def _types(self, owner: str) -> tuple[list[str], list[str], int]:
        return await self._database.reads(owner).only("audit.types", tuple[list[str], list[str], int])

    async def _register(self, dumped: records.RelationshipTypeRecord) -> None:
        """Register a relationship type. An existing type only gains the parts that it lacks."""
        known = (await self._vocabulary.refresh()).kinds.get(dumped.name)
        present = {} if known is None else {"inverse": known.inverse, "description": known.description}
        # A type that is built in by now has a description of its own.
        description = None if dumped.name in BUILTIN else dumped.description
        restored = {"inverse": dumped.inverse, "description": description}
        message = "the database has this relationship type with another meaning, which stays"
        conflict = Conflict(None, "relationship_type", dumped.name, message, present, restored)
        if any(present.get(name) and value and present[name] != value for name, value in restored.items()):
            self.result.add_conflicts([conflict])
            return
        if self.result.dry_run:
            self.result.relationship_types += known is None
            return
        try:
            kind = RelationshipKind(dumped.name, dumped.inverse, description)
            _, is_new = await self._vocabulary.register(kind, dumped.agent, dumped.registered_at)
            self.result.relationship_types += is_new
        except RegistrationRefused as exc:
            self.result.add_conflicts([replace(conflict, message=str(exc))])

    async def _restore_file(self, file: FileContent) -> None:
        """Write the bytes of a file. An object with these bytes stays as it is; a damaged one is replaced."""
        self.result.files += 1
        self._contents.meet(file.content_hash)

        async def chunks() -> AsyncIterator[bytes]:
            for chunk in file.chunks:
                yield chunk
                self._report("files", len(chunk), None)

        if not self.result.dry_run:
            await self._objects.put(file.owner, chunks())

    async def _start_owner(self, start: OwnerStart) -> None:
        """Set the schema of each of an owner's types, before anything is written of the types."""
        owner, result = start.owner, self.result
        # The files of another owner are others even if they hold the same bytes.
        self._contents = Contents()
        result.owners += 1
        self._versions = {}
        *_, total = await self._types(owner)
        if total:
            self._living.add(owner)
        dumped: dict[str, list[SchemaRecord]] = {}
        for schema in start.schemas:
            dumped.setdefault(ids.schema_id(owner, schema.entity_type, schema.version), []).append(schema)
        named = [schema.transaction for schema in start.schemas]
        present = await self._present(Batch(owner, []), list(dumped), named)
        active: dict[str, tuple[Active, int]] = {}
        for schema_id, versions in dumped.items():
            settled = SettledVersion.of(present.schemas.get(schema_id), versions, present.transactions.keys())
            kind, version = versions[0].entity_type, versions[0].version
            if (new := settled.new) is not None:
                self._versions.setdefault(new.transaction, []).append((new, settled.stored))
                result.schemas += 1
            for here, there in settled.contradictions:
                message = (
                    "the version was registered with another document too: the one recorded first counts"
                )
                documents = {"document": here}, {"document": there}
                result.add_conflicts([Conflict(owner, "schema", f"{kind} {version}", message, *documents)])
            if not result.dry_run:
                for lost in settled.lost:
                    await lose_dumped(self._database, owner, lost, settled.counting.transaction)
            if kind not in active or version_order(active[kind][0].version) < version_order(version):
                document = SchemaDocument.read(settled.counting.document)
                active[kind] = Active(version, document), settled.counting.recorded_at
        if dumped:
            self._renamed.add(owner)
        await self._note_aliases(owner, active)
        if active and not result.dry_run:
            await self._writers.submit(_request(owner, schemas=active))

    async def _note_aliases(self, owner: str, active: dict[str, tuple[Active, int]]) -> None:
        """Report aliases of the dump that the database gives another type, or that are types there."""
        dumped = {name: kind for kind, (schema, _) in active.items() for name in schema.document.aliases}
        aliases, types = await self._database.reads(owner).only(
            "dump.names", tuple[list[tuple[str, str]], list[str]], names=sorted(dumped)
        )
        self._aliases = dict(aliases)
        for name, kind in dumped.items():
            stored = self._aliases.get(name) or (name if name in types else kind)
            if stored != kind:
                message = (
                    f"{name} is a type of its own in the database, and stays so"
                    if stored == name
                    else f"{name} is an alias of {stored} in the database: the type that had it first has it"
                )
                sides = {"entity_type": stored}, {"entity_type": kind}
                self.result.add_conflicts([Conflict(owner, "type_alias", name, message, *sides)])

    def _note_types(self, batch: Batch) -> None:
        """Report types of the dump, each once, that are aliases of another type in the database."""
        types = {observation.entity_type or "" for observation in batch.observations}
        for kind in sorted(types & self._aliases.keys()):
            stored = self._aliases.pop(kind)
            message = (
                f"{kind} is an alias of {stored} in the database: as the dump has entities of that type, "
                "it is a type of its own from now on"
            )
            self._renamed.add(batch.owner)
            sides = {"entity_type": stored}, {"entity_type": kind}
            self.result.add_conflicts([Conflict(batch.owner, "entity_type", kind, message, *sides)])

    async def _restore_batch(self, batch: Batch) -> None:
        result = self.result
        self._note_types(batch)
        # The bytes of these files are neither in the dump nor in the object store.
        for source in (source for part in batch.parts for source in part.of(SourceRecord)):
            is_new = self._contents.meet(source.content_hash)
            if is_new and not await self._objects.exists(batch.owner, source.content_hash):
                file = batch.owner, source.id, source.content_hash, source.name, ObjectMissing.code
                result.missing_files.add(MissingFile(*file))
                result.missing_hashes.append(source.content_hash)
        present = await self._present(batch, [])
        missing = find_missing(batch, present, plan=result.dry_run)
        result.add_conflicts(missing.conflicts)
        if missing.waiting or missing.waiting_repeats:
            self.waiting[batch.owner] = self.waiting.get(batch.owner, 0) + missing.waiting
        known = len(batch.parts) - missing.transactions
        comes_before = known and (missing.transactions or batch.owner in self._written)
        if missing.waiting or missing.late or comes_before:
            self._late.add(batch.owner)
        if missing.transactions:
            self._written.add(batch.owner)
        result.transactions += missing.transactions
        result.known_transactions += known
        result.known_observations += sum(each.id in present.observations for each in batch.observations)
        if not result.dry_run:
            with_keys = Batch(batch.owner, missing.parts)
            self._without_key = await lose_keys(self._database, batch.owner, with_keys, present.by_key)
        await self._write_missing(batch.owner, missing)
        if known and not result.dry_run:
            # What wrote them may have been cut before this.
            parts = [part for part in batch.parts if part.transaction.id in present.transactions]
            await self._settle_first(batch.owner, parts)
        self._report("restore", len(batch.observations), None)

    async def _write_missing(self, owner: str, missing: Missing) -> None:
        """Count the missing observations, and write them unless this is a dry run."""
        self.result.observations += missing.observations
        if missing.parts and not self.result.dry_run:
            await in_halves(missing.parts, partial(self._write_parts, owner))

    async def _write_parts(self, owner: str, parts: list[BatchPart]) -> None:
        transactions = [await self._dumped(owner, part) for part in parts]
        how = {"is_living": owner in self._living, "learns": self.learns}
        request = _request(owner, transactions=tuple(transactions), **how)
        if (merge := request.merge) is not None:
            target = facts.target(merge.kind, merge.fields)
            rows = await self._database.write("dump.merged", owner, source=merge.subject_id, target=target)
            newest = rows[0]["newest"] if rows else None
            is_newest = newest is None or (*newest,) <= (merge.observed_at, merge.id)
            request = replace(request, is_newest_merge=is_newest)
        await self._writers.submit(request)
        await self._settle_first(owner, [part for part in parts if part.of(Repeat)])

    async def _settle_first(self, owner: str, parts: Sequence[BatchPart]) -> None:
        every = (each.id for part in parts for each in (*part.observations, *part.of(Repeat)))
        changed, subjects = await settle_first(self._database, owner, every)
        self.unsettled.update(subjects)
        if changed:
            self._late.add(owner)

    async def _dumped(self, owner: str, part: BatchPart) -> DumpedTransaction:
        transaction, more = part.transaction, dict(self.more)
        if transaction.id in self._without_key:
            more |= {"idempotency_key": None, "lost_key": transaction.idempotency_key}
        versions = self._versions.get(transaction.id, ())
        for dumped, stored in versions:
            if stored is not None:
                await lose_stored(self._database, owner, stored, dumped)
        return DumpedTransaction(part, [dumped for dumped, _ in versions], more)

    async def _present(self, batch: Batch, schemas: list[str], transactions: Sequence[str] = ()) -> Present:
        async def read_present(parts: list[BatchPart]) -> PresentRow:
            params: dict[str, Any] = dict(present_params(Batch(batch.owner, parts), schemas))
            params["transactions"] += transactions
            return await self._database.reads(batch.owner).only("dump.present", PresentRow, **params)

        rows = await in_halves(batch.parts, read_present)
        return Present(*(chain.from_iterable(column) for column in zip(*rows, strict=True)))


def _request(owner: str, **parts: Any) -> RestoreRequest:
    return RestoreRequest(owner=owner, transaction_id=ids.transaction_id(), **parts)
