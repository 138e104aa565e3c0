"""Words as search compares them: those of an entity and those of a query.

Both go through one function, :func:`tokens`, so that the index and the check of its hits agree. Case, accents
of Latin, Greek and Cyrillic letters, apostrophes and invisible joiners do not count; punctuation separates
words. Scripts that are written without blanks between words (Chinese, Japanese, Korean with its particles,
Thai, Lao, Khmer, Burmese) are split into characters, so that any part of a word matches; all others are split
into words. An emoji is a word.

A query is a list of *phrases*, one for each run of text between blanks: ``ada@example.org`` is a phrase of
three words. A match has every phrase. Nothing but words reaches the index's query language.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME

TEXT_LIMIT: Final = 20_000
"""Characters of an entity's text that are searched: its name first, then its values in their order."""
WORDS_LIMIT: Final = 32
"""Words that a search takes. Further words are left out, and the answer says so."""
WORD_LENGTH_LIMIT: Final = 64  # characters of a word that are compared
PREFIX_LENGTH_LEAST: Final = 2  # a last word of at least so many characters may be the beginning of a word
VALUE_SEPARATOR: Final = " | "  # separates two values: no phrase crosses it, and the index ignores it
ALIAS_SEPARATOR: Final = " ~ "
"""Stands before a value that is another name of the entity, in place of ``VALUE_SEPARATOR``."""

_ASCII_WORD = re.compile(r"[a-z0-9]+", re.ASCII)
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
})  # fmt: skip
_DENSE = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x3005, 0x3007),
    (0x3040, 0x312F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Thai and Lao, Burmese, Hangul, Khmer, Kana and Bopomofo, ideographs."""
_DENSE_CLASS: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in _DENSE)
_IS_DENSE = re.compile(f"[{_DENSE_CLASS}]")
_EMOJI = ((0x231A, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
_APOSTROPHES = frozenset(map(ord, "'’ʼ`´"))
_MARK, _END = "\x1e", "\x1f"
_MARKED = re.compile(f"{_END}((?:{_MARK}.)*)", re.DOTALL)


class _Table(dict[int, str | None]):
    """What each character is translated to; filled as characters occur. A mark is preceded by ``_MARK``, a
    dense character followed by ``_END``: the marks behind it are its own."""

    def __missing__(self, point: int) -> str | None:
        character = chr(point)
        kind = unicodedata.category(character)
        if any(first <= point <= last for first, last in _DENSE) and kind[0] in "LN":
            translation = f" {character}{_END}"
        elif kind[0] == "L" or kind in ("Nd", "Nl"):
            translation = character
        elif is_emoji(character):
            translation = f" {character} "
        elif kind[0] == "M":
            translation = _MARK + character
        elif kind == "Cf" or point in _APOSTROPHES:
            translation = None
        else:
            translation = " "
        self[point] = translation
        return translation


_TABLE = _Table()


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def is_dense(token: str) -> bool:
    """Return whether a word is a character of a script that is written without blanks."""
    return not token.isascii() and _IS_DENSE.match(token) is not None


def is_emoji(token: str) -> bool:
    is_sign = len(token) == 1 and any(first <= ord(token) <= last for first, last in _EMOJI)
    return is_sign and unicodedata.category(token) == "So"


def is_spelled(token: str) -> bool:
    """Return whether a word has letters and their marks alone, or is an emoji."""
    is_letters = token.isalpha() or all(unicodedata.category(each)[0] in "LM" for each in token)
    return is_letters or is_emoji(token)


_DENSE_PART = re.compile(rf"[^\w{_DENSE_CLASS}]*[{_DENSE_CLASS}][^\w]*|[^{_DENSE_CLASS}]+")


def dense_parts(text: str) -> list[str]:
    """Return the characters of a dense script in a text by themselves, and what is between them. Marks and
    punctuation stay with the character before them."""
    if text.isascii() or _IS_DENSE.search(text) is None:
        return [text]
    return _DENSE_PART.findall(unicodedata.normalize("NFKC", text))


def folded(text: str) -> str:
    """Return a text without case and accents: NFKC, case folded, composed."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize(
        "NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_LETTERS)
    )


