"""Saying that two entities are two: what is proposed after that, and what undoes it."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from graphmem.model.fact_records import pair_of
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

NOBODY = "ent_" + "0" * 24


def two(run: Call, name: str = "Apollo", count: int = 2) -> list[str]:
    """Store entities of one name; return their ids, the least first."""
    items = [{"entity_type": "thing", "intent": "create_new", "name": name} for _ in range(count)]
    return sorted(entity["entity_id"] for entity in run("store", entities=items)["entities"])


def pairs(run: Call, **arguments: Any) -> set[tuple[str, str]]:
    """Return the proposed pairs."""
    answer = run("entities.duplicates", **arguments)
    proposed = {(row["entity_a"], row["entity_b"]) for row in answer["candidates"]}
    assert answer["total"] == len(proposed)
    return proposed


def test_a_dismissed_pair_is_proposed_no_more(run: Call) -> None:
    a, b, c = two(run, count=3)
    answer = run("entities.dismiss_duplicates", entity_a=b, entity_b=a, reason="twins")
    assert (answer["entity_a"], answer["entity_b"]) == (a, b)
    assert (answer["dismissed"], answer["changed"], len(answer["dismissal_ids"])) == (True, True, 1)
    assert pairs(run) == {(a, c), (b, c)}
    assert pairs(run, entity_id=a) == {(a, c)}
    assert pairs(run, include_dismissed=True) == {(a, b), (a, c), (b, c)}
    listed = run("entities.duplicates", include_dismissed=True)["candidates"]
    (dismissed,) = [row["dismissed"] for row in listed if "dismissed" in row]
    assert dismissed == {
        "dismissal_id": answer["dismissal_ids"][0],
        "entity_a": a,
        "entity_b": b,
        "dismissed_at": answer["recorded_at"],
        "reason": "twins",
        "agent": "anonymous",
    }


def test_a_dismissal_can_be_undone_and_made_again(run: Call) -> None:
    a, b = two(run)
    for _ in range(2):
        run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
        assert pairs(run) == set()
        undone = run("entities.dismiss_duplicates", entity_a=a, entity_b=b, undo=True)
        assert (undone["dismissed"], undone["changed"]) == (False, True)
        assert pairs(run) == {(a, b)}


def test_what_holds_already_is_answered_and_not_written(run: Call) -> None:
    a, b = two(run)
    nothing = run("entities.dismiss_duplicates", entity_a=a, entity_b=b, undo=True)
    assert (nothing["changed"], nothing["dismissal_ids"], nothing["transaction_id"]) == (False, [], None)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b, reason="first")
    before = run("server.stats")
    assert run("entities.dismiss_duplicates", entity_a=b, entity_b=a, reason="again")["changed"] is False
    assert run("server.stats") == before
    (row,) = run("entities.duplicates", include_dismissed=True)["candidates"]
    assert row["dismissed"]["reason"] == "first"


def test_a_key_repeats_a_dismissal(run: Call) -> None:
    a, b = two(run)
    first = run("entities.dismiss_duplicates", entity_a=a, entity_b=b, idempotency_key="k")
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b, undo=True)
    again = run("entities.dismiss_duplicates", entity_a=b, entity_b=a, idempotency_key="k")
    assert again == {**first, "replayed": True}
    assert pairs(run) == {(a, b)}


def test_a_key_repeats_also_what_changed_nothing(run: Call) -> None:
    a, b = two(run)
    undo = {"entity_a": a, "entity_b": b, "undo": True, "idempotency_key": "k"}
    first = run("entities.dismiss_duplicates", **undo)
    assert first["changed"] is False
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    assert run("entities.dismiss_duplicates", **undo) == {**first, "replayed": True}
    assert pairs(run) == set()


@pytest.mark.parametrize("undo", [False, True])
def test_entities_that_are_missing_or_the_same_are_refused(run: Call, undo: bool) -> None:
    a, _ = two(run)
    with pytest.raises(NotFound):
        run("entities.dismiss_duplicates", entity_a=a, entity_b=NOBODY, undo=undo)
    with pytest.raises(InvalidInput):
        run("entities.dismiss_duplicates", entity_a=a, entity_b=a, undo=undo)


def test_a_dismissed_pair_can_be_merged_and_stays_dismissed_after_an_unmerge(run: Call) -> None:
    a, b = two(run)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    run("entities.merge", source_entity_id=a, target_entity_id=b)
    with pytest.raises(InvalidInput, match="unmerge"):
        run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    run("entities.unmerge", source_entity_id=a)
    assert pairs(run) == set()


def test_a_dismissal_ends_also_while_its_pair_is_merged(run: Call) -> None:
    a, b = two(run)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    run("entities.merge", source_entity_id=a, target_entity_id=b)
    assert run("entities.dismiss_duplicates", entity_a=a, entity_b=b, undo=True)["changed"] is True
    run("entities.unmerge", source_entity_id=a)
    assert pairs(run) == {(a, b)}


def test_a_dismissal_holds_for_what_its_ends_are_merged_into(run: Call) -> None:
    a, b, c = two(run, count=3)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    run("entities.merge", source_entity_id=a, target_entity_id=c)
    assert pairs(run) == set()
    shown = pair_of(b, c)
    assert pairs(run, include_dismissed=True) == {shown}
    assert run("entities.dismiss_duplicates", entity_a=b, entity_b=c)["changed"] is False
    undone = run("entities.dismiss_duplicates", entity_a=b, entity_b=c, undo=True)
    assert (undone["changed"], pairs(run)) == (True, {shown})


def test_a_store_names_no_dismissed_candidate(run: Call) -> None:
    """An entity whose observations are withdrawn is created anew by the next store of its name."""
    file = {"file_content": base64.b64encode(b"x").decode(), "mime_type": "text/plain"}
    (first,) = two(run, "Ada Lovelace", 1)
    item = {"entity_type": "thing", "name": "Ada Lovelace"}
    stored = run("store", entities=[item], **file)
    second = stored["entities"][0]["entity_id"]
    run("entities.dismiss_duplicates", entity_a=first, entity_b=second)
    run("sources.withdraw", source_id=stored["source_id"])
    (entity,) = run("store", entities=[item])["entities"]
    assert (entity["entity_id"], entity["action"]) == (second, "created")
    assert "duplicate_candidates" not in entity
    run("entities.dismiss_duplicates", entity_a=first, entity_b=second, undo=True)
    run("entities.delete", entity_id=second)
    assert pairs(run) == set()


def test_another_owner_s_entities_cannot_be_dismissed(run: Call, loop: Loop, services: Services) -> None:
    a, b = two(run)
    with pytest.raises(NotFound):
        by_runner(loop, services, str(uuid.uuid4()))("entities.dismiss_duplicates", entity_a=a, entity_b=b)
