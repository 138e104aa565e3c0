"""Each stored property, damaged in four ways: no answer is a 500, and the check names the damage.

The properties are those that the database has of a rich example, so that a new property is in the walk.
"""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, LiteralString, NamedTuple

import pytest

from graphmem import registry
from graphmem.context import Context, Services
from graphmem.database.left_out import Damage
from graphmem.database.relationship_vocabulary import Vocabulary
from graphmem.errors import DataDamaged, GraphmemError
from graphmem.interpretation import make_passages
from graphmem.operations.server import health_of
from graphmem.reading.snapshot_check import audit
from graphmem.search.passage_copies import PassageCopies
from graphmem.search.search_copies import SearchCopies
from graphmem.worker import make_vectors
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
from tests.support.figures import Figures
from tests.support.sealed_services import sealed_services_beside
from tests.support.search_copies import with_new_copies

SEED: Final = 49
PARTS: Final = 12 if LONG else 20
"""A long run damages all properties, in clear and sealed, in so many parts; an ordinary run the first one.

It damages each of them in one of the ways.
"""
DERIVED: Final = frozenset({
    "Entity", "Relationship", "Identifier", "Meaning", "TimelineEvent", "Passages", "Count",
})  # fmt: skip
"""The labels of what is derived: a check that names its damage mends it."""
NAMES: Final = {
    f"{label}.{name}"
    for label in DERIVED
    for name in ("id", "key", "type", "owner", "entity_id", "kind", "value", "source", "target")
} - {"Entity.type", "Relationship.type"}
"""What says which thing a derived node is of: another node may come in its place."""
CONCERNS_ALL: Final = frozenset({"Owner", "Schema", "Count", "Renaming", "TypeAlias", "Agent"})
"""Labels of what concerns more than what is beside it, such as what fields of a type mean."""
LISTS: Final = frozenset({
    "entities.query", "entities.history", "observations.query", "relationships.list", "timeline.list",
    "changes.list", "sources.list", "sources.search", "interpretations.list",
})  # fmt: skip
"""Reads whose items do not depend on each other: others rank, count, and put together."""
REFUSED: Final = DataDamaged.default_message().partition(",")[0]
WAYS: Final = ("other value", "wrong type", "cut", "missing")
ID: Final = re.compile(r"\b[a-z]{3}_[0-9a-f]{24,32}\b")
EVENT_ID: Final = re.compile(r'(?<="event_id": ")\w+')
GUARANTEES: Final = Path(__file__).parents[2] / "docs/guarantees.md"
NODES: LiteralString = (
    "MATCH (n) WHERE n.owner = $owner OR n:Owner AND n.id = $owner "
    "RETURN elementId(n) AS place, labels(n) AS labels, properties(n) AS properties, "
    "[(n)--(m) WHERE m.id IS NOT NULL | m.id] AS beside"
)
EDGES: LiteralString = (
    "MATCH (n)-[r]->(m) WHERE n.owner = $owner RETURN elementId(r) AS place, [type(r)] AS labels, "
    "properties(r) AS properties, [n.id, m.id] AS beside"
)
PUT_NODE: LiteralString = "MATCH (n) WHERE elementId(n) = $place SET n[$name] = $value"
REMOVE: LiteralString = (
    "MATCH (n) WHERE elementId(n) = $place AND coalesce(n[$name] = $value, n[$name] IS NULL) DETACH DELETE n"
)
"""Remove what is damaged, where another node has come in its place."""
PUT_EDGE: LiteralString = "MATCH ()-[r]->() WHERE elementId(r) = $place SET r[$name] = $value"


class Property(NamedTuple):
    """A property of a node or an edge, its value, and the ids in the node and beside it."""

    place: str
    label: str
    name: str
    value: Any
    is_node: bool
    about: frozenset[str]

    def __str__(self) -> str:
        return f"{self.label}.{self.name}"


class Outcome(NamedTuple):
    """What becomes of a damage: answers of 500, items of others that are answered otherwise."""

    name: str
    way: str
    faults: list[str]
    others: list[str]
    is_named: bool
    is_mended: bool

    @property
    def label(self) -> str:
        return self.name.partition(".")[0]


NOTHING: Final = Property("", "", "", None, True, frozenset())


def damaged(value: Any, way: str) -> Any:
    """Return a value that is damaged in one way."""
    if way == "missing":
        return None
    if way == "wrong type":
        return 7 if isinstance(value, str | bytes | list) else "text"
    if way == "cut":
        return value[:-1] if isinstance(value, str | bytes | list) else 0
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1, *value[1:]]) if value else b"\x01"
    return [*value[:-1], damaged(value[-1], way)] if value and value[-1] != [] else ["other"]


