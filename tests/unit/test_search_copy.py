"""The copy that searches compare: terms, statistics and vectors, and how it changes."""

from __future__ import annotations

import math
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.search import compaction, search_ranking, terms
from graphmem.search.compaction import SortedTerms, TermVocabulary, encoded, joined
from graphmem.search.copy_arrays import EntityText, GrowingArray
from graphmem.search.entity_copy import DIMENSIONS, SearchCopy
from graphmem.search.search_ranking import K1, B, Ranking
from graphmem.text import languages, words
from tests.support.examples import examples

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
VECTORS = st.lists(st.integers(-127, 127), min_size=3, max_size=3).map(
    lambda first: bytes(np.array(first + [0] * (DIMENSIONS - 3), np.int8))
)
DOCUMENTS = st.builds(
    EntityText,
    id=st.sampled_from([f"ent_{number}" for number in range(8)]),
    type=st.sampled_from(["note", "task"]),
    at=st.integers(0, 10),
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    vectors=st.none() | st.lists(VECTORS, min_size=1, max_size=3).map(b"".join),
    is_pending=st.booleans(),
    version=st.just((0, 0)),
    thread=st.sampled_from([None, "a", "b"]),
)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "remove", "compact"]), DOCUMENTS), max_size=30)


def ranking(
    copy: SearchCopy, query: str, types: list[str] | None = None, *, newest_first: bool = False
) -> Ranking:
    """Return what a question finds in a copy; its vector has three components."""
    match = search_ranking.match_words(copy, terms.of_question(query, copy.languages))
    vector = [3.0, 2.0, 1.0] + [0.0] * (DIMENSIONS - 3)
    return search_ranking.rank(
        copy, match, vector, floor=0.5, among=copy.of_types(types or []), named={"ent_1": 1.0}, fixed={},
        newest_first=newest_first,
    )  # fmt: skip


def answer(
    copy: SearchCopy, query: str, types: list[str] | None = None, *, newest_first: bool = False
) -> list[tuple[str, float, float, float]]:
    """Return the ids that a question finds, best first, with all scores."""
    hits = ranking(copy, query, types, newest_first=newest_first)
    return [
        (hits.ids[n], float(hits.points[n]), float(hits.scores["text"][n]), float(hits.scores["meaning"][n]))
        for n in hits.first(100)
    ]


def copy_of(*texts: str, **more: Any) -> SearchCopy:
    """Return a copy with a document for each text, named by its place."""
    copy = SearchCopy()
    copy.put(EntityText(f"ent_{place}", "note", 0, text, None, **more) for place, text in enumerate(texts))
    return copy


def texts_of(query: str, *texts: str) -> list[str]:
    """Return the texts that have words of a question, best first."""
    copy = copy_of(*texts)
    match = search_ranking.match_words(copy, terms.of_question(query, copy.languages))
    order = np.argsort(-match.scores, kind="stable").tolist()
    return [texts[n] for n in order if match.scores[n] > 0]


def test_words_that_say_a_part_of_a_question_count_for_that_part() -> None:
    copy = copy_of("alpha beta", "alpha", "gamma", "delta")
    whole, half = (
        search_ranking.rank(
            copy, search_ranking.match_words(copy, terms.of_question(query, ["en"])), None, floor=0.5,
            among=copy.of_types([]), named={}, fixed={}, newest_first=is_newest_first,
        ).parts["text"].max()
        for query, is_newest_first in (("alpha beta zeta", True), ("alpha beta zeta", False))
    )  # fmt: skip
    share = search_ranking.match_words(copy, terms.of_question("alpha beta zeta", ["en"])).shares.max()
    assert 0.3 < share < 0.7
    assert (whole, half) == (0.5, pytest.approx(0.5 * share, abs=1e-6))


