"""A plain model of what an owner knows: a list of facts, from which everything else is derived.

It is written for reading, shares no code with the product and keeps no state but the facts and the
registered schemas. Every question goes through all facts again. Times are the texts that graphmem
answers: they sort as times do.

``Knowledge.as_of`` is the same knowledge with the later facts left out; so that "as of" is no special
case anywhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from tests.support.reduction_model import (
    KINDS,
    KINDS_WITH_FIELDS,
    NO_SCHEMA,
    Declared,
    Fact,
    FieldState,
    Schema,
    fits,
    reduce,
)

TURNS = ("create", "delete", "restore")
MERGES = ("merge", "unmerge")
NAMES = ("canonical_name", "name", "full_name", "title")


@dataclass(frozen=True)
class Edge:
    """A relationship as it is shown; ``members`` are the keys under which it was written."""

    key: str
    source: str
    target: str
    members: tuple[str, ...]
    live: bool
    facts: tuple[Fact, ...]
    states: Mapping[str, FieldState]

    @property
    def id(self) -> str:
        """The short id."""
        return edge_id(self.key)


@dataclass(frozen=True)
class Split:
    """Facts, by id, that count for other subjects from a time on, until it is undone."""

    id: str
    subjects: Mapping[str, str]
    recorded_at: str
    undone_at: str | None = None


@dataclass(frozen=True)
class TakenBack:
    """What the second writer recorded from ``since`` on, before ``until``, does not count; undone it does."""

    since: str
    until: str
    recorded_at: str
    undone_at: str | None = None

    def holds(self, fact: Fact) -> bool:
        """Return whether it keeps a fact from counting."""
        return fact.by_bot and self.undone_at is None and self.since <= fact.recorded_at < self.until


@dataclass(frozen=True)
class Knowledge:
    """The stored facts, the types of all entities there are, today's schemas, and what moves facts."""

    stored: tuple[Fact, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    splits: tuple[Split, ...] = ()
    taken_back: tuple[TakenBack, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """As of a time, the names of today of the entities that were never merged and did not change since."""

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that count, each with its subject: the newest split that holds decides."""
        return tuple(
            self._placed(fact)
            for fact in self.stored
            if not any(each.holds(fact) for each in self.taken_back)
        )

    def _placed(self, fact: Fact) -> Fact:
        moving = [each for each in self.splits if fact.id in each.subjects]
        holding = [each for each in moving if each.undone_at is None]
        if not holding:
            return fact
        subject_id = holding[-1].subjects[fact.id]
        since = next(each.recorded_at for each in moving if each.subjects[fact.id] == subject_id)
        return replace(fact, subject_id=subject_id, since=since)

    def as_of(self, at: str | None, at_ingested: str | None) -> Knowledge:
        """Return what was known at ``at_ingested`` of what was so at ``at``; ``None`` is now, by either."""
        names = {} if at is None else self._lasting_names(at_ingested or "~")
        seen = (
            fact
            for fact in self.stored
            if (at is None or fact.observed_at <= at)
            and (at_ingested is None or fact.recorded_at <= at_ingested)
        )
        if at_ingested is None:
            return replace(self, stored=tuple(seen), names=names)
        splits, taken_back = (
            tuple(
                replace(each, undone_at=each.undone_at if (each.undone_at or "~") <= at_ingested else None)
                for each in changes
                if each.recorded_at <= at_ingested
            )
            for changes in (self.splits, self.taken_back)
        )
        return replace(self, stored=tuple(seen), splits=splits, taken_back=taken_back, names=names)

    def _lasting_names(self, at_ingested: str) -> dict[str, str]:
        """Return the names of today that were known already at a time of recording."""
        return {
            entity: display_name(kind, entity, self.holding(entity))
            for entity, kind in self.types.items()
            if not self.was_merged(entity) and all(moment <= at_ingested for moment in self._touched(entity))
        }

    def _touched(self, entity: str) -> list[str]:
        """Return when something about an entity was recorded, or moved to it or from it."""
        moments = [fact.known_at for fact in self.of(entity)]
        for fact in self.stored:
            moving = [each for each in self.splits if fact.id in each.subjects]
            held = fact.subject_id
            for moment in sorted(
                {time for each in moving for time in (each.recorded_at, each.undone_at) if time}
            ):
                known = [each for each in moving if each.recorded_at <= moment < (each.undone_at or "~")]
                now = known[-1].subjects[fact.id] if known else fact.subject_id
                if now != held and entity in (held, now):
                    moments.append(moment)
                held = now
        if any(fact.by_bot and entity in (fact.subject_id, *self._moved_to(fact)) for fact in self.stored):
            moments += [
                time for each in self.taken_back for time in (each.recorded_at, each.undone_at) if time
            ]
        return moments

    # Entities

    def of(self, *subject_ids: str) -> list[Fact]:
        """Return the facts of some subjects, the oldest first."""
        return sorted(
            (fact for fact in self.facts if fact.subject_id in subject_ids), key=lambda fact: fact.moment
        )

    def lives(self, subject_id: str) -> bool:
        """Return whether a subject lives by its own newest lifecycle fact."""
        turns = [fact for fact in self.of(subject_id) if fact.kind in TURNS]
        return not turns or turns[-1].kind != "delete"

    def parent(self, entity: str) -> str | None:
        """Return the entity into which an entity itself is merged, ``None`` if it is not."""
        merges = [fact for fact in self.of(entity) if fact.kind in MERGES]
        return merges[-1].target if merges else None

    def root(self, entity: str) -> str:
        """Return the survivor at the end of the chain that an entity is merged into."""
        above = self.parent(entity)
        return entity if above is None else self.root(above)

    def members(self, root: str) -> list[str]:
        """Return everything that is merged into a survivor, itself included."""
        return [entity for entity in self.types if self.root(entity) == root]

    def below(self, entity: str) -> list[str]:
        """Return an entity and everything that is merged into it, whatever it is merged into itself."""
        parents = {child: self.parent(child) for child in self.types}
        members = [entity]
        for member in members:
            members.extend(child for child, parent in parents.items() if parent == member)
        return members

    def roots(self) -> list[str]:
        """Return the entities that are not merged into another, in the order of their ids."""
        return sorted(entity for entity in self.types if self.parent(entity) is None)

    def is_live(self, entity: str) -> bool:
        """Return whether the view that an entity shows is live: its survivor's own state decides."""
        return self.lives(self.root(entity)) and not self.is_unmade(entity)

    def is_shown(self, entity: str, *, deleted: bool) -> bool:
        """Return whether a read of an entity has an answer; of a deleted one only if ``deleted``."""
        return entity in self.types and (self.is_live(entity) or (deleted and not self.is_unmade(entity)))

    def is_unmade(self, entity: str) -> bool:
        """Return whether splits moved away all that gave an entity and its members values."""
        members = set(self.members(self.root(entity)))
        giving = [fact for fact in self.stored if fact.kind in KINDS_WITH_FIELDS]
        given = [fact for fact in giving if members & {fact.subject_id, *self._moved_to(fact)}]
        return bool(given) and not any(self._placed(fact).subject_id in members for fact in given)

    def _moved_to(self, fact: Fact) -> set[str]:
        return {each.subjects[fact.id] for each in self.splits if fact.id in each.subjects}

    def holding(self, root: str) -> dict[str, FieldState]:
        """Return what holds each field of a survivor, the canonical name and nulls among them.

        What one member clears, another may have. The name is that of the entity that others were merged into.
        """
        schema, members = self.schema(root), self.members(root)
        own = {member: reduce(self.of(member), schema) for member in members}
        named = self.naming(root)
        states: dict[str, FieldState] = {}
        for name in {name for fields in own.values() for name in fields}:
            among = named.get(name, set()) if name in NAMES else set(members)
            among = {member for member in among if name in own[member]}
            clear = [] if schema.policy(name) == "merge_array" else None
            showing = {member for member in among if own[member][name].value != clear}
            if among:
                states[name] = reduce(self.of(*(showing or among)), schema)[name]
        return states

    def naming(self, entity: str) -> dict[str, set[str]]:
        """Return, for each field that names, the members of an entity whose values of it count for it."""
        named = {name: {entity} for name in NAMES}
        children = [child for child in self.types if self.parent(child) == entity]
        merges = {child: [fact for fact in self.of(child) if fact.kind in MERGES][-1] for child in children}
        schema = self.schema(self.root(entity))
        for child in sorted(children):
            if merges[child].name_from == "target":
                named = self.name_first(named, self.naming(child), schema)
        for child in sorted(children, key=lambda child: merges[child].moment):
            if merges[child].name_from == "source":
                named = self.name_first(self.naming(child), named, schema)
        return named

    def name_first(
        self, first: dict[str, set[str]], other: dict[str, set[str]], schema: Schema
    ) -> dict[str, set[str]]:
        """Return, for each field that names, the members that count: the first ones, if they have a name."""
        shown = {name: reduce(self.of(*first[name]), schema).get(name) for name in NAMES}
        named = [place for place, state in enumerate(shown.values()) if state and is_name(state.value)]
        kept = NAMES[: named[0] + 1] if named else ()
        return {name: first[name] if name in kept else first[name] | other[name] for name in NAMES}

    def schema(self, entity: str) -> Schema:
        """Return today's schema of an entity's type."""
        return self.schemas.get(self.types[entity], NO_SCHEMA)

    def entity(self, entity: str) -> dict[str, Any]:
        """Return what an answer about an entity must say, by whichever member it is requested."""
        root = self.root(entity)
        members = self.members(root)
        facts, states = self.of(*members), self.holding(root)
        last = facts[-1].observed_at if facts else None
        view: dict[str, Any] = {
            "entity_id": root,
            "entity_type": self.types[root],
            "canonical_name": display_name(self.types[root], root, states, self.names.get(root)),
            "state": "live" if self.lives(root) else "deleted",
            "schema_version": self.schema(root).version,
            "observation_count": len(facts),
            "created_at": min((fact.known_at for fact in facts), default=None),
            "last_observation_at": last,
            "computed_at": last,
            "snapshot": shown(states),
            "provenance": provenance(states),
        }
        if not self.was_merged(root) and not self.splits and not self.taken_back:
            view["version"] = len({fact.recorded_at for fact in facts})
        return view

    def was_merged(self, root: str) -> bool:
        """Return whether an entity ever was part of a merge: its version then counts more than its facts."""
        return any(root in (fact.subject_id, fact.target) for fact in self.facts if fact.kind in MERGES)

    def observations(self, subject_ids: Iterable[str], *, deleted: bool) -> list[Fact]:
        """Return the facts of entities, the newest first; those of deleted entities only if ``deleted``."""
        visible = [subject_id for subject_id in subject_ids if deleted or self.is_live(subject_id)]
        return self.of(*visible)[::-1]

    def state(self) -> str:
        """Return a text of the state of everything, without versions, counts and times of recording."""
        subjects: list[Any] = []
        for subject_id in sorted({fact.subject_id for fact in self.facts}):
            kind = self.schema(self.root(subject_id)) if subject_id in self.types else NO_SCHEMA
            states = reduce(self.of(subject_id), kind)
            fold = {name: [state.value, state.winners] for name, state in states.items()}
            subjects.append(
                [
                    subject_id,
                    self.types.get(subject_id),
                    self.lives(subject_id),
                    self.parent(subject_id),
                    fold,
                ]
            )
        return json.dumps(subjects, sort_keys=True)

    def seen(self, entity_type: str) -> dict[str, set[str]]:
        """Return the types under which each field of a type was ever stored."""
        types: dict[str, set[str]] = {}
        for fact in self.stored:
            if fact.entity_type == entity_type and fact.kind in KINDS_WITH_FIELDS:
                for name in fact.fields.keys() - {"canonical_name"}:
                    kinds = [kind for kind in KINDS if fits(fact.fields[name], kind)]
                    types.setdefault(name, set()).update(kinds[:1])
        return types

    def effective(self, entity_type: str) -> Schema:
        """Return what an update of a type's schema starts from: what is registered, else what was seen."""
        if entity_type in self.schemas:
            return self.schemas[entity_type]
        fields = {
            # A date among other strings is a string.
            name: kinds - {"date"} if "string" in kinds else kinds
            for name, kinds in self.seen(entity_type).items()
        }
        return Schema(fields={name: Declared(*kinds) for name, kinds in fields.items() if len(kinds) == 1})

    # Relationships

    def shown_key(self, key: str) -> str:
        """Return the key under which a relationship is shown: its ends resolved to survivors."""
        kind, source, target = key.split(":")
        return f"{kind}:{self.root(source)}:{self.root(target)}"

    def edges(self) -> dict[str, Edge]:
        """Return every relationship by its shown key, deleted ones too; none from a thing to itself."""
        keys = sorted({fact.subject_id for fact in self.facts if ":" in fact.subject_id}, key=self.shown_key)
        edges: dict[str, Edge] = {}
        for key, members in groupby(keys, key=self.shown_key):
            _, source, target = key.split(":")
            if source != target:
                edges[key] = self._edge(key, source, target, tuple(members))
        return edges

    def _edge(self, key: str, source: str, target: str, members: tuple[str, ...]) -> Edge:
        facts = tuple(self.of(*members))
        live = any(map(self.lives, members)) and self.is_live(source) and self.is_live(target)
        return Edge(key, source, target, members, live, facts, reduce(facts, NO_SCHEMA))

    def edges_of(self, entity: str, direction: str, *, deleted: bool) -> list[Edge]:
        """Return the relationships of an entity, the newest first."""
        root = self.root(entity)
        ends = {"outgoing": ("source",), "incoming": ("target",)}.get(direction, ("source", "target"))
        return newest(
            edge
            for edge in self.edges().values()
            if (deleted or edge.live) and root in [getattr(edge, end) for end in ends]
        )

    def related(self, entity: str, depth: int) -> tuple[dict[str, int], list[str]]:
        """Return how far each entity within ``depth`` steps is, and the keys of what was walked."""
        reached, walked = {self.root(entity): 0}, set[str]()
        live = [edge for edge in self.edges().values() if edge.live]
        for step in range(1, depth + 1):
            edges = [
                e for e in live if reached.get(e.source) == step - 1 or reached.get(e.target) == step - 1
            ]
            walked.update(edge.key for edge in edges)
            for edge in edges:
                reached.setdefault(edge.source, step)
                reached.setdefault(edge.target, step)
        return {entity_id: steps for entity_id, steps in reached.items() if steps}, sorted(walked)


def edge_id(key: str) -> str:
    """Return the short id of a relationship: a hash of its key."""
    return "rel_" + hashlib.sha256(json.dumps([key]).encode()).hexdigest()[:24]


def newest(edges: Iterable[Edge]) -> list[Edge]:
    """Return relationships as pages list them: by their last observation, then by id, the greatest first."""
    return sorted(edges, key=lambda edge: (edge.facts[-1].observed_at, edge.id), reverse=True)


def shown(states: Mapping[str, FieldState], *, named: bool = True) -> dict[str, Any]:
    """Return a snapshot; ``named``: the canonical name of an entity is no field."""
    hidden = {"canonical_name"} if named else set[str]()
    return {
        name: state.value for name, state in states.items() if state.value is not None and name not in hidden
    }


def provenance(states: Mapping[str, FieldState], *, named: bool = True) -> dict[str, str]:
    """Return the observations behind each field of a snapshot."""
    return {name: ",".join(states[name].winners) for name in shown(states, named=named)}


def is_name(value: Any) -> bool:
    """Return whether a value names something."""
    return bool(value.strip()) if isinstance(value, str) else type(value) in (int, float)


def display_name(
    entity_type: str, entity_id: str, states: Mapping[str, FieldState], known: str | None = None
) -> str:
    """Return what people call an entity of a type without a rule of its own."""
    for name in ("canonical_name", "name"):
        value = states[name].value if name in states else None
        text = " ".join(value.split()) if isinstance(value, str) else ""
        text = json.dumps(value) if type(value) in (int, float) else text
        if text:
            return text
    return known or f"{entity_type} {entity_id[4:12]}"
