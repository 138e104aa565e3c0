"""Walking the graph of now: against a plain model, by cursor, past hubs, and within a budget."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem import cypher
from graphmem.context import Services
from graphmem.errors import InvalidCursor, NotFound
from graphmem.model.relationship import BUILTIN
from graphmem.settings import LIMITS, Limits
from tests.support import walk_model as model
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.faces import Call, by_runner

NOBODY = "ent_" + "0" * 24
TYPES = ("OWNS", "PART_OF", "MANAGES")


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def things(run: Call, count: int, kind: str = "thing") -> list[str]:
    """Store things; return their ids."""
    entity_ids: list[str] = []
    for start in range(0, count, 1_000):
        names = range(start, min(count, start + 1_000))
        entity_ids += ids(
            run("store", entities=[{"entity_type": kind, "name": f"{kind} {i}"} for i in names])
        )
    return entity_ids


def relate(run: Call, *ends: tuple[str, str, str]) -> list[str]:
    """Relate entities: (type, source, target) each; return the keys."""
    made: list[str] = []
    for start in range(0, len(ends), 2_000):
        rows = [
            {"relationship_type": kind, "source_entity_id": source, "target_entity_id": target}
            for kind, source, target in ends[start : start + 2_000]
        ]
        answer = run("relationships.create_many", relationships=rows)
        made += [relationship["relationship_key"] for relationship in answer["relationships"]]
    return made


def pages(run: Call, name: str = "entities.related", **arguments: Any) -> Iterator[dict[str, Any]]:
    """Yield each page of a walk, by its cursors."""
    page = run(name, **arguments)
    yield page
    while "next_cursor" in page:
        page = run(name, **{**arguments, "cursor": page["next_cursor"]})
        yield page


def keys(answer: dict[str, Any]) -> list[str]:
    return [relationship["relationship_key"] for relationship in answer["relationships"]]


def check(walk_pages: list[dict[str, Any]], wanted: model.Walk, origin: str) -> None:
    """Compare the pages of a walk, put together, with the model's."""
    entities = [(entity["depth"], entity["entity_id"]) for page in walk_pages for entity in page["entities"]]
    assert entities == sorted((depth, entity_id) for entity_id, depth in wanted.depths.items())
    walked = [key for page in walk_pages for key in keys(page)]
    assert sorted(walked) == sorted(wanted.keys)
    assert {page["total"] for page in walk_pages} == {len(wanted.depths)}
    paths = {entity_id: steps for page in walk_pages for entity_id, steps in page["paths"].items()}
    assert {
        entity_id: tuple(step["relationship_key"] for step in steps) for entity_id, steps in paths.items()
    } == wanted.paths
    for entity_id, steps in paths.items():
        at = origin
        for step in steps:
            kind, source, target = step["relationship_key"].split(":")
            assert step["relationship_type"] == kind
            assert (step["direction"], at) in (("outgoing", source), ("incoming", target))
            at = step["entity_id"]
        assert at == entity_id
    seen = {origin}
    left = len(entities)
    for page in walk_pages:
        seen.update(ids(page))
        left -= len(page["entities"])
        # A relationship comes with the later of its ends: both were answered by then.
        assert all(
            {relationship["source_entity_id"], relationship["target_entity_id"]} <= seen
            for relationship in page["relationships"]
        )
        assert page["truncated"] == ("next_cursor" in page) == ("left_out" in page) == bool(left)
        if left:
            assert (page["left_out"]["entities"], page["left_out"]["at_least"]) == (left, False)
    remaining = len(walked)
    for page in walk_pages[:-1]:
        remaining -= len(keys(page))
        assert page["left_out"]["relationships"] == remaining


PAIRS = st.tuples(st.sampled_from(TYPES), st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[1] != e[2])


