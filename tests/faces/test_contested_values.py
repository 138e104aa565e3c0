"""Lists of contested values: which there are, who says what, and how far back they look."""

from __future__ import annotations

from typing import Any

from graphmem.operations.contested_values import SCANNED_LIMIT
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
DAY = "2026-02-01T09:00:00Z"
LATER = "2026-02-02T09:00:00Z"


def store_city(run: Call, city: str, observed_at: str, **more: Any) -> str:
    """Store where Ada lives; return her id."""
    (stored,) = run("store", entities=[{**ADA, "city": city}], observed_at=observed_at, **more)["entities"]
    return stored["entity_id"]


def test_contested_values_are_listed_after_a_schema_was_changed(run: Call) -> None:
    store_city(run, "Ockham", DAY)
    store_city(run, "London", DAY, observation_source="sensor")
    run("schemas.register", schema={"entity_type": "person", "fields": {"city": {"type": "string"}}})
    (entity,) = run("entities.contested")["entities"]
    assert [field["field"] for field in entity["fields"]] == ["city"]


def test_a_contested_value_has_both_values_and_the_observation_of_each(run: Call) -> None:
    ada = store_city(run, "Ockham", DAY)
    assert run("entities.contested")["entities"] == []
    store_city(run, "London", DAY, observation_source="sensor")
    # Of another city that was said before, nobody is in doubt.
    store_city(run, "Bath", "2026-01-01T00:00:00Z")
    run("store", entities=[{"entity_type": "person", "name": "Bob"}])
    answer = run("entities.contested")
    (entity,) = answer["entities"]
    assert (answer["scanned"], answer["truncated"]) == (2, False)
    assert (entity["entity_id"], entity["entity_type"], entity["canonical_name"]) == (
        ada,
        "person",
        "Ada Lovelace",
    )
    (city,) = entity["fields"]
    both = {city["value"]: city, **{each["value"]: each for each in city["contested"]}}
    assert (city["field"], set(both)) == ("city", {"Ockham", "London"})
    stored = {each["id"]: each for each in run("observations.query", entity_id=ada)["observations"]}
    for value, each in both.items():
        observation = stored[each["observation_id"]]
        assert observation["fields"]["city"] == value
        assert observation["observed_at"] == each["observed_at"]
        assert observation["provenance"]["by"]
    assert run("entities.contested", entity_type="company")["entities"] == []


def test_each_face_lists_the_same_and_what_is_resolved_no_longer(
    run: Call, rest: Call, mcp: Call, cli: Call
) -> None:
    ada = store_city(run, "Ockham", DAY)
    store_city(run, "London", DAY)
    contested = run("entities.contested")
    (city,) = contested["entities"][0]["fields"]
    assert {city["value"], city["contested"][0]["value"]} == {"Ockham", "London"}
    assert [face("entities.contested") for face in (rest, mcp, cli)] == [contested] * 3
    run("entities.correct", entity_id=ada, field="city", value="London")
    for face in (run, rest, mcp, cli):
        assert face("entities.contested")["entities"] == []


def test_a_value_is_contested_no_longer_once_both_say_the_same_or_one_was_corrected(run: Call) -> None:
    ada = store_city(run, "Ockham", DAY)
    store_city(run, "London", DAY)
    assert len(run("entities.contested")["entities"]) == 1
    store_city(run, "London", LATER)
    assert run("entities.contested")["entities"] == []
    store_city(run, "Bath", LATER)
    assert len(run("entities.contested")["entities"]) == 1
    run("entities.correct", entity_id=ada, field="city", value="Bath")
    assert run("entities.contested")["entities"] == []


def test_the_entities_that_were_observed_last_are_looked_at(run: Call) -> None:
    store_city(run, "Ockham", DAY)
    store_city(run, "London", DAY)
    newer = [{"entity_type": "sample", "name": f"Sample {number}"} for number in range(SCANNED_LIMIT - 1)]
    run("store", entities=newer, observed_at=LATER)
    answer = run("entities.contested")
    assert (len(answer["entities"]), answer["scanned"], answer["truncated"]) == (1, SCANNED_LIMIT, False)
    run("store", entities=[{"entity_type": "sample", "name": "One more"}], observed_at=LATER)
    answer = run("entities.contested")
    assert (answer["entities"], answer["scanned"], answer["truncated"]) == ([], SCANNED_LIMIT, True)
    assert len(run("entities.contested", entity_type="person")["entities"]) == 1
