"""What a store warns of: namesakes, fields that a correction holds, names that may be misspelled."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput, NotFound, StoreRefused
from tests.faces.conftest import Together
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.net"}
ADA_BY_EMAIL = {**ADA, "email": "ada@example.org"}
MEETING = {"entity_type": "event", "title": "Kick-off"}


def store(run: Call, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return run("store", entities=list(items), **more)


def warned(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the code of each warning with the namesake, the field or the type that it names."""
    warnings = answer["store_warnings"]
    return [(each["code"], each.get("target_id") or each.get("field")) for each in warnings]


def only_id(answer: dict[str, Any]) -> str:
    (entity,) = answer["entities"]
    return entity["entity_id"]


# Namesakes


def test_a_new_entity_with_the_name_of_a_live_one_names_the_id_that_joins_them(call: Call) -> None:
    first = call("store", entities=[ADA_BY_EMAIL])
    assert first["store_warnings"] == []
    second = call("store", entities=[ADA])
    (warning,) = second["store_warnings"]
    assert (warning["code"], warning["index"]) == ("SAME_NAME", 0)
    assert (warning["entity_id"], warning["target_id"]) == (only_id(second), only_id(first))
    joined = call("store", entities=[{"target_id": warning["target_id"], "city": "London"}])
    assert (only_id(joined), joined["store_warnings"]) == (only_id(first), [])


def test_a_repeat_and_an_entity_that_is_known_have_no_namesake(run: Call) -> None:
    store(run, ADA_BY_EMAIL)
    assert warned(store(run, {**ADA_BY_EMAIL, "city": "London"})) == []
    store(run, ADA)
    assert warned(store(run, {**ADA, "city": "London"})) == []


def test_a_replay_warns_of_the_same_namesake(run: Call) -> None:
    store(run, ADA_BY_EMAIL)
    first = store(run, ADA, idempotency_key="k")
    run("entities.delete", entity_id=first["store_warnings"][0]["target_id"])
    again = store(run, ADA, idempotency_key="k")
    assert again["replayed"]
    assert again["store_warnings"] == first["store_warnings"]


def test_a_plan_warns_of_namesakes_too(run: Call) -> None:
    first = store(run, ADA_BY_EMAIL)
    assert warned(store(run, ADA, commit=False)) == [("SAME_NAME", only_id(first))]


def test_namesakes_of_one_request_are_told(run: Call) -> None:
    answer = store(run, ADA_BY_EMAIL, ADA, ADA)
    (warning,) = answer["store_warnings"]
    ids = [entity["entity_id"] for entity in answer["entities"]]
    assert (warning["index"], warning["target_id"]) == (1, ids[0])
    assert ids[1] == ids[2]


def test_namesakes_of_one_turn_are_told(together: Together) -> None:
    requests = [{"entities": [{**ADA, "email": f"ada{number}@example.org"}]} for number in range(4)]
    answers = together("store", requests)
    ids = [only_id(answer) for answer in answers]
    warnings = [warned(answer) for answer in answers]
    assert sum(not each for each in warnings) == 1
    assert {target for each in warnings for _, target in each} <= set(ids)


@pytest.mark.parametrize(
    "twin",
    [
        {**ADA, "entity_type": "project"},
        {**ADA, "intent": "create_new"},
        {**ADA, "name": "Ada King"},
    ],
    ids=["another type", "create_new", "another name"],
)
def test_another_type_or_name_or_an_intended_twin_is_not_warned_of(run: Call, twin: dict[str, Any]) -> None:
    store(run, ADA_BY_EMAIL)
    assert warned(store(run, twin)) == []


def test_deleted_merged_and_renamed_entities_are_no_namesakes(run: Call) -> None:
    deleted = only_id(store(run, ADA_BY_EMAIL))
    run("entities.delete", entity_id=deleted)
    other = only_id(store(run, {"entity_type": "person", "name": "Augusta", "email": "augusta@example.org"}))
    merged = only_id(store(run, {**ADA, "email": "ada2@example.org"}))
    run("entities.merge", source_entity_id=merged, target_entity_id=other)
    run("entities.correct", entity_id=other, field="name", value="Augusta")
    renamed = only_id(store(run, {**ADA, "email": "ada3@example.org"}))
    run("entities.correct", entity_id=renamed, field="name", value="Ada King")
    assert warned(store(run, ADA)) == []


def test_a_note_with_a_title_that_exists_is_proposed(run: Call) -> None:
    first = store(run, {"entity_type": "note", "title": "Ideas", "text": "one"})
    second = store(run, {"entity_type": "note", "title": " ideas", "text": "two"})
    assert ("SAME_NAME", only_id(first)) in warned(second)


