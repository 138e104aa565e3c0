"""Entries in JSON files of any layout: comments, last commas, blank lines, one line or many."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.cli.agents.config_files import _splice
from graphmem.cli.agents.jsonc_edit import JsonEntry, pruned
from tests.setup.test_setup_files import parsed

SPACES = st.sampled_from(["", " ", "\n", "\n  ", "\t", "\r\n", ' // c, "}\n', "/* ] , */", " /* a\n b */ "])
TEXTS = st.sampled_from(["a", "m", "s", "//x", "/*", "}", ",", 'q"', "\\", "é"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def laid_out(draw: Any, value: Any) -> str:
    """Draw a text of a value, with anything that may stand between its parts."""

    def parts(texts: list[str], brackets: str) -> str:
        text = ",".join(draw(SPACES) + each + draw(SPACES) for each in texts)
        last = "," + draw(SPACES) if texts and draw(st.booleans()) else draw(SPACES)
        return brackets[0] + text + last + brackets[1]

    if isinstance(value, dict):
        members = [
            f"{json.dumps(k)}{draw(SPACES)}:{draw(SPACES)}{draw(laid_out(v))}" for k, v in value.items()
        ]
        return parts(members, "{}")
    if isinstance(value, list):
        return parts([draw(laid_out(each)) for each in value], "[]")
    return json.dumps(value)


@st.composite
def files(draw: Any) -> tuple[dict[str, Any], str]:
    value = draw(st.dictionaries(TEXTS, VALUES, max_size=4))
    if draw(st.booleans()):
        value = {**value, "m": {**draw(st.dictionaries(TEXTS, VALUES, max_size=3)), "s": draw(
            st.dictionaries(TEXTS, VALUES, max_size=3))}}  # fmt: skip
    return value, draw(SPACES) + draw(laid_out(value)) + draw(SPACES)


@settings(max_examples=200, deadline=None)
@given(files())
def test_an_entry_goes_in_and_out_and_nothing_else_changes(file: tuple[dict[str, Any], str]) -> None:
    value, text = file
    entry = JsonEntry(("m", "s"), {"x": ["y", {}]}, "graphmem")
    inner = value.get("m", {})
    if not isinstance(inner, dict) or not isinstance(inner.get("s", {}), dict):
        return
    made = entry.missing(text)
    after = entry.put(text)
    expected = {**value, "m": {**inner, "s": {**inner.get("s", {}), "graphmem": entry.value}}}
    assert parsed(after, "") == expected
    assert entry.put(after) == after
    at, old, new = _splice(text, after)
    assert after[:at] + old + after[at + len(new) :] == text
    assert parsed(pruned(entry.removed(after), made), "") == value
    changed = JsonEntry(("m", "s"), 1, "graphmem").put(after)
    assert parsed(entry.put(changed), "") == expected
