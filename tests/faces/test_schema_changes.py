"""Registering and updating schemas: what is answered, what is read afterwards, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from graphmem.errors import (
    GraphmemError,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    SchemaRefused,
    StoreRefused,
    UnknownField,
)
from graphmem.registry import REGISTRY
from tests.support.faces import Call

Together = Callable[[str, Sequence[dict[str, Any]]], list[Any]]
WINE = {
    "entity_type": "Wine",
    "description": "A bottle.",
    "fields": {
        "name": {"type": "string", "required": True, "description": "What is on the label."},
        "year": {"type": "number", "constraints": {"min": 1800}},
        "grapes": {"type": "array", "merge": "merge_array"},
    },
    "canonical_name_fields": ["name", "year"],
}


def refusal(call: Call, name: str, **arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(SchemaRefused) as refused:
        call(name, **arguments)
    return [(issue["path"], issue["code"]) for issue in refused.value.details["issues"]]


def test_what_is_registered_is_what_is_read(run: Call) -> None:
    done = run("schemas.register", schema=WINE)
    assert (done["success"], done["schema_version"], done["replayed"]) == (True, "1.0", False)
    assert (done["fields_added"], done["fields_removed"]) == (["grapes", "name", "year"], [])
    assert done["warnings"] == []
    read = run("schemas.get", entity_type="wine")
    assert {name: read[name] for name in done["schema"]} == done["schema"]
    assert (read["origin"], read["active"], read["scope"]) == ("registered", True, "user")
    assert read["fields"]["name"] == {**WINE["fields"]["name"]}
    assert read["fields"]["year"] == {"type": "number", "required": False, "constraints": {"min": 1800}}
    assert read["identity"] == [["name", "year"], ["content"]]
    (version,) = read["versions"]
    assert (version["version"], version["transaction_id"]) == ("1.0", done["transaction_id"])
    (listed,) = run("schemas.list")["schemas"]
    assert {**listed, "versions": read["versions"]} == read


def test_a_registration_may_have_schema_definition_and_reducer_config(run: Call) -> None:
    fields = {"name": {"type": "string"}, "tags": {"type": "array"}}
    config = {
        "merge_policies": {"tags": {"strategy": "merge_array"}},
        "observation_source_priority": ["human"],
    }
    whole = {"entity_type": "beer", "schema_definition": {"fields": fields}, "reducer_config": config}
    apart = run("schemas.register", **whole, schema_version="2.5")
    assert apart["schema_version"] == "2.5"
    nested = run("schemas.register", schema={**whole, "entity_type": "cider"})
    assert nested["schema"]["fields"] == apart["schema"]["fields"]
    assert nested["schema"]["fields"]["tags"]["merge"] == "merge_array"
    assert nested["schema"]["observation_source_priority"] == ["human"]


@pytest.mark.parametrize(
    ("name", "argument", "value", "instead"),
    [
        # Values that ask for something: those that ask for nothing are taken.
        ("schemas.register", "activate", False, "active at once"),
        ("schemas.register", "force", True, "always made"),
        ("schemas.register", "user_specific", False, "caller's own"),
        ("schemas.update", "migrate_existing", "later", "read under the new schema"),
        ("schemas.recommend", "source", True, "come from observations"),
        ("schemas.recommend", "status", True, "are pending"),
        ("timeline.list", "order_by", True, "asc or desc"),
    ],
)
def test_argument_without_effect_is_refused_with_what_to_do_instead(
    run: Call, name: str, argument: str, value: Any, instead: str
) -> None:
    with pytest.raises(UnknownField, match=f"there is no {argument}: .*{instead}") as refused:
        run(name, **REGISTRY[name].example, **{argument: value})
    assert refused.value.details["unknown_fields"] == [argument]


@pytest.mark.parametrize(
    ("arguments", "path", "code"),
    [
        ({}, "$.schema.fields", "ERR_FORMAT"),
        ({"schema": {"entity_type": "a", "fields": None}}, "$.schema.fields", "ERR_FORMAT"),
        ({"schema": {"fields": {}}}, "$.entity_type", "ERR_ENTITY_TYPE"),
        ({"schema": {"entity_type": 7, "fields": {}}}, "$.entity_type", "ERR_ENTITY_TYPE"),
        ({"schema": {"entity_type": "9", "fields": {}}}, "$.entity_type", "ERR_ENTITY_TYPE"),
        ({"schema": {"fields": {}, "entity_type": "a"}, "entity_type": "b"}, "$.schema.entity_type",
         "ERR_GIVEN_TWICE"),
        ({"schema": {"entity_type": "a", "fields": {"x": "text"}}}, "$.schema.fields.x.type", "ERR_FORMAT"),
        ({"schema": {"entity_type": "a", "schema_definition": {"fields": {"x": "text"}}}},
         "$.schema.schema_definition.fields.x.type", "ERR_FORMAT"),
        ({"schema": {"entity_type": "a", "fields": {}, "schema_version": 1}}, "$.schema.schema_version",
         "ERR_SCHEMA_VERSION"),
        ({"schema": {"entity_type": "a", "fields": {}}, "schema_version": "one"}, "$.schema_version",
         "ERR_SCHEMA_VERSION"),
        ({"schema": {"entity_type": "a", "fields": {}}, "reducer_config": {"x": 1}}, "$.reducer_config.x",
         "ERR_UNKNOWN_KEY"),
        ({"schema": {"entity_type": "a", "fields": {}, "query_synonyms": {}}}, "$.schema.query_synonyms",
         "ERR_UNKNOWN_KEY"),
    ],
    ids=lambda value: ascii(value)[:50],
)  # fmt: skip
def test_a_fault_of_a_registration_is_named(
    run: Call, arguments: dict[str, Any], path: str, code: str
) -> None:
    assert (path, code) in refusal(run, "schemas.register", **arguments)
    assert run("schemas.list")["schemas"] == []


def test_an_update_adds_to_what_there_is(run: Call) -> None:
    run("schemas.register", schema=WINE)
    added = run("schemas.update", entity_type="wine", new_fields={"colour": "string"})
    assert (added["schema_version"], added["fields_added"]) == ("1.1", ["colour"])
    removed = run("schemas.update", entity_type="wine", fields_to_remove=["grapes"])
    assert (removed["schema_version"], removed["fields_removed"]) == ("2.0", ["grapes"])
    read = run("schemas.get", entity_type="wine")
    assert read["field_names"] == ["colour", "name", "year"]
    assert read["hidden_fields"] == ["grapes"]
    assert [version["version"] for version in read["versions"]] == ["2.0", "1.1", "1.0"]


def test_the_spellings_of_an_update(run: Call) -> None:
    run("store", entities=[{"entity_type": "thing", "name": "x"}])
    field = {"field_name": "a", "field_type": "array", "required": True, "reducer_strategy": "merge_array"}
    done = run("schemas.update", entity_type="thing", fields_to_add=[field])
    expected = {"type": "array", "required": True, "merge": "merge_array", "mismatch": "hide"}
    assert done["schema"]["fields"] == {"a": expected, "name": {"type": "string", "required": False}}
    named = run("schemas.update", entity_type="thing", canonical_name_fields=["name"])
    assert named["schema"]["identity"] == [["name"], ["content"]]
    strict = run("schemas.update", entity_type="thing", canonical_name_strict=True)
    assert strict["schema"]["identity"] == [["name"]]


def test_an_update_of_a_shipped_type_goes_on_from_it(run: Call) -> None:
    done = run("schemas.update", entity_type="events", new_fields={"venue": "string"})
    assert (done["schema_version"], done["schema"]["entity_type"]) == ("1.1", "event")
    read = run("schemas.get", entity_type="event")
    assert {"title", "date_start", "venue"} <= set(read["fields"])
    assert (read["origin"], read["additional_fields"]) == ("registered", "show")
    assert read["identity"][0] == ["title", "date_start"]


def test_what_is_registered_can_be_registered_again(run: Call) -> None:
    first = run("schemas.register", schema=WINE)
    again = run("schemas.register", schema=WINE)
    assert (again["schema"], again["fields_added"]) == (first["schema"], [])
    assert [version["version"] for version in run("schemas.get", entity_type="wine")["versions"]] == ["1.0"]


def test_an_update_of_nothing_or_without_effect_is_refused(call: Call) -> None:
    with pytest.raises(NotFound) as missing:
        call("schemas.update", entity_type="unicorn", new_fields={"a": "string"})
    assert missing.value.details == {"entity_type": "unicorn"}
    call("schemas.register", schema=WINE)
    nothing = [("$", "ERR_SCHEMA_UNCHANGED")]
    assert refusal(call, "schemas.update", entity_type="wine") == nothing
    assert refusal(call, "schemas.update", entity_type="wine", aliases=[]) == nothing
    year = {"year": {"type": "number", "constraints": {"min": 1800}}}
    assert refusal(call, "schemas.update", entity_type="wine", new_fields=year) == nothing
    gone = refusal(call, "schemas.update", entity_type="wine", fields_to_remove=["nose"])
    assert gone == [("$.fields_to_remove", "ERR_NO_SUCH_FIELD")]
    assert call("schemas.get", entity_type="wine")["schema_version"] == "1.0"


def test_updates_at_once_all_count(run: Call, together: Together) -> None:
    run("schemas.register", schema=WINE)
    calls = [{"entity_type": "wine", "new_fields": {f"f{i}": "number"}} for i in range(20)]
    outcomes = together("schemas.update", calls)
    assert not [outcome for outcome in outcomes if isinstance(outcome, GraphmemError)]
    versions = sorted(outcome["schema_version"] for outcome in outcomes)
    assert versions == sorted(f"1.{i + 1}" for i in range(20))
    assert {f"f{i}" for i in range(20)} < set(run("schemas.get", entity_type="wine")["fields"])


def test_a_change_with_a_key_is_made_once(call: Call) -> None:
    first = call("schemas.register", schema=WINE, idempotency_key="k")
    assert call("schemas.register", schema=WINE, idempotency_key="k") == {**first, "replayed": True}
    more = {"entity_type": "wine", "new_fields": {"colour": "string"}, "idempotency_key": "u"}
    second = call("schemas.update", **more)
    call("schemas.update", entity_type="wine", new_fields={"nose": "string"})
    assert call("schemas.update", **more) == {**second, "replayed": True}
    with pytest.raises(IdempotencyMismatch):
        call("schemas.update", **{**more, "new_fields": {"body": "string"}})


def test_a_keyword_finds_declared_fields(run: Call) -> None:
    run("schemas.register", schema=WINE)
    run("schemas.update", entity_type="event", new_fields={"venue": "string"}, fields_to_remove=["attendees"])

    def listed(keyword: str) -> list[str]:
        return [schema["entity_type"] for schema in run("schemas.list", keyword=keyword)["schemas"]]

    assert (listed("grape"), listed("venue"), listed("attendees")) == (["wine"], ["event"], [])


def test_declared_fields_are_no_candidates(run: Call) -> None:
    run("schemas.register", schema=WINE)
    run(
        "store",
        entities=[{"entity_type": "wine", "name": f"w{i}", "year": "soon", "nose": "x"} for i in range(6)],
    )
    analysis = run("schemas.analyze", entity_type="wine", min_confidence=0)
    assert [candidate["field_name"] for candidate in analysis["candidates"]] == ["nose"]
    recommendations = run("schemas.recommend", entity_type="wine")["recommendations"]
    assert ("change_type", "year") in {
        (recommendation["kind"], recommendation["field_name"]) for recommendation in recommendations
    }
    for recommendation in recommendations:
        if recommendation["kind"] in ("add_field", "change_type"):
            run("schemas.update", **recommendation["change"])


def test_another_key_of_an_update_is_refused(run: Call) -> None:
    with pytest.raises(InvalidInput):
        run("schemas.update", entity_type="event", new_feilds={"a": "string"})


# What a registered schema refuses

STRICT = {**WINE, "canonical_name_strict": True, "constraint_violation_policy": "reject"}


def store_refusal(run: Call, *items: dict[str, Any], **more: Any) -> list[tuple[str, str, Any]]:
    with pytest.raises(StoreRefused) as refused:
        run("store", entities=[{"entity_type": "wine", **item} for item in items], **more)
    return [(issue["path"], issue["code"], issue.get("index")) for issue in refused.value.details["issues"]]


def test_an_item_that_violates_a_constraint_is_refused_where_the_schema_says_so(run: Call) -> None:
    run("schemas.register", schema=STRICT)
    early = [("$.entities[1].year", "ERR_CONSTRAINT_VIOLATION", 1)]
    assert store_refusal(run, {"name": "A", "year": 1900}, {"name": "B", "year": 1700}) == early
    assert run("entities.query")["entities"] == []
    run("schemas.register", schema=WINE)
    answer = run("store", entities=[{"entity_type": "wine", "name": "B", "year": 1700}])
    assert [warning["code"] for warning in answer["store_warnings"]] == ["CONSTRAINT_VIOLATION"]


def test_an_item_that_nothing_identifies_is_refused_where_the_schema_is_strict(run: Call) -> None:
    """A relationship of such an item is no second fault."""
    run("schemas.register", schema=STRICT)
    link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": 1}
    nameless = [("$.entities[0]", "ERR_IDENTITY_FIELDS_MISSING", 0)]
    identified = {"name": "B", "year": 1900}
    assert store_refusal(run, {"name": "A"}, identified, relationships=[link]) == nameless
    (entity,) = run("store", entities=[{"entity_type": "wine", **identified}])["entities"]
    assert entity["identity_basis"] == "name+year"


def test_a_field_that_is_required_may_be_left_out_of_later_observations(run: Call) -> None:
    run("schemas.register", schema={**WINE, "canonical_name_fields": None})
    first = run("store", entities=[{"entity_type": "wine", "year": 1900}])
    assert "MISSING_REQUIRED_FIELD" in [warning["code"] for warning in first["store_warnings"]]
    entity_id = first["entities"][0]["entity_id"]
    assert run("store", entities=[{"target_id": entity_id, "year": 1901}])["store_warnings"] == []
