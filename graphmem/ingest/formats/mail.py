"""E-mail and mailboxes: headers, people, and the text of the body. Other attachments are named, not read.

`date` is the header as it stands, `sent_at` the same time in ISO 8601. A message that is an attachment is a
part of its own after the one that holds it, whose `level` is one less.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache
from typing import Any

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.decoding import MARKS, decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.formats.calendar import add_entries
from graphmem.ingest.formats.web_page import plain
from graphmem.ingest.mail_texts import HEADER_CHARACTERS_LIMIT, MailTexts
from graphmem.text import words

PEOPLE = ("From", "Sender", "Reply-To", "To", "Cc", "Bcc")
TEXTS = ("Subject", "Date", "Message-ID", "In-Reply-To", "List-Id")
MESSAGE_PARTS_LIMIT = 10_000
LEVELS_LIMIT = 20
SEPARATOR = re.compile(
    rb"^From [^\n]*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +"
    rb"(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2} +\d{4}) +\d{1,2}:\d\d[^\n]*\n(?=>From |[!-9;-~]+:)",
    re.MULTILINE,
)
SUSPECT = re.compile(
    rb"\n\r?\n((?:From [^\n]*|[^\n:]{0,99}\d:\d\d[^\n]*)\n)"
    rb"(?=(?:From|To|Subject|Date|Message-ID|Received):)"
)
"""What may be the line between two messages, if it is damaged."""
LINKED = re.compile(r" <https?://[^\s<>]+>")
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|[ \t]|>?From ")
HEADERS_END = re.compile(rb"\r?\n\r?\n")
WINMAIL = (
    "The winmail.dat of message {} is not read: Outlook keeps text and files of a message in it. Have the "
    "message sent as plain text or HTML, or store the files that it has."
)
Headers = dict[str, list[str]]
CALENDAR_TYPES = ("text/calendar", "application/ics")
PLACEHOLDER_WORDS = 40  # most words of a plain text that only says that the message is HTML
MESSAGE_TYPES = ("message/rfc822", "message/global")


def parse(builder: Builder, data: bytes, name: str) -> None:
    data = _in_bytes(builder, data)
    _add_message(builder, _read(builder, data.lstrip(), 1), 1)


def parse_mailbox(builder: Builder, data: bytes, name: str) -> None:
    """Add the messages of a mailbox (mbox), between lines that begin with `From ` and end with a date.

    Bodies have lines that begin so, too: so what follows must be a header.
    """
    data = _in_bytes(builder, data)
    places = [match.span() for match in SEPARATOR.finditer(data)]
    first = places[0][0] if places else len(data)
    if data[:first].strip():
        # The first line needs no date: the format is known by it.
        places.insert(0, (0, data.find(b"\n") + 1 if data.startswith(b"From ") else 0))
    ends = [start for start, _ in places[1:]] + [len(data)]
    known = {start for start, _ in places}
    for match in SUSPECT.finditer(data):
        if match.start(1) not in known:
            line = data.count(b"\n", 0, match.start(1)) + 1
            builder.warn(f"Line {line} may be a damaged line between two messages: it is read as text.")
    for number, ((_, start), end) in enumerate(zip(places, ends, strict=True), 1):
        try:
            content = QUOTED_FROM.sub(rb"\1", data[start:end])
            _add_message(builder, _read(builder, content, number), number)
        except ParseFailed as exc:
            if exc.code != "damaged":
                raise
            builder.warn(exc.reason)
    if builder.position == 0:
        raise ParseFailed("The mailbox has no message.", "empty")
    builder.title = None
    builder.metadata["messages"] = len(places)


def _in_bytes(builder: Builder, data: bytes) -> bytes:
    """Return the bytes of a message, of one in UTF-16 or with a mark those in UTF-8."""
    if not data.startswith(tuple(mark for mark, _ in MARKS)) and data[:200].count(0) < 20:
        return data
    text, _, warnings = decoded(data)
    builder.warn(*warnings)
    return text.encode()


def _read(builder: Builder, data: bytes, number: int) -> Message:
    """Return a message without the lines among its headers that are none."""
    if b"\0" in data:
        lines = [str(i) for i, line in enumerate(data.split(b"\n"), 1) if b"\0" in line]
        builder.warn(
            f"NUL characters are left out: they are in line {', '.join(lines[:9])} of message {number}."
        )
        data = data.replace(b"\0", b"")
    end = HEADERS_END.search(data)
    lines = data[: end.start()].split(b"\n") if end else []
    while lines and HEADER.match(lines[-1]) is None:
        # The library takes the first line that is no header for the beginning of the text.
        lines.pop()
    others = [(place, line) for place, line in enumerate(lines, 1) if HEADER.match(line) is None]
    for place, line in others:
        excerpt = line[:80].decode("ascii", "replace").strip()
        builder.drop(f"Line {place} of message {number} is no header, it is left out: {excerpt}")
    if others:
        kept = b"\n".join(filter(HEADER.match, lines))
        data = kept + data[len(b"\n".join(lines)) :]
    if end is None or not data.endswith(b"\n"):
        where = "within its last line" if end else "before its text"
        builder.warn(f"The end of message {number} may be missing: the file ends {where}.")
    return email.message_from_bytes(data, policy=email.policy.compat32)


@dataclass
class _Contents:
    texts: MailTexts
    builder: Builder
    number: int
    attachments: list[dict[str, Any]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    calendars: dict[str, None] = field(default_factory=dict)
    """The texts of its calendars: many programs send an invitation as text and as a file."""
    parts: int = 0

    def text_of(self, part: Message) -> str:
        self.parts += 1
        if self.parts > MESSAGE_PARTS_LIMIT:
            self.builder.warn(f"Message {self.number} has more than {MESSAGE_PARTS_LIMIT:,} parts.")
            return ""
        kind, payload = part.get_content_type(), part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(payload, list):
            text = self._joined(kind, [member for member in payload if isinstance(member, Message)])
        elif part.get_content_maintype() == "multipart":
            # A multipart without its boundary: all of it is text.
            part.set_type("text/plain")
            text = self._payload(part)
        else:
            text = self._single(part, kind)
        for defect in part.defects:
            self.builder.warn(f"A part of message {self.number} is damaged: {type(defect).__doc__}")
        return text

    def _joined(self, kind: str, members: list[Message]) -> str:
        texts = [(member.get_content_type(), self.text_of(member)) for member in members]
        texts = [(each, text) for each, text in texts if text]
        if kind == "multipart/alternative":
            texts.sort(key=lambda pair: pair[0] != "text/plain")
            read = [pair for pair in texts[1:] if _says_more(pair[1], texts[0][1])][:1] or texts[:1]
        else:
            known = _words(text for each, text in texts if each == "text/plain")
            # An HTML part may say what the plain texts say.
            read = [
                pair for pair in texts
                if pair[0] != "text/html" or 4 * len(_words([pair[1]]) - known) >= len(_words([pair[1]]))
            ]  # fmt: skip
        known = _words(text for _, text in read)
        for each, text in texts:
            self.builder.left_out(f"{each} part", sum(map(len, _words([text]) - known)))
        return "\n\n".join(text for _, text in read)

    def _single(self, part: Message, kind: str) -> str:
        try:
            file = self.texts.header(part.get_filename() or "")
        except (ValueError, LookupError, TypeError):
            file = ""
        is_attached = bool(file) or part.get_content_disposition() == "attachment"
        if kind in ("text/plain", "text/html") and not is_attached:
            text = self._payload(part).strip()
            return plain(text, self.builder) if text and kind == "text/html" else text
        if kind in CALENDAR_TYPES or file.lower().endswith(".ics"):
            self.calendars[self._payload(part).strip()] = None
            self.attachments += [{"name": file, "media_type": kind}] if file else []
            return ""
        self.attachments.append({"name": file or kind, "media_type": kind})
        payload = part.get_payload()
        if kind in MESSAGE_TYPES or file.lower().endswith(".eml"):
            self._add_message(part, payload)
        elif kind == "application/ms-tnef" or file.lower() == "winmail.dat":
            self.builder.warn(WINMAIL.format(self.number))
        else:
            self.builder.left_out("attachment", None, file or kind)
        return ""

    def _add_message(self, part: Message, payload: Any) -> None:
        """Add a message that is attached. Some programs encode it, which the library takes for text."""
        inner = payload[0] if isinstance(payload, list) and payload else None
        if not isinstance(inner, Message) or not inner.keys():
            text = inner.get_payload() if isinstance(inner, Message) else payload
            encoded = Message()
            encoded.set_payload(text)
            encoded["Content-Transfer-Encoding"] = part.get("Content-Transfer-Encoding", "7bit")
            data = encoded.get_payload(decode=True)
            inner = _read(self.builder, data, self.number) if isinstance(data, bytes) else None
        if inner is not None and inner.keys():
            self.messages.append(inner)
        else:
            self.builder.drop(f"A message that is attached to message {self.number} cannot be read.")

    def _payload(self, part: Message) -> str:
        data = part.get_payload(decode=True)
        return (
            normal(self.texts.text_of(data, part.get_content_charset("ascii")))
            if isinstance(data, bytes)
            else ""
        )


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words.tokens(text)}


def _says_more(html: str, plain_text: str) -> bool:
    """Return whether the text of the HTML is to be read in place of the plain text.

    It is if only it has the addresses of links, and if the plain text is a short one that only says that the
    message is HTML: then it has other words than the HTML, or is a small part of it.
    """
    if LINKED.search(html) and "://" not in plain_text:
        return True
    of_plain, of_html = words.tokens(plain_text), words.tokens(html)
    own = set(of_plain) - set(of_html)
    is_other = len(own) > max(2, len(set(of_plain)) / 2) and 2 * len(of_html) > len(of_plain)
    return len(of_plain) <= PLACEHOLDER_WORDS and (is_other or 4 * len(of_plain) < len(of_html))


def _add_message(builder: Builder, message: Message, number: int, level: int | None = None) -> None:
    """Add a message and those attached to it as parts; the first message names the document."""
    if not message.keys():
        raise ParseFailed(f"Message {number} has no headers.", "damaged")
    start, line = builder.position, builder.line
    texts = MailTexts(message, number, builder)
    headers: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), []).append(value)
    fields = [*_people(builder, texts, headers), *_texts(builder, texts, headers, number)]
    if number == 1 and level is None:
        builder.title = next((field.value for field in fields if field.name == "subject"), None)
    contents = _Contents(texts, builder, number)
    body = contents.text_of(message).strip()
    files = contents.attachments
    if files:
        span = builder.add(f"Attachments: {'; '.join(str(file['name']) for file in files)}", "\n")
        fields.append(PartField("attachments", files, span))
    builder.add("", "\n")
    if body:
        fields.append(PartField("body", normal(body), builder.add(body, "\n\n")))
    end = max((field.span.end or start for field in fields), default=start)
    fields = [field._replace(span=field.span._replace(message=number)) for field in fields]
    builder.count_cells(len(fields))
    span = FileSpan(line=line, message=number, start=start, end=end)
    builder.part("message", span, fields, level=level)
    # What a calendar says of itself is not about the file.
    title, metadata = builder.title, dict(builder.metadata)
    if contents.calendars and not add_entries(builder, "\n".join(contents.calendars)):
        builder.drop(f"The calendar of message {contents.number} cannot be read.")
    builder.title, builder.metadata = title, metadata
    inner_level = (level or 1) + 1
    for inner in contents.messages:
        if inner_level > LEVELS_LIMIT:
            builder.drop(
                f"Message {number} has more than {LEVELS_LIMIT} levels: the inner ones are left out."
            )
        else:
            _add_message(builder, inner, number, inner_level)


def _people(builder: Builder, texts: MailTexts, headers: Headers) -> Iterator[PartField]:
    for name in PEOPLE:
        raw = [value[:HEADER_CHARACTERS_LIMIT] for value in headers.get(name.lower(), ())]
        people: list[dict[str, str]] = []
        for label, address in (pair for value in raw for pair in _addresses(value)):
            person = {"name": texts.header(label), "address": texts.header(address)}
            if any(person.values()):
                people.append({key: value for key, value in person.items() if value})
        if not people:
            continue
        builder.count_cells(len(people))
        names = [
            f"{person.get('name', '')} <{person['address']}>".lstrip()
            if "address" in person
            else person["name"]
            for person in people
        ]
        yield PartField(name.lower().replace("-", "_"), people, builder.add_line(name, ", ".join(names)))


@lru_cache(maxsize=1_000)
def _addresses(value: str) -> list[tuple[str, str]]:
    """Return names and addresses of a header; those of a mailbox come again and again."""
    return getaddresses([value])


def _texts(builder: Builder, texts: MailTexts, headers: Headers, number: int) -> Iterator[PartField]:
    for name in TEXTS:
        value = texts.header(headers.get(name.lower(), [""])[0])
        if not value:
            continue
        span = builder.add_line(name, value)
        yield PartField(name.lower().replace("-", "_"), value, span)
        if name == "Date":
            try:
                sent_at = parsedate_to_datetime(value)
            except (ValueError, TypeError, OverflowError, IndexError):
                builder.warn(f"The date of message {number} cannot be read: {value[:100]}")
                continue
            if sent_at.tzinfo is None and "-0000" in value:
                # RFC 5322: the time is in UTC, and nothing is known of the sender's own zone.
                sent_at = sent_at.replace(tzinfo=UTC)
            if sent_at.tzinfo is None:
                builder.warn(f"The date of message {number} has no offset that is known: {value[:100]}")
            yield PartField("sent_at", sent_at.isoformat(), span)
