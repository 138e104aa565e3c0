"""Relationship types of an owner's own: any well-formed name, used without being registered."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import orjson
import pytest

from graphmem.auth import Scope
from graphmem.context import Services
from graphmem.errors import GraphmemError, InvalidInput, NotFound
from graphmem.model import canonical, relationship
from graphmem.registry import REGISTRY
from tests.reliability.test_withdrawals import erase
from tests.support.actors import full_actor
from tests.support.audits import differences
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

ITEMS = [
    {"entity_type": "person", "name": "Ada Grau"},
    {"entity_type": "person", "name": "Ben Roth"},
    {"entity_type": "animal", "name": "Rex"},
    {"entity_type": "company", "name": "Acme"},
]


@pytest.fixture
def stem() -> str:
    """The beginning of names that no other test uses."""
    return f"O{uuid.uuid4().hex.upper()}"


def link(name: str, source: int, target: int, **more: Any) -> dict[str, Any]:
    return {"relationship_type": name, "source_index": source, "target_index": target, **more}


def stored(
    call: Call, *links: dict[str, Any], **more: Any
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Store the items with relationships; return their ids, the keys, and the warnings about new types."""
    answer = call("store", entities=ITEMS, relationships=list(links), find_duplicates=False, **more)
    return (
        [each["entity_id"] for each in answer["entities"]],
        [each["relationship_key"] for each in answer["relationships_created"]],
        [each for each in answer["store_warnings"] if each["code"] == "NEW_RELATIONSHIP_TYPE"],
    )


def test_a_name_may_have_letters_of_any_script(run: Call) -> None:
    names = {
        "прыятель_з": "ПРЫЯТЕЛЬ_З", "Прыятель з": "ПРЫЯТЕЛЬ_З", "兄弟": "兄弟", "मित्र_है": "मित्र_है",
        "ＦＡＮ_of_é": "FAN_OF_É", "صديق": "صديق",
    }  # fmt: skip
    ids, made, _ = stored(run, *(link(name, 0, 1) for name in names))
    assert made == [f"{name}:{ids[0]}:{ids[1]}" for name in names.values()]
    for name, key in zip(names, made, strict=True):
        assert related(run, ids[0], name) == {key}
        assert run("relationships.get", relationship_id=key)["relationship_type"] == names[name]
    run("relationship_types.rename", relationship_type="兄弟", name="兄弟姐妹")
    assert related(run, ids[0], "兄弟姐妹") == {f"兄弟:{ids[0]}:{ids[1]}"}
    for bad in ("😀", "a:b", "1兄弟", "兄`弟", "é" * 65, "兄.弟"):
        with pytest.raises(GraphmemError, match="no name of a relationship type"):
            stored(run, link(bad, 0, 1))
    assert run("server.check_snapshots")["healthy"]


def keys(page: dict[str, Any]) -> set[str]:
    return {each["relationship_key"] for each in page["relationships"]}


def related(call: Call, entity_id: str, *types: str, **more: Any) -> set[str]:
    return keys(call("entities.related", entity_id=entity_id, relationship_types=list(types), **more))


def types_of(call: Call, stem: str) -> dict[str, tuple[str, int]]:
    page = call("relationship_types.list", keyword=stem, limit=500)
    rows = page["relationship_types"]
    return {each["relationship_type"]: (each["origin"], each["relationship_count"]) for each in rows}


def test_a_new_name_is_taken_from_whoever_may_write_with_a_warning(
    loop: Loop, services: Services, owner: str, stem: str
) -> None:
    actor = replace(full_actor(owner, client="test"), scopes=frozenset({Scope.READ, Scope.WRITE}))

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        return canonical.decode(loop.run(REGISTRY[name].run(services, actor, arguments)))

    ids, made, warnings = stored(call, link(f"{stem} walks with", 0, 2), link("WORKS_ATT", 0, 3))
    assert made == [f"{stem}_WALKS_WITH:{ids[0]}:{ids[2]}", f"WORKS_ATT:{ids[0]}:{ids[3]}"]
    plain, near = warnings
    assert plain == {
        "code": "NEW_RELATIONSHIP_TYPE",
        "index": 0,
        "relationship_type": f"{stem}_WALKS_WITH",
        "message": f"{stem}_WALKS_WITH is a new relationship type of your own",
    }
    assert (near["nearest"], near["message"]) == (
        "WORKS_AT",
        "WORKS_ATT is a new relationship type of your own; did you mean WORKS_AT?",
    )
    # It is new once, in every spelling.
    assert stored(call, link(f"is {stem.lower()}-walks-with", 1, 2))[1:] == (
        [f"{stem}_WALKS_WITH:{ids[1]}:{ids[2]}"], [],
    )  # fmt: skip
    assert types_of(call, stem) == {f"{stem}_WALKS_WITH": ("own", 2)}