@examples(6)
@given(
    edges=st.lists(PAIRS, max_size=16, unique=True),
    deleted=st.sets(st.integers(1, 7), max_size=2),
    ended=st.sets(st.integers(0, 15), max_size=3),
    depth=st.integers(1, 5),
    direction=st.sampled_from(["both", "outgoing", "incoming"]),
    types=st.sets(st.sampled_from(TYPES), max_size=2),
    limit=st.integers(1, 8),
    small=st.sampled_from([0, 30, LIMITS.walk_at_once]),
)
def test_a_walk_answers_what_the_model_says(
    loop: Loop,
    services: Services,
    edges: list[tuple[str, int, int]],
    deleted: set[int],
    ended: set[int],
    depth: int,
    direction: str,
    types: set[str],
    limit: int,
    small: int,
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(walk_at_once=small)), str(uuid.uuid4()))
    nodes = things(run, 8)
    made = relate(run, *((kind, nodes[a], nodes[b]) for kind, a, b in edges)) if edges else []
    for i in ended & set(range(len(made))):
        run("relationships.delete", relationship_key=made[i])
    for i in deleted:
        run("entities.delete", entity_id=nodes[i])
    known: list[model.Edge] = [
        (key, *key.split(":"))
        for i, key in enumerate(made)
        if i not in ended  # type: ignore[misc]
    ]
    live = [node for i, node in enumerate(nodes) if i not in deleted]
    arguments = {
        "entity_id": nodes[0],
        "depth": depth,
        "direction": direction,
        "relationship_types": sorted(types),
    }
    walk_pages = list(pages(run, **arguments, include_paths=True, limit=limit))
    check(walk_pages, model.walk(known, live, nodes[0], depth, direction, types), nodes[0])


def test_a_deleted_entity_is_no_bridge(run: Call) -> None:
    a, b, c = things(run, 3)
    relate(run, ("OWNS", a, b), ("OWNS", b, c))
    assert ids(run("entities.related", entity_id=a, depth=2)) == [b, c]
    run("entities.delete", entity_id=b)
    assert run("entities.related", entity_id=a, depth=5)["entities"] == []
    run("entities.restore", entity_id=b)
    assert ids(run("entities.related", entity_id=a, depth=2)) == [b, c]


def test_paths_are_there_without_the_entities(run: Call) -> None:
    a, b, c = things(run, 3)
    relate(run, ("OWNS", a, b), ("OWNS", c, b))
    answer = run("entities.related", entity_id=a, depth=2, include_paths=True, include_entities=False)
    assert {
        entity_id: [step["direction"] for step in steps] for entity_id, steps in answer["paths"].items()
    } == {
        b: ["outgoing"],
        c: ["outgoing", "incoming"],
    }
    assert "paths" not in run("entities.related", entity_id=a)


# Cursors


def test_a_cursor_of_another_query_is_refused(call: Call) -> None:
    a, *others = things(call, 5)
    relate(call, *(("OWNS", a, other) for other in others))
    cursor = call("entities.related", entity_id=a, limit=2)["next_cursor"]
    assert len(ids(call("entities.related", entity_id=a, limit=4, cursor=cursor))) == 2
    for other in (
        {"entity_id": others[0]}, {"depth": 2}, {"direction": "outgoing"}, {"relationship_types": ["OWNS"]},
        {"at": "2100-01-01"}, {"through_hubs": True}, {"cursor": cursor[:-3]}, {"cursor": "é"},
        {"cursor": ""}, {"cursor": "bnVsbA"}, {"cursor": "e30"},
    ):  # fmt: skip
        with pytest.raises(InvalidCursor) as refused:
            call("entities.related", **{"entity_id": a, "cursor": cursor, **other})
        assert refused.value.details["issues"][0]["path"] == "$.cursor"


def test_a_cursor_of_another_owner_is_refused(loop: Loop, services: Services, run: Call) -> None:
    other = by_runner(loop, services, str(uuid.uuid4()))
    a, *others = things(other, 3)
    relate(other, *(("OWNS", a, target) for target in others))
    cursor = other("entities.related", entity_id=a, limit=1)["next_cursor"]
    with pytest.raises(InvalidCursor):
        run("entities.related", entity_id=a, limit=1, cursor=cursor)


def test_an_entity_that_is_deleted_between_two_pages_leaves_no_gap(run: Call) -> None:
    a, *others = things(run, 9)
    relate(run, *(("OWNS", a, other) for other in others))
    for depth in (1, 2):
        first = run("entities.related", entity_id=a, depth=depth, limit=4)
        run("entities.delete", entity_id=ids(first)[-1])
        rest = run("entities.related", entity_id=a, depth=depth, limit=9, cursor=first["next_cursor"])
        assert ids(rest) == [entity_id for entity_id in sorted(others) if entity_id > ids(first)[-1]]
        run("entities.restore", entity_id=ids(first)[-1])


# Hubs


SPOKES = LIMITS.walk_at_once + 100


