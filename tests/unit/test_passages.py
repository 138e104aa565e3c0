"""The passages of a long text, of which its vectors are made."""

from __future__ import annotations

import pytest

from graphmem.embedding import local, meaning
from graphmem.embedding.meaning import PASSAGE_LENGTH, PASSAGING, TEXT_LIMIT, passages
from graphmem.model import canonical

ENGLISH = " ".join(f"word{number}" for number in range(900))
CHINESE = "，".join(f"今天我们在会议室里讨论了第{number}号项目的预算和进度" for number in range(200))
SENTENCES = " ".join(f"This is sentence {number}, and it says little." for number in range(60))
TEXTS = {
    "no sentence ends": ENGLISH,
    "commas": ENGLISH.replace("0 ", "0, "),
    "Chinese with commas": CHINESE,
    "Chinese without any": CHINESE.replace("，", ""),
    "no blanks": "abcdefghij" * 700,
    "one long sentence among short ones": f"{SENTENCES} {ENGLISH}. {SENTENCES}",
    "sentences": SENTENCES,
    "lines": SENTENCES.replace(". ", ".\n"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_all_of_a_text_is_in_its_passages(text: str) -> None:
    beginning, *others = passages(text)
    assert beginning == text[: meaning.BEGINNING_LIMIT]
    assert "".join("".join(others).split()) == "".join(text.split())
    assert max(map(len, others)) <= PASSAGE_LENGTH
    assert len(others) <= 2 * len(text) / PASSAGE_LENGTH + 1


def test_a_long_sentence_is_divided_behind_commas_else_at_blanks() -> None:
    with_commas = ", ".join([" ".join(["alpha"] * 30)] * 12)
    assert all(passage.endswith("alpha,") for passage in passages(with_commas)[1:-1])
    assert {word for passage in passages(ENGLISH)[1:] for word in passage.split()} == set(ENGLISH.split())
    assert "1,000" in passages(ENGLISH.replace("word", "1,000 "))[1]


def test_a_short_text_has_one_vector() -> None:
    assert passages("A short text. It says little.") == ["A short text. It says little."]
    assert passages("") == [""]


def test_whoever_changes_passages_changes_the_name_of_the_models() -> None:
    """Else the vectors that are stored would be compared with other ones, and never be made anew."""
    of_all = canonical.digest(repr([passages(text[:TEXT_LIMIT]) for text in TEXTS.values()]))
    assert (PASSAGING, of_all[:16]) == ("passages 2", "1150d241928ebad9")
    assert local.MODEL.endswith(PASSAGING)
    assert meaning.stored_name("a model").endswith(PASSAGING)
