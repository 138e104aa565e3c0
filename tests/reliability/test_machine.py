"""Random sequences of writes against a plain model: after each step, every read of both agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from graphmem.context import Services
from graphmem.errors import GraphmemError
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.expected_answers import NOT_FOUND, UNKNOWN, agrees, counted, exactly, later
from tests.support.knowledge_model import TURNS, Edge, Split, TakenBack, edge_id, shown
from tests.support.reduction_model import Declared, Fact, Schema, is_refused, model_settings
from tests.support.state_machine import ComparedService, run_machine
from tests.support.strategies import (
    DECLARED,
    EDGES,
    ENTITY_NUMBER,
    FIELDS,
    KEYED,
    LIFECYCLE,
    LINK,
    METADATA,
    MOSTLY_POSSIBLE,
    NAMED,
    OBSERVATION_OPTIONS,
    SETTINGS,
    TARGETED,
    TYPES,
    VALUES,
    VERSION_SHIFT,
    End,
)  # fmt: skip

REFUSED, INVALID = "ERR_STORE_RESOLUTION_FAILED", "VALIDATION_INVALID_FORMAT"
UNFIT = "SCHEMA_VALIDATION_FAILED"
MISMATCH = "ERR_IDEMPOTENCY_MISMATCH"
CHANGING = {"replayed", "deduplicated", "snapshot", "created_count"}
"""What a replay says otherwise than the first answer."""


class Machine(ComparedService):
    """The writes."""

    @initialize(data=st.data(), items=st.lists(NAMED, min_size=2, max_size=4))
    def begin(self, data: st.DataObject, items: list[dict[str, Any]]) -> None:
        """Store a little, so that there is something to act on; keep where the looks are drawn from."""
        self.data = data
        named = {self.called(item): item for item in items}
        ends = [(("index", place), ("index", place + 1)) for place in range(len(named) - 1)]
        links = [(EDGES[0], *pair, None) for pair in ends]
        self.store(list(named.values()), links, {}, keyed=False, commit=True)

    # Storing

    @rule(
        items=st.lists(NAMED | TARGETED, min_size=1, max_size=3), links=st.lists(LINK, max_size=2),
        options=OBSERVATION_OPTIONS, keyed=KEYED, commit=st.sampled_from([True] * 7 + [False]),
    )  # fmt: skip
    def store(
        self,
        items: list[dict[str, Any]],
        links: list[tuple[str, End, End, Any]],
        options: dict[str, Any],
        keyed: bool,
        commit: bool,
    ) -> None:
        raw, options = [self.item(self.timed(item)) for item in items], self.timed(options)
        related = [self.link(link, len(raw)) for link in links]
        arguments = {"entities": raw, "relationships": related, **options}
        subject_ids = [item.get("target_id") or self.called(item) for item in raw]
        refused = self.refused_items(raw) + self.refused_links(related, subject_ids)
        if not commit:
            answer = self.loop.run(self.outcome("store", arguments | {"commit": False}))
            assert isinstance(answer, GraphmemError) == bool(refused)
            return
        if refused:
            answer = self.loop.run(self.outcome("store", arguments))
            assert isinstance(answer, GraphmemError), answer
            assert answer.code == REFUSED, answer
            assert [(issue["code"], issue["index"]) for issue in answer.details["issues"]] == refused
            return
        answer = self.write("store", arguments, None, keyed)
        assert answer["recorded_at"] == self.recorded_at
        for item, subject_id, entity in zip(raw, subject_ids, answer["entities"], strict=True):
            self.add_item(item, subject_id, entity, options)
        for link, relationship in zip(related, answer["relationships_created"], strict=True):
            self.add_link(link, subject_ids, relationship, options)
        for entity in answer["entities"]:
            view = self.known.entity(entity["entity_id"])
            agrees(entity["entity_snapshot_after"], view["snapshot"], "$.snapshot")
            assert entity["canonical_name"] == view["canonical_name"]

    @rule(number=ENTITY_NUMBER, fields=FIELDS, options=OBSERVATION_OPTIONS, keyed=KEYED)
    def observe(self, number: int, fields: dict[str, Any], options: dict[str, Any], keyed: bool) -> None:
        entity, fields, options = self.entity(number), fields or {"a": 1}, self.timed(options)
        refused = None if entity in self.known.types else NOT_FOUND
        arguments = {"entity_id": entity, "fields": fields, **options}
        answer = self.write("observations.create", arguments, refused, keyed)
        if answer is None:
            return
        fact = replace(self.fact(answer["observation_id"], entity, "value", options), fields=fields)
        self.add(fact, placed="observed_at" in options)
        view = self.known.entity(entity)
        agrees(answer, {name: view[name] for name in ("snapshot", "entity_type", "canonical_name")})

    # A second writer, and taking back what it wrote

    @rule(number=ENTITY_NUMBER, fields=FIELDS, options=OBSERVATION_OPTIONS)
    def observe_by_bot(self, number: int, fields: dict[str, Any], options: dict[str, Any]) -> None:
        entity, options = self.entity(number), self.timed(options)
        # Nobody else says the same: what both recorded would count with either of them.
        fields = {**fields, "by": len(self.known.stored)}
        arguments = {"entity_id": entity, "fields": fields, **options}
        refused = None if entity in self.known.types else NOT_FOUND
        answer = self.write("observations.create", arguments, refused, by_bot=True)
        if answer is None:
            return
        fact = self.fact(answer["observation_id"], entity, "value", options)
        self.add(replace(fact, fields=fields, by_bot=True), placed="observed_at" in options)
        held = any(each.holds(self.known.stored[-1]) for each in self.known.taken_back)
        assert ("WRITER_QUARANTINED" in [each["code"] for each in answer["store_warnings"]]) == held
        view = self.known.entity(entity)
        agrees(answer, {name: view[name] for name in ("snapshot", "entity_type", "canonical_name")})
        refusal = "WRITER_QUARANTINED" if held else NOT_FOUND
        self.write("entities.unmerge", {"source_entity_id": UNKNOWN}, refusal, by_bot=True)

    @precondition(lambda self: any(fact.by_bot for fact in self.known.stored))
    @rule(way=st.sampled_from(["quarantine", "all", "span"]))
    def take_back(self, way: str) -> None:
        """Withdraw what the bot writes from now on, all that it writes, or what it wrote; or end that."""
        now = later(self.recorded_at, microseconds=1)
        since, until = {"quarantine": (now, "~"), "all": ("", "~"), "span": ("", now)}[way]
        taken_back = self.known.taken_back
        held = [
            each for each in taken_back if each.undone_at is None and (each.until == "~") == (until == "~")
        ]
        if way != "quarantine":
            held = [each for each in held if each.since == since]
        if way == "quarantine":
            name, span = ("agents.release" if held else "agents.quarantine"), {}
        else:
            name, span = f"writings.{'reinstate' if held else 'withdraw'}", {}
            held = held[:1]
            if way == "span":
                span = {"until": held[0].until if held else until}
        self.write(name, {"by_client": "bot", **span}, None)
        if held:
            taken_back = tuple(
                replace(each, undone_at=self.recorded_at) if each in held else each for each in taken_back
            )
        else:
            since = later(self.recorded_at, microseconds=1) if way == "quarantine" else since
            taken_back = (*taken_back, TakenBack(since, until, self.recorded_at))
        self.known = replace(self.known, taken_back=taken_back)

    # Correcting, deleting, restoring

    def expecting(self, entity: str, shift: int | None) -> dict[str, int]:
        """Return the version of a stored entity, or another one, as an argument."""
        if shift is None or entity not in self.known.types:
            return {}
        current = self.loop.run(self.outcome("entities.get", {"entity_id": entity, "include_deleted": True}))
        return {"expected_version": current["version"] + shift}

    @rule(
        number=ENTITY_NUMBER, field=st.sampled_from(["a", "b", "due", "name"]), value=VALUES, keyed=KEYED,
        shift=VERSION_SHIFT,
    )  # fmt: skip
    def correct(self, number: int, field: str, value: Any, keyed: bool, shift: int | None) -> None:
        entity = self.entity(number)
        expected = self.expecting(entity, shift)
        refused = None if entity in self.known.types else NOT_FOUND
        refused = "VERSION_CONFLICT" if expected and shift else refused
        arguments = {"entity_id": entity, "field": field, "value": value, **expected}
        answer = self.write("entities.correct", arguments, refused, keyed)
        if answer is None:
            return
        fact = self.fact(answer["observation_id"], entity, "correction", {"source_priority": 1000})
        self.add(replace(fact, fields={field: value}), placed=False)
        view = self.known.entity(entity)
        agrees(answer["snapshot"], view["snapshot"], "$.snapshot")
        agrees(answer, {name: view[name] for name in ("entity_type", "canonical_name")})

    @rule(number=ENTITY_NUMBER, kind=LIFECYCLE, keyed=KEYED, shift=VERSION_SHIFT)
    def turn(self, number: int, kind: str, keyed: bool, shift: int | None) -> None:
        entity = self.entity(number)
        expected = self.expecting(entity, shift)
        if kind == "either":
            kind = "delete" if self.known.lives(entity) else "restore"
        refused = None
        if entity not in self.known.types:
            refused = NOT_FOUND
        elif self.known.parent(entity) is not None:
            refused = INVALID
        elif self.known.lives(entity) != (kind == "delete"):
            refused = NOT_FOUND
        refused = "VERSION_CONFLICT" if expected and shift else refused
        arguments = {"entity_id": entity, "reason": "x", **expected}
        answer = self.write(f"entities.{kind}", arguments, refused, keyed)
        if answer is not None:
            fact = self.fact(answer["observation_id"], entity, kind, {})
            self.add(replace(fact, fields={"reason": "x"}), placed=False)
            assert answer["state"] == self.known.entity(entity)["state"]

    # Relationships

    @rule(
        related=st.lists(
            st.tuples(st.sampled_from(EDGES), ENTITY_NUMBER, ENTITY_NUMBER, METADATA), min_size=1, max_size=2
        ),
        options=OBSERVATION_OPTIONS, keyed=KEYED,
    )  # fmt: skip
    def relate(self, related: list[tuple[str, int, int, Any]], options: dict[str, Any], keyed: bool) -> None:
        raw = [
            self.link((kind, ("entity_id", source), ("entity_id", target), metadata), 1)
            for kind, source, target, metadata in related
        ]
        refused, options = REFUSED if self.refused_links(raw, []) else None, self.timed(options)
        if len(raw) == 1:
            answer = self.write("relationships.create", {**raw[0], **options}, refused, keyed)
            rows = [answer]
        else:
            answer = self.write(
                "relationships.create_many", {"relationships": raw, **options}, refused, keyed
            )
            rows = answer and answer["relationships"]
        if answer is None:
            return
        for link, row in zip(raw, rows, strict=True):
            self.add_link(link, [], row, options)
        if len(raw) == 1:
            edge = self.known.edges()[self.known.shown_key(rows[0]["relationship_key"])]
            agrees(answer["snapshot"], shown(edge.states, named=False), "$.snapshot")

    @precondition(lambda self: self.edge(0))
    @rule(
        number=ENTITY_NUMBER, kind=LIFECYCLE, keyed=KEYED,
        by=st.sampled_from(["key", "id", "triple"]),
    )  # fmt: skip
    def turn_edge(self, number: int, kind: str, keyed: bool, by: str) -> None:
        key = self.edge(number)
        edge = self.known.edges().get(self.known.shown_key(key))
        if edge is None:
            # Both ends are one entity now: it is not shown, and there is nothing to delete or restore.
            self.write("relationships.delete", {"relationship_key": key}, NOT_FOUND)
            return
        if kind == "either":
            kind = "delete" if counted(self.known, edge) else "restore"
        living = [member for member in edge.members if self.known.lives(member)]
        members = living if kind == "delete" else [] if living else edge.members
        names = ("relationship_type", "source_entity_id", "target_entity_id")
        named = {
            "key": {"relationship_key": key},
            "id": {"relationship_key": edge_id(key)},
            "triple": dict(zip(names, key.split(":"), strict=True)),
        }[by]
        answer = self.write(f"relationships.{kind}", named, None if members else NOT_FOUND, keyed)
        if answer is None:
            return
        self.turned_edge(answer, kind, list(members))

    def turned_edge(self, answer: dict[str, Any], kind: str, members: list[str]) -> None:
        """Add the deletion or restoration of every member of a relationship to the model."""
        history = self.loop.run(
            self.outcome(
                "relationships.snapshot",
                {"relationship_key": answer["relationship_key"], "include_deleted": True},
            )
        )
        made = [
            observation["id"]
            for observation in history["observations"]
            if observation["recorded_at"] == self.recorded_at
        ]
        assert len(made) == len(members)
        assert answer["observation_id"] == min(made)
        for member, observation_id in zip(sorted(members), sorted(made), strict=True):
            fact = self.fact(observation_id, member, kind, {})
            # What was created ahead of the clock is deleted, or restored, a moment after that.
            last = [turn.observed_at for turn in self.known.of(member) if turn.kind in TURNS][-1]
            after = max(fact.observed_at, later(last, microseconds=1))
            self.add(replace(fact, observed_at=after), placed=False)
        self.check_edge(members[0], answer)

    # Merging

    @rule(
        number=ENTITY_NUMBER, into=ENTITY_NUMBER, apt=MOSTLY_POSSIBLE, keyed=KEYED,
        name_from=st.sampled_from([None, "target", "source"]),
    )  # fmt: skip
    def merge(self, number: int, into: int, apt: bool, keyed: bool, name_from: str | None) -> None:
        known = self.known
        source, target = self.entity(number), self.entity(into + (number == into))
        among = [root for root in known.types if known.parent(root) is None and known.lives(root)]
        if apt and len(among) > 1:
            source = among.pop(number % len(among))
            target = among[into % len(among)]
        refused = None
        if source not in known.types or target not in known.types:
            refused = NOT_FOUND
        elif source == target or any(not known.lives(end) or known.parent(end) for end in (source, target)):
            refused = INVALID
        arguments = {"source_entity_id": source, "target_entity_id": target, "merge_reason": "x"}
        arguments |= {"name_from": name_from} if name_from else {}
        answer = self.write("entities.merge", arguments, refused, keyed)
        if answer is not None:
            self.merged(answer, source, target, name_from or "target")

    @precondition(lambda self: any(map(self.known.parent, self.known.types)))
    @rule(number=ENTITY_NUMBER, apt=MOSTLY_POSSIBLE, keyed=KEYED)
    def unmerge(self, number: int, apt: bool, keyed: bool) -> None:
        known, entity = self.known, self.entity(number)
        if apt:
            among = [member for member in known.types if known.parent(member)]
            entity = among[number % len(among)]
        refused = NOT_FOUND if entity not in known.types or known.parent(entity) is None else None
        answer = self.write("entities.unmerge", {"source_entity_id": entity}, refused, keyed)
        if answer is not None:
            self.merged(answer, entity, None)

    def merged(
        self, answer: dict[str, Any], entity: str, target: str | None, name_from: str = "target"
    ) -> None:
        """Add a merge, or its end where there is no target, to the model."""
        before, kind = self.known, "unmerge" if target is None else "merge"
        moved = before.below(entity)
        keys = {fact.subject_id for fact in before.facts if ":" in fact.subject_id}
        counted = {
            "source_entity_id": entity,
            "target_entity_id": target or before.parent(entity),
            "entities": len(moved),
            "observations_moved": len(before.of(*moved)),
            "relationships_repointed": sum(any(end in moved for end in key.split(":")) for key in keys),
        }
        agrees(answer, counted)
        arguments = {"filters": {"entity_id": entity}, "include_deleted": True, "limit": 500}
        listed = self.loop.run(self.outcome("observations.query", arguments))["observations"]
        (made,) = [observation for observation in listed if observation["recorded_at"] == self.recorded_at]
        fact = replace(self.fact(made["id"], entity, kind, {}), target=target, name_from=name_from)
        self.add(fact, placed=False)

    # Splitting

    @rule(
        number=ENTITY_NUMBER, which=st.lists(st.integers(0, 9), min_size=1, max_size=3), keyed=KEYED,
        apt=MOSTLY_POSSIBLE, into=st.none() | ENTITY_NUMBER, related=st.booleans(),
    )  # fmt: skip
    def split(
        self, number: int, which: list[int], keyed: bool, apt: bool, into: int | None, related: bool
    ) -> None:
        known = self.known
        entity, target = self.entity(number), None if into is None else self.entity(into)
        if apt:
            apart = [root for root in known.roots() if known.lives(root) and len(self.told(root)) > 1]
            entity = apart[number % len(apart)] if apart else entity
        told = self.told(entity) if entity in known.types else []
        chosen = [told[each % len(told)] for each in which] if told else []
        # A member of which nothing is left is no longer there; the other rules do not know of such entities.
        # What the bot says of it may be taken back.
        kept = {fact.subject_id for fact in told if fact not in chosen and not fact.by_bot}
        if chosen and len({fact.id for fact in chosen}) < len(told):
            chosen = [fact for fact in chosen if fact.subject_id in kept]
            if not chosen:
                return
        moved = {fact.id for fact in chosen} or {"obs_" + "0" * 32}
        refused = None
        if entity not in known.types:
            refused = NOT_FOUND
        elif not known.is_live(entity):
            refused = INVALID
        elif target is not None and target not in known.types:
            refused = NOT_FOUND
        elif len(moved) == len(told) or (
            target is not None and (not known.is_live(target) or known.root(target) == known.root(entity))
        ):
            refused = INVALID
        edges = known.edges_of(entity, "both", deleted=True)[:1] if related and refused is None else []
        ends = known.root(target) if target else None
        if any(ends in (edge.source, edge.target) for edge in edges):
            refused = INVALID
        new = {"entity_type": TYPES[0], "canonical_name": "New"}
        arguments = {
            "source_entity_id": entity,
            "predicate": {"observation_ids": sorted(moved)},
            "new_entity": new if target is None else {"target_entity_id": target},
            "relationships": [edge.key for edge in edges],
        }
        answer = self.write("entities.split", arguments, refused, keyed)
        if answer is not None:
            self.was_split(answer, known.root(entity), moved, edges)

    def told(self, entity: str) -> list[Fact]:
        """Return the facts that give an entity its values, the oldest first."""
        root = self.known.root(entity)
        facts = self.known.of(*self.known.members(root))
        return [fact for fact in facts if fact.kind in ("value", "correction")]

    def was_split(self, answer: dict[str, Any], root: str, moved: set[str], edges: list[Edge]) -> None:
        """Add a split to the model, with the entity that it created."""
        assert answer["observations_moved"] == len(moved)
        target, members = answer["new_entity_id"], set(self.known.members(root))
        if answer["created"]:
            self.known = replace(self.known, types={**self.known.types, target: TYPES[0]})
            arguments = {"filters": {"entity_id": target}}
            listed = self.loop.run(self.outcome("observations.query", arguments))["observations"]
            (made,) = [each for each in listed if each["id"] not in moved]
            fact = self.fact(made["id"], target, "value", {})
            self.add(replace(fact, fields={"canonical_name": "New"}), placed=False)
        subjects = {each: str(target) for each in moved}
        for fact in (fact for edge in edges for fact in edge.facts):
            kind, *ends = fact.subject_id.split(":")
            subjects[fact.id] = ":".join([kind, *(target if end in members else end for end in ends)])
        made_split = Split(answer["split_id"], subjects, self.recorded_at)
        self.known = replace(self.known, splits=(*self.known.splits, made_split))

    @precondition(lambda self: self.known.splits)
    @rule(number=st.integers(0, 9), keyed=KEYED)
    def unsplit(self, number: int, keyed: bool) -> None:
        splits = list(self.known.splits)
        place = number % len(splits)
        undone = splits[place]
        refused = None if undone.undone_at is None else NOT_FOUND
        answer = self.write("entities.unsplit", {"split_id": undone.id}, refused, keyed)
        if answer is not None:
            splits[place] = replace(undone, undone_at=self.recorded_at)
            self.known = replace(self.known, splits=tuple(splits))

    # Schemas

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
        schema = Schema(hidden=frozenset(gone)).updated({}, [], closed | model_settings(settings))
        schema = replace(
            schema, fields={name: Declared(**declaration) for name, declaration in fields.items()}
        )
        refused = UNFIT if is_refused(schema) else None
        answer = self.write("schemas.register", {"schema": document}, refused, keyed)
        if answer is not None:
            self.changed(kind, schema, answer)

    @rule(
        kind=st.sampled_from(TYPES), fields=DECLARED, settings=SETTINGS, keyed=KEYED,
        remove=st.lists(st.sampled_from(["a", "b", "due", "nowhere"]), max_size=1),
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
        known_fields, before = self.known.seen(kind), self.known.effective(kind)
        after = before.updated(fields, remove, model_settings(settings))
        missing = [
            name for name in remove
            if name not in before.fields and not (name in known_fields and before.shows(name))
        ]  # fmt: skip
        refused = None
        if not (fields or remove or settings):
            refused = UNFIT
        elif kind not in self.known.schemas and kind not in self.known.types.values():
            refused = NOT_FOUND
        elif missing or after == before or is_refused(after):
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
    @rule(number=st.integers(0, 9), changed=st.booleans())
    def again(self, number: int, changed: bool) -> None:
        name, arguments, first, recorded_at = self.keyed[number % len(self.keyed)]
        if changed:
            self.write(name, otherwise(name, arguments), MISMATCH)
            return
        answer = self.loop.run(self.outcome(name, arguments))
        assert not isinstance(answer, GraphmemError), answer
        assert answer["replayed"]
        then = self.known.as_of(None, recorded_at)
        if name == "store":
            assert (answer["entities_created"], answer["observations_created"]) == (0, 0)
            for entity, before in zip(answer["entities"], first["entities"], strict=True):
                same(entity, before, "entity_id", "observation_id", "version", "action")
                agrees(
                    entity["entity_snapshot_after"],
                    then.entity(entity["entity_id"])["snapshot"],
                    "$.snapshot",
                )
        elif name in ("entities.correct", "observations.create"):
            same(answer, first, "entity_id", "observation_id", "version")
            agrees(answer["snapshot"], then.entity(arguments["entity_id"])["snapshot"], "$.snapshot")
        else:
            same(answer, first, *first.keys() - CHANGING)


def ordered(version: str) -> list[int]:
    """Return a version as it is compared."""
    return [int(part) for part in version.split(".")]


def same(answer: Mapping[str, Any], before: Mapping[str, Any], *names: str) -> None:
    """Check that two answers say the same under some names."""
    for name in names:
        if name == "relationships":
            for row, row_before in zip(answer[name], before[name], strict=True):
                same(row, row_before, *row_before.keys() - CHANGING)
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


@pytest.mark.timeout(3600)  # a failure is made small before it is told
def test_every_read_agrees_with_the_model_after_every_write(loop: Loop, services: Services) -> None:
    example_settings = hypothesis_settings(examples(2), stateful_step_count=15 if LONG else 12)
    run_machine(Machine, loop, services, example_settings)
