"""Which table an answer has: chosen by the operation, never by the keys of the answer."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from graphmem.cli.layouts import LAYOUTS, render
from graphmem.registry import Face
from graphmem.runtime import REGISTRY


def printed(operation: str, answer: dict[str, Any]) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render(operation, answer))
    return capture.get()


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_of_a_command_and_draws_parts_of_its_answer(name: str) -> None:
    operation = REGISTRY[name]
    assert Face.CLI in operation.faces
    assert LAYOUTS[name].parts <= set(operation.result.json_schema(mode="serialization")["properties"])


def test_two_answers_with_the_same_keys_have_the_tables_of_their_operations() -> None:
    answer: dict[str, Any] = {"entities": [], "relationships": [], "total": 0}
    assert "found by" in printed("entities.find", answer)
    assert "last observed" in printed("entities.query", answer)
    assert "steps" in printed("entities.related", {**answer, "entity_id": "e", "canonical_name": "Ada"})


def test_an_answer_without_a_layout_is_pairs_tables_and_warnings() -> None:
    text = printed("schemas.analyze", {"candidates": [{"field_name": "age", "canonical_name_a": "x"}],
                                       "observations_analyzed": 7, "snapshot": {"a": 1},
                                       "warnings": [{"code": "W", "message": "look"}]})  # fmt: skip
    for part in ("candidates", "age", "observations_analyzed", "W: look", '{"a": 1}'):
        assert part in text
