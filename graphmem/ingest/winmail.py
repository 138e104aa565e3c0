"""A `winmail.dat` (TNEF) of Outlook as the message that it is. Properties have their numbers of MAPI."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime, quote

from graphmem.ingest.decoding import known
from graphmem.ingest.formats.rich_text import compressed_text
from graphmem.ingest.formats.web_page import CHARSET

SIGNATURE, FIRST_ATTRIBUTE, HEAD = b"\x78\x9f\x3e\x22", 6, struct.Struct("<BII")
CODE_PAGE, NEW_FILE, PROPERTIES = 0x00069007, 0x00069002, (0x00069003, 0x00069005)
SUBJECT, SENT_AT, SENDER, MESSAGE_ID, ADDRESSES = 0x0037, 0x0039, 0x0C1A, 0x1035, (0x5D01, 0x0C1F)
BODY, RTF, HTML, TITLE, NAME, DATA = 0x1000, 0x1009, 0x1013, 0x3001, 0x3707, 0x3701
ATTRIBUTES = {0x0002800C: BODY, 0x00018004: SUBJECT, 0x00018010: TITLE, 0x0006800F: DATA}
"""Attributes that stand for one property."""
SIZES = {2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0xA: 4, 0xB: 2, 0x14: 8, 0x40: 8, 0x48: 16}
SIZES |= {0xD: -1, 0x1E: -1, 0x1F: -1, 0x102: -1}
"""The bytes of a value by its type; -1 where each value has its length before it."""
SEVERAL, UNICODE = 0x1000, 0x1F
FILES_LIMIT = 5_000
Properties = dict[int, bytes | str]


class Winmail:
    """A message of Outlook. ``is_whole`` is false where something of it cannot be read."""

    def __init__(self, data: bytes, levels: int) -> None:
        """Read until the first damage, with so many levels of messages in messages."""
        self.is_whole = True
        self._charset = "cp1252"
        self._own: Properties = {}
        self._files: list[Properties] = []
        try:
            for level, attribute, value in _attributes(data):
                self._add(level, attribute, value)
        except (ValueError, LookupError, struct.error):
            self.is_whole = False
        self.message = self._headers()
        self.message.set_payload([self._text(), *(self._file(file, levels) for file in self._files)])

    def _add(self, level: int, attribute: int, value: bytes) -> None:
        if level == 2 and (attribute == NEW_FILE or not self._files):
            if len(self._files) == FILES_LIMIT:
                raise ValueError
            self._files.append({})
        properties = self._files[-1] if level == 2 else self._own
        if attribute == CODE_PAGE:
            page = int.from_bytes(value[:4], "little")
            name = "utf-8" if page == 65001 else f"cp{page}"
            self._charset = name if known(name) else "ascii"
        elif attribute in PROPERTIES:
            properties.update(_properties(value))
        elif attribute in ATTRIBUTES:
            properties.setdefault(ATTRIBUTES[attribute], value)

    def _line(self, properties: Properties, number: int) -> str:
        value = properties.get(number, "")
        text = value if isinstance(value, str) else value.decode(self._charset, "replace")
        return " ".join(text.replace("\0", "").split())

    def _headers(self) -> Message:
        own, message = self._own, Message()
        message["Content-Type"] = "multipart/mixed"
        address = next((each for each in (self._line(own, n) for n in ADDRESSES) if "@" in each), "")
        message["From"] = f'"{quote(self._line(own, SENDER))}" <{address}>'
        message["Subject"] = self._line(own, SUBJECT)
        message["Message-ID"] = self._line(own, MESSAGE_ID)
        sent_at = own.get(SENT_AT)
        seconds = int.from_bytes(sent_at, "little") // 10_000_000 if isinstance(sent_at, bytes) else 0
        if 0 < seconds < 90_000_000_000:
            # For no time Outlook writes the year 4501.
            message["Date"] = format_datetime(datetime(1601, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds))
        return message

    def _text(self) -> Message:
        """Return the plain text, else the HTML, else the text of the RTF."""
        html, rtf = (self._own.get(number, b"") for number in (HTML, RTF))
        body = self._own[BODY] if self._line(self._own, BODY) else b""
        if isinstance(rtf, bytes) and rtf and not body and not html:
            try:
                body = compressed_text(rtf)
            except ValueError:
                self.is_whole = False
        part, value, charset = Message(), body or html, self._charset
        part["Content-Type"] = "text/plain" if body else "text/html"
        if isinstance(value, str):
            value, charset = value.encode(), "utf-8"
        elif not body and (declared := CHARSET.search(value)):
            charset = declared[1].decode()
        part.set_param("charset", charset)
        part.set_payload(value)
        return part

    def _file(self, file: Properties, levels: int) -> Message:
        """Return a file. A message of Outlook is one itself, or has the 16 bytes of its kind before it."""
        part, data = Message(), file.get(DATA, b"")
        name = self._line(file, NAME) or self._line(file, TITLE)
        part.add_header("Content-Disposition", "attachment", filename=name)
        part["Content-Type"] = "application/octet-stream"
        part.set_payload(data)
        data = data if isinstance(data, bytes) else b""
        inner_data = next((each for each in (data, data[16:]) if each.startswith(SIGNATURE)), b"")
        if inner_data and levels:
            inner = Winmail(inner_data, levels - 1)
            self.is_whole &= inner.is_whole
            part.replace_header("Content-Type", "message/rfc822")
            part.set_payload([inner.message])
        return part


def _attributes(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the level (1 of the message, 2 of a file), the number and the value of each attribute."""
    position = FIRST_ATTRIBUTE
    if not data.startswith(SIGNATURE) or len(data) < position:
        raise ValueError
    while position < len(data):
        level, attribute, length = HEAD.unpack_from(data, position)
        end = position + HEAD.size + length
        value = data[position + HEAD.size : end]
        if level not in (1, 2) or data[end : end + 2] != struct.pack("<H", sum(value) & 0xFFFF):
            raise ValueError
        yield level, attribute, value
        position = end + 2


def _properties(data: bytes) -> Iterator[tuple[int, bytes | str]]:
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        value = data[position : position + size]
        if len(value) < size:
            raise ValueError
        position += size + -size % 4
        return value

    def number() -> int:
        return int.from_bytes(take(4), "little")

    for _ in range(number()):
        tag = number()
        kind = tag & 0xFFFF
        if tag >> 31:
            # A property of a program has its number or its name before its value.
            take(16)
            take(number() if number() else 4)
        size = SIZES[kind & ~SEVERAL]
        for _ in range(number() if size < 0 or kind & SEVERAL else 1):
            value = take(number() if size < 0 else size)
            yield tag >> 16, value.decode("utf-16-le", "replace") if kind == UNICODE else value
