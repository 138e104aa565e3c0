"""The part of an owner's graph that a turn decides on: what was looked at, and what the turn adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.model import ids, state_hash
from graphmem.model.reduction import Observation
from graphmem.model.rules import PLAIN, Rules
from graphmem.writing.requests import WriteRequest
from graphmem.writing.schema_heads import Head
from graphmem.writing.things import Things, thing


@dataclass(slots=True)
class Remembered:
    """A transaction that was written before, as a replay needs it."""

    transaction_id: str
    idempotency_key: str | None
    request_hash: str
    recorded_at: int
    answer: str


@dataclass(slots=True)
class State:
    """What a turn looked at, and what it decided so far.

    ``entities`` and ``relationships`` are as of the last decision, ``entities_before`` and
    ``relationships_before`` as they were looked at; ``hash`` is the state hash that was looked at, ``None``
    where the owner has none yet. ``aliases`` are types by those other names that were looked at, ``renamed``
    those that the turn gives and takes away.
    """

    sequence: int = 0
    revision: int = 0
    recorded_at: int = 0
    hash: str | None = None
    entities: Things = field(default_factory=Things)
    relationships: Things = field(default_factory=Things)
    observed: set[str] = field(default_factory=set)
    transactions: dict[str, Remembered] = field(default_factory=dict)
    keys: dict[str, Remembered] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    added: list[Observation] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    touched_heads: dict[str, int] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)
    renamed: dict[str, str | None] = field(default_factory=dict)
    entities_before: Things = field(default_factory=Things)
    relationships_before: Things = field(default_factory=Things)

    def __post_init__(self) -> None:
        self.entities_before = self.entities.copy()
        self.relationships_before = self.relationships.copy()

    def rules(self, entity_type: str) -> Rules:
        """Return the rules of a type."""
        head = self.heads.get(entity_type)
        return head.rules if head else PLAIN

    def stale(self) -> set[str]:
        """Return the survivors of members that were folded under other rules than those of their type."""
        survivors: set[str] = set()
        for subject_id in self.entities:
            survivor = self.entities.survivor(subject_id)
            if self.entities[subject_id].projection != self.rules(survivor.kind).key:
                survivors.add(survivor.subject_id)
        return survivors


def touched(requests: Iterable[WriteRequest]) -> dict[str, Any]:
    """Return the parameters of ``write.look`` for these requests."""
    keys: set[str] = set()
    transactions, entities, observations, types, moved, onto = set(), set(), set(), set(), set(), set()
    relationships: set[tuple[str, ...]] = set()
    sides = {
        "keys": keys, "transactions": transactions, "entities": entities, "observations": observations,
        "relationships": relationships, "types": types,
    }  # fmt: skip
    for request in requests:
        if request.restoring is not None:
            for name, restored in request.restoring.touched().items():
                sides[name].update(restored)
        if request.idempotency_key is not None:
            keys.add(request.idempotency_key)
        transactions.add(request.transaction_id)
        entities.update(request.looking)
        if request.change is not None:
            types.update((request.change.entity_type, *request.change.aliases))
        if (moving := request.moving) is not None:
            entities.update((moving.source, *filter(None, [moving.target])))
            moved.add(moving.source)
            onto.update(filter(None, [moving.target]))
        for item in request.items:
            entities.add(item.entity_id)
            if item.entity_type:
                types.update((item.entity_type, item.given_type or item.entity_type))
            if item.observed_at is not None:
                observations.add(request.item_observation_id(item))
        for link in request.links:
            key = request.link_key(link)
            entities.update(ids.ends(key))
            relationships.add((key, *key.split(":")))
            if request.observed_at is not None:
                observations.add(request.link_observation_id(link))
    return {
        "keys": sorted(keys),
        "transactions": sorted(transactions),
        "entities": sorted(entities),
        "observations": sorted(observations),
        "relationships": sorted(map(list, relationships)),
        "types": sorted(types),
        "moved": sorted(moved),
        "onto": next(iter(sorted(onto)), None),
    }


def seen(row: Mapping[str, Any], *, whole: bool = True) -> State | None:
    """Return the state that ``write.look`` answered, ``None`` where the owner has no node yet.

    Args:
        whole: refuse what was not read whole, or is damaged.

    Raises:
        Torn: a commit fell into the reading of a thing.
    """
    if row["owner"] is None:
        return None
    sequence, revision, recorded_at, hashed = row["owner"]
    transactions = [Remembered(t[0], t[1], t[2], t[3], t[5]) for t in row["transactions"]]
    return State(
        sequence=sequence,
        revision=revision,
        recorded_at=recorded_at,
        hash=hashed,
        entities=Things(thing(e[0], e[1], e[2:], whole=whole) for e in row["entities"]),
        relationships=Things(thing(r[0], r[1], r[2:], whole=whole) for r in row["relationships"]),
        observed=set(row["observations"]),
        transactions={t.transaction_id: t for t in transactions},
        keys={t.idempotency_key: t for t in transactions if t.idempotency_key is not None},
        heads={s[0]: Head.found(s) for s in row["schemas"]},
        aliases=dict(row["aliases"]),
    )


def empty() -> State:
    """Return the state of an owner who has written nothing yet."""
    return State(hash=state_hash.EMPTY)
