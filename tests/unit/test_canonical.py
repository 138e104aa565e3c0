"""Canonical JSON: one text for one value, and the value comes back from it as it was."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical
from tests.support.walks import walk_over

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    """Compare values with their types, which ``==`` does not: 1, 1.0 and True, 0.0 and -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return left == right


def nested(levels: int) -> list[Any]:
    """Return that many lists in each other."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def keyed(levels: int) -> dict[str, Any]:
    """Return that many objects in each other."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def is_canonical(text: str) -> bool:
    """Return whether a text is that of the value which it says, whoever reads it."""
    try:
        return all(canonical.encode(read(text)) == text for read in (canonical.decode, json.loads))
    except ValueError:
        return False


def reordered(value: Any) -> Any:
    """Return an equal value whose objects were filled in the opposite order."""
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_a_value_is_read_back_with_its_types(value):
    assert same(canonical.decode(canonical.encode(value)), value)


@given(VALUES)
def test_the_standard_library_reads_the_same_value(value):
    assert same(json.loads(canonical.encode(value)), value)


@given(VALUES)
def test_the_text_of_what_was_read_is_the_same_text(value):
    text = canonical.encode(value)
    assert canonical.encode(canonical.decode(text)) == text
    assert is_canonical(text)


@given(VALUES)
def test_the_order_in_which_an_object_was_filled_does_not_matter(value):
    assert canonical.encode(reordered(value)) == canonical.encode(value)


@given(st.dictionaries(TEXTS, SCALARS, max_size=6))
def test_members_are_in_the_order_of_utf16_code_units(value):
    def units(name: str) -> tuple[int, ...]:
        return struct.unpack(f"<{len(name.encode('utf-16-le')) // 2}H", name.encode("utf-16-le"))

    written = list(canonical.decode(canonical.encode(value)))
    assert written == sorted(value, key=units)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_an_object_is_assembled_from_its_members_without_parsing_them(value):
    members = [(name, canonical.encode(member)) for name, member in value.items()]
    assert canonical.assemble(members) == canonical.encode(value)


@given(VALUES, VALUES)
def test_different_values_have_different_texts(left, right):
    assert (canonical.encode(left) == canonical.encode(right)) == same(left, right)


def test_a_tuple_is_written_as_a_list():
    assert canonical.encode((1, ("a",))) == '[1,["a"]]'


