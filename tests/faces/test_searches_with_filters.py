"""Searches with several filters at once, and pages of them by cursor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

COUNT = 6


@pytest.fixture
def guitars(run: Call) -> list[str]:
    """The ids of guitars: the first three are of the band, the first and the third are used."""
    items: list[dict[str, Any]] = [
        {"entity_type": "thing", "name": f"Blue guitar {n}", "state": "new" if n % 2 else "used"}
        for n in range(COUNT)
    ]
    items.append({"entity_type": "band", "name": "The Nine"})
    links = [
        {"relationship_type": ("PART_OF", "REFERS_TO")[n == 2], "source_index": n, "target_index": COUNT}
        for n in range(4)
    ]
    stored = run("store", entities=items, relationships=links, find_duplicates=False)["entities"]
    return [entity["entity_id"] for entity in stored]


def names(page: dict[str, Any]) -> list[str]:
    return [entity["canonical_name"] for entity in page["entities"]]


def walked(run: Call, **arguments: Any) -> list[list[str]]:
    """Return the names on each page of a query, by cursor."""
    page = run("entities.query", **arguments)
    pages = [names(page)]
    while "next_cursor" in page:
        page = run("entities.query", **arguments, cursor=page["next_cursor"])
        pages.append(names(page))
    return pages


def test_a_search_has_what_was_updated_since_a_time(run: Call, guitars: list[str]) -> None:
    run("entities.correct", entity_id=guitars[1], field="price", value=3)
    run("entities.correct", entity_id=guitars[4], field="price", value=3)
    filters = {"updated_since": run("server.stats")["last_updated"]}
    page = run("entities.query", search="blue guitar", filters=filters, include_total_count=True)
    assert (names(page), page["total"]) == (["Blue guitar 4"], 1)


def test_a_search_has_what_relationships_of_some_types_join(run: Call, guitars: list[str]) -> None:
    filters = {"related_to": guitars[COUNT], "relationship_types": ["PART_OF"]}
    page = run("entities.query", search="blue guitar", filters=filters, include_total_count=True)
    assert (sorted(names(page)), page["total"]) == (["Blue guitar 0", "Blue guitar 1", "Blue guitar 3"], 3)
    filters["relationship_types"] = ["REFERS_TO"]
    assert names(run("entities.query", search="blue guitar", filters=filters)) == ["Blue guitar 2"]
    # A restriction of one search is none of the next.
    assert len(names(run("entities.query", search="blue guitar"))) == COUNT


@pytest.mark.parametrize("search", ["blue guitar", "BG-2026"])
def test_a_search_since_a_time_goes_on_by_cursor(run: Call, guitars: list[str], search: str) -> None:
    items = [{"entity_type": "thing", "name": f"Blue guitar of {n}", "code": "BG-2026"} for n in "abc"]
    late = run("store", entities=items, find_duplicates=False)["entities"]
    since = run("entities.get", entity_id=late[0]["entity_id"])["created_at"]
    for name in ("created_since", "updated_since"):
        pages = walked(run, search=search, filters={name: since}, limit=2)
        assert [len(page) for page in pages] == [2, 1], name
        assert sorted(pages[0] + pages[1]) == ["Blue guitar of a", "Blue guitar of b", "Blue guitar of c"]


@pytest.mark.parametrize("search", ["blue guitar", "BG-2026"])
def test_all_filters_hold_at_once_on_every_page(run: Call, guitars: list[str], search: str) -> None:
    items = [
        {"entity_type": "thing", "name": f"Blue guitar of {n}", "code": "BG-2026", "state": state}
        for n, state in zip("abcdef", ("used", "new", "used", "used", "used", "new"), strict=True)
    ]
    links = [
        {"relationship_type": "PART_OF", "source_index": n, "target_entity_id": guitars[COUNT]}
        for n in (0, 1, 2, 4)
    ]
    late = run("store", entities=items, relationships=links, find_duplicates=False)["entities"]
    filters = {
        "snapshot_filters": {"state": {"op": "eq", "value": "used"}},
        "related_to": guitars[COUNT],
        "created_since": run("entities.get", entity_id=late[0]["entity_id"])["created_at"],
    }
    pages = walked(run, search=search, filters=filters, limit=1)
    assert [len(page) for page in pages] == [1, 1, 1]
    expected = ["Blue guitar of a", "Blue guitar of c", "Blue guitar of e"]
    assert sorted(name for page in pages for name in page) == expected
    page = run("entities.query", search=search, filters=filters, offset=1, include_total_count=True)
    assert (len(names(page)), page["total"]) == (2, 3)
    arguments = {"search": search, "filters": filters, "limit": 1, "include_total_count": True}
    first = run("entities.query", **arguments)
    assert run("entities.query", **arguments, cursor=first["next_cursor"])["total"] == first["total"] == 3


def test_a_search_that_compares_a_part_says_how_many_fit_at_least(
    loop: Loop, services: Services, owner: str, guitars: list[str]
) -> None:
    few = by_runner(loop, replace(services, limits=Limits(compared_entities=COUNT - 2)), owner)
    filters = {"snapshot_filters": {"name": {"op": "contains", "value": "guitar"}}}
    arguments = {"search": "blue guitar", "filters": filters, "include_total_count": True}
    page = few("entities.query", **arguments)
    assert ("total" in page, page["total_is_at_least"], page["scanned"]) == (False, COUNT - 2, COUNT - 2)
    rest = few("entities.query", **arguments, cursor=page["next_cursor"])
    assert (rest["total"], "total_is_at_least" in rest) == (COUNT, False)
