"""Proposals: those of the fixtures, the places of their values, and that each can be stored."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.ingest import InterpretationFailed, Proposal, interpreter_for, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import PART_KINDS, Document, Field, Limits, ParseFailed, Part, Span
from graphmem.ingest.interpreters import Interpreter, Options, table
from graphmem.ingest.interpreters.draft import FIELDS_LIMIT, VALUE_CHARACTERS_LIMIT
from graphmem.ingest.interpreters.labels import field_name
from graphmem.ingest.proposal import ProposedEntity, ProposedRelationship
from graphmem.ingest.table import BY_NAME
from graphmem.mcp import memory_graph
from graphmem.mcp.memory_arguments import Entity
from graphmem.model import items, times
from graphmem.reading import places
from tests.contract.snapshots import ROOT
from tests.ingest.goldens import FILES, golden, golden_proposal, proposal
from tests.ingest.test_formats import SMALL, damages, decoded, leaves, squashed
from tests.ingest.test_parsing import LIBRARIES
from tests.ingest.test_table import PAGE

FORMATS = sorted({format for interpreter in table.INTERPRETERS for format in interpreter.formats})
INTERPRETED = [file for file in FILES if json.loads(golden(file).read_text())["format"] in FORMATS]
LABELS = [
    "name", "Name", "E-Mail", "type", "entity_type", "canonical_name", "observed_at", "data", "intent",
    "value", "span", "spans",
]  # fmt: skip
FUZZ = [HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large]


def interpreted(file_name: str, text: str, **more: Any) -> Proposal:
    return propose(parsed_here(text.encode(), None, file_name, Limits()), file_name=file_name, **more)


def types_and_fields(proposed: Proposal) -> list[tuple[str, dict[str, Any]]]:
    return [(entity.entity_type, dict(entity.fields)) for entity in proposed.entities]


def check_storable(proposed: Proposal) -> None:
    """Check that no element would be refused, except for a time in the future."""
    reader = items.Reader("owner", "txn")
    for index, entity in enumerate(proposed.entities):
        assert not set(entity.fields) & (items.RESERVED | set(places.KEYS))
        item: dict[str, Any] = {"entity_type": entity.entity_type, **entity.fields}
        if entity.canonical_name is not None:
            item["canonical_name"] = entity.canonical_name
        if entity.observed_at is not None:
            times.parse(entity.observed_at)
        reader.item(index, item)
        spans = {name: span.as_dict() for name, span in entity.spans.items()}
        more = {"spans": spans} | ({"span": entity.span.as_dict()} if entity.span is not None else {})
        places.read_places(reader, index, "$", item | more)
        assert set(entity.spans) <= set(entity.fields)
    for index, link in enumerate(proposed.relationships):
        raw = {"relationship_type": link.relationship_type, "metadata": dict(link.metadata)}
        ends = {"source_index": link.source, "target_index": link.target}
        reader.link(index, raw | ends, len(proposed.entities))
        assert link.source != link.target
        if link.observed_at is not None:
            times.parse(link.observed_at)
    assert reader.issues == []
    json.dumps(proposed.as_dict(), allow_nan=False, ensure_ascii=False).encode()


def holds(document: Document, value: Any, span: Span) -> bool:
    """Return whether a place holds a value, perhaps in the quotes and escapes of the file."""
    if span.start is None:
        return True
    text = document.text[span.start : span.end]
    return decoded(text) == value or all(squashed(leaf) in squashed(text) for leaf in leaves(value, ""))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_fixture_has_its_golden_proposal(file: Path) -> None:
    assert proposal(file) == json.loads(golden_proposal(file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", INTERPRETED, ids=lambda file: file.name)
def test_the_place_of_a_field_holds_its_value(file: Path) -> None:
    document = parsed_here(file.read_bytes(), None, file.name, Limits())
    proposed = propose(document, file_name=file.name)
    check_storable(proposed)
    wrong = [
        (name, entity.fields[name])
        for entity in proposed.entities
        for name, span in entity.spans.items()
        if name != "sent_at" and not holds(document, entity.fields[name], span)
    ]
    assert wrong == []


@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=FUZZ)
def test_a_damaged_file_has_a_proposal_that_can_be_stored(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(INTERPRETED))
    with contextlib.suppress(ParseFailed):
        document = parsed_here(data.draw(damages(file.read_bytes())), None, file.name, SMALL)
        if document.format in FORMATS:
            check_storable(propose(document, file_name=file.name))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return any document: its parts need not fit its text."""
    text = draw(
        st.sampled_from(["", "[]", '[{"name": "a"}]', "name,type\nAda,person\n"]) | st.text(max_size=40)
    )
    spans = st.builds(
        lambda start, end, line: Span(line=line, start=min(start, end), end=max(start, end)),
        st.integers(0, len(text)),
        st.integers(0, len(text)),
        st.integers(1, 9) | st.none(),
    ) | st.just(Span())  # fmt: skip
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    scalars |= st.sampled_from(
        ["2026-07-03", "2026-07-03T08:00:00Z", "a@example.org", "person", "x" * 1_000_001]
    )
    people = st.dictionaries(st.sampled_from(["name", "address"]), st.text(max_size=9), max_size=2)
    values = st.recursive(
        scalars | people,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
        max_leaves=6,
    )
    fields = st.builds(Field, st.sampled_from(names()) | st.text(max_size=70), values, spans)
    parts = st.builds(
        Part,
        st.sampled_from(PART_KINDS),
        spans,
        st.integers(1, 6) | st.none(),
        st.lists(fields, max_size=8).map(tuple),
    )
    return Document(
        text=text,
        parts=draw(st.lists(parts, max_size=6)),
        format=draw(st.sampled_from(FORMATS)),
        media_type="text/plain",
        parser="text",
        parser_version="1",
        title=draw(st.none() | st.text(max_size=9)),
        metadata=draw(st.dictionaries(st.sampled_from(metadata_names()), values, max_size=4)),
    )


