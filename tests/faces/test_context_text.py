"""Context as text: a line for each entity, with its fields; ids and times once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from graphmem.search.context import token_counts
from tests.faces.test_context import PEOPLE
from tests.support.faces import Call

WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord")


def test_an_entity_is_one_line_with_its_fields_and_relationships(run: Call) -> None:
    entities = run("store", **PEOPLE)["entities"]
    ids = {entity["canonical_name"]: entity["entity_id"] for entity in entities}
    page = run("context.retrieve", question="Ada Lovelace")
    ada, engines = page["lines"][:2]
    day = re.search(r", (\d{4}-\d\d-\d\d)\): ", ada)
    assert day is not None
    assert ada == (
        f"Ada Lovelace (person, {ids['Ada Lovelace']}, {day[1]}): email: ada@example.org; born: 1815; "
        "WORKS_AT → Analytical Engines"
    )
    about = f"company, {ids['Analytical Engines']}, 2026-01-02"
    assert engines.startswith(f"Analytical Engines ({about}): city: London")
    assert "entities" not in page


def test_ids_of_observations_come_on_request(run: Call) -> None:
    run("store", **PEOPLE)
    arguments = {"question": "Ada Lovelace's email"}
    assert "obs_" not in json.dumps(run("context.retrieve", **arguments))
    (line,) = run("context.retrieve", **arguments, provenance="ids", fields=["email"])["lines"]
    (fields,) = run("context.retrieve", **arguments, format="fields", fields=["email"])["lines"]
    assert line.endswith(f": email: ada@example.org [{fields['observation_id']}]")


def test_a_value_that_could_be_read_as_more_than_one_is_quoted(run: Call) -> None:
    values = {
        "plain": "Rows, reads: sleeps", "semicolon": "cats; password: x", "line": "one\ntwo", "quote": '"a"',
        "empty": "", "list": ["a", "b"], "commas": ["a, b", "c"], "object": {"a": 1}, "flag": True, "ten": 10,
    }  # fmt: skip
    (entity,) = run("store", entities=[{"entity_type": "note", "title": "Values", **values}])["entities"]
    (line,) = run("context.retrieve", entity_id=entity["entity_id"])["lines"]
    facts = set(line.partition("): ")[2].split("; "))
    assert facts >= {
        "plain: Rows, reads: sleeps", r'line: "one\ntwo"', r'quote: "\"a\""', 'empty: ""', "list: a, b",
        'commas: ["a, b","c"]', 'object: {"a":1}', "flag: true", "ten: 10",
    }  # fmt: skip
    assert 'semicolon: "cats; password: x"' in line


def test_a_contested_value_is_told_with_the_others(run: Call) -> None:
    ada = {"entity_type": "person", "name": "Ada", "observed_at": "2026-01-01T00:00:00Z"}
    (entity,) = run("store", entities=[{**ada, "city": "London"}])["entities"]
    run("store", entities=[{**ada, "target_id": entity["entity_id"], "city": "Paris"}])
    (line,) = run("context.retrieve", entity_id=entity["entity_id"])["lines"]
    assert "city: London (contested: Paris)" in line or "city: Paris (contested: London)" in line


@pytest.mark.parametrize(("unit", "budget"), [("tokens", 500), ("tokens", 1_000), ("characters", 1_200)])
def test_pages_keep_to_the_budget_and_tile(run: Call, unit: str, budget: int) -> None:
    notes = [
        {
            "entity_type": "note",
            "title": f"Plan {i}",
            "body": "The budget of the spring. " * i,
            "地名": "東京" * i,
        }
        for i in range(12)
    ]
    run("store", entities=notes)
    arguments = {"question": "budget of the spring", "unit": unit}
    whole = run("context.retrieve", **arguments, budget=200_000)
    parts = [run("context.retrieve", **arguments, budget=budget)]
    while "next_cursor" in parts[-1]:
        parts.append(run("context.retrieve", **arguments, budget=budget, cursor=parts[-1]["next_cursor"]))
    assert len(parts) > 1
    for page in parts:
        text = json.dumps(page, ensure_ascii=False, separators=(",", ":"))
        assert page["used"] == token_counts.cost(text, unit) <= budget  # type: ignore[arg-type]

    def facts(page: dict[str, Any]) -> set[tuple[str, str]]:
        parted = (line.partition("): ") for line in page["lines"])
        return {(head, fact) for head, _, rest in parted for fact in rest.split("; ") if fact}

    assert set.union(*map(facts, parts)) == facts(whole)
    assert sum(len(facts(page)) for page in parts) == len(facts(whole))


def test_a_budget_holds_five_times_the_facts_of_fields_with_ids(run: Call) -> None:
    people = [
        {
            "entity_type": "person", "name": f"Person {word}", "city": "Ockham",
            "email": f"{word}@example.org",
            "role": "analyst", "team": "machines", "phone": "+44 7700 900461", "language": "English",
            "status": "active", "floor": 3,
        }
        for word in (f"{first}{second}" for first in WORDS for second in WORDS[:5])
    ]  # fmt: skip
    run("store", entities=people, find_duplicates=False)
    arguments = {"question": "person in Ockham", "budget": 2_000}
    counts = {name: _facts_answered(run, format=name, **arguments) for name in ("text", "fields")}
    assert counts["text"] >= 5 * counts["fields"]


def _facts_answered(run: Call, **arguments: Any) -> int:
    page = run("context.retrieve", **arguments)
    rest = run("context.retrieve", **{**arguments, "budget": 200_000}, cursor=page["next_cursor"])
    return page["total"] - _facts(rest, arguments["format"])


def _facts(page: dict[str, Any], name: str) -> int:
    if name == "fields":
        return len(page["lines"])
    return sum(line.partition("): ")[2].count("; ") + 1 for line in page["lines"])
