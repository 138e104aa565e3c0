"""Restoring a dump: its facts are written where they are missing, and everything else is derived from them.

Facts are never overwritten. What is here already is left alone, so that a restore can be broken off, run
again, or made into a database that holds something: it is then the union of both. What contradicts what is
here is a conflict; it is told, and the rest is restored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from graphmem.checking.audit import Audit
from graphmem.database.driver import Database
from graphmem.database.halving import in_halves
from graphmem.database.vocabulary import Vocabulary
from graphmem.dump import records
from graphmem.dump.batches import Batch, Begun, Part, batches
from graphmem.dump.conflicts import Conflict, Missing, Present, asked, missing
from graphmem.dump.verifying import Verified, opened, read, verify
from graphmem.model import canonical, discovery, facts, ids, reduction
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.relationship import Kind, RegistrationRefused
from graphmem.model.schema import Active, Document, version_order
from graphmem.writing import Restoring, WriteRequest, Writers, Written
from graphmem.writing.refolding import merges

TOLD: Final = 200
"""Conflicts that are told one by one; all are counted."""

Progress = Callable[[str, int, int | None], None]
"""Is told the stage (verify in bytes, restore and wait in observations, check in things), how much was done
since it was told last, and how much there is where that is known."""

_Portion = records.RelationshipType | Begun | Batch


@dataclass(slots=True)
class Restored:
    """What became of a dump: what was added, what was here already, and what contradicts what is here.

    ``checked`` are the owners who had something else as well, or of whom something had to wait for what it
    acts on: what is derived was made again for all of it.
    """

    verified: Verified
    dry_run: bool = False
    owners: int = 0
    relationship_types: int = 0
    schemas: int = 0
    transactions: int = 0
    observations: int = 0
    known_transactions: int = 0
    known_observations: int = 0
    checked: list[str] = field(default_factory=list)
    conflict_count: int = 0
    conflicts: list[Conflict] = field(default_factory=list)

    def note(self, conflicts: Sequence[Conflict]) -> None:
        """Take in conflicts."""
        self.conflict_count += len(conflicts)
        self.conflicts.extend(conflicts[: max(0, TOLD - len(self.conflicts))])


async def restore(
    database: Database,
    vocabulary: Vocabulary,
    writers: Writers,
    path: Path,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Write what of a dump is missing here; services may write to the same database meanwhile.

    The dump is verified from end to end before anything of it is written.

    Args:
        dry_run: only say what would be written.

    Raises:
        DumpDamaged, DumpRefused: the dump cannot be restored; nothing was written.
        Unavailable: the database failed; to restore again goes on where it broke off.
    """
    tell = progress or (lambda stage, done, total: None)
    with opened(path) as file:
        tell("verify", 0, file.seek(0, 2))
    verified = verify(path, lambda done: tell("verify", done, None))
    restorer = _Restorer(database, vocabulary, writers, Restored(verified, dry_run), tell)
    tell("restore", 0, sum(one["observations"] for one in verified.manifest.contents["owners"]))
    await _through(path, restorer.take)
    if restorer.waiting:
        # It may be most of the dump: that is read a second time rather than held in memory.
        tell("wait", 0, sum(restorer.waiting.values()))
        await _through(path, restorer.take_late)
    await restorer.settle()
    return restorer.result


async def _through(path: Path, take: Callable[[_Portion], Awaitable[None]]) -> None:
    """Have every portion of a dump taken, in order."""
    with opened(path) as file:
        # Read from its beginning, and checked once more: it may have been exchanged in between.
        for one in batches(read(file)):
            await take(one)


