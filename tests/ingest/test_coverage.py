"""Nothing of the text of a fixture is left out without a word: it is read, or a warning counts it."""

from __future__ import annotations

import contextlib
import email
import email.policy
import html
import io
import json
import mailbox
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage, Message
from pathlib import Path

import pypdfium2
import pytest
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from PIL import ExifTags, Image
from striprtf.striprtf import rtf_to_text

from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.format_table import FORMATS
from graphmem.text import words
from tests.ingest.goldens import FILES
from tests.support.walks import walk_over

WORD = re.compile(r"\w+")
UNSEEN = ("script", "style", "head", "title")
MASTERS = re.compile(r"ppt/(?:slide|notes|handout)(?:Masters|Layouts)/|docProps/|META-INF/")
TECHNICAL = re.compile(
    r"(?:BEGIN|END|VERSION|PRODID|CALSCALE|METHOD|UID|DTSTAMP|SEQUENCE|TZ\w+|X-\w[\w-]*|REV|DTSTART|DTEND|RRULE"
    r"|EXDATE|RDATE|DURATION|TRIGGER|STATUS|TRANSP|CLASS|PHOTO|BDAY|N|TEL|RECURRENCE-ID|ACTION|CREATED|COMPLETED|DUE|LAST-MODIFIED)[;:]"
)
"""Properties that a reader turns into something else, such as a time in another form."""


def of_office(data: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".xml") and not MASTERS.match(name):
                root = etree.fromstring(archive.read(name))
                # The number of a slide is no text of it.
                texts_of = (each for each in root.iter("{*}t") if not each.getparent().tag.endswith("}fld"))
                yield from (element.text or "" for element in texts_of)
                yield from (
                    "".join(element.itertext()) for element in root.iter("{*}p") if name == "content.xml"
                )


def of_pdf(data: bytes) -> Iterator[str]:
    document = pypdfium2.PdfDocument(data)
    yield from (page.get_textpage().get_text_range() for page in document)


def of_html(data: bytes) -> Iterator[str]:
    root = etree.fromstring(data.decode().encode(), etree.HTMLParser(encoding="utf-8", remove_comments=True))
    for element in root.iter():
        yield (element.text or "") if element.tag not in UNSEEN else ""
        yield element.tail or ""
        yield from (element.get(name, "") for name in ("href", "alt") if element.tag != "link")


def of_mail(data: bytes) -> Iterator[str]:
    yield from of_message(email.message_from_bytes(data, policy=email.policy.default))


def of_message(message: Message) -> Iterator[str]:
    for name in ("subject", "from", "to", "cc"):
        yield str(message.get(name, ""))
    for part in message.walk():
        yield part.get_filename() or ""
        if isinstance(part, EmailMessage) and part.get_content_type() == "text/plain":
            yield part.get_content()
        elif isinstance(part, EmailMessage) and part.get_content_type() == "text/html":
            yield from of_html(part.get_content().encode())


def of_mailbox(data: bytes) -> Iterator[str]:
    """Yield the texts of each message, parted as the library of Python parts them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.closing(mailbox.mbox(file.name, create=False)) as messages:
            for message in messages:
                yield from of_mail(bytes(message).replace(b"\n>From ", b"\nFrom "))


def of_rich_text(data: bytes) -> Iterator[str]:
    yield rtf_to_text(data.decode("latin-1"))


def of_statement(data: bytes) -> Iterator[str]:
    """Yield the values of elements, which need no end tag."""
    yield from (html.unescape(value) for value in re.findall(r"<[\w.]+>([^<\r\n]+)", data.decode("cp1252")))


def of_image(data: bytes) -> Iterator[str]:
    """Yield what a picture says of itself."""
    with Image.open(io.BytesIO(data)) as image:
        values = [*image.info.values(), *image.getexif().values()]
        values += image.getexif().get_ifd(ExifTags.IFD.Exif).values()
        yield from (value for value in values if isinstance(value, str) and not value.startswith("<"))


def of_messenger(data: bytes) -> Iterator[str]:
    """Yield the texts of an export that writes each byte of UTF-8 as a letter."""
    yield from (text.encode("latin-1").decode() for text in words.strings(json.loads(data)) if " " in text)


def of_lines(data: bytes) -> Iterator[str]:
    text = re.sub(r"\r?\n[ \t]", "", data.decode(errors="replace"))
    lines = [line for line in text.splitlines() if not TECHNICAL.match(line) and "QUOTED" not in line]
    for line in lines:
        yield line.partition(":")[2].replace("\\n", " ").removeprefix("mailto:")


def of_text(data: bytes) -> Iterator[str]:
    yield data.decode(errors="replace") if b"\0" not in data else data.decode("utf-16", "replace")


def of_json(data: bytes) -> Iterator[str]:
    """Yield what people wrote: texts with a blank, not ids and names of kinds."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [archive.read(name) for name in archive.namelist()]
    else:
        files = [data] if data.lstrip()[:1] in (b"{", b"[") and data.count(b"\n{") == 0 else data.splitlines()
    for file in files:
        if file.lstrip()[:1] in (b"{", b"["):
            texts = words.strings(json.loads(file))
            yield from (text for text in texts if " " in text and not text.startswith("(File not included"))


