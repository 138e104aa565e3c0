"""What it costs to look near a new entity, under its owner's lock, where many bear its name."""

from __future__ import annotations

from typing import Any, LiteralString

from graphmem import cypher
from graphmem.context import Services
from graphmem.duplicates import duplicate_pages
from graphmem.duplicates.duplicate_pages import Detections
from tests.cypher.test_costs import parts
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import by_runner
from tests.support.figures import Figures

DELETED = 5_000 if LONG else 2_000
HITS = 3_000
"""A name and its words are looked at as they are; of either 200 entities, with three hits for each."""
NAME = "John Smith"


def near(loop: Loop, services: Services, owner: str, kind: str) -> tuple[dict[str, Any], int]:
    """Return the row of a new entity of that name, and the hits of the query."""
    new = duplicate_pages.Profile("new", kind, NAME, {})
    params = duplicate_pages.parameters({"new": new}, Detections({}, {}))

    async def ask() -> tuple[dict[str, Any], int]:
        async with services.database._driver.session() as session:
            text = f"PROFILE {cypher.query('duplicate.near').text}"
            result = await session.run(text, cypher.bind("duplicate.near", params, owner))
            (row,) = [dict(record.items()) async for record in result]
            plan = (await result.consume()).profile
            assert plan is not None
            return row, sum(part["dbHits"] for part in parts(plan))

    return loop.run(ask())


def test_deleted_namesakes_cost_a_new_one_little(
    loop: Loop, services: Services, owner: str, figures: Figures
) -> None:
    run = by_runner(loop, services, owner)
    run("store", entities=[{"entity_type": "thing", "name": "John Smyth"}])
    items = [{"entity_type": "thing", "name": NAME, "intent": "create_new"}] * 1_000
    for _ in range(0, DELETED, len(items)):
        run("store", entities=items, find_duplicates=False)
    gone: LiteralString = (
        "MATCH (entity:Entity {owner: $owner}) WHERE entity.canonical_name = $name SET entity.listed = null"
    )
    loop.run(services.database.script(gone, owner=owner, name=NAME))
    run("store", entities=items[:1])
    for kind, names in (("thing", {NAME, "John Smyth"}), ("person", set[str]())):
        row, hits = near(loop, services, owner, kind)
        figures(f"{hits} hits near a new {kind} whose name {DELETED} deleted ones bear")
        assert hits < HITS
        assert {profile[2] for profile in row["profiles"]} == names
