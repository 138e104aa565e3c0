"""Notes, tasks, activity and bookings of other programs, and files whose structure nothing reads."""

from __future__ import annotations

import json
from typing import Any

from graphmem.ingest import Proposal, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.pipe import lines, read_lines
from tests.ingest.goldens import FOLDER
from tests.support.proposals import check_storable, relationships, types_and_fields
from tests.support.walks import walk_over


def read(file_name: str, text: str | None = None) -> tuple[ParsedDocument, Proposal]:
    """Return the document and the proposal of a fixture, or of a text."""
    data = (FOLDER / "files" / file_name).read_bytes() if text is None else text.encode()
    document = parsed_here(data, None, file_name, DocumentLimits())
    return document, propose(document, file_name=file_name)


def fields_of(file_name: str) -> tuple[list[dict[str, Any]], Proposal]:
    _, proposed = read(file_name)
    check_storable(proposed)
    return [fields for _, fields in types_and_fields(proposed) if fields], proposed


def test_a_note_of_keep_has_its_labels_times_and_trash() -> None:
    (note,), proposed = fields_of("keep.json")
    assert note == {
        "title": "Old hours", "content": "Open never\n- [ ] oakum\n- [x] tar", "tags": ["boat"],
        "created_at": "2025-09-27T19:06:40+00:00", "updated_at": "2025-10-09T08:53:20.123001+00:00",
        "links": ["https://loft.example.org"], "attachments": ["deck.jpg"], "pinned": True, "deleted": True,
    }  # fmt: skip
    entity, deletion = proposed.entities
    assert (entity.entity_type, deletion.stored_as, deletion.identifying) == (
        "note",
        {"kind": "delete"},
        note,
    )


def test_tasks_of_google_keep_their_list_state_and_parent() -> None:
    (hull, paint, other), proposed = fields_of("tasks.json")
    assert (hull["status"], hull["due_date"], hull["description"], hull["list"]) == (
        "open", "2026-06-01", "two coats", "Boat"
    )  # fmt: skip
    assert (paint["status"], paint["completed_date"]) == ("done", "2026-05-03")
    assert (other["title"], other["external_id"]) == (paint["title"], "t3")
    assert relationships(proposed) == [("PART_OF", "Buy paint", "Paint the hull", {})]
    assert [entity.stored_as for entity in proposed.entities] == [None, None, None, {"kind": "delete"}]


def test_equal_prompts_of_two_days_are_two() -> None:
    (first, second, video), proposed = fields_of("activity.json")
    assert first["title"] == second["title"]
    assert (first["outcome"], first["date_start"]) == ("About 4 metres.", "2025-11-03T08:15:00.123Z")
    assert (video["url"], video["description"]) == ("https://video.example.org/1", "Boat channel")
    assert {entity.identified_by for entity in proposed.entities} == {(("title", "date_start"), ("title",))}


def test_notes_of_evernote_have_tags_times_and_the_names_of_files() -> None:
    (winch, dues), _ = fields_of("notes.enex")
    assert winch == {
        "title": "Winch manual", "content": "Grease the winch with blue grease & care.\nNot red.",
        "tags": ["boat", "winch"], "attachments": ["winch.png"], "author": "Frode Kvist",
        "url": "https://winch.example.org", "created_at": "2024-03-01T08:00:00Z",
        "updated_at": "2024-03-02T08:00:00Z",
    }  # fmt: skip
    assert dues["content"] == "Dues are 312 kr a month. [x] paid [ ] told [encrypted]"
    assert read("notes.enex")[0].warnings == ("TEXT_NOT_READ: 1 encrypted part of a note.",)


def test_tasks_and_recognised_texts_in_a_note_of_evernote_are_not_lost() -> None:
    words = "<recoIndex><item><t>Slip 7</t></item></recoIndex>"
    inner = (
        "<title>Mast</title><created>20240301T080000Z</created><content><![CDATA[<en-note>Oil it</en-note>]]>"
        "</content><task><title>Order oil</title></task><resource>"
        f"<recognition><![CDATA[{words}]]></recognition></resource>"
    )
    document, proposed = read("a.enex", f"<en-export><note>{inner}</note></en-export>")
    assert types_and_fields(proposed) == [
        (
            "note",
            {
                "title": "Mast", "content": "Oil it", "tasks": ["Order oil"],
                "created_at": "2024-03-01T08:00:00Z",
            },
        )
    ]  # fmt: skip
    assert document.warnings == ("TEXT_NOT_READ: 1 recognised text of a picture, 6 characters.",)


def test_ofx_is_read_by_the_charset_that_its_head_names() -> None:
    head = "OFXHEADER:100\nENCODING:USASCII\nCHARSET:1252\n\n<OFX><STMTTRN><FITID>1<NAME>{}</STMTTRN></OFX>"
    document = parsed_here(head.format("Café").encode("cp1252"), None, "a.ofx", DocumentLimits())
    assert "NAME: Café" in document.text
    assert document.warnings == ()