def of_xml(data: bytes) -> Iterator[str]:
    root = etree.fromstring(data)
    for text in root.itertext():
        yield (
            re.sub(r"<[^>]*>", " ", text)
            if "<" in text
            else ""
            if re.fullmatch(r"\d{8}T\d{6}Z", text)
            else text
        )


HELD: dict[str, Callable[[bytes], Iterator[str]]] = {
    **dict.fromkeys(("docx", "pptx", "xlsx", "odt", "ods"), of_office),
    "pdf": of_pdf,
    "html": of_html,
    "eml": of_mail,
    "mbox": of_mailbox,
    "rtf": of_rich_text,
    "ofx": of_statement,
    "image": of_image,
    "messenger": of_messenger,
    **dict.fromkeys(("ics", "vcf"), of_lines),
    **dict.fromkeys(("csv", "text", "markdown", "whatsapp"), of_text),
    **dict.fromkeys(("enex", "camt"), of_xml),
    **dict.fromkeys(
        (
            "json", "jsonl", "memory", "graphmem", "chatgpt", "claude", "open_webui", "mem0", "zep",
            "telegram", "slack", "keep", "google_tasks", "google_activity",
        ),
        of_json,
    ),
}  # fmt: skip


def letters(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()


def test_each_format_is_in_the_walk() -> None:
    assert {format.name for format in FORMATS} == set(HELD)


@walk_over("file", FILES)
def test_text_of_a_fixture_is_read_or_counted(file: Path) -> None:
    data = file.read_bytes()
    try:
        document = parsed_here(data, None, file.name, DocumentLimits())
    except ParseFailed:
        return
    texts_of = HELD[document.format]
    words_of_file = {word for text in texts_of(data) for word in WORD.findall(letters(text))}
    values = (str(field.value) for part in document.parts for field in part.fields)
    read = letters("\n".join([document.text, *values]))
    missing = sorted(word for word in words_of_file if word not in read)
    is_told = any(warning.startswith("TEXT_NOT_READ") for warning in document.warnings)
    assert not missing or is_told, missing


EVENT = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:e1\nSUMMARY:Talk\nDTSTART:20260105T100000Z\n{}END:VEVENT\n"
    "{}END:VCALENDAR\n"
)
CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Ada\n{}END:VCARD\n"
CHAT = """[{"title": "x", "conversation_id": "c", "create_time": 1, "current_node": "n", "mapping": {"n":
 {"message": {"id": "n", "author": {"role": "user"}, "content": {"parts": ["hi"]}, "footnote": "below"}}}}]"""


@pytest.mark.parametrize(
    ("name", "text", "warnings"),
    [
        ("a.ics", EVENT.format("RESOURCES:Beamer\n", ""), ["1 RESOURCES line, 6 characters"]),
        ("a.ics", EVENT.format("TRANSP:OPAQUE\nX-MOZ-LASTACK:1\n", ""), []),
        (
            "a.ics",
            EVENT.format("", "BEGIN:VFREEBUSY\nCOMMENT:away\nEND:VFREEBUSY\n"),
            ["1 VFREEBUSY, 4 characters"],
        ),
        ("a.vcf", CARD.format("FN:Countess Ada\nLABEL:Quay 3\n"), ["1 FN line, 12 characters; 1 LABEL line"]),
        ("a.vcf", CARD.format("FN:Ada\nPRODID:x\n"), []),
        ("conversations.json", CHAT, ["1 member (footnote) of messages"]),
    ],
)
def test_what_a_reader_leaves_out_is_counted_by_name(name: str, text: str, warnings: list[str]) -> None:
    document = parsed_here(text.encode(), None, name, DocumentLimits())
    assert document.warnings == tuple(f"TEXT_NOT_READ: {each}." for each in warnings)
