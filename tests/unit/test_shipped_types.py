"""The shipped types: what they declare, and that they never hide or convert anything."""

from __future__ import annotations

from pathlib import Path

import graphmem
from graphmem.model import identity, schema
from tests.support.walks import walk_over

TYPES = schema.shipped_types()
EXPLICIT = {"id", "uuid", "external_id", "message_id"}


def shipped(name: str) -> schema.SchemaDocument:
    document = schema.shipped(name)
    assert document is not None
    return document


def test_the_shipped_types_are_those_that_have_an_identity_of_their_own():
    assert set(TYPES) == set(identity.SHIPPED)
    assert set(identity._PLURALS.values()) <= set(TYPES)


def test_there_is_no_file_that_is_no_type():
    folder = Path(graphmem.__file__).parent / "model" / "types"
    assert {file.name for file in folder.iterdir()} == {f"{name}.json" for name in TYPES}


@walk_over("name", TYPES)
def test_a_shipped_type_hides_and_converts_nothing(name: str):
    document = shipped(name)
    assert document.rules.key == ""
    assert document.alternatives() is None
    assert not document.strict
    assert schema.warnings_of(document) == []
    assert document.description
    assert all(field.description and not field.required for field in document.fields.values())


@walk_over("name", TYPES)
def test_a_shipped_type_declares_what_identifies_its_entities(name: str):
    first = identity.rule(name)[0]
    assert set(first) - EXPLICIT <= set(shipped(name).fields)
    # The files say nothing of identity: there is one definition.
    assert shipped(name).canonical_name_fields == ()


def test_an_event_has_the_fields_of_the_interface():
    assert {name: field.type for name, field in shipped("event").fields.items()} == {
        "title": "string", "event_type": "string", "date_start": "date", "attendees": "array",
        "outcome": "string", "follow_ups": "array",
    }  # fmt: skip


def test_times_of_shipped_types_are_on_the_timeline():
    events = {
        (name, time_field.field, time_field.event_type)
        for name in TYPES
        for time_field in shipped(name).temporal_fields
    }
    assert all(shipped(name).fields[field].type == "date" for name, field, _ in events)
    assert {
        ("event", "date_start", "EventStart"), ("task", "due_date", "TaskDue"),
        ("invoice", "invoice_date", "InvoiceIssued"), ("invoice", "due_date", "InvoiceDue"),
        ("transaction", "date", "TransactionDate"),
    } <= events  # fmt: skip


def test_a_type_that_is_not_shipped_has_no_document():
    assert schema.shipped("wine") is None
    assert schema.shipped("../event") is None