def names() -> list[str]:
    """Return the names of fields that parsers give, and some more."""
    goldens = [json.loads(golden(file).read_text(encoding="utf-8")) for file in FILES]
    parts = [part for value in goldens for part in value.get("parts", ())]
    return sorted({field["name"] for part in parts for field in part.get("fields", ())} | set(LABELS))


def metadata_names() -> list[str]:
    """Return the names of metadata that parsers give."""
    goldens = [json.loads(golden(file).read_text(encoding="utf-8")) for file in FILES]
    return sorted({name for value in goldens for name in value.get("metadata", ())})


@given(document=documents(), file_name=st.none() | st.sampled_from(["people.csv", "a", "x" * 300]))
@settings(max_examples=200, deadline=None, suppress_health_check=FUZZ)
def test_any_document_has_a_proposal_that_can_be_stored(document: Document, file_name: str | None) -> None:
    check_storable(propose(document, file_name=file_name))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "entity_type,name\nSales Order,A\n", "sales_order"),
        ("a.csv", "type,name\nboat,A\n", "boat"),
        ("a.csv", "name,city\nAda,Ockham\n", "record"),
        ("invoices.csv", "vendor,type\nA,paper\n", "invoice"),
        ("invoices.csv", "vendor,type\nA,task\n", "task"),
        ("folder/People.csv", "name,city\nAda,Ockham\n", "person"),
        ("a.json", '{"people": [{"name": "Ada"}], "total": 1}', "person"),
        ("a.json", '{"name": "Tide", "tasks": [{"title": "a"}]}', "record"),
    ],
)
def test_the_type_of_a_row_comes_from_the_first_that_says_it(name: str, text: str, expected: str) -> None:
    assert [entity.entity_type for entity in interpreted(name, text).entities] == [expected]


def test_the_configuration_gives_the_type_of_rows() -> None:
    proposed = interpreted("people.csv", "vendor,type\nA,paper\n", configuration={"entity_type": "Invoices"})
    assert types_and_fields(proposed) == [("invoice", {"vendor": "A", "type": "paper"})]


@pytest.mark.parametrize("configuration", [{"entity_type": "!"}, {"entity_type": 3}, {"unknown": 1}])
def test_a_wrong_configuration_is_refused(configuration: dict[str, Any]) -> None:
    with pytest.raises(InterpretationFailed):
        interpreted("a.csv", "a,b\n1,2\n", configuration=configuration)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("First  Name", "first_name"),
        ("E-Mail", "email"),
        ("birthDate", "birth_date"),
        ("VATNumber", "vat_number"),
        ("Größe (cm)", "größe_cm"),
        ("_id", "id"),
        ("#", "#"),
    ],
)
def test_a_label_becomes_the_name_of_a_field(label: str, expected: str) -> None:
    assert field_name(label) == expected


