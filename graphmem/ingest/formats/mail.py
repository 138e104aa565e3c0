"""E-mail and mailboxes: headers, people, and the text of the body. Attachments are named, not read.

The text has the decoded headers, an empty line and the body: the plain text if the message has one, else
the text of its HTML. `date` is the header as it stands, `sent_at` the same time in ISO 8601.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import replace
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.formats.web_page import plain

PEOPLE = ("From", "Sender", "Reply-To", "To", "Cc", "Bcc")
TEXTS = ("Subject", "Date", "Message-ID", "In-Reply-To", "List-Id")
HEADER_CHARACTERS_LIMIT = 100_000
MESSAGE_PARTS_LIMIT = 10_000
SEPARATOR = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add one message."""
    _add_message(builder, data, 1)


def parse_mailbox(builder: Builder, data: bytes, name: str) -> None:
    """Add the messages of a mailbox (mbox), between lines that begin with `From `.

    The library of the same name in Python reads paths only, so the messages are parted here, by its rule.
    """
    places = [match.span() for match in SEPARATOR.finditer(data)]
    if not places:
        raise ParseFailed("The mailbox has no line that begins with From.", "damaged")
    ends = [start for start, _ in places[1:]] + [len(data)]
    for number, ((_, start), end) in enumerate(zip(places, ends, strict=True), 1):
        try:
            _add_message(builder, QUOTED_FROM.sub(rb"\1", data[start:end]), number)
        except ParseFailed as exc:
            if exc.code != "damaged":
                raise
            builder.warn(exc.reason)
    if builder.position == 0:
        raise ParseFailed("The mailbox has no message.", "empty")
    builder.title = None
    builder.metadata["messages"] = len(places)


def _add_message(builder: Builder, data: bytes, number: int) -> None:
    """Add a message as a part; the first message names the document."""
    message = email.message_from_bytes(data, policy=email.policy.compat32)
    if not message.keys():
        raise ParseFailed(f"Message {number} has no headers.", "damaged")
    start, line = builder.position, builder.line
    fields = [*_people(builder, message), *_texts(builder, message, number)]
    names, bodies = _contents(message)
    if names:
        span = builder.add(f"Attachments: {'; '.join(str(attachment['name']) for attachment in names)}", "\n")
        fields.append(PartField("attachments", names, span))
    builder.add("", "\n")
    body = _body(bodies, builder)
    if body:
        fields.append(PartField("body", normal(body), builder.add(body, "\n\n")))
    end = max((field.span.end or start for field in fields), default=start)
    fields = [PartField(f.name, f.value, replace(f.span, message=number)) for f in fields]
    builder.count_cells(len(fields))
    builder.part("message", FileSpan(line=line, message=number, start=start, end=end), fields)


def _decoded(value: str) -> str:
    value = value[:HEADER_CHARACTERS_LIMIT]
    try:
        text = str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, ValueError):
        text = value
    # Bytes beyond ASCII without an encoding are surrogates.
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return normal(" ".join(text.split()))


def _people(builder: Builder, message: Message) -> Iterator[PartField]:
    for name in PEOPLE:
        raw = [str(value)[:HEADER_CHARACTERS_LIMIT] for value in message.get_all(name, ())]
        people: list[dict[str, str]] = []
        for label, address in getaddresses(raw):
            person = {"name": _decoded(label), "address": _decoded(address)}
            if any(person.values()):
                people.append({key: value for key, value in person.items() if value})
        if not people:
            continue
        builder.count_cells(len(people))
        shown = [
            f"{person.get('name', '')} <{person['address']}>".lstrip()
            if "address" in person
            else person["name"]
            for person in people
        ]
        yield PartField(name.lower().replace("-", "_"), people, builder.add_line(name, ", ".join(shown)))


def _texts(builder: Builder, message: Message, number: int) -> Iterator[PartField]:
    for name in TEXTS:
        value = _decoded(str(next(iter(message.get_all(name, ())), "")))
        if not value:
            continue
        span = builder.add_line(name, value)
        yield PartField(name.lower().replace("-", "_"), value, span)
        if name == "Subject" and number == 1:
            builder.title = value
        if name == "Date":
            try:
                yield PartField("sent_at", parsedate_to_datetime(value).isoformat(), span)
            except (ValueError, TypeError, OverflowError, IndexError):
                builder.warn(f"The date of message {number} cannot be read: {value[:100]}")


def _contents(message: Message) -> tuple[list[dict[str, Any]], list[Message]]:
    """Return the attachments of a message, and the parts that can be its body."""
    attachments: list[dict[str, Any]] = []
    bodies: list[Message] = []
    waiting: list[Message] = [message]
    for _ in range(MESSAGE_PARTS_LIMIT):
        if not waiting:
            break
        part = waiting.pop()
        kind = part.get_content_type()
        payload = part.get_payload()
        try:
            file = _decoded(part.get_filename() or "")
        except (ValueError, LookupError, TypeError):
            file = ""
        if part.get_content_maintype() == "multipart" and isinstance(payload, list):
            waiting.extend(reversed([member for member in payload if isinstance(member, Message)]))
        elif part.get_content_maintype() == "multipart":
            # A multipart without its boundary: all of it is text.
            part.set_type("text/plain")
            bodies.append(part)
        elif (
            file or part.get_content_disposition() == "attachment" or kind not in ("text/plain", "text/html")
        ):
            attachments.append({"name": file or kind, "media_type": kind})
        else:
            bodies.append(part)
    return attachments, bodies


def _body(parts: list[Message], builder: Builder) -> str:
    for kind in ("text/plain", "text/html"):
        for part in parts:
            if part.get_content_type() == kind:
                text = _payload(part, builder).strip()
                if text and kind == "text/html":
                    text = plain(text, builder)
                if text:
                    return text
    return ""


def _payload(part: Message, builder: Builder) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = part.get_content_charset()
    try:
        return normal(payload.decode(charset or "ascii"))
    except (LookupError, ValueError):
        try:
            text, _, warnings = decoded(payload)
        except ParseFailed:
            return payload.decode("latin-1")
        builder.warn(*warnings)
        return text