def test_a_message_is_found_by_the_words_just_before_and_after_it_in_its_thread() -> None:
    hour = 3_600_000_000
    said = (
        ("which fjord was it", 1 * hour, "a"),
        ("the long one", 2 * hour, "a"),
        ("so cold", 3 * hour, "a"),
        ("the other one", 2 * hour, "b"),
        ("we meet again", 20 * hour, "a"),
        ("a fjord again", 21 * hour, "a"),
        ("a fjord again", 30 * hour, None),
        ("by the way", 31 * hour, None),
    )
    copy = SearchCopy()
    copy.put(
        EntityText(f"ent_{place}", "message", at, text, None, thread=thread)
        for place, (text, at, thread) in enumerate(said)
    )
    scores = search_ranking.match_words(copy, terms.of_question("fjord", ["en"])).scores
    assert [place for place, score in enumerate(scores) if score > 0] == [0, 1, 4, 5, 6]
    assert 0 < scores[1] < scores[0] / 2
    assert scores[1] == pytest.approx(search_ranking.NEIGHBOUR_WEIGHT * scores[0])
    copy.remove("ent_0")
    scores = search_ranking.match_words(copy, terms.of_question("fjord", ["en"])).scores
    assert (scores[1], scores[4] > 0) == (0, True)


def test_a_word_that_says_two_words_of_a_question_counts_for_both_before_a_compaction_too() -> None:
    texts = (
        "baked bread",
        "the bakery bakes",
        "a harbour",
        "bread of the baker",
        "he is in the house of the mother",
    )
    loose, compact = copy_of(*texts), copy_of(*texts)
    compact.compact()
    assert loose.languages == ["en"]
    assert answer(loose, "bake baking") == answer(compact, "bake baking")


def was_changed(copy: SearchCopy, documents: dict[str, EntityText], step: str, document: EntityText) -> bool:
    """Put or remove a document, in the copy and in the documents beside it; return whether the step does."""
    if step == "put":
        copy.put([document])
        documents[document.id] = document
    elif step == "remove":
        copy.remove(document.id)
        documents.pop(document.id, None)
    return step in ("put", "remove")


@examples(60)
@given(steps=STEPS)
def test_changes_leave_no_trace(steps: list[tuple[str, EntityText]]) -> None:
    copy, documents = SearchCopy(), dict[str, EntityText]()
    for step, document in steps:
        if not was_changed(copy, documents, step, document):
            copy.compact()
    fresh = SearchCopy()
    fresh.put(sorted(documents.values()))
    assert len(copy) == len(fresh) == len(documents)
    assert set(copy.types) == set(fresh.types)
    assert copy.pending_count == fresh.pending_count
    for query in ("alpha beta", "zeta", "omega", "alpha-beta gamma"):
        assert answer(copy, query) == answer(fresh, query)
        assert answer(copy, query, ["task"]) == answer(fresh, query, ["task"])
        assert answer(copy, query, newest_first=True) == answer(fresh, query, newest_first=True)
    copy.compact()
    assert answer(copy, "alpha beta") == answer(fresh, "alpha beta")


def test_words_are_scored_by_bm25_with_the_statistics_of_the_documents() -> None:
    texts = ["alpha alpha beta", "alpha gamma", "delta", "beta beta beta delta"]
    copy = copy_of(*texts)
    scores = search_ranking.match_words(copy, terms.of_question("alpha beta", [])).scores
    mean = sum(len(text.split()) for text in texts) / len(texts)
    for text, score in zip(texts, scores.tolist(), strict=True):
        expected = 0.0
        for word in ("alpha", "beta"):
            having = sum(word in other.split() for other in texts)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            count = Counter(text.split())[word]
            expected += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * len(text.split()) / mean))
        assert score == pytest.approx(expected)


