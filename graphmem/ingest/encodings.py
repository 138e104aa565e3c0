"""Encodings: what a label means, and which are likely for bytes without one.

``chardet`` ranks the encodings by the frequencies of pairs of bytes. Among those that it finds about as
likely, the letters of languages decide: Czech has no "¥", and no language has both "þ" and "ã".
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from typing import Final

from graphmem.errors import InvalidInput
from graphmem.ingest.tables import table

CHARSET: Final = re.compile(r""";\s*charset\s*=\s*"?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
"""The parameter of a mime type."""
NEAR: Final = 0.75  # an encoding is about as likely as the best one if it has so much of its confidence
NEAR_OF_SHORT: Final = 0.5  # the same for a text with few letters beyond ASCII
ALIKE: Final = 0.9
"""With so much of the confidence a short text of Western Europe may have a letter of another language."""
BEYOND_ASCII: Final = re.compile("[^\0-\x7f]")
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
        is_short = sum(map(str.isalpha, BEYOND_ASCII.findall(text))) < SHORT_LETTERS
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
    firsts = Counter(character.encode(encoding)[0] for character in BEYOND_ASCII.findall(text))
    return sum(
        count for first, count in firsts.items() if not any(low <= first <= high for low, high in ranges)
    )


def _unusual(text: str) -> int:
    """Return how many characters stand where a text of any one language would not have them."""
    letters: Counter[str] = Counter()
    unusual = 0
    for match in BEYOND_ASCII.finditer(text):
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