def store_example(call: Call) -> dict[str, str]:
    """Store little in which nearly everything occurs that is stored; return ids by name."""
    fields = {"name": {"type": "string"}, "year": {"type": "number"}}
    call("schemas.register", schema={"entity_type": "wine", "aliases": ["vintage"], "fields": fields})
    items = [
        {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "born": 1815},
        {"entity_type": "person", "name": "Ada Byron", "phone": "+44 1632 960000"},
        {"entity_type": "person", "name": "Ada King", "born": 1815},
        {"entity_type": "company", "name": "Analytical Engines", "founded": "1833-06-05"},
        {"entity_type": "wine", "name": "Ridge", "year": "1971"},
    ]
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 3, "metadata": {"since": 1843}},
        {"relationship_type": "ADMIRES", "source_index": 2, "target_index": 0},
    ]
    answer = call("store", entities=items, relationships=links, idempotency_key="first")
    ada, byron, king, company, wine = (entity["entity_id"] for entity in answer["entities"])
    call("entities.correct", entity_id=ada, field="born", value=1815)
    call("entities.merge", source_entity_id=byron, target_entity_id=ada, merge_reason="one person")
    call("entities.dismiss_duplicates", entity_a=ada, entity_b=king, reason="mother and daughter")
    call("relationship_types.rename", relationship_type="ADMIRES", name="ADORES")
    file = {"file_content": in_base64("Dear Ada, the engine is ready."), "mime_type": "text/plain"}
    letter = {**file, "original_filename": "letter.txt"}
    source = call("store", entities=[{"target_id": ada, "title": "Countess"}], **letter)["source_id"]
    read = {"target_id": company, "greeted": True, "spans": {"greeted": {"line": 1, "quote": "Dear Ada"}}}
    call("interpretations.create", source_id=source, entities=[read], model="m")
    draft = {"file_content": in_base64("a draft"), "mime_type": "text/plain"}
    draft_id = call("store", entities=[{"target_id": wine, "year": 1972}], **draft)["source_id"]
    call("sources.withdraw", source_id=draft_id, reason="a draft")
    call(
        "entities.split", source_entity_id=ada, reason="two people",
        observation_field_equals={"field": "title", "value": "Countess"},
        new_entity={"entity_type": "person", "canonical_name": "The other Ada"},
    )  # fmt: skip
    return {"ada": ada, "company": company, "source": source}


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


Answers = dict[tuple[str, str, str], str]
"""The items of the lists of all answers, by operation, member and id; an error under the member ``error``."""


