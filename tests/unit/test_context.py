"""What context costs, in what order its lines stand, and how long values are cut."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical
from graphmem.search.context import context_ranking
from graphmem.search.context.context_ranking import About, Focus, Line
from graphmem.search.questions import question_words
from graphmem.text import words

WORDS = frozenset({"city", "london"})
ADA = About("ent_1", "person", "Ada")
LINE = Line(0, 1.0, ADA, "city", '"London"', 0, "obs_1", WORDS)
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
    focus = Focus(frozenset({"a", "b"}))
    shuffled = list(lines)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ordered_lines = context_ranking.ordered(lines, focus)
    assert context_ranking.ordered(shuffled, focus) == ordered_lines
    worth = [line.usefulness(focus) for line in ordered_lines]
    assert worth == sorted(worth, reverse=True)


def ordered(lines: list[Line], *question_words: str) -> list[Line]:
    return context_ranking.ordered(lines, Focus(frozenset(question_words)))


def test_what_shares_words_with_the_question_comes_first() -> None:
    other = replace(LINE, field="born", value="1815", words=frozenset({"born"}))
    assert ordered([LINE, other], "born") == [other, LINE]
    assert ordered([LINE, replace(other, words=frozenset({"works"}))], "work")[1] == LINE
    assert ordered([LINE, other]) == [other, LINE]
    assert ordered([replace(LINE, weight=0.1), other], "city")[0] == other


CURRENT = replace(LINE, field="WORKS_AT", related=About("ent_2", "company", "Acme"), direction="outgoing")
ENDED = replace(CURRENT, ended='"2020"', observed_at=9, observation_id="obs_0")


def test_a_relationship_that_ended_comes_after_the_best_current_one_of_its_sort() -> None:
    less_useful = replace(CURRENT, weight=0.9)
    least_useful = replace(CURRENT, weight=0.5, observation_id="obs_2")
    assert ordered([ENDED, CURRENT]) == [CURRENT, ENDED]
    assert ordered([least_useful, ENDED, less_useful]) == [less_useful, ENDED, least_useful]
    of_another_sort = replace(less_useful, direction="incoming")
    assert ordered([of_another_sort, ENDED]) == [ENDED, of_another_sort]


def test_a_question_for_former_relationships_puts_the_most_useful_first() -> None:
    less_useful = replace(CURRENT, weight=0.9)
    focus = Focus(asks_for_former=True)
    assert context_ranking.ordered([less_useful, ENDED], focus) == [ENDED, less_useful]


def test_lines_of_the_kind_that_is_asked_for_come_first() -> None:
    of_kind = replace(LINE, weight=0.1, words=frozenset(), is_of_kind=True)
    status = replace(of_kind, field="status", value='"open"', observation_id="obs_2")
    focus = Focus(frozenset({"city"}), fields=frozenset({"status"}))
    assert context_ranking.ordered([LINE, of_kind, status], focus) == [status, of_kind, LINE]


def test_places_keep_their_order_by_their_best_lines() -> None:
    first, second, third = (
        replace(LINE, place=place, weight=weight, observation_id=f"obs_{place}", words=frozenset())
        for place, weight in enumerate((0.1, 0.2, 0.9))
    )
    weak = replace(first, weight=0.05, observation_id="obs_9")
    lines = context_ranking.in_order_of_places([third, weak, second, first], Focus(), range(3))
    assert [line.place for line in ordered(lines)] == [0, 1, 2, 0]
    lines = context_ranking.in_order_of_places([third, second, first], Focus(), range(1, 3))
    assert [line.place for line in ordered(lines)] == [1, 2, 0]


def test_the_words_of_a_long_value_are_compared_in_little_time() -> None:
    """Each word of a question is compared with words that begin alike alone."""
    compared: list[str] = []
    words_of_value = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}word{i}" for i in range(5_000)]
    question = [f"zz{chr(97 + i % 26)}query{i}" for i in range(30)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(question_words, "is_same", lambda word, other: compared.append(other) or False)
        assert question_words.shared(question, words_of_value) == 0
    assert len(compared) < len(words_of_value)


def test_a_question_word_puts_what_it_asks_for_first() -> None:
    day = replace(LINE, field="kickoff", value='"2026-01-31"', words=frozenset())
    label = replace(LINE, field="color", value='"red"', words=frozenset())
    place = replace(LINE, field="city", words=frozenset())
    person = replace(label, field="KNOWS", related=About("ent_2", "person", "Bob"), direction="outgoing")
    every = [day, label, place, person]
    for wanted, line in (("time", day), ("place", place), ("person", person)):
        assert context_ranking.ordered(every, Focus(answer_kinds=frozenset({wanted})))[0] == line  # type: ignore[arg-type]


@given(st.text(min_size=1, max_size=300), st.integers(10, 100))
def test_a_cut_value_is_part_of_the_value(text: str, limit: int) -> None:
    value = canonical.encode(text.encode(errors="replace").decode())
    text, is_cut = context_ranking.excerpt(value, frozenset({"x"}), limit)
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
    shown, is_cut = context_ranking.excerpt(canonical.encode(text), frozenset(question_words), 40)
    part = canonical.decode(shown)
    assert is_cut
    assert part.startswith(begin)
    assert part.endswith("…")
    assert ("engine" in part) == (question_words == {"engine"})
    assert len(part) <= 42


@given(
    st.lists(
        st.sampled_from(
            ["Kay", "kayak", "okay", "k-2", "it's", "its", "fjord", "Fjörd", "a'b", "\n", "x" * 9]
        ),
        min_size=1,
        max_size=30,
    ),
    st.sets(st.sampled_from(["kay", "kayak", "k", "its", "fjord", "ab", "absent"]), max_size=3),
    st.sampled_from([" ", "\n", " . "]),
)
def test_a_cut_begins_at_the_first_run_that_has_a_word_of_the_question(
    runs: list[str], asked: set[str], blank: str
) -> None:
    """The letters of the words are looked for first; the words of every run decide, as here."""
    text = blank.join(runs) + " and then some more"
    starts = [each.start() for each in re.finditer(r"\S+", text) if asked.intersection(words.tokens(each[0]))]
    limit = 8
    shown, _ = context_ranking.excerpt(canonical.encode(text), frozenset(asked), limit)
    start = max(0, min((starts[0] if starts else 0) - limit // 4, len(text) - limit))
    part = ("…" if start else "") + text[start : start + limit].strip()
    assert canonical.decode(shown) == part + ("…" if start + limit < len(text) else "")


def test_of_a_long_text_the_words_are_made_that_the_question_may_ask_for() -> None:
    focus = Focus(words=frozenset({"kayaks", "fjord"}))
    short = "We took the kayak along the fjords; okay."
    long = short + " The weather was as cold as ever." * 100
    compared = context_ranking.compared(long, focus)
    assert words.tokens(compared) == ["kayak", "fjords"]
    assert context_ranking.compared(short, focus) == short
    every = set(words.tokens(long))
    assert question_words.shared(focus.words, set(words.tokens(compared))) == question_words.shared(
        focus.words, every
    )
    assert context_ranking.compared(long, Focus()) == ""
