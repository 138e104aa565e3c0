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
from graphmem.dump.records import Contents, MissingFile, MissingFiles, StoredAccount
from graphmem.dump.restore_request import DumpedTransaction, RestoreRequest
from graphmem.dump.verifying import VerifyResult, open_file, read, verify
from graphmem.errors import ObjectMissing
from graphmem.model import facts, ids, times
from graphmem.model.fact_records import SchemaRecord, SourceRecord
from graphmem.model.relationship import BUILTIN, RegistrationRefused, RelationshipKind
from graphmem.model.schema import Active, SchemaDocument, version_order
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys
from graphmem.settings import LOCAL_ACCOUNT
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
    restorer = _Restorer(database, vocabulary, writers, objects, RestoreResult(verified, dry_run), report)
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


class _Restorer:
    def __init__(
        self, database: Database, vocabulary: Vocabulary, writers: Writers, objects: ObjectStore,
        result: RestoreResult, report: Progress,
    ) -> None:  # fmt: skip
        self._database, self._vocabulary, self._writers = database, vocabulary, writers
        self._objects, self.result, self._report = objects, result, report
        self._contents = Contents()
        self._versions: dict[str, list[SchemaRecord]] = {}
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
            await self._restore_account(portion)
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
        present = await self._present(portion, [])
        missing = find_missing(portion, present, last=True)
        self.result.add_conflicts(missing.conflicts)
        await self._write_missing(portion.owner, missing)
        self._report("wait", missing.observations + len(missing.conflicts), None)

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
            await self._writers.refold_withdrawn(owner, sys.maxsize)
            if not has_more and owner not in self._late:
                continue
            self._report("check", 0, total)
            audit = Audit(
                self._database, owner, self._writers, fix=True,
                progress=lambda done: self._report("check", done, None),
            )  # fmt: skip
            await audit.run(entities, relationships)
            self.result.audited_owners.append(owner)

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

    async def _restore_account(self, dumped: records.AccountRecord) -> None:
        """Create an account, unless the instance has it, or another one with its name, id or owner.

        The account of this machine's user is in every instance: it takes the password of the dump if it has
        neither a password nor a key nor a grant.
        """
        accounts, have_credential = await self._database.reads(None).only(
            "account.present", tuple[list[StoredAccount], bool], name=dumped.name, id=dumped.id,
            owner_id=dumped.owner,
        )  # fmt: skip
        differing = {account.name: _differing(account, dumped) for account in accounts}
        takes_password = dumped.id == LOCAL_ACCOUNT and not have_credential
        if not differing or (takes_password and list(differing.values()) == [["password"]]):
            self.result.accounts += 1
            if not self.result.dry_run:
                await self._database.writes(None).rows(
                    "account.restore", id=dumped.id, name=dumped.name, owner_id=dumped.owner,
                    scopes=dumped.scopes, password=dumped.password, disabled=dumped.disabled,
                    created_at=times.now(),
                )  # fmt: skip
        elif not any(differing.values()):
            self.result.known_accounts += 1
        else:
            self.result.add_conflicts([_account_conflict(account, dumped) for account in accounts])

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
        by_id = {ids.schema_id(owner, schema.entity_type, schema.version): schema for schema in start.schemas}
        present = await self._present(Batch(owner, []), list(by_id))
        stored = present.schemas
        active: dict[str, tuple[Active, int]] = {}
        for schema_id, schema in by_id.items():
            kind, version = schema.entity_type, schema.version
            if schema_id not in stored:
                self._versions.setdefault(schema.transaction, []).append(schema)
                result.schemas += 1
            elif stored[schema_id] != schema.document:
                message = "the database has this version with another document, which stays"
                documents = {"document": stored[schema_id]}, {"document": schema.document}
                result.add_conflicts([Conflict(owner, "schema", f"{kind} {version}", message, *documents)])
                continue
            if kind not in active or version_order(active[kind][0].version) < version_order(version):
                active[kind] = Active(version, SchemaDocument.read(schema.document)), schema.recorded_at
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
                meaning = "a type of its own" if stored == name else f"an alias of {stored}"
                message = f"{name} is {meaning} in the database, and stays so"
                sides = {"entity_type": stored}, {"entity_type": kind}
                self.result.add_conflicts([Conflict(owner, "type_alias", name, message, *sides)])

    def _note_types(self, batch: Batch) -> None:
        """Report types of the dump, each once, that are aliases of another type in the database."""
        types = {observation.entity_type or "" for observation in batch.observations}
        for kind in sorted(types & self._aliases.keys()):
            stored = self._aliases.pop(kind)
            message = (
                f"{kind} is an alias of {stored} in the database: the dump's entities of that type are "
                "restored, and found by id and by name, but not by type"
            )
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
        await self._write_missing(batch.owner, missing)
        self._report("restore", len(batch.observations), None)

    async def _write_missing(self, owner: str, missing: Missing) -> None:
        """Count the missing observations, and write them unless this is a dry run."""
        self.result.observations += missing.observations
        if missing.parts and not self.result.dry_run:
            await in_halves(missing.parts, partial(self._write_parts, owner))

    async def _write_parts(self, owner: str, parts: list[BatchPart]) -> None:
        transactions = tuple(
            DumpedTransaction(part, self._versions.get(part.transaction.id, ())) for part in parts
        )
        request = _request(owner, transactions=transactions, is_living=owner in self._living)
        if (merge := request.merge) is not None:
            target = facts.target(merge.kind, merge.fields)
            rows = await self._database.write("dump.merged", owner, source=merge.subject_id, target=target)
            newest = rows[0]["newest"] if rows else None
            is_newest = newest is None or (*newest,) <= (merge.observed_at, merge.id)
            request = replace(request, is_newest_merge=is_newest)
        await self._writers.submit(request)

    async def _present(self, batch: Batch, schemas: list[str]) -> Present:
        async def read_present(parts: list[BatchPart]) -> PresentRow:
            params: dict[str, Any] = dict(present_params(Batch(batch.owner, parts), schemas))
            return await self._database.reads(batch.owner).only("dump.present", PresentRow, **params)

        rows = await in_halves(batch.parts, read_present)
        return Present(*(chain.from_iterable(column) for column in zip(*rows, strict=True)))


