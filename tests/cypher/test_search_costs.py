"""What searches read, counted by the server: a stated multiple of what they look at, whatever others have."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.text import identifiers
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

OWN_ENTITIES, OTHER_ENTITIES = 600, 300
SCANS = {"AllNodesScan", "NodeByLabelScan", "NodeIndexScan", "DirectedRelationshipTypeScan"}


@pytest.fixture(scope="module")
def owner(loop: Loop, services: Services) -> str:
    """An owner with many entities, beside one with some that say the same."""
    owners = [str(uuid.uuid4()) for _ in range(2)]
    for owner_id, count in zip(owners, (OWN_ENTITIES, OTHER_ENTITIES), strict=True):
        run = by_runner(loop, services, owner_id)
        for start in range(0, count, 300):
            items = [
                {
                    "entity_type": ("thing", "gadget")[i % 2],
                    "name": f"common rare{i}",
                    "external_id": f"x-{i}",
                    "note": "half of them" if i % 2 else "other ones",
                }
                for i in range(start, start + 300)
            ]
            run("store", entities=items, find_duplicates=False)
    return owners[0]


def steps(node: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    details = str(node.get("args", {}).get("Details", ""))
    yield node["operatorType"].partition("@")[0], details, node.get("dbHits", 0)
    for child in node.get("children", []):
        yield from steps(child)


def hits(loop: Loop, services: Services, name: str, owner: str | None, **params: Any) -> int:
    """Return how often a query went to the store; it may not scan a label."""

    async def profile() -> dict[str, Any]:
        async with services.database._driver.session() as session:
            result = await session.run("PROFILE " + cypher.query(name).text, cypher.bind(name, params, owner))
            return (await result.consume()).profile or {}

    plan_steps = list(steps(loop.run(profile())))
    assert not [(operator, details) for operator, details, _ in plan_steps if operator in SCANS]
    return sum(count for _, _, count in plan_steps)


def test_a_look_up_reads_a_few_records_for_each_kind(loop: Loop, services: Services, owner: str) -> None:
    for identifier in ("x-7", "common rare7", "nobody"):
        pairs = [list(pair) for pair in identifiers.candidates(identifier)]
        more = {"pairs": pairs, "kinds": list(identifiers.KINDS), "types": [], "limit": 10}
        hit_count = hits(loop, services, "entity.find", owner, **more)
        assert hit_count <= 10 * len(pairs) + 40, identifier


def test_an_identifier_reads_what_may_have_it_once(loop: Loop, services: Services, owner: str) -> None:
    ids = [row["id"] for row in loop.run(services.database.script(
        "MATCH (n:Entity {owner: $o}) RETURN n.id AS id ORDER BY n.id LIMIT 100", o=owner
    ))]  # fmt: skip
    more = {"entity_ids": ids, "patterns": [" x 7 "], "characters": 2_000}
    assert hits(loop, services, "search.identified", owner, **more) <= len(ids) * 8


def test_a_search_follows_what_changed_and_reads_no_more(loop: Loop, services: Services, owner: str) -> None:
    (row,) = loop.run(services.database.script(
        "MATCH (n:Entity {owner: $o}) RETURN max(n.changed) AS changed, max(n.id) AS last", o=owner
    ))  # fmt: skip
    more = {
        "changed": row["changed"], "after": row["last"], "vectors_changed": 0, "vectors_after": "\uffff",
        "limit": 1_000, "vectors_limit": 0, "pairs": [], "kinds": [], "types": [], "list_limit": 500,
    }  # fmt: skip
    assert hits(loop, services, "search.follow", owner, **more) <= 40


def test_what_waits_is_counted_without_what_does_not(loop: Loop, services: Services, owner: str) -> None:
    hit_count = hits(loop, services, "owner.stats", owner, empty="", model=LocalEmbedder.model)
    assert hit_count <= 60


def test_the_worker_reads_what_waits(loop: Loop, services: Services, owner: str) -> None:
    waiting = {"model": LocalEmbedder.model, "only": None, "limit": 64}
    assert hits(loop, services, "meaning.waiting", None, **waiting) <= 64 * 40
