"""Lists: all of them take limit, offset, cursor and include_total_count, and answer where they go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString

import pytest

from graphmem.arguments import PAGE_DEFAULT, PAGE_LIMIT
from graphmem.context import Services
from graphmem.errors import InvalidCursor, InvalidInput
from graphmem.reading.pages import Paged
from graphmem.registry import REGISTRY
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.walks import walk_over

NO_LISTS = {
    # They read the characters of a text, the hits of one search, the newest entities, or what a dry run would
    # change.
    "files.parse", "sources.get", "sources.search", "search.explain", "sources.withdraw", "sources.reinstate",
    "entities.contested",
    "interpretations.withdraw", "interpretations.reinstate", "writings.withdraw", "writings.reinstate",
    "agents.quarantine", "agents.release", "undo",
}  # fmt: skip
LISTS: list[tuple[str, dict[str, Any], str]] = [
    ("graph.neighborhood", {"node_id": "$ada"}, "relationships"),
    ("graph.neighborhood", {"node_id": "$ada", "current": True}, "relationships"),
    ("graph.neighborhood", {"node_id": "$ada", "at": "2100-01-01"}, "relationships"),
    ("graph.neighborhood", {"node_id": "$source", "node_type": "source"}, "related_entities"),
    ("entities.related", {"entity_id": "$ada"}, "entities"),
    ("entities.related", {"entity_id": "$ada", "depth": 2}, "entities"),
    ("entities.related", {"entity_id": "$ada", "depth": 3, "current": True}, "entities"),
    ("entities.related", {"entity_id": "$ada", "at": "2100-01-01"}, "entities"),
    ("relationships.list", {"entity_id": "$ada", "current": True}, "relationships"),
    ("relationships.snapshot", {"relationship_key": "$key"}, "observations"),
    ("relationships.snapshot", {"relationship_key": "$key", "at": "2100-01-01"}, "observations"),
    ("relationship_types.list", {"keyword": "part"}, "relationship_types"),
    ("entities.duplicates", {"entity_type": "person"}, "candidates"),
    ("entities.find", {"identifier": "Analytical Engine"}, "entities"),
    ("entities.provenance", {"entity_id": "$union", "field": "grapes"}, "observations"),
    ("timeline.list", {}, "events"),
    ("changes.list", {}, "changes"),
]


@pytest.fixture
def world(run: Call) -> dict[str, str]:
    """Ada with four things that she is related to, and what else lists are of."""
    things = [{"entity_type": kind, "name": "Analytical Engine"} for kind in ("thing", "machine", "book")]
    people = [{"entity_type": "person", "intent": "create_new", "name": "John Smith"} for _ in range(3)]
    items = [{"entity_type": "person", "name": "Ada"}, *things, *people]
    links = [
        {"relationship_type": "PART_OF", "source_index": 0, "target_index": n, "metadata": {"n": n}}
        for n in range(1, 5)
    ]
    stored = run("store", entities=items, relationships=links, **with_file())
    key = stored["relationships_created"][0]["relationship_key"]
    relationship_type, source, target = key.split(":")
    for n in range(3):
        run(
            "relationships.create", relationship_type=relationship_type, source_entity_id=source,
            target_entity_id=target, metadata={"again": n},
        )  # fmt: skip
    fields = {"grapes": {"type": "array", "merge": "merge_array"}, "name": {"type": "string"}}
    run("schemas.register", schema={"entity_type": "wine", "fields": fields})
    for grape in ("a", "b", "c"):
        wine = run("store", entities=[{"entity_type": "wine", "name": "Red", "grapes": [grape]}])
    for day in range(1, 4):
        run("store", entities=[{"entity_type": "task", "title": f"T{day}", "due_date": f"2026-01-0{day}"}])
    return {
        "$ada": stored["entities"][0]["entity_id"],
        "$source": stored["source_id"],
        "$key": key,
        "$union": wine["entities"][0]["entity_id"],
    }


def pages(call: Call, name: str, arguments: dict[str, Any], member: str) -> Iterator[list[Any]]:
    """Yield the items of each page, by its cursors."""
    page = call(name, **arguments)
    while True:
        yield page[member]
        if "next_cursor" not in page:
            return
        page = call(name, **arguments, cursor=page["next_cursor"])


@walk_over("name, arguments, member", LISTS)
def test_a_list_tiles_by_cursor_and_by_offset_and_says_its_total(
    run: Call, world: dict[str, str], name: str, arguments: dict[str, Any], member: str
) -> None:
    arguments = {key: world.get(str(value), value) for key, value in arguments.items()}
    whole = run(name, **arguments, include_total_count=True)
    total = whole["total"]
    assert (whole["limit"], whole["offset"], "next_cursor" in whole) == (PAGE_DEFAULT, 0, False)
    assert len(whole[member]) == total >= 2
    parts = list(pages(run, name, {**arguments, "limit": 1}, member))
    assert [item for part in parts for item in part] == whole[member]
    assert all(len(part) == 1 for part in parts)
    by_offset = [run(name, **arguments, limit=1, offset=n)[member] for n in range(total)]
    assert by_offset == parts
    assert run(name, **arguments, offset=total)[member] == []
    first = run(name, **arguments, limit=1)
    second = run(name, **arguments, limit=1, cursor=first["next_cursor"], include_total_count=True)
    assert second["total"] == total
    with pytest.raises(InvalidCursor):
        run(name, **arguments, cursor="bnVsbA")
    if name != "entities.duplicates":
        with pytest.raises(InvalidInput, match="give either cursor or offset"):
            run(name, **arguments, offset=1, cursor=first["next_cursor"])


def test_every_operation_with_a_limit_is_a_list_with_the_same_arguments() -> None:
    lists = {name for name, operation in REGISTRY.items() if issubclass(operation.arguments, Paged)}
    limited = {name for name, operation in REGISTRY.items() if "limit" in operation.arguments.model_fields}
    assert limited - lists == NO_LISTS
    for name in lists:
        fields = REGISTRY[name].arguments.model_json_schema()["properties"]
        limit = {key: fields["limit"][key] for key in ("default", "minimum", "maximum")}
        assert limit == {"default": PAGE_DEFAULT, "minimum": 1, "maximum": PAGE_LIMIT}, name
        assert {"limit", "offset"} <= set(REGISTRY[name].result.json_schema()["properties"]), name


def test_old_names_of_pages_are_answered_still(run: Call, world: dict[str, str]) -> None:
    first = run("graph.neighborhood", node_id=world["$ada"], limit=3)
    assert (first["total_count"], first["total"], first["has_more"], first["next_offset"]) == (4, 4, True, 3)
    rest = run("graph.neighborhood", node_id=world["$ada"], cursor=first["next_cursor"])
    assert (len(rest["relationships"]), rest["has_more"], "next_offset" in rest) == (1, False, False)
    pairs = run("entities.duplicates", entity_type="person", limit=2)
    assert (pairs["total"], pairs["next_offset"], pairs["scanned"], pairs["truncated"]) == (3, 2, 4, False)


def test_a_cut_page_whose_only_row_is_damaged_goes_on(loop: Loop, services: Services, run: Call) -> None:
    items = [{"entity_type": "volume", "name": f"Volume {number}", "pages": 7} for number in range(3)]
    stored = [each["entity_id"] for each in run("store", entities=items)["entities"]]
    # A page ends before a row for which it has no room.
    large: LiteralString = (
        "MATCH (e:Entity) WHERE e.id IN $ids SET e.size = 9000000 RETURN e.id AS id, e.values AS values"
    )
    rows = loop.run(services.database.script(large, ids=stored))
    values = {row["id"]: row["values"] for row in rows}
    put: LiteralString = "MATCH (e:Entity {id: $id}) SET e.values = $values"
    filters = {"snapshot_filters": {"pages": {"op": "eq", "value": 7}}}
    for wrong in stored:
        loop.run(services.database.script(put, id=wrong, values=values[wrong][:-1]))
        found, left_out, more = list[str](), set[str](), dict[str, Any]()
        for _ in range(9):
            answer = run("entities.query", entity_type="volume", filters=filters, **more)
            found += [each["entity_id"] for each in answer["entities"]]
            left_out |= {each["entity_id"] for each in answer.get("left_out", [])}
            if "next_cursor" not in answer:
                break
            more = {"cursor": answer["next_cursor"]}
        assert (sorted(found), left_out) == (sorted({*stored} - {wrong}), {wrong})
        loop.run(services.database.script(put, id=wrong, values=values[wrong]))
