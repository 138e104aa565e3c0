"""What a page costs: how much the database reads for it, however many entities there are."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.model import comparison, times
from graphmem.model.relationship import BUILTIN
from graphmem.reading.cursors import LAST
from graphmem.reading.entity_pages import ORDERS, Order
from tests.cypher.test_queries import SCANS
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.long_cases import mostly_long
from tests.support.worker_pass import fold_all

TYPES = ("alpha", "beta", "gamma")
ENTITIES = 1_200
BATCH = ENTITIES // 3
LIMIT = 25
PAGE_HITS = 44
"""Hits that an entity of a page may cost: its properties, the schema of its type, its index entries."""
SEEN_HITS = 16
"""Hits that an entity may cost that is looked at and not answered."""
WALK_HITS = 8
"""Hits that a relationship of a walk may cost without its row: relationship.around says some 7."""
FIXED = 200
"""Hits that a page costs by itself: the types that there are, and a seek in each."""

Profile = Callable[..., tuple[dict[str, Any], int, set[str]]]


@dataclass
class Owner:
    """An owner with many entities, some of them deleted, and half as many of another owner beside.

    ``middle`` is an entity in the middle of all, ``hub`` one with 300 relationships, ``spoke`` one that is
    related to the hub only.
    """

    id: str
    middle: str
    hub: str
    spoke: str


@pytest.fixture(scope="module")
def owner(loop: Loop, services: Services) -> Owner:
    names = [str(uuid.uuid4()) for _ in range(2)]
    first_owner = Owner("", "", "", "")
    for name in names:
        run = by_runner(loop, services, name)
        fields = {
            "color": {"type": "string", "filterable": True},
            "n": {"type": "number", "filterable": True},
        }
        document = {"fields": fields, "additional_fields": "show"}
        for kind in TYPES:
            run("schemas.register", entity_type=kind, schema=document)
        fold_all(loop, services, run)
        size = ENTITIES if name == names[0] else ENTITIES // 2
        ids: list[str] = []
        for start in range(0, size, BATCH):
            items = [
                {
                    "entity_type": TYPES[i % 3], "name": f"name {i % 7}", "tag": i, "intent": "create_new",
                    "color": f"color {i % 24}", "n": i,
                }
                for i in range(start, start + BATCH)
            ]  # fmt: skip
            stored = run("store", entities=items, find_duplicates=False)
            ids = [entity["entity_id"] for entity in stored["entities"]]
        for entity_id in ids[:10]:
            run("entities.delete", entity_id=entity_id)
        hub = {"relationship_type": "PART_OF", "target_entity_id": ids[-1]}
        related = [{**hub, "source_entity_id": source_id} for source_id in ids[10:310]]
        run("relationships.create_many", relationships=related)
        if name == names[0]:
            middle = run("entities.query", limit=1, offset=size // 2)["entities"][0]["entity_id"]
            first_owner = Owner(name, middle, ids[-1], ids[10])
    return first_owner


@pytest.fixture(scope="module")
def profiled(loop: Loop, services: Services, owner: Owner) -> Profile:
    """Run a query; return its row, how often it asked the store, and its operators."""

    async def ask(name: str, params: dict[str, Any]) -> tuple[dict[str, Any], int, set[str]]:
        async with services.database._driver.session() as session:
            text = services.database.query_text(name, frozenset(BUILTIN))
            # What was planned while there was little is planned anew. Not by db.prepareForReplanning: all
            # processes of a run would wait for the plans of all queries.
            anew = f"CYPHER replan=force PROFILE {text}"
            result = await session.run(anew, cypher.bind(name, params, owner.id))
            (row,) = [dict(record.items()) async for record in result]
            plan = (await result.consume()).profile
            assert plan is not None
            return row, sum(part["dbHits"] for part in parts(plan)), {kind(part) for part in parts(plan)}

    return lambda name, **params: loop.run(ask(name, params))


def parts(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("children", []):
        yield from parts(child)


def kind(plan: dict[str, Any]) -> str:
    return plan["operatorType"].partition("@")[0]


LIVE_ENTITIES = {"types": [], "include_deleted": False, "include_merged": False, "include_absent": False}
PAGE = {**LIVE_ENTITIES, "counted": True, "offset": 0, "limit": LIMIT, "reach": LIMIT + 1}
KEYS = sorted({key for key in ORDERS.values() if key})
WAYS = ("asc", "desc")
ENTITIES_READ = len(TYPES) * (LIMIT + 1)
"""Entities that a page of all types looks at: a page of each."""


@pytest.mark.parametrize(
    ("way", "started"),
    mostly_long(itertools.product(WAYS, [True, False]), ("asc", True), ("desc", False)),
)
def test_a_page_by_id_costs_a_page(profiled: Profile, owner: Owner, way: Any, started: bool) -> None:
    after = Order(way).start().id if started else owner.middle
    row, hits, operators = profiled(f"entity.page[{way}]", **PAGE, after=after)
    assert (len(row["page"]), row["more"], row["total"]) == (LIMIT, True, ENTITIES - 10)
    assert hits < FIXED + PAGE_HITS * LIMIT + SEEN_HITS * ENTITIES_READ, hits
    assert not operators & SCANS
    alpha_row, hits, _ = profiled(f"entity.page[{way}]", **{**PAGE, "types": ["alpha"]}, after=after)
    assert len(alpha_row["page"]) == LIMIT
    assert hits < FIXED + PAGE_HITS * LIMIT, hits


@pytest.mark.parametrize(
    ("key", "way"),
    mostly_long(itertools.product(KEYS, WAYS), *zip(KEYS, itertools.cycle(WAYS), strict=False)),
)
def test_a_page_in_another_order_costs_a_page(profiled: Profile, owner: Owner, key: str, way: Any) -> None:
    """From the start, and from the middle of many that have the same key."""
    order = Order(way, key=key)
    start = order.start()
    row, hits, operators = profiled(
        f"entity.sorted[{key} {way}]", **PAGE, key=start.key, after=start.id, least=order.least
    )
    assert len(row["page"]) == LIMIT
    assert hits < FIXED + PAGE_HITS * LIMIT + SEEN_HITS * ENTITIES_READ, hits
    assert not operators & SCANS
    middle = {**PAGE, "key": row["keys"][0], "after": owner.middle, "least": order.least}
    _, hits, _ = profiled(f"entity.sorted[{key} {way}]", **middle)
    assert hits < FIXED + PAGE_HITS * LIMIT + 2 * SEEN_HITS * ENTITIES_READ, hits


@pytest.mark.parametrize("since", ["updated_at", "created_at"])
def test_what_was_recorded_since_costs_what_it_is(profiled: Profile, since: str) -> None:
    params = {**LIVE_ENTITIES, "since": since, "key": "name_key", "fields": [], "cut": 0, "most": 20_001}
    everything, _, _ = profiled("entity.candidates", **params, updated_since=0, created_since=0)
    times = sorted(candidate[5 if since == "updated_at" else 4] for candidate in everything["candidates"])
    latest = times[-1]
    newest = sum(time == latest for time in times)
    assert len(times) == ENTITIES - 10
    row, hits, operators = profiled("entity.candidates", **params, updated_since=latest, created_since=latest)
    assert len(row["candidates"]) == newest < ENTITIES / 2
    assert hits < FIXED + SEEN_HITS * newest, hits
    assert not operators & SCANS


def test_what_is_equal_costs_what_it_is(profiled: Profile) -> None:
    values = {
        **LIVE_ENTITIES,
        "field": "color",
        "values": ["2color 5", "e2color 5", "f"],
        "fields": ["color", "n"],
    }
    row, hits, operators = profiled("entity.by_value[asc]", **values, after="", cut=500, reach=500)
    assert (row["trusted"], len(row["candidates"])) == (True, ENTITIES // 24)
    assert hits < FIXED + SEEN_HITS * 2 * len(row["candidates"]), hits
    assert not operators & SCANS


def test_an_order_by_a_filterable_field_costs_what_it_reads(profiled: Profile) -> None:
    params = {
        **LIVE_ENTITIES,
        "field": "n",
        "key": "",
        "after": "",
        "beyond": "4",
        "fields": ["n"],
        "cut": 500,
    }
    row, hits, operators = profiled("entity.in_value_order[asc]", **params, reach=LIMIT)
    assert (row["trusted"], row["entries"]) == (True, LIMIT)
    assert hits < FIXED + SEEN_HITS * (2 * LIMIT + ENTITIES_READ), hits
    assert not operators & SCANS


def test_a_range_costs_what_is_in_it(profiled: Profile) -> None:
    least, key = comparison.Filter("n", "gte", ENTITIES - 100).ranges, None
    params = {
        **LIVE_ENTITIES, "field": "n", "ranges": least, "lossy": comparison.EXACT_KEY_LENGTH, "key": key,
        "fields": ["n"],
        "cut": 500, "most": 20_001,
    }  # fmt: skip
    row, hits, operators = profiled("entity.in_value_range", **params)
    assert row["trusted"]
    assert 0 < row["entries"] <= 100
    assert hits < FIXED + SEEN_HITS * 2 * (row["entries"] + 1), hits
    assert not operators & SCANS


LISTED = {"include_deleted": False, "offset": 0, "limit": LIMIT, "reach": LIMIT + 1}
RELATED = {
    **LISTED,
    "entity_type": None,
    "counted": False,
    "expanded": False,
    "time": times.LATEST,
    "after": LAST,
}
BY_TIME = {
    **LISTED,
    "include_excluded": False,
    "observed_since": times.EARLIEST,
    "at": times.LATEST,
    "after": LAST,
}


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("observation.page", BY_TIME), ("observation.page_by_type", {**BY_TIME, "entity_type": "alpha"}),
        ("observation.of_entity", {
            **BY_TIME, "entity_id": "$hub", "recorded_since": times.EARLIEST, "recorded_until": times.LATEST,
            "subject_ids": None, "field": None,
        }),
        ("relationship.page", RELATED), ("relationship.page_by_type", {**RELATED, "type": "PART_OF"}),
        ("relationship.of_entity", {
            **RELATED, "entity_id": "$hub", "outgoing": True, "incoming": True, "type": None, "other": None,
        }),
        ("relationship.of_entity[first]", {
            **LISTED, "entity_type": None, "expanded": False, "entity_id": "$hub", "outgoing": True,
            "incoming": True, "type": None, "other": None,
        }),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_other_lists_cost_a_page(profiled: Profile, owner: Owner, name: str, params: dict[str, Any]) -> None:
    """From the start, and from the middle of what has the same time."""
    params = {n: owner.hub if value == "$hub" else value for n, value in params.items()}
    row, hits, operators = profiled(name, **params)
    assert hits < FIXED + PAGE_HITS * LIMIT, hits
    assert not operators & SCANS
    if len(row["page"]) < LIMIT or "after" not in params:
        return
    assert row["more"]
    last = row["page"][-1]
    place = {"time": last[9], "after": last[1]} if "time" in params else {"at": last[4], "after": last[0]}
    row, hits, _ = profiled(name, **{**params, **place})
    assert len(row["page"]) == LIMIT
    assert hits < FIXED + PAGE_HITS * LIMIT, hits


AROUND = {
    "outgoing": True, "incoming": True, "depth": 1, "hub": 1_000, "most": 2_000, "links": 200, "limit": LIMIT,
    "include_entities": True, "types": None,
}  # fmt: skip
NEIGHBOURHOOD = {
    "hub": 1_000,
    "expanded": True,
    "offset": 0,
    "limit": LIMIT,
    "observations": 1_000,
    "events": LIMIT,
}


def test_a_walk_with_its_rows_costs_what_it_answers(profiled: Profile, owner: Owner) -> None:
    row, hits, operators = profiled("relationship.around", **AROUND, origin=owner.spoke)
    assert (len(row["entities"]), len(row["relationships"])) == (1, 1)
    assert hits < FIXED, hits
    assert not operators & SCANS
    row, hits, _ = profiled("relationship.around", **AROUND, origin=owner.hub)
    assert (len(row["levels"][0]), row["entities"], row["relationships"]) == (300, [], None)
    assert hits < FIXED + WALK_HITS * 300, hits
    row, hits, _ = profiled("relationship.around", **{**AROUND, "depth": 2}, origin=owner.spoke)
    assert [len(level) for level in row["levels"]] == [1, 300]
    assert hits < FIXED + WALK_HITS * 301, hits


def test_a_neighbourhood_costs_what_it_answers(profiled: Profile, owner: Owner) -> None:
    row, hits, operators = profiled("relationship.neighbourhood", **NEIGHBOURHOOD, entity_id=owner.spoke)
    assert (len(row["others"]), len(row["page"]), row["total"]) == (1, 1, 1)
    assert hits < FIXED, hits
    assert not operators & SCANS
    row, hits, _ = profiled("relationship.neighbourhood", **NEIGHBOURHOOD, entity_id=owner.hub)
    assert (len(row["page"]), row["total"]) == (LIMIT, 300)
    assert hits < FIXED + PAGE_HITS * LIMIT + SEEN_HITS * 300, hits


def test_the_fields_of_types_cost_their_schemas(profiled: Profile) -> None:
    row, hits, operators = profiled("schema.shapes", types=[*TYPES, "no_such_type"])
    assert [shape[0] for shape in row["shapes"]] == list(TYPES)
    assert hits < SEEN_HITS * len(TYPES), hits
    assert not operators & SCANS


def test_what_a_hub_is_related_to_costs_what_is_compared(profiled: Profile, owner: Owner) -> None:
    """Of the 300 relationships of the hub, the newest 50 are compared, or all, of which 20 are answered."""
    hub = {"entity_ids": [owner.hub], "outgoing": [], "incoming": None, "types": [], "characters": 100}
    hub["fields"] = hub["describing"] = []
    row, hits, operators = profiled("search.related", **hub, scanned=50, limit=1_000)
    assert len(row["related"]) == 50
    # A relationship is compared with its metadata and with what its other end is.
    assert hits < FIXED + (SEEN_HITS + 1) * 50, hits
    assert not operators & SCANS
    row, hits, _ = profiled("search.related", **hub, scanned=1_000, limit=20)
    assert len(row["related"]) == 20
    assert hits < FIXED + WALK_HITS * 300, hits


def test_what_is_joined_to_an_entity_costs_its_relationships(profiled: Profile, owner: Owner) -> None:
    asked = {
        "relationship_types": [], "types": [], "fields": ["n"], "cut": 100, "key": "name_key",
        "names": ["until"], "characters": 80, "most": 20_001,
    }  # fmt: skip
    row, hits, operators = profiled("entity.joined", **asked, entity_id=owner.spoke)
    assert (row["compared"], len(row["candidates"])) == (1, 1)
    assert hits < FIXED, hits
    assert not operators & SCANS
    row, hits, _ = profiled("entity.joined", **asked, entity_id=owner.hub)
    assert (row["compared"], len(row["candidates"])) == (300, 300)
    assert hits < FIXED + 2 * SEEN_HITS * 300, hits
    row, hits, _ = profiled("entity.joined", **{**asked, "most": 50}, entity_id=owner.hub)
    assert row["compared"] == 50
    assert hits < FIXED + 2 * SEEN_HITS * 50, hits