class Walk:
    """The reads of an owner, and one store, repeated after each damage."""

    def __init__(self, loop: Loop, services: Services, owner: str) -> None:
        self.loop, self.services, self.owner = loop, services, owner
        self.call = by_runner(loop, services, owner)
        ids = store_example(self.call)
        self.derive()
        ada, company, source = ids["ada"], ids["company"], ids["source"]
        link = self.call("relationships.list", include_deleted=True)["relationships"][0]
        preview = [{"target_id": company, "motto": "on"}, {"entity_type": "x", "name": "y"}]
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {
            f"{number} {name}": (name, arguments)
            for number, (name, arguments) in enumerate([
                ("entities.query", {"include_deleted": True, "sort_by": "canonical_name"}),
                ("entities.query", {"search": "Ada engines"}),
                ("entities.query", {"filters": {"snapshot_filters": {"born": {"op": "gt", "value": 1800}}}}),
                ("entities.query", {"at": "2020-01-01T00:00:00Z"}),
                ("entities.snapshot", {"entity_id": ada}),
                ("entities.snapshot", {"entity_id": company, "at": "2100-01-01T00:00:00Z"}),
                ("entities.get", {"entity_id": company}),
                ("entities.find", {"identifier": "ada@example.org"}),
                ("entities.find", {"identifier": "Ada"}),
                ("entities.related", {"entity_id": company}),
                ("entities.duplicates", {}),
                ("entities.contested", {}),
                ("entities.history", {"entity_id": ada}),
                ("entities.provenance", {"entity_id": ada, "field": "born"}),
                ("graph.neighborhood", {"node_id": company}),
                ("relationships.list", {"include_deleted": True}),
                ("relationships.get", {"relationship_id": link["relationship_id"]}),
                ("relationship_types.list", {}),
                ("observations.query", {"include_deleted": True}),
                ("timeline.list", {}),
                ("changes.list", {"limit": 100}),
                ("sources.list", {}),
                ("sources.get", {"source_id": source, "include_text": True}),
                ("sources.search", {"search": "Dear Ada"}),
                ("interpretations.list", {}),
                ("schemas.list", {}),
                ("schemas.get", {"entity_type": "wine"}),
                ("context.retrieve", {"question": "Who is Ada?"}),
                ("search.explain", {"search": "Ada"}),
                ("server.stats", {}),
                ("store", {"entities": preview, "commit": False}),
            ])
        }  # fmt: skip
        # The shapes of the values of a withdrawn file are derived anew by a deep check alone.
        self.check(fix=True)
        assert self.check() == (False, [])
        self.before, faults = self.answers()
        assert not faults, faults

    def properties(self) -> Iterator[Property]:
        """Yield a property of each name of each label and type of edge."""
        seen = set[tuple[str, str]]()
        for is_node in (True, False):
            listing = self.services.database.script(NODES if is_node else EDGES, owner=self.owner)
            for row in self.loop.run(listing):
                parts = json.dumps([row["properties"], row["beside"]], default=str)
                about = frozenset(ID.findall(parts))
                for name, value in sorted(row["properties"].items()):
                    key = row["labels"][0], name
                    if key not in seen and value != [] and name != "owner":
                        seen.add(key)
                        yield Property(row["place"], *key, value, is_node, about)

    def put(self, each: Property, value: Any) -> bool:
        """Write a value past the service; return whether the database took it: some values are unique."""
        statement = PUT_NODE if each.is_node else PUT_EDGE
        with contextlib.suppress(GraphmemError):
            self.loop.run(
                self.services.database.script(statement, place=each.place, name=each.name, value=value)
            )
            return True
        return False

    def answers(self) -> tuple[Answers, list[str]]:
        """Return the answers of a process that has read nothing yet, and the calls that failed with a 500."""
        items, faults = Answers(), list[str]()
        with called_anew(self.loop, self.services, self.owner) as call:
            self._answer(call, items, faults)
        return items, faults

    def _answer(self, call: Call, items: Answers, faults: list[str]) -> None:
        for key, (name, arguments) in self.calls.items():
            try:
                pages = list(pages_of(call, name, arguments))
            except GraphmemError as exc:
                items[key, "error", ""] = f"{exc} {exc.details}"
                faults += [f"{key}: {exc.code}"] if exc.status == 500 else []
            except ValueError as exc:
                faults.append(f"{key}: the answer is no JSON: {exc}")
            else:
                listing = (each for page in pages for each in listed(name, page))
                items |= {(key, member, id_of(item)): item for member, item in listing}

    def differing(self, each: Property, now: Answers) -> list[str]:
        """Return the items of lists that are not about the damaged thing and are answered otherwise."""
        return [
            f"{call} {member}: {now.get((call, 'error', '')) or now.get((call, member, subject_id), 'gone')}"[
                :300
            ]
            for (call, member, subject_id), item in self.before.items()
            if now.get((call, member, subject_id)) != item
            and not any(one in item for one in each.about)
            and call.split()[1] in LISTS
            and ID.search(subject_id)
            # The database refuses a statement that compares a value of a wrong type.
            and not now.get((call, "error", ""), "").startswith(REFUSED)
        ]

    def outcome(self, name: str, way: str) -> Outcome | None:
        """Damage a property in one way, and put it right; None: the database refuses the damage."""
        # What was mended may be another node.
        (each,) = (each for each in self.properties() if str(each) == name)
        value = damaged(each.value, way)
        if value == each.value or not self.put(each, value):
            return None
        now, faults = self.answers()
        is_named, failed = self.check()
        is_mended = False
        if is_named and name.split(".")[0] in DERIVED:
            failed += self.check(fix=True)[1]
            self.derive()
            is_mended = not self.check()[0]
        if is_mended and name in NAMES and each.label not in ("Entity", "Relationship"):
            # Another node is in its place.
            removal = self.services.database.script(REMOVE, place=each.place, name=each.name, value=value)
            self.loop.run(removal)
        elif not is_mended or name in NAMES:
            assert self.put(each, each.value)
            # What bears its own name again is derived anew.
            failed += self.check(fix=True)[1] if is_mended else []
        faults = [f"{name} {way}: {fault}" for fault in faults + failed]
        return Outcome(name, way, faults, self.differing(each, now), is_named, is_mended)

    def derive(self) -> None:
        """Do what the worker does."""
        works = make_vectors, make_passages
        while sum(self.loop.run(work(self.services, self.owner)) for work in works):
            pass

    def check(self, *, fix: bool = False) -> tuple[bool, list[str]]:
        """Return whether the deep check names a damage, and its fault if it failed with a 500."""
        context = Context(full_actor(self.owner), self.services)
        try:
            report = self.loop.run(audit(context, fix=fix, deep=True))
        except GraphmemError as exc:
            return True, [f"check: {exc.code}"] if exc.status == 500 else []
        except Exception as exc:
            return False, [f"check: {exc!r}"]
        return not health_of(report)["healthy"], []


