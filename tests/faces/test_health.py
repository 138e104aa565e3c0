"""Checking and rebuilding derived data: every damage is named and mended, and no fact changes."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, LiteralString

import pytest

from graphmem.context import Context, Services
from graphmem.errors import DataDamaged, DiskFull
from graphmem.operations.server import health_of
from graphmem.reading.snapshot_check import audit
from graphmem.writing import Writers
from tests.faces.conftest import Together
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.long_cases import mostly_long
from tests.support.worker_pass import fold_stale

Script = Callable[..., Any]


@pytest.fixture
def script(loop: Loop, services: Services, owner: str) -> Script:
    """Run a statement on the database itself, behind the service's back."""
    return partial(in_database, loop, services, owner)


def in_database(loop: Loop, services: Services, owner: str, text: LiteralString, **params: Any) -> Any:
    """Run a statement on the database itself."""
    return loop.run(services.database.script(text, owner=owner, **params))


@pytest.fixture
def world(run: Call) -> list[str]:
    """The ids of ``store_world``."""
    return store_world(run)


def store_world(run: Call) -> list[str]:
    """Store three people, two of them merged, at a company, one deleted; the last id is the company's."""
    people = [
        {"entity_type": "person", "name": name, "phone": phone, "birthday": f"1990-01-0{phone}"}
        for name, phone in (("Ada", "1"), ("Ada L", "2"), ("Bo", "3"))
    ]
    links = [
        {"relationship_type": "WORKS_AT", "source_index": place, "target_index": 3, "metadata": {"n": place}}
        for place in range(3)
    ]
    answer = run(
        "store", entities=[*people, {"entity_type": "company", "name": "Acme"}], relationships=links,
        observed_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    ids = [item["entity_id"] for item in answer["entities"]]
    run("entities.merge", source_entity_id=ids[0], target_entity_id=ids[1])
    run("entities.delete", entity_id=ids[2])
    return ids


def everything(script: Script) -> list[Any]:
    """Return the nodes and edges of an owner, without the owner's own revision."""
    nodes = script(
        "MATCH (n) WHERE n.owner = $owner "
        "WITH n, labels(n) AS labels, COLLECT { MATCH (n)-[r]->(m) WHERE NOT m:Transaction "
        "RETURN type(r) + coalesce(r.key, '') + toString(coalesce(r.live, '')) + coalesce(m.id, m.value, '') "
        "} AS edges "
        "RETURN labels, properties(n) AS held, edges"
    )
    for node in nodes:
        node["labels"] = sorted(node["labels"])
        # The revision that an entity was last written at: mending it is a write.
        node["held"].pop("changed", None)
    return sorted(
        repr((node["labels"], sorted(node["held"].items()), sorted(node["edges"]))) for node in nodes
    )


def test_an_owner_who_never_stored_anything_is_healthy(run: Call) -> None:
    health = run("server.check_snapshots")
    assert (health["healthy"], health["stale"], health["stale_snapshots"]) == (True, 0, [])


def test_undamaged_snapshots_are_healthy(run: Call, world: list[str]) -> None:
    answer = run("server.check_snapshots")
    assert (answer["healthy"], answer["stale"], answer["counts_compared"]) == (True, 0, True)
    # Four entities and three relationships: the survivor had one of its own to show the merged one's with.
    assert answer["checked"] == 7


DAMAGES = {
    "a value": ("MATCH (n:Entity {id: $a}) SET n.values = ['\"Eve\"', '\"9\"']", "field name"),
    "a value that is no JSON": (
        "MATCH (n:Entity {id: $c}) SET n.values = [each IN n.values | left(each, size(each) - 1)]",
        "field name",
    ),
    "a winner": ("MATCH (n:Entity {id: $c}) SET n.winners = ['obs_x']", "field name"),
    "all fields": (
        "MATCH (n:Entity {id: $a}) SET n.fields = [], n.values = [], n.winners = []",
        "field name",
    ),
    "its state": ("MATCH (n:Entity {id: $b}) SET n.live = true, n.listed = 'person'", "live"),
    "its name": ("MATCH (n:Entity {id: $a}) SET n.canonical_name = 'Eve'", "canonical_name"),
    "its name in the Browser": ("MATCH (n:Entity {id: $a}) SET n.name = 'Eve'", "name"),
    "its lost name in the Browser": ("MATCH (n:Entity {id: $m}) REMOVE n.name", "name"),
    "a lost label": ("MATCH (n:Entity {id: $c}) REMOVE n:Company", "labels"),
    "another label": ("MATCH (n:Entity {id: $a}) SET n:Task REMOVE n:Person", "labels"),
    "an identifier": ("MATCH (:Entity {id: $a})<-[r:IDENTIFIES]-() DELETE r", "identifiers"),
    "a merge": ("MATCH (:Entity {id: $m})-[r:MERGED_INTO]->() DELETE r", "MERGED_INTO"),
    "a merge into nothing": ("MATCH (n:Entity {id: $m}) SET n.merged_into = 'ent_0'", "merged_into"),
    "a merge into itself": ("MATCH (n:Entity {id: $a}) SET n.merged_into = $a", "merged_into"),
    "a cycle of merges": ("MATCH (n:Entity {id: $a}) SET n.merged_into = $m", "merged_into"),
    "an edge": ("MATCH (:Entity {id: $a})-[r:WORKS_AT]->() SET r.live = false", "WORKS_AT"),
    "a lost edge": ("MATCH (:Entity {id: $a})-[r:WORKS_AT]->() DELETE r", "WORKS_AT"),
    "metadata": ("MATCH (n:Relationship {source: $a}) SET n.values = ['7']", "field n"),
    "what it is shown as": ("MATCH (:Relationship {source: $m})-[r:SHOWN_AS]->() DELETE r", "SHOWN_AS"),
    "an event": ("MATCH (:Entity {id: $a})-[:HAS_EVENT]->(n) SET n.at = 7, n.listed_at = 7", "event "),
    "the type of an event": ("MATCH (:Entity {id: $a})-[:HAS_EVENT]->(n) SET n.event_type = 'x'", "event "),
    "a lost event": ("MATCH (:Entity {id: $a})-[:HAS_EVENT]->(n) DETACH DELETE n", "event "),
    "an event off the timeline": (
        "MATCH (:Entity {id: $a})-[:HAS_EVENT]->(n) SET n.listed_at = null",
        "event ",
    ),
    "the edge of an event": ("MATCH (:Entity {id: $a})-[r:HAS_EVENT]->() DELETE r", "event "),
    "an event of what is deleted": (
        "MATCH (h:History {home: $b})-[r:HAD_EVENT]->(n) MATCH (e:Entity {id: $b}) DELETE r "
        "CREATE (e)-[:HAS_EVENT]->(n) SET n.listed_at = n.at",
        "event ",
    ),
    "a counter": ("MATCH (n:Count {owner: $owner, type: 'person'}) SET n.total = 9", "counts"),
    "the state hash": ("MATCH (n:Owner {id: $owner}) SET n.state_hash = 'x'", "state_hash"),
}


@dataclass
class Mended:
    """A world of one owner that tests damage one after the other.

    Attributes:
        ids: those of ``store_world``.
        before: everything of the owner; each test ends with the same. None after a test that failed.
    """

    run: Call
    script: Script
    owner: str
    ids: list[str]
    before: list[Any] | None


@pytest.fixture(scope="module")
def worlds() -> list[Mended]:
    """The world that the tests of this file share, if there is one already."""
    return []


@pytest.fixture
def mended(worlds: list[Mended], loop: Loop, services: Services) -> Mended:
    """The world that the tests before this one mended. Where one of them failed, it is another owner's.

    ``everything`` reads the whole database, so that it is told once what the world is.
    """
    if not worlds or worlds[-1].before is None:
        owner = str(uuid.uuid4())
        run = by_runner(loop, services, owner)
        script = partial(in_database, loop, services, owner)
        worlds.append(Mended(run, script, owner, store_world(run), everything(script)))
    return worlds[-1]


QUICK_DAMAGES = (
    "a value that is no JSON", "its state", "another label", "an identifier", "a merge", "a cycle of merges",
    "a lost edge", "an event off the timeline", "a counter", "the state hash",
)  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "deep"),
    mostly_long(
        itertools.product(DAMAGES, (True, False)),
        *((each, True) for each in QUICK_DAMAGES), ("an edge", False),
    ),
)  # fmt: skip
def test_every_damage_is_named_and_mended(
    damage: str, deep: bool, mended: Mended, loop: Loop, services: Services
) -> None:
    before, mended.before = mended.before, None
    statement, what = DAMAGES[damage]
    mended.script(statement, **dict(zip("mabc", mended.ids, strict=True)))
    if deep:
        context = Context(full_actor(mended.owner), services)
        health = health_of(loop.run(audit(context, fix=True, deep=True)))
    else:
        assert mended.run("server.check_snapshots")["healthy"] is False
        health = mended.run("server.check_snapshots", auto_fix=True)
    differences = [each for stale in health["stale_snapshots"] for each in stale["differences"]]
    assert any(difference["what"].startswith(what) for difference in differences)
    assert (health["healthy"], health["fixed"] > 0) == (True, True)
    assert everything(mended.script) == before
    assert mended.run("server.check_snapshots")["stale"] == 0
    mended.before = before


