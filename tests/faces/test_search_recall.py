"""Search by the vector index among near-twins finds what an exact comparison finds."""

from __future__ import annotations

import uuid
from dataclasses import replace

import numpy as np
import pytest

from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.settings import Limits
from graphmem.worker import index_vectors
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.search_copies import without_copies

TWINS = 2_400
"""More than are compared one by one."""

FACTS = {
    "guest internet": "The wifi password for visitors is on the board",
    "bike storage": "Bicycles are kept in the shed behind the garage",
    "coffee machine repair": "The espresso maker is fixed by a technician",
    "parking for visitors": "Guests leave their cars in the yard",
    "broken window": "The glass of the kitchen pane has a crack",
    "groceries": "Buy milk and eggs",
    "holiday in Portugal": "Trip to Lisbon, flights booked",
    "authentication failure": "Fix the login bug",
    "music class": "Piano lesson on Tuesday",
    "finance": "Quarterly budget review",
    "pet doctor": "The cat needs a vaccine",
    "running race": "Marathon training plan",
    "books": "Return library books",
    "smoke alarm": "Replace the smoke detector",
    "taxes": "Tax declaration is due",
    "photos": "Backup of the photos",
    "travel document renewal": "Passport renewal",
    "soup": "Recipe for lentil soup",
}
TWIN_QUESTIONS = ("Person 7", "a person", "people")


@pytest.fixture(scope="module")
def owner(loop: Loop, services: Services) -> str:
    """An owner with a few diverse facts, then thousands of persons much alike, all of them in the index."""
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    run("store", entities=[{"entity_type": "note", "name": fact} for fact in FACTS.values()])
    while loop.run(index_vectors(services)):
        pass
    for start in range(0, TWINS, 300):
        persons = [{"entity_type": "person", "name": f"Person {i}"} for i in range(start, start + 300)]
        run("store", entities=persons, find_duplicates=False)
    # A worker of another process may take the same vectors: then nothing is left to place for this one.
    fresh = "MATCH (n:Meaning {fresh: 'person', owner: $owner}) RETURN count(n) AS count"
    while loop.run(services.database.script(fresh, owner=owner))[0]["count"]:
        loop.run(services.database.write("meaning.place", None, limit=100))
    return owner


@pytest.fixture(scope="module")
def vectors(loop: Loop, services: Services, owner: str) -> tuple[list[str], np.ndarray]:
    """The ids and the normalised vectors of the owner's entities."""
    rows = loop.run(services.database.script(
        "MATCH (n:Vector) WHERE n.owner = $owner RETURN n.entity_id AS id, n.vector AS vector", owner=owner
    ))  # fmt: skip
    matrix = np.array([row["vector"] for row in rows])
    return [row["id"] for row in rows], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("limits", "by_index"),
    [(Limits(), True), (Limits(index_rows=1, search_meaning=3), True), (Limits(index_share=0), False)],
    ids=["as it is", "read again and again", "one by one"],
)
def test_meaning_among_near_twins_finds_what_an_exact_comparison_finds(
    loop: Loop,
    services: Services,
    owner: str,
    vectors: tuple[list[str], np.ndarray],
    limits: Limits,
    by_index: bool,
) -> None:
    run = by_runner(loop, replace(without_copies(services), limits=limits), owner)
    ids, matrix = vectors
    assert len(ids) == TWINS + len(FACTS)
    for question in (*FACTS, *TWIN_QUESTIONS):
        explained = run("search.explain", search=question, limit=3)
        assert explained["semantic"] == "ready"
        (question_vector,) = np.array(LocalEmbedder().vectors([question]))
        similarity = matrix @ question_vector / np.linalg.norm(question_vector)
        by_id = dict(zip(ids, similarity.tolist(), strict=True))
        (meaning,) = [strategy for strategy in explained["strategies"] if strategy["strategy"] == "meaning"]
        expected = sorted((score for score in by_id.values() if score >= LocalEmbedder.floor), reverse=True)
        assert meaning["found"] == min(len(expected), limits.search_meaning), question
        hits = [(hit["score"], by_id[hit["entity_id"]]) for hit in meaning["hits"]]
        for (score, similar), wanted in zip(hits, expected, strict=False):
            assert score == pytest.approx(similar, abs=1e-5), question
            assert score == pytest.approx(wanted, abs=1e-5), question
        if by_index:
            assert explained["compared"]["one_by_one"] in (0, len(ids))
        else:
            assert not explained["compared"]["by_index"]


def test_equal_similarities_are_in_the_order_of_ids(loop: Loop, services: Services, owner: str) -> None:
    def answer(limits: Limits) -> list[str]:
        run = by_runner(loop, replace(without_copies(services), limits=limits), owner)
        explained = run("search.explain", search="a person", limit=50)
        return [entity["entity_id"] for entity in explained["entities"]]

    assert answer(Limits()) == answer(Limits(index_share=0)) == answer(Limits(index_rows=1))