def test_a_document_is_as_similar_as_its_most_similar_passage() -> None:
    near, far = [3, 2, 1], [-1, 0, 3]
    passages = [bytes(np.array(each + [0] * (DIMENSIONS - 3), np.int8)) for each in (near, far)]
    copy = SearchCopy()
    copy.put(
        EntityText(f"ent_{place}", "note", 0, "x", vectors)
        for place, vectors in enumerate([passages[1], passages[1] + passages[0], None, passages[0]])
    )
    similarities = copy.similarities([3.0, 2.0, 1.0] + [0.0] * (DIMENSIONS - 3)).tolist()
    assert similarities == pytest.approx([0.0, 1.0, 0.0, 1.0], abs=1e-12)


def test_vectors_are_compared_exactly_in_any_place() -> None:
    """Sums of small integers are exact, so a document has the same similarity in every copy."""
    rng = np.random.default_rng(1)
    rows = rng.integers(-127, 128, (5_000, DIMENSIONS)).astype(np.int8)
    vector = rng.integers(-127, 128, DIMENSIONS)
    exact = (
        rows.astype(np.int64) @ vector / np.sqrt((rows.astype(np.int64) ** 2).sum(axis=1) * (vector @ vector))
    )
    copy = SearchCopy()
    copy.put(EntityText(f"ent_{place}", "note", 0, "x", bytes(row)) for place, row in enumerate(rows))
    assert np.array_equal(np.round(copy.similarities(vector.tolist()), 12), np.round(exact, 12))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Where are the bakeries?", "a bakery in the old town, and that is all of it"),
        ("did she paint", "the painting of the house is what they are at"),
        ("Wo sind die Rechnungen?", "das ist eine rechnung von der firma"),
        ("¿Dónde están las facturas?", "esta es la factura de los libros"),
        ("8 May 2023", "met tom | 2023 05 08t14 00 00z"),
        ("on May 8", "met tom | 2023 05 08"),
        ("what was on the 8th of May", "met tom | 2023 05 08t14 00 00z"),
        ("am 8. Mai 2023", "das ist ein treffen mit der firma | 2023 05 08"),
        ("京タ", "東 京 タ ワ ー の 会 議"),
    ],
)
def test_inflections_dates_and_parts_are_matched(query: str, text: str) -> None:
    others = (
        "nothing of this",
        "2024 06 09t14 00 00z",
        "das ist etwas anderes von der anderen firma",
        "大 阪",
    )
    assert texts_of(query, text, *others)[:1] == [text]


def test_a_pair_of_characters_between_two_words_says_nothing() -> None:
    """A document that has two of three words beside each other is behind one that has all three."""
    beside, whole = " ".join("会议结论"), " ".join("预算的结论与会议")
    others = [f"{first} {second} {more}" for first, second in ("会议", "结论", "预算") for more in "甲乙丙"]
    assert texts_of("会议结论预算", beside, whole, *others)[:2] == [whole, beside]


def test_a_day_is_found_before_another_day_of_the_month() -> None:
    day, month = "met tom | 2023 05 08t14 00 00z", "met tom | 2023 05 09t14 00 00z"
    assert texts_of("8 May 2023", month, day)[0] == day
    assert texts_of("May 2023", month, "met tom | 2022 06 09", "met ann | 2021 06 09") == [month]


def test_a_number_is_no_day_without_a_month() -> None:
    assert texts_of("8 apples", "met tom | 2023 05 08t14 00 00z", "eight apples") == ["eight apples"]


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert texts_of("where is the report", "the end is here", "report") == ["report"]
    assert texts_of("The Who", "the who on tour", "nobody") == ["the who on tour"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where did you see the house that they want to buy?", "en"),
        ("Das ist nicht der Weg, den ich mit dir gehen will", "de"),
        ("Je ne sais pas où sont les clés de la maison", "fr"),
        ("Acme Inc", None),
        ("", None),
    ],
)
def test_a_language_is_told_by_its_stop_words(text: str, language: str | None) -> None:
    assert languages.language_of(words.tokens(text)) == language


