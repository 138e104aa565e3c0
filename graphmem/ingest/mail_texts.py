"""Texts of e-mail as they stand in real messages: with a wrong encoding or none, in headers and bodies.

The library reads bytes of a header that have no encoding as surrogates (`surrogateescape`).
"""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from email.message import Message

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.decoding import decoded, known
from graphmem.ingest.document import ParseFailed

HEADER_CHARACTERS_LIMIT = 100_000
ENCODED_WORD = re.compile(r"=\?([\w-]+)(?:\*[\w-]+)?\?([bq])\?([^?]*)\?=", re.IGNORECASE)
JAPANESE = "\x1b$"
"""How ISO-2022-JP begins, which has no byte beyond ASCII."""
RAW = re.compile("[\udc80-\udcff]")
WIDER = {
    "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "euc_kr": "cp949",
}  # fmt: skip
"""What programs mean by the name of an encoding."""


class MailTexts:
    """Reads the headers and bodies of one message. A warning names each encoding that it guesses."""

    def __init__(self, message: Message, number: int, builder: Builder) -> None:
        """``number`` is that of the message, for warnings."""
        self._message = message
        self._number = number
        self._builder = builder
        self._declared: list[str] = []
        raw: list[str] = []
        for part in message.walk():
            self._declared += filter(None, [part.get_content_charset()])
            raw += [value for _, value in part.raw_items() if RAW.search(value)]
        self._raw = list(map(_bytes_of, raw))
        for part in message.walk():
            self._replace_raw(part)

    def _replace_raw(self, part: Message) -> None:
        """Give a part headers without surrogates: the library would show these as U+FFFD."""
        headers = list(part.raw_items())
        if any(RAW.search(value) or JAPANESE in value for _, value in headers):
            for name, _ in headers:
                del part[name]
            for name, value in headers:
                part.set_raw(name, self._without_surrogates(value))

    def _without_surrogates(self, value: str) -> str:
        pieces: list[str] = []
        end = 0
        for word in ENCODED_WORD.finditer(value):
            text = f"=?{word[1]}?b?{binascii.b2a_base64(_word(word), newline=False).decode()}?="
            pieces += [self._raw_text(value[end : word.start()]), text if RAW.search(word[3]) else word[0]]
            end = word.end()
        return "".join([*pieces, self._raw_text(value[end:])])

    def _raw_text(self, value: str) -> str:
        if JAPANESE in value:
            return self.text_of(_bytes_of(value), "iso2022_jp")
        return self.text_of(_bytes_of(value), None) if RAW.search(value) else value

    def header(self, value: str) -> str:
        """Return the text of a header or of a part of it, with its encoded words decoded, as one line."""
        value = value[:HEADER_CHARACTERS_LIMIT]
        pieces: list[str | tuple[str, bytes]] = []
        end = 0
        for word in ENCODED_WORD.finditer(value):
            gap, last = value[end : word.start()], pieces[-1] if pieces else ""
            charset, data = word[1].lower(), _word(word)
            if isinstance(last, tuple) and not gap.strip() and last[0] == charset:
                # A character may be parted between two words.
                pieces[-1] = (charset, last[1] + data)
            else:
                pieces += (
                    [(charset, data)]
                    if isinstance(last, tuple) and not gap.strip()
                    else [gap, (charset, data)]
                )
            end = word.end()
        pieces.append(value[end:])
        text = "".join(each if isinstance(each, str) else self.text_of(each[1], each[0]) for each in pieces)
        return normal(" ".join(text.split()))

    def text_of(self, data: bytes, charset: str | None) -> str:
        """Return the text of bytes: by their encoding, else by that of a part of the message, else a guess.

        What is no text of its encoding, or is UTF-8 beside an encoding of single bytes, is read as such.
        """
        codec = codecs.lookup(charset).name if charset is not None and known(charset) else None
        own = {WIDER.get(codec, codec): False, codec: False} if codec is not None else {}
        utf_8 = {"utf-8": codec not in (None, "ascii", "utf-8")}
        is_utf_8_last = codec is not None and (data.isascii() or not _has_single_bytes(codec))
        tried = own | utf_8 if is_utf_8_last else utf_8 | own
        for encoding, is_told in (
            tried | {n: True for n in self._declared if known(n) and n not in tried}
        ).items():
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if is_told:
                self._warn_of(encoding)
            return text
        try:
            encoding = decoded(self._sample()).encoding
        except ParseFailed:
            encoding = "latin-1"
        self._warn_of(encoding)
        text = data.decode(encoding, "replace")
        if "\ufffd" in text:
            self._builder.warn(f"What is no {encoding} in message {self._number} is shown as U+FFFD.")
        return text

    def _sample(self) -> bytes:
        """Return all that has no encoding or a wrong one: the more there is, the better is the guess."""
        bodies = (part.get_payload(decode=True) for part in self._message.walk() if not part.is_multipart())
        return b"\n".join(
            [*self._raw, *(each for each in bodies if isinstance(each, bytes) and not each.isascii())]
        )

    def _warn_of(self, encoding: str) -> None:
        self._builder.warn(
            f"A text of message {self._number} has a wrong encoding or none: it is read as {encoding}."
        )


def _has_single_bytes(codec: str) -> bool:
    return len(bytes(range(0x80, 0x100)).decode(codec, "replace")) == 0x80


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _word(word: re.Match[str]) -> bytes:
    """Return the bytes of an encoded word; those that stand there where it is damaged."""
    data = _bytes_of(word[3])
    if word[2] in "qQ":
        return quopri.decodestring(data, header=True)
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return data
