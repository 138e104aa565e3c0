"""Relationship types: registering them, listing them, and using them like those that are built in."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from graphmem.auth import Actor, Scope
from graphmem.context import Services
from graphmem.database import relationship_vocabulary
from graphmem.errors import Forbidden, GraphmemError, InvalidInput, SandboxDisabled
from graphmem.model import canonical
from graphmem.model.relationship import BUILTIN
from graphmem.registry import REGISTRY
from tests.faces.conftest import Together
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

PAIR = [{"entity_type": "person", "name": name} for name in ("Ada", "Mary")]
REGISTER = "relationship_types.register"


@pytest.fixture
def stem(loop: Loop, services: Services) -> Iterator[str]:
    """A prefix that no type of the database has. Types with it are deleted after the test."""
    stem = f"T{uuid.uuid4().hex.upper()}"
    yield stem
    loop.run(
        services.database.script(
            "MATCH (n:RelationshipType) WHERE n.name STARTS WITH $stem DELETE n", stem=stem
        )
    )


@pytest.fixture
def nodes(loop: Loop, services: Services, stem: str) -> Callable[[], list[dict[str, Any]]]:
    """Read the nodes of the test's own types."""
    query = (
        "MATCH (n:RelationshipType) WHERE n.name STARTS WITH $stem RETURN properties(n) AS n ORDER BY n.name"
    )
    return lambda: [row["n"] for row in loop.run(services.database.script(query, stem=stem))]


def entries(run: Call, **arguments: Any) -> dict[str, dict[str, Any]]:
    """Return all relationship types by name."""
    rows: list[dict[str, Any]] = []
    total = 1
    while len(rows) < total:
        page = run(
            "relationship_types.list", limit=500, offset=len(rows), include_total_count=True, **arguments
        )
        rows += page["relationship_types"]
        total = page["total"]
    return {entry["relationship_type"]: entry for entry in rows}


def issue(refused: pytest.ExceptionInfo[GraphmemError]) -> dict[str, Any]:
    (entry,) = refused.value.details["issues"]
    return entry


def test_the_built_in_types_are_listed_with_their_inverses(run: Call) -> None:
    types = entries(run)
    for kind in BUILTIN.values():
        assert types[kind.name] == {
            "relationship_type": kind.name,
            "inverse": kind.inverse,
            "description": kind.description,
            "origin": "builtin",
            "relationship_count": 0,
        }
    assert list(types) == sorted(types)


def test_a_type_is_registered_once_and_answered_as_it_is(
    run: Call, stem: str, nodes: Callable[[], list[dict[str, Any]]]
) -> None:
    arguments = {
        "relationship_type": f" {stem.lower()} at\t",
        "inverse": f"{stem.title()}-Of",
        "description": "d é\x00",
    }
    entry = {
        "relationship_type": f"{stem}_AT",
        "inverse": f"{stem}_OF",
        "description": "d é\x00",
        "origin": "registered",
    }
    assert run(REGISTER, **arguments) == {**entry, "created": True}
    before = nodes()
    for again in (arguments, {"relationship_type": f"{stem}_AT"}, {**arguments, "inverse": f"{stem} OF"}):
        assert run(REGISTER, **again) == {**entry, "created": False}
    assert nodes() == before
    (node,) = before
    assert node.keys() == {"name", "inverse", "description", "registered_at", "agent"}
    assert node["agent"] == "anonymous"
    assert entries(run, keyword=stem) == {f"{stem}_AT": {**entry, "relationship_count": 0}}


def test_a_registration_may_add_a_description_and_an_inverse_to_a_type(run: Call, stem: str) -> None:
    assert run(REGISTER, relationship_type=stem)["inverse"] is None
    assert run(REGISTER, relationship_type=stem, description="one")["description"] == "one"
    answer = run(REGISTER, relationship_type=stem, inverse=f"{stem}_BY", description="two")
    assert (answer["inverse"], answer["description"], answer["created"]) == (f"{stem}_BY", "two", False)
    assert entries(run)[stem]["description"] == "two"


def test_both_sides_of_a_pair_know_each_other(run: Call, stem: str) -> None:
    assert run(REGISTER, relationship_type=f"{stem}_A")["inverse"] is None
    run(REGISTER, relationship_type=f"{stem}_B", inverse=f"{stem}_A")
    assert entries(run)[f"{stem}_A"]["inverse"] == f"{stem}_B"
    assert run(REGISTER, relationship_type=f"{stem}_A")["inverse"] == f"{stem}_B"
    run(REGISTER, relationship_type=f"{stem}_C", inverse=f"{stem}_D")
    assert run(REGISTER, relationship_type=f"{stem}_D")["inverse"] == f"{stem}_C"


def test_another_inverse_is_refused(call: Call, stem: str) -> None:
    call(REGISTER, relationship_type=stem, inverse=f"{stem}_BY")
    with pytest.raises(InvalidInput) as refused:
        call(REGISTER, relationship_type=stem, inverse=f"{stem}_OF")
    assert issue(refused)["path"] == "$.inverse"
    with pytest.raises(InvalidInput) as refused:
        call(REGISTER, relationship_type=f"{stem}_OTHER", inverse=f"{stem}_BY")
    assert f"{stem}_BY is the inverse of {stem}" in issue(refused)["message"]
    assert set(entries(call, keyword=stem)) == {stem}


