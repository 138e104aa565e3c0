"""The part of an owner's graph that a turn decides on: what it read, and what it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphmem.model import state_hash
from graphmem.model.reduction import Observation
from graphmem.model.rules import PLAIN, Rules
from graphmem.writing.schema_heads import Head
from graphmem.writing.things import Things, of_look


class WrittenTransaction(NamedTuple):
    """A transaction that was written before: ``write/_transaction.cypher``, in its order."""

    transaction_id: str
    idempotency_key: str | None
    request_hash: str
    recorded_at: int
    sequence: int
    answer: str


@dataclass(slots=True)
class State:
    """What a turn read, and what it decided so far.

    ``entities`` and ``relationships`` are as of the last decision, ``entities_before`` and
    ``relationships_before`` as they were read. ``hash`` is the state hash that was read, ``None`` where the
    owner has none yet. ``aliases`` are types by their other names; ``changed_aliases`` the names that the
    turn gives, or (``None``) takes away. ``changed_heads`` are the types whose schema head the turn writes,
    with the time (microseconds) of the change.
    """

    sequence: int = 0
    revision: int = 0
    recorded_at: int = 0
    hash: str | None = None
    entities: Things = field(default_factory=Things)
    relationships: Things = field(default_factory=Things)
    observation_ids: set[str] = field(default_factory=set)
    transactions: dict[str, WrittenTransaction] = field(default_factory=dict)
    by_key: dict[str, WrittenTransaction] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    added: list[Observation] = field(default_factory=list)
    transaction_rows: list[dict[str, Any]] = field(default_factory=list)
    changed_heads: dict[str, int] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)
    changed_aliases: dict[str, str | None] = field(default_factory=dict)
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


def of_row(row: Mapping[str, Any], *, whole: bool = True) -> State | None:
    """Return the state in the row of ``write.look``, ``None`` where the owner has no node yet.

    Args:
        whole: refuse a thing that was read in two parts, or is damaged.

    Raises:
        Torn: a commit fell into the reading of a thing.
    """
    if row["owner"] is None:
        return None
    sequence, revision, recorded_at, hashed = row["owner"]
    transactions = [WrittenTransaction(*each) for each in row["transactions"]]
    return State(
        sequence=sequence,
        revision=revision,
        recorded_at=recorded_at,
        hash=hashed,
        entities=Things(of_look(*each, whole=whole) for each in row["entities"]),
        relationships=Things(of_look(*each, whole=whole) for each in row["relationships"]),
        observation_ids=set(row["observations"]),
        transactions={each.transaction_id: each for each in transactions},
        by_key={each.idempotency_key: each for each in transactions if each.idempotency_key is not None},
        heads={each[0]: Head.of_look(*each) for each in row["schemas"]},
        aliases=dict(row["aliases"]),
    )


def empty() -> State:
    """Return the state of an owner who has written nothing yet."""
    return State(hash=state_hash.EMPTY)