def test_columns_with_a_meaning_of_their_own_are_no_fields() -> None:
    header = "canonical_name,Observed at,intent,city,City"
    text = f"{header}\nAda,2026-07-03,create_new,Ockham,London\nBob,soon,,Oslo,\n"
    proposed = interpreted("people.csv", text)
    assert [(e.canonical_name, e.observed_at, dict(e.fields)) for e in proposed.entities] == [
        ("Ada", "2026-07-03", {"city": "Ockham", "city_2": "London"}),
        ("Bob", None, {"city": "Oslo"}),
    ]
    assert len(proposed.warnings) == 2


def test_the_elements_of_a_list_in_an_object_have_their_places() -> None:
    text = '{\n "total": 2, "people": [{"name": "Ada"},\n  {"name": "Bob", "age": 3}]}'
    document = parsed_here(text.encode(), None, "a.json", Limits())
    proposed = propose(document)
    assert [entity.span and entity.span.line for entity in proposed.entities] == [2, 3]
    bob = proposed.entities[1]
    assert {name: text[span.start : span.end] for name, span in bob.spans.items()} == {
        "name": '"Bob"',
        "age": "3",
    }
    assert "total" in proposed.warnings[0]


def test_what_could_not_be_stored_is_left_out_with_a_warning() -> None:
    deep: Any = "x"
    for _ in range(99):
        deep = [deep]
    row = {"name": "Ada", "n" * 65: 1, "long": "x" * VALUE_CHARACTERS_LIMIT, "deep": deep, "empty": None}
    more = {f"f{number}": number for number in range(FIELDS_LIMIT)}
    proposed = interpreted(
        "people.jsonl", f'{json.dumps(row)}\n{json.dumps(more)}\n{{"data": {{"a": 1}}}}\n{{}}\n'
    )
    assert set(proposed.entities[0].fields) == {"name", "deep"}
    assert len(proposed.entities) == 2
    assert len(proposed.warnings) == 3
    check_storable(proposed)


def relationships(proposed: Proposal) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """Return the relationships with a name of each end in place of its index."""

    def shown(index: int) -> Any:
        entity = proposed.entities[index]
        names = ("message_id", "email", "title", "name")
        return next((entity.fields[name] for name in names if name in entity.fields), entity.canonical_name)

    return [
        (link.relationship_type, shown(link.source), shown(link.target), dict(link.metadata))
        for link in proposed.relationships
    ]


MAIL = """From: Ada <ada@example.org>
To: bob@example.org, Nobody
Cc: Bob <BOB@example.org>
Subject: {0}
Message-ID: <{0}@x>
In-Reply-To: <1@x>
Date: Fri, 03 Jul 2026 08:00:0{0} +0200

Hello.

"""


def test_the_people_of_messages_are_those_with_an_address() -> None:
    proposed = interpreted(
        "a.mbox", "".join(f"From a Fri Jul  3 08:00:00 2026\n{MAIL.format(n)}" for n in "12")
    )
    people = [fields for entity_type, fields in types_and_fields(proposed) if entity_type == "person"]
    assert people == [
        {"name": "Ada", "email": "ada@example.org"},
        {"email": "bob@example.org"},
        {"name": "Bob", "email": "BOB@example.org"},
    ]
    assert proposed.entities[0].fields["recipients"] == ["bob@example.org", "Nobody", "BOB@example.org"]
    assert {entity.observed_at for entity in proposed.entities if entity.entity_type == "message"} == {
        "2026-07-03T08:00:01+02:00",
        "2026-07-03T08:00:02+02:00",
    }
    # A message that answers itself references nothing.
    assert relationships(proposed) == [
        ("CREATED_BY", "<1@x>", "ada@example.org", {}),
        ("REFERS_TO", "<1@x>", "bob@example.org", {"roles": ["to", "cc"]}),
        ("CREATED_BY", "<2@x>", "ada@example.org", {}),
        ("REFERS_TO", "<2@x>", "bob@example.org", {"roles": ["to", "cc"]}),
        ("REFERENCES", "<2@x>", "<1@x>", {}),
    ]