@walk_over(
    "bits, text",
    [
        # RFC 8785, appendix B; what is an integer there keeps its point here.
        ("0000000000000000", "0.0"),
        ("8000000000000000", "-0.0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992.0"),
        ("c340000000000000", "-9007199254740992.0"),
        ("4430000000000000", "295147905179352830000.0"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000.0"),
        ("444b1ae4d6e2ef4f", "999999999999999900000.0"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
        # Beside them.
        ("4340000000000001", "9007199254740994.0"),
        ("3ff0000000000000", "1.0"),
        ("3fb999999999999a", "0.1"),
    ],
)
def test_a_float_has_the_digits_of_rfc_8785(bits, text):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical.encode(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_digits_of_a_float_are_the_shortest_that_read_back_as_it(number):
    shortest = repr(abs(number)).partition("e")[0].replace(".", "").strip("0")
    written = canonical.encode(abs(number)).partition("e")[0].replace(".", "").strip("0")
    assert written == shortest


@given(VALUES)
def test_the_digest_is_sha256_of_the_text_in_utf8(value):
    assert canonical.digest(value) == hashlib.sha256(canonical.encode(value).encode("utf-8")).hexdigest()


ODD = st.recursive(
    SCALARS | st.floats() | st.text(st.characters(codec=None), max_size=5) | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(ODD, st.integers(min_value=0, max_value=3))
def test_the_short_way_says_what_the_long_one_says(value, levels):
    def long_way(value: Any, path: str, levels: int) -> str:
        return canonical._quick(canonical._plain(value, path, levels), levels)

    def outcome(way: Any) -> str:
        try:
            return way(value, "$", levels)
        except canonical.NotCanonical as refused:
            return f"refused: {refused}"

    assert outcome(canonical.encode) == outcome(long_way)


@walk_over(
    "value, path, reason",
    [
        (math.nan, "$", "NaN and infinities are no JSON numbers"),
        ({"a": [0, math.inf]}, "$.a[1]", "NaN and infinities are no JSON numbers"),
        ([-math.inf], "$[0]", "NaN and infinities are no JSON numbers"),
        ("\ud800", "$", "a lone surrogate is not a character"),
        ({"a": {"b": ["x", "\udfff"]}}, "$.a.b[1]", "a lone surrogate is not a character"),
        ({"a": {"\ud83d": 1}}, "$.a", "a lone surrogate is not a character"),
        ({"a": {1: 1}}, "$.a", "a member's name must be a string"),
        ({None: 1}, "$", "a member's name must be a string"),
        ({("a", "b"): 1}, "$", "a member's name must be a string"),
        ({1, 2}, "$", "set is no JSON value"),
        ([frozenset()], "$[0]", "frozenset is no JSON value"),
        ({"a": b"bytes"}, "$.a", "bytes is no JSON value"),
        ({"a": object}, "$.a", "type is no JSON value"),
        ([1 + 2j], "$[0]", "complex is no JSON value"),
        ([[10**4300]], "$[0][0]", "an integer may have 4300 digits"),
        ({"a": -(10**5000)}, "$.a", "an integer may have 4300 digits"),
        (nested(129), "$" + "[0]" * 128, "too many levels of nesting"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value, path, reason):
    with pytest.raises(canonical.NotCanonical) as refused:
        canonical.encode(value)
    assert (refused.value.path, refused.value.reason) == (path, reason)
    assert str(refused.value) == f"{path}: {reason}"


def test_the_place_of_a_refused_value_begins_where_the_caller_says():
    with pytest.raises(canonical.NotCanonical) as refused:
        canonical.encode([math.nan], "$.entities[3].sizes")
    assert refused.value.path == "$.entities[3].sizes[0]"


def test_a_value_that_holds_itself_is_refused():
    value: list[Any] = []
    value.append(value)
    with pytest.raises(canonical.NotCanonical, match="too many levels of nesting"):
        canonical.encode(value)


@pytest.mark.parametrize("levels", [0, 1, 2, canonical.VALUE_DEPTH, canonical.MAX_DEPTH])
def test_a_value_has_as_many_levels_as_the_caller_says(levels):
    assert canonical.encode("x", "$", levels) == '"x"'
    if levels:
        assert canonical.encode(nested(levels), "$", levels) == "[" * levels + "]" * levels
    for value, step in ((nested(levels + 1), "[0]"), (keyed(levels + 1), ".a")):
        with pytest.raises(canonical.NotCanonical) as refused:
            canonical.encode(value, "$.b", levels)
        assert (refused.value.path, refused.value.reason) == (
            "$.b" + step * levels,
            "too many levels of nesting",
        )


@walk_over("text", ["", "{", "nul", "[1,]", "{1:2}", '"\\ud800"', "NaN", "-Infinity", "1 2", "01"])
def test_what_is_no_json_is_not_read(text):
    with pytest.raises(ValueError):
        canonical.decode(text)


@walk_over(
    "text",
    [
        "1.50",
        "1e21",
        "1E+21",
        "-0",
        " 1",
        "1 ",
        '{"b":1,"a":2}',
        '{"a":1,"a":1}',
        "[1, 2]",
        '"\\/"',
        '"\\u00e9"',
        "NaN",
    ],
)
def test_another_spelling_of_a_value_is_not_canonical(text):
    assert not is_canonical(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 129 + "]" * 129], ids=["open", "closed"])
def test_a_text_that_is_nested_too_deeply_is_not_canonical(text):
    assert not is_canonical(text)
