"""The part of an owner's graph that a turn decides on: what was looked at, and what the turn adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.domain import discovery, identity, ids, reduction
from graphmem.domain.reduction import Observation, Turn, Winner
from graphmem.writer.requests import WriteRequest


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity or a relationship as it stands: what its observations so far come to.

    Times are microseconds.
    """

    home: str
    kind: str
    version: int = 0
    observation_count: int = 0
    created_at: int = 0
    last_observation_at: int | None = None
    fold: Mapping[str, Winner] = field(default_factory=dict)
    turn: Turn | None = None

    @property
    def live(self) -> bool:
        """Whether it is there: an entity unless it was deleted, a relationship once it was created."""
        return self.turn is None or self.turn.kind != "delete"

    def with_observation(self, said: Observation, *, first_of_transaction: bool) -> Thing:
        """Return it with one observation more; its version rises once per transaction."""
        latest = said.observed_at if self.last_observation_at is None else self.last_observation_at
        return replace(
            self,
            version=self.version + first_of_transaction,
            observation_count=self.observation_count + 1,
            created_at=self.created_at or said.recorded_at,
            last_observation_at=max(latest, said.observed_at),
            fold=reduction.fold(self.fold, said),
            turn=reduction.turned(self.turn, said),
        )

    @property
    def size(self) -> int:
        """How many characters the values of its snapshot have."""
        return sum(len(winner.value) for winner in self.fold.values())

    @property
    def texts(self) -> dict[str, str]:
        """The canonical JSON of the current values that can name the entity."""
        return {name: self.fold[name].value for name in identity.NAMING if name in self.fold}

    @property
    def name(self) -> str:
        """What people call the entity."""
        return identity.name_of(self.kind, self.home, self.texts)

    @property
    def identifiers(self) -> set[tuple[str, str]]:
        """The (kind, key) pairs by which the entity is looked up."""
        return identity.identifiers(identity.naming_values(self.texts), self.name) if self.version else set()

    def properties(self) -> dict[str, Any]:
        """Return what its node holds of it, the snapshot as four parallel lists in one order."""
        names = sorted(self.fold, key=reduction.canonical.name_order)
        values = [self.fold[name].value for name in names]
        winners = [self.fold[name].observation_id for name in names]
        return {
            "version": self.version,
            "observation_count": self.observation_count,
            "created_at": self.created_at,
            "last_observation_at": self.last_observation_at,
            "fields": names,
            "values": values,
            "ranks": [self.fold[name].rank for name in names],
            "winners": winners,
            "check": reduction.check(self.version, names, values, winners),
            "size": self.size,
            "live": self.live,
            "turn": list(self.turn) if self.turn else None,
        }


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

    ``entities`` and ``relationships`` are as of the last decision, ``before`` as they were looked at.
    """

    sequence: int
    recorded_at: int
    entities: dict[str, Thing]
    relationships: dict[str, Thing]
    observed: set[str]
    transactions: dict[str, Remembered]
    keys: dict[str, Remembered]
    schemas: dict[str, dict[str, discovery.Seen]]
    before: dict[str, Thing] = field(default_factory=dict)
    added: list[Observation] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    touched_schemas: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = {**self.entities, **self.relationships}


def touched(requests: Iterable[WriteRequest]) -> dict[str, list[str]]:
    """Return the parameters of ``write.look`` for these requests."""
    keys: set[str] = set()
    transactions, entities, observations, relationships, types = set(), set(), set(), set(), set()
    for request in requests:
        if request.idempotency_key is not None:
            keys.add(request.idempotency_key)
        transactions.add(request.transaction_id)
        for item in request.items:
            entities.add(item.entity_id)
            if item.entity_type:
                types.add(item.entity_type)
            if item.observed_at is not None:
                observations.add(request.item_observation_id(item))
        for link in request.links:
            entities.update(end.entity_id for end in (link.source, link.target) if end.entity_id)
            relationships.add(request.link_key(link))
            if request.observed_at is not None:
                observations.add(request.link_observation_id(link))
    found = (keys, transactions, entities, observations, relationships, types)
    named = ("keys", "transactions", "entities", "observations", "relationships", "types")
    return {name: sorted(values) for name, values in zip(named, found, strict=True)}


def seen(row: Mapping[str, Any]) -> State | None:
    """Return the state that ``write.look`` answered, ``None`` where the owner has no node yet."""
    if row["owner"] is None:
        return None
    sequence, recorded_at = row["owner"]
    transactions = [Remembered(t[0], t[1], t[2], t[3], t[5]) for t in row["transactions"]]
    return State(
        sequence=sequence,
        recorded_at=recorded_at,
        entities={e[0]: _thing(e[0], e[1], e[2:]) for e in row["entities"]},
        relationships={r[0]: _thing(r[0], r[0].partition(":")[0], r[1:]) for r in row["relationships"]},
        observed={o[0] for o in row["observations"]},
        transactions={t.transaction_id: t for t in transactions},
        keys={t.idempotency_key: t for t in transactions if t.idempotency_key is not None},
        schemas={s[0]: _shapes(s[1], s[2]) for s in row["schemas"]},
    )


def empty() -> State:
    """Return the state of an owner who has written nothing yet."""
    return State(0, 0, {}, {}, set(), {}, {}, {})


def _thing(home: str, kind: str, row: list[Any]) -> Thing:
    version, count, created_at, last, fields, values, winners, ranks, turn, check = row
    torn = check is not None and check != reduction.check(version, fields, values, winners)
    if torn or len(ranks) != len(fields):
        raise reduction.Torn
    held = zip(fields, ranks, winners, values, strict=True)
    fold = {name: Winner(rank, winner, value) for name, rank, winner, value in held}
    return Thing(home, kind, version, count, created_at, last, fold, Turn(*turn) if turn else None)


def _shapes(fields: list[str], seen_shapes: list[str]) -> dict[str, discovery.Seen]:
    pairs = zip(fields, seen_shapes, strict=True)
    return {name: frozenset(shapes.split("|")) if shapes else frozenset() for name, shapes in pairs}


def parameters(state: State, owner: str) -> dict[str, Any]:
    """Return the parameters of ``write.turn`` for what was decided: one row per home, sorted."""
    said: dict[str, list[Observation]] = {}
    for observation in state.added:
        said.setdefault(observation.home, []).append(observation)
    counts: dict[tuple[str, str], list[int]] = {}
    entities, relationships = [], []
    for home in sorted(said):
        thing = state.entities.get(home) or state.relationships[home]
        is_entity = home in state.entities
        (entities if is_entity else relationships).append(_row(state, owner, thing, said[home], is_entity))
        count = counts.setdefault(("entity" if is_entity else "relationship", thing.kind), [0, 0, 0, 0])
        before = state.before.get(home)
        count[0] += thing.live - (before.live if before else False)
        count[1] += before is None
        count[2] += _shown(thing) - _shown(before)
        count[3] += len(said[home])
    return {
        "sequence": state.sequence,
        "recorded_at": state.rows[-1]["properties"]["recorded_at"],
        "transactions": state.rows,
        "entities": entities,
        "relationships": relationships,
        "schemas": [_schema_row(state, owner, kind) for kind in sorted(state.touched_schemas)],
        "counts": [
            {"kind": kind, "type": name, **dict(zip(_COUNTED, deltas, strict=True))}
            for (kind, name), deltas in sorted(counts.items())
        ],
    }


_COUNTED = ("total", "known", "observations", "recorded")
"""What a Count holds: things that live, all things, observations of those that live, all observations."""


def _shown(thing: Thing | None) -> int:
    """Return how many observations of a thing are in answers."""
    return thing.observation_count if thing is not None and thing.live else 0


def _row(state: State, owner: str, thing: Thing, said: list[Observation], is_entity: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "home": thing.home,
        "properties": {"owner": owner, "type": thing.kind, **thing.properties()},
        "observations": [_observation_row(owner, observation, is_entity) for observation in said],
    }
    before = state.before.get(thing.home)
    if is_entity:
        row["properties"] |= {"canonical_name": thing.name, "listed": thing.kind if thing.live else None}
        known, current = before.identifiers if before else set(), thing.identifiers
        row["identifiers_added"] = sorted(map(list, current - known))
        row["identifiers_removed"] = sorted(map(list, known - current))
    else:
        _, source, target = thing.home.split(":")
        row["created"] = before is None
        row["turned"] = before is not None and before.live != thing.live
        row["properties"] |= {
            "id": ids.relationship_id(thing.home), "source": source, "target": target,
        }  # fmt: skip
    return row


def _observation_row(owner: str, said: Observation, is_entity: bool) -> dict[str, Any]:
    names = sorted(said.fields, key=reduction.canonical.name_order)
    properties: dict[str, Any] = {
        "id": said.id,
        "owner": owner,
        "kind": said.kind,
        "observed_at": said.observed_at,
        "recorded_at": said.recorded_at,
        "fields": names,
        "values": [said.fields[name] for name in names],
        "size": sum(map(len, said.fields.values())),
        "priority": said.priority,
        "specificity": said.specificity,
        "observation_source": said.observation_source,
        "agent": said.agent,
    }
    if is_entity:
        properties |= {
            "entity_id": said.home, "entity_type": said.entity_type, "identity_basis": said.basis,
        }  # fmt: skip
    else:
        properties["relationship_key"] = said.home
    return {"transaction_id": said.transaction_id, "properties": properties}


def _schema_row(state: State, owner: str, entity_type: str) -> dict[str, Any]:
    shapes = state.schemas[entity_type]
    names = sorted(shapes, key=reduction.canonical.name_order)
    return {
        "id": ids.schema_id(owner, entity_type, None),
        "properties": {
            "owner": owner,
            "entity_type": entity_type,
            "head": entity_type,
            "fields": names,
            "seen": ["|".join(sorted(shapes[name])) for name in names],
            "updated_at": state.touched_schemas[entity_type],
        },
    }
