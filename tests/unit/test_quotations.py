"""A quotation of a passage: the part that has most of the words, and most of them in a row."""

from __future__ import annotations

from graphmem.search.passage_search import QUOTE_CHARACTERS, quotation
from graphmem.text import words

FILLER = " ".join(["ropes and tar"] * 40)
APART = "The crew has a team for each mast, manages it, and an organization of other teams beside it"


def test_words_in_a_row_are_quoted_before_more_words_that_stand_apart() -> None:
    text = f"Manage organization teams here. {FILLER} {APART} {FILLER}"
    quoted = quotation(text, {"manage", "manages", "organization", "team", "teams"})
    assert quoted.startswith("Manage organization teams here. ")
    assert len(quoted) <= QUOTE_CHARACTERS + len(" …")


def test_without_a_row_most_words_are_quoted() -> None:
    text = f"Manage ropes. {FILLER} {APART} {FILLER}"
    assert APART in quotation(text, {*words.tokens("team organization manages teams")})


def test_a_short_text_is_quoted_whole() -> None:
    assert quotation("a  b\nc", {"z"}) == "a b c"
