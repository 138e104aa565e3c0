"""Splitting an entity and undoing it: no observation is changed, and every earlier state stays readable."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from tests.support.audits import differences
from tests.support.event_loop import Loop
from tests.support.faces import Call

JANUARY, FEBRUARY, MARCH = (f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3))
NOBODY = "ent_" + "0" * 24
OSLO = {"entity_type": "person", "canonical_name": "Anna Berg (Oslo)"}


def anna(**fields: Any) -> dict[str, Any]:
    return {"entity_type": "person", "name": "Anna Berg", **fields}


@pytest.fixture
def one(run: Call) -> dict[str, Any]:
    """Two people of one name who became one entity, with a company of each."""
    items = [
        anna(city="Bergen", born=1980, observed_at=JANUARY),
        anna(city="Oslo", title="Dr", observed_at=FEBRUARY),
        anna(phone="22 33 44 55", observed_at=MARCH),
        {"entity_type": "company", "name": "Fjord"},
        {"entity_type": "company", "name": "Akershus"},
    ]
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 3, "metadata": {"since": 2001}},
        {"relationship_type": "WORKS_AT", "source_index": 1, "target_index": 4, "metadata": {"since": 2020}},
    ]
    answer = run("store", entities=items, relationships=links)
    ids = [item["entity_id"] for item in answer["entities"]]
    assert len(set(ids[:3])) == 1
    return {
        "anna": ids[0], "fjord": ids[3], "akershus": ids[4],
        "observations": [item["observation_id"] for item in answer["entities"][:3]],
        "keys": [link["relationship_key"] for link in answer["relationships_created"]],
        "stored_at": answer["recorded_at"],
    }  # fmt: skip


def split(run: Call, one: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Split what was observed in February and later from Anna."""
    arguments: dict[str, Any] = {"predicate": {"observed_at_gte": FEBRUARY}, "new_entity": OSLO, **more}
    return run("entities.split", source_entity_id=one["anna"], **arguments)


def shown(run: Call, entity_id: str, **clocks: Any) -> dict[str, Any]:
    return run("entities.snapshot", entity_id=entity_id, **clocks)["snapshot"]


BERGEN = {"name": "Anna Berg", "city": "Bergen", "born": 1980}
BOTH = {**BERGEN, "city": "Oslo", "title": "Dr", "phone": "22 33 44 55"}
NEW = {"name": "Anna Berg", "city": "Oslo", "title": "Dr", "phone": "22 33 44 55"}


def test_what_fits_counts_for_the_new_entity_and_nothing_else_changes(
    run: Call, one: dict[str, Any], loop: Loop, services: Services, owner: str
) -> None:
    before = run("observations.query", filters={"entity_id": one["anna"]})["observations"]
    answer = split(run, one)
    assert (answer["observations_moved"], answer["observations_left"], answer["created"]) == (2, 1, True)
    assert (answer["pending"], answer["relationships_moved"]) == (0, [])
    new = answer["new_entity_id"]
    assert shown(run, one["anna"]) == BERGEN
    assert shown(run, new) == NEW
    entity = run("entities.get", entity_id=new)
    assert (entity["canonical_name"], entity["observation_count"]) == ("Anna Berg (Oslo)", 3)
    assert run("entities.get", entity_id=one["anna"])["observation_count"] == 1
    listed = run("observations.query", filters={"entity_id": new})["observations"]
    assert {each["id"] for each in listed} > set(one["observations"][1:])
    assert {each["entity_id"] for each in listed} == {new}
    moved = [each for each in listed if each["id"] in one["observations"]]
    assert {(each.pop("home_entity_id"), each.pop("split_id")) for each in moved} == {
        (one["anna"], answer["split_id"])
    }
    moved = [each | {"entity_id": one["anna"]} for each in moved]
    assert moved == [each for each in before if each["id"] in one["observations"][1:]]
    assert len(run("relationships.list", filters={"entity_id": one["anna"]})["relationships"]) == 2
    assert run("server.stats")["entities_by_type"] == {"company": 2, "person": 2}
    assert differences(loop, services, owner, deep=True) == {}
    assert differences(loop, services, owner, deep=False) == {}


def test_fields_lead_to_their_observations_at_both(run: Call, one: dict[str, Any]) -> None:
    new = split(run, one)["new_entity_id"]
    assert run("entities.provenance", entity_id=new, field="city")["observation_ids"] == [
        one["observations"][1]
    ]
    assert run("entities.provenance", entity_id=one["anna"], field="city")["observation_ids"] == [
        one["observations"][0]
    ]
    with pytest.raises(NotFound):
        run("entities.provenance", entity_id=one["anna"], field="title")