# Events of one name


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("2026-03-02T10:00:00Z", "2026-03-03T10:00:00Z", "SAME_NAME_NEAR_DATE"),
        ("2026-03-02", "2026-03-02T10:00:00Z", "SAME_NAME_NEAR_DATE"),
        ("2026-03-02T10:00:00Z", "next week", "SAME_NAME"),
        ("2026-03-02T10:00:00Z", "2026-03-09T10:00:00Z", None),
    ],
)
def test_an_event_without_a_date_or_near_another_is_proposed(
    run: Call, first: str | None, second: str | None, code: str | None
) -> None:
    dated = [{**MEETING, **({"date_start": date} if date else {})} for date in (first, second)]
    known = only_id(store(run, dated[0]))
    warnings = [each for each in warned(store(run, dated[1])) if each[0] != "TYPE_MISMATCH"]
    assert warnings == ([(code, known)] if code else [])


@pytest.mark.parametrize("dates", [("2026-03-02T10:00:00Z", None), (None, "2026-03-02T10:00:00Z")])
def test_an_event_that_the_rule_merges_has_no_namesake(run: Call, dates: tuple[str | None, ...]) -> None:
    events = [{**MEETING, **({"date_start": date} if date else {})} for date in dates]
    assert [warned(store(run, event)) for event in events] == [[], []]


def test_a_series_of_events_is_warned_of_only_at_its_beginning(run: Call) -> None:
    warnings = [warned(store(run, {**MEETING, "date_start": f"2026-03-0{day}"})) for day in range(1, 6)]
    assert [len(each) for each in warnings] == [0, 1, 1, 0, 0]


# Fields that a correction holds


def test_a_newer_value_of_a_corrected_field_says_that_the_correction_holds_it(call: Call) -> None:
    entity_id = only_id(call("store", entities=[{**ADA, "role": "Countess"}]))
    correction = call("entities.correct", entity_id=entity_id, field="role", value="Mathematician")
    answer = call("store", entities=[{**ADA, "role": "Poet", "city": "London"}])
    assert answer["entities"][0]["entity_snapshot_after"]["role"] == "Mathematician"
    (warning,) = answer["store_warnings"]
    assert (warning["code"], warning["index"], warning["field"]) == ("HELD_BY_CORRECTION", 0, "role")
    assert warning["observation_id"] == correction["observation_id"]
    assert "another correction of role" in warning["message"]
    again = call("entities.correct", entity_id=entity_id, field="role", value="Poet")
    assert (again["snapshot"]["role"], again["store_warnings"]) == ("Poet", [])


def test_a_store_that_says_so_ends_a_correction(call: Call) -> None:
    entity_id = only_id(call("store", entities=[{**ADA, "role": "Countess", "observed_at": "2020-01-01"}]))
    call("entities.correct", entity_id=entity_id, field="role", value="Poet")
    corrected = call("entities.correct", entity_id=entity_id, field="role", value="Mathematician")
    moment = call("entities.snapshot", entity_id=entity_id)["last_observation_at"]
    held = call("store", entities=[{**ADA, "role": "Writer"}])["store_warnings"][0]
    assert "supersedes_correction" in held["message"]
    assert "release" in held["message"]
    answer = call("store", entities=[{**ADA, "role": "Analyst", "supersedes_correction": True}])
    assert answer["store_warnings"] == []
    assert answer["entities"][0]["entity_snapshot_after"]["role"] == "Analyst"
    assert "supersedes_correction" not in answer["entities"][0]["entity_snapshot_after"]
    # The newest wins again, and what was corrected was so in its time.
    assert call("store", entities=[{**ADA, "role": "Engineer"}])["store_warnings"] == []
    assert call("entities.get", entity_id=entity_id)["snapshot"]["role"] == "Engineer"
    assert call("entities.snapshot", entity_id=entity_id, at=moment)["snapshot"]["role"] == "Mathematician"
    known = {"at_ingested": held_at(call, corrected["observation_id"])}
    assert call("entities.snapshot", entity_id=entity_id, **known)["snapshot"]["role"] == "Mathematician"
    assert call("server.check_snapshots")["healthy"]