@pytest.mark.parametrize(
    "name",
    [
        "{stem}]->() DETACH DELETE n //", "{stem}|OBSERVED", "{stem}`", "`{stem}`", "{stem}:X", "$({stem})",
        "{stem}\x00", "{stem}\\u0060]", "é{stem}", "_{stem}", "{stem}" + "X" * 64, "{stem};", "{stem}'",
    ],
)  # fmt: skip
def test_a_name_that_would_be_more_than_a_name_is_refused(
    run: Call, stem: str, nodes: Callable[[], list[dict[str, Any]]], name: str
) -> None:
    type_name = name.format(stem=stem) if "{stem}" in name else name
    for arguments, path in (
        ({"relationship_type": type_name}, "$.relationship_type"),
        ({"relationship_type": stem, "inverse": type_name}, "$.inverse"),
    ):
        with pytest.raises(InvalidInput) as refused:
            run(REGISTER, **arguments)
        assert issue(refused)["path"] == path
    with pytest.raises(InvalidInput):
        run("entities.related", entity_id="ent_" + "0" * 24, relationship_types=[type_name])
    assert nodes() == []


@pytest.mark.parametrize("name", ["HAS_HISTORY", "observed", "Merged-Into", " identifies "])
def test_an_edge_of_the_graph_itself_is_no_relationship(call: Call, name: str) -> None:
    with pytest.raises(InvalidInput, match="the graph's own"):
        call(REGISTER, relationship_type=name)
    with pytest.raises(InvalidInput, match="unknown relationship type"):
        call("entities.related", entity_id="ent_" + "0" * 24, relationship_types=[name])


def test_descriptions_are_bounded(run: Call, stem: str) -> None:
    assert run(REGISTER, relationship_type=stem, description="\U0001f600" * 1_000)["created"]
    for wrong in ("", "x" * 1_001):
        with pytest.raises(InvalidInput):
            run(REGISTER, relationship_type=stem, description=wrong)


def test_a_registered_type_is_used_like_a_built_in_one(run: Call, stem: str) -> None:
    with pytest.raises(InvalidInput):
        run("relationships.list", filters={"relationship_type": stem})
    run(REGISTER, relationship_type=stem)
    answer = run("store", entities=PAIR, relationships=[link(f" {stem.lower()}")])
    (made,) = answer["relationships_created"]
    ada, mary = (item["entity_id"] for item in answer["entities"])
    assert made["relationship_key"] == f"{stem}:{ada}:{mary}"
    for wanted in ({}, {"relationship_types": [stem.lower()]}, {"relationship_types": ["OWNS", stem]}):
        related = run("entities.related", entity_id=ada, **wanted)
        assert [relationship["relationship_type"] for relationship in related["relationships"]] == [stem]
    assert run("entities.related", entity_id=ada, relationship_types=["OWNS"])["relationships"] == []
    assert listed(run, stem) == [made["relationship_key"]]
    ends = {"relationship_type": stem.title(), "source_entity_id": ada, "target_entity_id": mary}
    assert run("relationships.snapshot", **ends)["relationship_id"] == made["relationship_id"]
    assert entries(run)[stem]["relationship_count"] == 1
    run("relationships.delete", **ends)
    assert listed(run, stem) == []
    assert run("entities.related", entity_id=ada)["relationships"] == []
    assert entries(run)[stem]["relationship_count"] == 0
    run("relationships.restore", relationship_key=made["relationship_key"])
    assert run("entities.related", entity_id=ada)["total"] == 1
    assert run("relationships.create", **ends)["version"] == 4


def link(name: str) -> dict[str, Any]:
    return {"relationship_type": name, "source_index": 0, "target_index": 1}


def listed(call: Call, name: str) -> list[str]:
    page = call("relationships.list", filters={"relationship_type": name})
    return [relationship["relationship_key"] for relationship in page["relationships"]]


def test_the_counts_are_the_callers_own(loop: Loop, services: Services, run: Call, stem: str) -> None:
    run(REGISTER, relationship_type=stem)
    run("store", entities=PAIR, relationships=[link(stem), link("OWNS")])
    bob = by_runner(loop, services, str(uuid.uuid4()))
    assert (entries(run)[stem]["relationship_count"], entries(run)["OWNS"]["relationship_count"]) == (1, 1)
    assert (entries(bob)[stem]["relationship_count"], entries(bob)["OWNS"]["relationship_count"]) == (0, 0)