def test_bookings_of_ofx_have_the_ids_of_the_bank_and_balances_are_none() -> None:
    bookings, proposed = fields_of("statement.ofx")
    assert bookings[0] == {
        "account": "987654", "currency": "EUR", "external_id": "F1", "date": "2025-11-03",
        "counterparty": "Harbour & Sons", "description": "Dues November", "transaction_type": "DEBIT",
        "amount": -312.0,
    }  # fmt: skip
    assert (bookings[1]["counterparty"], bookings[1]["amount"]) == ("Crane hire", 45.5)
    # Two equal bookings without an id are two.
    assert [booking.get("occurrence") for booking in bookings] == [None, None, None, 2]
    assert {entity.entity_type for entity in proposed.entities} == {"transaction"}
    assert "BALAMT: 1250.75" in read("statement.ofx")[0].text


def test_bookings_of_camt_have_the_other_side_and_the_parts_of_a_sum() -> None:
    (dues, ebbe, tove), _ = fields_of("camt.xml")
    assert dues == {
        "account": "DK5004000012345678", "currency": "DKK", "external_id": "E2E-1", "date": "2025-11-03",
        "description": "Dues November", "reference": "E2E-1", "status": "BOOK",
        "counterparty": "Havnekontoret Ærø", "counterparty_account": "DK01", "amount": -312.0,
    }  # fmt: skip
    assert [(each["counterparty"], each["amount"], each["external_id"]) for each in (ebbe, tove)] == [
        ("Ebbe", 10.0, "B7/1"), ("Tove", 20.0, "B7/2")
    ]  # fmt: skip
    assert "1250.75 DKK" in read("camt.xml")[0].text
    abroad = """<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><Ntry>
    <Amt Ccy="EUR">0.00</Amt><NtryDtls><TxDtls>
    <AmtDtls><TxAmt><Amt Ccy="USD">10.00</Amt></TxAmt></AmtDtls></TxDtls></NtryDtls></Ntry>
    </Document>"""
    assert types_and_fields(read("a.xml", abroad)[1]) == [("transaction", {"currency": "EUR", "amount": 0.0})]


@walk_over(
    "file_name, text, named",
    [
        ("a.xml", "<?xml version='1.0'?>\n<boats><boat>Tern</boat></boats>", "XML"),
        ("a.txt", "<!-- of 2026 -->\n<boats><boat>Tern</boat></boats>", "XML"),
        ("a.opml", "<opml version='2.0'><head><title>x</title></head></opml>", "XML"),
        ("a", "@book{tern,\n title = {Tern}\n}", "BibTeX"),
        ("a.txt", "TY  - JOUR\nTI  - Tern\nER  - \n", "RIS"),
        ("a.sta", "{1:F01X}{2:I940X}{4:\n:20:START\n:25:123\n", "MT940"),
        ("a.txt", "version: 1\n\ndn: cn=Tern\ncn: Tern\n", "LDIF"),
        ("a.txt", "0 HEAD\n1 CHAR UTF-8\n0 TRLR\n", "GEDCOM"),
        ("a.txt", "!Type:Bank\nD1/2/26\nT-5.00\n^\n", "QIF"),
        ("a.yaml", "tern: {length: 7}\n", "YAML"),
        ("a.vnt", "BEGIN:VNOTE\nVERSION:1.1\nBODY:Tern\nEND:VNOTE\n", "vNote"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nThe tern.\n", "SRT"),
    ],
)
def test_a_structure_that_nothing_reads_is_named(file_name: str, text: str, named: str) -> None:
    document, proposed = read(file_name, text)
    assert document.warnings == (
        f"STRUCTURE_NOT_READ: no interpreter knows the structure of this {named}: "
        "the file is one document of plain text.",
    )
    assert [entity.entity_type for entity in proposed.entities] == ["document"]


def test_plain_text_has_no_structure_that_is_not_read() -> None:
    for text in ("Dear Ada,\n<see below> a < b\n", "[12:30] hello\nname: Ada\n", "- a\n- b\n", "0 heads\n"):
        assert read("a.txt", text)[0].warnings == ()


def test_objects_within_a_record_of_json_are_told_to_stay_values() -> None:
    chat = {"guild": {"id": "1"}, "messages": [{"id": "2", "author": {"name": "Ada"}, "content": "Hi"}]}
    for value, count, named in (
        (chat, "1 record", "author"),
        ({"a": {"b": [{"c": 1}]}, "d": 3}, "1 record", "a"),
        ([{"name": "Ada", "n": [1, 2]}, {"name": "Bo", "n": [{"x": 1}]}], "2 records", "n"),
    ):
        _, proposed = read("a.json", json.dumps(value))
        assert (
            "STRUCTURE_NOT_READ: no interpreter knows the structure of this JSON: "
            f"of {count}, the objects in {named} stay values."
        ) in proposed.warnings
    document = read_lines(lines(read("a.json", json.dumps(chat))[0]), DocumentLimits())
    assert propose(document).warnings[0] == "LEFT_OUT: Members beside the list messages are left out: guild."
    assert read("people.json", '[{"name": "Ada", "tags": ["x"]}]')[1].warnings == ()
