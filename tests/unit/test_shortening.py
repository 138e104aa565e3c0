"""Shortening an answer: the longest values are cut to one length, and no more than is needed."""

from __future__ import annotations

import re
from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.budgets import shortening, size
from graphmem.model import canonical

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.one_of(TEXTS, TEXTS.map(lambda text: text * 40), st.lists(st.integers(), max_size=200), st.none())
MARK = re.compile(r"… \[\d+ characters\]$")


def answer_of(fields: dict[str, Any]) -> dict[str, Any]:
    values = {name: orjson.Fragment(canonical.encode(value)) for name, value in fields.items()}
    return {"entity_id": "ent_1", "canonical_name": "Ada", "snapshot": values}


def length(value: Any) -> int:
    """Return the characters of a text, or of the JSON of what is no text."""
    return len(value if isinstance(value, str) else canonical.encode(value))


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), VALUES, max_size=12), st.integers(500, 3_000))
@example({"a": "000\x1f\x1f" * 40, "b": "0" * 240, "c": [0] * 100, "cc": "0" * 600}, 1_000)
def test_an_answer_fits_with_its_longest_values_cut(fields: dict[str, Any], budget: int) -> None:
    answer = answer_of(fields)
    whole = size(answer)
    names: list[str] = []
    shortening.shorten(answer, budget, size, names)
    assert size(answer) <= max(budget, 12 * (shortening.LEAST_CHARACTERS * 6 + 40) + 100)
    shown = canonical.decode(orjson.dumps(answer))["snapshot"]
    changed = {name for name, value in fields.items() if shown[name] != value}
    assert changed == set(names)
    assert all(MARK.search(shown[name]) for name in changed)
    if whole <= budget - 200:
        assert not changed
    if changed:
        kept = [length(value) for name, value in fields.items() if name not in changed]
        cut = [length(fields[name]) for name in changed]
        assert max(kept, default=0) <= max(cut) + 40


@given(st.integers(0, 400), st.integers(200, 4_000))
def test_what_is_dropped_is_counted(count: int, budget: int) -> None:
    answer = answer_of({f"f{i}": i for i in range(count)})
    answer["provenance"] = dict.fromkeys(answer["snapshot"], "obs_1")
    answer["events"] = [{"id": str(i)} for i in range(count)]
    dropped = shortening.drop(answer, budget, size, {"entities"})
    assert size(answer) <= budget
    assert len(answer["events"]) + dropped.get("events", 0) == count
    assert len(answer["snapshot"]) + dropped.get("snapshot", 0) == count
    assert answer["provenance"].keys() == answer["snapshot"].keys()
