"""Relationships as people say them: inverses, other names and symmetric types."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import GraphmemError, InvalidInput, NotFound
from tests.support.faces import Call

PEOPLE = [{"entity_type": "person", "name": name} for name in ("Ada Grau", "Ben Grau", "Cleo Grau")]


def link(name: str, source: int = 0, target: int = 1, **more: Any) -> dict[str, Any]:
    return {"relationship_type": name, "source_index": source, "target_index": target, **more}


def stored(run: Call, *links: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]], list[dict[str, Any]]]:
    """Store people with relationships; return the ids, the relationships and the warnings about types."""
    answer = run("store", entities=PEOPLE, relationships=list(links), find_duplicates=False)
    warnings = [each for each in answer["store_warnings"] if each["code"] == "RELATIONSHIP_STORED_AS"]
    return [each["entity_id"] for each in answer["entities"]], answer["relationships_created"], warnings


def snapshot(run: Call, key: str) -> dict[str, Any]:
    return run("relationships.get", relationship_id=key)["snapshot"]


def keys(run: Call, **filters: Any) -> list[str]:
    return [each["relationship_key"] for each in run("relationships.list", filters=filters)["relationships"]]


def test_an_inverse_is_stored_with_its_ends_swapped_and_the_receipt_says_so(run: Call) -> None:
    (ada, ben, _), (made,), (warning,) = stored(run, link("is child of"))
    assert made["relationship_key"] == f"PARENT_OF:{ben}:{ada}"
    assert (made["source_entity_id"], made["target_entity_id"]) == (ben, ada)
    assert warning == {
        "code": "RELATIONSHIP_STORED_AS",
        "index": 0,
        "relationship_type": "PARENT_OF",
        "message": "is child of is stored as PARENT_OF with source and target swapped",
    }
    for arguments in (
        {"relationship_type": "CHILD_OF", "source_entity_id": ada, "target_entity_id": ben},
        {"relationship_type": "PARENT_OF", "source_entity_id": ben, "target_entity_id": ada},
        {"relationship_key": f"CHILD_OF:{ada}:{ben}"},
    ):
        assert run("relationships.snapshot", **arguments)["relationship_key"] == made["relationship_key"]
    assert (
        run("relationships.get", relationship_id=f"CHILD_OF:{ada}:{ben}")["relationship_type"] == "PARENT_OF"
    )
    created = run(
        "relationships.create", relationship_type="parent of", source_entity_id=ben, target_entity_id=ada
    )
    assert (created["action"], created["store_warnings"]) == ("matched_existing", [])
    created = run("relationships.create_many", relationships=[
        {"relationship_type": "son of", "source_entity_id": ada, "target_entity_id": ben}
    ])  # fmt: skip
    assert [each["message"] for each in created["store_warnings"]] == [
        "son of is stored as PARENT_OF with source and target swapped"
    ]
    assert snapshot(run, made["relationship_key"]) == {"target_role": "son"}
    gone = run(
        "relationships.delete", relationship_type="child of", source_entity_id=ada, target_entity_id=ben
    )
    assert (gone["relationship_key"], gone["is_live"]) == (made["relationship_key"], False)


def test_filters_read_an_inverse_from_the_other_end(run: Call) -> None:
    (ada, ben, _), (made,), _ = stored(run, link("PARENT_OF"))
    key = made["relationship_key"]
    for filters, expected in (
        ({"relationship_type": "child of"}, [key]),
        ({"relationship_type": "child of", "source_entity_id": ben}, [key]),
        ({"relationship_type": "child of", "source_entity_id": ada}, []),
        ({"relationship_type": "child of", "target_entity_id": ada, "source_entity_id": ben}, [key]),
        ({"relationship_type": "child of", "entity_id": ben, "direction": "outgoing"}, [key]),
        ({"relationship_type": "child of", "entity_id": ben, "direction": "incoming"}, []),
    ):
        assert keys(run, **filters) == expected, filters
    for direction, expected in (("outgoing", [key]), ("incoming", []), ("both", [key])):
        page = run("entities.related", entity_id=ben, relationship_types=["CHILD_OF"], direction=direction)
        assert [each["relationship_key"] for each in page["relationships"]] == expected
    page = run("entities.query", filters={"related_to": ada, "relationship_types": ["CHILD_OF"]})
    assert [each["entity_id"] for each in page["entities"]] == [ben]
    with pytest.raises(InvalidInput, match="go different ways"):
        run("entities.related", entity_id=ben, relationship_types=["CHILD_OF", "OWNS"], direction="outgoing")


def test_what_a_name_says_beside_its_type_is_kept(run: Call) -> None:
    _, (siblings, works, was), warnings = stored(
        run,
        link("is brother of", metadata={"since": "1990"}),
        link("WORKED_FOR", 0, 2),
        link("was a friend of", 1, 2, metadata={"current": True}),
    )
    assert snapshot(run, siblings["relationship_key"]) == {"since": "1990", "source_role": "brother"}
    assert (works["relationship_type"], was["relationship_type"]) == ("WORKS_AT", "FRIEND_OF")
    assert snapshot(run, works["relationship_key"]) == {"current": False}
    # What the caller says counts.
    assert snapshot(run, was["relationship_key"]) == {"current": True}
    assert [each["index"] for each in warnings] == [0, 1, 2]


def test_two_entities_have_one_relationship_of_a_symmetric_type(run: Call) -> None:
    (ada, ben, cleo), (made, again), (warning,) = stored(run, link("MARRIED_TO"), link("is husband of", 1, 0))
    key = made["relationship_key"]
    assert key == f"MARRIED_TO:{ada}:{ben}" == again["relationship_key"]
    assert warning["message"] == "is husband of is stored as MARRIED_TO with source and target swapped"
    assert snapshot(run, key) == {"target_role": "husband"}
    created = run(
        "relationships.create", relationship_type="MARRIED_TO", source_entity_id=ben, target_entity_id=ada,
        metadata={"since": "2015", "source_role": "wife"},
    )  # fmt: skip
    assert (created["relationship_key"], created["action"]) == (key, "matched_existing")
    assert created["snapshot"] == {"since": "2015", "target_role": "wife"}
    ends = {"relationship_type": "MARRIED_TO", "source_entity_id": ben, "target_entity_id": ada}
    assert run("relationships.snapshot", **ends)["relationship_key"] == key
    assert run("relationships.get", relationship_id=f"MARRIED_TO:{ben}:{ada}")["relationship_key"] == key
    assert keys(run, **ends) == keys(run, relationship_type="MARRIED_TO", source_entity_id=ben) == [key]
    page = run("entities.related", entity_id=ben, relationship_types=["MARRIED_TO"], direction="outgoing")
    assert page["total"] == 1
    run("relationships.delete", **ends)
    assert keys(run, entity_id=ada) == []
    restored = run("relationships.restore", **ends)
    assert (restored["relationship_key"], restored["is_live"]) == (key, True)
    with pytest.raises(NotFound):
        run("relationships.get", relationship_id=f"MARRIED_TO:{ben}:{cleo}")


def test_a_fault_is_told_at_the_end_that_was_given(call: Call) -> None:
    (ada, _, _), _, _ = stored(call)
    missing = "ent_" + "0" * 24
    with pytest.raises(GraphmemError) as refused:
        call(
            "relationships.create",
            relationship_type="CHILD_OF",
            source_entity_id=missing,
            target_entity_id=ada,
        )
    (issue,) = refused.value.details["issues"]
    assert (issue["code"], issue["path"]) == ("ERR_RELATIONSHIP_ENTITY_NOT_FOUND", "$.source_entity_id")
