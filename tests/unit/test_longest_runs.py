"""Of the runs of words that name something, the longest tell."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from graphmem.search.questions.mentions import longest
from tests.support.long_texts import lines_run

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
    def of(count: int) -> set[Span]:
        return longest([(0, 2)] * count + [(1, 2)] * count)

    assert of(10_000) == {(0, 2)}
    few, many = (lines_run(lambda _, count=count: of(count), "") for count in (1_000, 2_000))
    assert many <= 2.6 * few
