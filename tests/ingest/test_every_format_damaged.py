"""Every format with damage: what is whole comes in, what is not is told, and no value is wrong.

Each sample is a head, records and a tail. It is cut at each tenth, has a damaged byte at each tenth, and
comes in other encodings where it is text. A record that the damage does not touch must come in. Where a value
is missing or another one than in the undamaged file, a warning or a failure must say so.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import docx
import openpyxl
import pptx
import pytest
from PIL import Image

from graphmem.ingest import propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.format_table import FORMATS
from tests.ingest.goldens import FOLDER

NAMES: Final = (
    "Åsa Bjørk",
    "Zoë Müller",
    "Jürgen Weiß",
    "Chloé Lefèvre",
    "Søren Dahl",
    "Íris Peña",
    "René Gómez",
)
"""One name in each record."""
FREE_TEXT: Final = {"text", "markdown", "html", "rtf"}
"""Formats whose values are texts of any form: where they are cut, nobody can see it."""
ENCODINGS: Final = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
PLACE: Final = re.compile(
    r"\b(line|row|record|message|page|slide|sheet|member|cell|byte|character)s? [\w\"'./]"
)
SHOWN: Final = 20
EXCEPTION: Final = re.compile(r"\b[A-Z]\w*(Error|Exception)\b")


@dataclass(frozen=True, slots=True)
class Sample:
    """A file: ``records`` are its pieces that each hold one of :data:`NAMES`; empty where it is no text."""

    file_name: str
    head: str = ""
    records: tuple[str, ...] = ()
    tail: str = ""
    data: bytes = b""

    @property
    def pieces(self) -> list[str]:
        return [self.head, *self.records, self.tail]

    def bytes_in(self, encoding: str = "utf-8") -> bytes:
        return self.data or "".join(self.pieces).encode(encoding)

    def places(self) -> list[tuple[str, int, int]]:
        """Return the name of each record with its first byte and the end of its bytes."""
        ends = list(accumulate(len(piece.encode()) for piece in self.pieces))
        return [(NAMES[i], ends[i], ends[i + 1]) for i in range(len(self.records))]


def record(template: str) -> tuple[str, ...]:
    return tuple(template.replace("¤", name).replace("#", str(i)) for i, name in enumerate(NAMES, 1))


def joined(records: tuple[str, ...]) -> tuple[str, ...]:
    return (*(f"{text}, " for text in records[:-1]), records[-1])


def fixture(name: str) -> Sample:
    return Sample(name, data=(FOLDER / "files" / name).read_bytes())


def picture() -> Sample:
    """Return a picture that says what the fixture says. Unlike a JPEG, its pieces have checksums."""
    stream = io.BytesIO()
    with Image.open(FOLDER / "files" / "photo.jpg") as photo:
        Image.new("RGB", (16, 9)).save(stream, "PNG", exif=photo.getexif())
    return Sample("a.png", data=stream.getvalue())


CHATGPT = """{"title": "Chat of ¤", "create_time": 1767225600.0, "update_time": null, "id": "c-#",
 "current_node": "n", "mapping": {"n": {"id": "n", "parent": null, "children": [], "message":
 {"id": "m-#", "author": {"role": "user"}, "create_time": 1767225610.0,
 "content": {"content_type": "text", "parts": ["Question # about paint"]}}}}}"""
CLAUDE = """{"uuid": "c-#", "name": "Chat of ¤", "created_at": "2026-01-0#T00:00:00Z",
 "chat_messages": [{"uuid": "m-#", "sender": "human", "text": "Question # about paint",
 "created_at": "2026-01-0#T00:00:01Z"}]}"""
WEBUI = """{"id": "c-#", "title": "Chat of ¤", "created_at": 1767225600,
 "chat": {"history": {"currentId": "m-#",
 "messages": {"m-#": {"id": "m-#", "parentId": null, "childrenIds": [], "role": "user",
 "content": "Question # about paint", "timestamp": 1767225610}}}}}"""
EVENT = """BEGIN:VEVENT
UID:e-#
SUMMARY:Talk of ¤
DTSTART:2026010#T100000Z
DTEND:2026010#T110000Z
END:VEVENT
"""
CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:¤\nN:;¤;;;\nEMAIL:person-#@post.example\nEND:VCARD\n"
MAIL = """From: ¤ <p-#@post.example>
To: a@post.example
Date: Mon, 0# Jun 2026 10:00:00 +0000
Subject: Letter of ¤
Message-ID: <m-#@post.example>
Content-Type: text/plain; charset="utf-8"