def test_conversations_of_one_title_stay_apart() -> None:
    chats = [
        {"uuid": f"c-{number}", "name": "New chat", "chat_messages": [{"uuid": f"m-{number}", "text": "Hi"}]}
        for number in (1, 2)
    ]
    unnamed: dict[str, Any] = {"name": "", "uuid": None, "chat_messages": [{"text": "Hi", "sender": "human"}]}
    proposed = interpreted("a.json", json.dumps([*chats, unnamed]))
    conversations = [entity for entity in proposed.entities if entity.entity_type == "conversation"]
    assert [(entity.canonical_name, entity.fields["external_id"]) for entity in conversations] == [
        ("New chat", "c-1"),
        ("New chat", "c-2"),
    ]
    assert relationships(proposed) == [("PART_OF", f"m-{n}", "New chat", {}) for n in (1, 2)]
    assert proposed.warnings == ("A conversation has neither an id nor a title: it is left out.",)


CARD = "BEGIN:VCARD\nVERSION:3.0\n{}\nEND:VCARD\n"


def test_contacts_work_at_one_company() -> None:
    cards = ["FN:Ada\nORG:Acme;Lab;East\nREV:20260703T080000Z", "FN:Bob\nORG:Acme", "FN:Cy\nORG:;Lab"]
    proposed = interpreted("a.vcf", "".join(map(CARD.format, cards)))
    assert types_and_fields(proposed) == [
        ("person", {"name": "Ada", "company": "Acme", "department": "Lab, East"}),
        ("company", {"name": "Acme"}),
        ("person", {"name": "Bob", "company": "Acme"}),
        ("person", {"name": "Cy", "department": "Lab"}),
    ]
    assert [link[:3] for link in relationships(proposed)] == [
        ("WORKS_AT", "Ada", "Acme"),
        ("WORKS_AT", "Bob", "Acme"),
    ]
    assert proposed.entities[0].observed_at == "2026-07-03T08:00:00.000000Z"


def test_a_contact_that_is_an_organisation_is_a_company() -> None:
    cards = ["FN:Acme\nORG:Acme\nX-ABShowAs:COMPANY\nTEL:1\nTEL:2", "FN:Ferry\nKIND:org"]
    assert types_and_fields(interpreted("a.vcf", "".join(map(CARD.format, cards)))) == [
        ("company", {"name": "Acme", "phone": "1", "phones": ["1", "2"]}),
        ("company", {"name": "Ferry"}),
    ]


def test_an_organiser_who_attends_has_both_roles() -> None:
    text = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Tide\nDTSTART:20260703T080000Z\n"
        "LAST-MODIFIED:20260701T080000Z\nORGANIZER;CN=Ada:mailto:ada@example.org\n"
        "ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:ada@example.org\nATTENDEE;CN=Bob:urn:x\n"
        "END:VEVENT\nBEGIN:VJOURNAL\nSUMMARY:Day\nDESCRIPTION:Rain\nDTSTART;VALUE=DATE:20260703\n"
        "END:VJOURNAL\nEND:VCALENDAR\n"
    )
    proposed = interpreted("a.ics", text)
    event, person, note = types_and_fields(proposed)
    assert event[1] == {
        "title": "Tide",
        "date_start": "2026-07-03T08:00:00+00:00",
        "organizer": "Ada",
        "attendees": ["Ada", "Bob"],
    }
    assert person == ("person", {"name": "Ada", "email": "ada@example.org"})
    assert note == ("note", {"title": "Day", "date": "2026-07-03", "content": "Rain"})
    metadata = {"roles": ["organizer", "attendee"], "status": "ACCEPTED"}
    assert relationships(proposed) == [("REFERS_TO", "Tide", "ada@example.org", metadata)]
    assert proposed.entities[0].observed_at == "2026-07-01T08:00:00+00:00"


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
    [entity] = interpreted("notes/ada.md", text).entities
    assert entity.entity_type == expected[0]
    assert expected[1].items() <= entity.fields.items()
    assert not {"entity_type"} & set(entity.fields)


