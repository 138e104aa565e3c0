"""Merges by rule beside facts: merges that somebody asked for, deletions, and what no alternative made."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.model import canonical, times
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.rule_merging import (
    ADA,
    ADA_BY_EMAIL,
    OTHER_ADA,
    Audited,
    before,
    home_of,
    homes,
    shown_as,
    store,
)


@pytest.mark.parametrize("is_rule_first", [True, False])
def test_a_merge_that_is_a_fact_beats_the_rule_whichever_came_first(
    run: Call, audited: Audited, is_rule_first: bool
) -> None:
    by_name = home_of(run, ADA)
    other = home_of(run, {**ADA, "name": "Augusta King"})
    if is_rule_first:
        by_email = home_of(run, ADA_BY_EMAIL)
        assert shown_as(run, by_name) == [by_email]
    run("entities.merge", source_entity_id=by_name, target_entity_id=other)
    merged_at = run("server.stats")["last_updated"]
    by_email = home_of(run, ADA_BY_EMAIL)
    store(run, {**ADA_BY_EMAIL, "town": "London"})
    assert shown_as(run, by_name, by_email) == [other, by_email]
    former = by_email if is_rule_first else by_name
    assert shown_as(run, by_name, at_ingested=before(merged_at)) == [former]
    assert home_of(run, ADA) == by_name
    assert audited(True) == {}
    run("entities.unmerge", entity_id=by_name)
    assert shown_as(run, by_name) == [by_email]
    assert audited(True) == {}


def test_a_deletion_neither_ends_nor_makes_a_merge_by_rule(run: Call, audited: Audited) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    run("entities.delete", entity_id=by_email)
    (stored,) = store(run, {**ADA, "town": "London"})
    assert (stored["entity_id"], stored["home_entity_id"], stored["resolved_by"]) == (
        by_email,
        by_name,
        "rule",
    )
    hidden = run("entities.get", entity_id=by_name, include_deleted=True)
    assert (hidden["entity_id"], hidden["state"]) == (by_email, "deleted")
    assert audited(True) == {}
    run("entities.restore", entity_id=by_email)
    assert shown_as(run, by_name) == [by_email]
    other = home_of(run, OTHER_ADA)
    assert shown_as(run, by_name) == [by_name]
    run("entities.delete", entity_id=other)
    assert shown_as(run, by_name) == [by_name]
    assert audited(True) == {}


def test_a_store_under_a_hidden_member_is_answered_with_a_warning(run: Call) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    run("entities.delete", entity_id=by_email)
    answer = run("store", entities=[{**ADA, "town": "London"}])
    (stored,) = answer["entities"]
    assert (stored["home_entity_id"], stored["resolved_by"]) == (by_name, "rule")
    assert [(each["code"], each["index"]) for each in answer["store_warnings"]] == [("ENTITY_DELETED", 0)]


def test_all_that_fit_are_proposed_as_duplicates(run: Call) -> None:
    by_name, by_email, other = homes(store(run, ADA, ADA_BY_EMAIL, OTHER_ADA))
    candidates = run("entities.duplicates", entity_type="person", threshold=0.5)["candidates"]
    proposed = {frozenset((pair["entity_a"], pair["entity_b"])) for pair in candidates}
    assert proposed >= {frozenset((by_name, by_email)), frozenset((by_name, other))}


@pytest.mark.parametrize(
    ("fields", "basis"), [({"phone": "+44 1632 960001"}, "phone"), ({"note": "tall"}, "content")]
)
def test_what_no_alternative_made_is_another_candidate_and_no_target(
    run: Call, audited: Audited, fields: dict[str, Any], basis: str
) -> None:
    (unnamed,) = store(run, {"entity_type": "person", **fields})
    assert unnamed["identity_basis"] == basis
    store(run, {"target_id": unnamed["entity_id"], "name": "Ada Lovelace"})
    by_name = home_of(run, ADA)
    assert shown_as(run, by_name) == [by_name]
    by_email = home_of(run, ADA_BY_EMAIL)
    assert shown_as(run, by_name) == [by_name]
    assert audited(True) == {}
    run("entities.merge", source_entity_id=unnamed["entity_id"], target_entity_id=by_email)
    assert shown_as(run, by_name) == [by_email]
    assert audited(True) == {}


def test_a_plan_and_a_replay_say_that_the_rule_leads_to_the_survivor(run: Call) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    sequence = run("server.stats")["sequence"]
    (planned,) = store(run, ADA, commit=False)
    assert run("server.stats")["sequence"] == sequence
    first, again = (run("store", entities=[ADA], idempotency_key="k") for _ in range(2))
    assert (first["replayed"], again["replayed"]) == (False, True)
    for stored in (planned, first["entities"][0], again["entities"][0]):
        assert (stored["resolved_by"], stored["entity_id"]) == ("rule", by_email)
        assert stored["home_entity_id"] == by_name


def test_stores_that_share_a_turn_merge_each_with_its_own_transaction(
    run: Call, loop: Loop, services: Services, owner: str, audited: Audited
) -> None:
    home_of(run, {"entity_type": "person", "name": "Charles Babbage"})
    actor = full_actor(owner)

    async def together() -> list[dict[str, Any]]:
        requests = [{"entities": [item]} for item in (ADA, ADA_BY_EMAIL, OTHER_ADA)]
        answers = await asyncio.gather(
            *(REGISTRY["store"].run(services, actor, request) for request in requests)
        )
        return [canonical.decode(answer) for answer in answers]

    answers = loop.run(together())
    by_name, by_email, _ = (homes(answer["entities"])[0] for answer in answers)
    moments = [answer["recorded_at"] for answer in answers]
    start, *_ = micros = [times.parse(moment) for moment in moments]
    assert micros == [start, start + 1, start + 2], "they are transactions of one turn"
    shown = [shown_as(run, by_name, at_ingested=moment)[0] for moment in moments]
    assert shown == [by_name, by_email, by_name]
    assert shown_as(run, by_name) == [by_name]
    assert audited(True) == {}
