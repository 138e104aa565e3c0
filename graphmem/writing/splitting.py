"""Splitting an entity, and undoing that: each is one fact, from which all that is shown follows.

No observation is changed. Those that a split selects count for another entity from then on; what is stored
later follows the identity rule. A split is undone by its withdrawal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

from graphmem.database.queries import Queries
from graphmem.model import ids, membership
from graphmem.model.fact_records import Pair, Split, pair_of
from graphmem.writing import parting, rule_merging, store_items, withdrawing
from graphmem.writing.dismissing_duplicates import dismiss, dismissed_with
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.store_request import StoreRequest
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import LookAgain, Receipt, Touched

SPLIT_LIMIT: Final = 1_000
"""Observations that one split moves: one transaction notes on each for what it counts."""
REFUSED: Final = "ERR_SPLIT_REFUSED"


class Selected(NamedTuple):
    total: int
    matched: int
    selected: list[str]
    linked: list[tuple[str, str]]  # an observation of a relationship, and its key


NOTHING: Final = Selected(0, 0, [], [])


class KnownSplit(NamedTuple):
    source: str
    target: str
    subjects: list[str]
    transaction_id: str
    toggles: list[int]
    is_all: bool

    @property
    def pair(self) -> Pair:
        return pair_of(self.source, self.target)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which observations a split moves: those for which all holds that is given; ``keys``: relationships."""

    observation_ids: Sequence[str] | None = None
    since: int | None = None
    source_ids: Sequence[str] | None = None
    field: str | None = None
    value: str | None = None
    keys: Sequence[str] = ()

    @property
    def content(self) -> list[Any]:
        return [self.observation_ids, self.since, self.source_ids, self.field, self.value, self.keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest(StoreRequest):
    """Observations of an entity count for another one: ``target``, or its one new item."""

    split_entity: str
    target: str | None
    selection: Selection
    reason: str | None = None
    selected: Selected = NOTHING
    dismissed: Mapping[Pair, str] = field(default_factory=dict)

    @property
    def shares_turn(self) -> bool:
        return False

    @property
    def content(self) -> dict[str, Any]:
        stored = StoreRequest.content.__get__(self)
        return {**stored, "split": [self.split_entity, self.target, self.selection.content, self.reason]}

    def touch(self, touched: Touched) -> None:
        StoreRequest.touch(self, touched)
        touched.add_subjects(filter(None, (self.split_entity, self.target, *self.selection.keys)))

    async def informed(self, queries: Queries, state: State) -> Self:
        entities, relationships, choice = state.entities, state.relationships, self.selection
        members = {each.subject_id for each in entities.members(entities.root(self.split_entity))}
        keys = {
            each.subject_id for key in choice.keys for each in relationships.members(relationships.root(key))
        }
        observation_ids = choice.observation_ids
        if choice.field is not None:
            values = await queries.only(
                "split.field_values",
                list[tuple[str, str, str]],
                entity_ids=sorted(members),
                field=choice.field,
            )
            having = {observation_id for observation_id, value, _ in values if value == choice.value}
            observation_ids = sorted(having if observation_ids is None else having & {*observation_ids})
        selected = await queries.only(
            "split.select", Selected, entity_ids=sorted(members), keys=sorted(keys), limit=SPLIT_LIMIT + 1,
            observation_ids=observation_ids, since=choice.since, source_ids=choice.source_ids,
        )  # fmt: skip
        dismissed = await dismissed_with(queries, state, [self.split_entity])
        return replace(self, selected=selected, dismissed=dismissed)

    def apply(self, draft: Draft) -> Receipt:
        source = self._check(draft)
        created = [store_items.apply(draft, self, item) for item in self.items]
        draft.raise_issues()
        target = self.target or "".join(item.entity_id for item in created if item)
        members = {each.subject_id for each in draft.entities.members(source)}
        moved = [(each, target) for each in self.selected.selected]
        moved += [
            (each, parting.moved_subject(key, dict.fromkeys(members, target)))
            for each, key in self.selected.linked
        ]
        loops = sorted(key for _, key in moved if ":" in key and ids.is_loop(key))
        if loops:
            draft.stop(REFUSED, "$.relationships", f"{loops[0]} would join {target} with itself")
        split_id = ids.split_id(self.transaction_id)
        fact = Split.model_construct(
            id=split_id, source=source, target=target, reason=self.reason,
            observations=[observation_id for observation_id, _ in moved],
            subjects=[subject_id for _, subject_id in moved],
        )  # fmt: skip
        draft.add(fact, self.transaction_id)
        pair = pair_of(source, target)
        if pair not in self.dismissed:
            dismiss(draft, "dismiss", pair, self.reason)
        rule_merging.settle(draft)
        result = {
            "split_id": split_id, "source": source, "target": target, "created": bool(created),
            "observations": len(self.selected.selected), "left": self.selected.total - self.selected.matched,
            "relationships": sorted({key for _, key in moved if ":" in key}),
        }  # fmt: skip
        return Receipt(self.transaction_id, draft.recorded_at, result=result)

    def _check(self, draft: Draft) -> str:
        """Refuse a split that cannot be; return the survivor that is split."""
        source = draft.entities.root(self.split_entity)
        for name, entity_id in (("source_entity_id", self.split_entity), ("new_entity", self.target)):
            entity = draft.survivor_view(entity_id) if entity_id and draft.exists(entity_id) else None
            if entity_id is not None and entity is None:
                draft.refuse("ERR_TARGET_NOT_FOUND", f"$.{name}", f"there is no entity {entity_id}")
            elif entity is not None and not entity.live:
                message = f"{entity.subject_id} is deleted: restore it first"
                draft.refuse(REFUSED, f"$.{name}", message)
        if self.target is not None and draft.entities.root(self.target) == source:
            message = (
                f"{self.target} is {self.split_entity} already: POST /entities/unmerge parts what is merged"
            )
            draft.refuse(REFUSED, "$.new_entity", message)
        for key in self.selection.keys:
            known = draft.relationships.get(key)
            surviving_key = draft.survivor_key(key) if known is not None else key
            if known is None or source not in ids.ends(surviving_key):
                draft.refuse("ERR_TARGET_NOT_FOUND", "$.relationships", f"{source} has no relationship {key}")
        draft.raise_issues()
        self._check_selection(draft, source)
        return source

    def _check_selection(self, draft: Draft, source: str) -> None:
        total, matched, selected, linked = self.selected
        named = self.selection.observation_ids
        if not matched:
            message = f"no observation of {source} that counts fits the predicate"
        elif named is not None and matched < len(set(named)):
            missing = sorted(set(named) - set(selected))
            message = f"{missing[0]} is no observation of {source} that gives it values and counts"
        elif matched == total:
            message = f"all {total} observations of {source} fit: nothing would be left of it"
        elif len(selected) + len(linked) > SPLIT_LIMIT:
            message = (
                f"more than {SPLIT_LIMIT} observations fit: narrow the predicate, then split the rest "
                "into the same entity with target_entity_id"
            )
        else:
            return
        draft.stop(REFUSED, "$.predicate", message)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsplitRequest(TransactionRequest):
    """A split is undone. ``known`` is the split, ``dismissed`` has the dismissals with its two entities."""

    shares_turn = False

    split_id: str
    reason: str | None = None
    known: KnownSplit | None = None
    dismissed: Mapping[Pair, str] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        return {"unsplit": [self.split_id, self.reason]}

    async def informed(self, queries: Queries, state: State) -> Self:
        known = await queries.one("split.get", KnownSplit, split_id=self.split_id)
        dismissed = await dismissed_with(queries, state, known.pair) if known else {}
        return replace(self, known=known, dismissed=dismissed)

    def apply(self, draft: Draft) -> Receipt:
        """Withdraw the split, and with it the entity that it made and what it said of the pair."""
        known = self.known
        if known is None:
            draft.stop("ERR_TARGET_NOT_FOUND", "$.split_id", f"there is no split {self.split_id}")
        if not membership.counts(known.toggles):
            draft.stop("ERR_NOTHING_TO_TURN", "$.split_id", f"{self.split_id} is undone already")
        if any(draft.entities.get(entity_id) is None for entity_id in known.pair):
            raise LookAgain(Touched(entities=set(known.pair)))
        withdrawing.withdraw(draft, "exclude", "split", self.split_id, self.reason)
        if known.is_all:
            # Nothing else is stored of the entity that it made.
            withdrawing.withdraw(draft, "exclude", "transaction", known.transaction_id, self.reason)
        if self.dismissed.get(known.pair) == ids.dismissal_id(known.transaction_id, 0):
            dismiss(draft, "undo", known.pair, self.reason)
        rule_merging.settle(draft)
        result = {
            "split_id": self.split_id, "source": known.source, "target": known.target,
            "observations": sum(":" not in each for each in known.subjects),
            "relationships": sorted({each for each in known.subjects if ":" in each}),
        }  # fmt: skip
        return Receipt(self.transaction_id, draft.recorded_at, result=result)