The text of ¤.

"""
PERSON = '{"name": "¤", "email": "person-#@post.example"'
ENTITY = '{"type": "entity", "name": "¤", "entityType": "person", "observations": ["likes #"]}\n'
EXPORTED = """{"entity_type": "person", "entity_id": "ent_aaaaaaaaaaaaaaaaaaaaaaa#", "canonical_name": "¤",\
 "identity": {"basis": "name", "fields": {"name": "¤"}, "observed_at": "2026-01-01T00:00:00Z"},\
 "observations": [{"observed_at": "2026-01-01T00:00:00Z", "kind": "value", "fields": {"name": "¤"}}],\
 "relationships": []}
"""
MEM0 = '{"id": "m#", "memory": "¤ likes tea #", "user_id": "ada", "created_at": "2026-01-05T08:00:00Z"}'
NODE = '{"uuid": "n#", "name": "¤", "labels": ["Entity", "Person"], "summary": "Lives in #."}'
TELEGRAM = """{"id": #, "type": "message", "date_unixtime": "176232600#", "from": "¤", "from_id": "user#",
 "text": "Question # about paint"}"""
MESSENGER = '{"sender_name": "¤", "timestamp_ms": 173650320#000, "content": "Question # about paint"}'
CHAT = '{"name": "Boats", "type": "private_group", "id": 9, "messages": ['
TASK = '{"kind": "tasks#task", "id": "t#", "title": "Call ¤", "status": "needsAction"}'
ACTIVITY = '{"header": "Gemini", "title": "Asked ¤", "time": "2026-01-0#T00:00:00Z", "products": ["Gemini"]}'
NOTE = """<note><title>On ¤</title><created>2024030#T080000Z</created><content><![CDATA[<en-note>
Text # about paint.</en-note>]]></content></note>
"""
BOOKED = "<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>2025110#<TRNAMT>-1#.00<FITID>F#<NAME>¤</STMTTRN>\n"
ENTRY = """<Ntry><Amt Ccy="EUR">1#.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2025-11-0#</Dt></BookgDt>
<NtryDtls><TxDtls><Refs><TxId>T#</TxId></Refs><RltdPties><Cdtr><Nm>¤</Nm></Cdtr></RltdPties></TxDtls></NtryDtls>
</Ntry>
"""
CAMT = '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>\n'
PAGE = "<!DOCTYPE html><html><body>"

SAMPLES: Final = {
    "text": Sample("a.txt", "A list\n\n", record("¤ lives in street #.\n\n")),
    "csv": Sample("people.csv", "name,email,city\n", record("¤,person-#@post.example,Town #\n")),
    "json": Sample("people.json", "[", joined(record(PERSON + ', "tags": ["t#"]}')), "]"),
    "jsonl": Sample("people.jsonl", "", record(PERSON + "}\n")),
    "markdown": Sample("a.md", "# People\n\n", record("- ¤ lives in street #.\n")),
    "html": Sample("a.html", PAGE, record("<p>¤ lives in #.</p>\n"), "</body></html>"),
    "eml": Sample("a.eml", "", record(MAIL)[:1]),
    "mbox": Sample("a.mbox", "", record("From a@post.example Mon Jun  # 10:00:00 2026\n" + MAIL)),
    "ics": Sample("a.ics", "BEGIN:VCALENDAR\nVERSION:2.0\n", record(EVENT), "END:VCALENDAR\n"),
    "vcf": Sample("a.vcf", "", record(CARD)),
    "memory": Sample("memory.jsonl", "", record(ENTITY)),
    "graphmem": Sample("exported.jsonl", "", record(EXPORTED)),
    "mem0": Sample("mem0.json", '{"results": [', joined(record(MEM0)), "]}"),
    "zep": Sample("zep.json", '{"nodes": [', joined(record(NODE)), '], "edges": []}'),
    "chatgpt": Sample("conversations.json", "[", joined(record(CHATGPT)), "]"),
    "claude": Sample("conversations.json", "[", joined(record(CLAUDE)), "]"),
    "open_webui": Sample("chats.json", "[", joined(record(WEBUI)), "]"),
    "whatsapp": Sample("chat.txt", "", record("2#/06/2026, 10:0# - ¤: Question # about paint\n")),
    "telegram": Sample("result.json", CHAT, joined(record(TELEGRAM)), "]}"),
    "slack": fixture("slack.zip"),
    "messenger": Sample(
        "message_1.json", '{"title": "Boats", "messages": [', joined(record(MESSENGER)), "]}"
    ),
    "keep": fixture("keep.json"),
    "google_tasks": Sample(
        "Tasks.json",
        '{"kind": "tasks#taskLists", "items": [{"title": "Boat", "items": [',
        joined(record(TASK)),
        "]}]}",
    ),
    "google_activity": Sample("MyActivity.json", "[", joined(record(ACTIVITY)), "]"),
    "enex": Sample("a.enex", "<en-export>\n", record(NOTE), "</en-export>"),
    "ofx": Sample("a.ofx", "<OFX><CURDEF>EUR\n", record(BOOKED), "</OFX>"),
    "camt": Sample("a.xml", CAMT, record(ENTRY), "</Stmt></BkToCstmrStmt></Document>"),
    "pdf": fixture("report.pdf"),
    "docx": fixture("report.docx"),
    "xlsx": fixture("staff.xlsx"),
    "pptx": fixture("kickoff.pptx"),
    "odt": fixture("report.odt"),
    "ods": fixture("crew.ods"),
    "rtf": fixture("report.rtf"),
    "image": picture(),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says: the values of its entities, the text of its document, and the warnings of both."""

    values: frozenset[str]
    text: str
    warnings: tuple[str, ...]

    def said(self, sample: Sample) -> frozenset[str]:
        """Return the values, with the lines of the text of a file that is no text itself."""
        return self.values | set(self.text.split("\n") if sample.data else ())


