"""A request that writes transactions of a dump again: folds, counters and edges are derived as from new ones.

Each transaction is decided like a new one, except that nothing of it is refused: another database accepted
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

from graphmem.database.queries import Queries
from graphmem.dump.batches import BatchPart
from graphmem.model import canonical, discovery, fact_records, facts, schema
from graphmem.model.attribution import writers_of
from graphmem.model.fact_records import Fact, Repeat, SchemaRecord
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.identity_rules import own_rule
from graphmem.model.reduction import Observation
from graphmem.model.schema import Active
from graphmem.writing import Merging, Receipt, WriteRequest, merging, parting, placement, rule_merging
from graphmem.writing.draft import Draft
from graphmem.writing.refolding import refold_moved
from graphmem.writing.state import State
from graphmem.writing.things import evidence_of
from graphmem.writing.write_requests import Touched


class DumpedTransaction:
    """A transaction of a dump: properties, writer, observations, its other facts.

    ``versions`` are those of schemas that it recorded and the database lacks, ``repeated`` the ids of
    observations that earlier transactions recorded. ``more`` are properties of this database. ``is_late``:
    the database has it without the facts given.
    """

    def __init__(
        self, part: BatchPart, versions: Sequence[SchemaRecord], more: Mapping[str, Any],
        is_late: bool = False,
    ) -> None:  # fmt: skip
        self.id, self.versions, self.is_late = part.transaction.id, versions, is_late
        self.properties: dict[str, Any] = {**part.transaction.stored, **more}
        self.agent: str = self.properties.pop("agent")
        self.observations = [_observation(record, part.transaction) for record in part.observations]
        every = chain.from_iterable(part.records.values())
        self.facts = [record for record in every if isinstance(record, Fact)]
        self.repeated = [record.id for record in part.of(Repeat)]

    def writers(self, owner: str) -> list[str]:
        return writers_of(owner, self.agent, self.properties["client"], self.properties["by"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(WriteRequest):
    """Transactions of a dump, or schemas, that are written together.

    Attributes:
        transactions: in the order in which they were recorded. A merge, or its end, comes alone.
        schemas: the newest schema of each type with the time (microseconds) of its registration; set before
            any transaction of the type is written.
        learns: whether this copy learns of the transactions from another one at this moment.
        is_living: whether the owner had written something before the restore: watchers are then told of the
            restore, and not of each of its transactions.
        is_newest_merge: whether the merge, or its end, is the newest of its entity: an older one changes
            nothing that is shown.
    """

    shares_turn = False
    again = "restore the dump again, which writes what is missing"

    transactions: tuple[DumpedTransaction, ...] = ()
    schemas: Mapping[str, tuple[Active, int]] = field(default_factory=dict)
    is_newest_merge: bool = True
    is_living: bool = False
    learns: bool = False

    @property
    def observations(self) -> list[Observation]:
        return [observation for each in self.transactions for observation in each.observations]

    @property
    def merge(self) -> Observation | None:
        """The observation that merges, or ends a merge, if there is one."""
        return next((each for each in self.observations if each.kind in facts.MERGE_KINDS), None)

    @property
    def observation_count(self) -> int:
        return len(self.observations)

    @property
    def characters(self) -> int:
        return sum(len(value) for each in self.observations for value in each.fields.values())

    async def informed(self, queries: Queries, state: State) -> Self:
        """Fold what a merge moves by the rules of its new type."""
        if (applied := self._applied_merging) is not None:
            await refold_moved(queries, state, applied)
        return self

    @property
    def _applied_merging(self) -> Merging | None:
        """The merge, or its end, where it is the newest."""
        merge = self.merge
        if merge is None or not self.is_newest_merge:
            return None
        return Merging(merge.kind, merge.subject_id, facts.target(merge.kind, merge.fields))

    def touch(self, touched: Touched) -> None:
        for transaction in self.transactions:
            touched.transactions.add(transaction.id)
            touched.writers.update(transaction.writers(self.owner))
            touched.observations.update(transaction.repeated)
            touched.add_subjects(subject_id for fact in transaction.facts for subject_id in fact.named)
            touched.types.update(version.entity_type for version in transaction.versions)
            if key := transaction.properties.get("idempotency_key"):
                touched.keys.add(key)
        touched.add_subjects(observation.subject_id for observation in self.observations)
        for observation in self.observations:
            touched.observations.add(observation.id)
            rule = own_rule(self.owner, observation.entity_type, None) if observation.entity_type else None
            form = parting.of_observation(observation)
            parting.note(touched.addresses, observation.subject_id, observation.entity_type, form)
            if observation.kind in facts.MERGE_KINDS:
                touched.entities.update(facts.separated(observation.fields))
            elif rule is not None:
                touched.stored.add(observation.subject_id)
                touched.add_evidence(rule, evidence_of(rule, observation.fields, observation.basis))
            # What is restored does not count where its source or interpretation is withdrawn.
            touched.sources.update(filter(None, [observation.source_id]))
            touched.interpretations.update(filter(None, [observation.interpretation_id]))
            if observation.entity_type:
                touched.types.add(observation.entity_type)
        for entity_type, (active, _) in self.schemas.items():
            touched.types.update((entity_type, *active.document.aliases))
        if (applied := self._applied_merging) is not None:
            touched.add_merging(applied)

    def decide(self, state: State, clock: int) -> Receipt:
        """Add the schemas, then the transactions, to the state; a fact of the state stays as it is."""
        self._activate(state)
        for transaction in self.transactions:
            draft = Draft.of(
                state, self, transaction.properties["recorded_at"], transaction.writers(self.owner)
            )
            # Entities first: relationships are shown between the survivors of their ends.
            observations = parting.placed_observations(transaction.observations, state)
            parting.need(state, [each.subject_id for each in observations if each.home])
            for observation in sorted(observations, key=lambda each: ":" in each.subject_id):
                if not draft.is_known(observation):
                    self._observe(draft, observation)
            is_new = transaction.id not in state.read.transactions
            if is_new or transaction.is_late:
                for fact in (*transaction.facts, *transaction.versions):
                    draft.add(fact, transaction.id)
                for version in transaction.versions:
                    # The head is final already; this changes the time of its last change.
                    draft.heads[version.entity_type] = draft.head(version.entity_type)
            rule_merging.settle(draft)
            for observation_id in transaction.repeated:
                draft.repeat(observation_id, transaction.id)
            draft.accept(self._row(state, transaction, clock) if is_new else None)
        placement.need(state)
        return Receipt(self.transaction_id, state.read.recorded_at)

    def _row(self, state: State, transaction: DumpedTransaction, clock: int) -> dict[str, Any]:
        properties = {**transaction.properties, **({"restored": True} if self.is_living else {})}
        if self.learns:
            learned_at = max(clock, state.read.recorded_at + 1) + len(state.new.transactions)
            properties["learned_at"] = learned_at if learned_at > properties["recorded_at"] else None
        if properties.get("idempotency_key") in state.by_key:
            # Another transaction of the database has the key: this one is written without it.
            properties |= {"idempotency_key": None, "lost_key": properties["idempotency_key"]}
        return {"agent": transaction.agent, "properties": properties}

    def _activate(self, state: State) -> None:
        """Set the schema of each type, unless the database has the same or a greater version."""
        for kind, (active, registered_at) in sorted(self.schemas.items()):
            draft = Draft.of(state, self, registered_at)
            head = draft.head(kind)
            known, text = head.active, active.document.text
            order = schema.version_order
            if known is not None and order(known.version) > order(active.version):
                continue
            # A later version may say again what an earlier one said.
            if known is not None and (known.version, known.document.text) == (active.version, text):
                continue
            new, old = set(active.document.aliases), set(known.document.aliases if known else ())
            names_in_use = {
                name for name in new if state.read.aliases.get(name, kind) != kind or name in state.heads
            }
            draft.new.aliases = {**dict.fromkeys(new - names_in_use, kind), **dict.fromkeys(old - new, None)}
            # Where nothing is stored of the type yet, there is nothing to fold again.
            changed = head.with_active(active)
            draft.heads[kind] = changed if kind in state.heads else replace(changed, changed=False)
            draft.accept(None)

    def _observe(self, draft: Draft, observation: Observation) -> None:
        if ":" in observation.subject_id:
            draft.observe_relationship(observation)
        elif observation.kind in facts.MERGE_KINDS:
            merging.restore_observation(draft, observation, is_newest=self.is_newest_merge)
        else:
            draft.observe_entity(observation)


def _observation(
    record: fact_records.ObservationRecord, transaction: fact_records.TransactionRecord
) -> Observation:
    fields = dict(zip(record.fields, record.values, strict=True))
    shapes: dict[str, str | None] = {}
    if record.entity_type is not None and record.kind in facts.VALUE_KINDS:
        decoded = ((name, canonical.decode(text)) for name, text in fields.items() if name != CANONICAL_NAME)
        shapes = {name: discovery.shape_of(value) for name, value in decoded}
    # Of an observation whose first transaction comes later, the record has the time of that one already.
    return Observation(
        id=record.id, subject_id=record.subject_id, entity_type=record.entity_type or "", kind=record.kind,
        observed_at=record.observed_at, recorded_at=transaction.recorded_at, fields=fields,
        transaction_id=transaction.id, priority=record.priority, specificity=record.specificity,
        observation_source=record.observation_source, agent=record.agent, basis=record.identity_basis,
        shapes=shapes, source_id=record.source_id, interpretation_id=record.interpretation_id,
        places=record.places,
    )  # fmt: skip
