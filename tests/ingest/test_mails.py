"""Mails as programs write them: encodings, mailboxes, attached messages, winmail.dat and damage."""

from __future__ import annotations

import base64
import random
import struct
from typing import Any

import pytest
from compressed_rtf import compress

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


def attribute(level: int, number: int, data: bytes) -> bytes:
    return struct.pack("<BII", level, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def properties(*rows: tuple[int, int, bytes | str]) -> bytes:
    """Properties of MAPI: number, type, value. A number of a program has a name before its value."""
    data = struct.pack("<I", len(rows))
    for number, kind, value in rows:
        raw = value.encode("utf-16-le") + b"\0\0" if isinstance(value, str) else value
        named = bytes(16) + struct.pack("<II", 1, 6) + "abc".encode("utf-16-le") + b"\0\0"
        data += struct.pack("<HH", kind, number) + named * (number >= 0x8000)
        data += (
            struct.pack("<II", 1, len(raw)) * (kind in (0xD, 0x1E, 0x1F, 0x102)) + raw + bytes(-len(raw) % 4)
        )
    return data


def winmail(*attributes: bytes, page: int = 1252) -> bytes:
    head = struct.pack("<IH", 0x223E9F78, 1) + attribute(1, 0x00069007, struct.pack("<II", page, 0))
    return head + b"".join(attributes)


def with_winmail(data: bytes, text: str = "") -> bytes:
    more = b"Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n"
    encoded = base64.encodebytes(data)
    if not text:
        return HEAD + more + encoded
    start = b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-8\n\n"
    return HEAD + start + text.encode() + b"\n--b\n" + more + encoded + b"\n--b--\n"


RTF = rb"{\rtf1\ansi\ansicpg1252 Bl\'e5b\'e6r: \b ripe\b0 .\par}"
SEVERAL = (0x24, 0x1003, struct.pack("<III", 2, 7, 7))
LOST = ("A winmail.dat of message 1 is damaged or too long: a part is left out.",)


def body(*rows: tuple[int, int, bytes | str]) -> bytes:
    return winmail(
        attribute(1, 0x00069003, properties((0x8001, 0x1F, "Ø"), (0x23, 0xB, b"\1\0"), SEVERAL, *rows))
    )


def test_the_text_of_a_winmail_dat_is_read() -> None:
    rich = compress(RTF)
    html = "<meta charset=koi8-r><p>Ягода".encode("koi8-r")
    damaged = rich[:-3] + b"???"
    for sent, beside, expected, told in (
        (winmail(attribute(1, 0x0002800C, "Blåbær\0".encode("cp1252"))), "", "Blåbær", ()),
        (winmail(attribute(1, 0x0002800C, "Ягода\0".encode("cp1251")), page=1251), "", "Ягода", ()),
        (body((0x1000, 0x1E, "Blåbær\0".encode("cp1252")), (0x1013, 0x102, html)), "", "Blåbær", ()),
        (body((0x1000, 0x1F, "Ягода"), (0x1009, 0x102, rich)), "", "Ягода", ()),
        (body((0x1000, 0x1F, " "), (0x1013, 0x102, html), (0x1009, 0x102, rich)), "", "Ягода", ()),
        (body((0x1013, 0x1F, "<p>Ягода")), "", "Ягода", ()),
        (body((0x1009, 0x102, rich)), "", "Blåbær: ripe.", ()),
        (body((0x1009, 0x102, compress(RTF, compressed=False))), "", "Blåbær: ripe.", ()),
        (body((0x1009, 0x102, rich)), "Blåbær: *ripe*.\n-- \nlist", "Blåbær: *ripe*.\n-- \nlist", ()),
        (body((0x1009, 0x102, rich)), "list", "list\n\nBlåbær: ripe.", ()),
        (body((0x1013, 0x102, b"<!-- none -->")), "list", "list", ()),
        (body((0x1000, 0x1F, ":-)")), "list", "list\n\n:-)", ()),
        (body((0x1009, 0x102, damaged)), "list", "list", LOST),
        (body((0x1009, 0x102, compress(RTF, compressed=False)[:-5])), "list", "list", LOST),
        (body((0x1009, 0x102, rich + bytes(1 << 20))), "list", "list", LOST),
        (body((0x1000, 0x1F, "Blåbær"), (0x1001, 0x99, b"")), "", "Blåbær", LOST),
    ):
        document = parse(with_winmail(sent, beside))
        assert (values(document)["body"], document.warnings) == (expected, told)


def test_the_files_of_a_winmail_dat_are_named_and_its_messages_read() -> None:
    new, kind = attribute(2, 0x00069002, bytes(14)), bytes(16)
    mail = HEAD.replace(b"Fitting", b"Mail") + b"\nthe mail\n"
    sender = (
        (0x0C1A, 0x1F, "Bø, Maj"),
        (0x0C1F, 0x1E, b"/O=X/CN=MAJ\0"),
        (0x5D01, 0x1E, b"maj@example.org\0"),
    )
    sent_at = struct.pack("<Q", (1772438400 + 11644473600) * 10**7)
    own = ((0x0037, 0x1F, "Grüße"), (0x0039, 0x40, sent_at), (0x1035, 0x1E, b"<9@x>\0"), *sender)
    inner = winmail(attribute(1, 0x0002800C, b"inner\0"), attribute(1, 0x00069003, properties(*own)))
    files = [
        new + attribute(2, 0x00018010, b"PLAN~1.PDF\0") + attribute(2, 0x0006800F, b"%PDF")
        + attribute(2, 0x00069005, properties((0x3707, 0x1F, "Blå plan.pdf"))),
        new + attribute(2, 0x00018010, b"a.eml\0") + attribute(2, 0x0006800F, mail),
        new + attribute(2, 0x00069005, properties((0x3701, 0xD, kind + inner), (0x3001, 0x1F, "Grüße"))),
    ]  # fmt: skip
    document = parse(with_winmail(winmail(attribute(1, 0x0002800C, b"outer\0"), *files)))
    names = [file["name"] for file in values(document)["attachments"]]
    assert names == ["winmail.dat", "Blå plan.pdf", "a.eml", "Grüße"]
    assert [values(document, place)["body"] for place in range(3)] == ["outer", "the mail", "inner"]
    read = values(document, 2)
    assert (read["subject"], read["message_id"]) == ("Grüße", "<9@x>")
    assert read["from"] == [{"name": "Bø, Maj", "address": "maj@example.org"}]
    assert (read["sent_at"], document.warnings) == ("2026-03-02T08:00:00+00:00", ())


def test_a_winmail_dat_that_is_damaged_or_deep_is_read_without_a_wrong_value() -> None:
    level = winmail(attribute(1, 0x0002800C, b"inner\0"))
    for place in range(30):
        level = winmail(attribute(2, 0x00018010, b"winmail.dat\0"), attribute(2, 0x0006800F, level))
        assert len(parse(with_winmail(level)).parts) == min(place + 2, 20)
    many = parse(with_winmail(winmail(*[attribute(2, 0x00069002, b"")] * 5_001)))
    assert (len(values(many)["attachments"]), many.warnings[0]) == (5_001, *LOST)
    rows = (0x1000, 0x1F, "Blåbær"), (0x1009, 0x102, compress(RTF)), (0x0039, 0x40, b"\xff" * 8)
    inner = winmail(attribute(1, 0x00069003, properties(*rows[1:])))
    file = attribute(2, 0x00069005, properties((0x3707, 0x1F, "plan.pdf"), (0x3701, 0xD, bytes(16) + inner)))
    whole = winmail(attribute(1, 0x00069003, properties(*rows)), file)
    chance = random.Random(7)
    for place in range(6, len(whole)):
        document = parse(with_winmail(whole[:place], "list"))
        assert values(document)["body"] in ("list", "list\n\nBlåbær")
        assert document.warnings == LOST * (place not in (6, 25, len(whole) - len(file)))
    for _ in range(500):
        altered = bytearray(whole)
        for _ in range(chance.choice((1, 1, 5))):
            altered[chance.randrange(len(altered))] = chance.randrange(256)
        document = parse(with_winmail(bytes(altered), "list"))
        assert values(document)["body"].startswith("list")
    for _ in range(300):
        # The checksums are right here: the properties themselves are not.
        raw = bytearray(properties(*rows))
        for _ in range(3):
            raw[chance.randrange(len(raw))] = chance.choice((0, 255, chance.randrange(256)))
        document = parse(with_winmail(winmail(attribute(1, 0x00069003, bytes(raw)), file), "list"))
        assert values(document)["body"].startswith("list")


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
