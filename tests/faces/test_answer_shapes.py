"""What answers hold of entities: the arguments ``fields`` and ``provenance``, and their defaults by face."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphmem.errors import InvalidInput
from graphmem.reading import shaping
from graphmem.registry import REGISTRY
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "role": "Analyst"}
ACME = {"entity_type": "company", "name": "Acme", "city": "London"}
WORKS_AT = {
    "relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1, "metadata": {"since": 1840},
}  # fmt: skip
SHAPED = [name for name, operation in REGISTRY.items() if "provenance" in operation.arguments.model_fields]
LISTS = {
    "entities.find": {"identifier": "Ada Lovelace"},
    "entities.query": {"entity_type": "person"},
    "entities.related": {"entity_id": "$acme"},
    "graph.neighborhood": {"node_id": "$acme"},
    "relationships.list": {"entity_id": "$acme", "expand_entities": True},
}
"""Calls whose answers have Ada in a list."""
SINGLE = {"entities.get": {"entity_id": "$ada"}, "entities.snapshot": {"entity_id": "$ada"}}


@pytest.fixture
def ids(run: Call) -> dict[str, str]:
    """The ids of Ada and of Acme, who have a relationship."""
    answer = run("store", entities=[ADA, ACME], relationships=[WORKS_AT])
    ada, acme = (entity["entity_id"] for entity in answer["entities"])
    return {"$ada": ada, "$acme": acme}


def filled(arguments: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    return {name: ids.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()}  # fmt: skip


def ada_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return Ada of an answer."""
    lists = (answer.get(name, ()) for name in ("entities", "related_entities"))
    entities = [answer, *(entity for part in lists for entity in part)]
    (ada,) = [entity for entity in entities if entity.get("canonical_name") == "Ada Lovelace"]
    return ada


def test_everything_that_answers_entities_is_shaped() -> None:
    assert set(SHAPED) == {*LISTS, *SINGLE, "context.retrieve"}
    assert all("fields" in REGISTRY[name].arguments.model_fields for name in SHAPED)


@pytest.mark.parametrize("name", [*LISTS, *SINGLE])
def test_an_answer_has_the_requested_fields_only(run: Call, ids: dict[str, str], name: str) -> None:
    arguments = filled({**LISTS, **SINGLE}[name], ids)
    whole = ada_of(run(name, **arguments))
    ada = ada_of(run(name, **arguments, fields=["role", "city"]))
    assert ada["snapshot"] == {"role": "Analyst"}
    assert ada["provenance"] == {"role": whole["provenance"]["role"]}
    rest = {"snapshot", "provenance"}
    assert {k: v for k, v in ada.items() if k not in rest} == {
        k: v for k, v in whole.items() if k not in rest
    }


@pytest.mark.parametrize("name", [*LISTS, *SINGLE])
def test_provenance_is_left_out_named_or_told_whole(run: Call, ids: dict[str, str], name: str) -> None:
    arguments = filled({**LISTS, **SINGLE}[name], ids)
    whole = run(name, **arguments)
    assert run(name, **arguments, provenance="ids") == whole
    assert set(ada_of(whole)["provenance"]) == {"name", "email", "role"}
    bare = run(name, **arguments, provenance="none")
    assert "obs_" not in json.dumps({**bare, "events": ()})
    assert ada_of(bare)["snapshot"] == ada_of(whole)["snapshot"]
    full = run(name, **arguments, provenance="full")
    observations = full.pop("provenance_observations")
    assert full == whole
    assert observations.keys() >= set(ada_of(whole)["provenance"].values())
    assert {observation["entity_id"] for observation in observations.values()} <= set(ids.values())


def test_expand_provenance_is_provenance_full_unless_provenance_is_given(
    run: Call, ids: dict[str, str]
) -> None:
    ada = {"entity_id": ids["$ada"], "expand_provenance": True}
    assert run("entities.snapshot", **ada) == run(
        "entities.snapshot", entity_id=ids["$ada"], provenance="full"
    )
    assert "provenance_observations" not in run("entities.snapshot", **ada, provenance="ids")
    entity = run("entities.snapshot", **ada, fields=["role"])
    assert set(entity["provenance_observations"]) == set(entity["provenance"].values())


def test_as_of_a_time_answers_are_shaped_too(run: Call, ids: dict[str, str]) -> None:
    then = {"at": "2100-01-01", "fields": ["email"], "provenance": "none"}
    for name in ("entities.snapshot", "entities.query", "entities.related"):
        ada = ada_of(run(name, **filled({**LISTS, **SINGLE}[name], ids), **then))
        assert (ada["snapshot"], "provenance" in ada) == ({"email": "ada@example.org"}, False)