def test_its_edges_have_one_type_that_carries_the_name(
    loop: Loop, services: Services, run: Call, stem: str
) -> None:
    _, made, _ = stored(run, link(f"{stem}_A", 0, 1), link(f"{stem}_B", 0, 2), link("OWNS", 0, 3))
    rows = loop.run(services.database.script(
        "MATCH (:Entity)-[edge]->(:Entity) WHERE edge.key IN $keys "
        "RETURN edge.key AS key, type(edge) AS type, edge.type AS name", keys=made
    ))  # fmt: skip
    assert {row["key"]: (row["type"], row["name"]) for row in rows} == {
        made[0]: ("related", f"{stem}_A"), made[1]: ("related", f"{stem}_B"), made[2]: ("OWNS", None),
    }  # fmt: skip
    tokens = loop.run(
        services.database.script("CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name")
    )
    assert not [row["name"] for row in tokens if stem in row["name"]]


def test_lists_walks_and_filters_know_it(run: Call, stem: str) -> None:
    (ada, _, rex, _), (walks, feeds, works, owns), _ = stored(
        run,
        link(f"{stem}_WALKS", 0, 2, metadata={"days": 5}),
        link(f"{stem}_FEEDS", 1, 2),
        link("WORKS_AT", 1, 3),
        link("OWNS", 0, 3),
    )
    walks_type = f"{stem.lower()} walks"
    assert keys(run("relationships.list", filters={"relationship_type": walks_type})) == {walks}
    page = run("relationships.list", filters={"relationship_type": walks_type, "entity_id": rex})
    assert keys(page) == {walks}
    assert related(run, ada) == {walks, owns}
    assert related(run, ada, walks_type) == {walks}
    assert related(run, ada, f"{stem}_FEEDS") == set()
    assert related(run, ada, walks_type, "OWNS") == {walks, owns}
    assert related(run, rex, walks_type, direction="incoming") == {walks}
    assert related(run, rex, walks_type, direction="outgoing") == set()
    assert related(run, ada, walks_type, f"{stem}_FEEDS", depth=2) == {walks, feeds}
    assert related(run, ada, walks_type, f"{stem}_FEEDS", "WORKS_AT", depth=5) == {walks, feeds, works}
    assert related(run, ada, depth=2) == {walks, feeds, works, owns}
    now = run("relationships.get", relationship_id=walks)["last_observation_at"]
    assert related(run, ada, walks_type, at=now) == {walks}
    assert related(run, ada, "OWNS", at=now) == {owns}
    page = run("entities.query", filters={"related_to": rex, "relationship_types": [walks_type]})
    assert [each["entity_id"] for each in page["entities"]] == [ada]
    ends = {"relationship_type": walks_type, "source_entity_id": ada, "target_entity_id": rex}
    assert run("relationships.snapshot", **ends)["snapshot"] == {"days": 5}
    run("relationships.delete", **ends)
    assert related(run, ada) == {owns}
    assert types_of(run, stem) == {f"{stem}_WALKS": ("own", 0), f"{stem}_FEEDS": ("own", 1)}
    run("relationships.restore", relationship_key=walks)
    assert related(run, ada, walks_type) == {walks}


def test_questions_and_context_read_its_words(call: Call) -> None:
    stored(call, link("ADORES", 0, 2), link("OWNS", 1, 3))
    page = call("context.retrieve", question="Who adores Rex?")
    assert "ADORES ← Ada Grau" in page["lines"][0]
    page = call("entities.query", search="Who adores Rex?")
    assert page["entities"][0]["canonical_name"] == "Ada Grau"


