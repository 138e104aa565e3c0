"""Storing, through every face."""

from __future__ import annotations

import pytest

from graphmem.errors import IdempotencyMismatch, InvalidInput, StoreRefused, UnknownField
from graphmem.model.items import ISSUES_LIMIT
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}
ACME = {"entity_type": "company", "name": "Acme"}
WORKS = {"relationship_type": "works at", "source_index": 0, "target_index": 1, "metadata": {"since": 1840}}


def test_what_is_stored_is_answered_and_read_back(call: Call) -> None:
    answer = call("store", entities=[ADA])
    (item,) = answer["entities"]
    assert (item["action"], item["version"], item["identity_basis"]) == ("created", 1, "name")
    assert item["entity_snapshot_after"] == {"name": "Ada Lovelace", "born": 1815}
    read = call("entities.get", entity_id=item["entity_id"])
    assert read["snapshot"] == item["entity_snapshot_after"]
    assert set(read["provenance"].values()) == {item["observation_id"]}


def test_the_same_key_and_content_is_replayed(run: Call) -> None:
    first = run("store", entities=[ADA], idempotency_key="k")
    run("store", entities=[{**ADA, "born": 1816}])
    again = run("store", entities=[ADA], idempotency_key="k")
    assert again["replayed"]
    assert (again["entities_created"], again["observations_created"]) == (0, 0)
    assert again["transaction_id"] == first["transaction_id"]
    assert again["entities"] == [{**item, "deduplicated": True} for item in first["entities"]]


def test_the_same_key_with_other_content_is_refused_and_writes_nothing(call: Call) -> None:
    call("store", entities=[ADA], idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        call("store", entities=[{**ADA, "born": 1816}], idempotency_key="k")
    assert call("server.stats")["total_observations"] == 1


def test_relationships_are_content_of_a_key_too(run: Call) -> None:
    first = run("store", entities=[ADA, ACME], relationships=[WORKS], idempotency_key="k")
    again = run("store", entities=[ADA, ACME], relationships=[WORKS], idempotency_key="k")
    assert again["replayed"]
    (made,), (replayed,) = first["relationships_created"], again["relationships_created"]
    assert replayed == {**made, "deduplicated": True}
    with pytest.raises(IdempotencyMismatch):
        run("store", entities=[ADA, ACME], idempotency_key="k")
    assert run("server.stats")["total_relationships"] == 1


def test_a_bad_item_refuses_the_whole_request_by_index(call: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        call("store", entities=[ADA, {"name": "nobody"}])
    (issue,) = refused.value.details["issues"]
    assert (issue["index"], issue["path"]) == (1, "$.entities[1].entity_type")
    assert call("server.stats")["total_entities"] == 0


def test_more_bad_items_than_a_refusal_lists_are_refused_like_few(call: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        call("store", entities=[{"name": f"n{number}"} for number in range(ISSUES_LIMIT + 1)])
    assert [issue["index"] for issue in refused.value.details["issues"]] == list(range(ISSUES_LIMIT))


def test_a_bad_relationship_refuses_the_items_too(call: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        call("store", entities=[ADA, ACME], relationships=[WORKS, {**WORKS, "target_index": 2}])
    (issue,) = refused.value.details["issues"]
    assert (issue["index"], issue["path"]) == (1, "$.relationships[1].target_index")
    assert call("server.stats")["total_entities"] == 0


def test_the_inverse_of_a_relationship_type_is_stored_with_the_ends_swapped(run: Call) -> None:
    answer = run("store", entities=[ADA, ACME], relationships=[{**WORKS, "relationship_type": "employs"}])
    ada, acme = (entity["entity_id"] for entity in answer["entities"])
    assert answer["relationships_created"][0]["relationship_key"] == f"WORKS_AT:{acme}:{ada}"
    (warning,) = [each for each in answer["store_warnings"] if each["code"] == "RELATIONSHIP_STORED_AS"]
    assert warning["relationship_type"] == "WORKS_AT"


def test_an_unknown_key_of_a_relationship_names_the_keys_of_relationships(call: Call) -> None:
    link = {"relationship_type": "WORKS_AT", "source": "Ida", "target": "Bo"}
    with pytest.raises(UnknownField) as refused:
        call("store", entities=[ADA, ACME], relationships=[link])
    details = refused.value.details
    assert details["json_paths"] == ["$.relationships[0].source", "$.relationships[0].target"]
    assert set(details["allowed_fields"]) == {
        "relationship_type", "metadata",
        "source_index", "source_entity_id", "target_index", "target_entity_id",
    }  # fmt: skip
    assert "give source_entity_id or source_index" in str(refused.value)
    assert "give target_entity_id or target_index" in details["issues"][1]["message"]


def test_a_plan_says_what_would_happen_and_writes_nothing(call: Call) -> None:
    plan = call("store", entities=[ADA, ACME], relationships=[WORKS], commit=False)
    assert [item["action"] for item in plan["entities"]] == ["would_create", "would_create"]
    assert (plan["transaction_id"], plan["recorded_at"], plan["commit"]) == (None, None, False)
    assert call("server.stats") == call("server.stats") | {"total_entities": 0, "sequence": 0}


def test_a_preview_is_asked_for_by_dry_run_or_by_commit(call: Call) -> None:
    for choice in ({"dry_run": True}, {"commit": False}, {"dry_run": True, "commit": False}):
        plan = call("store", entities=[ADA], **choice)
        assert (plan["entities"][0]["action"], plan["commit"]) == ("would_create", False)
    for choice in ({"dry_run": True, "commit": True}, {"dry_run": False, "commit": False}):
        with pytest.raises(InvalidInput, match="dry_run and commit contradict each other"):
            call("store", entities=[ADA], **choice)
    assert call("store", entities=[ADA], dry_run=False, commit=True)["entities_created"] == 1


def test_storing_a_then_b_then_a_again_is_three_observations(run: Call) -> None:
    for mood in ("calm", "angry", "calm"):
        answer = run("store", entities=[{**ADA, "mood": mood}])
    (item,) = answer["entities"]
    assert (item["version"], item["entity_snapshot_after"]["mood"]) == (3, "calm")
    page = run("observations.query", filters={"entity_id": item["entity_id"]}, include_total_count=True)
    moods = [observation["fields"]["mood"] for observation in page["observations"]]
    assert moods == ["calm", "angry", "calm"]
    assert page["total"] == 3


def test_values_of_every_kind_come_back_through_every_face(call: Call, exact) -> None:
    fields = {
        "nothing_nested": [None, {"a": None}],
        "big": 10**399 + 7,
        "small": -(10**399),
        "one": 1,
        "one_float": 1.0,
        "yes": True,
        "minus_zero": -0.0,
        "huge": 1e21,
        "tiny": 1e-7,
        "nested": {"b": [[], {}, ""], "a": {"ß": [1, 1.0, True, "1"]}},
        "unicode": "e\u0301 \U0001f9d1\u200d\U0001f680 \u202eabc\u202c \x00 \x7f \ufeff \ufffd",
        "': \"`$.": "odd name",
        "empty": "",
    }
    (item,) = call("store", entities=[{"entity_type": "thing", "name": "values", **fields}])["entities"]
    expected = exact({"name": "values", **fields})
    assert exact(item["entity_snapshot_after"]) == expected
    assert exact(call("entities.snapshot", entity_id=item["entity_id"])["snapshot"]) == expected
    (observation,) = call("observations.query", filters={"entity_id": item["entity_id"]})["observations"]
    assert exact(observation["fields"]) == expected