@contextlib.contextmanager
def called_anew(loop: Loop, services: Services, owner: str) -> Iterator[Call]:
    """Yield the operations as an owner runs them in a process that has read nothing yet."""
    vocabulary = Vocabulary(services.database, services.settings)
    fresh = replace(with_new_copies(services), vocabulary=vocabulary)
    yield by_runner(loop, fresh, owner)
    loop.run(fresh.of(SearchCopies).close())
    loop.run(fresh.of(PassageCopies).close())


def pages_of(call: Call, name: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a read: where a page of changes ends depends on what the database had to read."""
    answer = call(name, **arguments)
    yield answer
    while name == "changes.list" and answer.get("next_cursor"):
        answer = call(name, **arguments, cursor=answer["next_cursor"])
        yield answer


def id_of(item: str) -> str:
    """Return the first id of an item, by which it is compared with itself; of a change, with the id of it."""
    ids = [match[0] for pattern in (ID, EVENT_ID) if (match := pattern.search(item))]
    return " ".join(ids) or item


def listed(name: str, answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the items of all lists of a read, each with the name of its list."""
    if name != "store":
        for member, items in answer.items():
            if isinstance(items, list) and member not in ("left_out", "strategies"):
                for item in items:
                    # Its place among the changes of its transaction, of which one may be left out.
                    kept = {**item, "cursor": None} if name == "changes.list" else item
                    yield member, json.dumps(kept, sort_keys=True)


def unseen() -> set[str]:
    """Return the properties of the guarantees of which the check need not name each damage."""
    _, _, rest = GUARANTEES.read_text("utf-8").partition("| label or edge | properties |")
    rows = [line.split("|") for line in rest.partition("\n\n")[0].splitlines()[2:]]
    names = {row[1].strip(" `"): re.findall(r"`(\w+)`", row[2]) for row in rows}
    return {f"{label}.{name}" for label, members in names.items() for name in members}


def walk_over_damage(
    loop: Loop, services: Services, owner: str, figures: Figures, part: int, parts: int
) -> None:
    """Damage what is stored, one property after another, and put each right again."""
    walk = Walk(loop, services, owner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "Damage", partial(Damage, is_checking=True))
        checked, failed = walk.answers()
    assert (failed, walk.differing(NOTHING, checked)) == ([], []), "sound rows are taken for damaged"
    known = sorted(map(str, walk.properties()))
    # By its name: an example that stores a property more changes no other part.
    chosen = [each for each in known if random.Random(f"{SEED} {each}").randrange(parts) == part]
    outcomes = list[Outcome]()
    for name in chosen:
        ways = WAYS if LONG else random.Random(name).sample(WAYS, 1)
        outcomes += filter(None, (walk.outcome(name, way) for way in ways))
    faults = [fault for each in outcomes for fault in each.faults]
    unnamed = {each.name for each in outcomes if not each.is_named}
    others = [each for each in outcomes if each.others]
    figures(
        f"{len(chosen)} of {len(known)} properties, {len(outcomes)} cases: {len(faults)} answers of 500; "
        f"{len(others)} cases change other items, of {len(unnamed)} properties the check misses some damage; "
        f"{sum(each.is_mended for each in outcomes)} are mended"
    )
    wrong = faults + [
        f"{each.name} {each.way} changes other items: {each.others}"
        for each in others
        if each.label not in CONCERNS_ALL
    ]
    unmended = {f"{each.name} {each.way}" for each in outcomes if each.is_named and not each.is_mended}
    wrong += sorted(
        f"{each} is not mended"
        for each in unmended
        if each.split(".")[0] in DERIVED and each.split()[0] not in NAMES
    )
    # What does not open is named in a sealed instance, where in clear another value is as good.
    if not services.database.is_sealed:
        wrong += sorted(f"no check names {each}" for each in unnamed - unseen())
        if LONG:
            wrong += sorted(f"a check names {each}" for each in unseen() & {*chosen} - unnamed)
    assert not wrong, "\n".join(wrong)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS if LONG else 1))
def test_no_damaged_property_is_a_500_and_the_check_names_it(
    part: int, loop: Loop, services: Services, owner: str, figures: Figures
) -> None:
    walk_over_damage(loop, services, owner, figures, part, PARTS)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_damaged_property_of_a_sealed_instance_is_a_500(
    part: int, loop: Loop, services: Services, owner: str, figures: Figures, tmp_path: Path
) -> None:
    opened = sealed_services_beside(services.settings, tmp_path)
    sealed = loop.run(opened.__aenter__())
    try:
        walk_over_damage(loop, sealed, owner, figures, part, PARTS)
    finally:
        loop.run(opened.__aexit__(None, None, None))
