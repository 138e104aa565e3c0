"""From bytes to text: the byte order mark, UTF-8, UTF-16, and a guess that the warnings name.

``chardet`` ranks the encodings by the frequencies of pairs of bytes. Among those that it finds about as
likely, the letters of languages decide: Czech has no "¥", and no language has both "þ" and "ã".
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from typing import Final, NamedTuple

from graphmem.errors import InvalidInput
from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.tables import table

CHARSET: Final = re.compile(r""";\s*charset\s*=\s*"?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
"""The parameter of a mime type."""
NEAR: Final = 0.75  # an encoding is about as likely as the best one if it has so much of its confidence
NEAR_OF_SHORT: Final = 0.5  # the same for a text with few letters beyond ASCII
ALIKE: Final = 0.9
"""With so much of the confidence a short text of Western Europe may have a letter of another language."""
TEXT_BEYOND_ASCII: Final = re.compile("[^\0-\x7f]")
SCRIPTS: Final = ("\u0370\u03ff", "\u0400\u04ff", "\u0590\u05ff", "\u0600\u06ff", "\u0e00\u0e7f")
"""Scripts whose letters do not stand beside Latin ones in a word: Greek, Cyrillic, Hebrew, Arabic, Thai."""
EAST_ASIAN: Final = "\u1100\U0010ffff"
ORDINALS: Final = "ªº"
WITHIN_WORDS: Final = "’·—"  # signs that may stand between two letters
SHORT_LETTERS: Final = 6  # a text with fewer letters beyond ASCII is a short one
WESTERN: Final = "cp1252"  # of encodings that fit as well this one comes first
CHINESE: Final = "gb18030"


def meant(label: str | None) -> str | None:
    """Return the codec of Python for what programs mean by a label, ``None`` for an unknown one.

    As in browsers, "Shift_JIS" is windows-31j and "ISO-8859-1" windows-1252 (WHATWG Encoding Standard, 4.2).
    """
    name = (label or "").strip().lower()
    try:
        codec = codecs.lookup(table("encodings")["labels"].get(name, name))
    except (LookupError, ValueError):
        return None
    # Codecs such as "hex" decode bytes to bytes.
    return table("encodings")["meant"].get(codec.name, codec.name) if codec._is_text_encoding else None


def charset_of(mime_type: str | None) -> str | None:
    """Return the charset of a mime type as it is written there (RFC 2046, 4.1.2), ``None`` if it has none."""
    charset = CHARSET.search(mime_type or "")
    return charset[1].lower() if charset is not None else None


def with_charset(mime_type: str | None, encoding: str | None) -> str | None:
    """Return a mime type with a charset in place of its own; the type alone if there is no encoding.

    Raises:
        InvalidInput: the encoding is unknown.
    """
    if encoding is None:
        return mime_type
    if meant(encoding) is None:
        raise InvalidInput(
            f"the encoding {encoding!r} is unknown: name one such as utf-8, cp1250, shift_jis or koi8-r"
        )
    return f"{(mime_type or 'text/plain').partition(';')[0]}; charset={encoding}"


def has_several_bytes(encoding: str) -> bool:
    """Return whether characters beyond ASCII have several bytes, so that bytes seldom fit by chance."""
    return len(bytes(range(0x80, 0x100)).decode(encoding, "replace")) != 0x80


def likely(sample: bytes) -> list[str]:
    """Return the encodings that bytes may have, each for another text, the most likely first."""
    import chardet

    ranked = chardet.detect_all(
        sample,
        compat_names=False,
        include_encodings=table("encodings")["candidates"].split(),
        ignore_threshold=True,
    )
    best = max((each["confidence"] for each in ranked), default=0)
    east_asian = table("encodings")["usual_characters"]
    is_east_asian = bool(ranked) and meant(ranked[0]["encoding"]) in east_asian
    texts: dict[str, str] = {}
    faults: dict[str, tuple[int, int]] = {}
    for each in ranked:
        encoding, share = meant(each["encoding"]), each["confidence"] / best if best else 1
        if encoding is None or encoding in texts:
            continue
        try:
            # A sample may end within a character.
            text = codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        is_short = sum(map(str.isalpha, TEXT_BEYOND_ASCII.findall(text))) < SHORT_LETTERS
        is_western = is_short and encoding == WESTERN
        near = NEAR_OF_SHORT if is_short else NEAR
        if share >= near or is_western or (is_east_asian and encoding in east_asian):
            texts[encoding] = text
            # Names of several languages may stand beside each other.
            allowed = is_western and share >= ALIKE
            # A third of the characters of Chinese are rare ones as Japanese, and none the other way round.
            place = {WESTERN: 0, CHINESE: 2}.get(encoding, 1)
            faults[encoding] = (max(0, _unusual(text) + _rare(text, encoding) - allowed), place)
    first_of_text: dict[str, str] = {}
    for encoding in sorted(faults, key=faults.__getitem__):
        first_of_text.setdefault(texts[encoding], encoding)
    return list(first_of_text.values())


