"""Arguments of other services: taken where the value asks for nothing, else refused as unknown names are."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from graphmem.auth import Actor
from graphmem.errors import UnknownField
from graphmem.foreign_arguments import asking_something, own_shape
from graphmem.mcp.tools import described
from graphmem.registry import REGISTRY
from tests.faces.test_http_edges import Http, http
from tests.support.actors import full_actor
from tests.support.faces import Call
from tests.support.walks import walk_over

__all__ = ["http"]
ADA = {"entity_type": "person", "name": "Ada Lovelace"}


def asked(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return dict(asking_something(REGISTRY[operation].arguments, arguments, full_actor("me")))


@pytest.mark.parametrize(
    ("operation", "taken"),
    [
        ("store", {"strict": False, "source_storage": "inline"}),
        ("store", {"external_actor": None, "interpretation": {}}),
        ("store", {"user_id": "me"}),
        ("entities.find", {"include_observations": False, "observations_limit": 20, "by": None}),
        ("entities.query", {"exclude_bookkeeping": "false", "published": None, "user_id": "me"}),
        ("entities.snapshot", {"format": "json"}),
        ("timeline.list", {"order_by": "event_timestamp"}),
        ("schemas.update", {"activate": True, "force": False}),
        ("schemas.register", {"migrate_existing": False, "user_specific": True}),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_left_out(operation: str, taken: dict[str, Any]) -> None:
    own = {"entities": [ADA], "limit": 3}
    assert asked(operation, own | taken) == own


@walk_over("operation, refused", [
        ("store", {"strict": True}), ("store", {"source_storage": "reference"}),
        ("store", {"user_id": "other"}),
        ("store", {"user_id": ""}), ("store", {"interpretation": {"source_id": "src_1"}}),
        ("store", {"external_actor": {"login": "a"}}), ("store", {"stricter": False}),
        ("store", {"file_content": "YQ==", "original_filename": "chat.txt"}),
        ("entities.find", {"include_observations": True}), ("entities.find", {"by": "email"}),
        ("entities.snapshot", {"format": "markdown"}), ("timeline.list", {"order_by": "created_at"}),
        ("schemas.update", {"activate": False}), ("schemas.update", {"force": "yes"}),
        # Operations read their own arguments themselves.
        ("entities.query", {"entity_type": None}), ("entities.query", {"limit": None}),
    ])  # fmt: skip
def test_what_would_change_the_answer_is_left_to_be_refused(operation: str, refused: dict[str, Any]) -> None:
    arguments = {"entities": [ADA], **refused}
    assert asked(operation, arguments) == arguments


def test_an_actor_without_an_owner_has_no_user_id() -> None:
    nobody = Actor(owner="", scopes=frozenset())
    assert asking_something(REGISTRY["store"].arguments, {"user_id": ""}, nobody) == {"user_id": ""}


def test_a_program_for_another_service_stores_and_finds(run: Call, owner: str, http: Http) -> None:
    receipt = run("store", entities=[ADA], user_id=owner, strict=False, original_filename="chat.txt")
    (entity,) = receipt["entities"]
    assert "source_id" not in receipt
    found = run("entities.find", identifier="Ada Lovelace", include_observations=False, user_id=owner)
    assert [each["entity_id"] for each in found["entities"]] == [entity["entity_id"]]
    query = {"format": "json", "user_id": owner, "expand_entities": "false"}
    answer = http("GET", f"/entities/{entity['entity_id']}", params=query)
    assert (answer.status_code, answer.json()["entity_id"]) == (200, entity["entity_id"])
    for refused in ({"strict": True}, {"user_id": "00000000-0000-0000-0000-0000000000ff"}):
        with pytest.raises(UnknownField) as error:
            run("store", entities=[ADA], **refused)
        assert error.value.details["unknown_fields"] == [*refused]


PERSON = {"entity_type": "person", "name": "Fay Six"}
COMPANY = {"entity_type": "company", "name": "Acme Seven"}


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        ({"type": "person", "name": "Fay Six"}, PERSON),
        ({"type": "person", "fields": {"name": "Fay Six"}}, PERSON),
        ({"type": "person", "name": "Fay Six", "properties": {"city": "Ulm"}}, {**PERSON, "city": "Ulm"}),
        ({"entity_type": "person", "attributes": {"name": "Fay Six"}}, PERSON),
        ({**PERSON, "observed_at": "2024"}, {**PERSON, "observed_at": "2024-01-01"}),
        ({**PERSON, "observed_at": "2024-05"}, {**PERSON, "observed_at": "2024-05-01"}),
        # What is valid keeps its meaning.
        ({**PERSON, "type": "smith"}, {**PERSON, "type": "smith"}),
        ({**PERSON, "fields": {"city": "Ulm"}}, {**PERSON, "fields": {"city": "Ulm"}}),
        # Two meanings are possible.
        ({"type": "person", "name": "Fay Six", "fields": {"name": "Fay"}},
         {**PERSON, "fields": {"name": "Fay"}}),
    ],
)  # fmt: skip
def test_an_item_in_another_shape_is_read(foreign: dict[str, Any], own: dict[str, Any]) -> None:
    assert own_shape({"entities": [foreign]}) == {"entities": [own]}


ENDS = {"source_index": 0, "target_index": 1, "relationship_type": "WORKS_AT"}


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        ({"from": "fay six", "to": "Acme Seven", "type": "WORKS_AT"}, ENDS),
        ({"source": 0, "target": 1, "relationship_type": "WORKS_AT"}, ENDS),
        ({**ENDS, "since": "2020", "metadata": {"role": "cook"}},
         {**ENDS, "metadata": {"role": "cook", "since": "2020"}}),
        ({**ENDS, "from": "2020", "to": "2022"}, {**ENDS, "metadata": {"from": "2020", "to": "2022"}}),
        # What stands beside its own name, or in metadata that is no object, is left to be refused.
        ({**ENDS, "type": "KNOWS"}, {**ENDS, "type": "KNOWS"}),
        ({**ENDS, "since": "2020", "metadata": 5}, {**ENDS, "since": "2020", "metadata": 5}),
        # No item has the name: the relationship is left to be refused.
        ({"from": "Bo", "to": 1, "relationship_type": "WORKS_AT"},
         {"from": "Bo", "to": 1, "relationship_type": "WORKS_AT"}),
    ],
)  # fmt: skip
def test_a_relationship_in_another_shape_is_read(foreign: dict[str, Any], own: dict[str, Any]) -> None:
    entities = [PERSON, COMPANY]
    shaped = own_shape({"entities": entities, "relationships": [foreign]})
    assert shaped == {"entities": entities, "relationships": [own]}


def test_a_request_in_another_shape_is_stored_as_the_same_in_its_own(run: Call, http: Http) -> None:
    own = run("store", entities=[PERSON, COMPANY], relationships=[ENDS], observation_source="import",
              observed_at="2024-01-01", idempotency_key="shapes")  # fmt: skip
    foreign = http("POST", "/store", json={
        "entities": '[{"type": "person", "fields": {"name": "Fay Six"}}, '
        '{"entity_type": "company", "properties": {"name": "Acme Seven"}}]',
        "relationships": [{"from": "Fay Six", "to": "Acme Seven", "type": "WORKS_AT"}],
        "source": "import", "observed_at": "2024", "idempotency_key": "shapes",
    }).json()  # fmt: skip
    assert foreign["replayed"] is True
    assert [each["entity_id"] for each in foreign["entities"]] == [
        each["entity_id"] for each in own["entities"]
    ]
    assert run("context.retrieve", text="Where does Fay Six work?") == run(
        "context.retrieve", question="Where does Fay Six work?"
    )


def test_items_and_metadata_are_also_taken_as_json_texts(run: Call, http: Http) -> None:
    own = run("store", entities=[PERSON, COMPANY], relationships=[{**ENDS, "metadata": {"role": "cook"}}],
              idempotency_key="texts")  # fmt: skip
    request = {
        "entities": [json.dumps(PERSON), json.dumps(COMPANY)],
        "relationships": [{**ENDS, "metadata": '{"role": "cook"}'}],
        "idempotency_key": "texts",
    }
    assert own["replayed"] is False
    assert http("POST", "/store", json=request).json()["replayed"] is True
    broken = http("POST", "/store", json={"entities": ['{"entity_type": "person", "name": "Fay']})
    assert (broken.status_code, broken.json()["details"]["issues"][0]["path"]) == (400, "$.entities[0]")
    link = {**ENDS, "metadata": "since 2020"}
    refused = http("POST", "/store", json={"entities": [PERSON, COMPANY], "relationships": [link]})
    assert refused.json()["details"]["issues"][0]["path"] == "$.relationships[0].metadata"


def closed(schema: Any) -> Any:
    """Return a schema as hosts with strict schemas make it: closed objects whose members are all required."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(part) for name, part in schema.items()}
    if made.get("type") == "object":
        properties = made.setdefault("properties", {})
        made |= {"additionalProperties": False, "required": [*properties]}
    return made


def test_a_store_by_a_strict_schema_keeps_free_fields(run: Call) -> None:
    (tool,) = [tool for tool in described("core") if tool.name == "store"]
    schema = closed(tool.input_schema)
    absent = {name: None for name, part in schema["properties"].items() if "null" in part["type"]}
    no_ends = dict.fromkeys(schema["$defs"]["NewRelationship"]["properties"])
    arguments = absent | {
        "dry_run": False, "commit": True, "find_duplicates": False,
        "entities": [json.dumps({**PERSON, "shoe_size": 39}), json.dumps(COMPANY)],
        "relationships": [{**no_ends, **ENDS, "metadata": '{"role": "cook"}'}],
    }  # fmt: skip
    jsonschema.validate(arguments, schema)
    stored = run("store", **arguments)
    person = run("entities.snapshot", entity_id=stored["entities"][0]["entity_id"])
    assert person["snapshot"]["shoe_size"] == 39
    # Without the text, the schema would leave an item nothing.
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**arguments, "entities": [PERSON]}, schema)
