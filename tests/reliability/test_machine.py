"""Random sequences of writes against a plain model: after each step, every read of both agrees.

Few ids, few fields and few times, so that they collide. Rules for operations that are not there are left out.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from graphmem.auth import Actor
from graphmem.domain import canonical
from graphmem.errors import GraphmemError
from graphmem.registry import REGISTRY, Services
from tests.support.looks import MERGING, NOT_FOUND, UNKNOWN, Look, Where, agrees, counted, exactly, graph, later, looks, moments, relationship, snapshots
from tests.support.loop import Loop
from tests.support.model import Declared, Fact, Knowledge, Schema, edge_id, shown

REFUSED, INVALID = "ERR_STORE_RESOLUTION_FAILED", "VALIDATION_INVALID_FORMAT"
UNFIT = "SCHEMA_VALIDATION_FAILED"
MISMATCH = "ERR_IDEMPOTENCY_MISMATCH"
NAMES = ("Ada", " aDA", "Bo")
TYPES = ("thing", "gadget")
EDGES = ("WORKS_AT", "PART_OF")
TIMES = (
    "1965-05-05T05:05:05.500000Z", "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000001Z",
)  # fmt: skip
AHEAD = "an hour after the first transaction"
VALUES = st.sampled_from([
    None, 1, 2, 1.0, "1", " 2.50 ", True, "True", "x", [], ["x", 1], [1, None, "y"], '["y", 1]', {"k": [1]},
    "2026-01-01", 86400,
])  # fmt: skip
SPOKEN_NAMES = st.sampled_from([None, "Zed", "Ada"])
FIELDS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)
WHO = st.integers(0, 19)
WEIGHTS: dict[str, st.SearchStrategy[Any]] = {
    "observed_at": st.sampled_from([*TIMES, AHEAD]),
    "source_priority": st.sampled_from([100, 99.5, -1]),
    "observation_source": st.sampled_from(["sensor", "human", "sync"]),
}
SAID = st.fixed_dictionaries({}, optional=WEIGHTS)
NAMED = st.builds(
    lambda kind, name, fields, more: {"entity_type": kind, "name": name, **fields, **more},
    st.sampled_from(TYPES), st.sampled_from(NAMES), FIELDS,
    st.fixed_dictionaries({}, optional={**WEIGHTS, "specificity_score": st.sampled_from([0.5, 0, 1])}),
)  # fmt: skip
TARGETED = st.builds(
    lambda who, value, fields, names, more: {"who": who, "a": value, **fields, **names, **more},
    WHO, VALUES, FIELDS,
    st.fixed_dictionaries({}, optional={"name": SPOKEN_NAMES, "canonical_name": SPOKEN_NAMES}),
    st.fixed_dictionaries({}, optional={**WEIGHTS, "entity_type": st.sampled_from(TYPES)}),
)  # fmt: skip
End = tuple[str, int]
ENDS = st.tuples(st.sampled_from(["index", "entity_id"]), WHO)
METADATA = st.none() | st.dictionaries(st.sampled_from(["role", "canonical_name"]), VALUES, max_size=2)
LINK = st.tuples(st.sampled_from(EDGES), ENDS, ENDS, METADATA)
KEYED = st.booleans()
VISIBLE = st.sampled_from(["hide", "show"])
DECLARED = st.dictionaries(
    st.sampled_from(["a", "b", "name"]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "number", "boolean", "array", "object"])},
        optional={
            "merge": st.sampled_from(["last_write", "highest_priority", "most_specific", "merge_array"]),
            "mismatch": VISIBLE,
        },
    )
    | st.just({"type": "date", "converters": ["timestamp_s_to_iso"]}),
    max_size=3,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "additional_fields": VISIBLE,
        "mismatch": VISIBLE,
        "observation_source_priority": st.sampled_from([["human", "sensor"], ["sync"]]),
    },
)
APT = st.sampled_from([True, True, False])
"""Whether to choose among what can be acted on: most of what is there cannot."""
TURN = st.sampled_from(["either", "delete", "restore"])
TOGETHER = 8
"""Reads that are under way at the same time."""
CHANGING = {"replayed", "deduplicated", "snapshot", "created_count"}
"""What a replay says otherwise than the first answer."""
CUTS = 5
"""As of how many times each entity is asked for at the end."""
LOOK = st.tuples(
    WHO, WHO, st.integers(0, 99), st.integers(0, 99), st.integers(1, 3),
    st.sampled_from(["both", "outgoing", "incoming"]), st.booleans(),
)  # fmt: skip
"""Which entity and relationship, as of when, how deep, which way, and whether with what is deleted."""
RESERVED = ("entity_type", "target_id", "observed_at", "source_priority", "observation_source",
            "specificity_score")  # fmt: skip


class Machine(RuleBasedStateMachine):
    """graphmem for one owner, and the model of what that owner knows."""

    def __init__(self, loop: Loop, services: Services) -> None:
        super().__init__()
        self.loop, self.services = loop, services
        self.actor = Actor(owner=str(uuid.uuid4()), client="test")
        self.known = Knowledge()
        self.named: dict[tuple[str, str], str] = {}
        self.placed: dict[str, str] = {}
        self.keyed: list[tuple[str, dict[str, Any], dict[str, Any], str]] = []
        self.hashes: dict[str, str | None] = {}
        self.sequence = 0
        self.recorded_at = ""

    @initialize(data=st.data(), items=st.lists(NAMED, min_size=2, max_size=4))
    def begin(self, data: st.DataObject, items: list[dict[str, Any]]) -> None:
        """Store a little, so that there is something to act on; keep where the looks are drawn from."""
        self.data = data
        named = {self.called(item): item for item in items}
        ends = [(("index", place), ("index", place + 1)) for place in range(len(named) - 1)]
        links = [(EDGES[0], *pair, None) for pair in ends]
        self.store(list(named.values()), links, {}, keyed=False, commit=True)

    # Calling

    async def outcome(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the answer of an operation, or the error that it raised."""
        try:
            return canonical.decode(await REGISTRY[name].run(self.services, self.actor, arguments))
        except GraphmemError as exc:
            return exc

    def write(self, name: str, arguments: dict[str, Any], refused: str | None, keyed: bool = False) -> Any:
        """Call a write; return its answer, ``None`` where it was refused as it had to be."""
        if keyed:
            arguments = {**arguments, "idempotency_key": f"key {len(self.keyed)}"}
        answer = self.loop.run(self.outcome(name, arguments))
        if refused is not None:
            assert isinstance(answer, GraphmemError), f"{name} is not refused with {refused}: {answer}"
            assert answer.code == refused, f"{name}: {answer.code} instead of {refused}: {answer}"
            return None
        assert not isinstance(answer, GraphmemError), f"{name}: {answer.code}: {answer} {answer.details}"
        self.sequence += 1
        stats = self.loop.run(self.outcome("server.stats", {}))
        assert stats["sequence"] == self.sequence
        assert stats["last_updated"] > self.recorded_at
        self.recorded_at = stats["last_updated"]
        assert not answer.get("replayed", False)
        if keyed:
            self.keyed.append((name, arguments, answer, self.recorded_at))
        return answer

    # What is meant

    def entity(self, who: int) -> str:
        """Return one of the entities there are, or one that nobody knows."""
        everyone = list(self.known.types)
        return everyone[who % len(everyone)] if everyone and who < 19 else UNKNOWN

    def timed(self, said: dict[str, Any]) -> dict[str, Any]:
        """Return what is said, a time in the future in figures: the skew of another clock."""
        if said.get("observed_at") != AHEAD:
            return said
        first = min((fact.recorded_at for fact in self.known.facts), default=None)
        return {**said, "observed_at": TIMES[0] if first is None else later(first, hours=1)}

    def edge(self, which: int) -> str:
        """Return the key of one of the relationships, as written or as shown; an empty text without any."""
        written = dict.fromkeys(fact.home for fact in self.known.facts if ":" in fact.home)
        keys = list(dict.fromkeys([*written, *map(self.known.shown_key, written)]))
        return keys[which % len(keys)] if keys else ""

    def add(self, fact: Fact, *, placed: bool, deduplicated: bool | None = None) -> bool:
        """Add a fact to the model; return whether it is new. ``placed``: its time was given."""
        said = exactly([
            fact.home, fact.observed_at, dict(fact.fields), fact.kind, fact.priority, fact.specificity,
            fact.source,
        ])  # fmt: skip
        repeated = placed and said in self.placed
        assert deduplicated in (None, repeated)
        if repeated:
            assert self.placed[said] == fact.id
            return False
        assert fact.id not in [one.id for one in self.known.facts]
        if placed:
            self.placed[said] = fact.id
        self.known = replace(self.known, facts=(*self.known.facts, fact))
        return True

    # Storing

    @rule(
        items=st.lists(NAMED | TARGETED, min_size=1, max_size=3), links=st.lists(LINK, max_size=2), said=SAID,
        keyed=KEYED, commit=st.sampled_from([True] * 7 + [False]),
    )  # fmt: skip
    def store(
        self,
        items: list[dict[str, Any]],
        links: list[tuple[str, End, End, Any]],
        said: dict[str, Any],
        keyed: bool,
        commit: bool,
    ) -> None:
        raw, said = [self.item(self.timed(one)) for one in items], self.timed(said)
        related = [self.link(one, len(raw)) for one in links]
        arguments = {"entities": raw, "relationships": related, **said}
        homes = [one.get("target_id") or self.called(one) for one in raw]
        refused = self.refused_items(raw) + self.refused_links(related, homes)
        if not commit:
            answer = self.loop.run(self.outcome("store", arguments | {"commit": False}))
            assert isinstance(answer, GraphmemError) == bool(refused)
            return
        if refused:
            answer = self.loop.run(self.outcome("store", arguments))
            assert isinstance(answer, GraphmemError) and answer.code == REFUSED, answer
            assert [(one["code"], one["index"]) for one in answer.details["issues"]] == refused
            return
        answer = self.write("store", arguments, None, keyed)
        assert answer["recorded_at"] == self.recorded_at
        for one, home, stored in zip(raw, homes, answer["entities"], strict=True):
            self.stored_item(one, home, stored, said)
        for one, stored in zip(related, answer["relationships_created"], strict=True):
            self.stored_link(one, homes, stored, said)
        for stored in answer["entities"]:
            view = self.known.entity(stored["entity_id"])
            agrees(stored["entity_snapshot_after"], view["snapshot"], "$.snapshot")
            assert stored["canonical_name"] == view["canonical_name"]

    def item(self, meant: dict[str, Any]) -> dict[str, Any]:
        """Return an item with the entity that is meant."""
        raw = {name: value for name, value in meant.items() if name != "who"}
        return raw | ({"target_id": self.entity(meant["who"])} if "who" in meant else {})

    def link(
        self, meant: tuple[str, End, End, Any], items: int
    ) -> dict[str, Any]:
        """Return a relationship of a store."""
        kind, *ends, metadata = meant
        raw: dict[str, Any] = {"relationship_type": kind} | ({} if metadata is None else {"metadata": metadata})
        if ends[0] == ends[1]:
            # Equal draws are likely, and refused all alike.
            ends[1] = (ends[1][0], ends[1][1] + 1)
        for side, (way, who) in zip(("source", "target"), ends, strict=True):
            raw[f"{side}_{way}"] = who % items if way == "index" else self.entity(who)
        return raw

    def called(self, item: Mapping[str, Any]) -> Any:
        """Return the entity that an item names, or what names it where it is new."""
        name = (item["entity_type"], " ".join(item["name"].casefold().split()))
        return self.named.get(name, name)

    def refused_items(self, raw: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Return what is wrong with items: codes and indexes."""
        found: list[tuple[str, int]] = []
        for index, one in enumerate(raw):
            kind = self.known.types.get(one.get("target_id", ""))
            if "target_id" in one and kind is None:
                found.append(("ERR_TARGET_NOT_FOUND", index))
            elif "target_id" in one and one.get("entity_type", kind) != kind:
                found.append(("ERR_TARGET_TYPE", index))
        return found

    def refused_links(self, related: list[dict[str, Any]], homes: list[Any]) -> list[tuple[str, int]]:
        """Return what is wrong with relationships: codes and indexes."""
        faults = ((self.refused_link(one, homes), index) for index, one in enumerate(related))
        return [(code, index) for code, index in faults if code]

    def refused_link(self, raw: dict[str, Any], homes: list[Any]) -> str:
        """Return what is wrong with one relationship: its source comes first."""
        ends = []
        for side in ("source", "target"):
            by_id = raw.get(f"{side}_entity_id")
            end = homes[raw[f"{side}_index"]] if by_id is None else by_id
            if end == UNKNOWN:
                # An item that is refused is told of once, with the item.
                return "ERR_RELATIONSHIP_ENTITY_NOT_FOUND" if by_id is not None else ""
            if end in self.known.types and not self.known.is_live(end):
                return "ERR_RELATIONSHIP_ENTITY_DELETED"
            ends.append(self.known.root(end) if end in self.known.types else end)
        return "ERR_RELATIONSHIP_TO_ITSELF" if ends[0] == ends[1] else ""

    def stored_item(
        self, raw: dict[str, Any], home: Any, stored: dict[str, Any], said: dict[str, Any]
    ) -> None:
        """Add an item that was stored to the model."""
        home = self.named.get(home, home)
        created = home not in self.known.types
        if created:
            # The first of its name: its id is as the answer says, and the same from now on.
            name, home = home, stored["entity_id"]
            assert home not in self.known.types
            self.named[name] = home
            self.known = replace(self.known, types={**self.known.types, home: raw["entity_type"]})
        action = "created" if created else "extended" if "target_id" in raw else "matched_existing"
        assert stored["action"] == action
        assert self.known.root(home) == self.known.root(stored["entity_id"])
        weights = said | {name: raw[name] for name in RESERVED if name in raw}
        fact = self.fact(stored["observation_id"], home, "value", weights)
        fact = replace(
            fact,
            fields={name: value for name, value in raw.items() if name not in RESERVED},
            specificity=float(raw.get("specificity_score", 1)),
        )
        self.add(fact, placed="observed_at" in weights, deduplicated=stored["deduplicated"])
        view = self.known.entity(home)
        assert stored["version"] == view.get("version", stored["version"])

    def stored_link(
        self, raw: dict[str, Any], homes: list[Any], stored: dict[str, Any], said: dict[str, Any]
    ) -> None:
        """Add a relationship that was stored to the model."""
        ends = []
        for side in ("source", "target"):
            end = raw.get(f"{side}_entity_id") or homes[raw[f"{side}_index"]]
            ends.append(self.named.get(end, end))
        key = ":".join((raw["relationship_type"], *ends))
        fact = replace(
            self.fact(stored["observation_id"], key, "create", said), fields=raw.get("metadata") or {}
        )
        self.add(fact, placed="observed_at" in said, deduplicated=stored["deduplicated"])
        self.told_edge(key, stored)

    def fact(self, observation_id: str, home: str, kind: str, said: Mapping[str, Any]) -> Fact:
        """Return a fact of the last transaction, with what a request says of its weight."""
        return Fact(
            id=observation_id,
            home=home,
            entity_type=self.known.types.get(home, ""),
            kind=kind,
            observed_at=said.get("observed_at", self.recorded_at),
            recorded_at=self.recorded_at,
            priority=float(said.get("source_priority", 100)),
            source=said.get("observation_source", "llm_summary"),
        )

    def told_edge(self, key: str, stored: Mapping[str, Any]) -> None:
        """Check what the answer to a write says of a relationship."""
        assert self.known.shown_key(stored["relationship_key"]) == self.known.shown_key(key)
        edge = self.known.edges()[self.known.shown_key(key)]
        assert stored["is_live"] == relationship(self.known, edge)["is_live"]
        assert stored["version"] == relationship(self.known, edge).get("version", stored["version"])

    @rule(who=WHO, fields=FIELDS, said=SAID, keyed=KEYED)
    def observe(self, who: int, fields: dict[str, Any], said: dict[str, Any], keyed: bool) -> None:
        entity, fields, said = self.entity(who), fields or {"a": 1}, self.timed(said)
        refused = None if entity in self.known.types else NOT_FOUND
        arguments = {"entity_id": entity, "fields": fields, **said}
        answer = self.write("observations.create", arguments, refused, keyed)
        if answer is None:
            return
        fact = replace(self.fact(answer["observation_id"], entity, "value", said), fields=fields)
        self.add(fact, placed="observed_at" in said)
        view = self.known.entity(entity)
        agrees(answer, {name: view[name] for name in ("snapshot", "entity_type", "canonical_name")})

    # Correcting, deleting, restoring

    @rule(who=WHO, field=st.sampled_from(["a", "b", "name"]), value=VALUES, keyed=KEYED)
    def correct(self, who: int, field: str, value: Any, keyed: bool) -> None:
        entity = self.entity(who)
        refused = None if entity in self.known.types else NOT_FOUND
        arguments = {"entity_id": entity, "field": field, "value": value}
        answer = self.write("entities.correct", arguments, refused, keyed)
        if answer is None:
            return
        fact = self.fact(answer["observation_id"], entity, "correction", {"source_priority": 1000})
        self.add(replace(fact, fields={field: value}), placed=False)
        view = self.known.entity(entity)
        agrees(answer["snapshot"], view["snapshot"], "$.snapshot")
        agrees(answer, {name: view[name] for name in ("entity_type", "canonical_name")})

    @rule(who=WHO, kind=TURN, keyed=KEYED)
    def turn(self, who: int, kind: str, keyed: bool) -> None:
        entity = self.entity(who)
        if kind == "either":
            kind = "delete" if self.known.lives(entity) else "restore"
        refused = None
        if entity not in self.known.types:
            refused = NOT_FOUND
        elif self.known.parent(entity) is not None:
            refused = INVALID
        elif self.known.lives(entity) != (kind == "delete"):
            refused = NOT_FOUND
        answer = self.write(f"entities.{kind}", {"entity_id": entity, "reason": "x"}, refused, keyed)
        if answer is not None:
            fact = self.fact(answer["observation_id"], entity, kind, {})
            self.add(replace(fact, fields={"reason": "x"}), placed=False)
            assert answer["state"] == self.known.entity(entity)["state"]

    # Relationships

    @rule(
        related=st.lists(st.tuples(st.sampled_from(EDGES), WHO, WHO, METADATA), min_size=1, max_size=2),
        said=SAID, keyed=KEYED,
    )  # fmt: skip
    def relate(self, related: list[tuple[str, int, int, Any]], said: dict[str, Any], keyed: bool) -> None:
        raw = [
            self.link((kind, ("entity_id", source), ("entity_id", target), metadata), 1)
            for kind, source, target, metadata in related
        ]
        refused, said = REFUSED if self.refused_links(raw, []) else None, self.timed(said)
        if len(raw) == 1:
            answer = self.write("relationships.create", {**raw[0], **said}, refused, keyed)
            stored = [answer]
        else:
            answer = self.write("relationships.create_many", {"relationships": raw, **said}, refused, keyed)
            stored = answer and answer["relationships"]
        if answer is None:
            return
        for one, what in zip(raw, stored, strict=True):
            self.stored_link(one, [], what, said)
        if len(raw) == 1:
            edge = self.known.edges()[self.known.shown_key(stored[0]["relationship_key"])]
            agrees(answer["snapshot"], shown(edge.held, named=False), "$.snapshot")

    @precondition(lambda self: self.edge(0))
    @rule(
        which=WHO, kind=TURN, keyed=KEYED,
        by=st.sampled_from(["key", "id", "triple"]),
    )  # fmt: skip
    def turn_edge(self, which: int, kind: str, keyed: bool, by: str) -> None:
        key = self.edge(which)
        edge = self.known.edges().get(self.known.shown_key(key))
        if edge is None:
            # Both ends are one entity now: it is not shown, and there is nothing to delete or restore.
            self.write("relationships.delete", {"relationship_key": key}, NOT_FOUND)
            return
        if kind == "either":
            kind = "delete" if counted(self.known, edge) else "restore"
        living = [member for member in edge.members if self.known.lives(member)]
        meant = living if kind == "delete" else [] if living else edge.members
        names = ("relationship_type", "source_entity_id", "target_entity_id")
        named = {
            "key": {"relationship_key": key},
            "id": {"relationship_key": edge_id(key)},
            "triple": dict(zip(names, key.split(":"), strict=True)),
        }[by]
        answer = self.write(f"relationships.{kind}", named, None if meant else NOT_FOUND, keyed)
        if answer is None:
            return
        self.turned_edge(answer, kind, list(meant))

    def turned_edge(self, answer: dict[str, Any], kind: str, members: list[str]) -> None:
        """Add the deletion or restoration of every member of a relationship to the model."""
        history = self.loop.run(
            self.outcome(
                "relationships.snapshot",
                {"relationship_key": answer["relationship_key"], "include_deleted": True},
            )
        )
        made = [one["id"] for one in history["observations"] if one["recorded_at"] == self.recorded_at]
        assert len(made) == len(members)
        assert answer["observation_id"] == min(made)
        for member, observation_id in zip(sorted(members), sorted(made), strict=True):
            self.add(self.fact(observation_id, member, kind, {}), placed=False)
        self.told_edge(members[0], answer)

    # Merging

    @precondition(lambda self: MERGING)
    @rule(who=WHO, into=WHO, apt=APT, keyed=KEYED)
    def merge(self, who: int, into: int, apt: bool, keyed: bool) -> None:
        known = self.known
        one, other = self.entity(who), self.entity(into + (who == into))
        among = [root for root in known.types if known.parent(root) is None and known.lives(root)]
        if apt and len(among) > 1:
            one = among.pop(who % len(among))
            other = among[into % len(among)]
        refused = None
        if one not in known.types or other not in known.types:
            refused = NOT_FOUND
        elif one == other or any(not known.lives(end) or known.parent(end) for end in (one, other)):
            refused = INVALID
        arguments = {"source_entity_id": one, "target_entity_id": other, "merge_reason": "x"}
        answer = self.write("entities.merge", arguments, refused, keyed)
        if answer is not None:
            self.merged(answer, one, other)

    @precondition(lambda self: MERGING and any(map(self.known.parent, self.known.types)))
    @rule(who=WHO, apt=APT, keyed=KEYED)
    def unmerge(self, who: int, apt: bool, keyed: bool) -> None:
        known, entity = self.known, self.entity(who)
        if apt:
            among = [one for one in known.types if known.parent(one)]
            entity = among[who % len(among)]
        refused = NOT_FOUND if entity not in known.types or known.parent(entity) is None else None
        answer = self.write("entities.unmerge", {"source_entity_id": entity}, refused, keyed)
        if answer is not None:
            self.merged(answer, entity, None)

    def merged(self, answer: dict[str, Any], entity: str, target: str | None) -> None:
        """Add a merge, or its end where there is no target, to the model."""
        before, kind = self.known, "unmerge" if target is None else "merge"
        moved = before.below(entity)
        keys = {fact.home for fact in before.facts if ":" in fact.home}
        counted = {
            "source_entity_id": entity,
            "target_entity_id": target or before.parent(entity),
            "entities": len(moved),
            "observations_moved": len(before.of(*moved)),
            "relationships_repointed": sum(any(end in moved for end in key.split(":")) for key in keys),
        }
        agrees(answer, counted)
        asked = {"filters": {"entity_id": entity}, "include_deleted": True, "limit": 500}
        listed = self.loop.run(self.outcome("observations.query", asked))["observations"]
        (made,) = [one for one in listed if one["recorded_at"] == self.recorded_at]
        self.add(replace(self.fact(made["id"], entity, kind, {}), target=target), placed=False)

    # Schemas

    @precondition(lambda self: "schemas.register" in REGISTRY)
    @rule(kind=st.sampled_from(TYPES), fields=DECLARED, settings=SETTINGS, hidden=st.booleans(), keyed=KEYED)
    def register(
        self,
        kind: str,
        fields: dict[str, dict[str, Any]],
        settings: dict[str, Any],
        hidden: bool,
        keyed: bool,
    ) -> None:
        gone = ["b"] if hidden and "b" not in fields else []
        document = {"entity_type": kind, "fields": fields, "hidden_fields": gone, **settings}
        closed = {"additional_fields": "hide", "mismatch": "hide"}
        schema = Schema(hidden=frozenset(gone)).updated({}, [], closed | spoken(settings))
        schema = replace(schema, fields={name: Declared(**one) for name, one in fields.items()})
        refused = UNFIT if lists_lack(schema) else None
        answer = self.write("schemas.register", {"schema": document}, refused, keyed)
        if answer is not None:
            self.changed(kind, schema, answer)

    @precondition(lambda self: "schemas.update" in REGISTRY)
    @rule(
        kind=st.sampled_from(TYPES), fields=DECLARED, settings=SETTINGS, keyed=KEYED,
        remove=st.lists(st.sampled_from(["a", "b", "nowhere"]), max_size=1),
    )  # fmt: skip
    def update(
        self,
        kind: str,
        fields: dict[str, dict[str, Any]],
        settings: dict[str, Any],
        keyed: bool,
        remove: list[str],
    ) -> None:
        remove = [name for name in remove if name not in fields]
        arguments = {"entity_type": kind, "new_fields": fields, "fields_to_remove": remove, **settings}
        seen, before = self.known.seen(kind), self.known.effective(kind)
        after = before.updated(fields, remove, spoken(settings))
        missing = [
            name for name in remove
            if name not in before.fields and not (name in seen and before.shows(name))
        ]  # fmt: skip
        refused = None
        if not (fields or remove or settings):
            refused = UNFIT
        elif kind not in self.known.schemas and kind not in self.known.types.values():
            refused = NOT_FOUND
        elif missing or after == before or lists_lack(after):
            refused = UNFIT
        answer = self.write("schemas.update", arguments, refused, keyed)
        if answer is not None:
            self.changed(kind, after, answer)

    def changed(self, kind: str, schema: Schema, answer: dict[str, Any]) -> None:
        """Make a schema count in the model; its version is as it was answered, and only grows."""
        before, version = self.known.schemas.get(kind), answer["schema_version"]
        if before is not None and before.version is not None:
            same_version = replace(schema, version=before.version) == before
            assert same_version == (version == before.version)
            assert same_version or ordered(version) > ordered(before.version)
        schema = replace(schema, version=version)
        self.known = replace(self.known, schemas={**self.known.schemas, kind: schema})

    # Again

    @precondition(lambda self: self.keyed)
    @rule(which=st.integers(0, 9), changed=st.booleans())
    def again(self, which: int, changed: bool) -> None:
        name, arguments, first, recorded_at = self.keyed[which % len(self.keyed)]
        if changed:
            self.write(name, otherwise(name, arguments), MISMATCH)
            return
        answer = self.loop.run(self.outcome(name, arguments))
        assert not isinstance(answer, GraphmemError), answer
        assert answer["replayed"]
        then = self.known.as_of(None, recorded_at)
        if name == "store":
            assert (answer["entities_created"], answer["observations_created"]) == (0, 0)
            for one, before in zip(answer["entities"], first["entities"], strict=True):
                same(one, before, "entity_id", "observation_id", "version", "action")
                agrees(one["entity_snapshot_after"], then.entity(one["entity_id"])["snapshot"], "$.snapshot")
        elif name in ("entities.correct", "observations.create"):
            same(answer, first, "entity_id", "observation_id", "version")
            agrees(answer["snapshot"], then.entity(arguments["entity_id"])["snapshot"], "$.snapshot")
        else:
            same(answer, first, *first.keys() - CHANGING)

    # Looking

    @invariant()
    def every_read_agrees(self) -> None:
        if not hasattr(self, "data"):
            return
        entity, edge, at, at_ingested, *how = self.data.draw(LOOK)
        times: list[str | None] = [None, *moments(self.known)]
        clocks = times[at % len(times)], times[at_ingested % len(times)]
        where = Where(self.entity(entity), self.edge(edge), *clocks, *how)
        self.compare(looks(self.known, where, self.sequence))

    # What was folded under another schema counts as it was until it is touched again.
    @precondition(lambda self: self.known.facts and not self.known.schemas)
    @invariant()
    def one_state_has_one_hash(self) -> None:
        found = self.loop.run(self.outcome("server.stats", {})).get("state_hash")
        assert self.hashes.setdefault(self.known.state(), found) == found

    def teardown(self) -> None:
        """Ask for every entity as of many times, now that there is most to know."""
        if not self.known.facts:
            return
        times: list[str | None] = [None, *moments(self.known)]
        wanted: list[Look] = []
        for place, entity in enumerate(self.known.types):
            for step in range(CUTS):
                at, at_ingested = times[(7 * step + place) % len(times)], times[(5 * step) % len(times)]
                where = Where(entity, self.edge(step), at, at_ingested, 1 + step % 3, "both", step % 2 == 0)
                wanted += snapshots(self.known, where)
            wanted += graph(self.known, Where(entity, self.edge(place), None, None, 2, "both", False))
        self.compare(wanted)
        self.check()

    def check(self) -> None:
        """Have the product compare what it keeps with what was observed."""
        if "server.check_snapshots" not in REGISTRY:
            return
        # A schema that changed leaves what was folded before it to be folded again.
        fixes = {"auto_fix": bool(self.known.schemas)}
        found = self.loop.run(self.outcome("server.check_snapshots", fixes))
        assert found["healthy"], found
        assert found["counts_compared"]

    def compare(self, wanted: list[Look]) -> None:
        """Read all at once; check each answer."""

        async def one(look: Look, room: asyncio.Semaphore) -> Any:
            async with room:
                return await self.outcome(look.operation, look.arguments)

        async def read() -> list[Any]:
            room = asyncio.Semaphore(TOGETHER)
            return await asyncio.gather(*(one(look, room) for look in wanted))

        for look, answer in zip(wanted, self.loop.run(read()), strict=True):
            said = f"{look.operation} {dict(look.arguments)}"
            if isinstance(look.wanted, str):
                assert isinstance(answer, GraphmemError), f"{said} is answered: {answer}"
                assert answer.code == look.wanted, f"{said}: {answer}"
                continue
            assert not isinstance(answer, GraphmemError), f"{said}: {answer.code}: {answer}"
            agrees(answer, look.wanted, said)


def spoken(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a document as the model calls them."""
    names = {"observation_source_priority": "sources"}
    return {names.get(name, name): value for name, value in settings.items()}


def lists_lack(schema: Schema) -> bool:
    """Return whether a union is declared as something else than a list, which is refused."""
    return any(one.merge == "merge_array" and one.type != "array" for one in schema.fields.values())


def ordered(version: str) -> list[int]:
    """Return a version as it is compared."""
    return [int(part) for part in version.split(".")]


def same(answer: Mapping[str, Any], before: Mapping[str, Any], *names: str) -> None:
    """Check that two answers say the same under some names."""
    for name in names:
        if name == "relationships":
            for one, other in zip(answer[name], before[name], strict=True):
                same(one, other, *other.keys() - CHANGING)
        else:
            assert exactly(answer[name]) == exactly(before[name]), name


def otherwise(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of another request under the same key."""
    if name == "store":
        return {**arguments, "entities": [*arguments["entities"], {"entity_type": "thing", "name": "Else"}]}
    if name == "entities.correct":
        return {**arguments, "value": ["else"]}
    if name == "observations.create":
        return {**arguments, "fields": {"else": 1}}
    if name == "relationships.create_many":
        return {**arguments, "relationships": [*arguments["relationships"], arguments["relationships"][0]]}
    if name == "relationships.create":
        return {**arguments, "metadata": {"else": 1}}
    if name.startswith("schemas."):
        return {**arguments, "schema_version": "7.0"}
    if name == "entities.merge":
        return {**arguments, "merge_reason": "else"}
    return {**arguments, "reason": "else"}


@pytest.mark.timeout(1800)  # a failure is made small before it is told
def test_every_read_agrees_with_the_model_after_every_write(loop: Loop, services: Services) -> None:
    profile: Callable[[], RuleBasedStateMachine] = lambda: Machine(loop, services)  # noqa: E731
    most = hypothesis_settings().max_examples
    run_state_machine_as_test(
        profile,
        settings=hypothesis_settings(max_examples=most * 3 // 5, stateful_step_count=15),
    )