def test_what_identifies_a_person_is_mended_though_it_is_no_json(run: Call, script: Script) -> None:
    person = {"entity_type": "person", "name": "Charles Babbage", "email": "charles@example.org"}
    run("store", entities=[person])
    script("MATCH (n:Entity {owner: $owner}) SET n.values = [each IN n.values | left(each, size(each) - 1)]")
    (stale,) = run("server.check_snapshots")["stale_snapshots"]
    assert {"field name", "field email"} <= {difference["what"] for difference in stale["differences"]}
    assert run("server.check_snapshots", auto_fix=True)["fixed"] == 1
    assert run("server.check_snapshots")["stale"] == 0


def test_only_a_write_to_a_damaged_entity_is_refused_and_with_the_command_that_mends_it(
    world: list[str], script: Script, together: Together, run: Call
) -> None:
    script(DAMAGES["a value"][0], a=world[1])
    calls = [
        {"entities": [{"entity_type": kind, "target_id": entity_id, "motto": "none"}]}
        for kind, entity_id in (("person", world[1]), ("company", world[3]))
    ]
    error, answer = together("store", calls)
    assert (type(error), "snapshots check`" in str(error)) == (DataDamaged, True)
    assert answer["success"]
    with pytest.raises(DataDamaged, match="snapshots check"):
        run("entities.get", entity_id=world[1])
    assert run("server.check_snapshots", auto_fix=True)["healthy"]
    (answer,) = together("store", calls[:1])
    assert answer["success"]


