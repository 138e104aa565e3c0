"""Reading entities: pages, single ones, snapshots as of a time, provenance, look-up."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput, NotFound, UnknownField
from graphmem.registry import REGISTRY
from tests.support.faces import Call
from tests.support.walks import walk_over

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "Ada@Example.org", "born": 1815}
NOBODY = "ent_" + "0" * 24


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def people(count: int) -> list[dict[str, Any]]:
    return [{"entity_type": "person", "name": f"p{i}"} for i in range(count)]


@pytest.fixture
def ada(run: Call) -> str:
    return ids(run("store", entities=[ADA]))[0]


# Pages


def test_pages_tile_without_a_gap_or_a_double(run: Call) -> None:
    person_ids = ids(run("store", entities=people(7)))
    for size in (1, 2, 3, 7, 500):
        pages = [
            run("entities.query", entity_type="person", limit=size, offset=offset, include_total_count=True)
            for offset in range(0, 7, size)
        ]
        assert [entity["entity_id"] for page in pages for entity in page["entities"]] == sorted(person_ids)
        assert {page["total"] for page in pages} == {7}
    past = run("entities.query", offset=7, include_total_count=True)
    assert (past["entities"], past["total"]) == ([], 7)
    assert run("entities.query", offset=100_000)["entities"] == []


@walk_over(
    "name", [o.name for o in REGISTRY.values() if {"offset", "cursor"} <= set(o.arguments.model_fields)]
)
def test_an_offset_beyond_the_limit_is_refused_and_names_the_cursor(run: Call, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(name, **{**REGISTRY[name].example, "offset": 100_001})
    (issue,) = refused.value.details["issues"]
    assert issue["path"] == "$.offset"
    assert "next_cursor" in issue["message"]


def test_a_total_is_answered_only_where_it_was_asked_for(run: Call, ada: str) -> None:
    assert "total" not in run("entities.query")


def test_entities_of_a_type_are_listed_in_any_spelling_of_it(run: Call) -> None:
    (person, task) = ids(run("store", entities=[ADA, {"entity_type": "task", "title": "t"}]))
    for spelled in ("person", "people", "Persons", " PERSON "):
        page = run("entities.query", filters={"entity_type": spelled}, include_total_count=True)
        assert (ids(page), page["total"]) == ([person], 1)
    both = run("entities.query", filters={"entity_types": ["people", "task"]}, include_total_count=True)
    assert (ids(both), both["total"]) == (sorted([person, task]), 2)
    assert ids(run("entities.query", filters={"entity_type": "invoice"})) == []


def test_entities_are_listed_by_type_under_its_short_name(call: Call) -> None:
    (person, _) = ids(call("store", entities=[ADA, {"entity_type": "task", "title": "t"}]))
    assert ids(call("entities.query", type="person")) == [person]


def test_filters_stand_inside_or_beside(run: Call, ada: str) -> None:
    run("store", entities=[{"entity_type": "task", "title": "t"}])
    inside = run("entities.query", filters={"entity_type": "person"})
    assert inside == run("entities.query", entity_type="person") == run(
        "entities.query", entity_type="person", filters={"entity_type": "person"}
    )  # fmt: skip
    assert ids(inside) == [ada]
    with pytest.raises(InvalidInput, match="given twice"):
        run("entities.query", entity_type="person", filters={"entity_type": "task"})


def test_a_page_may_leave_out_the_snapshots(run: Call) -> None:
    run("store", entities=[ADA])
    (entity,) = run("entities.query", include_snapshots=False)["entities"]
    assert not {"snapshot", "provenance"} & set(entity)
    assert (entity["version"], entity["canonical_name"]) == (1, "Ada Lovelace")


@walk_over("name", ["entities.query", "observations.query", "schemas.list"])
@walk_over("argument, value", [
        ("limit", 0), ("limit", 501), ("limit", -1), ("limit", "x"), ("limit", True),
        ("limit", 1.5), ("limit", 10**400), ("limit", []), ("offset", -1), ("offset", 10**10),
        ("include_total_count", "perhaps"), ("include_total_count", 2),
    ])  # fmt: skip
def test_a_page_out_of_bounds_is_refused(run: Call, name: str, argument: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(name, **{argument: value})
    assert [issue["path"] for issue in refused.value.details["issues"]] == [f"$.{argument}"]


def test_the_largest_page_is_500(call: Call) -> None:
    assert call("entities.query", limit=500)["limit"] == 500
    with pytest.raises(InvalidInput):
        call("entities.query", limit=501)


@pytest.mark.parametrize(
    "filters", ["x", [], {"entity_type": 7}, {"entity_type": "9"}, {"entity_type": None, "x": 1}]
)
def test_filters_that_do_not_fit_are_refused(run: Call, filters: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.query", filters=filters)
    assert all(issue["path"].startswith("$.filters") for issue in refused.value.details["issues"])


def test_an_unknown_argument_is_refused_with_those_that_are_known(run: Call) -> None:
    with pytest.raises(UnknownField) as refused:
        run("entities.query", filters={"entity_tpye": "person"}, lmit=1)
    details = refused.value.details
    assert set(details["unknown_fields"]) == {"entity_tpye", "lmit"}
    assert set(details["json_paths"]) == {"$.filters.entity_tpye", "$.lmit"}
    assert {"entity_type", "limit", "filters"} <= set(details["allowed_fields"])


# Single ones, and their past


def test_what_is_not_there_is_404_and_says_what_was_asked_for(call: Call) -> None:
    for name, arguments in (
        ("entities.get", {}),
        ("entities.snapshot", {}),
        ("entities.snapshot", {"at": "2026-01-01"}),
        ("entities.provenance", {"field": "x"}),
        ("relationships.list", {}),
        ("entities.related", {}),
    ):
        with pytest.raises(NotFound) as missing:
            call(name, entity_id=NOBODY, **arguments)
        assert missing.value.details == {"entity_id": NOBODY}


def test_every_answer_about_an_entity_carries_its_version(run: Call, ada: str) -> None:
    store_answer = run("store", entities=[{**ADA, "born": 1816}])
    answers = [
        store_answer["entities"][0],
        run("entities.get", entity_id=ada),
        run("entities.snapshot", entity_id=ada),
        run("entities.snapshot", entity_id=ada, at="9999-12-31"),
        run("entities.provenance", entity_id=ada, field="born"),
        run("entities.query")["entities"][0],
        run("entities.find", identifier="Ada Lovelace")["entities"][0],
    ]
    assert [answer["version"] for answer in answers] == [2] * len(answers)
    assert run("observations.create", entity_id=ada, fields={"x": 1})["version"] == 3


@pytest.mark.parametrize("name", ["relationships.list", "entities.related", "observations.query"])
def test_lists_about_one_entity_carry_its_version_too(run: Call, ada: str, name: str) -> None:
    assert run(name, entity_id=ada)["version"] == 1


def test_at_is_when_it_was_so_and_at_ingested_when_it_was_known(run: Call) -> None:
    def store_mood(mood: str, at: str) -> dict[str, Any]:
        return run("store", entities=[{**ADA, "mood": mood}], observed_at=at)

    def snapshot(**when: str) -> dict[str, Any]:
        return run("entities.snapshot", entity_id=entity_id, **when)

    first = store_mood("calm", "2026-01-01")
    (entity_id,) = ids(first)
    known = store_mood("angry", "2026-03-01")["recorded_at"]
    before = snapshot(at="2026-02-15", at_ingested=known)
    store_mood("bored", "2026-02-01")  # A backfill: it was so before, and is known only now.
    assert snapshot()["snapshot"]["mood"] == "angry"
    assert snapshot(at="2026-02-15")["snapshot"]["mood"] == "bored"
    assert snapshot(at="2026-02-15", at_ingested=known) == before
    assert before["snapshot"]["mood"] == "calm"
    assert snapshot(at_ingested=first["recorded_at"])["snapshot"]["mood"] == "calm"
    versions = {
        "now": snapshot()["version"],
        "known": snapshot(at_ingested=known)["version"],
        "first": snapshot(at_ingested=first["recorded_at"])["version"],
    }
    assert versions == {"now": 3, "known": 2, "first": 1}


@pytest.mark.parametrize(
    ("at", "seen"),
    [
        ("2026-01-01T00:00:00Z", True),
        ("2025-12-31T23:59:59.999999Z", False),
        ("2026-01-01T01:00:00+01:00", True),
        ("2026-01-01", True),
        ("0001-01-01", False),
        ("9999-12-31T23:59:59.999999Z", True),
    ],
)
def test_a_snapshot_as_of_a_time_has_what_was_observed_up_to_it(run: Call, at: str, seen: bool) -> None:
    (entity_id,) = ids(run("store", entities=[ADA], observed_at="2026-01-01"))
    answer = run("entities.snapshot", entity_id=entity_id, at=at)
    assert (bool(answer["snapshot"]), answer["observation_count"], answer["version"]) == (seen, seen, seen)


def test_the_past_has_the_name_of_its_time(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[{**ADA, "observed_at": "2020-01-01"}]))
    run("store", entities=[{"target_id": entity_id, "name": "Countess of Lovelace"}])
    assert run("entities.get", entity_id=entity_id)["canonical_name"] == "Countess of Lovelace"
    past = run("entities.snapshot", entity_id=entity_id, at="2021-01-01")
    assert past["canonical_name"] == "Ada Lovelace"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_time_before_an_entity_has_its_name_of_now_also_under_a_new_schema(
    run: Call, is_deleted: bool
) -> None:
    item = {"entity_type": "vessel", "name": "Old", "title": "New", "observed_at": "2020-01-01"}
    (entity_id,) = ids(run("store", entities=[item]))
    if is_deleted:
        run("entities.delete", entity_id=entity_id)
    fields = {"title": {"type": "string"}}
    run("schemas.register", schema={"entity_type": "vessel", "fields": fields, "hidden_fields": ["name"]})
    asked = {"entity_id": entity_id, "include_deleted": True}
    # Nobody has read it under the new schema yet.
    past = run("entities.snapshot", **asked, at="2019-01-01")
    assert (past["canonical_name"], past["snapshot"]) == ("New", {})
    assert run("entities.get", **asked)["canonical_name"] == "New"


@pytest.mark.parametrize(
    "at", ["", "yesterday", 7, True, [], "2026-13-01", "2026-02-30", "0000-01-01", "10000-01-01"]
)
@pytest.mark.parametrize("clock", ["at", "at_ingested"])
def test_a_time_that_is_none_is_refused(run: Call, ada: str, clock: str, at: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.snapshot", entity_id=ada, **{clock: at})
    assert [issue["path"] for issue in refused.value.details["issues"]] == [f"$.{clock}"]


def test_a_snapshot_may_carry_the_observations_behind_it(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    run("store", entities=[{**ADA, "born": 1816}])
    answer = run("entities.snapshot", entity_id=entity_id, expand_provenance=True)
    observations = answer["provenance_observations"]
    assert set(observations) == set(answer["provenance"].values())
    for field, winner in answer["provenance"].items():
        assert observations[winner]["fields"][field] == answer["snapshot"][field]


# Provenance


def test_provenance_is_the_observation_that_set_the_field(run: Call) -> None:
    first = run("store", entities=[ADA], observation_source="human", source_priority=7)
    (entity_id,) = ids(first)
    run("store", entities=[{"target_id": entity_id, "other": 1}])
    answer = run("entities.provenance", entity_id=entity_id, field="born")
    assert (answer["value"], answer["version"]) == (1815, 2)
    assert answer["observation_ids"] == [first["entities"][0]["observation_id"]]
    (observation,) = answer["observations"]
    assert (observation["observation_source"], observation["source_priority"]) == ("human", 7)
    assert (observation["transaction_id"], observation["fields"]["born"]) == (first["transaction_id"], 1815)
    writer = observation["provenance"]
    assert (writer["agent"], writer["client"], writer["by"]["method"]) == ("anonymous", "test", "none")


def test_an_unknown_field_is_404_and_lists_those_that_are_there(call: Call) -> None:
    (entity_id,) = ids(call("store", entities=[ADA]))
    with pytest.raises(NotFound) as missing:
        call("entities.provenance", entity_id=entity_id, field="brn")
    assert missing.value.details["fields"] == ["born", "email", "name"]


def test_a_field_cleared_by_null_has_no_provenance(run: Call, ada: str) -> None:
    run("store", entities=[{**ADA, "born": None}])
    with pytest.raises(NotFound) as missing:
        run("entities.provenance", entity_id=ada, field="born")
    assert missing.value.details["fields"] == ["email", "name"]


def test_the_provenance_of_the_past_is_that_of_its_time(run: Call) -> None:
    old = run("store", entities=[{**ADA, "observed_at": "2020-01-01"}])
    run("store", entities=[{**ADA, "born": 1816}])
    answer = run("entities.provenance", entity_id=ids(old)[0], field="born", at="2021-01-01")
    assert (answer["value"], answer["version"]) == (1815, 1)
    assert answer["observation_ids"] == [old["entities"][0]["observation_id"]]


def test_the_history_of_a_field_is_what_was_said_of_it_newest_first(call: Call) -> None:
    person = {"entity_type": "person", "name": "Ines Sorel"}
    said = [{"address": "Kiel"}, {"phone": "+44 1632 960000"}, {"address": "Bremen"}]
    items = [
        {**person, **fields, "observed_at": f"{year}-05-01T00:00:00Z"}
        for year, fields in enumerate(said, 2021)
    ]
    entity_id = call("store", entities=items)["entities"][0]["entity_id"]
    whole = call("observations.query", entity_id=entity_id)["observations"]
    of_field = {"filters": {"entity_id": entity_id, "field": "address"}, "include_total_count": True}
    page = call("observations.query", **of_field)
    assert [each["fields"]["address"] for each in page["observations"]] == ["Bremen", "Kiel"]
    assert (len(whole), page["total"]) == (3, 2)
    with pytest.raises(InvalidInput) as refused:
        call("observations.query", filters={"field": "address"})
    assert refused.value.details["issues"][0]["path"] == "$.filters.field"


def test_a_history_is_the_list_of_observations(run: Call) -> None:
    entity_id = run("store", entities=[{"entity_type": "note", "title": "x", "mood": "a"}])["entities"][0][
        "entity_id"
    ]
    for mood in ("b", "c"):
        run("observations.create", entity_id=entity_id, fields={"mood": mood})
    run("observations.create", entity_id=entity_id, fields={"page": 1})
    history = run("entities.history", entity_id=entity_id, field="mood", limit=2)
    listed = run("observations.query", entity_id=entity_id, field="mood", limit=2)
    assert history["observations"] == listed["observations"]
    assert [each["fields"]["mood"] for each in history["observations"]] == ["c", "b"]
    rest = run("entities.history", entity_id=entity_id, field="mood", limit=2, cursor=history["next_cursor"])
    assert [each["fields"]["mood"] for each in rest["observations"]] == ["a"]
    assert len(run("entities.history", entity_id=entity_id)["observations"]) == 4
