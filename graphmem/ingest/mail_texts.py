"""Texts of e-mail as they stand in real messages: with a wrong encoding or none, in headers and bodies.

The library reads bytes of a header that have no encoding as surrogates (`surrogateescape`).
"""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from email.message import Message
from itertools import chain, groupby

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.decoding import decoded, has_several_bytes, meant
from graphmem.ingest.document import ParseFailed

HEADER_CHARACTERS_LIMIT = 100_000
WORD = r"=\?([\w-]+)(?:\*[\w-]+)?\?([bq])\?([^?]*)\?="
ENCODED_WORD = re.compile(WORD, re.IGNORECASE)
ENCODED_WORDS = re.compile(rf"{WORD}(?:\s*{WORD})*", re.IGNORECASE)
"""Words beside each other: the white space between them is not shown, nor does it part a character."""
PLAIN_CHARSETS = {None, "ascii", "us-ascii", "utf-8", "iso-8859-1"}
JAPANESE = "\x1b$"  # how ISO-2022-JP begins, which has no byte beyond ASCII


class MailTexts:
    """Reads the headers and bodies of one message. A warning names each encoding that it guesses."""

    def __init__(self, message: Message, number: int, builder: Builder) -> None:
        """``number`` is that of the message, for warnings. Its headers lose their surrogates."""
        self._message = message
        self._number = number
        self._builder = builder
        parts = [*message.walk()] if message.is_multipart() else [message]
        raw = [part for part in parts if not all(_is_plain(value) for _, value in part.raw_items())]
        self._raw = [_bytes_of(value) for part in raw for _, value in part.raw_items() if not value.isascii()]
        for part in raw:
            headers = list(part.raw_items())
            for name, _ in headers:
                del part[name]
            for name, value in headers:
                part.set_raw(name, value if _is_plain(value) else self._without_surrogates(value))

    def _without_surrogates(self, value: str) -> str:
        """Return a header with text in place of its bytes; those within an encoded word are encoded there."""
        pieces: list[str] = []
        end = 0
        for word in ENCODED_WORD.finditer(value):
            payload = binascii.b2a_base64(_word(word), newline=False).decode()
            pieces += [self._raw_text(value[end : word.start()]), f"=?{word[1]}?b?{payload}?="]
            end = word.end()
        return "".join([*pieces, self._raw_text(value[end:])])

    def _raw_text(self, value: str) -> str:
        return self.text_of(_bytes_of(value), None)

    def header(self, value: str) -> str:
        """Return the text of a header or of a part of it, with its encoded words decoded, as one line."""
        value = value[:HEADER_CHARACTERS_LIMIT]
        if "=?" in value:
            value = ENCODED_WORDS.sub(self._text_of_words, value)
        return normal(" ".join(value.split()))

    def _text_of_words(self, words: re.Match[str]) -> str:
        runs = groupby(ENCODED_WORD.finditer(words[0]), lambda word: word[1].lower())
        return "".join(self.text_of(b"".join(map(_word, run)), charset) for charset, run in runs)

    def text_of(self, data: bytes, charset: str | None) -> str:
        """Return the text of bytes: by their encoding, else by that of a part of the message, else a guess.

        What is no text of its encoding, or is UTF-8 beside an encoding of single bytes, is read as such.
        """
        if charset in PLAIN_CHARSETS and JAPANESE.encode() in data:
            charset = "iso2022_jp"
        if data.isascii() and charset in PLAIN_CHARSETS:
            return data.decode()
        wider = meant(charset)
        codec = codecs.lookup(charset).name if charset is not None and wider is not None else None
        # A text that says that it is ASCII and is not says nothing.
        own = {wider if codec != "ascii" else codec: False, codec: False} if codec is not None else {}
        utf_8 = {"utf-8": codec not in (None, "ascii", "utf-8")}
        is_utf_8_last = codec is not None and (data.isascii() or has_several_bytes(codec))
        tried = own | utf_8 if is_utf_8_last else utf_8 | own
        charsets = (part.get_content_charset() for part in self._message.walk())
        declared = ((known, True) for each in charsets if each != "us-ascii" and (known := meant(each)))
        for encoding, is_told in chain(tried.items(), declared):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if is_told:
                self._warn_of(encoding)
            return text
        try:
            # All that has no encoding or a wrong one: the more there is, the better is the guess.
            parts = (part for part in self._message.walk() if not part.is_multipart())
            bodies = (part.get_payload(decode=True) for part in parts)
            raw = [each for each in bodies if isinstance(each, bytes) and not each.isascii()]
            encoding = decoded(b"\n".join([*self._raw, *raw])).encoding
        except ParseFailed:
            encoding = "latin-1"
        self._warn_of(encoding)
        text = data.decode(encoding, "replace")
        if "\ufffd" in text:
            self._builder.warn(f"What is no {encoding} in message {self._number} is shown as U+FFFD.")
        return text

    def _warn_of(self, encoding: str) -> None:
        self._builder.warn(
            f"A text of message {self._number} has a wrong encoding or none: it is read as {encoding}."
        )


def _is_plain(value: str) -> bool:
    return value.isascii() and JAPANESE not in value


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
