"""The filter ``related_to``: lists and searches among the entities that relationships join to one."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

ROLES = ("Blue guitar player", "Blue guitar maker", "Red drummer", "Blue guitar seller")


@pytest.fixture
def band(run: Call) -> dict[str, str]:
    """Ids by name: the first three play in the band, the drummer did; the seller does not know it."""
    people = [{"entity_type": "person", "name": role} for role in ROLES]
    items = [*people, {"entity_type": "band", "name": "The Nine"}, {"entity_type": "place", "name": "Cellar"}]
    links: list[dict[str, Any]] = [
        {"relationship_type": "PART_OF", "source_index": place, "target_index": 4} for place in range(3)
    ]
    links[2]["metadata"] = {"until": "2001-02-03"}
    links.append({"relationship_type": "LOCATED_AT", "source_index": 4, "target_index": 5})
    stored = run("store", entities=items, relationships=links)["entities"]
    return {item["name"]: each["entity_id"] for item, each in zip(items, stored, strict=True)}


def names(page: dict[str, Any]) -> list[str]:
    return [entity["canonical_name"] for entity in page["entities"]]


def test_a_list_has_what_current_relationships_join_to_an_entity(run: Call, band: dict[str, str]) -> None:
    the_nine = {"related_to": band["The Nine"]}
    page = run("entities.query", filters=the_nine, sort_by="canonical_name", include_total_count=True)
    assert (names(page), page["total"]) == (["Blue guitar maker", "Blue guitar player", "Cellar"], 3)
    members = {**the_nine, "relationship_types": ["part of"]}
    assert len(names(run("entities.query", filters=members))) == 2
    assert names(run("entities.query", filters={**the_nine, "entity_type": "place"})) == ["Cellar"]
    makers = {**members, "snapshot_filters": {"name": {"op": "contains", "value": "maker"}}}
    assert names(run("entities.query", filters=makers)) == ["Blue guitar maker"]
    first = run("entities.query", filters=members, limit=1)
    rest = run("entities.query", filters=members, limit=1, cursor=first["next_cursor"])
    assert sorted([*names(first), *names(rest)]) == ["Blue guitar maker", "Blue guitar player"]
    assert "next_cursor" not in rest


def test_a_search_is_among_what_is_related(
    run: Call, loop: Loop, services: Services, owner: str, band: dict[str, str]
) -> None:
    filters = {"related_to": band["The Nine"]}
    page = run("entities.query", search="blue guitar", filters=filters, include_total_count=True)
    assert (sorted(names(page)), page["total"]) == (["Blue guitar maker", "Blue guitar player"], 2)
    first = run("entities.query", search="blue guitar", filters=filters, limit=1)
    rest = run("entities.query", search="blue guitar", filters=filters, limit=1, cursor=first["next_cursor"])
    assert sorted([*names(first), *names(rest)]) == sorted(names(page))
    assert names(run("entities.query", search="drummer", filters=filters)) == []
    # What one search is among, the next is not.
    assert "Blue guitar seller" in names(run("entities.query", search="blue guitar"))


def test_the_survivor_of_a_merge_is_meant(run: Call, band: dict[str, str]) -> None:
    other = run("store", entities=[{"entity_type": "band", "name": "Nine Lives"}])["entities"][0]["entity_id"]
    run("entities.merge", source_entity_id=band["The Nine"], target_entity_id=other)
    for anchor in (band["The Nine"], other):
        assert len(names(run("entities.query", filters={"related_to": anchor}))) == 3


def test_what_is_not_there_is_an_error_with_its_fix(
    run: Call, loop: Loop, services: Services, owner: str, band: dict[str, str]
) -> None:
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    for search in ({}, {"search": "guitar"}):
        with pytest.raises(NotFound):
            stranger("entities.query", filters={"related_to": band["The Nine"]}, **search)
    for filters, path in (
        ({"relationship_types": ["PART_OF"]}, "$.filters.relationship_types"),
        ({"related_to": band["Cellar"], "include_deleted": True}, "$.filters.include_deleted"),
        (
            {"related_to": band["Cellar"], "relationship_types": ["MARCHES_ON"]},
            "$.filters.relationship_types[0]",
        ),
    ):
        with pytest.raises(InvalidInput) as refused:
            run("entities.query", filters=filters)
        assert [issue["path"] for issue in refused.value.details["issues"]] == [path]
    limited = by_runner(loop, replace(services, limits=Limits(compared_entities=2)), owner)
    with pytest.raises(InvalidInput, match="more than 2 relationships"):
        limited("entities.query", filters={"related_to": band["The Nine"]})
