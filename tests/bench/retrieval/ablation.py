"""Ablation: how much each step of a search gives, by leaving one step out at a time.

The product has no switches for its steps. A step is left out here by replacing a constant or a function of
it while the questions are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from rich.table import Table

from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.meaning import Weighted
from graphmem.registry import Services
from graphmem.search import search_ranking, terms
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.term_vocabulary import Vocabulary
from graphmem.text import languages
from tests.bench.retrieval import changes, dialogues, topics
from tests.bench.retrieval.measuring import NEWEST_FIRST, Owner
from tests.bench.retrieval.metrics import any_at, mean, newest_before_older, reciprocal_rank
from tests.bench.retrieval.sets import HALVES, Half, Question
from tests.support.event_loop import Loop

Patch = pytest.MonkeyPatch


def _no_stop_words(patch: Patch) -> None:
    none: dict[str, frozenset[str]] = dict.fromkeys(languages.stop_words(), frozenset())
    patch.setattr(terms, "languages", SimpleNamespace(stop_words=lambda: none, months=languages.months))


def _no_stems(patch: Patch) -> None:
    patch.setattr(Vocabulary, "inflections", lambda *_: [])


def _no_dates(patch: Patch) -> None:
    patch.setattr(terms, "_dates", lambda *_: {})
    patch.setattr(terms, "_whole_dates", lambda *_: iter(()))


def _no_weights(patch: Patch) -> None:
    weighted = LocalEmbedder.weighted

    def equally(embedder: LocalEmbedder, parts: Sequence[Weighted]) -> Any:
        return weighted(embedder, [Weighted(part.text, 1.0) for part in parts])

    patch.setattr(LocalEmbedder, "weighted", equally)


def _no_passages(patch: Patch) -> None:
    def of_beginnings(copy: SearchCopy, vector: Sequence[float]) -> Any:
        rows, query = copy.beginnings(np.arange(len(copy.ids))), np.asarray(vector, np.float64)
        lengths = np.sqrt(np.vecdot(rows, rows) * (query @ query))
        return np.divide(rows @ query, lengths, out=np.zeros(len(rows)), where=lengths > 0)

    patch.setattr(SearchCopy, "similarities", of_beginnings)


def _no_name_share(patch: Patch) -> None:
    patch.setattr(search_ranking, "NAME_WEIGHT", 0.0)


def _no_words(patch: Patch) -> None:
    patch.setattr(search_ranking, "WORDS_WEIGHT", 0.0)


def _no_meaning(patch: Patch) -> None:
    patch.setattr(SearchCopy, "similarities", lambda copy, _: np.zeros(len(copy.ids)))


STEPS: Final[dict[str, Callable[[Patch], None]]] = {
    "": lambda _: None,
    "stop words": _no_stop_words,
    "inflections": _no_stems,
    "dates as words": _no_dates,
    "weights in the vector of the question": _no_weights,
    "passages": _no_passages,
    "share of the name": _no_name_share,
    "words": _no_words,
    "meaning": _no_meaning,
}
"""What is left out, by name; first nothing."""


class Case(NamedTuple):
    """A question of a measure, its owner, and what its ranking is worth."""

    measure: str
    owner: Owner
    question: Question
    worth: Callable[[list[str], Question], float]
    arguments: dict[str, Any]


def ablation(loop: Loop, services: Services, size: int) -> dict[str, dict[Half, dict[str, float]]]:
    """Return the mean of each measure, by the step that is left out and by half."""
    cases = list(_cases(loop, services, size))
    answer: dict[str, dict[Half, dict[str, float]]] = {}
    for step, leave_out in STEPS.items():
        values: dict[tuple[Half, str], list[float]] = {}
        with pytest.MonkeyPatch.context() as patch:
            leave_out(patch)
            for each in cases:
                ranking = each.owner.ranking(each.question.text, **each.arguments)
                worth = each.worth(ranking, each.question)
                values.setdefault((each.question.half, each.measure), []).append(worth)
        answer[step] = {
            half: {measure: mean(found) for (of, measure), found in values.items() if of == half}
            for half in HALVES
        }
    return answer


def table(figures: dict[str, dict[Half, dict[str, float]]]) -> Table:
    """Return the figures of the reporting half: of the product, and the difference without each step."""
    whole = figures[""]["reporting"]
    shown = Table(title="Ablation: the difference without a step (reporting half)", title_justify="left")
    shown.add_column("without")
    for measure in whole:
        shown.add_column(measure, justify="right")
    for step, halves in figures.items():
        values = halves["reporting"]
        cells = [f"{values[m] - whole[m]:+.3f}" if step else f"{values[m]:.3f}" for m in whole]
        shown.add_row(step or "(nothing)", *cells)
    return shown


def _cases(loop: Loop, services: Services, size: int) -> Iterator[Case]:
    """Store the sets, and yield their questions."""
    for turns, sessions in dialogues.make(size):
        by_turn, by_session = Owner(loop, services, turns), Owner(loop, services, sessions)
        for each in turns.questions:
            yield Case("turn in the first 10", by_turn, each, lambda r, q: any_at(10, r, q.answers), {})
            yield Case("session in the first 5", by_session, each, lambda r, q: any_at(5, r, q.sessions), {})
            yield Case(
                "session, reciprocal rank", by_session, each, lambda r, q: reciprocal_rank(r, q.sessions), {}
            )
    for collection in topics.make(size):
        owner = Owner(loop, services, collection)
        for each in collection.questions:
            yield Case("many topics", owner, each, lambda r, q: any_at(10, r, q.answers), {})
    for collection in changes.make(size):
        owner = Owner(loop, services, collection)
        for each in collection.questions:
            yield Case(
                "newest before older", owner, each,
                lambda r, q: newest_before_older(r, q.answers[0], q.decoys), NEWEST_FIRST,
            )  # fmt: skip
