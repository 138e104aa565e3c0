"""Of the runs of words that name something, the longest tell."""

from __future__ import annotations

import time
from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from graphmem.search.questions.mentions import longest

Span = tuple[int, int]
SPANS = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda span: (span[0], span[0] + span[1]))


def by_pairs(spans: Collection[Span]) -> set[Span]:
    """Return the same, comparing each span with each other one."""
    return {
        (start, end)
        for start, end in spans
        if not any(first <= start and end <= last and last - first > end - start for first, last in spans)
    }


@given(st.lists(SPANS, max_size=12))
def test_the_longest_runs_are_those_that_no_longer_one_covers(spans: list[Span]) -> None:
    assert longest(spans) == by_pairs(spans)


def test_many_entities_of_one_name_cost_no_comparison_of_each_with_each() -> None:
    start = time.perf_counter()
    assert longest([(0, 2)] * 10_000 + [(1, 2)] * 10_000) == {(0, 2)}
    # Each with each takes half a minute.
    assert time.perf_counter() - start < 2