def test_a_search_is_shaped_too(run: Call, ids: dict[str, str]) -> None:
    ada = ada_of(run("entities.query", search="Lovelace", fields=["role"], provenance="none"))
    assert (ada["snapshot"], "provenance" in ada) == ({"role": "Analyst"}, False)


def test_an_unknown_field_is_answered_with_the_one_that_was_meant(run: Call, ids: dict[str, str]) -> None:
    for name in (*LISTS, *SINGLE):
        answer = run(name, **filled({**LISTS, **SINGLE}[name], ids), fields=["role", "emial"])
        (warning,) = answer["warnings"]
        assert (warning["code"], warning["field"], warning["nearest"]) == ("UNKNOWN_FIELD", "emial", "email")
    for fields in (["role"], ["canonical_name"], ["something_else"]):
        assert "warnings" not in run("entities.query", fields=fields)


def test_too_many_observations_are_refused_and_the_way_out_is_named(
    run: Call, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("observations.create", entity_id=ids["$ada"], fields={"phone": "1"})
    monkeypatch.setattr(shaping, "OBSERVATIONS_LIMIT", 1)
    with pytest.raises(InvalidInput, match="limit, some `fields`, or ids"):
        run("entities.query", entity_type="person", provenance="full")
    assert run("entities.query", entity_type="person", provenance="full", fields=["phone"])["entities"]


def test_a_cursor_goes_on_with_another_shape(run: Call, ids: dict[str, str]) -> None:
    page = run("entities.query", limit=1)
    rest = run("entities.query", limit=1, cursor=page["next_cursor"], fields=["name"], provenance="none")
    assert {page["entities"][0]["entity_id"], rest["entities"][0]["entity_id"]} == set(ids.values())


# Context


def test_context_answers_lines_of_some_fields_and_relationships(run: Call, ids: dict[str, str]) -> None:
    about = {"entity_id": ids["$ada"]}
    lines = run("context.retrieve", format="fields", **about, fields=["role", "WORKS_AT"])["lines"]
    assert {line["field"] for line in lines} == {"role", "WORKS_AT"}
    unknown = run("context.retrieve", format="fields", **about, fields=["rol"])
    assert unknown["lines"] == []
    assert unknown["hint"].endswith("there are lines of WORKS_AT, city, email, name, role")
    first = run(
        "context.retrieve", format="fields", **about, fields=["role", "email"], budget=550, unit="characters"
    )
    with pytest.raises(InvalidInput):
        run("context.retrieve", format="fields", **about, cursor=first["next_cursor"])
    rest = run(
        "context.retrieve", format="fields", **about, fields=["email", "role"], cursor=first["next_cursor"]
    )
    assert [len(first["lines"]), len(rest["lines"])] == [1, 1]


def test_context_without_provenance_has_more_lines_in_its_budget(run: Call, ids: dict[str, str]) -> None:
    about = {"entity_id": ids["$ada"], "budget": 800, "unit": "characters"}
    named = run("context.retrieve", format="fields", **about)
    bare = run("context.retrieve", format="fields", **about, provenance="none")
    assert "obs_" in json.dumps(named)
    assert "obs_" not in json.dumps(bare)
    assert len(bare["lines"]) > len(named["lines"])


CONTEXT = {"entity_id": "$ada", "format": "fields"}


# Faces


@pytest.mark.parametrize("name", [*LISTS, "context.retrieve"])
def test_an_agent_gets_lists_without_provenance(run: Call, mcp: Call, ids: dict[str, str], name: str) -> None:
    arguments = filled({**LISTS, "context.retrieve": CONTEXT}[name], ids)
    assert mcp(name, **arguments) == run(name, **arguments, provenance="none")
    assert mcp(name, **arguments, provenance="ids") == run(name, **arguments)


@pytest.mark.parametrize("name", SINGLE)
def test_an_agent_gets_one_entity_with_its_sources(
    run: Call, mcp: Call, ids: dict[str, str], name: str
) -> None:
    arguments = filled(SINGLE[name], ids)
    assert mcp(name, **arguments) == run(name, **arguments)
    assert ada_of(mcp(name, **arguments))["provenance"]


def test_every_face_takes_a_shape(call: Call, ids: dict[str, str]) -> None:
    ada = ada_of(call("entities.query", fields=["role", "email"], provenance="ids", search="Lovelace"))
    assert set(ada["snapshot"]) == set(ada["provenance"]) == {"role", "email"}
    assert ada_of(call("entities.get", entity_id=ids["$ada"], fields=["role"]))["snapshot"] == {
        "role": "Analyst"
    }