@pytest.fixture(scope="module")
def hub(loop: Loop, services: Services) -> dict[str, Any]:
    """An entity with more relationships than one round trip walks.

    ``beside`` is the source of one of them, ``beyond`` is related to one of the targets.
    """
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    hub, beside, beyond = things(run, 3, "place")
    spokes = things(run, SPOKES, "spoke")
    relate(
        run,
        ("MANAGES", beside, hub),
        ("OWNS", spokes[0], beyond),
        *(("OWNS", hub, spoke) for spoke in spokes),
    )
    return {"run": run, "owner": owner, "hub": hub, "beside": beside, "beyond": beyond, "spokes": spokes}


@pytest.mark.parametrize(
    ("depth", "as_of"), [pytest.param(1, {"at": "2100-01-01"}, marks=pytest.mark.long), (2, {})]
)
def test_a_hub_is_walked_to_its_end_by_cursor(hub: dict[str, Any], depth: int, as_of: dict[str, str]) -> None:
    wanted = sorted([*hub["spokes"], hub["beside"]]) + ([hub["beyond"]] if depth == 2 else [])
    entity_ids, linked = [], []
    for page in pages(hub["run"], entity_id=hub["hub"], depth=depth, limit=500, include_entities=False,
                      include_paths=True, **as_of):  # fmt: skip
        entity_ids += page["paths"]
        linked += keys(page)
        assert page["total"] == len(wanted)
        assert len(json.dumps(page)) < 1_000_000
    assert entity_ids == wanted
    assert len(linked) == len(set(linked)) == len(wanted)


@pytest.mark.parametrize("as_of", [{}, {"at": "2100-01-01"}])
def test_a_hub_is_reached_and_not_passed_through_unless_asked_for(
    hub: dict[str, Any], as_of: dict[str, str]
) -> None:
    arguments = {"entity_id": hub["beside"], "depth": 2, **as_of}
    beside = hub["run"]("entities.related", **arguments)
    assert (ids(beside), beside["hubs"], beside["truncated"]) == ([hub["hub"]], [hub["hub"]], False)
    through = hub["run"]("entities.related", **arguments, through_hubs=True, limit=10)
    assert (through["total"], through["hubs"], len(through["entities"])) == (SPOKES + 1, [], 10)
    # Asked for one rare type, it is none.
    rare = hub["run"]("entities.related", **arguments, relationship_types=["MANAGES"])
    assert (ids(rare), rare["hubs"]) == ([hub["hub"]], [])


def test_a_walk_that_is_too_long_ends_and_says_what_it_left_out(
    hub: dict[str, Any], loop: Loop, services: Services
) -> None:
    def limited(count: int) -> Call:
        return by_runner(loop, replace(services, limits=Limits(walk_relationships=count)), hub["owner"])

    run = limited(SPOKES + 5)
    near = list(pages(run, entity_id=hub["hub"], depth=3, limit=500, include_entities=False))
    assert sum(len(keys(page)) for page in near) == SPOKES + 1
    assert all(page["truncated"] and page["left_out"]["at_least"] for page in near)
    assert near[-1]["left_out"]["entities"] == 0
    assert 0 < near[-1]["left_out"]["unexplored"] < SPOKES + 1
    assert "next_cursor" not in near[-1]
    # The origin is walked to its end even where it alone is more than that.
    alone = list(pages(limited(100), entity_id=hub["hub"], depth=3, limit=500, include_entities=False))
    assert sum(len(keys(page)) for page in alone) == SPOKES + 1
    assert {page["left_out"]["unexplored"] for page in alone} == {SPOKES + 1}


def test_relationships_are_bounded_too(loop: Loop, services: Services, owner: str) -> None:
    run = by_runner(loop, replace(services, limits=Limits(page_relationships=4)), owner)
    a, b, c = sorted(things(run, 3))
    made = relate(
        run, *((kind, a, far) for kind in (*TYPES, "REFERS_TO", "WORKS_AT", "FUNDED_BY") for far in (b, c))
    )
    walk_pages = list(pages(run, entity_id=a))
    assert [ids(page) for page in walk_pages] == [[b], [c]]
    assert [len(keys(page)) for page in walk_pages] == [4, 4]
    assert [page["left_out"]["relationships"] for page in walk_pages] == [2 + 6, 2]
    assert all(key in made for page in walk_pages for key in keys(page))


