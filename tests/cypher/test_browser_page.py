"""The queries of docs/neo4j-browser.md, read from the page and run on a small store."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any, LiteralString, cast

import pytest

from graphmem.cli import demo
from graphmem.context import Services
from tests.contract.snapshots import ROOT
from tests.support.event_loop import Loop
from tests.support.faces import Call

PAGE = ROOT / "docs" / "neo4j-browser.md"
NAME = "Maren Ødegaard-Ruiz"
"""The entity of the example world that the page asks about."""
QUERIES = re.findall(
    r"^(\d+)\. .*?^```cypher\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
LATER = "2026-06-01T00:00:00Z"

Rows = list[dict[str, Any]]
Ask = Callable[[int], Rows]


@pytest.fixture
def stem() -> str:
    """What the names of this test end with, so that it finds its own rows among those of other tests."""
    return uuid.uuid4().hex[:8]


@pytest.fixture
def ask(loop: Loop, services: Services, run: Call, owner: str, stem: str) -> Ask:
    """Store a small world; return a function that runs a query of the page, without the limit of its rows."""
    names = {key: f"{key} {stem}" for key in ("Mill", "Trust", "Handbook", "Old", "Bo")}
    items = [
        {"entity_type": "person", "name": stem, "phone": None, "employer": names["Mill"], "skills": ["x"]},
        {"entity_type": "company", "name": names["Mill"]},
        {"entity_type": "company", "name": names["Trust"]},
        {"entity_type": "task", "title": names["Handbook"], "status": "open", "due_date": "2026-12-01"},
        {"entity_type": "person", "name": names["Old"], "observed_at": "2025-01-01T00:00:00Z"},
        {"entity_type": "person", "name": names["Bo"]},
    ]
    links = [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1},
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 2, "metadata": {"since": 2021}},
        {"relationship_type": "MANAGES", "source_index": 0, "target_index": 3},
        {"relationship_type": "MANAGES", "source_index": 5, "target_index": 3},
        {
            "relationship_type": "PART_OF",
            "source_index": 0,
            "target_index": 1,
            "metadata": {"end_date": "2025"},
        },
        {
            "relationship_type": "PART_OF",
            "source_index": 0,
            "target_index": 2,
            "metadata": {"end_date": None},
        },
        {
            "relationship_type": "PART_OF",
            "source_index": 1,
            "target_index": 2,
            "metadata": {"current": False},
        },
    ]
    stored = run(
        "store", entities=items, relationships=links, observed_at="2026-01-02T03:04:05Z",
        observation_source="human", idempotency_key=stem,
    )  # fmt: skip
    ids = [item["entity_id"] for item in stored["entities"]]
    run("store", entities=[{"target_id": ids[0], "employer": names["Trust"]}], observed_at=LATER)
    run("relationships.delete", relationship_key=stored["relationships_created"][0]["relationship_key"])
    run("entities.merge", source_entity_id=ids[4], target_entity_id=ids[0])
    run("entities.delete", entity_id=ids[5])

    def rows(number: int) -> Rows:
        text = re.sub(r" LIMIT \d+$", "", QUERIES[number - 1][1].strip()).replace(NAME, stem)
        # Transactions have no name. Other processes of this test run write at the same time.
        text = text.replace("(transaction:Transaction)", f"(transaction:Transaction {{owner: '{owner}'}})")
        return loop.run(services.database.script(cast("LiteralString", text)))

    return rows


def ends(rows: Rows, stem: str) -> set[tuple[str, str, str]]:
    """Return the drawn edges of this test: name, type, name."""
    edges = [edge for row in rows for edge in row["path"].relationships]
    named = {(edge.nodes[0].get("name"), edge.type, edge.nodes[1].get("name")) for edge in edges}
    return {edge for edge in named if stem in edge[0]}


def test_the_page_has_ten_queries() -> None:
    assert [int(number) for number, _ in QUERIES] == list(range(1, 11))
    assert len({text for _, text in QUERIES}) == 10


@pytest.mark.parametrize("number", [1, 2])
def test_drawings_have_names_and_neither_deleted_relationships_nor_entities_and_the_first_none_that_ended(
    ask: Ask, stem: str, number: int
) -> None:
    ended = {(stem, "PART_OF", f"Mill {stem}")}
    assert ends(ask(number), stem) - (ended if number == 2 else set()) == {
        (stem, "WORKS_AT", f"Trust {stem}"), (stem, "MANAGES", f"Handbook {stem}"),
        (stem, "PART_OF", f"Trust {stem}"),
    }  # fmt: skip


def test_the_query_of_the_demo_draws_none_that_ended(
    ask: Ask, loop: Loop, services: Services, stem: str
) -> None:
    ask(1)
    text = demo.BROWSER_QUERY.replace("RETURN p", "RETURN p AS path")
    drawn = ends(loop.run(services.database.script(cast("LiteralString", text))), stem)
    assert (stem, "WORKS_AT", f"Trust {stem}") in drawn
    assert (stem, "PART_OF", f"Mill {stem}") not in drawn


def test_types_are_counted(ask: Ask) -> None:
    rows = {row["type"]: row for row in ask(3)}
    assert rows["task"]["entities"] >= 1
    assert 1 <= len(rows["company"]["examples"]) <= 3


def test_the_snapshot_pairs_fields_with_values_times_and_sources(ask: Ask, stem: str) -> None:
    rows = {row["field"]: row for row in ask(4)}
    assert {field: row["value"] for field, row in rows.items()} == {
        "name": stem, "employer": f"Trust {stem}", "skills": '["x"]',
    }  # fmt: skip
    assert rows["name"]["observed"].iso_format() == "2026-01-02T03:04:05.000000000+00:00"
    assert rows["name"]["source"] == "human"
    assert rows["employer"]["observation"].startswith("obs_")


def test_fields_become_columns(ask: Ask, stem: str) -> None:
    (task,) = (row for row in ask(5) if stem in row["task"])
    assert task == {"task": f"Handbook {stem}", "status": "open", "due": "2026-12-01"}


def test_a_field_has_a_history(ask: Ask, stem: str) -> None:
    rows = ask(6)
    assert [row["value"] for row in rows] == [f"Mill {stem}", f"Trust {stem}"]
    assert rows[0]["observed"] < rows[1]["observed"] < rows[0]["recorded"]


def test_relationships_have_their_metadata(ask: Ask, stem: str) -> None:
    rows = [(row["relationship"], row["target"], row["metadata"]) for row in ask(7)]
    assert rows == [
        ("MANAGES", f"Handbook {stem}", []),
        ("PART_OF", f"Mill {stem}", ["end_date: 2025"]),
        ("PART_OF", f"Trust {stem}", ["end_date: null"]),
        ("WORKS_AT", f"Trust {stem}", ["since: 2021"]),
    ]


def test_what_is_deleted_or_merged_is_named(ask: Ask, stem: str) -> None:
    rows = [(row["name"], row["state"], row["survivor"]) for row in ask(8) if stem in row["name"]]
    assert sorted(rows) == [(f"Bo {stem}", "deleted", None), (f"Old {stem}", "merged", stem)]


def test_the_timeline_names_what_happens(ask: Ask, stem: str) -> None:
    (row,) = (row for row in ask(9) if row["name"] == f"Handbook {stem}")
    assert (row["at"].iso_format()[:10], row["type"], row["field"]) == ("2026-12-01", "task", "due_date")


def test_writes_are_listed_newest_first(ask: Ask) -> None:
    operations = [row["operation"] for row in ask(10)[:5]]
    assert operations == ["entities.delete", "entities.merge", "relationships.delete", "store", "store"]
    assert ask(10)[4]["observations"] == 13
