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


ID = "ent_0123456789abcdef01234567"
EVENTS = {
    "events": [
        {"event_timestamp": "2026-01-31T09:00:00Z", "event_type": "EventStart",
         "entity_name": "Planning meeting",
         "entity_type": "event", "source_field": "date_start", "id": ID.replace("ent", "evt")},
    ],
}  # fmt: skip
LINES = {
    "lines": [
        {"entity_name": "Tarnhill Observatory Trust", "field": "description",
         "value": "It runs the observatory",
         "observed_at": "2026-01-31T09:00:00Z", "observation_id": ID.replace("ent", "obs")},
    ],
    "entities": [
        {"entity_id": ID, "entity_type": "company", "canonical_name": "Tarnhill Observatory Trust"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(("name", "answer"), [("timeline.list", EVENTS), ("context.retrieve", LINES)])
def test_a_table_breaks_no_word(name: str, answer: dict[str, Any], width: int) -> None:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render(name, answer))
    printed_words = capture.get().split()
    for row in [row for rows in answer.values() for row in rows]:
        for word in " ".join(row.values()).replace("T09:00:00Z", "").split():
            assert any(word in printed_word for printed_word in printed_words), word


def test_what_an_answer_lacks_to_stay_within_its_size_is_printed() -> None:
    omitted = {"left_out": {"events": 3}, "shortened": ["notes"], "hint": "`next_cursor` goes on"}
    answer = {"events": [], "limit": 100, "offset": 0, "omitted": omitted}
    text = printed("timeline.list", answer)
    assert "3 events left out; shortened: notes; `next_cursor` goes on" in text
    assert "omitted" not in text
