"""Arguments of other services: taken where the value asks for nothing, else refused as unknown names are."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.auth import Actor
from graphmem.errors import UnknownField
from graphmem.foreign_arguments import asking_something
from graphmem.registry import REGISTRY
from tests.faces.test_http_edges import Http, http
from tests.support.actors import full_actor
from tests.support.faces import Call

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


@pytest.mark.parametrize(
    ("operation", "refused"),
    [
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
    ],
)  # fmt: skip
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