def test_a_name_counts_more_than_a_mention() -> None:
    copy = SearchCopy()
    copy.put([
        EntityText("ent_a", "note", 0, "beta | alpha alpha", None),
        EntityText("ent_b", "note", 0, "alpha | beta beta", None),
    ])  # fmt: skip
    match = search_ranking.match_words(copy, terms.of_question("alpha", []))
    hits = search_ranking.rank(copy, match, None, floor=0.5, among=copy.alive, named={}, fixed={})
    assert [hits.ids[number] for number in hits.first(2)] == ["ent_b", "ent_a"]


def test_only_the_best_are_sorted_and_ties_are_in_the_order_of_ids() -> None:
    copy = copy_of(*["alpha"] * 50, "alpha alpha")
    hits = ranking(copy, "alpha")
    every = [hits.ids[number] for number in hits.first(100)]
    assert every[:2] == ["ent_1", "ent_50"]
    assert every[2:] == sorted(every[2:])
    for limit in (1, 2, 3, 10, 51):
        assert [hits.ids[number] for number in hits.first(limit)] == every[:limit]


def vector_of(*components: int) -> bytes:
    return bytes(np.array([*components, *[0] * (DIMENSIONS - len(components))], np.int8))


@pytest.mark.parametrize("others", [0, 1, 3, 8])
def test_newest_first_lifts_what_is_about_the_matter_of_the_best_hit(others: int) -> None:
    """All documents have the first component in common, as statements about one person do."""
    copy = SearchCopy()
    matter = [EntityText(f"ent_a{at}", "note", at, "alpha", vector_of(60, 60 + at, 0)) for at in range(3)]
    newer = [
        EntityText(f"ent_b{place}", "note", 10 + place, "alpha", vector_of(60, 0, 60, place))
        for place in range(others)
    ]
    copy.put([*matter, *newer])
    assert [hit[0] for hit in answer(copy, "alpha")][:3] == ["ent_a0", "ent_a1", "ent_a2"]
    found = [hit[0] for hit in answer(copy, "alpha", newest_first=True)]
    # Of few hits all are about one matter.
    first = ["ent_b0"] * (others == 1)
    assert found[: len(first) + 3] == [*first, "ent_a2", "ent_a1", "ent_a0"]
    assert len(found) == len(copy)


def test_newest_first_takes_what_has_no_vector_for_the_same_matter() -> None:
    copy = SearchCopy()
    copy.put(EntityText(f"ent_n{at}", "note", at, "alpha", None) for at in range(6))
    newest_first = [hit[0] for hit in answer(copy, "alpha", newest_first=True)]
    assert newest_first == [f"ent_n{at}" for at in (5, 4, 3, 2, 1, 0)]


def test_a_copy_says_how_much_memory_it_takes() -> None:
    texts = [" ".join(f"word{(place * 7 + step) % 900}" for step in range(25)) for place in range(2_000)]
    copy = SearchCopy()
    copy.put(EntityText(f"ent_{n:024}", "note", 0, text, bytes(DIMENSIONS)) for n, text in enumerate(texts))
    copy.compact()
    assert 450 < copy.bytes / len(texts) < 700
    for place in range(1_999):
        copy.remove(f"ent_{place:024}")
    assert copy.is_loose
    before = copy.bytes
    copy.compact()
    assert copy.bytes < before / 2


def test_the_memory_of_the_arrays_is_counted_once_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    copy, counted = copy_of("garden"), list[int]()
    size = GrowingArray.bytes.fget
    assert size is not None
    monkeypatch.setattr(GrowingArray, "bytes", property(lambda array: counted.append(1) or size(array)))
    copy.put([EntityText("ent_new", "note", 0, "harbour", bytes(DIMENSIONS))])
    first = copy.bytes
    arrays = len(counted)
    assert copy.bytes == first
    assert len(counted) - arrays <= 2, "only the stems of terms, which come while a copy is searched"