def test_the_memory_of_the_memory_server_is_stored_as_its_toolset_stores_it() -> None:
    entities = [
        {"name": "Ada", "entityType": "Person", "observations": ["a"]},
        {"name": "Log", "entityType": "note", "observations": []},
        {"name": "Odd", "entityType": "???", "observations": ["b", "c"]},
    ]
    relations = [
        ("Ada", "Log", "depends on"),
        ("ada", "Log", "wrote"),
        ("Ada", "Log", "likes"),
        ("Ada", "Zed", "x"),
    ]
    lines = [{"type": "entity", **entity} for entity in entities]
    lines += [{"type": "relation", "from": s, "to": t, "relationType": r} for s, t, r in relations]
    proposed = interpreted("memory.jsonl", "\n".join(map(json.dumps, lines)))
    items_of_tools = [memory_graph._item(Entity.model_validate(entity), {}) for entity in entities]
    assert [
        {"entity_type": entity.entity_type, **entity.fields}
        | ({"canonical_name": entity.canonical_name} if entity.canonical_name else {})
        for entity in proposed.entities
    ] == items_of_tools
    types = memory_graph.RELATION_TYPES
    assert relationships(proposed) == [
        ("DEPENDS_ON", "Ada", "Log", {types: ["depends on"]}),
        (memory_graph.GENERAL_RELATIONSHIP, "Ada", "Log", {types: ["wrote", "likes"]}),
    ]
    assert "no entity for one of its ends" in proposed.warnings[0]


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
    document = Document("", (), "pdf", "application/pdf", "pdf", "1", "Report", metadata)
    proposed = propose(document)
    assert proposed.entities[0].fields.get("date") == expected
    assert bool(proposed.warnings) is (expected is None)


def test_a_document_without_a_title_has_the_name_of_its_file() -> None:
    assert interpreted("plan.txt", "text\n").entities[0].fields["title"] == "plan.txt"
    nameless = propose(parsed_here(b"text\n", None, "plan.txt", Limits()))
    assert (len(nameless.entities), len(nameless.warnings)) == (0, 1)


def test_many_labels_of_one_name_take_no_time() -> None:
    row = {f"a{' ' * number}{'-' * (number % 7)}": number for number in range(3_000)}
    begun = time.process_time()
    [entity] = interpreted("people.json", json.dumps([row])).entities
    assert list(entity.fields.values()) == list(row.values())[:FIELDS_LIMIT]
    assert time.process_time() - begun < 10


def test_many_people_of_one_line_have_their_places() -> None:
    people = [f"Name {number} <{number}@example.org>" for number in range(2_000)]
    text = f"Subject: x\nFrom: a@b.c\nDate: x\nTo: {', '.join(people)}\n\nbody\n"
    document = parsed_here(text.encode(), None, "a.eml", Limits())
    recipients = propose(document).entities[2:]
    spans = [entity.span for entity in recipients if entity.span is not None]
    assert [document.text[span.start : span.end] + ">" for span in spans] == people


def test_what_exceeds_a_limit_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.ingest.interpreters.draft.ENTITIES_LIMIT", 2)
    monkeypatch.setattr("graphmem.ingest.interpreters.draft.JOINED_LIMIT", 1)
    entities = [{"type": "entity", "name": n, "entityType": "a", "observations": []} for n in "abc"]
    relations = [{"type": "relation", "from": "a", "to": "b", "relationType": kind} for kind in "xy"]
    proposed = interpreted("memory.jsonl", "\n".join(map(json.dumps, [*entities, *relations])))
    assert len(proposed.entities) == 2
    assert [dict(link.metadata) for link in proposed.relationships] == [{"relation_types": ["x"]}]
    assert len(proposed.warnings) == 2


def test_equal_rows_that_nothing_names_are_said_to_be_one_entity() -> None:
    rows = "date,amount\n2026-07-03,3.50\n2026-07-04,3.50\n2026-07-03,3.50\n"
    proposed = interpreted("transactions.csv", rows)
    assert len(proposed.entities) == 3
    assert proposed.warnings == ("Equal rows without a name or an id are one entity: the one in row 4 too.",)
    assert interpreted("people.csv", "name,city\nAda,Oslo\nAda,Oslo\n").warnings == ()


def test_tables_in_a_text_are_read_where_that_is_wanted() -> None:
    text = "---\ntype: person\n---\n| Name | Role |\n|---|---|\n| Ada | lead |\n"
    configuration = {"entity_type": "contact"}
    proposed = interpreted("a.md", text, name="tables", configuration=configuration)
    assert types_and_fields(proposed) == [("contact", {"name": "Ada", "role": "lead"})]