def test_the_end_of_a_correction_is_one_transaction_and_is_replayed(call: Call) -> None:
    entity_id = only_id(call("store", entities=[{**ADA, "role": "Countess", "observed_at": "2020-01-01"}]))
    call("entities.correct", entity_id=entity_id, field="role", value="Mathematician")
    analyst = {
        "entities": [{**ADA, "role": "Analyst", "supersedes_correction": True}],
        "idempotency_key": "end",
    }
    ended = call("store", **analyst)
    current = call("entities.get", entity_id=entity_id)
    assert (ended["entities"][0]["version"], current["snapshot"]["role"]) == (current["version"], "Analyst")
    written = call("observations.query", filters={"entity_id": entity_id})["observations"]
    last = [each["fields"]["role"] for each in written if each["transaction_id"] == ended["transaction_id"]]
    assert sorted(last) == ["Analyst", "Mathematician"]
    again = call("store", **analyst)
    assert (again["replayed"], again["transaction_id"]) == (True, ended["transaction_id"])
    assert again["entities"][0]["entity_snapshot_after"] == ended["entities"][0]["entity_snapshot_after"]
    call("entities.correct", entity_id=entity_id, field="role", value="Poet")
    release = {"entity_id": entity_id, "field": "role", "release": True, "idempotency_key": "release"}
    released, replayed = (call("entities.correct", **release) for _ in range(2))
    assert (released["replayed"], replayed) == (False, {**released, "replayed": True})
    assert (released["value"], released["version"]) == (
        "Poet",
        call("entities.get", entity_id=entity_id)["version"],
    )
    assert call("server.check_snapshots")["healthy"]
    with pytest.raises(NotFound):
        call("entities.correct", entity_id="ent_" + "0" * 24, field="role", release=True)


def held_at(call: Call, observation_id: str) -> str:
    """Return when an observation was recorded."""
    filters = {"observation_id": observation_id}
    (row,) = call("observations.query", filters=filters, include_excluded=True)["observations"]
    return row["recorded_at"]


def test_a_released_correction_counts_as_any_observation_of_its_time(call: Call) -> None:
    entity_id = only_id(call("store", entities=[{**ADA, "role": "Countess", "observed_at": "2020-01-01"}]))
    call("entities.correct", entity_id=entity_id, field="role", value="Mathematician")
    released = call("entities.correct", entity_id=entity_id, field="role", release=True)
    assert (released["value"], released["snapshot"]["role"]) == ("Mathematician", "Mathematician")
    answer = call("store", entities=[{**ADA, "role": "Writer"}])
    assert (answer["store_warnings"], call("entities.get", entity_id=entity_id)["snapshot"]["role"]) == (
        [],
        "Writer",
    )
    for arguments in ({"release": True}, {"release": True, "value": "x"}, {}):
        with pytest.raises(InvalidInput):
            call("entities.correct", entity_id=entity_id, field="role", **arguments)
    with pytest.raises(StoreRefused):
        call("store", entities=[{**ADA, "supersedes_correction": "yes"}])


@pytest.mark.parametrize(
    "item",
    [{"role": "Mathematician"}, {"role": "Poet", "observed_at": "1840-01-01"}, {"city": "London"}],
    ids=["the same value", "an older one", "another field"],
)
def test_what_a_correction_does_not_hold_back_is_not_warned_of(run: Call, item: dict[str, Any]) -> None:
    entity_id = only_id(store(run, ADA))
    run("entities.correct", entity_id=entity_id, field="role", value="Mathematician")
    assert warned(store(run, {**ADA, **item})) == []


def test_a_field_of_any_merge_policy_may_be_held(run: Call) -> None:
    fields = {
        "tags": {"type": "array", "merge": "merge_array"},
        "level": {"type": "number", "merge": "highest_priority"},
    }
    run("schemas.register", schema={"entity_type": "thing", "fields": {"name": {"type": "string"}, **fields}})
    entity_id = only_id(store(run, {"entity_type": "thing", "name": "x", "tags": ["a"], "level": 1}))
    run("entities.correct", entity_id=entity_id, field="tags", value=["b"])
    run("entities.correct", entity_id=entity_id, field="level", value=2)
    answer = store(run, {"target_id": entity_id, "tags": ["c"], "level": 3})
    assert warned(answer) == [("HELD_BY_CORRECTION", "tags"), ("HELD_BY_CORRECTION", "level")]
    assert warned(store(run, {"target_id": entity_id, "tags": "b", "level": 2})) == []


# Values of one time


def test_of_two_values_of_one_time_in_one_request_the_later_item_wins(run: Call) -> None:
    for number in range(12):
        buoy = {"entity_type": "thing", "name": f"Buoy {number}", "observed_at": "2025-05-05"}
        colours = ["red", "green", "red", None, "blue", "red"]
        items = [{**buoy, "colour": colour} for colour in colours]
        links = [
            {"relationship_type": "PART_OF", "source_index": 0, "target_index": 6, "metadata": {"n": n}}
            for n in (1, 2, 1)
        ]
        entities = [*items, {**buoy, "name": "Sea"}]
        request = {"entities": entities, "relationships": links, "observed_at": "2025-05-05"}
        first = run("store", **request)
        assert first["entities"][5]["entity_snapshot_after"]["colour"] == "red"
        assert [each for each in warned(first) if each[0] == "EQUAL_TIME_LOST"] == []
        (edge,) = run("relationships.list", entity_id=first["entities"][0]["entity_id"])["relationships"]
        assert edge["snapshot"] == {"n": 1}
        again = run("store", **request)
        assert all(each["deduplicated"] for each in again["entities"] + again["relationships_created"])


