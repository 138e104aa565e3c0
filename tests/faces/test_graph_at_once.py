"""Graph reads of one round trip: the statements that they send, and that the answer is that of several."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.registry import REGISTRY
from graphmem.settings import Limits
from tests.faces.test_graph import PAIRS, TYPES, ids, relate, things
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner

BIG = "x" * 3_000_000
"""A value of which an answer has place for two."""


def star(run: Call, count: int, kind: str = "thing") -> tuple[str, list[str]]:
    """Store an entity with some relationships; return its id and those of the others, sorted."""
    hub, *others = things(run, count + 1, kind)
    relate(run, *(("OWNS", hub, other) for other in others))
    return hub, sorted(others)


@pytest.mark.parametrize(
    ("name", "arguments", "statement"),
    [
        ("entities.related", {"depth": 1}, "relationship.around"),
        ("entities.related", {"depth": 2}, "relationship.around"),
        (
            "entities.related",
            {"depth": 2, "include_paths": True, "relationship_types": ["OWNS"]},
            "relationship.around",
        ),
        ("entities.related", {"limit": 4}, "relationship.around"),
        ("entities.related", {"include_entities": False, "direction": "outgoing"}, "relationship.around"),
        ("graph.neighborhood", {}, "relationship.neighbourhood"),
        (
            "graph.neighborhood",
            {"limit": 4, "offset": 2, "include_related": False},
            "relationship.neighbourhood",
        ),
        ("relationships.list", {}, "relationship.of_entity[first]"),
        (
            "relationships.list",
            {"include_total_count": True, "expand_entities": True},
            "relationship.of_entity",
        ),
    ],
)
def test_an_ordinary_neighbourhood_takes_one_round_trip(
    run: Call, queries: list[str], name: str, arguments: dict[str, Any], statement: str
) -> None:
    hub, others = star(run, 9)
    queries.clear()
    subject = "node_id" if name == "graph.neighborhood" else "entity_id"
    answer = run(name, **{subject: hub}, **arguments)
    assert queries == [statement]
    assert len(answer["relationships"]) == arguments.get("limit", len(others))


def test_two_hundred_relationships_take_one_round_trip_and_more_take_several(
    run: Call, queries: list[str]
) -> None:
    for count, statements in ((200, ["around"]), (201, ["around", "by_id", "by_key"])):
        hub, others = star(run, count, f"kind{count}")
        queries.clear()
        assert ids(run("entities.related", entity_id=hub, limit=500)) == others
        assert sorted(name.partition(".")[2] for name in queries) == statements


def test_a_hub_is_read_in_several_round_trips(
    loop: Loop, services: Services, owner: str, queries: list[str]
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(hub_relationships=6)), owner)
    hub, others = star(run, 9)
    queries.clear()
    assert ids(run("entities.related", entity_id=hub)) == others
    assert queries[:2] == ["relationship.around", "relationship.expand"]
    queries.clear()
    run("entities.related", entity_id=others[0], depth=2)
    assert "relationship.reach" not in queries
    queries.clear()
    assert run("graph.neighborhood", node_id=hub)["total_count"] == 9
    assert queries[:2] == ["relationship.neighbourhood", "relationship.of_entity"]


def test_events_of_an_entity_do_not_make_it_a_hub(
    loop: Loop, services: Services, owner: str, queries: list[str]
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(hub_relationships=6)), owner)
    dates = {f"date_{day}": f"2026-01-{day}" for day in range(10, 20)}
    (eventful,) = ids(run("store", entities=[{"entity_type": "thing", "name": "eventful", **dates}]))
    relate(run, *(("OWNS", eventful, other) for other in things(run, 2)))
    queries.clear()
    answer = run("graph.neighborhood", node_id=eventful)
    assert queries == ["relationship.neighbourhood"]
    assert (len(answer["events"]), answer["total_count"]) == (10, 2)


def test_pages_by_cursor_go_on_after_the_first(run: Call, queries: list[str]) -> None:
    hub, others = star(run, 9)
    first = run("entities.related", entity_id=hub, limit=4)
    assert (ids(first), first["total"], first["left_out"]["relationships"]) == (others[:4], 9, 5)
    queries.clear()
    rest = run("entities.related", entity_id=hub, limit=100, cursor=first["next_cursor"])
    assert ids(rest) == others[4:]
    assert "relationship.around" not in queries


def test_values_that_do_not_fit_are_answered_on_later_pages(run: Call, queries: list[str]) -> None:
    (hub,) = things(run, 1)
    others = sorted(
        ids(run("store", entities=[{"entity_type": "blob", "name": f"n{i}", "text": BIG}]))[0]
        for i in range(4)
    )
    for i, other in enumerate(others):
        run("relationships.create", relationship_type="OWNS", source_entity_id=hub, target_entity_id=other,
            metadata={"why": BIG if i < 3 else ""})  # fmt: skip
    queries.clear()
    page = run("entities.related", entity_id=hub)
    assert queries == ["relationship.around", "entity.by_id", "relationship.by_key"]
    assert (ids(page), page["total"]) == (others[:2], 4)


# The answer


ENDS = st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda ends: ends[0] != ends[1])


@examples(6)
@given(
    edges=st.lists(PAIRS, max_size=16, unique=True),
    ended=st.sets(st.integers(0, 15), max_size=3),
    deleted=st.sets(st.integers(1, 7), max_size=2),
    merged=st.lists(ENDS, max_size=2),
    limit=st.sampled_from([1, 3, 100]),
    types=st.sets(st.sampled_from(TYPES), max_size=2),
    direction=st.sampled_from(["both", "outgoing", "incoming"]),
)
def test_one_round_trip_answers_the_bytes_of_several(
    loop: Loop,
    services: Services,
    edges: list[tuple[str, int, int]],
    ended: set[int],
    deleted: set[int],
    merged: list[tuple[int, int]],
    limit: int,
    types: set[str],
    direction: str,
) -> None:
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    nodes = things(run, 8)
    run(
        "store",
        entities=[{"target_id": node, "born_on": f"2026-01-0{i + 1}"} for i, node in enumerate(nodes)],
    )
    made = relate(run, *((kind, nodes[a], nodes[b]) for kind, a, b in edges)) if edges else []
    for i in ended & set(range(len(made))):
        run("relationships.delete", relationship_key=made[i])
    kept: set[int] = set()
    for source, target in merged:
        if source not in kept and target not in kept:
            run("entities.merge", source_entity_id=nodes[source], target_entity_id=nodes[target])
            kept |= {source, target}
    for i in deleted - kept:
        run("entities.delete", entity_id=nodes[i])

    def answer(name: str, arguments: dict[str, Any], **limits: Any) -> bytes:
        actor = full_actor(owner, client="test")
        return loop.run(REGISTRY[name].run(replace(services, limits=Limits(**limits)), actor, arguments))

    walked = {"entity_id": nodes[0], "direction": direction, "relationship_types": sorted(types)}
    for depth in (1, 2):
        for more in ({}, {"include_paths": True, "include_entities": False}):
            arguments = {**walked, "depth": depth, "limit": limit, **more}
            expected = answer("entities.related", arguments, walk_at_once=0)
            assert answer("entities.related", arguments) == expected
            assert answer("entities.related", arguments, rows_at_once=0) == expected
    for offset in (0, 1):
        arguments = {"node_id": nodes[0], "limit": limit, "offset": offset, "include_observations": True}
        expected = answer("graph.neighborhood", arguments, hub_relationships=0)
        assert answer("graph.neighborhood", arguments) == expected


def test_the_first_page_is_that_of_the_whole_query(run: Call) -> None:
    hub, others = star(run, 9)
    run("relationships.create", relationship_type="MANAGES", source_entity_id=others[0], target_entity_id=hub)
    run("relationships.delete", relationship_key=f"OWNS:{hub}:{others[1]}")
    run("entities.delete", entity_id=others[2])
    more: list[dict[str, Any]] = [
        {}, {"limit": 3}, {"limit": 3, "offset": 2}, {"direction": "incoming"}, {"relationship_type": "OWNS"},
        {"include_deleted": True, "expand_entities": True}, {"source_entity_id": others[0]},
    ]  # fmt: skip
    for arguments in more:
        first = run("relationships.list", entity_id=hub, **arguments)
        whole = run("relationships.list", entity_id=hub, **arguments, include_total_count=True)
        total = whole.pop("total")
        assert total >= len(first["relationships"])
        for page in (first, whole):
            page.pop("next_cursor", None)
        assert first == whole