def test_the_operation_that_mends_damage_is_named_as_the_face_names_it(
    world: list[str], script: Script, request: pytest.FixtureRequest
) -> None:
    script(DAMAGES["a value"][0], a=world[1])
    names = {
        "rest": "POST /health_check_snapshots ",
        "mcp": "`health_check_snapshots` ",
        "cli": "`graphmem snapshots check` ",
    }
    for face, name in names.items():
        call: Call = request.getfixturevalue(face)
        with pytest.raises(DataDamaged, match=name):
            call("entities.get", entity_id=world[1])
        if face != "cli":  # its fault is logged to stderr, before the error
            with pytest.raises(DataDamaged, match=name):
                call("entities.correct", entity_id=world[1], field="motto", value="none")


def test_a_relationship_without_the_node_of_an_end_is_reported(
    world: list[str], script: Script, run: Call
) -> None:
    script("MATCH (n:Entity {id: $a}) DETACH DELETE n", a=world[1])
    answer = run("server.check_snapshots", auto_fix=True)
    assert (answer["healthy"], answer["fixed"]) == (False, answer["stale"] - 1)
    missing = [
        snapshot["id"]
        for snapshot in answer["stale_snapshots"]
        if snapshot["differences"][0]["what"] == "ends"
    ]
    assert len(missing) == 1
    assert world[1] in missing[0]


