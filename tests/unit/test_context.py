"""What context costs, in what order its lines stand, and how long values are cut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.matching import context_ranking
from graphmem.matching.context_ranking import About, Line
from graphmem.model import canonical
from graphmem.text import words

WORDS = frozenset({"city", "london"})
ADA = About("ent_1", "person", "Ada")
LINE = Line(0, 1.0, ADA, "city", '"London"', 0, "obs_1", WORDS)
SAMPLES = (
    "Ada Lovelace works at Analytical Engines Ltd since 1843-07-01T00:00:00.000000Z",
    "ent_0123456789abcdef01234567 obs_fedcba9876543210fedcba98",
    '{"entity_id":"ent_4fa9b1c2d3e4f5a6b7c8d9e0","field":"email","value":"ada@example.org"}',
    "東京都に住んでいます。会議は明日です",
    "Привет, как дела? Встреча завтра",
    "Größe und Café, naïve façade",
    "สวัสดีครับ ประชุมพรุ่งนี้",
    "नमस्ते दुनिया",
    "한국어 문장입니다 회의는 내일",
    "مرحبا بالعالم",
    "👩‍👩‍👧 family 😀😀",
)


def test_an_estimate_is_not_less_than_what_a_real_tokenizer_makes() -> None:
    from graphmem.embedding.local import LocalEmbedder

    embedder = LocalEmbedder()
    embedder.warm()
    assert embedder._loaded is not None
    tokenizer = embedder._loaded[0]
    for text in SAMPLES:
        real = len(tokenizer.encode(text, add_special_tokens=False).ids)
        assert real <= context_ranking.cost(text, "tokens"), text


@given(st.text(), st.text())
def test_costs_of_parts_apart_add_up(left: str, right: str) -> None:
    for unit in ("tokens", "characters"):
        whole = context_ranking.cost(f"{left}|{right}", unit)
        assert whole == context_ranking.cost(left, unit) + context_ranking.cost(
            "|", unit
        ) + context_ranking.cost(right, unit)


LINES = st.builds(
    Line,
    place=st.integers(0, 3),
    weight=st.sampled_from([1.0, 0.5, 1 / 3]),
    about=st.sampled_from([ADA, About("ent_2", "person", "Eva")]),
    field=st.sampled_from(["city", "name", "born"]),
    value=st.just("1"),
    observed_at=st.integers(0, 2),
    observation_id=st.uuids().map(str),
    words=st.frozensets(st.sampled_from(["a", "b", "c"])),
)


@given(st.lists(LINES, max_size=8, unique_by=lambda line: line.observation_id), st.randoms())
def test_the_order_does_not_depend_on_that_of_arrival(lines: list[Line], random: object) -> None:
    question_words = frozenset({"a", "b"})
    shuffled = list(lines)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ordered_lines = context_ranking.ordered(lines, question_words)
    assert context_ranking.ordered(shuffled, question_words) == ordered_lines
    worth = [line.usefulness(question_words) for line in ordered_lines]
    assert worth == sorted(worth, reverse=True)


def test_what_shares_words_with_the_question_comes_first() -> None:
    other = replace(LINE, field="born", value="1815", words=frozenset({"born"}))
    assert context_ranking.ordered([LINE, other], frozenset({"born"})) == [other, LINE]
    assert (
        context_ranking.ordered([LINE, replace(other, words=frozenset({"works"}))], frozenset({"work"}))[1]
        == LINE
    )
    assert context_ranking.ordered([LINE, other], frozenset()) == [other, LINE]
    assert context_ranking.ordered([replace(LINE, weight=0.1), other], frozenset({"city"}))[0] == other


@given(st.text(min_size=1, max_size=300), st.integers(10, 100))
def test_a_cut_value_is_part_of_the_value(text: str, limit: int) -> None:
    value = canonical.encode(text.encode(errors="replace").decode())
    text, is_cut = context_ranking.excerpt(value, frozenset({"x"}), limit, words.tokens)
    assert is_cut == (len(value) > limit)
    shown = canonical.decode(text)
    if is_cut:
        assert len(shown) <= limit + 2
        assert shown.strip("…") in canonical.decode(value)
    else:
        assert shown == canonical.decode(value)


@pytest.mark.parametrize(
    ("question_words", "begin"), [({"engine"}, "…"), ({"absent"}, "word "), (set(), "word ")]
)
def test_a_long_value_is_cut_around_the_first_word_of_the_question(
    question_words: set[str], begin: str
) -> None:
    text = "word " * 40 + "engine " + "word " * 40
    shown, is_cut = context_ranking.excerpt(
        canonical.encode(text), frozenset(question_words), 40, words.tokens
    )
    part = canonical.decode(shown)
    assert is_cut
    assert part.startswith(begin)
    assert part.endswith("…")
    assert ("engine" in part) == (question_words == {"engine"})
    assert len(part) <= 42


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where does Ada Lovelace work?", "Ada Lovelace"),
        ('Is "The Analytical Engine" Ada\'s?', "The Analytical Engine"),
        ("Is it Ada's?", "Ada"),
        ("mail ada@example.org.", "ada@example.org"),
        ("東京 weather", "東京"),
    ],
)
def test_names_are_found_inside_a_question(question: str, named: str) -> None:
    assert named in context_ranking.phrases(question)
    assert len(context_ranking.phrases("word " * 10_000)) < 2_000
