"""Damaged rows: lists go on after them, and name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, LiteralString

import pytest

from graphmem.registry import Services
from tests.faces.test_damaged_vectors import put
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call

PEOPLE: Final = 5
DAMAGE: LiteralString = (
    "MATCH (n) WHERE n.owner = $owner AND $label IN labels(n) AND n.id IN $ids SET n[$name] = $value"
)
LISTS: dict[str, tuple[str, dict[str, Any], str, str, str, Any]] = {
    "by id": ("entities.query", {}, "entities", "Entity", "values", 7),
    "by a property": ("entities.query", {"sort_by": "canonical_name"}, "entities", "Entity", "values", 7),
    "by a value": ("entities.query", {"sort_by": "snapshot.born"}, "entities", "Entity", "winners", 7),
    "observations": ("observations.query", {}, "observations", "Observation", "values", 7),
    "relationships": ("relationships.list", {}, "relationships", "Relationship", "values", 7),
    "current relationships": (
        "relationships.list", {"current": True}, "relationships", "Relationship", "values", 7,
    ),
    "events": ("timeline.list", {}, "events", "TimelineEvent", "text", 7),
    "runs": ("interpretations.list", {}, "interpretations", "Interpretation", "started_at", "x"),
}  # fmt: skip


@pytest.fixture
def stored(run: Call) -> None:
    people = [{"entity_type": "person", "name": f"Ada {n}", "born": f"18{n}5-01-01"} for n in range(PEOPLE)]
    links = [
        {"relationship_type": "KNOWS", "source_index": n, "target_index": (n + 1) % PEOPLE}
        for n in range(PEOPLE)
    ]
    answer = run("store", entities=people, relationships=links)
    known = [each["entity_id"] for each in answer["entities"]]
    for n in range(PEOPLE):
        source = run("store", entities=[{"target_id": known[n], "letter": n}], **with_file(b"letter %d" % n))
        run(
            "interpretations.create",
            source_id=source["source_id"],
            entities=[{"target_id": known[n], "read": n}],
        )


def pages(run: Call, name: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    page = run(name, **arguments)
    yield page
    while "next_cursor" in page:
        page = run(name, **arguments, cursor=page["next_cursor"])
        yield page


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("case", LISTS)
def test_a_list_goes_on_after_pages_of_which_each_row_is_damaged(
    case: str, run: Call, loop: Loop, services: Services, owner: str
) -> None:
    name, arguments, member, label, column, value = LISTS[case]
    before = [each for page in pages(run, name, limit=1, **arguments) for each in page[member]]
    damaged = [text for each in before[1:4] for text in each.values() if isinstance(text, str)]
    put(loop, services, DAMAGE, owner=owner, label=label, ids=damaged, name=column, value=value)
    for limit in (1, 2):
        found = list(pages(run, name, limit=limit, **arguments))
        assert [each for page in found for each in page[member]] == [before[0], *before[4:]]
        assert len({each["entity_id"] for page in found for each in page.get("left_out", ())}) == 3


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("size", [None, "text"])
def test_a_damaged_size_ends_no_page(
    run: Call, loop: Loop, services: Services, owner: str, size: Any
) -> None:
    before = run("entities.query")["entities"]
    put(loop, services, "MATCH (n:Entity {owner: $owner}) SET n.size = $size", owner=owner, size=size)
    assert run("entities.query")["entities"] == before
