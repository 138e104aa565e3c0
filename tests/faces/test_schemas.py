"""Reading schemas: discovered and shipped ones, and what observations say that a schema could say."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput, NotFound
from graphmem.model import schema as schemas
from tests.support.faces import Call

THING = {"entity_type": "thing", "name": "one"}


def types(fields: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: field["type"] for name, field in fields.items()}


def test_a_discovered_schema_is_what_was_seen(run: Call) -> None:
    run("store", entities=[{**THING, "mix": 1, "when": "2026-01-01", "none": None, "flag": True}])
    run("store", entities=[{**THING, "mix": "one", "when": "soon", "list": [], "map": {}}])
    schema = run("schemas.get", entity_type="Thing")
    seen = {
        "flag": "boolean", "list": "array", "map": "object", "mix": "number|string", "name": "string",
        "none": "null", "when": "string",
    }  # fmt: skip
    assert (types(schema["fields"]), schema["seen"]) == (seen, seen)
    assert schema["field_names"] == sorted(schema["fields"])
    assert (schema["entity_type"], schema["entity_count"], schema["observation_count"]) == ("thing", 1, 2)
    assert (schema["origin"], schema["schema_version"], schema["scope"]) == ("discovered", None, "user")
    assert (schema["additional_fields"], schema["mismatch"], schema["versions"]) == ("show", "show", [])
    assert schema["identity"][-1] == ["content"]


def test_a_shipped_schema_says_what_is_declared_and_what_was_seen(run: Call) -> None:
    run("store", entities=[{"entity_type": "event", "title": "x", "date_start": "soon", "venue": "here"}])
    schema = run("schemas.get", entity_type="events")
    assert (schema["origin"], schema["schema_version"], schema["scope"]) == ("shipped", "1.0", "global")
    assert types(schema["fields"]) == {
        "title": "string", "event_type": "string", "date_start": "date", "attendees": "array",
        "outcome": "string", "follow_ups": "array",
    }  # fmt: skip
    assert schema["seen"] == {"title": "string", "date_start": "string", "venue": "string"}
    assert schema["temporal_fields"] == [{"field": "date_start", "event_type": "EventStart"}]
    assert schema["identity"][0] == ["title", "date_start"]
    assert all(field["description"] and field["required"] is False for field in schema["fields"].values())


def test_a_shipped_type_declares_and_never_hides_or_converts(run: Call) -> None:
    fields = {"title": "x", "date_start": "soon", "attendees": "Ada", "venue": 7}
    answer = run("store", entities=[{"entity_type": "event", **fields}])
    assert answer["entities"][0]["entity_snapshot_after"] == fields


def test_a_shipped_type_that_was_never_stored_has_a_schema(run: Call) -> None:
    schema = run("schemas.get", entity_type="invoices")
    assert (schema["entity_type"], schema["origin"], schema["entity_count"]) == ("invoice", "shipped", 0)
    assert (schema["seen"], schema["versions"], schema["updated_at"]) == ({}, [], None)


def test_a_type_that_was_never_stored_is_404(call: Call) -> None:
    for name in ("schemas.get", "schemas.recommend", "schemas.analyze"):
        with pytest.raises(NotFound) as missing:
            call(name, entity_type="Unicorn")
        assert missing.value.details == {"entity_type": "unicorn"}


def test_schemas_are_listed_by_type(run: Call) -> None:
    kinds = ["alpha", "beta", "gamma", "alphabet"]
    run("store", entities=[{"entity_type": kind, "name": kind, f"of_{kind}": 1} for kind in kinds])

    def page(**arguments: Any) -> tuple[list[str], int]:
        answer = run("schemas.list", include_total_count=True, **arguments)
        return [schema["entity_type"] for schema in answer["schemas"]], answer["total"]

    assert page() == (sorted(kinds), 4)
    assert page(limit=2, offset=1) == (["alphabet", "beta"], 4)
    assert page(offset=4) == ([], 4)
    assert page(keyword=" ALPHA ") == (["alpha", "alphabet"], 2)
    assert page(keyword="of_GAM") == (["gamma"], 1)
    assert page(keyword="zeta") == ([], 0)
    assert page(entity_type="alpha") == (["alpha"], 1)
    assert page(entity_type="alpha", keyword="beta") == ([], 0)
    assert page(entity_type="event") == ([], 0)
    assert page(entity_type="event", include_shipped=True) == (["event"], 1)


def test_shipped_types_are_listed_where_they_are_stored_or_asked_for(run: Call) -> None:
    def page(**arguments: Any) -> tuple[list[str], int]:
        answer = run("schemas.list", include_total_count=True, **arguments)
        return [schema["entity_type"] for schema in answer["schemas"]], answer["total"]

    run("store", entities=[{"entity_type": "event", "title": "x"}, {"entity_type": "fable", "name": "x"}])
    shipped = list(schemas.shipped_types())
    assert page() == (["event", "fable"], 2)
    every = sorted([*shipped, "fable"])
    assert page(include_shipped=True) == (every, len(every))
    paged = [
        type_name
        for offset in range(0, 20, 3)
        for type_name in page(include_shipped=True, limit=3, offset=offset)[0]
    ]
    assert paged == every
    assert page(include_shipped=True, keyword="attendees") == (["event"], 1)
    assert page(keyword="attendees") == (["event"], 1)
    assert page(include_shipped=True, keyword="due_date") == (["invoice", "task"], 2)
    counts = {
        schema["entity_type"]: schema["entity_count"]
        for schema in run("schemas.list", include_shipped=True)["schemas"]
    }
    assert counts == {name: int(name in ("event", "fable")) for name in every}


def test_a_page_of_large_schemas_ends_early_and_says_where_it_goes_on(run: Call) -> None:
    names = [[f"{'f' * 55}{i:08d}" for i in range(start, start + 10_000)] for start in (0, 10_000, 20_000)]
    for kind in ("alpha", "beta"):
        run("store", entities=[{"entity_type": kind, "id": 1, **dict.fromkeys(some, 1)} for some in names])
    page = run("schemas.list")
    assert ([schema["entity_type"] for schema in page["schemas"]], page["truncated"]) == (["alpha"], True)
    rest = run("schemas.list", offset=page["next_offset"])
    assert [schema["entity_type"] for schema in rest["schemas"]] == ["beta"]
    assert "truncated" not in rest


# What a schema could say


def album(i: int, **more: object) -> dict[str, object]:
    return {"entity_type": "album", "isbn": f"isbn-{i}", "pages": i, **more}


def types_by_field(analysis: dict[str, Any]) -> dict[str, str]:
    return {candidate["field_name"]: candidate["recommended_type"] for candidate in analysis["candidates"]}


def test_fields_that_are_not_declared_are_candidates(run: Call) -> None:
    run("store", entities=[album(i, due_date="2026-01-01") for i in range(6)])
    run("store", entities=[{"entity_type": "task", "title": f"t{i}", "effort": i} for i in range(6)])
    analysis = run("schemas.analyze", entity_type="album")
    assert types_by_field(analysis) == {"due_date": "date", "pages": "number", "isbn": "string"}
    assert analysis["observations_analyzed"] == 6
    # A shipped type declares its fields, and only the others are candidates.
    every = run("schemas.analyze")
    assert {(candidate["entity_type"], candidate["field_name"]) for candidate in every["candidates"]} == {
        ("album", "due_date"), ("album", "pages"), ("album", "isbn"), ("task", "effort"),
    }  # fmt: skip
    assert run("schemas.analyze", entity_type="album", min_frequency=7)["candidates"] == []
    assert run("schemas.analyze", entity_type="invoice") == {"candidates": [], "observations_analyzed": 0}


def test_candidates_of_one_entity(run: Call) -> None:
    (entity_id,) = [entity["entity_id"] for entity in run("store", entities=[THING])["entities"]]
    for i in range(5):
        run("store", entities=[{"target_id": entity_id, "weight": i}, {**THING, "name": "two", "height": i}])
    analysis = run("schemas.analyze", entity_id=entity_id)
    counts = [(candidate["field_name"], candidate["entity_count"]) for candidate in analysis["candidates"]]
    assert counts == [("weight", 1)]
    assert analysis["observations_analyzed"] == 6
    with pytest.raises(NotFound):
        run("schemas.analyze", entity_id=entity_id, entity_type="event")


def test_what_is_deleted_suggests_nothing(run: Call) -> None:
    entities = run("store", entities=[album(i) for i in range(5)])["entities"]
    run("entities.delete", entity_id=entities[0]["entity_id"])
    assert run("schemas.analyze", entity_type="album", min_frequency=5)["candidates"] == []
    assert run("schemas.analyze", entity_type="album")["observations_analyzed"] == 4
    with pytest.raises(NotFound):
        run("schemas.analyze", entity_id=entities[0]["entity_id"])


def test_large_values_are_analysed_by_their_beginning(run: Call) -> None:
    large = {"text": "x" * 300_000, "list": ["y" * 300_000]}
    for start in range(0, 20, 5):
        run("store", entities=[{"entity_type": "scan", "id": start + i, **large} for i in range(5)])
    analysis = run("schemas.analyze", entity_type="scan", min_frequency=20)
    assert types_by_field(analysis) == {"id": "number", "list": "array", "text": "string"}


def test_recommendations_say_what_to_send(run: Call) -> None:
    run("store", entities=[album(i) for i in range(6)])
    answer = run("schemas.recommend", entity_type="album")
    assert {(change["kind"], change["field_name"]) for change in answer["recommendations"]} == {
        ("add_field", "isbn"), ("add_field", "pages"), ("require_field", "isbn"), ("require_field", "pages"),
        ("identity", "isbn"), ("identity", "pages"),
    }  # fmt: skip
    (add, *_) = [change for change in answer["recommendations"] if change["field_name"] == "isbn"]
    assert add["change"] == {"entity_type": "album", "new_fields": {"isbn": {"type": "string"}}}


@pytest.mark.parametrize(
    "arguments",
    [{"min_frequency": 0}, {"min_confidence": 1.5}, {"min_frequency": 2001}, {"entity_type": "9"}],
)
def test_limits_of_an_analysis_are_bounded(run: Call, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        run("schemas.analyze", **arguments)


# What a store says of values that are not of their registered type


def mismatches(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    warnings = [warning for warning in answer["store_warnings"] if warning["code"] == "TYPE_MISMATCH"]
    return [
        (warning["index"], warning["field"], warning["value"], warning["expected_type"])
        for warning in warnings
    ]


@pytest.fixture
def wine(run: Call) -> str:
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": "string", "price": "number"}})
    (entity,) = run("store", entities=[{"entity_type": "wine", "name": "a", "price": 1}])["entities"]
    return entity["entity_id"]


def test_a_value_that_does_not_convert_is_named_with_the_expected_type(run: Call, wine: str) -> None:
    item = {"target_id": wine, "price": "huge"}
    huge = (0, "price", "huge", "number")
    answer = run("store", entities=[item, {**item, "price": "2"}, {**item, "price": 3}])
    assert mismatches(answer) == [huge, (1, "price", "2", "number")]
    assert mismatches(run("store", entities=[item], commit=False)) == [huge]
    assert mismatches(run("entities.correct", entity_id=wine, field="price", value="huge")) == [huge]
    created = run("observations.create", entity_id=wine, fields={"price": "huge"})
    assert mismatches(created) == [huge]
    assert created["snapshot"]["price"] == 3


def test_a_large_value_is_named_by_its_beginning(run: Call, wine: str) -> None:
    answer = run("store", entities=[{"target_id": wine, "price": "x" * 10_000}])
    ((_, _, value, _),) = mismatches(answer)
    assert value == f'"{"x" * 199}…'


def test_a_value_of_a_member_is_checked_against_the_type_of_its_survivor(run: Call, wine: str) -> None:
    item = {"entity_type": "bottle", "name": "b"}
    (member,) = run("store", entities=[item])["entities"]
    run("entities.merge", source_entity_id=member["entity_id"], target_entity_id=wine)
    answer = run("store", entities=[{**item, "price": "huge", "colour": "red"}])
    assert mismatches(answer) == [(0, "price", "huge", "number")]
    assert [warning["code"] for warning in answer["store_warnings"]] == ["UNKNOWN_FIELD", "TYPE_MISMATCH"]
    assert answer["entities"][0]["entity_snapshot_after"]["price"] == 1
