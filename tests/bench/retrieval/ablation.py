"""Ablation: how much each step of a search gives, by leaving one step out at a time.

The product has no switches for its steps. A step is left out here by replacing a constant or a function of
it while the questions are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from rich.table import Table

from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.meaning import Weighted
from graphmem.model import times
from graphmem.search import search_engine, search_ranking, terms
from graphmem.search.compaction import TermVocabulary
from graphmem.search.context import context_lines
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds import anchors, kind_lookup, kind_plans, kind_words
from graphmem.search.questions import (
    asked_relationships,
    lexicon,
    mentions,
    naming,
    pieces,
    question_chart,
    question_words,
    reading,
    times_in_words,
)
from graphmem.text import languages
from tests.bench.retrieval import changes, dialogues, office, office_things, topics
from tests.bench.retrieval.measuring import NEWEST_FIRST, Owner
from tests.bench.retrieval.metrics import any_at, mean, newest_before_older, reciprocal_rank, share_of_answers
from tests.bench.retrieval.sets import HALVES, Half, Question
from tests.support.event_loop import Loop

Patch = pytest.MonkeyPatch


def _no_stop_words(patch: Patch) -> None:
    none: dict[str, frozenset[str]] = dict.fromkeys(languages.stop_words(), frozenset())
    without = SimpleNamespace(stop_words=lambda: none, months=languages.months, stems=languages.stems)
    patch.setattr(terms, "languages", without)


def _no_stems(patch: Patch) -> None:
    patch.setattr(TermVocabulary, "inflections", lambda *_: [])


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


def _no_newest(patch: Patch) -> None:
    patch.setattr(search_ranking, "raise_newest", lambda copy, points, hits: points)


def _no_whole_pieces(patch: Patch) -> None:
    of_question = terms.of_question

    def apart(*arguments: Any, **options: Any) -> terms.Question:
        question = of_question(*arguments, **options)
        concepts = tuple(replace(each, piece=place) for place, each in enumerate(question.concepts))
        return replace(question, concepts=concepts, pieces=tuple(each.terms[0] for each in concepts))

    patch.setattr(terms, "of_question", apart)


def _no_faint(patch: Patch) -> None:
    patch.setattr(search_ranking, "FAINT_SHARE", 1.0)


def _without(*places: tuple[Any, str, Any]) -> Callable[[Patch], None]:
    """Return what puts something that does nothing in the place of some parts."""

    def leave_out(patch: Patch) -> None:
        for owner, name, instead in places:
            patch.setattr(owner, name, instead)

    return leave_out


async def _no_anchor(*_: Any) -> anchors.Anchors:
    return anchors.Anchors([], frozenset(), is_cut=False)


async def _nothing(*_: Any) -> list[Any]:
    return []


def _no_kinds(patch: Patch) -> None:
    patch.setattr(kind_lookup, "phrases", lambda *_: [])


def _no_times(patch: Patch) -> None:
    patch.setattr(times_in_words.Calendar, "words_at", lambda *_: iter(()))


def _no_anchors(patch: Patch) -> None:
    patch.setattr(anchors, "anchors_of", _no_anchor)


def _no_identifiers(patch: Patch) -> None:
    patch.setattr(mentions, "identifiers_in", lambda _: [])


def _no_whole_identifiers(patch: Patch) -> None:
    patch.setattr(search_engine.written_identifiers, "sought", lambda *_: None)
    patch.setattr(mentions, "identifiers_in", lambda _: [])


LEXICON: Final = (
    reading, question_chart, times_in_words, kind_words, mentions, pieces, question_words,
)  # fmt: skip
"""The modules that have tables of the lexicon."""


def _no_language(language: str) -> Callable[[Patch], None]:
    """Return what takes the words of one language alone out of the tables, and its months and weekdays."""

    def words_of(value: Any) -> set[str]:
        if isinstance(value, str):
            return set(lexicon._listed(value))
        return {word for each in value.values() for word in words_of(each)}

    def is_left_out(word: Any) -> bool:
        return (" ".join(word) if isinstance(word, tuple) else word) in left_out

    own = words_of(lexicon.LANGUAGES[language])
    others = {name: each for name, each in lexicon.LANGUAGES.items() if name != language}
    left_out = own - words_of(others)

    def leave_out(patch: Patch) -> None:
        for module in LEXICON:
            for name, value in list(vars(module).items()):
                if isinstance(value, frozenset) and any(map(is_left_out, value)):
                    patch.setattr(module, name, value - left_out)
                elif isinstance(value, dict) and any(map(is_left_out, value)):
                    patch.setattr(module, name, {k: v for k, v in value.items() if not is_left_out(k)})
        known = {name: each for name, each in lexicon.LANGUAGES.items() if name != language}
        patch.setattr(lexicon, "LANGUAGES", known)
        patch.setattr(times_in_words, "names_of", times_in_words.names_of.__wrapped__)

    return leave_out


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
"""Steps of ranking that are left out, by name; first nothing."""
PARTS: Final[dict[str, Callable[[Patch], None]]] = {
    "all of a piece such as check-list": _no_whole_pieces,
    "faint resemblance behind hits": _no_faint,
    "newest first": _no_newest,
    "kinds": _no_kinds,
    "times of kinds": _no_times,
    "names beside kinds": _no_anchors,
    "names that no word joins to a kind": _without((kind_lookup, "_spans_beside", lambda *_: [])),
    "what is due, of any type": _without((reading.Reading, "_due", lambda *_: None)),
    "sorts of a type (meetings)": _without((kind_plans.KindPlan, "_of_sort", lambda _, members: members)),
    "values in use as states": _without(
        (question_chart.QuestionChart, "_may_be_value", lambda *_: False),
        (kind_plans, "_MAY_BE_VALUES", frozenset()),
    ),
    "other years and weeks": _without((times_in_words.Period, "readings", property(lambda period: [period]))),
    "whole names": _without((naming, "by_names", lambda *_: [])),
    "parts of names": _without((naming, "by_parts", _nothing)),
    "relationships": _without((asked_relationships, "by_relationships", _nothing)),
    "words of roles (boss)": _without((question_words, "_WORDS", {}), (context_lines, "ROLES", {})),
    "words of relationship types": _without((question_words, "_says_type", lambda *_: False)),
    "orders and titles before names": _without(
        (mentions, "_COMMANDS", frozenset()), (pieces, "_TITLES", frozenset())
    ),
    "identifiers in questions": _no_identifiers,
    "identifiers, in questions and alone": _no_whole_identifiers,
    "German": _no_language("de"),
    "French": _no_language("fr"),
    "Spanish": _no_language("es"),
    "Italian": _no_language("it"),
    "Portuguese": _no_language("pt"),
}
"""Parts of the reading of questions, and smaller steps."""


class Case(NamedTuple):
    """A question of a measure, its owner, and what its ranking is worth."""

    measure: str
    owner: Owner
    question: Question
    worth: Callable[[list[str], Question], float]
    arguments: dict[str, Any]
    looks_up: bool = False


def ablation(loop: Loop, services: Services, size: int) -> dict[str, dict[Half, dict[str, float]]]:
    """Return the mean of each measure, by the step that is left out and by half."""
    cases = list(_cases(loop, services, size))
    answer: dict[str, dict[Half, dict[str, float]]] = {}
    for step, leave_out in {**STEPS, **PARTS}.items():
        values: dict[tuple[Half, str], list[float]] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(times, "now", lambda: office_things.NOW)
            leave_out(patch)
            for each in cases:
                ask = each.owner.looked_up if each.looks_up else each.owner.ranking
                worth = each.worth(ask(each.question.text, **each.arguments), each.question)
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
    for each_office in office.make(size):
        owner = Owner(loop, services, each_office.collection)
        owner.relate(each_office.links)
        for each in each_office.collection.questions:
            if each.answers:
                yield Case(each.kind, owner, each, lambda r, q: share_of_answers(r, q.answers), {})
            else:
                yield Case(each.kind, owner, each, lambda r, _: float(not r), {}, looks_up=True)
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
