"""The words of questions: which say what is wanted, and which are forms of one word."""

from __future__ import annotations

import pytest

from graphmem.search.questions import question_words
from graphmem.text import words
from tests.support.walks import walk_over


@walk_over(
    "word, other",
    [
        ("work", "works"), ("works", "working"), ("founded", "founder"), ("founded", "founders"),
        ("manages", "manager"), ("manages", "managing"), ("manages", "management"), ("employed", "employer"),
        ("married", "marriage"), ("invented", "inventor"), ("directs", "director"), ("owns", "owner"),
        ("cities", "city"), ("collaborates", "collaboration"), ("東京", "東京"),
        ("besprechung", "besprechungen"), ("cats", "cat"),
    ],
)  # fmt: skip
def test_forms_of_one_word_are_the_same(word: str, other: str) -> None:
    assert question_words.is_same(word, other)
    assert question_words.is_same(other, word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("planet", "planned"), ("world", "works"), ("art", "artist"), ("card", "cars"), ("born", "borrow")],
)
def test_other_words_are_not(word: str, other: str) -> None:
    assert not question_words.is_same(word, other)


@pytest.mark.parametrize(
    ("question", "names", "content"),
    [
        ("Who is the CEO of Acme?", {"acme"}, {"ceo"}),
        ("Who is the CEO of Acme?", set(), {"ceo", "acme"}),
        ("Acme", {"acme"}, set()),
        ("What do you know about Acme?", {"acme"}, set()),
        ("Who is it?", set(), {"who", "is", "it"}),
        ("", set(), set()),
    ],
)
def test_content_words_are_those_that_say_what_is_wanted(
    question: str, names: set[str], content: set[str]
) -> None:
    assert question_words.content_words(words.tokens(question), names) == content


def test_a_beginning_is_shared_by_the_forms_of_a_word() -> None:
    assert [question_words.beginning(word) for word in ("works", "founded", "manager", "ceo", "city")] == [
        "work", "found", "manag", "ceo", "cit",
    ]  # fmt: skip


def test_the_stop_words_of_the_language_of_a_question_say_nothing() -> None:
    question = words.tokens("Wer ist die Chefin von der Acme?")
    assert question_words.content_words(question, {"acme"}, "de") == {"chefin"}
    assert question_words.content_words(question, {"acme"}) > {"chefin"}


def test_only_the_first_words_of_a_long_question_count() -> None:
    question = [f"word{i}" for i in range(1_500)]
    assert question_words.content_words(question) == set(question[: question_words.WORDS_LIMIT])
