"""What searches read, counted by the server: a stated multiple of what they look at, whatever others have."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.search import written_identifiers
from graphmem.text import identifiers
from graphmem.text import words as wording
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

OWN_ENTITIES, OTHER_ENTITIES = 2_100, 600
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
    # By the index: the worker of a service has put them there.
    loop.run(
        services.database.script(
            "MATCH (n:Meaning) WHERE n.owner = $o SET n:Vector, n.fresh = null", o=owners[0]
        )
    )
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


def parameters(query: str, owner: str, **more: Any) -> dict[str, Any]:
    words = wording.parse_query(query, begins=True)
    return {
        "pairs": [], "kinds": list(identifiers.KINDS), "types": [], "vector": None,
        "model": LocalEmbedder.model,
        "lucene": wording.lucene(words, owner, []), "patterns": words.patterns,
        "among": None, "list_limit": 500, "floor": 0.28,
        "meaning_limit": 50, "one_by_one_limit": 2_000, "exact_limit": 100_000, "unindexed_limit": 2_000,
        "index_share": 1_000, "index_rows": 500, "only_without_words": False, "weights": [3.0, 1.0, 1.0],
        "offset": 0, "limit": 10, **more,
    }  # fmt: skip


PAGE = 10 * 40
"""What ten entities of a page may take, with their snapshots."""


def test_a_look_up_reads_a_few_records_for_each_kind(loop: Loop, services: Services, owner: str) -> None:
    for identifier in ("x-7", "common rare7", "nobody"):
        pairs = [list(pair) for pair in identifiers.candidates(identifier)]
        more = {"pairs": pairs, "kinds": list(identifiers.KINDS), "types": [], "limit": 10}
        hit_count = hits(loop, services, "entity.find", owner, **more)
        assert hit_count <= 10 * len(pairs) + 40, identifier


def test_words_read_what_they_propose_and_no_more(loop: Loop, services: Services, owner: str) -> None:
    # It begins 111 of their words.
    assert hits(loop, services, "search.find", owner, **parameters("rare7", owner)) <= 111 * 12 + PAGE
    assert hits(loop, services, "search.find", owner, **parameters("rare777", owner)) <= 100
    assert hits(loop, services, "search.find", owner, **parameters("absent", owner)) <= 60
    # 500 of the 2,100 that say it are proposed.
    assert hits(loop, services, "search.find", owner, **parameters("common", owner)) <= 500 * 12 + PAGE


def sought(looked_up: str, owner: str, **more: Any) -> dict[str, Any]:
    """Return the parameters of a search for an identifier."""
    identifier = written_identifiers.sought(looked_up)
    assert identifier is not None
    clauses = " OR ".join(spelling.clause for spelling in identifier.spellings)
    return {
        "pairs": [], "kinds": list(identifiers.KINDS), "types": [],
        "lucene": wording.lucene_of([f"({clauses})"], owner, []), "patterns": identifier.patterns,
        "needles": identifier.needles, "among": None, "list_limit": 5_000, "characters": 2_000, **more,
    }  # fmt: skip


def test_an_identifier_reads_what_has_its_words_and_no_more(
    loop: Loop, services: Services, owner: str
) -> None:
    assert hits(loop, services, "search.identifier", owner, **sought("rare777", owner)) <= 100
    assert hits(loop, services, "search.identifier", owner, **sought("absent-1", owner)) <= 60
    assert hits(loop, services, "search.identifier", owner, **sought("DE89370400440532013000", owner)) <= 60
    # Of what is related to something, each is compared, whatever the words are.
    ids = [row["id"] for row in loop.run(services.database.script(
        "MATCH (n:Entity {owner: $o}) RETURN n.id AS id ORDER BY n.id LIMIT 100", o=owner
    ))]  # fmt: skip
    among = sought("x-7", owner, among=ids)
    assert hits(loop, services, "search.identifier", owner, **among) <= len(ids) * 15 + 60
    among = parameters("common", owner, among=ids)
    assert hits(loop, services, "search.find", owner, **among) <= len(ids) * 15 + PAGE


def test_meaning_compares_each_or_asks_the_index(loop: Loop, services: Services, owner: str) -> None:
    (vector,) = LocalEmbedder().vectors(["a common thing"])
    each = {"lucene": None, "vector": vector, "one_by_one_limit": 5_000}
    assert (
        hits(loop, services, "search.find", owner, **parameters("x", owner, **each))
        <= OWN_ENTITIES * 5 + PAGE
    )
    by_index = {**each, "one_by_one_limit": 0, "meaning_limit": 10, "index_rows": 100}
    hit_count = hits(loop, services, "search.find", owner, **parameters("x", owner, **by_index))
    assert hit_count < OWN_ENTITIES, "the index is asked, not each of them"


def test_what_waits_is_counted_without_what_does_not(loop: Loop, services: Services, owner: str) -> None:
    hit_count = hits(loop, services, "owner.stats", owner, empty="", model=LocalEmbedder.model)
    assert hit_count <= 60


def test_the_worker_reads_what_waits(loop: Loop, services: Services, owner: str) -> None:
    waiting = {"model": LocalEmbedder.model, "only": None, "limit": 64}
    assert hits(loop, services, "meaning.waiting", None, **waiting) <= 64 * 40
    assert hits(loop, services, "meaning.place", None, limit=50) <= 50 * 12
