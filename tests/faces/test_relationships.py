"""Writing and reading relationships, through every face."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from graphmem.errors import NotFound, StoreRefused
from tests.support.faces import Call

NOBODY = "ent_" + "0" * 24


@pytest.fixture
def people(run: Call) -> list[str]:
    """The ids of three people."""
    answer = run("store", entities=[{"entity_type": "person", "name": name} for name in ("Ann", "Bo", "Cy")])
    return [entity["entity_id"] for entity in answer["entities"]]


def create(call: Call, source: str, target: str, kind: str = "WORKS_AT", **more: object) -> dict:
    """Relate two entities."""
    return call(
        "relationships.create",
        relationship_type=kind,
        source_entity_id=source,
        target_entity_id=target,
        **more,
    )


def test_a_created_relationship_is_read_by_its_key_and_its_id(run: Call, people: list[str]) -> None:
    made = create(run, *people[:2], kind="works-at", metadata={"since": 2020})
    assert (made["action"], made["relationship_type"], made["snapshot"]) == (
        "created",
        "WORKS_AT",
        {"since": 2020},
    )
    for name in (made["relationship_key"], made["relationship_id"]):
        read = run("relationships.get", relationship_id=name)
        assert read["snapshot"] == {"since": 2020}
        assert read["provenance"] == {"since": made["observation_id"]}


def test_metadata_is_observed_and_reduced(run: Call, people: list[str]) -> None:
    create(run, *people[:2], metadata={"since": 2020, "role": "cook"})
    made = create(run, *people[:2], metadata={"since": 2021, "role": None})
    periods = [{"since": 2020, "role": "cook"}, {"since": 2021}]
    assert (made["action"], made["version"]) == ("matched_existing", 2)
    assert made["snapshot"] == {"since": 2021, "periods": periods}


@pytest.mark.parametrize("ends", [(0, None), (None, 0), (0, 0)])
def test_ends_of_a_relationship_must_be_two_stored_entities(
    call: Call, people: list[str], ends: tuple[int | None, int | None]
) -> None:
    source, target = (NOBODY if end is None else people[end] for end in ends)
    with pytest.raises(StoreRefused):
        create(call, source, target)


def test_ends_of_a_relationship_must_not_be_deleted(call: Call, people: list[str]) -> None:
    call("entities.delete", entity_id=people[1])
    with pytest.raises(StoreRefused) as refused:
        create(call, *people[:2])
    assert refused.value.details["issues"][0]["code"] == "ERR_RELATIONSHIP_ENTITY_DELETED"


def test_many_are_created_all_or_none(call: Call, people: list[str]) -> None:
    good = {"relationship_type": "PART_OF", "source_entity_id": people[0], "target_entity_id": people[1]}
    with pytest.raises(StoreRefused) as refused:
        call("relationships.create_many", relationships=[good, {**good, "target_entity_id": NOBODY}])
    assert refused.value.details["issues"][0]["index"] == 1
    assert call("relationships.list")["relationships"] == []
    made = call("relationships.create_many", relationships=[good, {**good, "target_entity_id": people[2]}])
    assert (made["requested"], made["created_count"]) == (2, 2)


def test_a_deleted_relationship_comes_back_when_restored_or_created_again(
    run: Call, people: list[str]
) -> None:
    key = create(run, *people[:2], metadata={"since": 2020})["relationship_key"]
    for revive in ("relationships.restore", "relationships.create"):
        run("relationships.delete", relationship_key=key, reason="left")
        with pytest.raises(NotFound):
            run("relationships.get", relationship_id=key)
        with pytest.raises(NotFound) as again:
            run("relationships.delete", relationship_key=key)
        assert "`graphmem relationships list`" in again.value.details["hint"]
        assert run("entities.related", entity_id=people[0])["total"] == 0
        if revive == "relationships.create":
            create(run, *people[:2])
        else:
            run(revive, relationship_key=key)
        assert run("entities.related", entity_id=people[0])["total"] == 1
        assert run("relationships.get", relationship_id=key)["snapshot"] == {"since": 2020}


def test_a_relationship_is_named_by_its_triple_or_its_key(run: Call, people: list[str]) -> None:
    create(run, *people[:2])
    triple = {"relationship_type": "works_at", "source_entity_id": people[0], "target_entity_id": people[1]}
    run("relationships.delete", **triple)
    run("relationships.restore", **triple)
    history = run("relationships.snapshot", **triple)
    assert [observation["kind"] for observation in history["observations"]] == ["restore", "delete", "create"]


def test_the_wrong_type_deletes_nothing(run: Call, people: list[str]) -> None:
    create(run, *people[:2])
    with pytest.raises(NotFound):
        run(
            "relationships.delete",
            relationship_type="OWNS",
            source_entity_id=people[0],
            target_entity_id=people[1],
        )
    assert len(run("relationships.list")["relationships"]) == 1


def test_a_restoration_needs_a_deletion(call: Call, people: list[str]) -> None:
    key = create(call, *people[:2])["relationship_key"]
    with pytest.raises(NotFound):
        call("relationships.restore", relationship_key=key)


def test_a_backfilled_creation_does_not_undo_a_later_deletion(run: Call, people: list[str]) -> None:
    key = create(run, *people[:2])["relationship_key"]
    run("relationships.delete", relationship_key=key)
    assert create(run, *people[:2], observed_at="2020-01-01T00:00:00Z")["is_live"] is False
    with pytest.raises(NotFound):
        run("relationships.get", relationship_id=key)


def test_lists_filter_by_ends_type_and_direction_and_count(run: Call, people: list[str]) -> None:
    ann, bo, cy = people
    create(run, ann, bo)
    create(run, cy, ann)
    create(run, ann, bo, kind="OWNS")

    def total(**filters: str) -> int:
        page = run("relationships.list", filters=filters, include_total_count=True)
        assert page["total"] == len(page["relationships"])
        return page["total"]

    assert [total(), total(relationship_type="works_at"), total(entity_id=ann)] == [3, 2, 3]
    assert [total(entity_id=ann, direction=way) for way in ("outgoing", "incoming")] == [2, 1]
    assert [total(source_entity_id=ann), total(target_entity_id=ann)] == [2, 1]
    assert total(source_entity_id=ann, target_entity_id=bo, relationship_type="OWNS") == 1
    assert total(source_entity_id=bo, target_entity_id=ann) == 0


def test_pages_tile(run: Call, people: list[str]) -> None:
    for kind in ("WORKS_AT", "OWNS", "MANAGES", "PART_OF", "REFERS_TO"):
        create(run, *people[:2], kind=kind)
    seen = [
        relationship["relationship_key"]
        for offset in (0, 2, 4, 6)
        for relationship in run("relationships.list", limit=2, offset=offset)["relationships"]
    ]
    assert len(seen) == len(set(seen)) == 5


def test_a_deletion_ends_what_was_created_ahead_of_the_clock(run: Call, people: list[str]) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    created = create(run, *people[:2], observed_at=soon)
    assert not run("relationships.delete", relationship_key=created["relationship_key"])["is_live"]
    assert run("relationships.restore", relationship_key=created["relationship_key"])["is_live"]


def test_relationships_are_listed_by_the_type_of_an_end(call: Call, run: Call, people: list[str]) -> None:
    ann, bo, cy = people
    (acme,) = run("store", entities=[{"entity_type": "company", "name": "Acme"}])["entities"]
    works = create(run, ann, acme["entity_id"])["relationship_key"]
    knows = create(run, ann, bo, kind="REFERS_TO")["relationship_key"]
    create(run, bo, cy, kind="REFERS_TO")

    def keys(**arguments: object) -> tuple[list[str], int]:
        page = call("relationships.list", include_total_count=True, **arguments)
        return [relationship["relationship_key"] for relationship in page["relationships"]], page["total"]

    later = {"at": "2100-01-01"}
    for clocks in ({}, later):
        assert keys(filters={"entity_type": "company"}, **clocks) == ([works], 1)
        assert keys(filters={"entity_type": "company", "relationship_type": "REFERS_TO"}, **clocks) == ([], 0)
        assert keys(filters={"entity_type": "person"}, **clocks)[1] == 3
        assert keys(filters={"entity_id": ann, "entity_type": "company"}, **clocks) == ([works], 1)
        assert keys(filters={"entity_id": ann, "entity_type": "people"}, **clocks) == ([knows], 1)
        assert keys(filters={"entity_id": cy, "entity_type": "company"}, **clocks) == ([], 0)
