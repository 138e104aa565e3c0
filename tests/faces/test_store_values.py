"""What can be stored: every value and every field name as it was given, and relationships of entities."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput, StoreRefused
from graphmem.model import canonical
from tests.support.faces import Call
from tests.support.walks import walk_over

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
ACME = {"entity_type": "company", "name": "Acme"}
NOBODY = "ent_" + "0" * 24


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


VALUES = [
    0, 1, 1.0, True, False, -0.0, 0.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 0.1 + 0.2,
    2**53 + 1, 2**63, -(2**63) - 1, 10**399, -(10**399), 10**4299,
    "", " ", "null", "1", "\x00", "a\x00b", "\x1b[2J", "\u2028\u2029", "e\u0301", "é", "\ufeff", "\r\n\t",
    "\U0001f9d1\u200d\U0001f680", "\U0010ffff", "\ufffe\uffff", "\u202ertl\u202c", "\\\"'`$",
    [], {}, [[]], [{}], {"": ""}, [None], {"a": None}, [1, 1.0, True, "1", None],
    {"b": {"a": [0, {"c": []}]}}, {"\U0001f600": 1, "\ufb33": 2, "a": 3},
]  # fmt: skip
NAMES = [
    "'", '"', "`", "$", "$fields", ".", "a.b", "a[0]", "\\", "\\u0060", "`]->() DELETE n //", "\n", " ",
    "\x00", "\U0001f600", "e\u0301", "é", "__proto__", "constructor", "owner", "id", "entity_id", "values",
    "fields", "snapshot", "provenance", "version", "f" * 64, "\U0001f600" * 64,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: ascii(value)[:40])
def test_a_value_comes_back_as_it_went_in(run: Call, exact, value: Any) -> None:
    (item,) = run("store", entities=[{"entity_type": "thing", "name": "t", "x": value}])["entities"]
    assert exact(item["entity_snapshot_after"]["x"]) == exact(value)
    assert exact(run("entities.snapshot", entity_id=item["entity_id"])["snapshot"]["x"]) == exact(value)
    assert exact(run("entities.provenance", entity_id=item["entity_id"], field="x")["value"]) == exact(value)
    (observation,) = run("observations.query", entity_id=item["entity_id"])["observations"]
    assert exact(observation["fields"]["x"]) == exact(value)
    past = run("entities.snapshot", entity_id=item["entity_id"], at="9999-12-31")
    assert exact(past["snapshot"]["x"]) == exact(value)


@walk_over("value", VALUES)
def test_a_corrected_value_comes_back_as_it_went_in(run: Call, exact, value: Any) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    answer = run("entities.correct", entity_id=entity_id, field="x", value=value)
    assert (exact(answer["value"]), exact(answer["snapshot"]["x"])) == (exact(value), exact(value))


def test_field_names_of_every_kind_come_back(run: Call) -> None:
    fields = {name: f"v{i}" for i, name in enumerate(NAMES)}
    (item,) = run("store", entities=[{"entity_type": "thing", "name": "t", **fields}])["entities"]
    expected = {"name": "t", **fields}
    assert item["entity_snapshot_after"] == expected
    entity = run("entities.get", entity_id=item["entity_id"])
    assert (entity["snapshot"], set(entity["provenance"])) == (expected, set(expected))
    assert run("entities.snapshot", entity_id=item["entity_id"], at="9999-12-31")["snapshot"] == expected
    (observation,) = run("observations.query", entity_id=item["entity_id"])["observations"]
    assert observation["fields"] == expected
    assert set(run("schemas.get", entity_type="thing")["fields"]) == set(expected)


def test_a_value_of_a_megabyte_comes_back(run: Call) -> None:
    text = "ä\U0001f600" * 200_000
    (item,) = run("store", entities=[{"entity_type": "thing", "name": "t", "x": text}])["entities"]
    assert item["entity_snapshot_after"]["x"] == text
    assert run("entities.get", entity_id=item["entity_id"])["snapshot"]["x"] == text
    (observation,) = run("observations.query", entity_id=item["entity_id"])["observations"]
    assert observation["fields"]["x"] == text


def test_a_name_of_a_megabyte_is_a_name_like_any_other(run: Call) -> None:
    name = "n" * 1_000_000
    (entity_id,) = ids(run("store", entities=[{"entity_type": "thing", "name": name}]))
    (other_id,) = ids(run("store", entities=[{"entity_type": "thing", "name": name + "."}]))
    assert entity_id != other_id
    assert ids(run("store", entities=[{"entity_type": "thing", "name": name, "more": 1}])) == [entity_id]


@pytest.mark.parametrize("place", ["field", "content", "metadata", "observation"])
def test_a_value_may_have_100_levels_and_no_more(run: Call, place: str) -> None:
    store_nested(run, place, canonical.VALUE_DEPTH)
    with pytest.raises(StoreRefused) as refused:
        store_nested(run, place, canonical.VALUE_DEPTH + 1)
    assert refused.value.details["issues"][0]["code"] == "ERR_VALUE"


def store_nested(run: Call, place: str, levels: int) -> None:
    value = nested(levels)
    if place == "field":
        run("store", entities=[{**ADA, "x": value}])
    elif place == "content":
        run("store", entities=[{"entity_type": "thing", "x": value}])
    elif place == "metadata":
        ends = {"source_index": 0, "target_index": 1, "metadata": {"x": value}}
        run("store", entities=[ADA, ACME], relationships=[{"relationship_type": "OWNS", **ends}])
    else:
        (entity_id,) = ids(run("store", entities=[ADA]))
        run("observations.create", entity_id=entity_id, fields={"x": value})


def test_more_levels_are_refused_with_their_place(run: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        run("store", entities=[{**ADA, "x": {"y": nested(canonical.VALUE_DEPTH)}}])
    (issue,) = refused.value.details["issues"]
    assert issue["path"].startswith("$.entities[0].x.y[0]")


def test_null_clears_a_field_and_says_so(run: Call) -> None:
    run("store", entities=[{**ADA, "mood": "calm"}])
    answer = run("store", entities=[{**ADA, "mood": None}])
    assert answer["entities"][0]["entity_snapshot_after"] == {"name": "Ada Lovelace"}
    (warning,) = answer["store_warnings"]
    assert (warning["code"], warning["index"], warning["field"]) == ("NULL_CLEARED_FIELD", 0, "mood")
    (newest, _) = run("observations.query", entity_id=ids(answer)[0])["observations"]
    assert newest["fields"] == {"name": "Ada Lovelace", "mood": None}
    again = run("store", entities=[{**ADA, "mood": "calm", "observed_at": "2020-01-01"}])
    assert "mood" not in again["entities"][0]["entity_snapshot_after"]
    back = run("store", entities=[{**ADA, "mood": "gay"}])
    assert back["entities"][0]["entity_snapshot_after"]["mood"] == "gay"


def test_an_item_that_nothing_identifies_says_so(run: Call) -> None:
    answer = run("store", entities=[{"entity_type": "note", "text": "hm"}])
    assert answer["entities"][0]["identity_basis"] == "content"
    (warning,) = answer["store_warnings"]
    assert warning["code"] == "CONTENT_IDENTITY"
    rules = warning["message"].partition("give ")[2].partition(", or target_id")[0]
    assert rules == "id or message_id or uuid or external_id or canonical_name"


def test_values_that_differ_in_type_are_different_content(run: Call) -> None:
    entities = [{"entity_type": "note", "x": x} for x in (1, 1.0, True, "1", [1], {"1": 1}, None, "")]
    assert len(set(ids(run("store", entities=entities)))) == len(entities)


def test_a_new_entity_is_reached_by_its_id_alone(run: Call) -> None:
    new = {**ADA, "intent": "create_new"}
    first, second, known = ids(run("store", entities=[new, new, ADA]))
    assert len({first, second, known}) == 3
    (item,) = run("store", entities=[{"target_id": first, "x": 1}])["entities"]
    assert (item["action"], item["identity_basis"], item["entity_type"]) == (
        "extended",
        "target_id",
        "person",
    )
    assert item["entity_snapshot_after"] == {"name": "Ada Lovelace", "x": 1}


# Relationships


def link(**more: Any) -> dict[str, Any]:
    return {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1, **more}


def to(entity_id: str) -> dict[str, Any]:
    return without("target_index", target_entity_id=entity_id)


def without(*names: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in link(**more).items() if name not in names}


@pytest.mark.parametrize(
    ("relationship", "code", "path"),
    [
        (link(target_index=2), "ERR_RELATIONSHIP_INDEX", ".target_index"),
        (link(source_index=-1), "ERR_RELATIONSHIP_INDEX", ".source_index"),
        (link(source_index=10**400), "ERR_RELATIONSHIP_INDEX", ".source_index"),
        (without("target_index"), "ERR_RELATIONSHIP_END", ""),
        (link(target_entity_id=NOBODY), "ERR_RELATIONSHIP_END", ""),
        (to("Acme"), "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".target_entity_id"),
        (to(""), "ERR_RELATIONSHIP_ENTITY_ID_FORMAT", ".target_entity_id"),
        (to(NOBODY), "ERR_RELATIONSHIP_ENTITY_NOT_FOUND", ".target_entity_id"),
        (link(target_index=0), "ERR_RELATIONSHIP_TO_ITSELF", ".target"),
        (link(target_index=2, relationship_type="OWNS"), "ERR_RELATIONSHIP_INDEX", ".target_index"),
        (link(relationship_type=""), "ERR_RELATIONSHIP_TYPE", ".relationship_type"),
        (link(relationship_type="OWNS]->() DELETE n//"), "ERR_RELATIONSHIP_TYPE", ".relationship_type"),
        (link(metadata={"": 1}), "ERR_FIELD_NAME", ".metadata."),
        (link(metadata={"a": float("inf")}), "ERR_VALUE", ".metadata.a"),
    ],
)  # fmt: skip
def test_a_bad_relationship_is_refused_by_index(
    run: Call, relationship: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(StoreRefused) as refused:
        run("store", entities=[ADA, ACME], relationships=[link(), relationship])
    (issue,) = refused.value.details["issues"]
    assert (issue["index"], issue["code"], issue["path"]) == (1, code, f"$.relationships[1]{path}")
    assert run("server.stats")["sequence"] == 0


@pytest.mark.parametrize(
    ("relationship", "path"),
    [
        ("text", "$.relationships[0]"),
        (link(source_index=True), "$.relationships[0].source_index"),
        (link(source_index=0.5), "$.relationships[0].source_index"),
        (link(target_entity_id=7), "$.relationships[0].target_entity_id"),
        (link(metadata=[]), "$.relationships[0].metadata"),
        (link(color="red"), "$.relationships[0].color"),
        (without("relationship_type"), "$.relationships[0].relationship_type"),
    ],
)
def test_a_relationship_of_the_wrong_shape_is_refused(run: Call, relationship: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("store", entities=[ADA, ACME], relationships=[relationship])
    assert [issue["path"] for issue in refused.value.details["issues"]] == [path]


def test_two_items_that_are_one_entity_cannot_be_related(run: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        run("store", entities=[ADA, {**ADA, "name": "ada  LOVELACE"}], relationships=[link()])
    assert refused.value.details["issues"][0]["code"] == "ERR_RELATIONSHIP_TO_ITSELF"


def test_an_end_may_be_the_id_of_an_entity_of_the_same_request(run: Call) -> None:
    plan = run("store", entities=[ADA, ACME], commit=False)
    ada, acme = ids(plan)
    ends = {"source_entity_id": ada, "target_entity_id": acme}
    answer = run("store", entities=[ADA, ACME], relationships=[{"relationship_type": "WORKS_AT", **ends}])
    (made,) = answer["relationships_created"]
    assert made["relationship_key"] == f"WORKS_AT:{ada}:{acme}"
    (read,) = run("relationships.list", entity_id=acme)["incoming"]
    assert read["relationship_key"] == made["relationship_key"]


def test_an_end_may_be_an_entity_stored_before(run: Call) -> None:
    (ada,) = ids(run("store", entities=[ADA]))
    end = {"source_entity_id": ada, "target_index": 0}
    answer = run("store", entities=[ACME], relationships=[{"relationship_type": "owns", **end}])
    assert answer["relationships_created"][0]["source_entity_id"] == ada


def test_the_same_relationship_again_is_an_observation_of_it(run: Call) -> None:
    first = run("store", entities=[ADA, ACME], relationships=[link(metadata={"since": 1, "a": 1})])
    again = run("store", entities=[ADA, ACME], relationships=[link(metadata={"since": 2, "b": None})])
    (created,), (matched,) = first["relationships_created"], again["relationships_created"]
    assert (created["action"], matched["action"]) == ("created", "matched_existing")
    (read,) = run("relationships.list", entity_id=created["source_entity_id"])["relationships"]
    assert read["snapshot"] == {"since": 2, "a": 1}
    assert (read["version"], read["observation_count"], read["is_live"]) == (2, 2, True)
    assert read["provenance"] == {"since": matched["observation_id"], "a": created["observation_id"]}
    assert run("server.stats")["total_relationships"] == 1


def test_the_same_relationship_at_a_given_time_is_one_observation(run: Call) -> None:
    request = {"entities": [ADA, ACME], "relationships": [link()], "observed_at": "2026-01-01"}
    run("store", **request)
    (again,) = run("store", **request)["relationships_created"]
    assert again["deduplicated"]
    (read,) = run("relationships.list", entity_id=again["source_entity_id"])["relationships"]
    assert (read["version"], read["observation_count"]) == (1, 1)


def test_opposite_directions_and_other_types_are_other_relationships(run: Call) -> None:
    links = [link(), link(source_index=1, target_index=0), link(relationship_type="OWNS")]
    answer = run("store", entities=[ADA, ACME], relationships=links)
    assert len({relationship["relationship_id"] for relationship in answer["relationships_created"]}) == 3
    assert run("server.stats")["relationships_by_type"] == {"WORKS_AT": 2, "OWNS": 1}