def _rare(text: str, encoding: str) -> int:
    """Return how many characters of East Asia are rare ones of an encoding."""
    if encoding not in table("encodings")["usual_characters"]:
        return 0
    limits = bytes.fromhex(table("encodings")["usual_characters"][encoding])
    ranges = list(zip(limits[::2], limits[1::2], strict=True))
    firsts = Counter(character.encode(encoding)[0] for character in TEXT_BEYOND_ASCII.findall(text))
    return sum(
        count for first, count in firsts.items() if not any(low <= first <= high for low, high in ranges)
    )


def _unusual(text: str) -> int:
    """Return how many characters stand where a text of any one language would not have them."""
    letters: Counter[str] = Counter()
    unusual = 0
    for match in TEXT_BEYOND_ASCII.finditer(text):
        character = match[0]
        before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
        category = unicodedata.category(character)
        if character.isalpha() and character not in ORDINALS:
            letters[character.lower()] += 1
            is_mixed = any(each.isascii() and each.isalpha() for each in (before, after))
            unusual += is_mixed and any(first <= character <= last for first, last in SCRIPTS)
            # No capital letter stands behind a small one.
            unusual += character.isupper() and before.islower()
            unusual += character.islower() and before.isalpha() and after.isupper()
        elif category in ("Cc", "Cn", "Co"):
            unusual += 2
        elif category[0] == "S" or category == "No" or character in ORDINALS:
            unusual += before.isalpha() or after.isalpha()
        elif category[0] in "PZ" and character not in WITHIN_WORDS and not character.isspace():
            unusual += before.isalpha() and after.isalpha()
    of_languages = (
        sum(letters[each] for each in alphabet) for alphabet in table("encodings")["letters"].values()
    )
    of_scripts = (
        sum(count for letter, count in letters.items() if first <= letter <= last)
        for first, last in (*SCRIPTS, EAST_ASIAN)
    )
    return unusual + letters.total() - max(*of_languages, *of_scripts)


MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The mark of UTF-32 begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESS_BYTES = 65_536
"""How much of a file a guess of its encoding looks at, from the first line that is beyond ASCII."""
SCRIPT_SHARE = 0.4
"""So many characters of a text in UTF-16 have one first byte, as those of most scripts have."""
BEYOND_ASCII = re.compile(rb"[^\0-\x7f]")
ISO_2022 = (b"\x1b$", b"\x1b(")  # how ISO-2022-JP and ISO-2022-KR begin, which have no byte beyond ASCII
DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})["']""")
"""The encoding that an XML declaration names."""
LINES_SHOWN = 20  # lines that a warning names
CONTROL_SHARE_LIMIT = 0.02  # a text has fewer control characters than this share of its first bytes
ZERO_TAIL_SAMPLE_BYTES = 4_096  # bytes by which a file with such a tail is taken for a text
ZERO_TAIL_BYTES = 4  # so many zero bytes at the end are no character of a text
WHITE_SPACE = "\t\n\f\r\x1b"  # control characters that a text may have; the last one changes the alphabet
CONTROLS = bytes({*range(0x20), 0x7F} - set(WHITE_SPACE.encode()))


class Decoded(NamedTuple):
    """A text in normal form, the encoding of its bytes, and what was guessed or replaced."""

    text: str
    encoding: str
    warnings: tuple[str, ...]