def test_nothing_is_mended_on_a_full_disk(
    world: list[str], script: Script, run: Call, loop: Loop, services: Services, owner: str
) -> None:
    script(DAMAGES["a value"][0], a=world[1])
    full = services.settings.model_copy(update={"neo4j_uri": None, "disk_reserve": 1 << 60})
    writers = Writers(services.database, full, services.embedder)
    context = Context(full_actor(owner), replace(services, writers=writers))
    damaged = everything(script)
    with pytest.raises(DiskFull):
        loop.run(audit(context, fix=True))
    assert everything(script) == damaged
    assert run("server.check_snapshots", auto_fix=True)["healthy"]


def test_a_rebuild_finds_the_discovered_schema_again(
    run: Call, world: list[str], script: Script, loop: Loop, services: Services, owner: str
) -> None:
    before = everything(script)
    script("MATCH (n:Schema {owner: $owner, head: 'person'}) SET n.fields = ['nose'], n.seen = ['number']")
    loop.run(audit(Context(full_actor(owner), services), fix=True, deep=True))
    assert run("schemas.get", entity_type="person")["seen"] == {
        "birthday": "date", "name": "string", "phone": "string",
    }  # fmt: skip
    kept = [row for row in everything(script) if "updated_at" not in row]
    assert kept == [row for row in before if "updated_at" not in row]


def test_other_owners_are_not_looked_at(run: Call, world: list[str], loop: Loop, services: Services) -> None:
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    assert stranger("server.check_snapshots")["checked"] == 0


def test_the_worker_folds_entities_again_that_nobody_reads(
    run: Call, script: Script, loop: Loop, services: Services
) -> None:
    items = [{"entity_type": "wine", "name": f"W{i}", "year": str(1990 + i)} for i in range(5)]
    ids = [item["entity_id"] for item in run("store", entities=items)["entities"]]
    run("entities.delete", entity_id=ids[0])
    run("schemas.register", schema={"entity_type": "wine", "fields": {"year": {"type": "number"}}})

    def folded() -> int:
        (row,) = script(
            "MATCH (n:Entity {owner: $owner}) WHERE n.projection IS NOT NULL RETURN count(n) AS n"
        )
        return row["n"]

    while run("server.stats")["types_pending"]:
        # Types of other owners may wait as well, and a service of another test may be first.
        fold_stale(loop, services, run)
    assert folded() == 5
    assert run("entities.get", entity_id=ids[1])["snapshot"] == {"year": 1991}
    assert run("server.check_snapshots")["healthy"]


@pytest.mark.parametrize("auto_fix", [False, True])
def test_a_commit_that_is_seen_in_part_is_no_damage(
    run: Call, services: Services, auto_fix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may see the nodes of another process's commit before an index finds them."""
    reduced: list[Any] = []
    real = services.database.read

    async def read(name: str, *args: Any, **params: Any) -> Any:
        rows = await real(name, *args, **params)
        if name != "entity.histories":
            return rows
        reduced.append(rows)
        return reduced[0] if len(reduced) == 2 else rows

    run("store", entities=[{"entity_type": "thing", "name": "a", "n": 1}])
    monkeypatch.setattr(services.database, "read", read)
    assert run("server.check_snapshots")["healthy"]
    run("store", entities=[{"entity_type": "thing", "name": "a", "n": 2}])
    health = run("server.check_snapshots", auto_fix=auto_fix)
    assert len(reduced) > 2
    assert (health["healthy"], health["stale"]) == (True, 0)
    assert run("entities.query")["entities"][0]["snapshot"]["n"] == 2
