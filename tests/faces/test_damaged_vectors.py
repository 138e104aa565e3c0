"""Stored vectors of a wrong length: nothing else is lost, answers and the check name them, rebuild mends."""

from __future__ import annotations

from typing import Any, LiteralString

import pytest

from graphmem.context import Services
from graphmem.interpretation import make_passages
from tests.faces.test_passages import CV, LETTER
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.search_copies import with_new_copies

DAMAGED: tuple[Any, ...] = (b"x" * 255, b"x" * 513, 7, "text", [1, 2])


def in_new_process(loop: Loop, services: Services, owner: str) -> Call:
    """Return the operations of a process that has read nothing yet."""
    return by_runner(loop, with_new_copies(services), owner)


def put(loop: Loop, services: Services, text: LiteralString, **params: Any) -> None:
    loop.run(services.database.script(text, **params))


@pytest.mark.parametrize("packed", DAMAGED)
def test_an_entity_with_a_damaged_vector_alone_is_not_compared_by_meaning(
    run: Call, loop: Loop, services: Services, owner: str, packed: Any
) -> None:
    names = ("The harbour of Oslo", "A garden with roses")
    harbour, garden = (
        each["entity_id"]
        for each in run("store", entities=[{"entity_type": "place", "name": name} for name in names])[
            "entities"
        ]
    )
    put(
        loop, services, "MATCH (meaning:Meaning {entity_id: $id}) SET meaning.packed = $packed",
        id=harbour, packed=packed,
    )  # fmt: skip
    fresh = in_new_process(loop, services, owner)
    answer: dict[str, Any] = {}
    for name, found in (("garden", garden), ("harbour", harbour)):
        answer = fresh("entities.query", search=name)
        assert answer["entities"][0]["entity_id"] == found
        assert "exact" not in answer
        ((named, reason),) = [(each["entity_id"], each["reason"]) for each in answer["left_out"]]
        assert named == harbour
        assert "vector" in reason
    assert fresh("context.retrieve", question="Is there a garden?")["left_out"] == answer["left_out"]
    assert fresh("entities.query")["entities"]
    check = run("server.check_snapshots")
    assert not check["healthy"]
    assert harbour in str(check)
    run("server.check_snapshots", auto_fix=True)
    assert run("server.check_snapshots")["healthy"]
    assert "left_out" not in fresh("entities.query", search="harbour")


@pytest.mark.parametrize(
    ("name", "value"), [*(("packed", each) for each in DAMAGED), ("texts", 7), ("texts", "t")]
)
def test_the_passages_of_a_file_that_are_damaged_alone_are_not_searched(
    run: Call, loop: Loop, services: Services, owner: str, name: str, value: Any
) -> None:
    cv = run("store", **with_file(CV, "cv.txt"))["source_id"]
    letter = run("store", **with_file(LETTER, "letter.txt", mime_type="text/plain"))["source_id"]
    while loop.run(make_passages(services, owner)):
        pass
    put(
        loop, services, "MATCH (passages:Passages {source_id: $id}) SET passages[$name] = $value",
        id=cv, name=name, value=value,
    )  # fmt: skip
    fresh = in_new_process(loop, services, owner)
    answer: dict[str, Any] = {}
    for _ in range(2):
        answer = fresh("sources.search", search="When is the boiler repaired?")
        assert {each["source_id"] for each in answer["passages"]} == {letter}
        assert [each["entity_id"] for each in answer["left_out"]] == [cv]
    assert fresh("entities.query", search="boiler")["left_out"] == answer["left_out"]
    check = run("server.check_snapshots")
    assert [each["id"] for each in check["stale_snapshots"]] == [cv]
    run("server.check_snapshots", auto_fix=True)
    while loop.run(make_passages(services, owner)):
        pass
    assert run("server.check_snapshots")["healthy"]
    assert "left_out" not in fresh("sources.search", search="boiler")


def test_the_check_compares_the_value_of_vectors_of_passages(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    cv = run("store", **with_file(CV, "cv.txt"))["source_id"]
    while loop.run(make_passages(services, owner)):
        pass
    assert run("server.check_snapshots")["healthy"]
    other: LiteralString = (
        "MATCH (passages:Passages {source_id: $id}) SET passages.packed = $packed "
        "RETURN passages.texts AS texts"
    )
    (row,) = loop.run(services.database.script(other, id=cv, packed=b"x"))
    put(loop, services, other, id=cv, packed=b"\x01" * 256 * len(row["texts"]))
    assert [each["id"] for each in run("server.check_snapshots")["stale_snapshots"]] == [cv]


@pytest.mark.parametrize(
    ("node", "damage"),
    [
        ("Entity {id", "n.changed = 'text'"),
        ("Meaning {entity_id", "n.changed = 'text'"),
        ("Entity {id", "n.id = 4949"),
    ],
)
def test_others_are_found_where_the_revision_or_the_id_of_an_entity_is_of_another_type(
    run: Call, loop: Loop, services: Services, owner: str, node: str, damage: str
) -> None:
    names = ("The harbour of Oslo", "A garden with roses")
    places = run("store", entities=[{"entity_type": "place", "name": name} for name in names])["entities"]
    text: Any = f"MATCH (n:{node}: $id}}) SET {damage}"
    put(loop, services, text, id=places[0]["entity_id"])
    answer = in_new_process(loop, services, owner)("entities.query", search="roses")
    assert answer["entities"][0]["entity_id"] == places[1]["entity_id"]
    assert answer.get("exact", True), answer
    if damage == "n.id = 4949":
        # The number is one of the whole database.
        put(loop, services, "MATCH (n:Entity {id: 4949}) DETACH DELETE n")