def test_of_two_requests_of_one_time_the_receipt_names_what_won(run: Call) -> None:
    outcomes = set[str]()
    for number in range(24):
        buoy = {"entity_type": "thing", "name": f"Buoy {number}", "observed_at": "2025-05-05"}
        first, second = (store(run, {**buoy, "colour": colour}) for colour in ("red", "green"))
        shown = second["entities"][0]["entity_snapshot_after"]["colour"]
        outcomes.add(shown)
        assert first["store_warnings"] == []
        if shown == "green":
            assert second["store_warnings"] == []
            continue
        (warning,) = second["store_warnings"]
        assert (warning["code"], warning["field"], warning["index"]) == ("EQUAL_TIME_LOST", "colour", 0)
        assert warning["observation_id"] == first["entities"][0]["observation_id"]
        assert "later observed_at" in warning["message"]
    assert outcomes == {"red", "green"}


# Names that may be misspelled


def test_a_new_type_near_a_known_one_is_stored_and_warned_of(call: Call) -> None:
    answer = call("store", entities=[{"entity_type": "persn", "name": "Ada Lovelace"}])
    (warning,) = answer["store_warnings"]
    assert (warning["code"], warning["index"], warning["nearest"]) == ("NEW_TYPE", 0, "person")
    assert answer["entities"][0]["entity_type"] == "persn"
    assert call("store", entities=[{"entity_type": "persn", "name": "Bob"}])["store_warnings"] == []


def test_a_new_type_near_one_of_the_owner_is_warned_of(run: Call) -> None:
    store(run, {"entity_type": "sales_order", "name": "12"}, {"entity_type": "s", "name": "s"})
    (warning,) = store(run, *[{"entity_type": "sales_ordr", "name": f"{n}"} for n in range(3)])[
        "store_warnings"
    ]
    assert (warning["code"], warning["nearest"]) == ("NEW_TYPE", "sales_order")
    assert warned(store(run, {"entity_type": "sales_region", "name": "12"})) == []


def test_a_new_field_near_a_known_one_is_stored_and_warned_of(call: Call) -> None:
    entity_id = only_id(call("store", entities=[{**ADA, "role": "Countess", "line_1": "a"}]))
    corrected = call("entities.correct", entity_id=entity_id, field="rol", value="Mathematician")
    (warning,) = corrected["store_warnings"]
    assert (warning["code"], warning["field"], warning["nearest"]) == ("NEW_FIELD", "rol", "role")
    assert corrected["snapshot"]["rol"] == "Mathematician"
    answer = call(
        "store", entities=[{**ADA, "rol": "Mathematician", "locaton": "London", "line_2": "b", "emails": []}]
    )
    assert warned(answer) == [("NEW_FIELD", "locaton")]


def test_a_correction_of_a_second_telephone_number_names_the_field_that_is_there(run: Call) -> None:
    entity_id = only_id(store(run, {**ADA, "phone": "1", "home": "x"}))
    corrected = run("entities.correct", entity_id=entity_id, field="telephone", value="2")
    (warning,) = corrected["store_warnings"]
    assert (warning["code"], warning["field"], warning["nearest"]) == ("NEW_FIELD", "telephone", "phone")
    assert warned(run("entities.correct", entity_id=entity_id, field="telephone", value="3")) == []
    assert warned(run("entities.correct", entity_id=entity_id, field="phone", value="4")) == []
    assert warned(run("entities.correct", entity_id=entity_id, field="website", value="x.example")) == []


@pytest.mark.parametrize("field", ["due_date", "due", "Deadline"])
def test_a_due_date_that_is_no_date_is_warned_of_by_each_of_its_names(run: Call, field: str) -> None:
    warning = store(run, {"entity_type": "task", "title": f"Paint {field}", field: "Friday"})[
        "store_warnings"
    ][0]
    assert (warning["code"], warning["field"], warning["value"]) == ("TYPE_MISMATCH", field, "Friday")
    assert warning["expected_type"] == "date"
    assert store(run, {"entity_type": "task", "title": "Paint", field: "2026-01-31"})["store_warnings"] == []
    assert store(run, {"entity_type": "gadget", "name": "Paint", field: "Friday"})["store_warnings"] == []
