"""Merging entities and undoing it: nothing moves, nothing is lost, and every earlier state stays readable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound, StoreRefused
from graphmem.writing import merging
from tests.support.event_loop import Loop
from tests.support.faces import Call

JANUARY, FEBRUARY = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
NOBODY = "ent_" + "0" * 24


@pytest.fixture
def three(run: Call) -> list[str]:
    """Three people at one company, two of them related: Ada, Ada L and the Countess; then the company."""
    people = [
        {"entity_type": "person", "name": "Ada", "phone": "1", "born": 1815},
        {"entity_type": "person", "name": "Ada L", "town": "London", "phone": "2", "observed_at": FEBRUARY},
        {"entity_type": "person", "name": "Countess", "title": "Countess"},
        {"entity_type": "company", "name": "Acme"},
    ]
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 3, "metadata": {"since": 1}},
        {"relationship_type": "WORKS_AT", "source_index": 1, "target_index": 3, "metadata": {"role": "x"}},
        {"relationship_type": "MANAGES", "source_index": 0, "target_index": 1},
    ]
    answer = run("store", entities=people, relationships=links, observed_at=JANUARY)
    return [item["entity_id"] for item in answer["entities"]]


def merge(run: Call, source: str, target: str, **more: Any) -> dict[str, Any]:
    return run("entities.merge", source_entity_id=source, target_entity_id=target, **more)


def views(run: Call, *entity_ids: str) -> list[str]:
    """What is shown of some entities, as text."""
    entities = [run("entities.get", entity_id=entity_id) for entity_id in entity_ids]
    return [
        json.dumps([entity["snapshot"], entity["provenance"], entity["canonical_name"]])
        for entity in entities
    ]


def links(run: Call, entity_id: str) -> list[dict[str, Any]]:
    return run("relationships.list", filters={"entity_id": entity_id})["relationships"]


def test_both_ids_show_the_survivor_with_what_both_have(run: Call, three: list[str]) -> None:
    ada, other, *_ = three
    answer = merge(run, ada, other, merge_reason="one person")
    assert (answer["observations_moved"], answer["relationships_repointed"]) == (1, 2)
    for entity_id in (ada, other):
        entity = run("entities.get", entity_id=entity_id)
        assert entity["entity_id"] == other
        assert entity["snapshot"] == {"name": "Ada L", "phone": "2", "born": 1815, "town": "London"}
    # Three observations: the two that were stored, and the merge itself.
    assert entity["observation_count"] == 3


def test_the_names_of_both_find_the_survivor(run: Call, three: list[str]) -> None:
    merge(run, three[0], three[1])
    for name in ("ada", "ADA L"):
        (entity,) = run("entities.find", identifier=name)["entities"]
        assert entity["entity_id"] == three[1]


def test_lists_and_counts_have_the_survivor_alone(run: Call, three: list[str]) -> None:
    merge(run, three[0], three[1])
    page = run("entities.query", filters={"entity_type": "person"}, include_total_count=True)
    assert {entity["entity_id"] for entity in page["entities"]} == {three[1], three[2]}
    assert page["total"] == 2
    assert run("server.stats")["entities_by_type"] == {"company": 1, "person": 2}


def test_relationships_are_shown_once_at_the_survivor(run: Call, three: list[str]) -> None:
    ada, other, _, acme = three
    merge(run, ada, other)
    (only,) = links(run, other)
    assert only["relationship_key"] == f"WORKS_AT:{other}:{acme}"
    assert only["snapshot"] == {"since": 1, "role": "x"}
    assert run("server.stats")["total_relationships"] == 1
    by_old_key = run("relationships.snapshot", relationship_key=f"WORKS_AT:{ada}:{acme}")
    assert by_old_key["relationship_key"] == only["relationship_key"]
    assert len(by_old_key["observations"]) == 2


def test_deleting_a_shown_relationship_deletes_all_that_it_stands_for(run: Call, three: list[str]) -> None:
    ada, other, _, acme = three
    merge(run, ada, other)
    run("relationships.delete", relationship_key=f"WORKS_AT:{ada}:{acme}")
    assert links(run, other) == []
    with pytest.raises(NotFound):
        run("relationships.delete", relationship_key=f"WORKS_AT:{other}:{acme}")
    run("entities.unmerge", source_entity_id=ada)
    assert [link["relationship_type"] for link in links(run, acme)] == []
    run("relationships.restore", relationship_key=f"WORKS_AT:{ada}:{acme}")
    assert [link["source_entity_id"] for link in links(run, acme)] == [ada]


def test_merged_entities_cannot_be_related_to_each_other(call: Call, three: list[str]) -> None:
    merge(call, three[0], three[1])
    with pytest.raises(StoreRefused):
        call(
            "relationships.create",
            relationship_type="OWNS",
            source_entity_id=three[0],
            target_entity_id=three[1],
        )


@pytest.mark.parametrize("times", [1, 5])
def test_merge_and_unmerge_leave_no_trace_in_what_is_shown(run: Call, three: list[str], times: int) -> None:
    before, state = views(run, *three), run("server.stats")["state_hash"]
    for _ in range(times):
        merge(run, three[0], three[1])
        assert run("server.stats")["state_hash"] != state
        run("entities.unmerge", source_entity_id=three[0])
    assert views(run, *three) == before
    assert run("server.stats")["state_hash"] == state
    assert len(links(run, three[0])) == 2


def test_what_is_stored_under_the_old_name_shows_at_once_and_leaves_with_it(
    run: Call, three: list[str]
) -> None:
    ada, other, *_ = three
    merge(run, ada, other)
    answer = run("store", entities=[{"entity_type": "person", "name": "Ada", "hat": "green"}])
    (item,) = answer["entities"]
    assert (item["entity_id"], item["home_entity_id"]) == (other, ada)
    assert item["entity_snapshot_after"]["hat"] == "green"
    assert item["entity_snapshot_after"]["town"] == "London"
    run("entities.correct", entity_id=ada, field="town", value="Paris")
    assert run("entities.get", entity_id=other)["snapshot"]["town"] == "Paris"
    run("entities.unmerge", source_entity_id=ada)
    assert run("entities.get", entity_id=other)["snapshot"] == {
        "name": "Ada L", "phone": "2", "town": "London",
    }  # fmt: skip
    left = run("entities.get", entity_id=ada)["snapshot"]
    assert (left["hat"], left["town"]) == ("green", "Paris")


def test_a_backfill_from_before_the_merge_takes_its_place(run: Call, three: list[str]) -> None:
    merge(run, three[0], three[1])
    late = {"entity_type": "person", "name": "Ada", "phone": "0", "hair": "dark", "observed_at": "2025-01-01"}
    (item,) = run("store", entities=[late])["entities"]
    assert item["entity_snapshot_after"]["phone"] == "2"
    assert item["entity_snapshot_after"]["hair"] == "dark"


def test_chains_compose_and_come_apart(run: Call, three: list[str]) -> None:
    ada, other, countess, acme = three
    before = views(run, ada, other, countess)
    merge(run, ada, other)
    merge(run, other, countess)
    entity = run("entities.get", entity_id=ada)
    assert (entity["entity_id"], entity["snapshot"]["born"]) == (countess, 1815)
    assert [link["source_entity_id"] for link in links(run, acme)] == [countess]
    run("entities.unmerge", source_entity_id=other)
    assert run("entities.get", entity_id=ada)["entity_id"] == other
    assert views(run, countess) == before[2:]
    assert [link["source_entity_id"] for link in links(run, acme)] == [other]
    run("entities.unmerge", source_entity_id=ada)
    assert views(run, ada, other, countess) == before


def test_deleting_the_survivor_hides_all_and_unmerging_gives_each_its_own_state(
    run: Call, three: list[str]
) -> None:
    ada, other, *_ = three
    merge(run, ada, other)
    with pytest.raises(InvalidInput):
        run("entities.delete", entity_id=ada)
    run("entities.delete", entity_id=other)
    for entity_id in (ada, other):
        with pytest.raises(NotFound):
            run("entities.get", entity_id=entity_id)
    assert run("observations.query", filters={"entity_type": "person"})["observations"] != []
    assert all(
        observation["entity_id"] not in (ada, other)
        for observation in run("observations.query", filters={"entity_type": "person"})["observations"]
    )
    run("entities.unmerge", source_entity_id=ada)
    assert run("entities.get", entity_id=ada)["snapshot"]["born"] == 1815
    with pytest.raises(NotFound):
        run("entities.get", entity_id=other)


def test_times_before_the_merge_show_the_entities_apart(run: Call, three: list[str]) -> None:
    ada, other, *_ = three
    merged = merge(run, ada, other)
    run("entities.unmerge", source_entity_id=ada)
    before = run("entities.snapshot", entity_id=ada, at=FEBRUARY)
    assert (before["entity_id"], "town" in before["snapshot"]) == (ada, False)
    then = run("entities.snapshot", entity_id=ada, at_ingested=merged["merged_at"])
    assert (then["entity_id"], then["snapshot"]["town"]) == (other, "London")
    now = run("entities.snapshot", entity_id=ada)
    assert (now["entity_id"], "town" in now["snapshot"]) == (ada, False)
    assert now["version"] == run("entities.snapshot", entity_id=ada, at_ingested="2036-01-01")["version"]


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        (0, 0, InvalidInput), (0, None, NotFound), (None, 0, NotFound), (2, 1, InvalidInput),
        (1, 2, InvalidInput),
    ],
)  # fmt: skip
def test_what_cannot_be_merged_is_refused_and_changes_nothing(
    call: Call, three: list[str], source: int | None, target: int | None, error: type[Exception]
) -> None:
    call("entities.delete", entity_id=three[2])
    before = call("server.stats")
    ends = [NOBODY if place is None else three[place] for place in (source, target)]
    with pytest.raises(error):
        merge(call, *ends)
    assert call("server.stats") == before


def test_a_merged_entity_is_refused_as_source_and_as_target_of_a_merge(call: Call, three: list[str]) -> None:
    merge(call, three[0], three[1])
    for source, target in ((0, 2), (2, 0)):
        with pytest.raises(InvalidInput, match="merged into"):
            merge(call, three[source], three[target])


def test_an_entity_that_is_not_merged_cannot_be_unmerged(call: Call, three: list[str]) -> None:
    with pytest.raises(NotFound):
        call("entities.unmerge", source_entity_id=three[0])
    merge(call, three[0], three[1])
    with pytest.raises(NotFound):
        call("entities.unmerge", source_entity_id=three[0], target_entity_id=three[2])


def test_the_same_key_merges_once(run: Call, three: list[str]) -> None:
    first = merge(run, three[0], three[1], idempotency_key="m")
    again = merge(run, three[0], three[1], idempotency_key="m")
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["merged_at"] == again["merged_at"]


def test_a_replay_of_a_store_answers_as_of_its_time(run: Call, three: list[str]) -> None:
    item = {"entity_type": "person", "name": "Ada", "hat": "green"}
    first = run("store", entities=[item], idempotency_key="s")
    merge(run, three[0], three[1])
    again = run("store", entities=[item], idempotency_key="s")
    assert again["entities"][0]["entity_snapshot_after"] == first["entities"][0]["entity_snapshot_after"]


def test_entities_of_two_types_can_be_merged(run: Call, three: list[str]) -> None:
    merge(run, three[3], three[2])
    entity = run("entities.get", entity_id=three[3])
    assert (entity["entity_id"], entity["entity_type"]) == (three[2], "person")


def test_entities_of_two_types_with_schemas_can_be_merged_and_unmerged(run: Call) -> None:
    things = [
        {"entity_type": "thing", "name": "Bo", "a": [1]},
        {"entity_type": "gadget", "name": "Ada", "a": [2]},
    ]
    ids = [item["entity_id"] for item in run("store", entities=things, observed_at=JANUARY)["entities"]]
    union = {"a": {"type": "array", "merge": "merge_array"}, "name": {"type": "string"}}
    run("schemas.register", schema={"entity_type": "thing", "fields": union})
    before, state = views(run, *ids), run("server.stats")["state_hash"]
    merge(run, ids[1], ids[0])
    assert sorted(run("entities.get", entity_id=ids[1])["snapshot"]["a"]) == [1, 2]
    assert run("server.check_snapshots")["healthy"]
    run("entities.unmerge", source_entity_id=ids[1])
    assert (views(run, *ids), run("server.stats")["state_hash"]) == (before, state)


def test_replays_answer_as_of_their_time_whatever_was_merged_since(run: Call, three: list[str]) -> None:
    ada, other, _, acme = three
    merge(run, ada, other)
    link = {
        "relationship_type": "OWNS",
        "source_entity_id": ada,
        "target_entity_id": acme,
        "metadata": {"n": 1},
    }
    first = run("relationships.create", **link, idempotency_key="c")
    run("entities.unmerge", source_entity_id=ada)
    again = run("relationships.create", **link, idempotency_key="c")
    assert (again["replayed"], again["snapshot"]) == (True, first["snapshot"])
    (manages,) = [
        relationship for relationship in links(run, ada) if relationship["relationship_type"] == "MANAGES"
    ]
    named = {"relationship_key": manages["relationship_id"], "idempotency_key": "d"}
    run("relationships.delete", **named)
    merge(run, ada, other)
    assert run("relationships.delete", **named)["replayed"]


def test_more_entities_than_may_be_one_are_not_merged(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MEMBERS_LIMIT", 2)
    answer = run("store", entities=[{"entity_type": "thing", "name": name} for name in "abc"])
    a, b, c = (item["entity_id"] for item in answer["entities"])
    run("entities.merge", source_entity_id=a, target_entity_id=b)
    with pytest.raises(InvalidInput, match="more than 2 entities would be merged into one") as refused:
        run("entities.merge", source_entity_id=b, target_entity_id=c)
    assert [issue["path"] for issue in refused.value.details["issues"]] == ["$.target_entity_id"]
    assert run("entities.get", entity_id=a)["entity_id"] == b


def test_a_null_of_one_member_does_not_clear_the_value_of_another(run: Call) -> None:
    first, second = (
        {"entity_type": "person", "name": "Dr. Hallen"},
        {"entity_type": "person", "name": "Dr Halen"},
    )
    target, source = (
        run("store", entities=[each])["entities"][0]["entity_id"]
        for each in (first, {**second, "dose": "zinc"})
    )
    run("entities.correct", entity_id=target, field="dose", value="zinc")
    run("entities.correct", entity_id=source, field="dose", value=None)
    merge(run, source, target)
    for now in ({}, {"at": run("entities.snapshot", entity_id=target)["computed_at"]}):
        snapshot = run("entities.snapshot", entity_id=target, **now)["snapshot"]
        assert snapshot == {"name": "Dr. Hallen", "dose": "zinc"}
    (warning,) = run("entities.correct", entity_id=source, field="dose", value=None)["store_warnings"]
    assert (warning["code"], warning["field"]) == ("OTHER_MEMBER_SHOWN", "dose")
    # The value goes once every member has cleared its own.
    cleared = run("entities.correct", entity_id=target, field="dose", value=None)
    assert "dose" not in cleared["snapshot"]


@pytest.mark.parametrize(("name_from", "shown"), [(None, "Annika Lund"), ("source", "Anika Lund")])
def test_the_name_of_the_target_stays_unless_the_merge_says_otherwise(
    call: Call, name_from: str | None, shown: str
) -> None:
    target = call("store", entities=[{"entity_type": "person", "name": "Annika Lund", "phone": "1"}])
    source = call(
        "store",
        entities=[{"entity_type": "person", "name": "Anika Lund", "canonical_name": "A. Lund", "phone": "2"}],
    )
    ids = [each["entities"][0]["entity_id"] for each in (source, target)]
    merge(call, *ids, **({"name_from": name_from} if name_from else {}))
    survivor = call("entities.get", entity_id=ids[1])
    assert survivor["snapshot"]["name"] == shown
    assert survivor["canonical_name"] == ("A. Lund" if name_from else "Annika Lund")
    assert survivor["snapshot"]["phone"] == "2"


def test_a_merge_that_was_stored_before_there_were_versions_folds_as_it_did(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    items = [
        {"entity_type": "person", "name": name, "city": city}
        for name, city in (("Ada", "Rome"), ("Bo", None))
    ]
    target, source = (run("store", entities=[item])["entities"][0]["entity_id"] for item in items)
    merge(run, source, target)
    assert run("entities.get", entity_id=target)["snapshot"] == {"name": "Ada", "city": "Rome"}
    script = (
        "MATCH (entity:Entity {id: $source, owner: $o}) SET entity.merge_rule = null "
        "WITH entity MATCH (entity)-[:HAS_HISTORY]->()-[:OBSERVED]->(merge:Observation {kind: 'merge'}) "
        "SET merge.fields = ['into'], merge.values = [merge.values[0]]"
    )
    loop.run(services.database.script(script, source=source, o=owner))
    checked = run("server.check_snapshots", auto_fix=True)
    assert checked["stale_snapshots"], checked
    assert run("entities.get", entity_id=target)["snapshot"] == {"name": "Bo"}
    assert run("server.check_snapshots")["stale_snapshots"] == []
