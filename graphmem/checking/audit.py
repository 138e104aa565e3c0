"""Comparing everything derived with the facts, and writing it again from them.

The audit first compares with the withdrawals what is noted on observations: when they count. Then it reads an
owner's entities and relationships in stretches, which bound the memory, derives all that nodes and edges show
from the observations, and compares it with them. Counters and the state hash are summed up over all
stretches, and compared if nothing was written meanwhile.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import structlog

from graphmem.checking import fact_check
from graphmem.checking.fact_check import Seen, StampCheck, derive
from graphmem.checking.stretch import (
    AuditDifference,
    Kind,
    Place,
    Report,
    StoredNodes,
    Stretch,
    kinds_of,
    stretches,
)
from graphmem.database.driver import Database
from graphmem.database.jobs import in_halves
from graphmem.database.left_out import MET_DAMAGE, keeping_unopened, refused, without_wrong_types
from graphmem.database.queries import Queries
from graphmem.errors import DatabaseFull, DataDamaged, TransactionTooLarge
from graphmem.model import ids, state_hash, times
from graphmem.model.membership import Membership
from graphmem.model.reduction import Torn
from graphmem.writing import Writers, forms, parting, refolding, turn_rows, vectors
from graphmem.writing import state as states
from graphmem.writing.rule_evidence import EvidenceReader
from graphmem.writing.state import LockedOwner, LookRow, State
from graphmem.writing.things import Things
from graphmem.writing.write_requests import LookAgain, Touched

STRETCH_SUBJECTS: Final = 2_500  # entities and relationships that are checked at once
STAMPED_SUBJECTS: Final = 5_000
"""Entities and relationships of which one statement compares when their observations count."""
VECTORS_AT_ONCE: Final = 250  # entities whose vectors are made in one callback of the event loop
READS_LIMIT: Final = 5  # how often a stretch is read while commits change it

_DAMAGE: Final = (*MET_DAMAGE, DataDamaged, Torn)  # what is raised that compares something damaged
_HALVED: Final = (*_DAMAGE, DatabaseFull, TransactionTooLarge)
_log = structlog.get_logger("graphmem.audit")


class _StoredCounts(NamedTuple):
    counts: list[tuple[str, str, int, int, int, int]]  # kind and type, then as ``turn_rows.count`` has them
    revision: int
    state_hash: str | None
    is_behind: bool
    kept: list[Any]
    counted: list[int]
    has_key: bool


Progress = Callable[[int], None]
"""Called with the number of entities or relationships checked since the last call."""


@dataclass(slots=True)
class Audit:
    """One pass over all entities and relationships of an owner."""

    database: Database
    owner: str
    writers: Writers  # their embedder makes vectors
    fix: bool = False
    deep: bool = False  # also read every fact as a dump has it, and compare the fields of discovered schemas
    progress: Progress | None = None
    report: Report = field(default_factory=Report)
    place: Place = field(default_factory=lambda: Place("stamps"))  # how far it has come
    revision: int = 0  # the owner's, with the writes of the audit since then
    seen_revision: int = -1  # the last that was read
    moved: set[str] = field(default_factory=set)
    seen: Seen = field(default_factory=dict)
    _tx: Queries | None = None

    @property
    def state(self) -> dict[str, Any]:
        """How far the audit has come, and what it has counted, as JSON: :meth:`resume` takes it."""
        # What was mended may come again at a later place: only this process knows that it was counted.
        settled = self.report.settled and not self.moved
        return {"place": self.place, "revision": self.revision, "sums": self.report.sums, "settled": settled}

    def resume(self, state: dict[str, Any]) -> None:
        self.place, self.revision = Place(*state["place"]), state["revision"]
        self.report = Report.of_sums(state["sums"], settled=state["settled"])

    async def run(self, entity_types: Iterable[str], relationship_types: Iterable[str]) -> Report:
        async for _ in self.pages(entity_types, relationship_types):
            pass
        return self.report

    async def pages(
        self, entity_types: Iterable[str], relationship_types: Iterable[str]
    ) -> AsyncIterator[None]:
        """Check all entities and relationships of these types, from ``place`` on; yield after each page."""
        # Of a type that is a list the counters tell.
        entity_types, relationship_types = (
            sorted({each for each in types if not isinstance(each, list)}, key=str)
            for types in (entity_types, relationship_types)
        )
        kinds = kinds_of(entity_types, relationship_types)
        if self.place.phase == "stamps":
            if (await self._read_counts()).is_behind:
                # What was observed since then would be taken away.
                raise refused(self.owner)
            if self.deep and not self.place.after:
                with self._naming("facts"):
                    owner = await self.database.writes(self.owner).one("owner.lock", LockedOwner)
                    if owner is not None:
                        facts = fact_check.differences(self._queries, self.owner, owner.sequence)
                        async for difference in facts:
                            self.report.note([difference])
            with self._naming("withdrawals"):
                async for _ in self._check_stamps(self.place.left(kinds)):
                    yield
            self.revision = self.seen_revision = (await self._read_counts()).revision
            self.place = Place("subjects")
        if self.place.phase == "subjects":
            async for _ in self._check_subjects(self.place.left(kinds)):
                yield
            if self.deep:
                with self._naming("schemas"):
                    await self._compare_heads()
            with self._naming("counts"):
                await self._settle()
            self.place = Place("passages", (times.EARLIEST, ""))
            if self.report.checked > STRETCH_SUBJECTS:
                # Who has little is answered whole, however long it takes.
                yield
        async for differences, at in fact_check.pages(
            self.database, self.owner, self.writers.embedder, self.place.after
        ):
            await self._note_passages(differences)
            if at is not None:
                self.place = Place("passages", at)
                yield

    @contextlib.contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as exc:
            _log.warning("what is stored is too damaged to be compared", what=what, reason=repr(exc)[:500])
            self.report.settled = False  # the counters would lack it
            self.report.note([AuditDifference(what, "damaged", str(exc), None, is_fact=True)])

    async def _check_stamps(self, kinds: list[Kind]) -> AsyncIterator[None]:
        """Compare what is noted on observations with the withdrawals, before anything is derived."""
        check = StampCheck(self.database, self.owner, self.fix)
        if not self.place.after:
            # Waits for commits under way: the reads that follow see them whole.
            await self.database.write("owner.lock", self.owner)
            await check.compare_withdrawn()
            if check.unstamped:
                # A large withdrawal is under way: go on with it.
                await self.writers.refold_withdrawn(self.owner, 1)
                await check.compare_withdrawn()
            self._note_stamps(check)
        async for subject_ids, left in stretches(self._queries, kinds, STAMPED_SUBJECTS):
            await check.compare([*subject_ids])
            self._note_stamps(check)
            if left:
                self.place = Place("stamps", left[0])
                yield

    def _note_stamps(self, check: StampCheck) -> None:
        for subject_id, differences in check.differences.items():
            self.report.note(differences)
            if self.fix:
                self.report.fixed += 1
            else:
                self.report.counted.add(subject_id)
        check.differences.clear()

    async def _check_subjects(self, kinds: list[Kind]) -> AsyncIterator[None]:
        async for subject_ids, left in stretches(self._queries, kinds, STRETCH_SUBJECTS):
            # A mended one may come again at a later place: it was counted before.
            new = [each for each in subject_ids if each not in self.moved]
            if new:
                await in_halves(new, self._check, _HALVED)
            if left:
                self.place = Place("subjects", left[0])
                yield

    async def _note_passages(self, wrong: list[AuditDifference]) -> None:
        """Note the files whose passages differ; the worker makes those anew, if asked to."""
        for each in wrong:
            self.report.note([each])
        if self.fix and wrong:
            ids_of_wrong = [each.subject_id for each in wrong]
            await self.database.write("audit.reread", self.owner, ids=ids_of_wrong)
            self.report.fixed += len(wrong)

    async def _check(self, subject_ids: list[str]) -> None:
        entities = [each for each in subject_ids if ":" not in str(each)]
        relationships = [each for each in subject_ids if ":" in str(each)]
        with self._naming(subject_ids[0]) if len(subject_ids) == 1 else contextlib.nullcontext():
            stretch = None
            with contextlib.suppress(Torn):
                stretch = await self._compare(entities, relationships)
            if stretch is None or stretch.differences:
                stretch = await self._compare_whole(entities, relationships)
            self.report.add(stretch)
            if self.progress:
                self.progress(len(subject_ids))

    async def _compare(self, entities: list[str], relationships: list[str]) -> Stretch:
        """Compare a stretch, again while commits change it. What changes each time stays unchecked."""
        subject_ids = entities + relationships
        stretch = Stretch(self.owner, states.empty(), states.empty(), subject_ids)
        for _ in range(READS_LIMIT):
            read = await self._read_stretch(entities, relationships)
            if read is None:
                break
            stored, merges = read
            derived = await derive(self._queries, stored, merges, self.seen, entities)
            subjects = {"entities": [*stored.entities], "relationships": [*stored.relationships]}
            with keeping_unopened():
                nodes = await self._queries.only("audit.nodes", StoredNodes, **subjects)
            await self._part(derived, nodes)
            stretch = Stretch(self.owner, stored, derived, subject_ids)
            await asyncio.to_thread(stretch.compare, nodes, await self._expected_vectors(stretch))
            self.seen_revision = nodes.revision
            if self.seen_revision != stored.read.revision:
                reread = await self._look({*stored.entities}, relationships)
                stretch.unchecked = set() if reread.read.is_new_owner else stretch.changed(reread)
            if not stretch.unchecked:
                break
        return stretch

    async def _part(self, derived: State, nodes: StoredNodes) -> None:
        """Derive who shares an address where what is stored of it contradicts itself."""
        for node in nodes.entities:
            entity, part_ids = derived.entities.get(node.subject_id), node.properties.get("parted_into") or []
            known_ids = entity.parting.ids if entity and entity.parting else []
            if entity is not None and part_ids != known_ids:
                homes = {*known_ids, *(each for each in part_ids if isinstance(each, str))}
                parted = await parting.of_observations(self._queries, self.owner, entity, sorted(homes))
                derived.entities.put(replace(entity, parting=parted or entity.parting))

    async def _expected_vectors(self, stretch: Stretch) -> dict[str, vectors.EntityVector]:
        """Return the vectors that entities should have; others have the event loop meanwhile."""
        nodes = list((await asyncio.to_thread(lambda: stretch.nodes)).items())
        expected: dict[str, vectors.EntityVector] = {}
        for start in range(0, len(nodes), VECTORS_AT_ONCE):
            part = dict(nodes[start : start + VECTORS_AT_ONCE])
            expected |= await vectors.expected(self.owner, part, self.writers.embedder)
            await asyncio.sleep(0)
        return expected

    async def _read_stretch(
        self, entities: list[str], relationships: list[str]
    ) -> tuple[State, Membership] | None:
        """Return the stored state of a stretch, folded again where its schema has changed, and its merges."""
        ends = [end for key in relationships for end in ids.ends(key)]
        entity_ids = {*entities, *ends}
        merges = Membership()
        for last in (False,) * (READS_LIMIT - 1) + (True,):
            touched = {*entity_ids, *merges.entity_ids}
            stored = await self._look(touched, relationships)
            if stored.read.is_new_owner:
                return None
            if stored.is_stale and not last:
                # Its schema has changed: a read of the entity would fold it again as well.
                async with self._locked():
                    await self._refold(touched, relationships)
                continue
            # Merges that are read after the state: one in between is seen as a change by the next read.
            reader = EvidenceReader(self._queries, self.owner, self.writers.rules_off)
            merges = await reader.membership(entity_ids)
            if last or all(stored.entities.get(subject_id) for subject_id in merges.entity_ids):
                # What is missing in the last read is damage: the comparison reports it.
                return stored, merges
        raise AssertionError("unreachable: the last read returns")

    async def _refold(self, entities: set[str], relationships: list[str]) -> None:
        further = Touched()
        while (state := await self._look(entities, relationships, further=further)).is_stale:
            try:
                await refolding.refold(self._queries, state)
                refolding.settle(state)
            except LookAgain as exc:
                further.add(exc.further)
                continue
            self.revision += await self._turn(turn_rows.parameters(state))
            return

    async def _look(
        self,
        entities: set[str],
        relationships: list[str],
        types: Sequence[str] = (),
        further: Touched | None = None,
    ) -> State:
        touched = Touched(entities=entities, relationships=set(relationships), types=set(types))
        if further is not None:
            touched.add(further)
        with keeping_unopened():
            look = await self._queries.only("write.look", LookRow, **touched.parameters)
        return await asyncio.to_thread(self._state, look, touched)

    def _state(self, look: LookRow, touched: Touched) -> State:
        # A derived value of a wrong type differs from what it should be, and is mended: so does none.
        look = look._replace(
            entities=[without_wrong_types(row) for row in look.entities],
            relationships=[without_wrong_types(row) for row in look.relationships],
        )
        return states.of_look(look, self.owner, touched, self.writers.rules_off, whole=False)

    async def _compare_heads(self) -> None:
        """Compare the shapes seen with the heads of schemas, and mend them, unless another process wrote."""
        async with self._locked():
            if (await self._read_counts()).revision != self.revision:
                return
            state = await self._look(set(), [], sorted(self.seen, key=str))
            if state.read.is_new_owner:
                return
            for kind, seen in sorted(self.seen.items(), key=str):
                head = state.head(kind)
                if head.seen != seen:
                    self.report.note(
                        [AuditDifference(f"schema {kind}", "fields", sorted(head.seen), sorted(seen))]
                    )
                    state.heads[kind] = replace(head, seen=seen)
                    state.new.heads[kind] = state.read.recorded_at
            if self.fix and state.new.heads:
                self.revision += await self._turn(turn_rows.parameters(state))
                self.report.fixed += len(state.new.heads)

    async def _mend(self, stretch: Stretch) -> bool:
        """Write the derived state, if asked to; return false where another write was faster. Counters and the
        state hash stay: the damage did not change them."""
        mendable = stretch.mendable
        if not self.fix or not mendable:
            return True
        # All is written as if nothing were stored: what is damaged may be no JSON.
        derived = replace(stretch.derived, entities_before=Things(), relationships_before=Things())
        params = turn_rows.parameters(derived)
        for part in ("entities", "relationships"):
            params[part] = [row for row in params[part] if row["subject_id"] in mendable]
        params |= {"counts": [], "state_hash": derived.read.hash}
        stretch.correct(params)
        written = await self._turn(params)
        self.revision += written
        if written:
            stretch.mended = len(mendable)
            self.moved.update(mendable)
        return written

    async def _compare_whole(self, entities: list[str], relationships: list[str]) -> Stretch:
        """Compare a stretch again at a revision that is seen whole, at last under the lock, and mend it."""
        for _ in range(READS_LIMIT if self._tx is None else 0):
            owner = await self.database.writes(self.owner).only("owner.lock", LockedOwner)
            with contextlib.suppress(Torn):
                stretch = await self._compare(entities, relationships)
                if stretch.stored.read.revision == owner.revision and await self._mend(stretch):
                    return stretch
        async with self._locked():
            stretch = await self._compare(entities, relationships)
            await self._mend(stretch)
        return stretch

    @contextlib.asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the owner's lock: its holder sees every commit whole."""
        if self._tx is not None:
            yield
            return
        async with self.database.transaction(self.owner) as self._tx:
            try:
                await self._tx.rows("owner.lock")
                yield
            finally:
                self._tx = None

    async def _turn(self, params: dict[str, Any]) -> bool:
        self.writers.settings.check_disk()
        await vectors.embed(params, self.writers.embedder)
        return await forms.write(params, self._tx or self.database.writes(self.owner))

    async def _read_counts(self) -> _StoredCounts:
        return await self._queries.only("audit.counts", _StoredCounts)

    async def _settle(self) -> None:
        """Compare the counters and the state hash, if nothing but this pass has written meanwhile."""
        async with self._locked():
            now = await self._read_counts()
        report = self.report
        if now.revision != self.revision or report.unchecked:
            report.settled = False
        if not report.settled:
            return
        hashed = state_hash.updated(state_hash.EMPTY, report.hash, 0)
        stored = {(kind, name): numbers for kind, name, *numbers in now.counts}
        differences = [
            AuditDifference(
                f"{kind} {name}", "counts", stored.get((kind, name)), report.counts.get((kind, name))
            )
            for kind, name in sorted({*stored, *report.counts}, key=str)
            if stored.get((kind, name), [0] * 4) != report.counts.get((kind, name), [0] * 4)
        ]
        # An owner who has never stored anything has no node, and so no hash.
        stored_hash = now.state_hash or state_hash.EMPTY
        if stored_hash != hashed:
            differences.append(AuditDifference("owner", "state_hash", stored_hash, hashed))
        if now.kept != now.counted:
            what = "events, sources and interpretations"
            differences.append(AuditDifference("owner", what, now.kept, now.counted))
        if not now.has_key:
            differences.append(AuditDifference("owner", "node_key", "damaged", None))
        for difference in differences:
            report.note([difference])
        if self.fix and differences:
            counts = turn_rows.count_rows(
                {key: report.counts.get(key, [0] * 4) for key in {*stored, *report.counts}}
            )
            self.writers.settings.check_disk()
            written = await self.database.write(
                "audit.settle", self.owner, revision=now.revision, state_hash=hashed, counts=counts
            )
            report.fixed += len(differences) if written else 0
            report.settled = bool(written)

    @property
    def _queries(self) -> Queries:
        """The reads of the owner: under the lock, if it is held."""
        return self._tx or self.database.reads(self.owner)
