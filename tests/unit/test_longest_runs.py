"""Of the runs of words that name something, the longest tell."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from graphmem.search.questions.mentions import WordRun, longest

RUNS = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(
    lambda span: WordRun(span[0], span[0] + span[1], "", frozenset())
)


def by_pairs(runs: Sequence[WordRun]) -> list[WordRun]:
    """Return the same, comparing each run with each other one."""
    return [
        run
        for run in runs
        if not any(
            other.start <= run.start
            and run.end <= other.end
            and other.end - other.start > run.end - run.start
            for other in runs
        )
    ]


@given(st.lists(RUNS, max_size=12))
def test_the_longest_runs_are_those_that_no_longer_one_covers(runs: list[WordRun]) -> None:
    assert longest(runs) == by_pairs(runs)


def test_many_entities_of_one_name_cost_no_comparison_of_each_with_each() -> None:
    runs = [WordRun(0, 2, "Ada Lovelace", frozenset())] * 10_000 + [
        WordRun(1, 2, "Lovelace", frozenset())
    ] * 10_000
    start = time.perf_counter()
    assert longest(runs) == runs[:10_000]
    # Each with each takes half a minute.
    assert time.perf_counter() - start < 2
