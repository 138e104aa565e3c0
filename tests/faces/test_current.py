"""Relationships that have ended: left out where only current ones are wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput
from graphmem.reading import current_relationships, walk
from graphmem.settings import Limits
from graphmem.storing import acceptance
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

NAMES = ("Ada", "Acme", "Beta", "Gamma", "Bob")
START = "2020-01-01T00:00:00Z"
LINKS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Ada", "WORKS_AT", "Acme", {"end_date": "2021-06-30", "role": "clerk"}),
    ("Ada", "WORKS_AT", "Beta", {"since": "2021-07-01"}),
    ("Ada", "MEMBER_OF", "Gamma", {"until": "2999"}),
    ("Bob", "WORKS_AT", "Acme", {}),
    ("Bob", "WORKS_AT", "Beta", {"Valid To": 2022}),
)


@pytest.fixture
def ids(run: Call) -> dict[str, str]:
    items = [{"entity_type": "thing", "name": name, "observed_at": START} for name in NAMES]
    links = [
        {
            "relationship_type": kind, "source_index": NAMES.index(source),
            "target_index": NAMES.index(target),
            "metadata": {"note": "x", **metadata},
        }
        for source, kind, target, metadata in LINKS
    ]  # fmt: skip
    entities = run("store", entities=items, relationships=links, observed_at=START)["entities"]
    return dict(zip(NAMES, (entity["entity_id"] for entity in entities), strict=True))


def related(run: Call, entity_id: str, **arguments: Any) -> list[str]:
    page = run("entities.related", entity_id=entity_id, **arguments)
    assert page["total"] == len(page["entities"])
    keys = {relationship["relationship_key"] for relationship in page["relationships"]}
    assert all(entity["depth"] for entity in page["entities"])
    assert len(keys) >= len(page["entities"])
    return sorted(entity["canonical_name"] for entity in page["entities"])


def test_a_walk_does_not_follow_what_has_ended(run: Call, ids: dict[str, str]) -> None:
    ada = ids["Ada"]
    assert related(run, ada) == ["Acme", "Beta", "Gamma"]
    assert related(run, ada, current=True) == ["Beta", "Gamma"]
    assert related(run, ada, depth=3) == ["Acme", "Beta", "Bob", "Gamma"]
    assert related(run, ada, depth=3, current=True) == ["Beta", "Gamma"]
    assert related(run, ids["Bob"], depth=5, current=True) == ["Acme"]
    assert related(run, ada, current=True, relationship_types=["WORKS_AT"]) == ["Beta"]


def test_a_walk_of_a_time_follows_what_was_current_then(run: Call, ids: dict[str, str]) -> None:
    ada = ids["Ada"]
    assert related(run, ada, current=True, at="2021-06-30T23:59:59Z") == ["Acme", "Gamma"]
    assert related(run, ada, current=True, at="2021-07-01T00:00:00Z") == ["Beta", "Gamma"]
    assert related(run, ada, current=True, depth=2, at="2022-06-01") == ["Beta", "Bob", "Gamma"]


def test_pages_of_a_walk_of_current_relationships_tile(run: Call, ids: dict[str, str]) -> None:
    arguments = {"entity_id": ids["Ada"], "current": True, "limit": 1}
    first = run("entities.related", **arguments)
    second = run("entities.related", **arguments, cursor=first["next_cursor"])
    assert "next_cursor" not in second
    names = {page["entities"][0]["canonical_name"] for page in (first, second)}
    assert (names, first["total"]) == ({"Beta", "Gamma"}, 2)


def test_pages_of_a_hub_leave_out_what_has_ended(
    loop: Loop, services: Services, owner: str, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "_CURRENT_ROOM", 1)
    run = by_runner(loop, replace(services, limits=Limits(walk_relationships=2)), owner)
    names: list[str] = []
    arguments = {"entity_id": ids["Ada"], "current": True, "limit": 1}
    page = run("entities.related", **arguments)
    while True:
        names += [entity["canonical_name"] for entity in page["entities"]]
        if "next_cursor" not in page:
            break
        page = run("entities.related", **arguments, cursor=page["next_cursor"])
    assert sorted(names) == ["Beta", "Gamma"]


def test_a_list_leaves_out_what_has_ended(run: Call, ids: dict[str, str]) -> None:
    def targets(**arguments: Any) -> list[str]:
        page = run("relationships.list", include_total_count=True, **arguments)
        assert page["total"] == len(page["relationships"])
        by_id = {entity_id: name for name, entity_id in ids.items()}
        return sorted(by_id[relationship["target_entity_id"]] for relationship in page["relationships"])

    of_ada = {"filters": {"entity_id": ids["Ada"]}}
    assert targets(**of_ada) == ["Acme", "Beta", "Gamma"]
    assert targets(**of_ada, current=True) == ["Beta", "Gamma"]
    assert targets(current=True) == ["Acme", "Beta", "Gamma"]
    assert targets(current=True, filters={"relationship_type": "WORKS_AT"}) == ["Acme", "Beta"]
    assert targets(**of_ada, current=True, at="2021-01-01") == ["Acme", "Gamma"]
    assert targets(**of_ada, current=True, at="2021-07-02") == ["Beta", "Gamma"]


@pytest.mark.parametrize("arguments", [{}, {"at": "2023-01-01"}])
@pytest.mark.parametrize("at_once", [1, 200])
def test_pages_of_a_list_of_current_relationships_tile(
    run: Call, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, at_once: int, arguments: dict[str, Any]
) -> None:
    monkeypatch.setattr(current_relationships, "READ_AT_ONCE", at_once)
    arguments = {"current": True, "limit": 1, "expand_entities": True, **arguments}
    pages = [run("relationships.list", **arguments)]
    while "next_cursor" in pages[-1]:
        pages.append(run("relationships.list", **arguments, cursor=pages[-1]["next_cursor"]))
    keys = [page["relationships"][0]["relationship_key"] for page in pages]
    assert (len(keys), len(set(keys))) == (3, 3)
    for page in pages:
        ends = {page["relationships"][0][f"{end}_entity_id"] for end in ("source", "target")}
        assert {entity["entity_id"] for entity in page["related_entities"]} == ends
    offsets = [run("relationships.list", **arguments, offset=offset) for offset in range(4)]
    assert [page["relationships"][0]["relationship_key"] for page in offsets[:3]] == keys
    assert ["next_cursor" in page for page in offsets] == [True, True, False, False]


def test_a_list_that_would_have_to_read_too_much_is_refused(
    run: Call, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_relationships, "READ_LIMIT", 1)
    monkeypatch.setattr(current_relationships, "READ_AT_ONCE", 1)
    with pytest.raises(InvalidInput, match=r"\$\.current"):
        run("relationships.list", current=True, limit=1, offset=2)


def test_a_neighbourhood_leaves_out_what_has_ended(run: Call, ids: dict[str, str]) -> None:
    def around(**arguments: Any) -> tuple[list[str], int]:
        page = run("graph.neighborhood", node_id=ids["Ada"], **arguments)
        names = sorted(entity["canonical_name"] for entity in page["related_entities"])
        assert len(page["relationships"]) == len(names)
        return names, page["total_count"]

    assert around() == (["Acme", "Beta", "Gamma"], 3)
    assert around(current=True) == (["Beta", "Gamma"], 2)
    assert around(current=True, at="2021-01-01") == (["Acme", "Gamma"], 2)


def test_a_relationship_is_ended_by_creating_it_again_with_its_end(run: Call, ids: dict[str, str]) -> None:
    ends = {
        "relationship_type": "WORKS_AT",
        "source_entity_id": ids["Ada"],
        "target_entity_id": ids["Beta"],
    }
    created = run("relationships.create", **ends, metadata={"end_date": "2024-12-31"})
    assert created["snapshot"] == {"end_date": "2024-12-31", "note": "x", "since": "2021-07-01"}
    assert related(run, ids["Ada"], current=True) == ["Gamma"]
    lines = run("context.retrieve", entity_id=ids["Ada"])["lines"]
    assert "formerly WORKS_AT → Beta (end_date: 2024-12-31" in lines[0]
    run("relationships.create", **ends, metadata={"end_date": None})
    assert related(run, ids["Ada"], current=True) == ["Beta", "Gamma"]


@pytest.mark.parametrize("name", ["context.retrieve", "entities.related", "relationships.list"])
def test_an_end_that_was_withdrawn_does_not_count(
    run: Call, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    items = [{"target_id": ids[each], "seen": True} for each in ("Ada", "Beta")]
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    ended = run(
        "store", entities=items, relationships=[{**link, "metadata": {"until": "2022"}}], **with_file()
    )
    calls = {
        "context.retrieve": {"entity_id": ids["Ada"], "fields": ["WORKS_AT"]},
        "entities.related": {"entity_id": ids["Ada"], "current": True},
        "relationships.list": {"filters": {"entity_id": ids["Ada"]}, "current": True},
    }

    def is_current() -> bool:
        answer = run(name, **calls[name])
        if name == "context.retrieve":
            return "formerly WORKS_AT → Beta" not in answer["lines"][0]
        return any(ids["Beta"] in row["relationship_key"] for row in answer["relationships"])

    assert not is_current()
    # What a withdrawal changes is folded again where it is read.
    monkeypatch.setattr(acceptance, "APPLIED_AT_ONCE", 0)
    run("sources.withdraw", source_id=ended["source_id"])
    assert is_current()
