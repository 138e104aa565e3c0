"""Saying that two entities are two, and undoing that: each is one fact.

Reads leave a dismissed pair out of the proposals of duplicates. A merge by rule of the pair ends: a fact
beats the rule. Nothing else of an entity changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from graphmem.database.queries import Queries
from graphmem.model import ids
from graphmem.model.fact_records import Dismissal, DismissalKind, Pair, pair_of
from graphmem.model.fact_table import DISMISSAL
from graphmem.writing import rule_merging
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.things import Things
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Receipt, Touched


class DismissedPair(NamedTuple):
    """A pair that is dismissed, with the survivors of its ends and the newest dismissal of the pair."""

    entity_a: str
    entity_b: str
    survivor_a: str
    survivor_b: str
    dismissal_id: str
    dismissed_at: int  # microseconds
    reason: str | None
    agent: str | None  # the thumbprint of the writer

    @property
    def pair(self) -> Pair:
        return self.entity_a, self.entity_b

    @property
    def survivors(self) -> Pair:
        return pair_of(self.survivor_a, self.survivor_b)


async def dismissed_pairs(queries: Queries, entity_ids: Iterable[str]) -> list[DismissedPair]:
    """Return the dismissed pairs that have an end among some entities, or among the members of these."""
    entity_ids = sorted(set(entity_ids))
    if not entity_ids:
        return []
    return await queries.only("dismissal.of_entities", list[DismissedPair], entity_ids=entity_ids)


async def dismissed_with(queries: Queries, state: State, entity_ids: Iterable[str]) -> dict[Pair, str]:
    """Return the newest dismissal of each dismissed pair that has one of some entities as an end."""
    entity_ids = set(entity_ids)
    roots = {state.entities.root(entity_id) for entity_id in entity_ids}
    dismissed = await dismissed_pairs(queries, roots | entity_ids)
    return {each.pair: each.dismissal_id for each in dismissed}


def dismiss(draft: Draft, kind: DismissalKind, pair: Pair, reason: str | None) -> None:
    """Say that two entities are two, or that they may be one again."""
    transaction_id = draft.request.transaction_id
    dismissal_id = ids.dismissal_id(transaction_id, len(draft.added(DISMISSAL)))
    a, b = pair
    fact = Dismissal.model_construct(id=dismissal_id, kind=kind, entity_a=a, entity_b=b, reason=reason)
    draft.add(fact, transaction_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DismissalRequest(TransactionRequest):
    """Two entities (``pair``, the lesser id first) are two, or (``undo``) may be one again."""

    shares_turn = False

    kind: DismissalKind
    pair: Pair
    reason: str | None = None
    dismissed: Mapping[Pair, str] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        return {"dismissal": [self.kind, *self.pair, self.reason]}

    async def informed(self, queries: Queries, state: State) -> Self:
        return replace(self, dismissed=await dismissed_with(queries, state, self.pair))

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        touched.entities.update(self.pair)

    def apply(self, draft: Draft) -> Receipt:
        """Add the facts, unless what they say holds already: then only a key has its answer kept."""
        members = self._members(draft)
        dismissed = [pair for pair in sorted(self.dismissed) if _joins(pair, members)]
        turned = dismissed if self.kind == "undo" else [] if dismissed else [self.pair]
        if not draft.issues:
            for pair in turned:
                dismiss(draft, self.kind, pair, self.reason)
            rule_merging.settle(draft)
        dismissal_ids = [row["properties"]["id"] for row in draft.added(DISMISSAL)]
        result = {"changed": bool(turned), "dismissal_ids": dismissal_ids}
        is_written = bool(turned) or self.idempotency_key is not None
        return Receipt(self.transaction_id, draft.recorded_at, result=result, is_written=is_written)

    def _members(self, draft: Draft) -> list[set[str]]:
        """Return the ids that each end of the pair stands for; refuse a pair that is no pair."""
        names, entities = ("entity_a", "entity_b"), draft.entities
        for name, entity_id in zip(names, self.pair, strict=True):
            if not draft.exists(entity_id):
                draft.refuse("ERR_TARGET_NOT_FOUND", f"$.{name}", f"there is no entity {entity_id}")
        if draft.issues:
            return []
        roots = [entities.root(entity_id) for entity_id in self.pair]
        if roots[0] != roots[1]:
            return [{each.subject_id for each in entities.members(root)} for root in roots]
        by_fact = [_root_by_facts(entities, entity_id) for entity_id in self.pair]
        if by_fact[0] != by_fact[1] and self.kind == "dismiss":
            # A rule made them one: the dismissal ends that.
            together = [each.subject_id for each in entities.members(roots[0])]
            return [{each for each in together if _root_by_facts(entities, each) == root} for root in by_fact]
        if self.pair[0] == self.pair[1]:
            draft.refuse("ERR_DISMISSAL_REFUSED", "$.entity_b", "an entity is no duplicate of itself")
        elif self.kind == "dismiss":
            message = f"both are merged into {roots[0]}: POST /entities/unmerge says that they are two"
            draft.refuse("ERR_DISMISSAL_REFUSED", "$.entity_b", message)
        return [{entity_id} for entity_id in self.pair]


def _root_by_facts(entities: Things, entity_id: str) -> str:
    """Return the survivor of an entity by the merges that somebody asked for, without those by rule."""
    chained = entities.chain(entity_id)
    merged_by_rule = (each for each in chained if (entity := entities.get(each)) and entity.merged_by)
    return next(merged_by_rule, chained[-1])


def _joins(pair: Pair, members: list[set[str]]) -> bool:
    if not members:
        return False
    (a, b), (first, second) = pair, members
    return (a in first and b in second) or (a in second and b in first)
