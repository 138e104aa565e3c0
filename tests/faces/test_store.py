"""Storing, through every face."""

from __future__ import annotations

import pytest

from graphmem.errors import IdempotencyMismatch, StoreRefused
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}


def test_what_is_stored_is_answered_and_read_back(call: Call) -> None:
    stored = call("store", entities=[ADA])
    (item,) = stored["entities"]
    assert (item["action"], item["version"], item["identity_basis"]) == ("created", 1, "name")
    assert item["entity_snapshot_after"] == {"name": "Ada Lovelace", "born": 1815}
    read = call("entities.get", entity_id=item["entity_id"])
    assert read["snapshot"] == item["entity_snapshot_after"]
    assert set(read["provenance"].values()) == {item["observation_id"]}


def test_the_same_key_and_content_is_replayed(call: Call) -> None:
    first = call("store", entities=[ADA], idempotency_key="k")
    call("store", entities=[{**ADA, "born": 1816}])
    again = call("store", entities=[ADA], idempotency_key="k")
    assert again["replayed"]
    assert (again["entities_created"], again["observations_created"]) == (0, 0)
    assert again["transaction_id"] == first["transaction_id"]
    assert again["entities"] == [{**item, "deduplicated": True} for item in first["entities"]]


def test_the_same_key_with_other_content_is_refused_and_writes_nothing(call: Call) -> None:
    call("store", entities=[ADA], idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        call("store", entities=[{**ADA, "born": 1816}], idempotency_key="k")
    assert call("server.stats")["total_observations"] == 1


def test_a_bad_item_refuses_the_whole_request_by_index(call: Call) -> None:
    with pytest.raises(StoreRefused) as refused:
        call("store", entities=[ADA, {"name": "nobody"}])
    (issue,) = refused.value.details["issues"]
    assert (issue["index"], issue["path"]) == (1, "$.entities[1].entity_type")
    assert call("server.stats")["total_entities"] == 0
