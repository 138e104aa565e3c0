"""The interpreters of notes, documents and the memory server: titles, dates, types and relationships."""

from __future__ import annotations

import io
import json
from typing import Any

import docx
import pytest

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.mcp import memory_graph
from graphmem.mcp.memory_arguments import Entity
from tests.support.proposals import proposal_of, relationships
from tests.support.walks import walk_over


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntype: Meeting\nDate: 2026-07-03\n---\n# Tide\n", ("meeting", {"title": "Tide"})),
        ("---\ntype: person\n---\nHello.\n", ("person", {"name": "ada", "content": "Hello."})),
        ("---\ntype: [a]\ntitle: T\n---\n", ("note", {"type": ["a"], "title": "T"})),
        ("no heading\n", ("note", {"title": "ada", "content": "no heading"})),
        ("---\nentity_type: '!'\n---\n", ("note", {"title": "ada"})),
    ],
)
def test_the_front_matter_says_what_a_note_is(text: str, expected: tuple[str, dict[str, Any]]) -> None:
    [entity] = proposal_of("notes/ada.md", text).entities
    assert entity.entity_type == expected[0]
    assert expected[1].items() <= entity.fields.items()
    assert not {"entity_type"} & set(entity.fields)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"created": "D:20261123075555Z'"}, "2026-11-23T07:55:55Z"),
        ({"created": "D:20261123075555+01'30'"}, "2026-11-23T07:55:55+01:30"),
        ({"created": "D:20261123"}, "2026-11-23"),
        ({"created": "2013-01-27T09:14:16"}, "2013-01-27T09:14:16"),
        ({"exif": {"DateTimeOriginal": "2026:07:03 08:00:00"}}, "2026-07-03T08:00:00"),
        ({"created": "yesterday"}, None),
    ],
)
def test_a_document_has_the_date_that_it_states(metadata: dict[str, Any], expected: str | None) -> None:
    document = ParsedDocument("", (), "pdf", "application/pdf", "pdf", "1", "Report", metadata)
    proposed = propose(document)
    assert proposed.entities[0].fields.get("date") == expected
    assert bool(proposed.warnings) is (expected is None)


def test_a_document_without_a_title_has_the_name_of_its_file() -> None:
    assert proposal_of("plan.txt", "text\n").entities[0].fields["title"] == "plan.txt"
    nameless = propose(parsed_here(b"text\n", None, "plan.txt", DocumentLimits()))
    assert (len(nameless.entities), len(nameless.warnings)) == (0, 1)


def test_the_memory_of_the_memory_server_is_stored_as_its_toolset_stores_it() -> None:
    entities = [
        {"name": "Ada", "entityType": "Person", "observations": ["a"]},
        {"name": "Log", "entityType": "note", "observations": []},
        {"name": "Odd", "entityType": "???", "observations": ["b", "c"]},
    ]
    relations = [
        ("Ada", "Log", "depends on"),
        ("ada", "Log", "wrote"),
        ("Ada", "Log", "admires"),
        ("Ada", "Zed", "x"),
    ]
    lines = [{"type": "entity", **entity} for entity in entities]
    lines += [{"type": "relation", "from": s, "to": t, "relationType": r} for s, t, r in relations]
    proposed = proposal_of("memory.jsonl", "\n".join(map(json.dumps, lines)))
    items_of_tools = [memory_graph._item(Entity.model_validate(entity), {}) for entity in entities]
    assert [
        {"entity_type": entity.entity_type, **entity.fields}
        | ({"canonical_name": entity.canonical_name} if entity.canonical_name else {})
        for entity in proposed.entities
    ] == items_of_tools
    types = memory_graph.RELATION_TYPES
    assert relationships(proposed) == [
        ("DEPENDS_ON", "Ada", "Log", {types: ["depends on"]}),
        ("RELATED_TO", "Ada", "Log", {types: ["wrote", "admires"]}),
    ]
    assert "no entity for one of its ends" in proposed.warnings[0]


def test_an_entity_of_the_memory_server_that_comes_twice_has_the_texts_of_both() -> None:
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["one"]},
        {"type": "relation", "from": "ADA", "to": "Bob", "relationType": "knows"},
        {"type": "entity", "name": "ada", "entityType": "engineer", "observations": ["two", "one"]},
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": []},
    ]
    proposed = proposal_of("memory.jsonl", "\n".join(map(json.dumps, lines)))
    assert [dict(entity.fields) for entity in proposed.entities] == [
        {"name": "Ada", "observations": ["one", "two"]},
        {"name": "Bob", "observations": []},
    ]
    assert [(link.source, link.target) for link in proposed.relationships] == [(0, 1)]
    assert "type engineer in line 3" in proposed.warnings[0]


def test_an_entity_of_the_memory_server_without_observations_is_named() -> None:
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": None},
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": "likes tea"},
        {"type": "entity", "name": "Cy", "entityType": "person"},
        {"type": "entity", "name": "Di", "entityType": "person", "observations": ["sails", 3]},
        {"type": "relation", "from": "Ada", "to": "Cy", "relationType": "knows"},
    ]
    proposed = proposal_of("memory.jsonl", "\n".join(map(json.dumps, lines)))
    assert [tuple(entity.fields.values()) for entity in proposed.entities] == [
        ("Ada", []), ("Bob", ["likes tea"]), ("Cy", []), ("Di", ["sails"])
    ]  # fmt: skip
    assert relationships(proposed) == [("KNOWS", "Ada", "Cy", {"relation_types": ["knows"]})]
    assert proposed.warnings == ("LEFT_OUT: Observations in line 4 that are no texts are left out.",)


def test_what_exceeds_a_limit_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.ingest.interpreters.proposal_draft.ENTITIES_LIMIT", 2)
    monkeypatch.setattr("graphmem.ingest.interpreters.proposal_draft.JOINED_LIMIT", 1)
    entities = [{"type": "entity", "name": n, "entityType": "a", "observations": []} for n in "abc"]
    relations = [{"type": "relation", "from": "a", "to": "b", "relationType": kind} for kind in "xy"]
    proposed = proposal_of("memory.jsonl", "\n".join(map(json.dumps, [*entities, *relations])))
    assert len(proposed.entities) == 2
    assert [dict(link.metadata) for link in proposed.relationships] == [{"relation_types": ["x"]}]
    assert len(proposed.warnings) == 2


@walk_over(
    "title, author, named, by",
    [
        ("Lease of the flat", "Ada Byron", "Lease of the flat", "Ada Byron"),
        ("Microsoft Word - cv.doc", "python-docx", "Chapter one", None),
        ("untitled (2)", "Administrator", "Chapter one", None),
        ("PowerPoint-Präsentation", "Microsoft Office User", "Chapter one", None),
        ("", "user", "Chapter one", None),
        ("PowerPoint for sailors", "Userkov", "PowerPoint for sailors", "Userkov"),
    ],
)
def test_a_document_is_named_as_a_person_would_and_by_nobody_that_is_none(
    title: str, author: str, named: str, by: str | None
) -> None:
    document = docx.Document()
    document.core_properties.title, document.core_properties.author = title, author
    document.add_paragraph("Hello")
    document.add_heading("Chapter one", 2)
    stream = io.BytesIO()
    document.save(stream)
    [entity] = propose(parsed_here(stream.getvalue(), None, "a.docx", DocumentLimits())).entities
    assert (entity.fields["title"], entity.fields.get("author")) == (named, by)
    assert "comments" not in entity.fields