@pytest.mark.parametrize("others", [(), ("delta",), ("delta", "epsilon", "zeta")])
def test_a_document_with_half_of_a_question_has_half_of_it_whatever_numbers_are_rounded(
    others: tuple[str, ...],
) -> None:
    copy = copy_of("alpha", "beta", "gamma", *others)
    match = search_ranking.match_words(copy, terms.of_question("alpha beta", []))
    hits = search_ranking.rank(
        copy, match, None, floor=0.5, among=copy.alive, named={}, fixed={}, least_share=0.5
    )
    assert {hits.ids[int(number)] for number in hits.hits} == {"ent_0", "ent_1"}


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_parts_of_the_points_add_up(newest_first: bool) -> None:
    copy = SearchCopy()
    copy.put(
        EntityText(
            f"ent_{n}", "note", n, f"{' '.join(WORDS[: n % 5 + 1])} | beta gamma {n}", vector_of(n, 9, 3)
        )
        for n in range(12)
    )
    hits = ranking(copy, "alpha beta gamma", newest_first=newest_first)
    assert len(hits.hits) == 12
    names = set[str]()
    for number in hits.hits.tolist():
        parts = hits.parts_of(number)
        names |= parts.keys()
        assert sum(parts.values()) == pytest.approx(float(hits.points[number]), abs=1e-9)
    assert names == {"exact", "text", "name", "meaning", *(["newest_first"] if newest_first else [])}


def test_a_compaction_drops_the_terms_that_no_document_has_any_more() -> None:
    copy = SearchCopy()
    for turn in range(5):
        copy.put(EntityText(f"ent_{n}", "note", 0, f"word{turn}x{n} kept", None) for n in range(2_000))
        copy.compact()
    # The type is a term as well.
    assert len(copy.terms) == 2_002
    fresh = copy_of(*(f"word4x{n} kept" for n in range(2_000)))
    fresh.compact()
    assert abs(copy.bytes - fresh.bytes) < 0.1 * fresh.bytes
    for query in ("kept", "word4x7", "word3x7", "word4x7 kept"):
        assert answer(copy, query) == answer(fresh, query)