def test_before_the_split_was_known_there_is_one_entity(run: Call, one: dict[str, Any]) -> None:
    answer = split(run, one)
    new = answer["new_entity_id"]
    assert shown(run, one["anna"], at_ingested=one["stored_at"]) == BOTH
    assert shown(run, new, at_ingested=one["stored_at"]) == {}
    # The second clock alone: at every time of observation it is two.
    assert shown(run, one["anna"], at=FEBRUARY) == BERGEN
    assert shown(run, new, at=FEBRUARY) == {"name": "Anna Berg", "city": "Oslo", "title": "Dr"}
    assert shown(run, new, at=JANUARY) == {}


def test_an_undone_split_shows_one_entity_again(
    run: Call, one: dict[str, Any], loop: Loop, services: Services, owner: str
) -> None:
    answer = split(run, one, relationships=[one["keys"][1]])
    new = answer["new_entity_id"]
    undone = run("entities.unsplit", split_id=answer["split_id"], reason="one person")
    assert (undone["observations_moved"], undone["new_entity_id"]) == (2, new)
    assert shown(run, one["anna"]) == BOTH
    with pytest.raises(NotFound):
        run("entities.get", entity_id=new, include_deleted=True)
    assert run("server.stats")["entities_by_type"] == {"company": 2, "person": 1}
    assert run("entities.query", search="Anna Berg Oslo", entity_type="person")["entities"][1:] == []
    assert run("entities.duplicates", entity_type="person", threshold=0.5)["candidates"] == []
    assert shown(run, new, at_ingested=answer["split_at"]) == NEW
    assert shown(run, one["anna"], at_ingested=answer["split_at"]) == BERGEN
    keys = {
        row["relationship_key"]
        for row in run("relationships.list", filters={"entity_id": one["anna"]})["relationships"]
    }
    assert keys == set(one["keys"])
    with pytest.raises(NotFound, match="undone already"):
        run("entities.unsplit", split_id=answer["split_id"])
    assert differences(loop, services, owner, deep=True) == {}


def test_named_relationships_are_shown_at_the_new_entity(
    run: Call, one: dict[str, Any], loop: Loop, services: Services, owner: str
) -> None:
    answer = split(run, one, relationships=[one["keys"][1]])
    new = answer["new_entity_id"]
    key = f"WORKS_AT:{new}:{one['akershus']}"
    assert answer["relationships_moved"] == [key]
    (only,) = run("relationships.list", filters={"entity_id": new})["relationships"]
    assert (only["relationship_key"], only["snapshot"]) == (key, {"since": 2020})
    (left,) = run("relationships.list", filters={"entity_id": one["anna"]})["relationships"]
    assert left["relationship_key"] == one["keys"][0]
    related = run("entities.related", entity_id=one["akershus"])
    assert {entity["entity_id"] for entity in related["entities"]} == {new}
    then = {"at_ingested": one["stored_at"]}
    rows = run("relationships.list", filters={"entity_id": one["anna"]}, **then)["relationships"]
    assert {row["relationship_key"] for row in rows} == set(one["keys"])
    assert run("relationships.list", filters={"entity_id": new}, **then)["relationships"] == []
    assert differences(loop, services, owner, deep=True) == {}


def test_later_stores_follow_the_identity_rule_and_no_store_undoes_a_split(
    run: Call, one: dict[str, Any]
) -> None:
    new = split(run, one)["new_entity_id"]
    again = run("store", entities=[anna(city="Oslo", title="Dr", observed_at=FEBRUARY)])
    assert again["entities"][0]["deduplicated"]
    later = run("store", entities=[anna(city="Tromsø")])
    assert later["entities"][0]["entity_id"] == one["anna"]
    run("store", entities=[{"target_id": new, "city": "Moss"}])
    assert shown(run, one["anna"]) == {**BERGEN, "city": "Tromsø"}
    assert shown(run, new) == {**NEW, "city": "Moss"}


def test_the_two_are_no_duplicates_and_may_be_again(run: Call, one: dict[str, Any]) -> None:
    answer = split(run, one)
    pair = {one["anna"], answer["new_entity_id"]}

    def proposed() -> list[set[str]]:
        rows = run("entities.duplicates", entity_type="person", threshold=0.5)["candidates"]
        return [{row["entity_a"], row["entity_b"]} for row in rows]

    assert pair not in proposed()
    run("store", entities=[{"target_id": answer["new_entity_id"], "name": "Anna Berg"}])
    run("entities.unsplit", split_id=answer["split_id"])
    assert (
        pair in proposed()
        or run("entities.get", entity_id=one["anna"])["entity_id"] == answer["new_entity_id"]
    )