def test_a_question_reads_an_own_type_that_begins_as_a_built_in_one(call: Call) -> None:
    stored(call, link("plays tennis with", 0, 1))
    for question, name in (
        ("Who does Ada play tennis with?", "Ben Roth"),
        ("Who plays tennis with Ben?", "Ada Grau"),
    ):
        (first, *_) = call("entities.query", search=question)["entities"]
        assert (first["canonical_name"], first.get("relationship_type")) == (name, "PLAYS_TENNIS_WITH"), (
            question
        )


def test_a_type_of_another_owner_is_unknown_and_not_proposed(
    loop: Loop, services: Services, run: Call, owner: str, stem: str
) -> None:
    (ada, *_), _, _ = stored(run, link(f"{stem}_WALKS", 0, 2))
    other = by_runner(loop, services, f"{owner}-other")
    for name in (f"{stem}_WALKS", f"{stem}_WALK"):
        with pytest.raises(InvalidInput) as refused:
            other("relationships.list", filters={"relationship_type": name})
        (issue,) = refused.value.details["issues"]
        assert "nearest" not in issue
    assert types_of(other, stem) == {}
    with pytest.raises(InvalidInput, match=f"did you mean {stem}_WALKS") as refused:
        run("entities.related", entity_id=ada, relationship_types=[f"{stem}_WALK"])
    assert refused.value.details["issues"][0]["nearest"] == f"{stem}_WALKS"


def test_a_type_that_is_registered_later_is_read_together_with_what_was_own(
    loop: Loop, services: Services, run: Call, owner: str, stem: str
) -> None:
    (_, ben, rex, _), (before,), _ = stored(run, link(stem, 0, 2))
    try:
        run("relationship_types.register", relationship_type=stem, inverse=f"{stem}_BY")
        _, (_, after), warnings = stored(run, link(stem, 0, 2), link(f"{stem}_BY", 2, 1))
        assert (after, warnings) == (f"{stem}:{ben}:{rex}", [])
        for wanted in ([], [stem], [stem, "OWNS"]):
            assert related(run, rex, *wanted) == {before, after}
        assert types_of(run, stem) == {stem: ("registered", 2)}
        edges = loop.run(services.database.script(
            "MATCH ()-[edge]->() WHERE edge.key IN $keys RETURN edge.key AS key, type(edge) AS type",
            keys=[before, after],
        ))  # fmt: skip
        assert {row["key"]: row["type"] for row in edges} == {before: "related", after: stem}
        run("relationships.delete", relationship_key=before)
        assert related(run, rex, stem) == {after}
        assert differences(loop, services, owner, deep=True) == {}
    finally:
        loop.run(services.database.script("MATCH (n:RelationshipType {name: $name}) DELETE n", name=stem))


def test_merges_and_splits_keep_it(loop: Loop, services: Services, run: Call, owner: str, stem: str) -> None:
    (ada, ben, rex, _), (walks, feeds), _ = stored(run, link(f"{stem}_W", 0, 2), link(f"{stem}_F", 1, 2))
    run("entities.merge", source_entity_id=ada, target_entity_id=ben)
    shown = f"{stem}_W:{ben}:{rex}"
    assert related(run, rex, f"{stem}_W") == {shown}
    assert related(run, ben) == {shown, feeds}
    assert differences(loop, services, owner, deep=True) == {}
    run("entities.unmerge", source_entity_id=ada)
    assert related(run, rex) == {walks, feeds}
    run("store", entities=[{"target_id": ada, "title": "Countess"}])
    new = {"entity_type": "person", "canonical_name": "Another Ada"}
    run(
        "entities.split", source_entity_id=ada, new_entity=new, relationships=[walks],
        observation_field_equals={"field": "title", "value": "Countess"},
    )  # fmt: skip
    (moved,) = related(run, rex, f"{stem}_W")
    assert moved.startswith(f"{stem}_W:ent_")
    assert ada not in moved
    assert differences(loop, services, owner, deep=True) == {}


def test_the_audit_makes_a_lost_edge_again(
    loop: Loop, services: Services, run: Call, owner: str, stem: str
) -> None:
    (ada, *_), (walks,), _ = stored(run, link(stem, 0, 2))
    loop.run(services.database.script("MATCH ()-[edge:related {key: $key}]->() DELETE edge", key=walks))
    assert related(run, ada) == set()
    run("server.check_snapshots", auto_fix=True)
    assert related(run, ada, stem) == {walks}
    assert differences(loop, services, owner, deep=True) == {}


