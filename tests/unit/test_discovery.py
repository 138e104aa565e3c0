"""Discovered types: the join of what was seen, whatever the order."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import discovery
from tests.support.walks import walk_over

SHAPES = st.sampled_from([None, "string", "number", "date", "boolean", "array", "object"])
SEEN = st.lists(st.dictionaries(st.sampled_from("abc"), SHAPES, max_size=3), max_size=6)


@walk_over(
    "value, shape",
    [
        (None, None),
        (True, "boolean"),
        (False, "boolean"),
        (0, "number"),
        (-1.5, "number"),
        (10**400, "number"),
        ("", "string"),
        ("Ada", "string"),
        ("2026", "string"),
        ("2026-02-30", "string"),
        ("2026-01-31", "date"),
        ("2026-01-31T09:00:00+01:00", "date"),
        ([], "array"),
        ((1, 2), "array"),
        ({}, "object"),
    ],
)
def test_a_value_has_this_shape(value, shape):
    assert discovery.shape_of(value) == shape


@given(SEEN, st.randoms(use_true_random=False))
def test_the_join_does_not_depend_on_the_order(seen, random):
    shuffled = random.sample(seen, len(seen))
    assert reduce(discovery.join, shuffled, {}) == reduce(discovery.join, seen, {})


@given(SEEN)
def test_what_was_seen_twice_was_seen(seen):
    once = reduce(discovery.join, seen, {})
    assert reduce(discovery.join, seen, once) == once


@given(SEEN)
def test_the_join_hides_nothing_that_was_seen(seen):
    joined = reduce(discovery.join, seen, {})
    assert {(n, s) for fields in seen for n, s in fields.items() if s} == {
        (n, s) for n, shapes in joined.items() for s in shapes
    }
    assert set(joined) == {name for fields in seen for name in fields}


def test_the_join_leaves_what_it_was_given_as_it_was():
    known = {"age": frozenset({"number"})}
    assert discovery.join(known, {"age": "string", "name": None})["age"] == {"number", "string"}
    assert known == {"age": frozenset({"number"})}


def test_a_field_that_was_only_null_is_known():
    assert discovery.join({}, {"name": None}) == {"name": frozenset()}


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        ([], "null"),
        (["string"], "string"),
        (["date"], "date"),
        (["date", "string"], "string"),
        (["string", "number"], "number|string"),
        (["number", "date"], "date|number"),
        (["string", "date", "number"], "number|string"),
        (["object", "array", "boolean"], "array|boolean|object"),
        (["number", "number"], "number"),
    ],
)
def test_the_description_of_discovered_types(seen, name):
    assert discovery.describe(seen) == discovery.describe(reversed(seen)) == name