@pytest.mark.parametrize("stored", ["observation", "relationship"])
def test_what_was_stored_for_the_new_entity_stays_with_it(
    run: Call, one: dict[str, Any], loop: Loop, services: Services, owner: str, stored: str
) -> None:
    answer = split(run, one, relationships=[one["keys"][1]])
    new = answer["new_entity_id"]
    if stored == "observation":
        run("store", entities=[{"target_id": new, "shoe_size": 39}])
    else:
        ends = {"source_entity_id": one["fjord"], "target_entity_id": new}
        run("relationships.create", relationship_type="EMPLOYS", **ends)
    run("entities.unsplit", split_id=answer["split_id"])
    assert shown(run, one["anna"]) == BOTH
    entity = run("entities.get", entity_id=new)
    assert (entity["canonical_name"], entity["snapshot"]) == (
        "Anna Berg (Oslo)", {"shoe_size": 39} if stored == "observation" else {},
    )  # fmt: skip
    assert differences(loop, services, owner, deep=True) == {}


def test_a_pair_that_somebody_dismissed_before_stays_dismissed(run: Call, one: dict[str, Any]) -> None:
    other = run("store", entities=[{**anna(), "intent": "create_new"}])["entities"][0]["entity_id"]
    dismissed = run("entities.dismiss_duplicates", entity_a=one["anna"], entity_b=other)
    answer = split(run, one, new_entity={"target_entity_id": other})
    run("entities.unsplit", split_id=answer["split_id"])
    rows = run("entities.duplicates", entity_type="person", include_dismissed=True)["candidates"]
    found = [
        row["dismissed"]["dismissal_id"]
        for row in rows
        if {row["entity_a"], row["entity_b"]} == {one["anna"], other}
    ]
    assert found == dismissed["dismissal_ids"]


def test_several_conditions_must_all_hold(run: Call, one: dict[str, Any]) -> None:
    predicate = {"observed_at_gte": JANUARY, "observation_field_equals": {"field": "city", "value": "Oslo"}}
    answer = split(run, one, predicate=predicate)
    assert (answer["observations_moved"], answer["observations_left"]) == (1, 2)
    assert shown(run, one["anna"]) == {**BERGEN, "phone": "22 33 44 55"}


def test_the_observations_of_a_source_move(run: Call, one: dict[str, Any]) -> None:
    stored = run(
        "store", entities=[anna(city="Voss")], mime_type="text/plain",
        file_content=base64.b64encode(b"Anna of Voss").decode(),
    )  # fmt: skip
    source_id = stored["structured"]["source_id"] if "structured" in stored else stored["source_id"]
    answer = split(run, one, predicate={"source_id_in": [source_id]})
    new = answer["new_entity_id"]
    assert shown(run, new)["city"] == "Voss"
    around = run("graph.neighborhood", node_id=source_id, node_type="source", include_observations=True)
    assert [each["entity_id"] for each in around["related_entities"]] == [new]
    assert {each["entity_id"] for each in around["observations"]} == {new}
    # A withdrawn source does not count for either; it counts for the new entity again.
    run("sources.withdraw", source_id=source_id)
    assert "city" not in shown(run, new)
    run("sources.reinstate", source_id=source_id)
    assert shown(run, new)["city"] == "Voss"
    assert shown(run, one["anna"]) == BOTH


def test_the_newest_split_of_an_observation_decides(
    run: Call, one: dict[str, Any], loop: Loop, services: Services, owner: str
) -> None:
    first = split(run, one)
    ids = {"observation_ids": [one["observations"][1]]}
    second = run(
        "entities.split", source_entity_id=first["new_entity_id"], predicate=ids,
        new_entity={"entity_type": "person", "canonical_name": "Third"},
    )  # fmt: skip
    third = second["new_entity_id"]
    assert shown(run, third) == {"name": "Anna Berg", "city": "Oslo", "title": "Dr"}
    run("entities.unsplit", split_id=first["split_id"])
    assert shown(run, third) == {"name": "Anna Berg", "city": "Oslo", "title": "Dr"}
    assert shown(run, one["anna"]) == {**BERGEN, "phone": "22 33 44 55"}
    run("entities.unsplit", split_id=second["split_id"])
    assert shown(run, one["anna"]) == BOTH
    assert differences(loop, services, owner, deep=True) == {}