def read(data: bytes, file_name: str) -> Reading:
    """Return the reading of a file; of one that cannot be read only the reason."""
    try:
        document = parsed_here(data, None, file_name, DocumentLimits())
    except ParseFailed as failure:
        return Reading(frozenset(), "", (failure.reason,))
    proposal = propose(document, file_name=file_name)
    values = frozenset(leaf for entity in proposal.entities for leaf in leaves(dict(entity.fields)))
    return Reading(values, document.text, (*document.warnings, *proposal.warnings))


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from leaves(member)
    elif value is not None:
        yield json.dumps(value, ensure_ascii=False)


def damaged(data: bytes) -> Iterator[tuple[str, bytes, int, int]]:
    """Yield what was done, the bytes, and the first byte and the end of those that are no longer whole."""
    for tenth in range(1, 10):
        place = len(data) * tenth // 10
        yield f"cut at {tenth}/10", data[:place], place, len(data)
        for byte in (b"\xff", b"\0"):
            if data[place : place + 1] != byte:
                yield f"{byte!r} at {tenth}/10", data[:place] + byte + data[place + 1 :], place, place + 1


def check(format: str, sample: Sample) -> Iterator[str]:
    """Yield what is wrong with the readings of a sample that is damaged."""
    whole = read(sample.bytes_in(), sample.file_name)
    assert not [name for name in NAMES[: len(sample.records)] if name not in whole.text]
    for done, data, start, stop in damaged(sample.bytes_in()):
        reading = read(data, sample.file_name)
        told = [warning for warning in reading.warnings if warning not in whole.warnings]
        if any(EXCEPTION.search(warning) for warning in told):
            yield f"{done}: an unexpected error: {told}"
        differ = set() if format in FREE_TEXT else reading.said(sample) ^ whole.said(sample)
        if differ and not told:
            yield f"{done}: nothing says that {sorted(differ)} differ"
        if differ and sample.records and not any(PLACE.search(warning) for warning in told):
            yield f"{done}: no warning names the place: {told}"
        for name, first, end in sample.places():
            if (end <= start or first >= stop) and name not in reading.text:
                yield f"{done}: {name} is whole and did not come in: {told}"
    for encoding in ENCODINGS if sample.records else ():
        reading = read(sample.bytes_in(encoding), sample.file_name)
        missing = [name for name in NAMES[: len(sample.records)] if name not in reading.text]
        if missing or (format not in FREE_TEXT and reading.values != whole.values):
            yield f"{encoding}: {missing or sorted(reading.values ^ whole.values)} differ: {reading.warnings}"


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == {row.name for row in FORMATS}