def test_large_values_end_a_page_that_goes_on_by_cursor(run: Call) -> None:
    text = "x" * 1_000_000
    (a,) = things(run, 1)
    blob_ids = [
        ids(run("store", entities=[{"entity_type": "blob", "name": f"n{i}", "text": text}]))[0]
        for i in range(10)
    ]
    for i, blob_id in enumerate(blob_ids):
        run("relationships.create", relationship_type="OWNS", source_entity_id=a, target_entity_id=blob_id,
            metadata={"why": text if i < 3 else ""})  # fmt: skip
    options: list[dict[str, Any]] = [{}, {"depth": 2}, {"at": "2100-01-01"}]
    for option in options:
        walk_pages = list(pages(run, entity_id=a, **option))
        assert len(walk_pages) > 1
        assert [entity_id for page in walk_pages for entity_id in ids(page)] == sorted(blob_ids)
        assert sum(len(keys(page)) for page in walk_pages) == 10
        assert {page["total"] for page in walk_pages} == {10}


# What a walk reads


def test_a_walk_does_not_read_the_observations_of_what_it_passes(
    loop: Loop, services: Services, run: Call, owner: str
) -> None:
    a, b, c, d = things(run, 4)
    relate(run, ("OWNS", a, b), ("OWNS", b, c), ("OWNS", c, d))

    def hits() -> dict[str, list[int]]:
        names = ("relationship.expand", "relationship.expand_as_of", "relationship.reach")
        return {
            name: [profile(loop, services, owner, name, [entity_id], a) for entity_id in (a, b, c)]
            for name in names
        }

    before = hits()
    for start in range(0, 3_000, 1_000):
        run("store", entities=[{"target_id": a, "n": n} for n in range(start, start + 1_000)])
    run("store", entities=[{"target_id": entity_id, "n": n} for entity_id in (b, c) for n in range(500)])
    assert run("entities.get", entity_id=a)["observation_count"] == 3_001
    assert hits() == before
    assert ids(run("entities.related", entity_id=a, depth=3)) == [b, c, d]


def test_a_small_walk_takes_one_round_trip_and_its_rows_two(run: Call, queries: list[str]) -> None:
    a, *rest = things(run, 5)
    relate(run, *(("OWNS", source, target) for source, target in pairwise((a, *rest))))
    run("entities.related", entity_id=a, depth=5)
    queries.clear()
    assert ids(run("entities.related", entity_id=a, depth=4)) == rest
    assert sorted(queries) == ["entity.by_id", "relationship.by_key", "relationship.reach"]


def profile(loop: Loop, services: Services, owner: str, name: str, frontier: list[str], origin: str) -> int:
    """Return the database hits of one step of a walk."""
    step: dict[str, Any] = {
        "frontier": frontier, "origin": origin, "outgoing": True, "incoming": True,
        "hub": LIMITS.hub_relationships,
        "through": False, "most": LIMITS.walk_relationships,
        "after": "", "room": 100, "depth": 3, "at": 2**60, "types": None,
        "at_ingested": 2**60, "by_writer": True,
    }  # fmt: skip
    taken = {name: step[name] for name in cypher.query(name).params}
    text = "PROFILE " + cypher.with_types(name, frozenset(BUILTIN))

    async def profiled() -> dict[str, Any]:
        async with services.database._driver.session() as session:
            result = await session.run(text, cypher.bind(name, taken, owner))
            return (await result.consume()).profile or {}

    def total(node: dict[str, Any]) -> int:
        return node.get("dbHits", 0) + sum(map(total, node.get("children", [])))

    return total(loop.run(profiled()))


# What is next to a node


def test_a_neighbourhood_has_relationships_entities_and_an_exact_total(run: Call) -> None:
    a, b, c = things(run, 3)
    relate(run, ("OWNS", a, b), ("MANAGES", c, a), ("OWNS", b, c))
    answer = run("graph.neighborhood", node_id=a)
    assert (answer["node_id"], answer["node_type"], answer["entity"]["entity_id"]) == (a, "entity", a)
    assert sorted(key.split(":")[0] for key in keys(answer)) == ["MANAGES", "OWNS"]
    assert sorted(entity["entity_id"] for entity in answer["related_entities"]) == sorted([b, c])
    assert (answer["total_count"], answer["has_more"]) == (2, False)
    assert (answer["sources"], answer["events"]) == ([], [])
    assert "observations" not in answer
    some = run("graph.neighborhood", node_id=a, include_relationships=False, include_related=False,
                include_sources=False, include_events=False, include_observations=True)  # fmt: skip
    assert set(some) == {
        "node_id",
        "node_type",
        "entity",
        "observations",
        "total",
        "total_count",
        "limit",
        "offset",
        "has_more",
    }
    assert [observation["entity_id"] for observation in some["observations"]] == [a]