def decoded(data: bytes, declared: str | None = None) -> Decoded:
    """Return the text of ``data``. ``declared`` is the encoding that the file itself names, if it does.

    A byte order mark comes first, then UTF-16 by its zeros, UTF-8, and what is declared: many files of UTF-8
    declare another encoding. Text of ISO-2022 and of encodings of several bytes may look like UTF-8.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _strict_or_replaced(data[len(mark) :], encoding, ())
    # Letters of many scripts have no byte above 0x7F in UTF-16: as UTF-8 they would be other letters.
    encoding = _utf_16(data)
    if encoding is not None:
        return _strict_or_replaced(
            data, encoding, (f"The file has no byte order mark: it is read as {encoding}.",)
        )
    if declared is None and (declaration := DECLARED.match(data)) is not None:
        declared = declaration[1].decode()
    encoding = meant(declared)
    if encoding is not None and has_several_bytes(encoding) and _decodes(data, encoding):
        return _strict_or_replaced(data, encoding, ())
    if any(each in data for each in ISO_2022):
        for each in ("iso2022_jp_ext", "iso2022_kr"):
            if _decodes(data, each):
                return _strict_or_replaced(data, each, ())
    try:
        return _finished(data.decode(), "utf-8", ())
    except UnicodeDecodeError as exc:
        if _is_damaged_utf_8(data, exc):
            return _strict_or_replaced(data, "utf-8", ())
    if not is_text(data):
        raise ParseFailed(
            "The file has control characters as binary files have: it is no text.", "unsupported"
        )
    if encoding is not None:
        return _strict_or_replaced(data, encoding, ())
    return _guessed(data)


def _guessed(data: bytes) -> Decoded:
    first = BEYOND_ASCII.search(data)
    line = data.rfind(b"\n", 0, first.start()) + 1 if first is not None else 0
    encoding, *others = likely(data[line : line + GUESS_BYTES]) or [WESTERN]
    after = f", the next likely one is {others[0]}" if others else ""
    warning = (
        f"The encoding is a guess: {encoding}{after}. To read the file by another one, name it as the "
        f"charset of the mime type, such as text/plain; charset={others[0] if others else 'cp1250'}."
    )
    return _strict_or_replaced(data, encoding, (warning,))


def in_utf_8(data: bytes, declared: str | None) -> tuple[bytes, str | None, tuple[str, ...]]:
    """Return a text in UTF-8 with a byte order mark, read by the charset of a declared mime type.

    Returns:
        the bytes, the encoding by which they were read, and warnings. Bytes without a charset, and those that
        are none of it, stay as they are.
    """
    charset = charset_of(declared)
    if charset is None:
        return data, None, ()
    encoding = meant(charset)
    if encoding is None or not _decodes(data, encoding):
        what = "is unknown" if encoding is None else "does not fit the file"
        return data, None, (f"The charset {charset} {what}: the encoding is found by the bytes.",)
    return codecs.BOM_UTF8 + data.decode(encoding).removeprefix("\ufeff").encode(), encoding, ()


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


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
    if len(data) - len(text) < ZERO_TAIL_BYTES or not text or not is_text(text[:ZERO_TAIL_SAMPLE_BYTES]):
        return data
    mark = next((encoding for mark, encoding in MARKS if text.startswith(mark)), _utf_16(text) or "utf-8")
    unit = {"utf-32": 4, "utf-16": 2}.get(mark[:6], 1)
    return text + b"\0" * (-len(text) % unit)


def _utf_16(data: bytes) -> str | None:
    """Return the form of UTF-16 of bytes without a mark, ``None`` if they are no text in it.

    Text of one byte a character has no zeros; that of UTF-16 has them in its line ends and spaces.
    """
    sample = data[:GUESS_BYTES]
    if b"\0" not in sample:
        return None
    plain: dict[str, int] = {}
    for encoding, high_bytes in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        text = sample.decode(encoding, "replace")
        # In a damaged text of another encoding a zero stands beside few of the line feeds.
        is_parted = 2 * text.count("\n") >= max(2, sample.count(b"\n"))
        is_of_script = max(map(high_bytes.count, set(high_bytes))) >= SCRIPT_SHARE * len(high_bytes)
        if not (is_parted or is_of_script):
            continue
        wrong = sum(map(text.count, filter(_is_no_text, set(text))))
        if wrong <= CONTROL_SHARE_LIMIT * len(text):
            plain[encoding] = sum(map(str.isascii, text))
    return max(plain, key=plain.__getitem__, default=None)


def _is_no_text(character: str) -> bool:
    """Return whether a character is a control, unassigned, private, or stands for what could not be read."""
    is_control = unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs")
    return character == "\ufffd" or (is_control and character not in WHITE_SPACE)


def _is_damaged_utf_8(data: bytes, error: UnicodeDecodeError) -> bool:
    """Return whether bytes are UTF-8 but for fewer than its characters beyond ASCII, not counting a cut."""
    text = data.decode(errors="replace")
    cut = error.reason == "unexpected end of data"
    damage = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - damage > damage - cut


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
