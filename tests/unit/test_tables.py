"""Which table an answer has: chosen by the operation, never by the keys of the answer."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from graphmem.cli.layouts import LAYOUTS, render
from graphmem.cli.session import PIPE_CHARACTERS
from graphmem.registry import Face
from graphmem.runtime import REGISTRY
from tests.support.walks import walk_over


def printed(operation: str, answer: dict[str, Any]) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render(operation, answer))
    return capture.get()


@walk_over("name", LAYOUTS)
def test_a_layout_is_of_a_command_and_draws_parts_of_its_answer(name: str) -> None:
    operation = REGISTRY[name]
    assert Face.CLI in operation.faces
    assert LAYOUTS[name].parts <= set(operation.result.json_schema(mode="serialization")["properties"])


def test_two_answers_with_the_same_keys_have_the_tables_of_their_operations() -> None:
    answer: dict[str, Any] = {"entities": [], "relationships": [], "total": 0}
    assert "found by" in printed("entities.find", answer)
    assert "observed" in printed("entities.query", answer)
    assert "steps" in printed("entities.related", {**answer, "entity_id": "e", "canonical_name": "Ada"})


def test_an_answer_without_a_layout_is_pairs_tables_and_warnings() -> None:
    text = printed("schemas.analyze", {"candidates": [{"field_name": "age", "canonical_name_a": "x"}],
                                       "observations_analyzed": 7, "snapshot": {"a": "b"},
                                       "warnings": [{"code": "W", "message": "look"}]})  # fmt: skip
    for part in ("candidates", "age", "observations_analyzed", "W: look", '{"a": "b"}'):
        assert part in text


def test_warnings_of_an_interpretation_are_sentences() -> None:
    text = printed("interpretations.get", {"status": "completed", "warnings": ["Two pages have no text."]})
    assert "Two pages have no text." in text


def test_how_a_standing_query_was_read_is_printed_beside_its_secret() -> None:
    answer = {"subscription_id": "sub_1", "understood": "tasks that are overdue", "webhook_secret": "whsec_x"}
    for part in answer.values():
        assert part in printed("subscriptions.add", answer)


def test_a_list_without_observations_says_so() -> None:
    assert "no observations" in printed("observations.query", {"observations": [], "total": 0})


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


CANDIDATES = {
    "candidates": [
        {"score": 0.93, "entity_a": ID, "entity_b": ID.replace("0", "a"), "entity_type": "person",
         "canonical_name_a": "Wilhelmina Alexandra of Hohenlohe", "canonical_name_b": "W. A. of Hohenlohe",
         "matched_fields": ["name", "email", "organisation"]},
    ],
}  # fmt: skip
EXPLAINED = {
    "entities": [
        {"entity_id": ID, "entity_type": "transaction", "canonical_name": "Mount the mirror and its optics",
         "points": 0.03, "ranks": {"text": 1}},
    ],
    "strategies": [
        {"strategy": name, "ran": True, "found": 1} for name in ("exact", "text", "meaning")
    ],
}  # fmt: skip
RELATIONSHIPS = {
    "relationships": [
        {"source_entity_id": ID, "target_entity_id": ID.replace("0", "a"), "relationship_type": "WORKS_AT",
         "snapshot": {"since": "2019", "position": "Chair of the committee for long names"}},
    ],
}  # fmt: skip


INTERPRETATIONS = {
    "interpretations": [
        {"interpretation_id": ID.replace("ent", "int"), "source_id": ID.replace("ent", "src"),
         "interpreter": "documents", "status": "completed", "withdrawn": True, "error_message": None,
         "observations_created": 12, "started_at": "2026-01-31T09:00:00Z", "config_hash": "0" * 64},
    ],
}  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "answer", "count", "whole"),
    [
        ("timeline.list", EVENTS, 3, ["2026-01-31T09:00:00Z", "EventStart", "Planning meeting"]),
        ("context.retrieve", LINES, 6, ["It runs the observatory", "2026-01-31", ID]),
        ("entities.duplicates", CANDIDATES, 4, ["0.93", ID, ID.replace("0", "a")]),
        ("search.explain", EXPLAINED, 4, [ID, "exact", "meaning"]),
        (
            "interpretations.list",
            INTERPRETATIONS,
            3,
            [ID.replace("ent", "int"), "documents", "withdrawn", "12"],
        ),
        ("relationships.list", RELATIONSHIPS, 3, [ID, ID.replace("0", "a"), "WORKS_AT"]),
    ],
)
def test_an_item_of_a_list_is_one_line(
    name: str, answer: dict[str, Any], count: int, whole: list[str], width: int
) -> None:
    printed_lines = lines(name, answer, width)
    notes = [line for line in printed_lines if line.startswith("no room for")]
    assert len(printed_lines) - len(notes) == count
    assert bool(notes) == (width == 80)
    for text in whole:
        assert any(text in line for line in printed_lines), text
    assert max(map(len, printed_lines)) <= width


def test_a_cell_that_is_too_long_ends_with_an_ellipsis() -> None:
    name = "Wilhelmina Alexandra of Hohenlohe " * 4
    answer = {"entities": [{"depth": 1, "entity_id": ID, "entity_type": "person", "canonical_name": name}],
              "relationships": []}  # fmt: skip
    row = lines("entities.related", {**answer, "entity_id": ID, "canonical_name": "x"}, 80)[2]
    assert row.split()[:3] == ["1", ID, "person"]
    assert row.endswith("…")


def test_the_lines_of_an_observation_are_cut_and_not_folded() -> None:
    observation = {
        "id": ID, "kind": "value", "observed_at": "2026-01-31T09:00:00Z", "observation_source": "human",
        "provenance": {"agent": "unattributed", "client": "cli", "by": None},
        "entity_id": ID, "entity_type": "note",
        "fields": {"title": "A note", "content": "long " * 50},
    }  # fmt: skip
    assert len(lines("observations.query", {"observations": [observation]}, 60)) == 5


ENTITIES = {
    "entities": [
        {"entity_id": ID, "entity_type": "transaction", "canonical_name": name, "version": 12,
         "observation_count": 345, "last_observation_at": "2026-01-31T09:00:00Z"}
        for name in ("bank-20260428-0031", "Railing of the viewing deck")
    ],
}  # fmt: skip


def lines(name: str, answer: dict[str, Any], width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render(name, answer))
    return [line.rstrip() for line in capture.get().splitlines() if line.strip()]


def test_a_list_of_entities_has_a_row_for_each_and_leaves_out_counters_where_it_is_narrow() -> None:
    wide, narrow = lines("entities.query", ENTITIES, 120), lines("entities.query", ENTITIES, 80)
    assert "345" in wide[2]
    assert len(wide) == 4
    assert narrow[2].split() == [ID, "transaction", "bank-20260428-0031", "2026-01-31"]
    assert narrow[4:] == ["no room for obs., v.: --json has all"]
    assert max(map(len, narrow)) <= 80


@pytest.mark.parametrize("operation", ["entities.query", "entities.find", "entities.related"])
def test_a_list_of_entities_has_a_column_for_each_requested_field(operation: str) -> None:
    row = {**ENTITIES["entities"][0], "depth": 1, "matched": "text", "score": 1.0, "snapshot": {"length": 12}}
    answer = {"entities": [row], "relationships": [], "entity_id": ID, "canonical_name": "x"}
    fields = ["length", "colour", "length", "canonical_name"]
    console = Console(width=130)
    with console.capture() as capture:
        console.print(render(operation, answer, fields))
    head, _, line = [line.split() for line in capture.get().splitlines() if line.strip()][:3]
    place = head.index("name") + 1
    assert head[place : place + 2] == ["length", "colour"]
    assert (head.count("length"), head.count("canonical_name")) == (1, 0)
    assert line[place] == "12"


@walk_over("width", range(50, 130, 3))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, lines("entities.query", ENTITIES, width))) <= width


def test_a_list_that_is_too_wide_without_counters_has_them_as_lines() -> None:
    assert "obs.      345" in lines("entities.query", ENTITIES, 60)


def test_a_snapshot_names_its_observations_below_where_it_is_narrow() -> None:
    observation_id = f"obs_{'0' * 32}"
    answer = {
        "entity_id": ID, "entity_type": "person", "canonical_name": "Ada", "snapshot": {"name": "Ada"},
        "provenance": {"name": observation_id}, "version": 1, "observation_count": 1,
    }  # fmt: skip
    assert f" [1] {observation_id}" in lines("entities.get", answer, 80)
    (row,) = (line for line in lines("entities.get", answer, 160) if line.startswith(" name"))
    assert row.split() == ["name", "Ada", observation_id]


def test_counts_by_type_are_shown_whole() -> None:
    counts = {f"type_{number}": number for number in range(20)}
    text = " ".join(" ".join(lines("server.stats", {"entities_by_type": counts}, 80)).split())
    assert text.endswith("type_18 18, type_19 19")


def test_a_schema_has_a_line_for_each_field() -> None:
    answer = {"entity_type": "task", "fields": {"title": {"type": "string", "description": "What to do."}}}
    assert " title   string   What to do." in lines("schemas.get", answer, 80)


def test_what_an_answer_lacks_to_stay_within_its_size_is_printed() -> None:
    omitted = {"left_out": {"events": 3}, "shortened": ["notes"], "hint": "`next_cursor` goes on"}
    answer = {"events": [], "limit": 100, "offset": 0, "omitted": omitted}
    text = printed("timeline.list", answer)
    assert "3 events left out; shortened: notes; `next_cursor` goes on" in text
    assert "omitted" not in text


def test_an_answer_that_only_lacks_whole_parts_names_no_shortened_one() -> None:
    omitted = {"left_out": {"events": 3, "notes": 1}, "hint": "`next_cursor` goes on"}
    text = printed("timeline.list", {"events": [], "omitted": omitted})
    assert "3 events left out; 1 notes left out; `next_cursor` goes on" in text
    assert "shortened" not in text


def test_a_value_that_others_contest_is_followed_by_theirs() -> None:
    other = {"value": "Ockham", "observed_at": "2026-02-01T09:00:00Z", "observation_id": f"obs_{'1' * 32}"}
    answer = {**LINES, "lines": [{**LINES["lines"][0], "contested": [other]}]}
    line, contest = lines("context.retrieve", answer, 160)[2:4]
    assert "It runs the observatory" in line
    assert "but Ockham" in contest
    assert "2026-02-01" in contest
    assert other["observation_id"] in contest


def test_a_line_of_a_relationship_that_ended_is_worded_as_past() -> None:
    relationship = {**LINES["lines"][0], "field": "WORKS_AT", "value": "Acme", "direction": "outgoing"}
    past = {**relationship, "metadata": {"role": "CEO", "until": "2021"}, "ended": "2021"}
    line, former = lines("context.retrieve", {**LINES, "lines": [relationship, past]}, 200)[2:4]
    assert "WORKS_AT" in line
    assert "formerly" not in line
    assert "formerly WORKS_AT" in former
    assert "→ Acme (role: CEO, until: 2021)" in former


def test_lines_of_context_as_text_are_printed_as_they_are() -> None:
    text = printed("context.retrieve", {"lines": ["Ada (person): city: [b]Bath", "Acme (company)"]})
    assert "Ada (person): city: [b]Bath\nAcme (company)" in text


def test_the_relationships_of_a_store_are_listed_with_their_action() -> None:
    entity = {"entity_id": ID, "entity_type": "person", "canonical_name": "Ada", "action": "created",
              "version": 1, "identity_basis": "name", "deduplicated": False}  # fmt: skip
    link = {"source_entity_id": ID, "target_entity_id": ID.replace("0", "a"), "relationship_type": "KNOWS",
            "action": "created", "deduplicated": False}  # fmt: skip
    again = {**link, "relationship_type": "WORKS_WITH", "action": "observed", "deduplicated": True}
    answer = {"entities": [entity], "relationships_created": [link, again]}
    text = lines("store", answer, 200)
    knows, works = (next(line for line in text if name in line) for name in ("KNOWS", "WORKS_WITH"))
    assert knows.split() == ["Ada", "KNOWS", link["target_entity_id"], "created"]
    assert works.endswith("observed (stored before)")


def test_a_file_that_is_stored_alone_has_no_table_of_entities() -> None:
    text = printed("store", {"entities": [], "relationships_created": [], "source_id": "src_0"})
    assert text.split() == ["source_id", "src_0"]


@pytest.mark.parametrize(("columns", "width"), [(None, PIPE_CHARACTERS), ("100", 100)])
def test_the_lines_of_a_pipe_are_cut_only_where_columns_is_set(columns: str | None, width: int) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environ |= {"COLUMNS": columns} if columns else {}
    code = "from graphmem.cli.session import console; print(console.width)"
    shown = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert shown.stdout.strip() == str(width)