def test_pages_of_a_neighbourhood_tile(hub: dict[str, Any]) -> None:
    for as_of in ({}, {"at": "2100-01-01"}) if LONG else ({},):
        seen, offset = [], 0
        while True:
            page = hub["run"]("graph.neighborhood", node_id=hub["hub"], limit=500, offset=offset,
                              include_related=False, **as_of)  # fmt: skip
            seen += keys(page)
            assert page["total_count"] == SPOKES + 1
            if not page["has_more"]:
                break
            offset = page["next_offset"]
        assert len(seen) == len(set(seen)) == SPOKES + 1
    past = hub["run"]("graph.neighborhood", node_id=hub["hub"], offset=5_000)
    assert (past["relationships"], past["total_count"], past["has_more"]) == ([], SPOKES + 1, False)


def test_a_neighbourhood_of_large_values_ends_early_and_goes_on(run: Call) -> None:
    (a,) = things(run, 1)
    link = {"relationship_type": "OWNS", "source_index": 0, "target_entity_id": a}
    for i in range(10):
        item = {"entity_type": "blob", "name": f"n{i}", "text": "x" * 1_000_000}
        run("store", entities=[item], relationships=[link])
    for as_of in ({}, {"at_ingested": "2100-01-01"}):
        first = run("graph.neighborhood", node_id=a, **as_of)
        assert (first["total_count"], first["has_more"]) == (10, True)
        rest = run("graph.neighborhood", node_id=a, offset=first["next_offset"], **as_of)
        assert len(set(keys(first) + keys(rest))) == 10
        listed = run("relationships.list", entity_id=a, expand_entities=True, **as_of)
        assert (listed["truncated"], listed["next_offset"]) == (True, len(keys(listed)))


def test_a_deleted_entity_or_relationship_is_in_no_neighbourhood(run: Call) -> None:
    a, b, c = things(run, 3)
    (_, gone) = relate(run, ("OWNS", a, b), ("OWNS", a, c))
    run("relationships.delete", relationship_key=gone)
    run("entities.delete", entity_id=b)
    answer = run("graph.neighborhood", node_id=a)
    assert (answer["relationships"], answer["related_entities"], answer["total_count"]) == ([], [], 0)
    for missing in (b, NOBODY):
        with pytest.raises(NotFound):
            run("graph.neighborhood", node_id=missing)


def test_a_source_that_is_not_stored_is_404(call: Call) -> None:
    (a,) = things(call, 1)
    for missing in ("src_" + "0" * 24, a):
        with pytest.raises(NotFound) as refused:
            call("graph.neighborhood", node_id=missing, node_type="source")
        assert refused.value.details == {"source_id": missing}


def test_a_source_has_the_entities_observed_from_it(loop: Loop, services: Services, run: Call) -> None:
    stored = run("store", entities=[{"entity_type": "thing", "name": f"from a file {i}"} for i in range(3)],
                 file_content="YWJj", original_filename="abc.txt")  # fmt: skip
    nodes, source = sorted(item["entity_id"] for item in stored["entities"]), stored["source_id"]
    things(run, 1)
    run("entities.delete", entity_id=nodes[0])
    reference = {
        "source_id": source, "content_hash": stored["content_hash"], "mime_type": "text/plain",
        "original_filename": "abc.txt", "created_at": stored["recorded_at"],
    }  # fmt: skip
    for as_of in ({}, {"at": "2100-01-01"}):
        answer = run("graph.neighborhood", node_id=source, node_type="source", limit=1,
                    include_observations=True, **as_of)  # fmt: skip
        assert [entity["entity_id"] for entity in answer["related_entities"]] == nodes[1:2]
        assert (answer["total_count"], answer["has_more"], answer["next_offset"]) == (2, True, 1)
        assert (answer["source"], answer["relationships"]) == (reference, [])
        assert {observation["entity_id"] for observation in answer["observations"]} <= set(nodes[1:3])
        around = run("graph.neighborhood", node_id=nodes[1], **as_of)
        assert around["sources"] == [reference]
    smaller = run("graph.neighborhood", node_id=source, node_type="source", include_relationships=False,
               include_related=False, include_events=False)  # fmt: skip
    assert (smaller["source"], smaller["total_count"]) == (reference, 2)
    assert smaller.keys().isdisjoint({"relationships", "related_entities", "events", "observations"})
    early = run("graph.neighborhood", node_id=source, node_type="source", at="2020-01-01")
    assert (early["related_entities"], early["total_count"]) == ([], 0)
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    with pytest.raises(NotFound):
        stranger("graph.neighborhood", node_id=source, node_type="source")