NO_NAMES = (
    "",
    " ",
    "123",
    "☃",
    "OWNS]->() DETACH DELETE n //",
    "A" * 65,
    "X:Y",
    "HAS_HISTORY",
    "is observed",
)


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_is_not_well_formed_is_refused(call: Call, name: str) -> None:
    with pytest.raises(GraphmemError) as refused:
        stored(call, link(name, 0, 1))
    (issue,) = refused.value.details["issues"]
    assert (issue["code"], issue["path"]) == ("ERR_RELATIONSHIP_TYPE", "$.relationships[0].relationship_type")
    assert call("relationships.list")["relationships"] == []


def test_the_number_of_own_types_is_bounded(call: Call, stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relationship, "OWN_LIMIT", 2)
    stored(call, link(f"{stem}_A", 0, 1), link(f"{stem}_B", 0, 1), link("OWNS", 0, 1))
    with pytest.raises(GraphmemError, match="2 types of your own: use one of those"):
        stored(call, link(f"{stem}_A", 0, 2), link(f"{stem}_C", 0, 1))
    assert len(stored(call, link(f"{stem}_A", 0, 2), link(f"{stem}_B", 1, 2))[1]) == 2


def test_a_plan_makes_no_type(call: Call, stem: str) -> None:
    _, _, warnings = stored(call, link(stem, 0, 1), commit=False)
    assert [each["relationship_type"] for each in warnings] == [stem]
    assert types_of(call, stem) == {}
    with pytest.raises(InvalidInput):
        call("relationships.list", filters={"relationship_type": stem})


def test_a_relationship_that_is_not_there_is_not_found(call: Call, stem: str) -> None:
    (ada, ben, *_), _, _ = stored(call, link(stem, 0, 1))
    with pytest.raises(NotFound):
        call("relationships.delete", relationship_key=f"{stem}:{ben}:{ada}")
    with pytest.raises(NotFound):
        call("relationships.delete", relationship_key=f"{stem}X:{ada}:{ben}")


def test_it_is_erased_with_its_owner(
    loop: Loop, services: Services, call: Call, owner: str, stem: str
) -> None:
    _, made, _ = stored(call, link(stem, 0, 1), link("OWNS", 0, 2))
    loop.run(erase(services, owner))
    rows = loop.run(services.database.script(
        "OPTIONAL MATCH ()-[edge]->() WHERE edge.key IN $keys WITH count(edge) AS edges "
        "OPTIONAL MATCH (node) WHERE node.owner = $owner RETURN edges, count(node) AS nodes",
        keys=made, owner=owner,
    ))  # fmt: skip
    assert rows == [{"edges": 0, "nodes": 0}]


RENAME = "relationship_types.rename"


def test_a_new_name_of_an_own_type_is_read_as_the_type(
    loop: Loop, services: Services, run: Call, owner: str, stem: str
) -> None:
    (ada, ben, rex, _), (before,), _ = stored(run, link(f"{stem}_WALKS", 0, 2))
    answer = run(RENAME, relationship_type=f"{stem} walks", name=f"{stem} strolls with", idempotency_key=stem)
    assert (answer["relationship_type"], answer["name"]) == (f"{stem}_WALKS", f"{stem}_STROLLS_WITH")
    again = run(RENAME, relationship_type=f"{stem} walks", name=f"{stem} strolls with", idempotency_key=stem)
    assert (again["replayed"], again["transaction_id"]) == (True, answer["transaction_id"])
    _, (after, same), warnings = stored(run, link(f"{stem}_STROLLS_WITH", 1, 2), link(f"{stem}_WALKS", 0, 2))
    assert (after, same, warnings) == (f"{stem}_WALKS:{ben}:{rex}", before, [])
    for name in (f"{stem}_WALKS", f"{stem.lower()}-strolls-with"):
        assert keys(run("relationships.list", filters={"relationship_type": name})) == {before, after}
        assert related(run, rex, name) == {before, after}
        ends = {"relationship_type": name, "source_entity_id": ada, "target_entity_id": rex}
        assert run("relationships.snapshot", **ends)["relationship_key"] == before
    assert (
        run("relationships.get", relationship_id=f"{stem}_STROLLS_WITH:{ada}:{rex}")["relationship_key"]
        == before
    )
    (entry,) = run("relationship_types.list", keyword=stem)["relationship_types"]
    assert (entry["relationship_type"], entry["names"]) == (f"{stem}_STROLLS_WITH", [f"{stem}_WALKS"])
    assert entry["relationship_count"] == 2
    assert differences(loop, services, owner, deep=True) == {}
    other = by_runner(loop, services, f"{owner}-other")
    with pytest.raises(InvalidInput):
        other("relationships.list", filters={"relationship_type": f"{stem}_STROLLS_WITH"})