class _Restorer:
    def __init__(
        self, database: Database, vocabulary: Vocabulary, writers: Writers, result: Restored, tell: Progress
    ) -> None:
        self._database, self._vocabulary, self._writers = database, vocabulary, writers
        self.result, self._tell = result, tell
        self._versions: dict[str, list[dict[str, Any]]] = {}
        self._types: frozenset[str] = frozenset()
        self._aliases: dict[str, str] = {}
        self._planned: set[str] = set()
        self.waiting: dict[str, int] = {}
        """How many observations of an owner wait until all others are there."""
        self._late: set[str] = set()
        """Owners of whom something was written after what was recorded later."""

    async def take(self, one: _Portion) -> None:
        """Restore one portion of a dump."""
        if isinstance(one, records.RelationshipType):
            await self._register(one)
        elif isinstance(one, Begun):
            await self._begin(one)
        else:
            await self._restore(one)

    async def take_late(self, one: _Portion) -> None:
        """Write what of a portion waited for everything else; its transactions are there already."""
        if not isinstance(one, Batch) or one.owner not in self.waiting:
            return
        found = missing(one, Present.of(await self._present(one, [])), self._types, last=True)
        self.result.note(found.conflicts)
        await self._write_missing(one.owner, found)
        self._tell("wait", found.observations + len(found.conflicts), None)

    async def settle(self) -> None:
        """Derive everything again of those owners who have more than the dump, or had something wait.

        What was recorded between facts that are here already may change what those come to: how often a
        merged entity has changed, for one.
        """
        if self.result.dry_run:
            return
        for contents in self.result.verified.manifest.contents["owners"]:
            owner = contents["owner"]
            # Nothing is returned for one who has nothing here, not even after the restore.
            rows = await self._database.write("owner.lock", owner)
            more = rows and rows[0]["sequence"] > contents["transactions"]
            if not more and owner not in self._late:
                continue
            (kinds,) = await self._database.read("audit.types", owner)
            self._tell("check", 0, kinds["total"])
            audit = Audit(
                self._database,
                owner,
                self._writers,
                fix=True,
                progress=lambda done: self._tell("check", done, None),
            )
            await audit.run(kinds["entities"], kinds["relationships"])
            self.result.checked.append(owner)

    async def _register(self, one: records.RelationshipType) -> None:
        """Register a relationship type; to one that is there, only what is not said of it yet is added."""
        known = (await self._vocabulary.refresh()).kinds.get(one.name)
        here = {} if known is None else {"inverse": known.inverse, "description": known.description}
        dump = {"inverse": one.inverse, "description": one.description}
        message = "the relationship type says something else here: it stays as it is here"
        if any(here.get(name) and dump[name] and here[name] != dump[name] for name in dump):
            self.result.note([Conflict(None, "relationship_type", one.name, message, here, dump)])
            return
        if self.result.dry_run:
            self.result.relationship_types += known is None
            self._planned.add(one.name)
            return
        try:
            kind = Kind(one.name, one.inverse, one.description)
            _, new = await self._vocabulary.register(kind, one.agent, one.registered_at)
            self.result.relationship_types += new
        except RegistrationRefused as exc:
            self.result.note([Conflict(None, "relationship_type", one.name, str(exc), here, dump)])

    async def _begin(self, begun: Begun) -> None:
        """Have every type of an owner follow its schema before anything is written of it."""
        owner, result = begun.owner, self.result
        result.owners += 1
        self._types = (await self._vocabulary.refresh()).names | self._planned
        self._versions = {}
        by_id = {ids.schema_id(owner, one.entity_type, one.version): one for one in begun.schemas}
        present = await self._present(Batch(owner, []), list(by_id))
        here = {one[0]: one[1] for one in present["schemas"]}
        active: dict[str, tuple[Active, int]] = {}
        for schema_id, one in by_id.items():
            if schema_id not in here:
                properties = {
                    "id": schema_id, "owner": owner, "entity_type": one.entity_type, "version": one.version,
                    "document": one.document, "recorded_at": one.recorded_at, "change": one.change,
                }  # fmt: skip
                self._versions.setdefault(one.transaction, []).append(properties)
                result.schemas += 1
            elif here[schema_id] != one.document:
                message = "the version is registered here with another document: it stays as it is here"
                said = {"document": here[schema_id]}, {"document": one.document}
                result.note([Conflict(owner, "schema", f"{one.entity_type} {one.version}", message, *said)])
                continue
            held = active.get(one.entity_type)
            if held is None or version_order(held[0].version) < version_order(one.version):
                active[one.entity_type] = Active(one.version, Document.read(one.document)), one.recorded_at
        await self._note_names(owner, active)
        if active and not result.dry_run:
            await self._write(owner, Restoring(schemas=active))

    async def _note_names(self, owner: str, active: dict[str, tuple[Active, int]]) -> None:
        """Note other names of types that mean another type here, or are types of their own."""
        given = {name: kind for kind, (one, _) in active.items() for name in one.document.aliases}
        (row,) = await self._database.read("dump.names", owner, names=sorted(given))
        self._aliases = dict(row["aliases"])
        own = {name: name for name in row["types"]}
        for name, kind in given.items():
            here = self._aliases.get(name) or own.get(name, kind)
            if here != kind:
                means = "a type of its own" if here == name else f"another name of {here}"
                message = f"{name} is {means} here: it stays that"
                said = {"entity_type": here}, {"entity_type": kind}
                self.result.note([Conflict(owner, "type_alias", name, message, *said)])

    def _note_types(self, batch: Batch) -> None:
        """Note types of the dump, each once, that are another name of a type here."""
        for kind in sorted({one.entity_type or "" for one in batch.observations} & self._aliases.keys()):
            message = (
                f"{kind} is another name of {self._aliases[kind]} here: what the dump has of that type is "
                "restored, and found by its id and its names, but not by its type"
            )
            said = {"entity_type": self._aliases.pop(kind)}, {"entity_type": kind}
            self.result.note([Conflict(batch.owner, "entity_type", kind, message, *said)])

    async def _restore(self, batch: Batch) -> None:
        result = self.result
        self._note_types(batch)
        row = await self._present(batch, [])
        found = missing(batch, Present.of(row), self._types, ends=not result.dry_run)
        result.note(found.conflicts)
        if found.waiting:
            self.waiting[batch.owner] = self.waiting.get(batch.owner, 0) + found.waiting
        if found.waiting or found.late:
            self._late.add(batch.owner)
        result.transactions += found.transactions
        result.known_transactions += len(batch.parts) - found.transactions
        here = {one[0] for one in row["observations"]}
        result.known_observations += sum(one.id in here for one in batch.observations)
        await self._write_missing(batch.owner, found)
        self._tell("restore", len(batch.observations), None)

    async def _write_missing(self, owner: str, found: Missing) -> None:
        """Count what is missing, and write it."""
        self.result.observations += found.observations
        if found.parts and not self.result.dry_run:
            await in_halves(found.parts, partial(self._write_parts, owner))

    async def _write_parts(self, owner: str, parts: list[Part]) -> None:
        """Write some transactions in one turn."""
        written = tuple(
            Written(
                {name: getattr(part.transaction, name) for name in _PROPERTIES},
                part.transaction.agent,
                tuple(_observation(one, part.transaction.id) for one in part.observations),
                tuple(self._versions.get(part.transaction.id, ())),
            )
            for part in parts
        )
        restoring = Restoring(written)
        if restoring.merge is not None:
            restoring = Restoring(written, moves=await self._moves(owner, restoring.merge))
        await self._write(owner, restoring)

    async def _moves(self, owner: str, said: reduction.Observation) -> bool:
        """Return whether a merge, or its end, is the newest fact of its entity."""
        into = facts.target(said.kind, said.fields)
        if into is not None:
            await self._database.write("dump.merged", owner, source=said.subject_id, target=into)
        log = await merges(
            lambda name, **params: self._database.read(name, owner, **params), [said.subject_id]
        )
        own = [(fact.at, fact.observation_id) for fact in log.facts if fact.subject_id == said.subject_id]
        return max(own, default=(said.observed_at, said.id)) <= (said.observed_at, said.id)

    async def _write(self, owner: str, restoring: Restoring) -> None:
        request = WriteRequest(
            operation="restore",
            owner=owner,
            agent="",
            client="",
            transaction_id=ids.transaction_id(),
            items=[],
            restoring=restoring,
        )
        await self._writers.submit(request)

    async def _present(self, batch: Batch, schemas: list[str]) -> dict[str, Any]:
        async def look(parts: list[Part]) -> dict[str, Any]:
            params: dict[str, Any] = dict(asked(Batch(batch.owner, parts), schemas))
            (row,) = await self._database.read("dump.present", batch.owner, **params)
            return row

        rows = await in_halves(batch.parts, look)
        return {name: [one for row in rows for one in row[name]] for name in rows[0]}


_PROPERTIES: Final = (
    "id", "recorded_at", "operation", "client", "idempotency_key", "request_hash", "answer",
)  # fmt: skip


def _observation(one: records.Observation, transaction_id: str) -> reduction.Observation:
    """Return an observation as the writer takes it."""
    fields = dict(zip(one.fields, one.values, strict=True))
    shapes: dict[str, str | None] = {}
    if one.entity_type is not None and one.kind in facts.VALUE_KINDS:
        decoded = ((name, canonical.decode(text)) for name, text in fields.items() if name != CANONICAL_NAME)
        shapes = {name: discovery.shape_of(value) for name, value in decoded}
    return reduction.Observation(
        id=one.id,
        subject_id=one.subject_id,
        entity_type=one.entity_type or "",
        kind=one.kind,
        observed_at=one.observed_at,
        recorded_at=one.recorded_at,
        fields=fields,
        transaction_id=transaction_id,
        priority=one.priority,
        specificity=one.specificity,
        observation_source=one.observation_source,
        agent=one.agent,
        basis=one.identity_basis,
        shapes=shapes,
    )
