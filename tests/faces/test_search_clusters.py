"""Among near-twins of many owners, an owner with 5 % of the vectors gets what an exact comparison finds."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.search.entity_copy import DIMENSIONS, SearchCopy
from tests.bench.retrieval import twins
from tests.bench.retrieval.sets import Text
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

OWN = 50
"""Texts of the owner who asks: 5 % of all that are stored here."""
OTHERS = 19 * OWN // twins.OTHER_OWNERS
GENERAL = ("an invoice for somebody", "who has a key?", "medical check", "music", "the printer is broken")
FIRST = 10
"""Hits that are compared."""

Vectors = dict[str, npt.NDArray[np.float64]]


class Twins:
    """The texts of the owner who asks, with the ids and the vectors of their entities."""

    def __init__(self, owner: str, texts: Sequence[Text], ids: Sequence[str], vectors: Vectors) -> None:
        self.owner, self.texts, self.ids, self.vectors = owner, texts, ids, vectors

    @property
    def questions(self) -> list[str]:
        titles = [text.item["title"] for text in self.texts[::5]]
        return [*titles, *(text.item["text"] for text in self.texts[:3]), *GENERAL]

    def similarities(self, vector: Sequence[float]) -> dict[str, float]:
        """Return the similarity of each entity to a vector, compared one by one, rounded as an answer is."""
        query = np.asarray(vector, np.float64)
        return {
            entity_id: round(float(rows @ query / np.linalg.norm(rows) / np.linalg.norm(query)), 6)
            for entity_id, rows in self.vectors.items()
        }


@pytest.fixture(scope="module")
def own(loop: Loop, services: Services) -> Twins:
    collection, *others = twins.make()
    texts = collection.texts[:OWN]
    owner = str(uuid.uuid4())
    for other in others:
        items = [text.item for text in other.texts[:OTHERS]]
        by_runner(loop, services, str(uuid.uuid4()))("store", entities=items, find_duplicates=False)
    stored = by_runner(loop, services, owner)(
        "store", entities=[text.item for text in texts], find_duplicates=False
    )
    ids = [entity["entity_id"] for entity in stored["entities"]]
    packed = loop.run(services.database.script(
        "MATCH (n:Meaning) WHERE n.owner = $owner RETURN n.entity_id AS id, n.packed AS packed", owner=owner
    ))  # fmt: skip
    vectors = {row["id"]: np.frombuffer(row["packed"], np.int8).astype(np.float64) for row in packed}
    assert {len(each) for each in vectors.values()} == {DIMENSIONS}, "short texts, without passages"
    assert len(vectors) == OWN
    return Twins(owner, texts, ids, vectors)


def compare(hits: list[dict[str, object]], similarities: dict[str, float], floor: float) -> None:
    """Compare the first hits by meaning with all similarities; equal ones may be in any order."""
    expected = sorted((each for each in similarities.values() if each >= floor), reverse=True)[:FIRST]
    assert [hit["score"] for hit in hits[: len(expected)]] == pytest.approx(expected, abs=1e-5)
    assert [similarities[str(hit["entity_id"])] for hit in hits[: len(expected)]] == pytest.approx(
        expected, abs=1e-5
    )


def test_the_copy_finds_what_an_exact_comparison_finds(
    loop: Loop, services: Services, own: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, compared, vectors = (
        by_runner(loop, services, own.owner),
        SearchCopy.similarities,
        list[list[float]](),
    )

    def similarities(copy: SearchCopy, vector: Sequence[float]) -> npt.NDArray[np.float64]:
        vectors.append(list(vector))
        return compared(copy, vector)

    monkeypatch.setattr(SearchCopy, "similarities", similarities)
    for question in own.questions:
        explained = run("search.explain", search=question, limit=FIRST)
        (meaning,) = [each for each in explained["strategies"] if each["strategy"] == "meaning"]
        compare(meaning["hits"], own.similarities(vectors[-1]), LocalEmbedder.floor)
        assert explained["compared"]["one_by_one"] == OWN
    for text, entity_id in zip(own.texts, own.ids, strict=True):
        first = run("entities.query", search=text.item["title"], limit=1)
        assert [entity["entity_id"] for entity in first["entities"]] == [entity_id]
        assert "exact" not in first
