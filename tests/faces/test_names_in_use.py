"""Lists whose filters name a type or a field that nothing has: they propose what was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import NotFound
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.faulty_database import faulty_services

TASK = {"entity_type": "task", "title": "Paint", "state_of_work": "open", "due_date": "2026-03-02"}
ORDER = {"entity_type": "sales_order", "name": "12", "customer": "Acme"}


def proposed(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(warning["code"], warning["nearest"]) for warning in answer.get("warnings", ())]


def by_field(field: str) -> dict[str, Any]:
    return {"snapshot_filters": {field: {"op": "eq", "value": "open"}}}


def test_an_unknown_type_is_answered_with_the_one_that_was_meant(call: Call) -> None:
    call("store", entities=[TASK, ORDER])
    page = call("entities.query", filters={"entity_type": "sales_ordr"})
    assert page["entities"] == []
    assert proposed(page) == [("UNKNOWN_TYPE", "sales_order")]
    assert "did you mean sales_order?" in page["warnings"][0]["message"]


def test_a_list_of_a_type_near_to_none_says_that_nothing_is_of_it(call: Call) -> None:
    call("store", entities=[ORDER])
    (warning,) = call("entities.query", filters={"entity_type": "spaceship"})["warnings"]
    assert (warning["code"], "nearest" in warning) == ("UNKNOWN_TYPE", False)
    assert warning["message"] == "no entity is of the type spaceship, and no known type has a similar name"


def test_an_unknown_field_is_answered_with_the_one_that_was_meant(call: Call) -> None:
    call("store", entities=[TASK, ORDER])
    for filters in (by_field("state_of_wrok"), {**by_field("state_of_wrok"), "entity_type": "task"}):
        page = call("entities.query", filters=filters)
        assert page["entities"] == []
        (warning,) = page["warnings"]
        assert (warning["code"], warning["field"]) == ("UNKNOWN_FIELD", "state_of_wrok")
        assert warning["nearest"] == "state_of_work"


def test_a_field_that_only_the_shipped_type_declares_is_proposed(run: Call) -> None:
    assert proposed(run("entities.query", filters={"entity_type": "task", **by_field("statuss")})) == [
        ("UNKNOWN_FIELD", "status")
    ]


@pytest.mark.parametrize("name", ["observations.query", "timeline.list"])
def test_other_lists_propose_types_too(run: Call, name: str) -> None:
    run("store", entities=[TASK])
    assert proposed(run(name, entity_type="taks")) == [("UNKNOWN_TYPE", "task")]


def test_a_search_proposes_types_too(run: Call) -> None:
    run("store", entities=[ORDER])
    page = run("entities.query", search="Acme", entity_type="sales_ordr")
    assert proposed(page) == [("UNKNOWN_TYPE", "sales_order")]


@pytest.mark.parametrize("arguments", [{}, {"search": "Acme"}], ids=["list", "search"])
def test_an_unknown_type_among_several_is_answered_beside_the_entities_of_the_others(
    call: Call, arguments: dict[str, Any]
) -> None:
    call("store", entities=[TASK, ORDER])
    filters = {"entity_types": ["sales_order", "taks", "invoice"]}
    page = call("entities.query", filters=filters, **arguments)
    assert [entity["entity_type"] for entity in page["entities"]] == ["sales_order"]
    assert proposed(page) == [("UNKNOWN_TYPE", "task")]


@pytest.mark.parametrize(
    "filters",
    [
        {"entity_type": "person"},
        {"entity_type": "sales_order", "snapshot_filters": {"customer": {"op": "eq", "value": "Nobody"}}},
        by_field("mood"),
    ],
    ids=["a shipped type", "a known field", "a field near to none"],
)
def test_a_list_without_items_proposes_nothing_else(run: Call, filters: dict[str, Any]) -> None:
    run("store", entities=[TASK, ORDER])
    assert "warnings" not in run("entities.query", filters=filters)


def test_only_a_list_without_items_looks_for_names(loop: Loop, services: Services, owner: str) -> None:
    with faulty_services(loop, services) as (faulty, database):
        run = by_runner(loop, faulty, owner)
        run("store", entities=[TASK, ORDER])
        for filters in ({"entity_type": "sales_order"}, by_field("state_of_work"), {"entity_type": "person"}):
            database.names.clear()
            run("entities.query", filters=filters)
            assert "schema.names" not in database.names


def test_a_schema_of_an_unknown_type_is_refused_with_the_one_that_was_meant(run: Call) -> None:
    run("store", entities=[ORDER])
    for name, near in (("sales_ordr", "sales_order"), ("persn", "person")):
        with pytest.raises(NotFound) as missing:
            run("schemas.get", entity_type=name)
        assert str(missing.value).endswith(f"did you mean {near}?")
        assert missing.value.details["nearest"] == near
    with pytest.raises(NotFound) as missing:
        run("schemas.get", entity_type="nothing_like_it")
    assert "nearest" not in missing.value.details


def test_a_name_in_place_of_an_id_is_refused_with_the_tool_that_takes_names(run: Call, mcp: Call) -> None:
    run("store", entities=[ORDER])
    with pytest.raises(NotFound) as missing:
        run("entities.get", entity_id="Acme")
    assert "`graphmem entities search` finds an entity by its name" in str(missing.value)
    with pytest.raises(NotFound) as missing:
        run("entities.get", entity_id=f"ent_{'0' * 24}")
    says = "if it was deleted, include_deleted shows it"
    assert str(missing.value) == f"there is no entity ent_{'0' * 24}: {says}"
    with pytest.raises(
        NotFound, match=r"retrieve_entity_by_identifier.? finds an entity by its name"
    ) as missing:
        mcp("entities.get", entity_id="Acme")
    assert "POST" not in str(missing.value)