def test_types_are_listed_in_pages(run: Call, stem: str) -> None:
    for letter in "CAB":
        run(REGISTER, relationship_type=f"{stem}_{letter}", description=f"Said of {stem.title()}.")
    run(REGISTER, relationship_type=f"{stem}_D", inverse=f"{stem}_E")
    first = run("relationship_types.list", keyword=stem, limit=2, include_total_count=True)
    second = run("relationship_types.list", keyword=f"{stem}-", limit=2, offset=2)
    rows = [*first["relationship_types"], *second["relationship_types"]]
    assert [row["relationship_type"] for row in rows] == [f"{stem}_{letter}" for letter in "ABCD"]
    assert (first["total"], "total" in second) == (4, False)
    assert set(entries(run, keyword=f"{stem}_E")) == {f"{stem}_D"}
    assert set(entries(run, keyword=f"said of {stem.lower()}")) == {f"{stem}_{letter}" for letter in "ABC"}
    assert entries(run, keyword=f"{stem}_F") == {}


@pytest.mark.parametrize("where", ["entities.related", "relationships.list", "relationships.snapshot"])
def test_an_unknown_type_is_told_with_its_place_and_the_nearest(call: Call, where: str) -> None:
    entity_id = "ent_" + "0" * 24
    arguments: dict[str, Any] = {
        "entities.related": {"entity_id": entity_id, "relationship_types": ["OWNS", "work_at"]},
        "relationships.list": {"filters": {"relationship_type": "work_at"}},
        "relationships.snapshot": {
            "relationship_type": "work_at",
            "source_entity_id": entity_id,
            "target_entity_id": entity_id,
        },
    }[where]
    with pytest.raises(InvalidInput) as refused:
        call(where, **arguments)
    entry = issue(refused)
    assert entry["message"] == "unknown relationship type 'work_at'; did you mean WORKS_AT?"
    assert entry["nearest"] == "WORKS_AT"
    assert re.fullmatch(r"\$\.(relationship_types\[1\]|(filters\.)?relationship_type)", entry["path"])


def test_no_more_types_are_registered_than_there_is_room_for(
    run: Call, services: Services, stem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(REGISTER, relationship_type=stem)
    count = len(entries(run)) - len(BUILTIN)
    monkeypatch.setattr(services.vocabulary, "registered_limit", count)
    with pytest.raises(InvalidInput, match="registered already"):
        run(REGISTER, relationship_type=f"{stem}_B")
    assert run(REGISTER, relationship_type=stem, description="x")["created"] is False


def test_types_registered_at_the_same_time_do_not_contradict_each_other(
    together: Together, run: Call, stem: str, nodes: Callable[[], list[dict[str, Any]]]
) -> None:
    calls = [{"relationship_type": f"{stem}_{i}", "inverse": f"{stem}_X"} for i in range(8)]
    outcomes = together(REGISTER, [*calls, *calls])
    made = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    assert len(made) == 2
    assert sorted(outcome["created"] for outcome in made) == [False, True]
    assert {type(outcome) for outcome in outcomes} == {dict, InvalidInput}
    assert len(nodes()) == 1


def test_only_who_may_administer_registers(loop: Loop, services: Services, owner: str, stem: str) -> None:
    writer = Actor(owner=owner, scopes=frozenset({Scope.READ, Scope.WRITE}))

    def ask(services: Services, actor: Actor, name: str, **arguments: Any) -> Any:
        return canonical.decode(loop.run(REGISTRY[name].run(services, actor, arguments)))

    with pytest.raises(Forbidden):
        ask(services, writer, REGISTER, relationship_type=stem)
    sandbox = replace(services, settings=services.settings.model_copy(update={"sandbox": True}))
    with pytest.raises(SandboxDisabled):
        ask(sandbox, full_actor(owner), REGISTER, relationship_type=stem)
    assert ask(sandbox, writer, "relationship_types.list", keyword=stem)["relationship_types"] == []


def test_a_node_of_another_name_is_no_type(loop: Loop, services: Services, run: Call, stem: str) -> None:
    wrong = [f"{stem}|OBSERVED", f"{stem}]->(n) DETACH DELETE n //"]
    for name in (*wrong, f"{stem}_FINE"):
        loop.run(services.database.script("CREATE (:RelationshipType {name: $name})", name=name))
    known = loop.run(services.vocabulary.refresh())
    assert {name for name in known.names if name.startswith(stem)} == {f"{stem}_FINE"}
    with pytest.raises(InvalidInput, match="unknown relationship type"):
        run("relationships.list", filters={"relationship_type": wrong[0]})


def test_a_type_that_is_known_costs_no_question(
    loop: Loop, services: Services, run: Call, owner: str, stem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(REGISTER, relationship_type=stem)
    loop.run(services.vocabulary.refresh())
    refreshes = 0
    real = services.vocabulary.of_owner

    async def counted(owner: str) -> Any:
        nonlocal refreshes
        refreshes += 1
        return await real(owner)

    monkeypatch.setattr(services.vocabulary, "of_owner", counted)
    names = loop.run(services.vocabulary.covering([stem, "owns", "is child of"], owner))
    assert (refreshes, stem in names) == (0, True)
    loop.run(asyncio.sleep(0))
    monkeypatch.setattr(relationship_vocabulary, "REMEMBERED_SECONDS", 0.0)
    loop.run(services.vocabulary.covering(["owns"], owner))
    assert refreshes == 0
    loop.run(services.vocabulary.covering([stem], owner))
    assert refreshes == 1