def test_questions_use_the_new_name(call: Call) -> None:
    stored(call, link("PROMENADES", 0, 2))
    call(RENAME, relationship_type="PROMENADES", name="ESCORTS")
    for question in ("Who escorts Rex?", "Who promenades Rex?"):
        assert "ESCORTS ← Ada Grau" in call("context.retrieve", question=question)["lines"][0]
        (first, *_) = call("entities.query", search=question)["entities"]
        assert (first["canonical_name"], first["relationship_type"]) == ("Ada Grau", "ESCORTS")


def types_in(part: Any) -> set[str]:
    """Return the relationship types that an answer shows, at any depth."""
    return {each["relationship_type"] for each in canonical.objects(part) if "relationship_type" in each}


def test_answers_show_the_newest_name_and_keys_the_first(call: Call) -> None:
    (ada, _, rex, _), (key, _), _ = stored(call, link("PROMENADES", 0, 2), link("OWNS", 1, 2))
    new = "ESCORTS_ON_ALL_OF_HER_LONG_WALKS_TO_THE_RIVER"
    ends = {"relationship_type": "PROMENADES", "source_entity_id": ada, "target_entity_id": rex}
    for name, others in (
        ("ESCORTS", ["PROMENADES"]), (new, ["ESCORTS", "PROMENADES"]), ("PROMENADES", ["ESCORTS", new]),
    ):  # fmt: skip
        now = call("relationships.get", relationship_id=key)["last_observation_at"]
        call(RENAME, relationship_type="PROMENADES", name=name)
        answers = [
            call("relationships.get", relationship_id=key),
            call("relationships.get", relationship_id=key, at=now),
            call("relationships.list", filters={"relationship_type": "PROMENADES"}),
            call("relationships.list", filters={"relationship_type": name}, max_characters=1_000),
            call("relationships.snapshot", **ends),
            call("entities.related", entity_id=ada),
            call("graph.neighborhood", node_id=ada),
            call("relationships.delete", **ends),
            call("relationships.restore", **{**ends, "relationship_type": name}),
            call("store", entities=ITEMS, relationships=[link(name, 0, 2)], find_duplicates=False),
        ]
        assert [types_in(answer) - {"OWNS"} for answer in answers] == [{name}] * len(answers)
        assert answers[-1]["relationships_created"][0]["relationship_key"] == key
        assert answers[-1]["store_warnings"] == []
        assert len(orjson.dumps(answers[3])) <= 1_000
        (line, *_) = call("context.retrieve", entity_id=rex, question=name, format="fields")["lines"]
        assert line["field"] == name
        (entry,) = call("relationship_types.list", keyword="PROMENADE")["relationship_types"]
        assert (entry["relationship_type"], entry["names"]) == (name, others)


def test_only_an_own_type_is_renamed_and_only_to_a_free_name(call: Call, stem: str) -> None:
    stored(call, link(f"{stem}_A", 0, 1), link(f"{stem}_B", 0, 1))
    for kind, name, path in (
        ("OWNS", f"{stem}_C", "$.relationship_type"),
        (f"{stem}_X", f"{stem}_C", "$.relationship_type"),
        (f"{stem}_A", "OWNS", "$.name"),
        (f"{stem}_A", "is child of", "$.name"),
        (f"{stem}_A", "BROTHER_OF", "$.name"),
        (f"{stem}_A", f"{stem}_B", "$.name"),
        (f"{stem}_A", f"{stem}_A", "$.name"),
        (f"{stem}_A", "X:Y", "$.name"),
        (f"{stem}_A", "OBSERVED", "$.name"),
    ):
        with pytest.raises(InvalidInput) as refused:
            call(RENAME, relationship_type=kind, name=name)
        assert [issue["path"] for issue in refused.value.details["issues"]] == [path], (kind, name)