def test_entities_that_the_copy_does_not_have_have_no_time() -> None:
    copy = SearchCopy()
    assert copy.times_of(["gone"]) == {}
    copy.put([EntityText(name, "note", at, name, None, False, (0, 0)) for name, at in (("a", 3), ("b", 5))])
    assert copy.times_of(["b", "gone", "a"]) == {"b": 5, "a": 3}


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.text("abc", min_size=1, max_size=4)),
            st.tuples(st.just("keep"), st.sampled_from("abc")),
            st.tuples(st.just("look"), st.text("abc", min_size=1, max_size=3)),
        ),
        max_size=60,
    )
)
@examples(200)
def test_terms_that_begin_with_a_text_are_found_whatever_came_and_went(steps: list[tuple[str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "SORTED_AT_ONCE", 4)
        known = TermVocabulary()
        for step, text in steps:
            if step == "add":
                assert known.add([text, text]) == [known.number_of(text)] * 2
                assert known.part(0, len(known))[known.add([text])[0]] == text
            elif step == "keep":
                kept = sorted(encoded(term) for term in known.part(0, len(known)) if text in term)
                characters, lengths = joined(kept)
                known = TermVocabulary(SortedTerms(characters, np.cumsum(lengths)))
            else:
                beginning = [term for term in known.part(0, len(known)) if term.startswith(text)]
                assert sorted(known.beginning_with(text)) == sorted(beginning)


def test_inflections_are_found_after_terms_were_dropped_and_others_came() -> None:
    english = "the house and the garden are where she was with him"
    texts = [f"{english} {word}" for word in ("painting", "walks", "bakeries", "harbour", "cycling")]
    copy = copy_of(*texts)
    assert answer(copy, "painted walking baking")
    copy.remove("ent_0")
    copy.compact()
    copy.put([EntityText("ent_5", "note", 0, f"{english} painters paint", None)])
    fresh = SearchCopy()
    fresh.put(EntityText(f"ent_{n}", "note", 0, texts[n], None) for n in range(1, 5))
    fresh.put([EntityText("ent_5", "note", 0, f"{english} painters paint", None)])
    for _ in range(2):
        for query in ("painted", "painting", "walking", "bakery", "cycle"):
            assert answer(copy, query) == answer(fresh, query)
        copy.compact()
    assert "painting" not in copy.terms


def test_the_stems_of_terms_count_for_the_memory_and_can_be_given_back() -> None:
    copy = copy_of(
        *(f"the word{chr(97 + n % 26) * 3}{chr(97 + n // 26)} is of the house" for n in range(600))
    )
    before = copy.bytes
    assert answer(copy, "words")
    stemmed = copy.bytes
    assert stemmed - before >= 4 * 600
    copy.terms.forget_stems()
    assert copy.bytes == before
    assert answer(copy, "words")
    assert copy.bytes == stemmed


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    """Have threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient_threads")
def test_what_waits_for_a_vector_is_counted_while_a_thread_compacts() -> None:
    copy = copy_of(*["alpha beta"] * 2_000, is_pending=True)
    has_ended = threading.Event()

    def change() -> None:
        for _ in range(60):
            copy.put(EntityText(f"ent_{n}", "note", 0, "alpha gamma", None, True) for n in range(40))
            copy.compact()
        has_ended.set()

    thread = threading.Thread(target=change)
    thread.start()
    while not has_ended.is_set():
        assert 0 <= copy.pending_count <= 2_000
    thread.join()
    assert copy.pending_count == 2_000


def labelled(entity_id: str, kind: str, text: str, *fields: str) -> EntityText:
    return EntityText(entity_id, kind, 0, text, None, fields=fields)


def found(copy: SearchCopy, query: str) -> list[str]:
    match = search_ranking.match_words(copy, terms.of_question(query, copy.languages))
    order = np.argsort(-match.scores, kind="stable").tolist()
    return [copy.ids[n] for n in order if match.scores[n] > 0]


def test_a_word_of_a_type_or_a_field_counts_less_than_one_of_a_value() -> None:
    copy = SearchCopy()
    copy.put([
        labelled("ent_field", "car", "corsa | blue", "name", "license_plate"),
        labelled("ent_camel", "appliance", "bosch | white", "name", "warrantyUntil"),
        labelled("ent_value", "note", "shelf | a plate", "name", "text"),
        labelled("ent_other", "note", "bread | rye", "name", "text"),
        labelled("ent_pet", "pet", "momo | cat", "name", "species"),
    ])  # fmt: skip
    assert found(copy, "plate") == ["ent_value", "ent_field"]
    assert found(copy, "license plate") == ["ent_field", "ent_value"]
    assert found(copy, "the warranties") == ["ent_camel"]
    assert found(copy, "our pets") == ["ent_pet"]
    assert found(copy, "Kennzeichen") == ["ent_field"]
    match = search_ranking.match_words(copy, terms.of_question("license plate", []))
    # License: ln 4 of one label; plate: ln 2.4 of two entities, and ln 4 of one value.
    assert match.shares[0] == pytest.approx((math.log(4) + math.log(2.4)) / (2 * math.log(4)), abs=1e-6)
    copy.compact()
    assert found(copy, "license plate") == ["ent_field", "ent_value"]
    copy.put([labelled("ent_field", "car", "corsa | blue", "name")])
    assert found(copy, "license plate") == ["ent_value"]


def test_a_field_that_all_have_says_nothing() -> None:
    copy = SearchCopy()
    copy.put(
        labelled(f"ent_{n}", "person", f"name{n} | x{n}", "email", *(["fax"] if n == 3 else []))
        for n in range(9)
    )
    match = search_ranking.match_words(copy, terms.of_question("email fax", []))
    assert match.shares[3] == 1.0
    assert max(match.shares[n] for n in range(9) if n != 3) < 0.05
