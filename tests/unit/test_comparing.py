"""The one typed order of values: against plain comparisons, and the keys of the index against the filters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import comparison, times
from graphmem.model.comparison import Filter, index_keys, sort_key
from tests.support.walks import walk_over

NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0, -0.0, 2**53, 2**53 + 1, float(2**53), 0.1, 1e23, 10**23, 5e-324, -1.5, -1.55, 10**400]
    ),
)
TIMES = st.integers(times.EARLIEST, times.LATEST).map(times.render) | st.dates().map(str)
TEXTS = st.text(max_size=8) | st.text("aA", min_size=190, max_size=230)
SCALARS = NUMBERS | TIMES | TEXTS | st.booleans()
VALUES = SCALARS | st.none() | st.lists(SCALARS, max_size=4) | st.just({"a": 1})
FILTERS = st.one_of(
    st.tuples(st.sampled_from(["eq", "gt", "lt", "gte", "lte"]), SCALARS),
    st.tuples(st.just("in"), st.lists(SCALARS, min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["contains", "contains_word"]), TEXTS.filter(lambda text: text.strip())),
).filter(lambda pair: comparison.problem(*pair) is None)


@given(left=NUMBERS, right=NUMBERS)
def test_numbers_sort_exactly(left: float, right: float) -> None:
    a, b = sort_key(left), sort_key(right)
    assert a is not None
    assert b is not None
    assert (a < b, a == b) == (Fraction(left) < Fraction(right), Fraction(left) == Fraction(right))


@given(left=SCALARS, right=SCALARS)
def test_keys_sort_as_the_values_do(left: Any, right: Any) -> None:
    a, b = comparison.typed(left), comparison.typed(right)
    keys = sort_key(left), sort_key(right)
    assert a is not None
    assert b is not None
    assert None not in keys
    assert all(key is not None and len(key) < 230 for key in keys)
    cut = any(len(key or "") > comparison.EXACT_KEY_LENGTH for key in keys)
    if a.kind != b.kind:
        assert (keys[0] < keys[1]) == (a.kind < b.kind)  # pyright: ignore
    elif not cut:
        assert (keys[0] < keys[1], keys[0] == keys[1]) == (a.value < b.value, a.value == b.value)  # pyright: ignore


@given(wanted=FILTERS, value=VALUES)
def test_what_fits_a_filter_is_among_what_the_index_names_for_it(wanted: Any, value: Any) -> None:
    """It may name more, and never less."""
    value_filter = Filter("f", *wanted)
    if not value_filter.matches(value):
        return
    indexed = index_keys(value)
    if value_filter.keys is not None:
        assert set(indexed) & set(value_filter.keys)
        return
    assert any(
        low <= key < high and (needle in key or len(key) > comparison.EXACT_KEY_LENGTH)
        for low, high, needle in value_filter.ranges
        for key in indexed
    )


@walk_over(
    "op, value, fits, does_not",
    [
        ("eq", 2**53 + 1, [2**53 + 1], [2**53, float(2**53), str(2**53 + 1)]),
        ("eq", 1, [1, 1.0, [2, 1]], [True, "1", None, {"a": 1}, []]),
        ("eq", "2026-01-01", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"], ["2026-01-01T00:00:01Z"]),
        ("eq", "2026-01-01 ", ["2026-01-01  "], ["2026-01-01"]),
        ("eq", "straSSe", ["Straße", " STRASSE  "], ["strase"]),
        ("gt", 1, [1.5, 10**400], [1, 1.0, "2", True, [2]]),
        ("lt", "2026-01-01", ["2025-12-31T23:59:59Z"], ["2026-01-01", "2025", 1]),
        ("gte", "b", ["B", "c"], ["a", 1, "2026-01-01"]),
        ("contains", "50%", ["about 50% off"], ["505", "5 0%"]),
        ("contains", ".*", ["a.*b"], ["ab", "a.b"]),
        ("contains", "_", ["a_b"], ["ab"]),
        ("contains", "01-01", ["2026-01-01"], [20260101]),
        ("contains_word", "CTO", ["the CTO.", "cto", "x_cto-y", ["a", "CTO"]], ["director", "ctos", "acto"]),
        ("contains_word", "c++", ["I like C++!"], ["c+", "c++11"]),
        ("contains_word", "acme inc", ["Acme  Inc, Paris"], ["acme incorporated"]),
        ("in", [1, "a", True], [1.0, "A", True, ["x", "a"]], [False, 2, "aa"]),
    ],
)
def test_how_values_compare(op: Any, value: Any, fits: list[Any], does_not: list[Any]) -> None:
    wanted = Filter("f", op, value)
    assert [element for element in fits if not wanted.matches(element)] == []
    assert [element for element in does_not if wanted.matches(element)] == []


def test_a_long_list_is_marked_and_not_written_out() -> None:
    assert index_keys([f"v{i}" for i in range(comparison.INDEXED_ELEMENTS_LIMIT + 1)]) == ["~", "f"]
    assert (
        len(index_keys([f"v{i}" for i in range(comparison.INDEXED_ELEMENTS_LIMIT)]))
        == comparison.INDEXED_ELEMENTS_LIMIT + 1
    )
