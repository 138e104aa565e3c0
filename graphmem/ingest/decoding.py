"""From bytes to text: the byte order mark, UTF-8, UTF-16, and a guess that the warnings name."""

from __future__ import annotations

import codecs
import re
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
LINES_SHOWN = 20
"""Lines that a warning names."""
NEAR_WESTERN = {"cp1250", "cp1257"}
"""Encodings that a guess takes for that of Western Europe, and the other way round, where a text is short."""
CENTRAL = re.compile("[ŠšŽž]|[A-Za-z][¹³¿Ÿ]|[¹³¿£][a-z]")
"""What hardly stands in a Western text: letters of Central Europe, or what they become there."""
CONTROL_SHARE_LIMIT = 0.02
"""A text has fewer control characters than this share of its first bytes."""
ZERO_TAIL_BYTES = 4
"""So many zero bytes at the end are no character of a text."""
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
    # Letters of many scripts have no byte above 0x7F in UTF-16: as UTF-8 they would be other letters.
    encoding = _utf_16(data)
    if encoding is not None:
        return _strict_or_replaced(
            data, encoding, (f"The file has no byte order mark: it is read as {encoding}.",)
        )
    try:
        return _finished(data.decode(), "utf-8", ())
    except UnicodeDecodeError as exc:
        if _is_damaged_utf_8(data, exc):
            return _strict_or_replaced(data, "utf-8", ())
    if not is_text(data):
        raise ParseFailed(
            "The file has control characters as binary files have: it is no text.", "unsupported"
        )
    if declared is not None and known(declared):
        return _strict_or_replaced(data, declared, ())
    encoding = _guess(data[:GUESS_BYTES])
    return _strict_or_replaced(data, encoding, (f"The encoding is a guess: {encoding}.",))


def _guess(sample: bytes) -> str:
    """Return the most likely encoding; where others are as likely, that of Western Europe."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(GUESSED)).best()
    western = sample.decode("cp1252", "replace")
    is_central = best is not None and best.encoding in NEAR_WESTERN and CENTRAL.search(western) is not None
    if best is None or (best.encoding in NEAR_WESTERN and not is_central and "\ufffd" not in western):
        return "cp1252"
    return best.encoding


def whole_text(builder: Builder, data: bytes) -> str:
    """Decode a file of text and add the whole text to the document; return it."""
    text, encoding, warnings = decoded(data)
    builder.add(text)
    builder.warn(*warnings)
    builder.metadata["encoding"] = encoding
    return text


def unended(text: str) -> list[str]:
    """Return a warning where the last line has no end, as in a file that was cut."""
    line = text.count("\n") + 1
    warning = f"Line {line} has no line end: if the file was cut, its last value is not whole."
    return [] if text.endswith("\n") else [warning]


def beginning(head: bytes) -> str:
    """Return the text of the first bytes of a file, without what is no UTF: enough to recognise a format."""
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return normal(head[len(mark) :].decode(encoding, "ignore"))
    return normal(head.decode(_utf_16(head) or "utf-8", "ignore"))


def is_text(data: bytes) -> bool:
    if data.startswith(tuple(mark for mark, _ in MARKS)) or _utf_16(data) is not None:
        return True
    sample = data[:GUESS_BYTES]
    return len(sample) - len(sample.translate(None, CONTROLS)) <= CONTROL_SHARE_LIMIT * len(sample)


def without_zero_tail(data: bytes) -> bytes:
    """Return a text without the zero bytes at its end, which a write that was cut off leaves there."""
    text = data.rstrip(b"\0")
    if len(data) - len(text) < ZERO_TAIL_BYTES or not text or not is_text(text):
        return data
    mark = next((encoding for mark, encoding in MARKS if text.startswith(mark)), _utf_16(text) or "utf-8")
    unit = {"utf-32": 4, "utf-16": 2}.get(mark[:6], 1)
    return text + b"\0" * (-len(text) % unit)


def _utf_16(data: bytes) -> str | None:
    """Return the form of UTF-16 whose high bytes are often zero, as those of spaces and line ends are."""
    sample = data[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    fewer, more = sorted((even, odd))
    if more < max(2, 0.1 * (len(sample) // 2)) or fewer > 0.05 * more:
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    text = sample.decode(encoding, "ignore")
    controls = len(text) - len(text.translate(dict.fromkeys(CONTROLS)))
    return encoding if controls <= CONTROL_SHARE_LIMIT * len(text) else None


def _is_damaged_utf_8(data: bytes, error: UnicodeDecodeError) -> bool:
    """Return whether bytes are UTF-8 but for fewer than its characters beyond ASCII, not counting a cut."""
    text = data.decode(errors="replace")
    cut = error.reason == "unexpected end of data"
    damage = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - damage > damage - cut


def known(encoding: str) -> bool:
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
        warnings = (*warnings, f"What is no {encoding} is shown as U+FFFD{_lines(text, chr(0xFFFD))}.")
    return _finished(text, encoding, warnings)


def _finished(text: str, encoding: str, warnings: tuple[str, ...]) -> Decoded:
    if "\0" in text:
        warnings = (*warnings, f"NUL characters are left out{_lines(text, chr(0))}.")
    return Decoded(normal(text.removeprefix("\ufeff")), encoding, warnings)


def _lines(text: str, character: str) -> str:
    """Return the number of a character and the lines of the first ones, for a sentence."""
    numbers = [str(number) for number, line in enumerate(text.splitlines(), 1) if character in line]
    first_numbers = ", ".join(numbers[:LINES_SHOWN]) + (" …" if len(numbers) > LINES_SHOWN else "")
    return f": {text.count(character):,} in line{'s' * (len(numbers) > 1)} {first_numbers}"
