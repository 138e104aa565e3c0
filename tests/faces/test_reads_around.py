"""Reading what is around entities: relationships, what they reach, observations, counts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphmem.errors import InvalidInput, NotFound, StoreRefused
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
NOBODY = "ent_" + "0" * 24
AT = "2026-01-31T09:00:00Z"


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def edge(kind: str, source: int, target: int, **metadata: Any) -> dict[str, Any]:
    ends = {"source_index": source, "target_index": target}
    return {"relationship_type": kind, **ends, "metadata": metadata}


def chain(run: Call, *edges: tuple[str, int, int]) -> list[str]:
    """Store as many things as the relationships need; return their ids."""
    count = max(max(source, target) for _, source, target in edges) + 1
    things = [{"entity_type": "thing", "name": f"t{i}"} for i in range(count)]
    return ids(run("store", entities=things, relationships=[edge(*ends) for ends in edges]))


# Relationships


def test_relationships_are_listed_in_both_directions(run: Call) -> None:
    a, b, c = chain(run, ("OWNS", 0, 1), ("MANAGES", 2, 0), ("OWNS", 1, 2))
    page = run("relationships.list", entity_id=a, include_total_count=True)
    assert [relationship["target_entity_id"] for relationship in page["outgoing"]] == [b]
    assert [relationship["source_entity_id"] for relationship in page["incoming"]] == [c]
    assert sorted(page["relationships"], key=str) == sorted(page["outgoing"] + page["incoming"], key=str)
    assert page["total"] == 2
    assert "related_entities" not in page


def test_the_entities_at_the_other_ends_may_come_along(run: Call) -> None:
    a, b, c = chain(run, ("OWNS", 0, 1), ("MANAGES", 2, 0), ("MANAGES", 0, 1))
    page = run("relationships.list", entity_id=a, expand_entities=True)
    assert sorted(entity["entity_id"] for entity in page["related_entities"]) == sorted([b, c])
    assert {entity["snapshot"]["name"] for entity in page["related_entities"]} == {"t1", "t2"}


def test_pages_of_relationships_tile_newest_first(run: Call) -> None:
    hub, *_ = chain(run, ("OWNS", 0, 1))
    for i in range(2, 7):
        item = {"entity_type": "thing", "name": f"t{i}"}
        link = {"relationship_type": "OWNS", "source_index": 0, "target_entity_id": hub}
        run("store", entities=[item], relationships=[link])
    whole = run("relationships.list", entity_id=hub)["relationships"]
    times = [relationship["last_observation_at"] for relationship in whole]
    assert (len(whole), times) == (6, sorted(times, reverse=True))
    pages = [
        run("relationships.list", entity_id=hub, limit=2, offset=i)["relationships"] for i in (0, 2, 4, 6)
    ]
    assert [relationship for page in pages for relationship in page] == whole


def test_an_entity_without_relationships_has_an_empty_page(run: Call) -> None:
    (ada,) = ids(run("store", entities=[ADA]))
    page = run("relationships.list", entity_id=ada, include_total_count=True, expand_entities=True)
    assert (page["relationships"], page["total"], page["related_entities"]) == ([], 0, [])


# What can be reached


@pytest.mark.parametrize(
    ("arguments", "reached"),
    [
        ({}, {1: 1, 4: 1}),
        ({"depth": 2}, {1: 1, 4: 1, 2: 2}),
        ({"max_hops": 2}, {1: 1, 4: 1, 2: 2}),
        ({"depth": 3}, {1: 1, 4: 1, 2: 2, 3: 3}),
        ({"depth": 5}, {1: 1, 4: 1, 2: 2, 3: 3}),
        ({"depth": 3, "direction": "outgoing"}, {1: 1, 2: 2, 3: 3}),
        ({"depth": 3, "direction": "incoming"}, {4: 1}),
        ({"depth": 3, "relationship_types": ["OWNS"]}, {1: 1, 2: 2}),
        ({"depth": 3, "relationship_types": ["owns", "part-of"]}, {1: 1, 2: 2, 3: 3}),
        ({"relationship_types": ["SETTLES"]}, {}),
    ],
)
def test_a_walk_reaches_what_its_arguments_allow(
    run: Call, arguments: dict[str, Any], reached: dict[int, int]
) -> None:
    things = chain(run, ("OWNS", 0, 1), ("OWNS", 1, 2), ("PART_OF", 2, 3), ("MANAGES", 4, 0))
    answer = run("entities.related", entity_id=things[0], **arguments)
    assert {entity["entity_id"]: entity["depth"] for entity in answer["entities"]} == {
        things[i]: depth for i, depth in reached.items()
    }
    assert (answer["total"], answer["truncated"], answer["hubs"]) == (len(reached), False, [])
    depths = [entity["depth"] for entity in answer["entities"]]
    assert depths == sorted(depths)


def test_a_walk_goes_round_a_cycle_once_and_leaves_out_its_origin(run: Call) -> None:
    things = chain(run, ("OWNS", 0, 1), ("OWNS", 1, 2), ("OWNS", 2, 0), ("MANAGES", 1, 0))
    answer = run("entities.related", entity_id=things[0], depth=5)
    assert sorted(ids(answer)) == sorted(things[1:])
    keys = [relationship["relationship_key"] for relationship in answer["relationships"]]
    assert len(keys) == len(set(keys)) == 4


def test_a_limit_cuts_a_walk_and_says_so(run: Call) -> None:
    things = chain(run, *[("OWNS", 0, i) for i in range(1, 6)])
    answer = run("entities.related", entity_id=things[0], limit=3)
    assert (len(answer["entities"]), answer["total"], answer["truncated"]) == (3, 5, True)
    named = {things[0], *ids(answer)}
    assert all(
        {relationship["source_entity_id"], relationship["target_entity_id"]} <= named
        for relationship in answer["relationships"]
    )
    whole = run("entities.related", entity_id=things[0], limit=5)
    assert (len(whole["entities"]), whole["truncated"]) == (5, False)


def test_a_walk_may_leave_out_the_entities(run: Call) -> None:
    things = chain(run, ("OWNS", 0, 1))
    answer = run("entities.related", entity_id=things[0], include_entities=False)
    assert ("entities" in answer, answer["total"], len(answer["relationships"])) == (False, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"depth": 0}, "$.depth"),
        ({"depth": 6}, "$.depth"),
        ({"depth": True}, "$.depth"),
        ({"max_hops": 9}, "$.depth"),
        ({"direction": "up"}, "$.direction"),
        ({"relationship_types": ["SMELLS_OF"]}, "$.relationship_types[0]"),
        ({"relationship_types": "OWNS"}, "$.relationship_types"),
        ({"depth": 1, "max_hops": 2}, "$.max_hops"),
        ({"entity_id": ""}, "$.entity_id"),
        ({"entity_id": 7}, "$.entity_id"),
    ],
)
def test_a_walk_that_is_asked_for_wrongly_is_refused(run: Call, arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.related", **{"entity_id": NOBODY, **arguments})
    assert path in [issue["path"] for issue in refused.value.details["issues"]]


# Observations


@pytest.fixture
def world(run: Call) -> dict[str, Any]:
    """Two entities with observations at some times; the second of Ada's shares its time with the task's."""
    answers = [
        run("store", entities=[{**ADA, "n": 1}], observed_at="2026-01-01"),
        run(
            "store",
            entities=[{**ADA, "n": 2}, {"entity_type": "task", "title": "t"}],
            observed_at="2026-01-02",
        ),
        run("store", entities=[{**ADA, "n": 3}], observed_at="2025-01-01"),
    ]
    observation_ids = [item["observation_id"] for answer in answers for item in answer["entities"]]
    ada, task = ids(answers[1])
    return {
        "ada": ada,
        "task": task,
        "observations": observation_ids,
        "recorded": [answer["recorded_at"] for answer in answers],
    }


def listed(page: dict[str, Any], world: dict[str, Any]) -> list[int]:
    return [world["observations"].index(observation["id"]) for observation in page["observations"]]


def test_observations_are_listed_newest_first_and_counted(run: Call, world: dict[str, Any]) -> None:
    def query(**filters: Any) -> tuple[list[int], int]:
        page = run("observations.query", filters=filters, include_total_count=True)
        return listed(page, world), page["total"]

    newest = sorted((1, 2), key=lambda i: world["observations"][i], reverse=True)
    assert query() == ([*newest, 0, 3], 4)
    assert query(entity_id=world["ada"]) == ([1, 0, 3], 3)
    assert query(entity_type="people") == ([1, 0, 3], 3)
    assert query(entity_type="task") == ([2], 1)
    assert query(entity_type="invoice") == ([], 0)
    assert query(observation_id=world["observations"][3]) == ([3], 1)
    assert query(observation_id="obs_0") == ([], 0)


def test_observations_are_narrowed_by_their_times(run: Call, world: dict[str, Any]) -> None:
    assert listed(run("observations.query", observed_until="2026-01-01", entity_id=world["ada"]), world) == [
        0,
        3,
    ]
    since = world["recorded"][2]
    assert listed(run("observations.query", created_since=since), world) == [3]
    assert listed(run("observations.query", updated_since=since, entity_type="person"), world) == [3]
    assert listed(run("observations.query", source_id="src_none"), world) == []


@pytest.mark.parametrize("limit", [1, 100])
def test_observations_that_are_narrowed_by_a_time_are_counted(
    run: Call, world: dict[str, Any], limit: int
) -> None:
    def total(**filters: Any) -> int:
        return run("observations.query", filters=filters, limit=limit, include_total_count=True)["total"]

    since = world["recorded"][1]
    assert total(observed_until="2026-01-01") == 2
    assert total(observed_until="2026-01-02", entity_type="task") == 1
    assert total(created_since=since) == 3
    assert total(created_since=since, entity_type="person") == 2
    assert total(created_since=since, observed_until="2026-01-01") == 1
    assert total(created_since=since, entity_id=world["ada"]) == 2
    assert total(observed_until="2026-01-01", entity_id=world["ada"]) == 2
    assert total(observed_until="2026-01-01", entity_id=world["ada"], entity_type="task") == 0
    run("entities.delete", entity_id=world["task"])
    assert total(created_since=since) == 2


def test_observations_until_a_date_have_those_of_that_whole_day(run: Call) -> None:
    for hour in ("2026-01-30T12:00:00Z", "2026-01-31", "2026-01-31T23:59:59.999999Z", "2026-02-01"):
        run("store", entities=[{**ADA, "at": hour}], observed_at=hour)

    def until(time: str) -> list[str]:
        page = run("observations.query", observed_until=time, include_total_count=True)
        assert page["total"] == len(page["observations"])
        return [observation["observed_at"][5:16] for observation in reversed(page["observations"])]

    assert until("2026-01-31") == ["01-30T12:00", "01-31T00:00", "01-31T23:59"]
    assert until("2026-01-31T00:00:00Z") == ["01-30T12:00", "01-31T00:00"]


@pytest.mark.parametrize("filters", [
    {}, {"entity_type": "person"}, {"entity_id": "$ada"}, {"created_since": "2020-01-01"},
    {"entity_id": "$ada", "created_since": "2020-01-01"},
])  # fmt: skip
def test_observations_are_narrowed_to_a_range_of_days(run: Call, filters: dict[str, str]) -> None:
    days = ["2026-01-29T23:59:59Z", "2026-01-30", "2026-01-31T12:00:00Z", "2026-02-01"]
    stored = [ids(run("store", entities=[{**ADA, "at": day}], observed_at=day)) for day in days]
    (ada,) = stored[0]
    named = {name: value.replace("$ada", ada) for name, value in filters.items()}
    range_ = {**named, "observed_since": "2026-01-30", "observed_until": "2026-01-31"}
    page = run("observations.query", filters=range_, limit=1, include_total_count=True)
    rest = run("observations.query", filters=range_, limit=1, cursor=page["next_cursor"])
    assert page["total"] == 2
    assert "next_cursor" not in rest
    listed_days = [each["observed_at"] for each in (*page["observations"], *rest["observations"])]
    assert listed_days == ["2026-01-31T12:00:00.000000Z", "2026-01-30T00:00:00.000000Z"]
    (newest,) = page["observations"]
    for since, count in (("2026-01-31", 1), ("2026-02-01", 0)):
        one = {"observation_id": newest["id"], "observed_since": since}
        assert len(run("observations.query", filters=one)["observations"]) == count


def test_pages_of_observations_tile(run: Call, world: dict[str, Any]) -> None:
    for filters in ({}, {"entity_id": world["ada"]}, {"entity_type": "person"}):
        whole = listed(run("observations.query", filters=filters), world)
        pages = [run("observations.query", filters=filters, limit=1, offset=i) for i in range(5)]
        assert [i for page in pages for i in listed(page, world)] == whole


@pytest.mark.parametrize("other", [{"entity_id": "task"}, {"entity_type": "task"}])
def test_all_filters_hold_together(run: Call, world: dict[str, Any], other: dict[str, str]) -> None:
    filters = {
        name: world.get(value, value) if name == "entity_id" else value for name, value in other.items()
    }
    page = run("observations.query", filters={"observation_id": world["observations"][0], **filters})
    assert listed(page, world) == []


def test_an_entity_of_another_type_has_no_observations_of_that_type(run: Call, world: dict[str, Any]) -> None:
    page = run("observations.query", filters={"entity_id": world["ada"], "entity_type": "task"})
    assert listed(page, world) == []


def test_an_observation_tells_who_said_it_and_when(run: Call) -> None:
    answer = run(
        "store", entities=[{**ADA, "specificity_score": 0.5}], observed_at=AT, source_priority=7,
        observation_source="human", idempotency_key="k",
    )  # fmt: skip
    (entity_id,) = ids(answer)
    (observation,) = run("observations.query", filters={"entity_id": entity_id})["observations"]
    assert observation == {
        "id": answer["entities"][0]["observation_id"],
        "entity_id": entity_id,
        "entity_type": "person",
        "kind": "value",
        "observed_at": "2026-01-31T09:00:00.000000Z",
        "recorded_at": answer["recorded_at"],
        "created_at": answer["recorded_at"],
        "fields": {"name": "Ada Lovelace", "email": "ada@example.org"},
        "source_priority": 7.0,
        "specificity_score": 0.5,
        "observation_source": "human",
        "source_id": None,
        "interpretation_id": None,
        "schema_version": None,
        "identity_basis": "email",
        "transaction_id": answer["transaction_id"],
        "idempotency_key": "k",
        "provenance": observation["provenance"],
    }


def test_an_observation_is_added_by_id(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    made = run("observations.create", entity_id=entity_id, fields={"x": 1, "email": None})
    assert (made["entity_id"], made["entity_type"], made["version"]) == (entity_id, "person", 2)
    assert (made["snapshot"], made["replayed"]) == ({"name": "Ada Lovelace", "x": 1}, False)
    assert [warning["code"] for warning in made["store_warnings"]] == ["NULL_CLEARED_FIELD"]


@pytest.mark.parametrize("identifier", ["ada@EXAMPLE.org", "ada lovelace"])
def test_an_observation_is_added_by_what_names_the_entity(run: Call, identifier: str) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    made = run("observations.create", entity_type="people", entity_identifier=identifier, fields={"x": 1})
    assert made["entity_id"] == entity_id


def test_an_observation_of_nobody_is_404(call: Call) -> None:
    call("store", entities=[ADA])
    with pytest.raises(NotFound) as missing:
        call("observations.create", entity_id=NOBODY, fields={"x": 1})
    assert missing.value.details == {"entity_id": NOBODY}
    with pytest.raises(NotFound) as missing:
        call("observations.create", entity_type="person", entity_identifier="Ada", fields={"x": 1})
    assert missing.value.details == {"entity_type": "person", "entity_identifier": "Ada"}
    assert call("server.stats")["total_observations"] == 1


def test_an_observation_of_one_of_several_is_refused_with_the_candidates(run: Call) -> None:
    answer = run("store", entities=[{**ADA, "intent": "create_new"}] * 2)
    with pytest.raises(InvalidInput) as refused:
        run("observations.create", entity_type="person", entity_identifier="Ada Lovelace", fields={"x": 1})
    (issue,) = refused.value.details["issues"]
    assert (issue["path"], set(issue["candidates"])) == ("$.entity_identifier", set(ids(answer)))


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "$.entity_id"),
        ({"entity_identifier": "Ada Lovelace"}, "$.entity_id"),
        ({"entity_type": "person"}, "$.entity_id"),
        ({"entity_id": "nope"}, "$.entity_id"),
        ({"entity_id": "the entity", "fields": {}}, "$.fields"),
        ({"entity_id": "the entity", "fields": {"": 1}}, "$.fields."),
        ({"entity_id": "the entity", "fields": []}, "$.fields"),
        ({"entity_id": "the entity", "fields": {"a": [float("nan")]}}, "$.fields.a[0]"),
        ({"entity_id": "the entity", "entity_type": "task"}, "$.entity_type"),
        ({"entity_id": "the entity", "observed_at": "2999-01-01"}, "$.observed_at"),
    ],
)
def test_an_observation_that_does_not_fit_is_refused_with_its_place(
    run: Call, arguments: dict[str, Any], path: str
) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    if arguments.get("entity_id") == "the entity":
        arguments = {**arguments, "entity_id": entity_id}
    with pytest.raises(InvalidInput) as refused:
        run("observations.create", **{"fields": {"x": 1}, **arguments})
    assert [issue["path"] for issue in refused.value.details["issues"]] == [path]


def test_an_observation_with_a_key_is_stored_once(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    request = {"entity_id": entity_id, "fields": {"x": 1}, "idempotency_key": "k"}
    first = run("observations.create", **request)
    again = run("observations.create", **request)
    assert again == {**first, "replayed": True}
    assert run("server.stats")["total_observations"] == 2


# Counts


def test_the_counts_are_those_of_what_was_stored(run: Call) -> None:
    assert run("server.stats")["last_updated"] is None
    a, _, _ = chain(run, ("OWNS", 0, 1), ("MANAGES", 2, 0))
    last = run("store", entities=[ADA, {"target_id": a, "x": 1}])["recorded_at"]
    stats = run("server.stats")
    assert re.fullmatch("[0-9a-f]{64}", stats.pop("state_hash"))
    assert stats.pop("types_pending") == []
    assert stats == {
        "total_entities": 4,
        "total_observations": 5,
        "total_relationships": 2,
        "total_events": 0,
        "total_interpretations": 0,
        "sources_count": 0,
        "semantic_pending": 0,
        "search_pending": 0,
        "entities_by_type": {"person": 1, "thing": 3},
        "observations_by_type": {"person": 1, "thing": 4},
        "relationships_by_type": {"MANAGES": 1, "OWNS": 1},
        "sequence": 2,
        "last_updated": last,
        "writers": [{**stats["writers"][0], "client": "test", "transactions": 2}],
    }


def test_a_refused_observation_raises_the_error_of_a_store(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    with pytest.raises(StoreRefused):
        run("observations.create", entity_id=entity_id, fields={"a": "\ud800"})
