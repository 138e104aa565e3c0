"""The graph as of two clocks: what was related then, as it was known then."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.errors import NotFound, StoreRefused
from graphmem.settings import Limits
from tests.faces.test_graph import check, ids, keys, pages, relate, things
from tests.support import walk_model as model
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner

YEARS = [f"{year}-01-01T00:00:00Z" for year in (2020, 2021, 2022, 2023)]


def create(run: Call, source: str, target: str, kind: str = "OWNS", **more: Any) -> str:
    ends = {"relationship_type": kind, "source_entity_id": source, "target_entity_id": target}
    return run("relationships.create", **ends, **more)["relationship_key"]


def recorded(run: Call) -> str:
    """Return when the last transaction was recorded."""
    return run("server.stats")["last_updated"]


@pytest.fixture
def chain(run: Call) -> list[str]:
    """Three things in a row: the first step known since 2020, the second since 2022."""
    a, b, c = ids(run("store", entities=[
        {"entity_type": "thing", "name": f"t{i}"} for i in range(3)
    ], observed_at=YEARS[0]))  # fmt: skip
    create(run, a, b, observed_at=YEARS[0], metadata={"share": 1})
    create(run, b, c, observed_at=YEARS[2])
    return [a, b, c]


def test_related_entities_as_of_a_time_are_those_of_that_time(run: Call, chain: list[str]) -> None:
    a, b, c = chain

    def related(**clocks: str) -> list[str]:
        return ids(run("entities.related", entity_id=a, depth=2, **clocks))

    assert related() == [b, c]
    assert [related(at=year) for year in YEARS] == [[b], [b], [b, c], [b, c]]
    assert related(at="2019-01-01") == related(at_ingested="2019-01-01") == []
    answer = run("entities.related", entity_id=a, at="2021-01-01")
    assert (answer["at"], "at_ingested" in answer) == ("2021-01-01T00:00:00.000000Z", False)


def test_a_late_backfill_changes_no_read_of_what_was_known_before(run: Call, chain: list[str]) -> None:
    a, b, c = chain
    subjects = ({"entity_id": a, "depth": 3}, {"entity_id": c, "depth": 1})
    known = recorded(run)
    clocks = [{"at_ingested": known}, {"at": YEARS[3], "at_ingested": known}]
    readings = [("entities.related", {**subject, **clock}) for subject in subjects for clock in clocks]
    readings += [
        ("graph.neighborhood", {"node_id": b, "include_observations": True, **clock}) for clock in clocks
    ]
    for more in ({}, {"entity_id": a, "expand_entities": True}, {"relationship_type": "OWNS"}):
        readings += [
            ("relationships.list", {**more, "include_total_count": True, **clock}) for clock in clocks
        ]
    key = f"OWNS:{a}:{b}"
    readings += [("relationships.get", {"relationship_id": key, **clock}) for clock in clocks]
    readings += [("relationships.snapshot", {"relationship_key": key, **clock}) for clock in clocks]

    def read() -> list[Any]:
        return [run(name, **arguments) for name, arguments in readings]

    before = read()
    create(run, a, c, "MANAGES", observed_at=YEARS[0])
    create(run, a, b, observed_at=YEARS[1], metadata={"share": 2})
    run("store", entities=[{"target_id": b, "late": True}], observed_at=YEARS[1])
    run("relationships.delete", relationship_key=f"OWNS:{b}:{c}")
    run("entities.delete", entity_id=c)
    assert read() == before
    # The other clock sees what came late.
    then = run("entities.related", entity_id=a, at=YEARS[1])
    assert ids(then) == sorted([b, c])
    assert {
        relationship["relationship_key"]: relationship["snapshot"] for relationship in then["relationships"]
    } == {
        key: {"share": 2},
        f"MANAGES:{a}:{c}": {},
    }
    assert next(entity for entity in then["entities"] if entity["entity_id"] == b)["snapshot"]["late"] is True


def test_a_deleted_entity_is_a_bridge_as_of_times_before_its_deletion(run: Call, chain: list[str]) -> None:
    a, b, c = chain
    before = recorded(run)
    run("entities.delete", entity_id=b)
    gone = recorded(run)
    run("entities.restore", entity_id=b)
    for clock in ("at", "at_ingested"):
        related_ids = [
            ids(run("entities.related", entity_id=a, depth=2, **{clock: time})) for time in (before, gone)
        ]
        assert related_ids == [[b, c], []]
        assert run("graph.neighborhood", node_id=a, **{clock: gone})["total_count"] == 0
        with pytest.raises(NotFound):
            run("graph.neighborhood", node_id=b, **{clock: gone})
        with pytest.raises(NotFound):
            run("entities.related", entity_id=b, **{clock: gone})
        with pytest.raises(NotFound):
            run("relationships.get", relationship_id=f"OWNS:{a}:{b}", **{clock: gone})
        shown = run(
            "relationships.get", relationship_id=f"OWNS:{a}:{b}", include_deleted=True, **{clock: gone}
        )
        assert shown["is_live"] is True


def test_a_deleted_relationship_is_read_as_of_times_before_its_deletion(run: Call, chain: list[str]) -> None:
    a, b, _ = chain
    key = f"OWNS:{a}:{b}"
    before = recorded(run)
    run("relationships.delete", relationship_key=key, reason="sold")
    gone = recorded(run)
    for clock in ("at", "at_ingested"):
        assert ids(run("entities.related", entity_id=a, **{clock: before})) == [b]
        assert ids(run("entities.related", entity_id=a, **{clock: gone})) == []
        listed = run("relationships.list", entity_id=a, include_total_count=True, **{clock: before})
        assert (keys(listed), listed["total"]) == ([key], 1)
        listed = run("relationships.list", entity_id=a, include_total_count=True, **{clock: gone})
        assert (keys(listed), listed["total"]) == ([], 0)
        listed = run("relationships.list", entity_id=a, include_deleted=True, **{clock: gone})
        assert [
            (relationship["relationship_key"], relationship["is_live"])
            for relationship in listed["relationships"]
        ] == [(key, False)]
        history = run("relationships.snapshot", relationship_key=key, **{clock: before})
        assert [observation["kind"] for observation in history["observations"]] == ["create"]
    # What was not there yet is not there even among what is deleted.
    early = run("relationships.list", entity_id=a, include_deleted=True, at="2019-01-01")
    assert early["relationships"] == []


def test_metadata_as_of_a_time_are_those_of_that_time(run: Call, chain: list[str]) -> None:
    a, b, _ = chain
    create(run, a, b, observed_at=YEARS[2], metadata={"share": 2, "note": "b"})
    create(run, a, b, observed_at=YEARS[3], metadata={"share": None, "ç": 1, "😀": 2})
    key = f"OWNS:{a}:{b}"
    wanted = [{"share": 1}, {"share": 1}, {"note": "b", "share": 2}, {"note": "b", "ç": 1, "😀": 2}]
    now = run("relationships.get", relationship_id=key)
    for year, snapshot in zip(YEARS, wanted, strict=True):
        for name, subject in (("get", {"relationship_id": key}), ("snapshot", {"relationship_key": key})):
            then = run(f"relationships.{name}", **subject, at=year)
            assert then["snapshot"] == snapshot
            assert set(then["provenance"]) == set(snapshot)
        (listed,) = run("relationships.list", source_entity_id=a, at=year)["relationships"]
        assert listed["snapshot"] == snapshot
    last = run("relationships.get", relationship_id=key, at=YEARS[3])
    assert {name: last[name] for name in now} == now
    assert list(last["snapshot"]) == list(now["snapshot"])


def test_relationships_as_of_a_time_have_the_order_of_that_time_and_tile(run: Call) -> None:
    a, *others = things(run, 6)
    for i, other in enumerate(others):
        create(run, a, other, observed_at=f"2020-01-0{i + 1}")
    create(run, a, others[0], observed_at=YEARS[3])
    order = [f"OWNS:{a}:{target}" for target in reversed(others)]
    for filters in ({"entity_id": a}, {}, {"relationship_type": "OWNS"}):
        arguments = {"filters": filters, "at": YEARS[1], "include_total_count": True}
        whole = run("relationships.list", **arguments)
        assert (keys(whole), whole["total"]) == (order, 5)
        tiled = [
            key for i in (0, 2, 4) for key in keys(run("relationships.list", **arguments, limit=2, offset=i))
        ]
        assert tiled == order
    assert keys(run("relationships.list", entity_id=a))[0] == order[-1]


def test_pages_as_of_a_time_tile_while_something_is_written(run: Call) -> None:
    a, *others = things(run, 7)
    relate(run, *(("OWNS", a, other) for other in others[:5]))
    for depth in (1, 2):
        arguments = {"entity_id": a, "depth": depth, "limit": 2, "at": "2100-01-01"}
        first = run("entities.related", **arguments)
        key = create(run, a, others[5], metadata={"depth": depth})
        rest = list(pages(run, **arguments, cursor=first["next_cursor"]))
        assert [entity_id for page in (first, *rest) for entity_id in ids(page)] == sorted(others[:5])
        run("relationships.delete", relationship_key=key)


def test_relationships_of_later_make_no_entity_a_hub_as_of_a_time(
    loop: Loop, services: Services, owner: str
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(hub_relationships=3)), owner)
    a, hub, c, *later = things(run, 8)
    relate(run, ("OWNS", a, hub), ("OWNS", hub, c))
    known = recorded(run)
    arguments = {"entity_id": a, "depth": 2}
    before = run("entities.related", **arguments, at_ingested=known)
    assert ids(before) == [hub, c]
    relate(run, *(("OWNS", hub, target) for target in later))
    assert run("entities.related", **arguments)["hubs"] == [hub]
    assert run("entities.related", **arguments, at="2100-01-01")["hubs"] == [hub]
    assert run("entities.related", **arguments, at_ingested=known) == before


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["relate", "end", "delete", "restore", "observe"]),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from(["OWNS", "MANAGES"]),
        st.sampled_from([None, *YEARS]),
    ),
    min_size=1,
    max_size=14,
)


@examples(6)
@given(
    events=EVENTS,
    depth=st.integers(1, 4),
    direction=st.sampled_from(["both", "outgoing", "incoming"]),
    limit=st.integers(1, 5),
    data=st.data(),
)
def test_a_walk_as_of_a_time_answers_what_the_model_says(
    loop: Loop,
    services: Services,
    events: list[tuple[str, int, int, str, str | None]],
    depth: int,
    direction: str,
    limit: int,
    data: st.DataObject,
) -> None:
    run = by_runner(loop, services, str(uuid.uuid4()))
    nodes = things(run, 5)
    for event in events:
        happen(run, nodes, *event)
    facts = observations_of(run, nodes)
    times = sorted({fact[clock] for fact in facts for clock in ("observed_at", "recorded_at")})
    some = st.none() | st.sampled_from(times)
    for at, at_ingested in ((times[-1], None), (None, times[-1]), (data.draw(some), data.draw(some))):
        if at is None and at_ingested is None:
            continue
        edges, live = visible(facts, nodes, at, at_ingested)
        clocks = {name: value for name, value in (("at", at), ("at_ingested", at_ingested)) if value}
        arguments = {"entity_id": nodes[0], "depth": depth, "direction": direction, "limit": limit, **clocks}
        if nodes[0] not in live:
            with pytest.raises(NotFound):
                run("entities.related", **arguments)
            continue
        walk_pages = list(pages(run, **arguments, include_paths=True))
        check(walk_pages, model.walk(edges, live, nodes[0], depth, direction), nodes[0])
        listed = run("relationships.list", limit=500, include_total_count=True, **clocks)
        both = sorted(key for key, _, source, target in edges if source in live and target in live)
        assert (sorted(keys(listed)), listed["total"]) == (both, len(both))
        around = run("graph.neighborhood", node_id=nodes[0], limit=500, **clocks)
        assert sorted(keys(around)) == sorted(key for key in both if nodes[0] in key)


def happen(run: Call, nodes: list[str], what: str, i: int, j: int, kind: str, when: str | None) -> None:
    """Do one step of a generated history; a step that is refused changes nothing."""
    at = {} if when is None else {"observed_at": when}
    try:
        if what == "relate" and i != j:
            create(run, nodes[i], nodes[j], kind, **at)
        elif what == "end":
            run("relationships.delete", relationship_key=f"{kind}:{nodes[i]}:{nodes[j]}")
        elif what == "observe":
            run("observations.create", entity_id=nodes[i], fields={"n": j}, **at)
        elif what in ("delete", "restore"):
            run(f"entities.{what}", entity_id=nodes[i])
    except (NotFound, StoreRefused):
        # There is nothing to do it to.
        return


def observations_of(run: Call, nodes: list[str]) -> list[dict[str, Any]]:
    """Return every observation, of entities and of relationships, with its ``subject_id``."""
    observations: list[dict[str, Any]] = []
    for node in nodes:
        page = run("observations.query", entity_id=node, include_deleted=True, limit=500)
        observations += [{**observation, "subject_id": node} for observation in page["observations"]]
    for link in run("relationships.list", include_deleted=True, limit=500)["relationships"]:
        key = link["relationship_key"]
        history = run("relationships.snapshot", relationship_key=key, include_deleted=True)
        observations += [{**observation, "subject_id": key} for observation in history["observations"]]
    return observations


def visible(
    facts: list[dict[str, Any]], nodes: list[str], at: str | None, at_ingested: str | None
) -> tuple[list[model.Edge], set[str]]:
    """Return the relationships and the entities that lived then: the newest lifecycle observation decides."""
    seen = [
        fact
        for fact in facts
        if (at is None or fact["observed_at"] <= at)
        and (at_ingested is None or fact["recorded_at"] <= at_ingested)
    ]
    newest: dict[str, tuple[str, str, str]] = {}
    for fact in seen:
        if fact["kind"] in ("create", "delete", "restore"):
            turn = (fact["observed_at"], fact["id"], fact["kind"])
            newest[fact["subject_id"]] = max(turn, newest.get(fact["subject_id"], turn))
    live = {node for node in nodes if newest.get(node, ("", "", ""))[2] != "delete"}
    live_keys = [
        subject_id for subject_id, turn in newest.items() if ":" in subject_id and turn[2] != "delete"
    ]
    return [(key, *key.split(":")) for key in live_keys], live  # type: ignore[misc]


def test_a_neighbourhood_as_of_a_time_has_the_parts_that_are_asked_for(run: Call) -> None:
    thing = {"entity_type": "thing", "name": "a", "made_date": "2026-01-31"}
    as_of = {"node_id": run("store", entities=[thing])["entities"][0]["entity_id"], "at": "2100-01-01"}
    answer = run("graph.neighborhood", **as_of)
    assert (len(answer["events"]), answer["sources"]) == (1, [])
    smaller = run("graph.neighborhood", **as_of, include_sources=False, include_events=False)
    assert smaller == {name: part for name, part in answer.items() if name not in ("events", "sources")}