def _request(owner: str, **parts: Any) -> RestoreRequest:
    return RestoreRequest(owner=owner, transaction_id=ids.transaction_id(), **parts)


def _differing(stored: StoredAccount, dumped: records.AccountRecord) -> list[str]:
    """Return the members in which two accounts differ. A dump without a password says nothing of it."""
    old, new = stored._asdict() | {"scopes": sorted(stored.scopes)}, dumped.model_dump()
    names = [name for name in StoredAccount._fields if old[name] != new[name]]
    return [name for name in names if name != "password" or new[name] is not None]


def _account_conflict(stored: StoredAccount, dumped: records.AccountRecord) -> Conflict:
    """Return the conflict of a dumped account with one of the instance. No hash is shown."""
    names = _differing(stored, dumped)
    if stored.name != dumped.name:
        message = f"the instance has the account {stored.name} with this id or owner, which stays"
    elif stored.owner != dumped.owner:
        message = (
            "the instance has another account of this name, which stays: once the data is restored, "
            f"`graphmem account create ANOTHER_NAME --owner {dumped.owner}` gives it an account"
        )
    else:
        message = f"the instance has this account with another {' and another '.join(names)}, and it stays so"
    sides = ({name: _printable(name, getattr(side, name)) for name in names} for side in (stored, dumped))
    return Conflict(dumped.owner, "account", dumped.name, message, *sides)


def _printable(name: str, value: Any) -> Any:
    return value if name != "password" else "none" if value is None else "not shown"