@pytest.mark.parametrize("format", SAMPLES)
def test_what_is_whole_comes_in_and_what_is_not_is_told(format: str) -> None:
    problems = list(check(format, SAMPLES[format]))
    assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems[:SHOWN])


def test_a_damaged_member_of_an_office_file_costs_itself_alone() -> None:
    word, book, slides = docx.Document(), openpyxl.Workbook(), pptx.Presentation()
    word.add_paragraph(NAMES[0])
    picture = io.BytesIO()
    Image.effect_noise((200, 200), 50).save(picture, "PNG")
    word.add_picture(picture)
    for name in NAMES[:3]:
        book.create_sheet(name).append([name] * 40)
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = name  # pyright: ignore[reportOptionalMemberAccess]
    cases: Sequence[tuple[str, Any, str, Sequence[str]]] = (
        ("a.docx", word, "word/media/image1.png", NAMES[:1]),
        ("a.docx", word, "word/styles.xml", NAMES[:1]),
        ("a.docx", word, "word/document.xml", ()),
        ("a.xlsx", book, "xl/worksheets/sheet3.xml", (NAMES[0], NAMES[2])),
        # Dates would become numbers.
        ("a.xlsx", book, "xl/styles.xml", ()),
        ("a.pptx", slides, "ppt/slides/slide2.xml", (NAMES[0], NAMES[2])),
        # What is no content, and which member is the main one, is not needed, even where its root is damaged.
        *((file, office, name, left) for file, office, left in (
            ("a.docx", word, NAMES[:1]), ("a.xlsx", book, NAMES[:3]), ("a.pptx", slides, NAMES[:3])
        ) for name in ("docProps/core.xml", "docProps/app.xml", "_rels/.rels")),
        ("a.docx", word, "word/_rels/document.xml.rels", NAMES[:1]),
        ("a.pptx", slides, "ppt/slides/_rels/slide2.xml.rels", NAMES[:3]),
        ("a.xlsx", book, "xl/_rels/workbook.xml.rels", ()),
    )  # fmt: skip
    for file_name, office, damaged, left in cases:
        stream = io.BytesIO()
        office.save(stream)
        data = bytearray(stream.getvalue())
        member = zipfile.ZipFile(stream).getinfo(damaged)
        half = (
            0 if damaged.endswith(".rels") or damaged.startswith("docProps/") else member.compress_size // 2
        )
        place = member.header_offset + 30 + len(damaged) + half
        data[place : place + 4] = bytes(each ^ 0xA5 for each in data[place : place + 4])
        if not left:
            with pytest.raises(ParseFailed, match="A member of the archive is damaged"):
                parsed_here(bytes(data), None, file_name, DocumentLimits())
            continue
        document = parsed_here(bytes(data), None, file_name, DocumentLimits())
        least = 40 if file_name == "a.xlsx" else 1
        assert {name for name in NAMES if document.text.count(name) >= least} == {*left}, damaged
        assert document.warnings == (f"LEFT_OUT: The member {damaged} is damaged and left out.",)
