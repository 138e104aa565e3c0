"""What reading the timeline costs: a page reads what it answers, wherever it lies, whoever else has data."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.model import times
from tests.cypher.test_queries import SCANS, operators
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.long_cases import mostly_long

ENTITIES = 400
PER_ROW = 40
"""Hits of an event that is answered: its index entry, itself, its entity and its observation."""
PER_COUNTED = 3
PER_WRITTEN = 16
"""Hits of an event that is looked at for who wrote it."""
PER_QUERY = 60
PAGE = 50
KINDS = ("task", "trip")
OUTERMOST = {"since": times.EARLIEST, "until": times.LATEST + 1}


@pytest.fixture(scope="module")
def owner(loop: Loop, services: Services) -> str:
    """Of two owners with as many events the first; half of its events are of one type."""
    owners = [str(uuid.uuid4()) for _ in range(2)]
    for owner in owners:
        run = by_runner(loop, services, owner)
        for first in range(0, ENTITIES, 200):
            items = [
                {
                    "entity_type": KINDS[k % 2], "name": f"{first + k}", "start": f"2026-01-{1 + k % 28:02d}",
                    "end": f"2026-02-{1 + k % 28:02d}",
                }
                for k in range(200)
            ]  # fmt: skip
            run("store", entities=items, find_duplicates=False)
    return owners[0]


def profiled(
    loop: Loop, services: Services, owner: str, name: str, **params: Any
) -> tuple[int, set[str], Any]:
    """Return how many hits a query has, which operators, and its row."""
    query = cypher.query(name)

    async def run() -> tuple[dict[str, Any], Any]:
        async with services.database._driver.session() as session:
            result = await session.run("PROFILE " + query.text, cypher.bind(name, params, owner))
            row = await result.single()
            return (await result.consume()).profile or {}, row

    profile, row = loop.run(run())
    return hits(profile), {operator for operator, _ in operators(profile)}, row


def hits(node: dict[str, Any]) -> int:
    return node.get("dbHits", 0) + sum(map(hits, node.get("children", [])))


def parameters(way: str, *, deep: bool, counted: bool = False) -> dict[str, Any]:
    """Return the parameters of a page at the beginning, or somewhere inside."""
    start = (OUTERMOST["until"], "") if way == "desc" else (OUTERMOST["since"] - 1, "~")
    at, after = (times.parse("2026-01-31"), "evt_8") if deep else start
    return {**OUTERMOST, "at": at, "after": after, "offset": 0, "reach": PAGE, "counted": counted}


@pytest.mark.parametrize(
    ("way", "deep"),
    mostly_long(itertools.product(["asc", "desc"], [False, True]), ("asc", True), ("desc", False)),
)
@pytest.mark.parametrize(("name", "of"), [
    ("event.page[{way}]", {}),
    ("event.page_of[event_type {way}]", {"key": "End", "entity_type": None}),
    ("event.page_of[entity_type {way}]", {"key": "trip", "entity_type": None}),
])  # fmt: skip
def test_a_page_reads_what_it_answers(
    loop: Loop, services: Services, owner: str, name: str, of: dict[str, Any], way: str, deep: bool
) -> None:
    form = name.format(way=way)
    hit_count, plan, row = profiled(loop, services, owner, form, **of, **parameters(way, deep=deep))
    size = len(row["page"])
    assert size == (0 if "event_type" in name and deep and way == "desc" else PAGE)
    assert hit_count <= PER_QUERY + PER_ROW * size
    # The index gives the order: nothing but what both seeks found is ever sorted.
    assert not plan & (SCANS | {"PartialTop", "PartialSort"})


@pytest.mark.parametrize("counted", [False, True])
def test_a_page_by_writer_reads_no_more_of_an_event_than_who_wrote_it(
    loop: Loop, services: Services, owner: str, counted: bool
) -> None:
    for writer, size in (("client:test", PAGE), ("client:other", 0)):
        hit_count, plan, row = profiled(
            loop, services, owner, "event.of_writers[desc]", writers=[writer], event_type=None,
            entity_type="trip", **parameters("desc", deep=False, counted=counted),
        )  # fmt: skip
        assert (len(row["page"]), row["total"]) == (size, ENTITIES if counted and size else 0)
        read = (2 * ENTITIES if counted else 0) + (size * 2 if size else 2 * ENTITIES)
        assert hit_count <= PER_QUERY + PER_ROW * size + PER_WRITTEN * read
        assert not plan & SCANS


@pytest.mark.parametrize(("name", "of", "wanted"), [
    ("event.page[desc]", {}, 2 * ENTITIES),
    ("event.page_of[event_type desc]", {"key": "End", "entity_type": None}, ENTITIES),
    ("event.page_of[entity_type desc]", {"key": "trip", "entity_type": None}, ENTITIES),
])  # fmt: skip
def test_a_total_reads_the_index_alone(
    loop: Loop, services: Services, owner: str, name: str, of: dict[str, Any], wanted: int
) -> None:
    params = parameters("desc", deep=False, counted=True)
    hit_count, plan, row = profiled(loop, services, owner, name, **of, **params)
    assert row["total"] == wanted
    assert hit_count <= PER_QUERY + PER_ROW * PAGE + PER_COUNTED * wanted
    assert not plan & SCANS


def test_the_events_of_an_entity_are_read_from_it(loop: Loop, services: Services, owner: str) -> None:
    run = by_runner(loop, services, owner)
    item = {"entity_type": "trip", "name": "0", "start": "2020-01-01"}
    for year in range(2000, 2020):
        # What is superseded is not read any more.
        run("store", entities=[{**item, "start": f"{year}-01-01"}])
    stored = run("store", entities=[item])
    params = {**parameters("desc", deep=False), "descending": True}
    params.pop("counted")
    hit_count, plan, row = profiled(
        loop, services, owner, "event.of_entity", **params, entity_id=stored["entities"][0]["entity_id"],
        event_type=None, entity_type=None, source_id=None,
    )  # fmt: skip
    assert len(row["page"]) == row["total"] == 1
    assert hit_count <= PER_QUERY + PER_ROW
    assert not plan & SCANS


def test_the_events_of_a_source_are_read_from_its_observations(
    loop: Loop, services: Services, owner: str
) -> None:
    run = by_runner(loop, services, owner)
    items = [
        {"entity_type": "visit", "name": f"{day}", "start": f"2026-03-{day:02d}"} for day in range(1, 21)
    ]
    stored = run("store", entities=items, file_content="YQ==")
    params = {**parameters("desc", deep=False), "descending": True}
    params.pop("counted")
    hit_count, plan, row = profiled(
        loop, services, owner, "event.of_source", **params, source_id=stored["source_id"],
        event_type=None, entity_type=None,
    )  # fmt: skip
    assert len(row["page"]) == row["total"] == 20
    assert hit_count <= PER_QUERY + 2 * PER_ROW * 20
    assert not plan & SCANS
