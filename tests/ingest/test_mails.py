"""Mails as programs write them: encodings, mailboxes, attached messages and damage."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from typing import Any

import pytest

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.proposals import proposal_of, relationships, types_and_fields
from tests.support.walks import walk_over

HEAD = b"From: Ove <ove@example.org>\nTo: maj@example.org\nSubject: Fitting\nMessage-ID: <1@x>\n"
BJORN = "Bjørn Bø"
PLAIN = b"Content-Type: text/plain; charset="


def parse(data: bytes, name: str = "a.eml") -> ParsedDocument:
    return parsed_here(data, None, name, DocumentLimits())


def values(document: ParsedDocument, index: int = 0) -> dict[str, Any]:
    return {field.name: field.value for field in document.parts[index].fields}


def with_subject(subject: bytes, more: bytes = b"", body: bytes = b"text") -> ParsedDocument:
    return parse(
        b"From: a@example.org\nTo: b@example.org\nSubject: " + subject + b"\n" + more + b"\n" + body + b"\n"
    )


@walk_over(
    "subject, more, expected, is_told",
    [
        (BJORN.encode(), b"", BJORN, False),
        (BJORN.encode("latin-1"), PLAIN + b"iso-8859-1\n", BJORN, True),
        ("Grüße vom Fluß, Jörgen".encode("latin-1"), b"", "Grüße vom Fluß, Jörgen", True),
        ("会議の予定".encode("iso2022_jp"), b"", "会議の予定", False),
        ("会議の予定".encode("shift_jis"), PLAIN + b"Shift_JIS\n", "会議の予定", True),
        (b"=?utf-8?Q?Bj=C3=B8rn_B=C3?= =?utf-8?Q?=B8?=", b"", BJORN, False),
        (b"=?utf-8?B?QmrDuHJuIELDuA?= there", b"", f"{BJORN} there", False),
        (b"=?us-ascii?Q?" + BJORN.replace(" ", "_").encode() + b"?=", b"", BJORN, False),
        (b"=?utf-8?Q?Bj\xf8rn_B\xf8?=", PLAIN + b"iso-8859-1\n", BJORN, True),
        (b"=?iso-8859-1?Q?Bj=C3=B8rn_B=C3=B8?=", b"", BJORN, True),
        (b"=?iso-8859-1?Q?=93Bj=F8rn=94?=", b"", "“Bjørn”", False),
        (b"=?gb2312?B?" + base64.b64encode("镕基".encode("gbk")) + b"?=", b"", "镕基", False),
    ],
)
def test_a_header_is_read_by_the_encoding_that_it_has(
    subject: bytes, more: bytes, expected: str, *, is_told: bool
) -> None:
    document = with_subject(subject, more)
    assert values(document)["subject"] == expected
    assert ["is read as" in warning for warning in document.warnings] == [True] * is_told


def test_people_and_files_have_names_in_raw_bytes() -> None:
    document = parse(
        "From: \"Bø, Bjørn\" <b@example.org>\nTo: Žofie Šedá <z@example.org>, 'Piet' <p@example.org>,\n"
        ' "q@example.org" <q@example.org>\nSubject: x\n'
        'Content-Disposition: attachment; filename="blå.pdf"\n\nx\n'.encode()
    )
    assert values(document)["attachments"][0]["name"] == "blå.pdf"
    people = [fields for kind, fields in types_and_fields(propose(document)) if kind == "person"]
    assert people == [
        {"name": "Bø, Bjørn", "email": "b@example.org"},
        {"name": "Žofie Šedá", "email": "z@example.org"},
        {"name": "Piet", "email": "p@example.org"},
        {"email": "q@example.org"},
    ]


@pytest.mark.parametrize(
    ("charset", "body", "expected", "is_told"),
    [
        (b"iso-8859-1", "Øl – ok".encode("cp1252"), "Øl – ok", False),
        (b"iso-8859-1", "Øl – ok".encode(), "Øl – ok", True),
        (b"utf-8", "Blåbær på brød, søt".encode("latin-1"), "Blåbær på brød, søt", True),
        (b"never", "Øl".encode(), "Øl", False),
        (b"us-ascii", "会議".encode("iso2022_jp"), "会議", False),
    ],
)
def test_a_body_is_read_by_the_encoding_that_it_has(
    charset: bytes, body: bytes, expected: str, *, is_told: bool
) -> None:
    document = with_subject(b"x", PLAIN + charset + b"\n", body)
    assert values(document)["body"] == expected
    assert bool(document.warnings) == is_told


@pytest.mark.parametrize(
    "line",
    [
        "From ove@example.org Mon Mar  2 08:00:00 2026",
        "From 1234@xxx Mon Mar 02 08:00:00 +0000 2026",
        "From - Mon Mar 02 08:00:00 2026",
        "From o@example.org Mon, 2 Mar 2026 08:00:00 +0100",
        'From "Ove S" <o@example.org> Mon Mar  2 08:00 MET 2026',
    ],
)
def test_a_mailbox_is_parted_where_a_line_has_a_date_and_a_header_follows(line: str) -> None:
    body = "From 10:00 on March 2, 2026 we are closed.\nNote: all.\n\nFrom Mon Mar 2 10:00 2026\nno header"
    letter = f"{line}\n{HEAD.decode()}\n{body}\n\n"
    document = parse((letter * 2).encode(), "a.mbox")
    assert [values(document, index)["body"] for index in range(2)] == [body] * 2
    assert (len(document.parts), document.warnings) == (2, ())
    damaged = parse(letter.encode() + letter.replace("From ", "Fr?m ", 1).encode(), "a.mbox")
    assert "Line 13 may be a damaged line between two messages" in damaged.warnings[0]


def attached(inner: bytes, more: bytes) -> bytes:
    return (
        HEAD.replace(b"<1@x>", b"<2@x>")
        + b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nsee below\n"
        + b"--b\n" + more + b"\n" + inner + b"\n--b--\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("encoded", "more"),
    [
        (False, b"Content-Type: message/rfc822\n"),
        (True, b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n"),
        (True, b"Content-Type: application/octet-stream; name=a.eml\nContent-Transfer-Encoding: base64\n"),
    ],
)
def test_a_message_that_is_attached_is_read(more: bytes, *, encoded: bool) -> None:
    inner = HEAD.replace(b"Ove", "Bjørn".encode()) + b"\nthe inner text\n"
    document = parse(attached(base64.encodebytes(inner) if encoded else inner, more))
    assert [(part.level, values(document, i)["body"]) for i, part in enumerate(document.parts)] == [
        (None, "see below"),
        (2, "the inner text"),
    ]
    proposed = propose(document)
    assert ("REFERENCES", "<2@x>", "<1@x>", {"roles": ["attachment"]}) in relationships(proposed)
    assert ("person", {"name": "Bjørn", "email": "ove@example.org"}) in types_and_fields(proposed)
    assert document.warnings == ()


def test_messages_in_messages_are_read_to_a_level() -> None:
    data = HEAD + b"\nthe inner text\n"
    for level in range(30):
        data = (
            HEAD
            + f"Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n".encode()
            + (b"Content-Type: message/rfc822\n\n" + data + f"\n--b{level}--\n".encode())
        )
    document = parse(data)
    assert len(document.parts) == 20
    assert "more than 20 levels" in document.warnings[-1]


def test_a_winmail_dat_is_named_and_a_warning_says_that_it_is_not_read() -> None:
    more = b"Content-Type: application/ms-tnef; name=winmail.dat\n\nx\n"
    start = b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nhello\n--b\n"
    document = parse(HEAD + start + more + b"--b--\n")
    read = values(document)
    assert (read["body"], [file["name"] for file in read["attachments"]]) == ("hello", ["winmail.dat"])
    (warning,) = document.warnings
    assert warning.startswith("The winmail.dat of message 1 is not read")
    assert "body" not in values(parse(HEAD + more))


def test_all_texts_of_a_message_are_its_body() -> None:
    part = "--b\nContent-Type: {}\n\n{}\n".format
    alternative = part("text/plain", "plain") + part("text/html", "<p>html</p>") + "--b--\n"
    body = (
        "--o\nContent-Type: multipart/alternative; boundary=b\n\n" + alternative
        + "--o\nContent-Type: text/plain\n\nafter the file\n--o--\n"
    )  # fmt: skip
    document = parse(HEAD + b"Content-Type: multipart/mixed; boundary=o\n\n" + body.encode())
    assert values(document)["body"] == "plain\n\nafter the file"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (HEAD.replace(b"To: maj", b"To maj") + b"\ntext\n", "Line 2 of message 1 is no header"),
        (HEAD + b"Date: Mon, 2 Mar 2026 08:00:00 MEZ\n\ntext\n", "has no offset that is known"),
        (HEAD, "the file ends before its text"),
        (HEAD + b"\ntext", "the file ends within its last line"),
        (HEAD + b"\nte\0xt\n", "NUL characters are left out: they are in line 6 of message 1"),
        (attached(b"x", b"")[:-6], "A part of message 1 is damaged"),
        (HEAD + b"Content-Transfer-Encoding: base64\n\nYWJj\nZ\n", "A part of message 1 is damaged"),
    ],
)
def test_damage_is_told_and_the_rest_is_read(data: bytes, told: str) -> None:
    document = parse(data)
    assert values(document)["subject"] == "Fitting"
    assert any(told in warning for warning in document.warnings), document.warnings


def test_a_date_without_a_zone_of_the_sender_is_in_utc() -> None:
    mail = b"From: ada@a.example\nTo: bob@b.example\nDate: Tue, 03 Mar 2026 10:00:00 -0000\n\nHi\n"
    document = parsed_here(mail, None, "a.eml", DocumentLimits())
    fields = {field.name: field.value for field in document.parts[0].fields}
    assert fields["sent_at"] == "2026-03-03T10:00:00+00:00"
    assert not document.warnings


def test_the_lines_of_a_html_text_stay_lines() -> None:
    mail = (
        b"From: ada@a.example\nTo: bob@b.example\nSubject: x\nContent-Type: text/html\n\n"
        b"<h1>My<br>home</h1><p>Main St 1<br>\n12345\n Town<br/></p><table><tr><td>a<br>b<td>c</table>\n"
    )
    document = parsed_here(mail, None, "a.eml", DocumentLimits())
    fields = {field.name: field.value for field in document.parts[0].fields}
    assert fields["body"] == "My home\nMain St 1\n12345 Town\na b\tc"


def test_a_mail_in_utf_16_is_read() -> None:
    proposed = proposal_of("a.eml", HEAD.decode() + "\ntext\n")
    document = parse((HEAD + b"\ntext\n").decode().encode("utf-16"))
    assert types_and_fields(propose(document)) == types_and_fields(proposed)


def alternatives(*texts: tuple[str, str]) -> bytes:
    """Return a mail with texts of some types, each for the same message."""
    parts = "".join(f"--b\nContent-Type: {kind}; charset=utf-8\n\n{text}\n" for kind, text in texts)
    head = HEAD.decode() + 'MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="b"\n\n'
    return f"{head}{parts}--b--\n".encode()


HTML = "<p>Berth <b>14B</b> is yours from 12 June.</p><p>Price: 312 kr</p>"
BERTH = "Berth 14B is yours from 12 June.\nPrice: 312 kr"


@pytest.mark.parametrize(
    ("text", "html", "body"),
    [
        ("Your mail program cannot show HTML. Open this message in a browser.", HTML, BERTH),
        ("Ihr Programm zeigt kein HTML an.", HTML, BERTH),
        ("This is a multi-part message in MIME format.", HTML, BERTH),
        ("View in browser", f"<p>View in browser</p>{HTML}", f"View in browser\n{BERTH}"),
        ("", HTML, BERTH),
        (BERTH, HTML, BERTH),
        ("Berth 14B is yours from 12 June.", HTML, "Berth 14B is yours from 12 June."),
        ("Yes.", "<p>Yes.</p>", "Yes."),
    ],
)
def test_a_plain_text_that_only_says_that_there_is_html_is_no_body(text: str, html: str, body: str) -> None:
    document = parse(alternatives(("text/plain", text), ("text/html", html)))
    assert values(document)["body"] == body


def calendar(*lines: str, method: str = "REQUEST") -> str:
    """Return a calendar with one event."""
    event = ("BEGIN:VEVENT", "UID:fit-1@x", "SUMMARY:Fitting", *lines, "END:VEVENT")
    return "\n".join(("BEGIN:VCALENDAR", f"METHOD:{method}", *event, "END:VCALENDAR"))


def test_an_invitation_makes_its_event_once_and_the_message_references_it() -> None:
    invitation = calendar("DTSTAMP:20260301T080000Z", "DTSTART:20260303T090000Z", "X-WR-CALNAME:Work")
    parts = (
        "Content-Type: text/plain\n\nJoin us.\n"
        f"--b\nContent-Type: text/calendar; method=REQUEST\n\n{invitation}\n"
        f'--b\nContent-Type: application/ics; name="invite.ics"\n\n{invitation}\n'
    )
    head = HEAD.decode() + 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n'
    document = parse(f"{head}{parts}--b--\n".encode())
    assert [part.kind for part in document.parts] == ["message", "event"]
    assert (document.title, document.warnings) == ("Fitting", ())
    assert values(document)["attachments"] == [{"name": "invite.ics", "media_type": "application/ics"}]
    proposed = propose(document)
    assert [entity.entity_type for entity in proposed.entities] == ["message", "person", "person", "event"]
    assert ("REFERENCES", 0, 3) in [
        (each.relationship_type, each.source, each.target) for each in proposed.relationships
    ]


def test_a_calendar_that_cannot_be_read_is_told_and_costs_nothing_else() -> None:
    document = parse(alternatives(("text/plain", "Join us."), ("text/calendar", "nothing")))
    assert values(document)["body"] == "Join us."
    assert "LEFT_OUT: The calendar of message 1 cannot be read." in document.warnings


def test_an_html_part_beside_plain_ones_is_read_where_it_says_something_else() -> None:
    parts = [
        ("plain", "The crane is booked for nine."), ("html", "<p>The crane is <b>booked</b> for nine.</p>"),
        ("html", "<p>Unsubscribe from the harbour list</p>"),
    ]  # fmt: skip
    message = EmailMessage()
    message["From"] = "ada@x.example"
    message.make_mixed()
    for kind, text in parts:
        part = EmailMessage()
        part.set_content(text, subtype=kind)
        message.attach(part)
    document = parsed_here(message.as_bytes(), None, "a.eml", DocumentLimits())
    assert document.text.count("nine") == 1
    assert "Unsubscribe from the harbour list" in document.text
    assert document.warnings == ()