def tokens(text: str) -> list[str]:
    """Return the words of a text, each cut at ``WORD_LENGTH_LIMIT`` characters."""
    plain = folded(text)
    if plain.isascii():
        words = _ASCII_WORD.findall(plain.replace("'", "").replace("`", ""))
    else:
        parted = _MARKED.sub(r"\1 ", plain.translate(_TABLE)).replace(_MARK, "")
        words = [word for word in parted.split() if unicodedata.category(word[0])[0] != "M"]
    return [word if len(word) <= WORD_LENGTH_LIMIT else word[:WORD_LENGTH_LIMIT] for word in words]


def has_letter(text: str) -> bool:
    """Return whether a text has a letter: numbers and signs alone say nothing that has a meaning."""
    return any(character.isalpha() for character in text)


def strings(value: Any) -> Iterator[str]:
    """Yield the strings of a value, those inside lists and objects too, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)
    elif isinstance(value, dict):
        for element in value.values():
            yield from strings(element)


@lru_cache(maxsize=8_192)
def _strings_of_short(text: str) -> tuple[str, ...]:
    return tuple(strings(canonical.decode(text)))


def strings_of(text: str) -> tuple[str, ...]:
    """Return the strings of a value given as canonical JSON."""
    if text[:1] not in '"[{':
        return ()
    return _strings_of_short(text) if len(text) <= 1_000 else tuple(strings(canonical.decode(text)))


@lru_cache(maxsize=8_192)
def _joined(text: str) -> str:
    return " ".join(tokens(text))


def text_of(name: str, values: Iterable[tuple[str, str]], alias_fields: Collection[str] = ()) -> str:
    """Return the text of an entity that search compares: its words, value by value.

    Args:
        alias_fields: the fields whose values are other names of the entity.
    """
    parts: dict[str, str] = {}
    room = TEXT_LIMIT
    strings_of_values = (
        (string, ALIAS_SEPARATOR if field in alias_fields else VALUE_SEPARATOR)
        for field, text in values
        if field != CANONICAL_NAME
        for string in strings_of(text)
    )
    for string, separator in ((name, ""), *strings_of_values):
        part = _joined(string) if len(string) <= 1_000 else " ".join(tokens(string[:room]))
        if len(part) > room:
            part = part[:room].rpartition(" ")[0]
        if part and part not in parts:
            parts[part] = separator if parts else ""
            room -= len(part) + len(VALUE_SEPARATOR)
        elif separator == ALIAS_SEPARATOR and parts.get(part):
            parts[part] = separator
        if room <= 0:
            break
    return "".join(separator + part for part, separator in parts.items())


@dataclass(frozen=True, slots=True)
class TextQuery:
    """The phrases of a search; ``last_begins``: the last word may be the beginning of a word. ``left_out``:
    the query had more words than a search takes."""

    phrases: tuple[tuple[str, ...], ...]
    last_begins: bool = False
    left_out: bool = False


def parse_query(query: str, *, begins: bool = False) -> TextQuery:
    """Return the phrases of a query; there are none where it has no word.

    Args:
        begins: the last word may be the beginning of a word, unless it is very short or text follows it.
    """
    phrases: dict[tuple[str, ...], None] = {}
    words, left_out, ends = 0, False, False
    for part in query.split():
        phrase = tuple(tokens(part))
        # A last word that stood there before is whole there.
        ends = bool(phrase) and phrase not in phrases
        if ends and (left_out := words + len(phrase) > WORDS_LIMIT) and words:
            break
        if ends:
            phrases[phrase[:WORDS_LIMIT]] = None
            words += len(phrase)
    phrase_list = tuple(phrases)
    ends = ends and not left_out and len(phrase_list[-1][-1]) >= PREFIX_LENGTH_LEAST
    return TextQuery(phrase_list, begins and ends and unicodedata.category(query[-1])[0] in "LNM", left_out)


def best_field(spellings: Collection[str], name: str, values: Iterable[tuple[str, str]]) -> str:
    """Return the field of an entity that has most of some words; the name comes first."""
    best, most = CANONICAL_NAME, 2 * _count(spellings, name)
    for field, text in values:
        # A word of the value counts more than one of the field's name.
        count = 2 * max((_count(spellings, string) for string in strings_of(text)), default=0)
        count = max(count, _count(spellings, field))
        if count > most:
            best, most = field, count
    return best


def _count(spellings: Collection[str], text: str) -> int:
    return len({token for token in tokens(text) if token in spellings})