def test_a_member_of_a_merge_may_be_split(run: Call, one: dict[str, Any]) -> None:
    item = {"entity_type": "person", "name": "A. Berg", "shoe_size": 39}
    other = run("store", entities=[item])["entities"][0]["entity_id"]
    run("entities.merge", source_entity_id=other, target_entity_id=one["anna"])
    predicate = {"observation_field_equals": {"field": "shoe_size", "value": 39}}
    answer = run("entities.split", source_entity_id=other, predicate=predicate, new_entity=OSLO)
    assert answer["source_entity_id"] == one["anna"]
    assert shown(run, answer["new_entity_id"]) == {"name": "A. Berg", "shoe_size": 39}
    assert "shoe_size" not in shown(run, one["anna"])


@pytest.mark.parametrize(
    "more",
    [
        {"predicate": {"observed_at_gte": "2027-01-01"}},
        {"predicate": {"observed_at_gte": "2020-01-01"}},
        {"predicate": {"observation_field_equals": {"field": "city", "value": "oslo"}}},
        {"predicate": {"observation_ids": ["obs_" + "0" * 32]}},
        {"predicate": {}},
        {"new_entity": {"entity_type": "person"}},
        {"new_entity": {**OSLO, "target_entity_id": NOBODY}},
    ],
    ids=str,
)
def test_a_split_that_leaves_one_side_empty_or_says_too_little_is_refused(
    run: Call, one: dict[str, Any], more: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        split(run, one, **more)
    assert shown(run, one["anna"]) == BOTH
    assert run("server.stats")["total_entities"] == 3


def test_what_is_not_there_is_not_split(run: Call, one: dict[str, Any]) -> None:
    with pytest.raises(NotFound):
        split(run, {"anna": NOBODY})
    with pytest.raises(NotFound):
        split(run, one, new_entity={"target_entity_id": NOBODY})
    with pytest.raises(NotFound):
        split(run, one, relationships=[f"MANAGES:{one['anna']}:{one['fjord']}"])
    with pytest.raises(NotFound):
        run("entities.unsplit", split_id="spl_" + "0" * 24)
    with pytest.raises(InvalidInput, match="already"):
        split(run, one, new_entity={"target_entity_id": one["anna"]})


def test_a_dry_run_answers_what_would_change_and_writes_nothing(run: Call, one: dict[str, Any]) -> None:
    before = run("server.stats")
    plan = split(run, one, relationships=[one["keys"][1]], dry_run=True)
    assert (plan["split_id"], plan["new_entity_id"], plan["observations_moved"]) == (None, None, 2)
    changed = {each["canonical_name"]: each for each in plan["entities"]}
    fields = {
        each["field"]: (each["old_value"], each["new_value"]) for each in changed["Anna Berg"]["fields"]
    }
    assert fields.pop("name") == ("Anna Berg", "Anna Berg")
    assert fields == {"city": ("Oslo", "Bergen"), "title": ("Dr", None), "phone": ("22 33 44 55", None)}
    assert changed["Anna Berg (Oslo)"]["change"] == "appears"
    assert [each["change"] for each in plan["relationships"]] == ["appears"]
    assert run("server.stats") == before
    assert shown(run, one["anna"]) == BOTH


def test_a_key_is_answered_again_and_splits_once(run: Call, one: dict[str, Any]) -> None:
    first = split(run, one, idempotency_key="k")
    again = split(run, one, idempotency_key="k")
    assert again == {**first, "replayed": True}


def test_before_anything_counts_an_entity_has_its_name_of_today_if_nothing_of_it_changed_since(
    run: Call,
) -> None:
    """What was recorded after ``at_ingested`` does not show: a name may come from it."""
    kit = {"entity_type": "thing", "name": "Kit"}
    items = [{**kit, "a": n, "observed_at": each} for n, each in enumerate((JANUARY, FEBRUARY, MARCH))]
    source = run("store", entities=items)["entities"][0]["entity_id"]
    box, crate = ({"entity_type": "thing", "canonical_name": name} for name in ("Box", "Crate"))
    predicate = {"observed_at_gte": FEBRUARY}
    new = run("entities.split", source_entity_id=source, predicate=predicate, new_entity=box)["new_entity_id"]
    known = run("server.stats")["last_updated"]

    def name(**clocks: str) -> str:
        early = {"entity_id": new, "at": "2025-01-01T00:00:00Z", **clocks}
        return run("entities.snapshot", **early)["canonical_name"]

    assert (name(), name(at_ingested=known)) == ("Box", "Box")
    predicate = {"observation_field_equals": {"field": "a", "value": 2}}
    again = run("entities.split", source_entity_id=new, predicate=predicate, new_entity=crate)
    run("entities.unsplit", split_id=again["split_id"])
    assert (name(), name(at_ingested=known)) == ("Box", f"thing {new[4:12]}")
