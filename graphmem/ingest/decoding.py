"""From bytes to text: the byte order mark, UTF-8, UTF-16, and a guess that the warnings name."""

from __future__ import annotations

import codecs
from typing import NamedTuple

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import ParseFailed

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The mark of UTF-32 begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESS_BYTES = 65_536
"""How much of a file a guess of its encoding looks at."""
GUESSED = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "koi8_r",
    "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""The encodings among which a guess chooses: among all of Python, short texts would get rare ones."""
CONTROL_SHARE_LIMIT = 0.02
"""A text has fewer control characters than this share of its first bytes."""
CONTROLS = bytes({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B})


class Decoded(NamedTuple):
    """A text in normal form, the encoding of its bytes, and what was guessed or replaced."""

    text: str
    encoding: str
    warnings: tuple[str, ...]


def decoded(data: bytes, declared: str | None = None) -> Decoded:
    """Return the text of ``data``. ``declared`` is the encoding that the file itself names, if it does."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _strict_or_replaced(data[len(mark) :], encoding, ())
    try:
        return _finished(data.decode(), "utf-8", ())
    except UnicodeDecodeError:
        pass
    encoding = _utf_16(data)
    if encoding is not None:
        return _strict_or_replaced(
            data, encoding, (f"The file has no byte order mark: it is read as {encoding}.",)
        )
    if not is_text(data):
        raise ParseFailed(
            "The file has control characters as binary files have: it is no text.", "unsupported"
        )
    if declared is not None and _known(declared):
        return _strict_or_replaced(data, declared, ())
    from charset_normalizer import from_bytes

    best = from_bytes(data[:GUESS_BYTES], cp_isolation=list(GUESSED)).best()
    encoding = "windows-1252" if best is None else best.encoding
    return _strict_or_replaced(data, encoding, (f"The encoding is a guess: {encoding}.",))


def whole_text(builder: Builder, data: bytes) -> str:
    """Decode a file of text and add the whole text to the document; return it."""
    text, encoding, warnings = decoded(data)
    builder.add(text)
    builder.warn(*warnings)
    builder.metadata["encoding"] = encoding
    return text


def beginning(head: bytes) -> str:
    """Return the text of the first bytes of a file, without what is no UTF: enough to recognise a format."""
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return normal(head[len(mark) :].decode(encoding, "ignore"))
    return normal(head.decode(_utf_16(head[: len(head) - len(head) % 2]) or "utf-8", "ignore"))


def is_text(data: bytes) -> bool:
    """Return whether the first bytes can be those of a text."""
    if data.startswith(tuple(mark for mark, _ in MARKS)) or _utf_16(data) is not None:
        return True
    sample = data[:GUESS_BYTES]
    return len(sample) - len(sample.translate(None, CONTROLS)) <= CONTROL_SHARE_LIMIT * len(sample)


def _utf_16(data: bytes) -> str | None:
    """Return the form of UTF-16 in which every second byte of most characters of a text is zero."""
    sample = data[:4096]
    if len(sample) < 2 or len(data) % 2:
        return None
    zeros_even, zeros_odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if zeros_odd > 0.7 * half and zeros_even == 0:
        return "utf-16-le"
    if zeros_even > 0.7 * half and zeros_odd == 0:
        return "utf-16-be"
    return None


def _known(encoding: str) -> bool:
    try:
        # Codecs such as "hex" decode bytes to bytes.
        return codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        return False


def _strict_or_replaced(data: bytes, encoding: str, warnings: tuple[str, ...]) -> Decoded:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        count = text.count("\ufffd")
        warnings = (*warnings, f"{count:,} places that are no {encoding} are shown as U+FFFD.")
    return _finished(text, encoding, warnings)


def _finished(text: str, encoding: str, warnings: tuple[str, ...]) -> Decoded:
    if "\0" in text:
        warnings = (*warnings, f"{text.count(chr(0)):,} NUL characters are left out.")
    return Decoded(normal(text.removeprefix("\ufeff")), encoding, warnings)
