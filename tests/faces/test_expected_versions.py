"""Changes that expect a version of their entity, and corrections of several fields."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import IdempotencyMismatch, InvalidInput, NotFound, StoreRefused, VersionConflict
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from graphmem.settings import Settings
from graphmem.writing import TurnLimits, Writers
from tests.faces.conftest import Together
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.rule_merging import ADA, ADA_BY_EMAIL

PLACE = {"entity_type": "place", "name": "Ockham"}


def stored(call: Call, *items: dict[str, Any]) -> list[str]:
    return [each["entity_id"] for each in call("store", entities=list(items))["entities"]]


def conflict(call: Call, name: str, **arguments: Any) -> tuple[str, int, int]:
    """Return the details of the conflict with which a call is refused."""
    with pytest.raises(VersionConflict) as refusal:
        call(name, **arguments)
    details = refusal.value.details
    return details["entity_id"], details["expected_version"], details["current_version"]


def test_each_change_of_an_entity_is_refused_for_another_version(run: Call) -> None:
    place, other = stored(run, PLACE, {**PLACE, "name": "Ripley"})
    observation_id = run("store", entities=[{**PLACE, "note": "a"}])["entities"][0]["observation_id"]
    split = {
        "source_entity_id": place, "predicate": {"observation_ids": [observation_id]},
        "new_entity": {"entity_type": "place", "canonical_name": "Ockham Mill"},
    }  # fmt: skip
    version = 2
    changes: list[tuple[str, dict[str, Any]]] = [
        ("store", {}),
        ("entities.correct", {"entity_id": place, "field": "note", "value": "c"}),
        ("entities.correct", {"entity_id": place, "corrections": {"note": "d"}}),
        ("entities.correct", {"entity_id": place, "field": "note", "release": True}),
        ("entities.delete", {"entity_id": place}),
        ("entities.restore", {"entity_id": place}),
        ("entities.split", split),
        ("entities.merge", {"source_entity_id": other, "target_entity_id": place}),
    ]
    for name, arguments in changes:
        for expected in (version - 1, version + 1, version):
            given = {**arguments, "expected_version": expected}
            if name == "store":
                given = {"entities": [{**PLACE, "note": "b", "expected_version": expected}]}
            if expected != version:
                assert conflict(run, name, **given) == (place, expected, version), name
                assert run("entities.get", entity_id=place, include_deleted=True)["version"] == version
                continue
            run(name, **given)
            version = run("entities.get", entity_id=place, include_deleted=True)["version"]
            assert version > expected, name


def test_what_is_no_id_is_not_found_whatever_version_is_expected(run: Call) -> None:
    [place] = stored(run, PLACE)
    for odd in (":", "a:b", "a:b:c", "a:b:c:d"):
        with pytest.raises(NotFound):
            run("entities.merge", source_entity_id=place, target_entity_id=odd, expected_version=0)


def test_an_item_may_expect_that_there_is_no_entity_yet(call: Call) -> None:
    new = {**PLACE, "expected_version": 0}
    (place,) = stored(call, new)
    (found,) = call("entities.query", entity_type="place")["entities"]
    assert "expected_version" not in found["snapshot"]
    # One item of many refuses all of them.
    two = [{**PLACE, "name": "Ripley"}, new]
    assert conflict(call, "store", entities=two) == (place, 0, 1)
    assert len(call("entities.query", entity_type="place")["entities"]) == 1
    missing = {**PLACE, "name": "Ripley", "expected_version": 3}
    assert conflict(call, "store", entities=[missing])[1:] == (3, 0)
    with pytest.raises(StoreRefused, match="must be the version"):
        call("store", entities=[{**PLACE, "expected_version": True}])
    with pytest.raises(NotFound):
        call("entities.correct", entity_id="ent_" + "0" * 24, field="a", value=1, expected_version=1)


def test_what_a_rule_merges_at_once_is_not_new(run: Call) -> None:
    (by_email,) = stored(run, ADA_BY_EMAIL)
    assert conflict(run, "store", entities=[{**ADA, "expected_version": 0}]) == (by_email, 0, 1)
    assert run("observations.query", filters={"entity_id": by_email})["observations"][1:] == []
    stored(run, {**ADA, "town": "London", "expected_version": 0, "intent": "create_new"})


def test_the_version_of_a_merged_entity_is_that_of_its_survivor(run: Call) -> None:
    source, target = stored(run, PLACE, {**PLACE, "name": "Ripley"})
    run("entities.merge", source_entity_id=source, target_entity_id=target, expected_version=1)
    correction = {"entity_id": source, "field": "note", "value": "a"}
    assert conflict(run, "entities.correct", **correction, expected_version=1) == (target, 1, 2)
    assert run("entities.correct", **correction, expected_version=2)["version"] == 3


def test_a_replay_is_no_conflict_and_a_dry_run_shows_one(run: Call) -> None:
    (place,) = stored(run, PLACE)
    first = {"entity_id": place, "field": "note", "value": "a", "idempotency_key": "k", "expected_version": 1}
    assert [run("entities.correct", **first)["replayed"] for _ in range(2)] == [False, True]
    items = {"entities": [{**PLACE, "note": "b", "expected_version": 2}], "idempotency_key": "l"}
    assert [run("store", **items)["replayed"] for _ in range(2)] == [False, True]
    for other in ({"expected_version": 3}, {"expected_version": None}):
        with pytest.raises(IdempotencyMismatch):
            run("entities.correct", **{**first, **other})
        with pytest.raises(IdempotencyMismatch):
            run("store", **{**items, "entities": [{**items["entities"][0], **other}]})
    planned = {"entities": [{**PLACE, "note": "c", "expected_version": 2}], "dry_run": True}
    assert conflict(run, "store", **planned) == (place, 2, 3)
    split = {
        "source_entity_id": place, "predicate": {"observation_field_equals": {"field": "note", "value": "b"}},
        "new_entity": {"entity_type": "place", "canonical_name": "Mill"}, "dry_run": True,
    }  # fmt: skip
    assert conflict(run, "entities.split", **split, expected_version=2) == (place, 2, 3)
    assert run("entities.split", **split, expected_version=3)["dry_run"]


def test_of_writers_that_expect_one_version_one_wins(together: Together, run: Call) -> None:
    (place,) = stored(run, PLACE)
    items = [[{**PLACE, "note": str(i), "expected_version": 1}] for i in range(20)]
    outcomes = together("store", [{"entities": each} for each in items])
    refused = [each for each in outcomes if isinstance(each, VersionConflict)]
    assert len(refused) == 19
    assert {each.details["current_version"] for each in refused} == {2}
    deletions = together("entities.delete", [{"entity_id": place, "expected_version": 2}] * 20)
    assert sum(isinstance(each, VersionConflict) for each in deletions) == 19


def test_of_two_processes_that_expect_one_version_one_wins(
    loop: Loop, services: Services, settings: Settings, owner: str, run: Call
) -> None:
    (place,) = stored(run, PLACE)

    async def write(where: Services, number: int, version: int) -> bool:
        arguments = {"entity_id": place, "field": "note", "value": number, "expected_version": version}
        try:
            answer = await REGISTRY["entities.correct"].run(where, full_actor(owner), arguments)
        except VersionConflict:
            return False
        return canonical.decode(answer)["version"] == version + 1

    async def rounds() -> None:
        async with open_services(settings) as second:
            # Small turns, so that the two meet often.
            limits = TurnLimits(requests=2)
            both = [
                replace(each, writers=Writers(each.database, each.settings, each.embedder, limits))
                for each in (services, second)
            ]
            for version in range(1, 6):
                wins = await asyncio.gather(*(write(both[i % 2], i, version) for i in range(8)))
                assert sum(wins) == 1

    loop.run(rounds())
    assert run("entities.get", entity_id=place)["version"] == 6


def test_several_fields_are_corrected_at_once_or_not_at_all(call: Call) -> None:
    (place,) = stored(call, {**PLACE, "phone": "1", "note": "a", "size": 2})
    corrections = {"phone": "2", "note": None, "size": [3]}
    answer = call("entities.correct", entity_id=place, corrections=corrections)
    assert (answer["corrections"], answer["version"]) == (corrections, 2)
    assert answer["snapshot"] == {"name": "Ockham", "phone": "2", "size": [3]}
    assert not {"field", "value"} & answer.keys()
    (kept,) = call("observations.query", filters={"observation_id": answer["observation_id"]})["observations"]
    assert (kept["kind"], kept["fields"]) == ("correction", corrections)
    with pytest.raises(StoreRefused):
        call("entities.correct", entity_id=place, corrections={"phone": "3", "x" * 300: 1})
    both = {"corrections": {"phone": "4"}, "value": 1}
    for wrong in ({}, {"corrections": {}}, both, {**both, "field": "phone"}, {"release": True}):
        with pytest.raises(InvalidInput):
            call("entities.correct", entity_id=place, **wrong)
    assert call("entities.get", entity_id=place)["version"] == 2


def test_the_release_of_one_field_warns_of_those_corrected_with_it(run: Call) -> None:
    (place,) = stored(run, {**PLACE, "phone": "1", "note": "a"})
    run("entities.correct", entity_id=place, corrections={"phone": "2", "note": "b"})
    released = run("entities.correct", entity_id=place, field="phone", release=True)
    (warning,) = released["store_warnings"]
    assert (warning["code"], warning["field"]) == ("RELEASED_TOGETHER", "note")
    assert released["snapshot"] == {"name": "Ockham", "phone": "2", "note": "b"}
    assert run("store", entities=[{**PLACE, "note": "c"}])["store_warnings"] == []
    assert run("server.check_snapshots")["healthy"]
