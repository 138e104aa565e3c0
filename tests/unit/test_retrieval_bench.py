"""The bench of finding: its sets are the same in every run; its measures are right for hand-made rankings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.meaning import Weighted, packed
from graphmem.search import search_ranking
from graphmem.search import terms as search_terms
from graphmem.search.copy_arrays import EntityText
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.questions import mentions
from graphmem.search.questions.phrases import Phrase
from graphmem.search.questions.reading import Reading
from graphmem.text import words as wording
from tests.bench.retrieval import (
    ablation,
    census,
    changes,
    dialogues,
    facts,
    office,
    people,
    sets,
    topics,
    topics_language,
    twins,
    words,
)
from tests.bench.retrieval.bm25 import BM25, stem, terms
from tests.bench.retrieval.figures import Figures
from tests.bench.retrieval.metrics import (
    any_at,
    false_merges,
    joined,
    mean,
    newest_before_older,
    pair_scores,
    reciprocal_rank,
    share_of_answers,
)
from tests.bench.retrieval.sets import Collection
from tests.support.walks import walk_over

DIGESTS = {
    "dialogues": "b52b40931c8311aa",
    "topics": "dd6ee7d62eca3510",
    "changes": "794d13facddb4caf",
    "people": "45b194d5df722c08",
    "people, 5% strangers": "78057878ad497d02",
    "census": "9a9cd17760f589a1",
    "census tuning": "ea7a68a34325205c",
    "office": "274a5e56b2a6d5c1",
    "twins": "2668a9d95a14849a",
}


def turns_and_sessions() -> list[Collection]:
    return [collection for pair in dialogues.make() for collection in pair]


MAKERS: dict[str, Callable[[], Any]] = {
    "dialogues": turns_and_sessions,
    "topics": topics.make,
    "changes": changes.make,
    "people": people.make,
    "people, 5% strangers": lambda: people.make(stranger_share=0.05),
    "census": census.make,
    "census tuning": lambda: census.make(seed="census tuning"),
    "office": office.make,
    "twins": twins.make,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_generated_set_is_the_same_in_every_run(name: str) -> None:
    assert sets.digest(MAKERS[name]()) == DIGESTS[name]


@pytest.mark.parametrize("name", ["dialogues", "topics", "changes", "twins"])
def test_each_question_is_answered_by_texts_of_its_collection(name: str) -> None:
    for collection in MAKERS[name]():
        text_ids = {text.id for text in collection.texts}
        assert len(text_ids) == len(collection.texts)
        for question in collection.questions:
            answers = question.sessions if collection.name.startswith("sessions") else question.answers
            assert answers, question
            assert text_ids >= {*answers, *question.decoys}, question
            assert not {*answers} & {*question.decoys}, question
            assert "{" not in question.text
        assert not [text.words for text in collection.texts if "{" in text.words]


@pytest.mark.parametrize("name", ["dialogues", "topics", "changes", "twins"])
def test_both_halves_have_questions(name: str) -> None:
    halves = [question.half for collection in MAKERS[name]() for question in collection.questions]
    assert 0.4 < halves.count("tuning") / len(halves) < 0.6


def test_the_newest_statement_is_newer_than_its_decoys() -> None:
    (collection,) = changes.make()
    times = {text.id: text.item["observed_at"] for text in collection.texts}
    for question in collection.questions:
        (newest,) = question.answers
        assert question.decoys
        assert all(times[decoy] < times[newest] for decoy in question.decoys)


def test_the_owner_of_near_twins_has_a_twentieth_of_the_texts() -> None:
    own, *others = twins.make()
    total = len(own.texts) + sum(len(other.texts) for other in others)
    assert len(own.texts) / total == pytest.approx(0.05)


def test_the_language_has_three_thousand_words() -> None:
    def words_of(value: Any) -> set[str]:
        if isinstance(value, str):
            return set(re.findall(r"[^\W\d_]+", value.lower()))
        if isinstance(value, dict):
            return {word for pair in value.items() for part in pair for word in words_of(part)}
        if isinstance(value, list | tuple):
            return {word for part in value for word in words_of(part)}
        return set()

    modules = (words, topics_language, facts, changes, twins)
    lists = [value for module in modules for name, value in vars(module).items() if name.isupper()]
    assert len(words_of(lists)) >= 3_000


def test_strangers_are_records_with_a_name_alone() -> None:
    strangers = [
        record for record in people.make(stranger_share=0.05) if record.person.startswith("stranger")
    ]
    assert strangers
    assert all(set(record.item) == {"entity_type", "name"} for record in strangers)


def test_any_at_looks_at_the_first_only() -> None:
    assert any_at(2, ["a", "b", "c"], ["b", "x"]) == 1
    assert any_at(2, ["a", "b", "c"], ["c"]) == 0
    assert any_at(10, [], ["c"]) == 0


def test_reciprocal_rank_is_that_of_the_first_answer() -> None:
    assert reciprocal_rank(["a", "b", "c"], ["b", "c"]) == 0.5
    assert reciprocal_rank(["a"], ["b"]) == 0
    assert share_of_answers(["a", "b", "c"], ["a", "c"]) == 0.5


def test_newest_before_older_needs_the_newest_and_no_older_one_before_it() -> None:
    assert newest_before_older(["x", "new", "old"], "new", ["old"]) == 1
    assert newest_before_older(["old", "new"], "new", ["old"]) == 0
    assert newest_before_older(["new"], "new", ["old"]) == 1
    assert newest_before_older(["x"], "new", ["old"]) == 0


def test_pair_scores_count_pairs_of_records() -> None:
    persons = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}
    scores = pair_scores({"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}, persons)
    assert scores == pytest.approx((1 / 2, 1 / 4, 1 / 3))
    assert pair_scores(persons, persons) == (1, 1, 1)
    assert pair_scores({name: name for name in persons}, persons) == (1, 0, 0)


def test_false_merges_are_the_records_of_others_than_the_most_frequent_person() -> None:
    persons = {"a": 1, "b": 1, "c": 2, "d": 2}
    assert false_merges({"a": "x", "b": "x", "c": "x", "d": "y"}, persons) == (1, 2)
    assert false_merges({name: name for name in persons}, persons) == (0, 0)


def test_joined_groups_are_closed_under_the_pairs() -> None:
    groups = joined("abcd", [("a", "b"), ("b", "c")])
    assert groups["a"] == groups["b"] == groups["c"] != groups["d"]


def test_mean_of_nothing_is_zero() -> None:
    assert mean([]) == 0
    assert mean([1, 0]) == 0.5


def test_plain_bm25_has_light_stems_and_no_stop_words() -> None:
    assert terms("Where did the Dogs sleep?") == ["dog", "sleep"]
    assert {stem(word) for word in ("plant", "plants", "planted", "planting")} == {"plant"}
    assert stem("cherries") == stem("cherry")
    assert stem("bus") == "bus"


def test_plain_bm25_prefers_rare_words_and_short_texts() -> None:
    index = BM25({"a": "dog cat", "b": "dog bird", "c": "dog bird fish horse", "d": "fish"})
    assert index.ranking("dog cat", 10) == ["a", "b", "c"]
    assert index.ranking("bird", 10) == ["b", "c"]
    assert index.ranking("birds", 1) == ["b"]
    assert index.ranking("the", 10) == []
    # Equal scores are in the order of ids.
    assert BM25({"2": "x y", "1": "x y"}).ranking("x", 10) == ["1", "2"]


def test_figures_have_a_row_for_each_kind_and_the_halves_apart() -> None:
    figures = Figures()
    figures.add("set", "measure", "reporting", 1.0, 0.0, kind="who")
    figures.add("set", "measure", "reporting", 0.0, 1.0, kind="when")
    figures.add("set", "measure", "tuning", 1.0)
    whole, when, who = figures.summaries()
    assert [row["kind"] for row in (whole, when, who)] == ["", "when", "who"]
    assert whole["reporting"] == {"count": 2, "graphmem": 0.5, "baseline": 0.5}
    assert whole["tuning"] == {"count": 1, "graphmem": 1.0, "baseline": None}
    assert who["reporting"] == {"count": 1, "graphmem": 1.0, "baseline": 0.0}
    assert figures.table().row_count == 3


@pytest.mark.parametrize("step", [step for step in ablation.STEPS if step])
def test_a_step_that_is_left_out_changes_points(step: str) -> None:
    """Else the product has changed, and the ablation no longer leaves the step out."""
    embedder = LocalEmbedder()
    told = "The bakery opened in the old harbour.", "Pedro met Ann on 2023-05-08.", "Where is it?"
    texts = [(text, text) for text in told]
    texts.append(("A talk about bread and butter.", "Pedro sells many bakeries on 8 May"))

    def points() -> list[float]:
        copy = SearchCopy()
        for place, (name, value) in enumerate(texts):
            text = wording.text_of(name, [("text", json.dumps(value))])
            copy.put(
                [
                    EntityText(
                        f"ent_{place}", "note", place, text, b"".join(packed(embedder.vectors([name, value])))
                    )
                ]
            )
        question = search_terms.of_question("Where is the bakery of Pedro on 8 May?", copy.languages)
        match = search_ranking.match_words(copy, question)
        weighted = zip(question.pieces, match.weights, strict=True)
        vector = embedder.weighted([Weighted(*part) for part in weighted])
        ranking = search_ranking.rank(copy, match, vector, floor=0.28, among=copy.alive, named={}, fixed={})
        return ranking.points.tolist()

    whole = points()
    with pytest.MonkeyPatch.context() as patch:
        ablation.STEPS[step](patch)
        assert points() != whole
    assert points() == whole


@walk_over("part", ablation.PARTS)
def test_a_part_that_is_left_out_is_one_of_the_product(part: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        ablation.PARTS[part](patch)
        assert patch._setattr, part


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("German", "offene Aufgaben"),
        ("French", "factures impayées"),
        ("Spanish", "tareas abiertas"),
        ("Italian", "compiti aperti"),
        ("Portuguese", "faturas por pagar"),
    ],
)
def test_a_language_that_is_left_out_is_not_read(language: str, question: str) -> None:
    def phrases(text: str = question) -> list[Phrase]:
        return Reading(mentions.names_in(text), ["task", "invoice"], {}, 0).kinds()

    assert phrases()
    with pytest.MonkeyPatch.context() as patch:
        ablation.PARTS[language](patch)
        assert not phrases()
        assert phrases("open tasks")
    assert phrases()
