"""A request that writes transactions of a dump again: folds, counters and edges are derived as from new ones.

Each transaction is decided like a new one, except that nothing of it is refused: another database accepted
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphmem.model import facts, schema
from graphmem.model.dismissals import Dismissal
from graphmem.model.membership import Exclusion
from graphmem.model.reduction import Observation
from graphmem.model.rule_merges import own_rule
from graphmem.model.schema import Active
from graphmem.writing import Merging, Receipt, WriteRequest, merging, rule_merging
from graphmem.writing.draft import Draft
from graphmem.writing.new_interpretation import Interpretation
from graphmem.writing.new_source import NewSource
from graphmem.writing.state import State
from graphmem.writing.things import evidence_of
from graphmem.writing.write_requests import Touched


class EndedInterpretation(NamedTuple):
    """An interpretation of a dump, with the counts of what it made."""

    interpretation: Interpretation
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class DumpedTransaction:
    """A transaction of a dump: properties, writer, observations, schema versions, files, interpretations,
    exclusions, dismissals, and the ids of observations that earlier transactions recorded."""

    properties: Mapping[str, Any]
    agent: str
    observations: tuple[Observation, ...] = ()
    versions: tuple[Mapping[str, Any], ...] = ()
    sources: tuple[NewSource, ...] = ()
    interpretations: tuple[EndedInterpretation, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    dismissals: tuple[Dismissal, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its id."""
        return self.properties["id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(WriteRequest):
    """Transactions of a dump, or schemas, that are written together.

    Attributes:
        transactions: in the order in which they were recorded. A merge, or its end, comes alone.
        schemas: the newest schema of each type with the time (microseconds) of its registration; set before
            any transaction of the type is written.
        is_newest_merge: whether the merge, or its end, is the newest of its entity: an older one changes
            nothing that is shown.
    """

    shares_turn = False

    transactions: tuple[DumpedTransaction, ...] = ()
    schemas: Mapping[str, tuple[Active, int]] = field(default_factory=dict)
    is_newest_merge: bool = True

    @property
    def observations(self) -> list[Observation]:
        """The observations of all transactions."""
        return [observation for each in self.transactions for observation in each.observations]

    @property
    def merge(self) -> Observation | None:
        """The observation that merges, or ends a merge, if there is one."""
        merges = (each for each in self.observations if each.kind in facts.MERGE_KINDS)
        return next(merges, None)

    @property
    def observation_count(self) -> int:
        """The number of observations of all transactions."""
        return len(self.observations)

    @property
    def characters(self) -> int:
        """Characters of the values of all observations."""
        return sum(len(value) for each in self.observations for value in each.fields.values())

    @property
    def applied_merging(self) -> Merging | None:
        """The merge, or its end, where it is the newest."""
        merge = self.merge
        if merge is None or not self.is_newest_merge:
            return None
        return Merging(merge.kind, merge.subject_id, facts.target(merge.kind, merge.fields))

    def touch(self, touched: Touched) -> None:
        """Add everything that the transactions and schemas name."""
        for transaction in self.transactions:
            touched.transactions.add(transaction.id)
            touched.observations.update(transaction.repeated)
            touched.sources.update(source.id for source in transaction.sources)
            touched.entities.update(
                end for each in transaction.dismissals for end in (each.entity_a, each.entity_b)
            )
            touched.types.update(version["entity_type"] for version in transaction.versions)
            if key := transaction.properties.get("idempotency_key"):
                touched.keys.add(key)
        for observation in self.observations:
            touched.observations.add(observation.id)
            if ":" in observation.subject_id:
                touched.add_relationship(observation.subject_id)
            else:
                touched.entities.add(observation.subject_id)
                if observation.kind in facts.MERGE_KINDS:
                    touched.entities.update(facts.separated(observation.fields))
                elif (rule := own_rule(self.owner, observation.entity_type, None)) is not None:
                    touched.stored.add(observation.subject_id)
                    touched.add_evidence(rule, evidence_of(rule, observation.fields))
            # What is restored does not count where its source or interpretation is excluded.
            touched.sources.update(filter(None, [observation.source_id]))
            touched.interpretations.update(filter(None, [observation.interpretation_id]))
            if observation.entity_type:
                touched.types.add(observation.entity_type)
        for entity_type, (active, _) in self.schemas.items():
            touched.types.update((entity_type, *active.document.aliases))
        if (applied := self.applied_merging) is not None:
            touched.add_merging(applied)

    def decide(self, state: State, clock: int) -> Receipt:
        """Add the schemas, then the transactions, to the state; a fact of the state stays as it is."""
        self._activate(state)
        for transaction in self.transactions:
            draft = Draft.of(state, self, transaction.properties["recorded_at"])
            # Entities first: relationships are shown between the survivors of their ends.
            for observation in sorted(transaction.observations, key=lambda each: ":" in each.subject_id):
                if not draft.is_known(observation):
                    self._observe(draft, observation)
            is_new = transaction.id not in state.transactions
            if is_new:
                for source in transaction.sources:
                    draft.add_source(source, transaction.id)
                for interpretation, counts in transaction.interpretations:
                    draft.end_interpretation(interpretation, transaction.id, counts)
                draft.exclusions.extend(transaction.exclusions)
                draft.dismissals.extend(transaction.dismissals)
                for dismissal in transaction.dismissals:
                    draft.note_dismissal(dismissal)
                for version in transaction.versions:
                    draft.versions.append({"transaction_id": transaction.id, "properties": dict(version)})
                    # The head is final already; this changes the time of its last change.
                    draft.heads[version["entity_type"]] = draft.head(version["entity_type"])
            rule_merging.settle(draft)
            for observation_id in transaction.repeated:
                draft.repeat(observation_id)
            draft.accept(_row(state, transaction) if is_new else None, transaction.id)
        return Receipt(self.transaction_id, state.recorded_at)

    def _activate(self, state: State) -> None:
        """Set the schema of each type, unless the database has the same or a greater version."""
        for kind, (active, registered_at) in sorted(self.schemas.items()):
            draft = Draft.of(state, self, registered_at)
            head = draft.head(kind)
            known = head.active
            order = schema.version_order
            if known is not None and order(known.version) >= order(active.version):
                continue
            new, old = set(active.document.aliases), set(known.document.aliases if known else ())
            taken = {name for name in new if state.aliases.get(name, kind) != kind or name in state.heads}
            draft.aliases = {**dict.fromkeys(new - taken, kind), **dict.fromkeys(old - new, None)}
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


def _row(state: State, transaction: DumpedTransaction) -> dict[str, Any]:
    properties = dict(transaction.properties)
    if properties.get("idempotency_key") in state.by_key:
        # Another transaction of the database has the key: this one is written without it.
        properties["idempotency_key"] = None
    return {"agent": transaction.agent, "properties": properties}