def test_a_file_with_several_sheets_does_not_name_them() -> None:
    book = openpyxl.Workbook()
    for title in ("Invoices", "Other"):
        sheet = book.create_sheet(title)
        sheet.append(["Vendor", "City"])
        sheet.append(["Acme", "Oslo"])
    book.remove(book.worksheets[0])
    stream = io.BytesIO()
    book.save(stream)
    document = parsed_here(stream.getvalue(), None, "people.xlsx", Limits())
    proposed = propose(document, file_name="people.xlsx")
    assert [entity.entity_type for entity in proposed.entities] == ["invoice", "record"]


def test_interpreters_import_nothing_before_they_are_needed_and_no_library_of_a_format() -> None:
    code = (
        "import sys, graphmem.ingest\nprint(*sys.modules)\n"
        "for row in graphmem.ingest.interpreters.table.INTERPRETERS: row.load()\nprint(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ
    )
    at_once, later = (set(line.split()) for line in run.stdout.splitlines())
    assert not [name for name in at_once if name.startswith("graphmem.model")]
    assert not LIBRARIES & later


class Point:
    """An entry point of a test."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name = name
        self._loaded = loaded

    def load(self) -> Any:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Add an entry point."""
    points: list[Point] = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    table._entry_points.cache_clear()
    yield lambda name, loaded: points.append(Point(name, loaded))
    table._entry_points.cache_clear()


PROPOSED = Proposal(
    (
        ProposedEntity("Boats", {"name": "Tide", "intent": "x"}),
        ProposedEntity("boats", {" ": None}),
        ProposedEntity("harbour", {"name": "Oslo"}),
    ),
    (ProposedRelationship("LOCATED_AT", 0, 2), ProposedRelationship("LOCATED_AT", 1, 2)),
)


def plugin(result: Any, **more: Any) -> Interpreter:
    class Added(Interpreter):
        def load(self) -> Any:
            def run(document: Document, options: Options) -> Any:
                if isinstance(result, Exception):
                    raise result
                return result

            return run

    return Added("boats", 1, ("csv",), "", **more)


def test_an_added_interpreter_reads_its_formats(plug: Any) -> None:
    plug("boats", plugin(PROPOSED))
    proposed = interpreted("a.csv", "a,b\n1,2\n")
    assert types_and_fields(proposed) == [("boats", {"name": "Tide"}), ("harbour", {"name": "Oslo"})]
    assert [(link.source, link.target) for link in proposed.relationships] == [(0, 1)]
    assert interpreter_for("csv").name == "boats"
    assert interpreter_for("json").name == "rows"


def test_an_added_interpreter_that_is_not_default_needs_its_name(plug: Any) -> None:
    plug("boats", plugin(PROPOSED, by_default=False))
    assert interpreter_for("csv").name == "rows"
    assert interpreter_for("csv", "boats").name == "boats"


@pytest.mark.parametrize(
    "loaded",
    [
        ImportError("no module"),
        "no interpreter",
        Interpreter("rows", 1, ("csv",), "x"),
        Interpreter("boats", 0, ("csv",), "x"),
        Interpreter("boats", 1, ("invented",), "x"),
        Interpreter("boats", 1, ("csv",), "no.such.module"),
        plugin(RuntimeError("inside")),
        plugin(InterpretationFailed("on purpose")),
        plugin("no proposal"),
        plugin(Proposal((ProposedEntity("!", {"a": 1}),))),
        plugin(Proposal((), (ProposedRelationship("EMPLOYS", 0, 0),))),
    ],
    ids=repr,
)
def test_a_broken_interpreter_is_an_error_that_names_it(plug: Any, loaded: Any) -> None:
    plug("boats", loaded)
    with pytest.raises(InterpretationFailed, match="boats"):
        interpreted("a.csv", "a,b\n1,2\n")


@pytest.mark.parametrize("interpreter", table.INTERPRETERS, ids=lambda interpreter: interpreter.name)
def test_the_page_has_the_row_of_each_interpreter(interpreter: Interpreter) -> None:
    titles = ", ".join(BY_NAME[name].title for name in interpreter.formats)
    assert f"| `{interpreter.name}` | {titles} |" in PAGE


@pytest.mark.parametrize(("format", "name"), [("csv", "invented"), ("pdf", "rows")])
def test_an_interpreter_that_does_not_fit_is_refused(format: str, name: str) -> None:
    with pytest.raises(InterpretationFailed, match=name):
        interpreter_for(format, name)
