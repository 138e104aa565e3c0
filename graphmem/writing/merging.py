"""Merging entities, and undoing it: each is one observation, from which all that is shown follows.

No observation moves. A merge makes the target the survivor of the source; each keeps its own observations, so
that an unmerge gives each back what it had and what was stored under it meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from graphmem.database.queries import Queries
from graphmem.model import canonical, facts, ids
from graphmem.model.reduction import Observation
from graphmem.writing import rule_merging
from graphmem.writing.draft import Draft
from graphmem.writing.refolding import refold_moved
from graphmem.writing.state import State
from graphmem.writing.things import Thing
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Merging, Receipt, Touched

MEMBERS_LIMIT: Final = 200  # entities that one survivor may show, itself among them


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest(TransactionRequest):
    """A merge of two entities, or the end of one."""

    shares_turn = False

    merging: Merging

    async def informed(self, queries: Queries, state: State) -> Self:
        await refold_moved(queries, state, self.merging)
        return self

    @property
    def content(self) -> dict[str, Any]:
        merging = self.merging
        described = [merging.kind, merging.source, merging.target, merging.reason]
        described += [merging.name_from] if merging.name_from else []
        return {"merging": described}

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        touched.add_merging(self.merging)

    def apply(self, draft: Draft) -> Receipt:
        source = _entity(draft, self.merging.source, "$.source_entity_id")
        act = self._merge if self.merging.kind == "merge" else self._unmerge
        result = act(draft, source)
        rule_merging.settle(draft)
        return Receipt(self.transaction_id, draft.recorded_at, result=result)

    def _merge(self, draft: Draft, source: Thing) -> dict[str, Any]:
        target = _entity(draft, self.merging.target or "", "$.target_entity_id")
        if source.subject_id == target.subject_id:
            message = "an entity is not merged into itself"
            draft.stop("ERR_MERGE_REFUSED", "$.target_entity_id", message)
        for name, entity in (("source_entity_id", source), ("target_entity_id", target)):
            if entity.into and not (entity is source and entity.merged_by):
                merged = f"{entity.subject_id} is merged into {entity.into} already"
                message = f"{merged}: act on {entity.into}, or unmerge {entity.subject_id} first"
                draft.stop("ERR_MERGE_REFUSED", f"$.{name}", message)
            if not entity.live:
                message = f"{entity.subject_id} is deleted: restore it first"
                draft.stop("ERR_MERGE_REFUSED", f"$.{name}", message)
        if target.subject_id in {member.subject_id for member in draft.entities.members(source.subject_id)}:
            message = f"{target.subject_id} is merged into {source.subject_id} already"
            draft.stop("ERR_MERGE_REFUSED", "$.target_entity_id", message)
        moved = draft.entities.members(source.subject_id)
        if len(moved) + len(draft.entities.members(target.subject_id)) > MEMBERS_LIMIT:
            message = f"more than {MEMBERS_LIMIT} entities would be merged into one"
            draft.stop("ERR_MERGE_REFUSED", "$.target_entity_id", message)
        former = draft.entities.root(source.subject_id)
        self._observe(draft, source, target.subject_id)
        draft.bump(draft.entities, target.subject_id)
        draft.bump(draft.entities, former)
        return _regroup(draft, moved, source.subject_id, target.subject_id)

    def _unmerge(self, draft: Draft, source: Thing) -> dict[str, Any]:
        into, target = source.into, self.merging.target
        if not into:
            message = f"{source.subject_id} is not merged into another"
            draft.stop("ERR_NOTHING_TO_TURN", "$.source_entity_id", message)
        survivor_id = draft.entities.root(source.subject_id)
        if target is not None and target not in (into, survivor_id):
            message = f"{source.subject_id} is merged into {into}, not into {target}"
            draft.stop("ERR_NOTHING_TO_TURN", "$.target_entity_id", message)
        moved = draft.entities.members(source.subject_id)
        others = {member.subject_id for member in draft.entities.members(survivor_id)}
        others -= {member.subject_id for member in moved}
        self._observe(draft, source, None, others)
        draft.separate(source.subject_id, others)
        draft.bump(draft.entities, survivor_id)
        return _regroup(draft, moved, source.subject_id, into)

    def _observe(self, draft: Draft, source: Thing, into: str | None, separated: Iterable[str] = ()) -> None:
        observation = self.observation(source.kind, draft.recorded_at, separated)
        draft.observe_entity(observation)
        rule = facts.merge_rule(observation.kind, observation.fields, observation.observed_at)
        draft.place(source, into, merge_rule=rule)

    def observation(self, entity_type: str, recorded_at: int, separated: Iterable[str] = ()) -> Observation:
        """Return the observation of the source; an unmerge separates it from members."""
        fields: dict[str, Any] = {"into": self.merging.target, "reason": self.merging.reason}
        if self.merging.kind == "merge":
            fields |= {facts.RULE_VERSION: 2, facts.NAME_FROM: self.merging.name_from}
        if separated:
            fields[facts.SEPARATED] = sorted(separated)
        return Observation(
            id=ids.unplaced_observation_id(self.transaction_id, 0), subject_id=self.merging.source,
            entity_type=entity_type, kind=self.merging.kind, observed_at=recorded_at, recorded_at=recorded_at,
            fields={name: canonical.encode(value) for name, value in fields.items() if value is not None},
            transaction_id=self.transaction_id, agent=self.agent,
        )  # fmt: skip


def _entity(draft: Draft, entity_id: str, path: str) -> Thing:
    entity = draft.entities.get(entity_id)
    if entity is None or not draft.exists(entity_id):
        draft.stop("ERR_TARGET_NOT_FOUND", path, f"there is no entity {entity_id}")
    return entity


def restore_observation(draft: Draft, observation: Observation, *, is_newest: bool) -> None:
    """Add a merge, or its end, of another database; only the newest of its entity shows something."""
    entities = draft.entities
    source_id, into = observation.subject_id, facts.target(observation.kind, observation.fields)
    root = entities.root(source_id)
    draft.separate(source_id, facts.separated(observation.fields))
    applies = into is None or (entities.get(into) is not None and source_id not in entities.chain(into))
    source = entities.get(source_id)
    rule = facts.merge_rule(observation.kind, observation.fields, observation.observed_at)
    same = source is not None and (source.into, source.merged_by, source.merge_rule) == (into, None, rule)
    if not is_newest or not applies or same or (source is None and into is None):
        draft.observe_entity(observation)
        return
    moved = entities.members(source_id)
    draft.observe_entity(observation)
    draft.place(source or entities[source_id], into, merge_rule=rule)
    # The entity that it is merged into may be merged by rule.
    for survivor_id in (root, entities.root(into) if into else root):
        draft.bump(entities, survivor_id)
    _regroup(draft, moved, source_id, into or root)


def _regroup(draft: Draft, moved: list[Thing], source: str, target: str) -> dict[str, Any]:
    """Show the relationships of the moved entities at their survivor; return what a merge answers."""
    observed = draft.regroup_moved(moved)
    return {
        "source_entity_id": source,
        "target_entity_id": target,
        "entities": len(moved),
        "observations": sum(entity.observation_count for entity in moved),
        "relationships": len(observed),
    }
