"""Words as search compares them: what an entity says, and what is asked for.

Both go through one function, :func:`tokens`, so that the index, the check behind it and a plain reading of
the text agree. Case, accents of Latin, Greek and Cyrillic letters, apostrophes and invisible joiners do
not count; punctuation parts words. Scripts that are written without blanks between words (Chinese,
Japanese, Korean with its particles, Thai, Lao, Khmer, Burmese) are taken by character, so that any part
of them is found; all others by word.

What is asked for is a list of *phrases*, one for each run of text between blanks: ``ada@example.org`` is
the three words in a row. Each must be there. Only words ever reach the index's query language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME

TEXT_LIMIT: Final = 20_000
"""Characters of an entity's text that are searched: its name first, then its values in their order."""
WORDS_LIMIT: Final = 32
"""Words that a search takes; further ones are left out, and that is said."""
WORD_LIMIT: Final = 64
"""Characters by which a word is compared."""
PREFIX_LEAST: Final = 2
"""Characters from which on the last word of a search may be the beginning of one."""
BETWEEN: Final = " | "
"""Stands between two values: no phrase goes across, and the index takes it for nothing."""

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
_APOSTROPHES = frozenset(map(ord, "'’ʼ`´"))
_MARK, _END = "\x1e", "\x1f"
_MARKED = re.compile(f"{_END}((?:{_MARK}.)*)", re.DOTALL)


class _Table(dict[int, str | None]):
    """What becomes of each character; filled as characters are met.

    A mark is preceded by ``_MARK``, a dense character followed by ``_END``: the marks behind it are its own.
    """

    def __missing__(self, point: int) -> str | None:
        character = chr(point)
        kind = unicodedata.category(character)
        if any(first <= point <= last for first, last in _DENSE) and kind[0] in "LN":
            found = f" {character}{_END}"
        elif kind[0] == "L" or kind in ("Nd", "Nl"):
            found = character
        elif kind[0] == "M":
            found = _MARK + character
        elif kind == "Cf" or point in _APOSTROPHES:
            found = None
        else:
            found = " "
        self[point] = found
        return found


_TABLE = _Table()


def folded(text: str) -> str:
    """Return a text without case and accents: NFKC, case folded, composed."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize(
        "NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_LETTERS)
    )


def tokens(text: str) -> list[str]:
    """Return the words of a text, each cut at ``WORD_LIMIT`` characters."""
    plain = folded(text)
    if plain.isascii():
        found = _ASCII_WORD.findall(plain.replace("'", "").replace("`", ""))
    else:
        parted = _MARKED.sub(r"\1 ", plain.translate(_TABLE)).replace(_MARK, "")
        found = [word for word in parted.split() if unicodedata.category(word[0])[0] != "M"]
    return [word if len(word) <= WORD_LIMIT else word[:WORD_LIMIT] for word in found]


def strings(value: Any) -> Iterator[str]:
    """Yield the strings of a value, those inside lists and objects too, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)


@lru_cache(maxsize=8_192)
def _said_short(text: str) -> tuple[str, ...]:
    return tuple(strings(canonical.decode(text)))


def said(text: str) -> tuple[str, ...]:
    """Return the strings of a value given as canonical JSON."""
    if text[:1] not in '"[{':
        return ()
    return _said_short(text) if len(text) <= 1_000 else tuple(strings(canonical.decode(text)))


@lru_cache(maxsize=8_192)
def _joined(text: str) -> str:
    return " ".join(tokens(text))


def text_of(name: str, held: Iterable[tuple[str, str]]) -> str:
    """Return what an entity says, as it is searched: its words, one value apart from the next.

    Args:
        name: what people call it.
        held: its fields with their canonical JSON.
    """
    found: dict[str, None] = {}
    room = TEXT_LIMIT
    for one in (name, *(one for field, text in held if field != CANONICAL_NAME for one in said(text))):
        part = _joined(one) if len(one) <= 1_000 else " ".join(tokens(one[:room]))
        if len(part) > room:
            part = part[:room].rpartition(" ")[0]
        if part and part not in found:
            found[part] = None
            room -= len(part) + len(BETWEEN)
        if room <= 0:
            break
    return BETWEEN.join(found)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search asks for: phrases, each of which must be there.

    ``last_begins``: the last word may be the beginning of one. ``left_out`` says that there were more words
    than are taken.
    """

    phrases: tuple[tuple[str, ...], ...]
    last_begins: bool = False
    left_out: bool = False

    @property
    def patterns(self) -> list[str]:
        """What the text of an entity that matches contains, a blank before and behind it."""
        found = [f" {' '.join(phrase)} " for phrase in self.phrases]
        return [*found[:-1], found[-1].rstrip(" ")] if self.last_begins else found

    def matches(self, text: str) -> bool:
        """Return whether a text (:func:`text_of`) says all of it."""
        padded = f" {text} "
        return bool(self.phrases) and all(pattern in padded for pattern in self.patterns)


def ask(query: str, *, begins: bool = False) -> Asked:
    """Return what a text asks for; no phrases where it has no word.

    Args:
        begins: the last word may be the beginning of one, unless it is very short or text follows it.
    """
    phrases: dict[tuple[str, ...], None] = {}
    words, left_out, ends = 0, False, False
    for part in query.split():
        phrase = tuple(tokens(part))
        # A last word that stood there before is whole there.
        ends = bool(phrase) and phrase not in phrases
        if ends:
            if words + len(phrase) > WORDS_LIMIT and words:
                left_out = True
                break
            left_out = left_out or len(phrase) > WORDS_LIMIT
            phrases[phrase[:WORDS_LIMIT]] = None
            words += len(phrase)
    found = tuple(phrases)
    ends = ends and not left_out and len(found[-1][-1]) >= PREFIX_LEAST
    return Asked(found, begins and ends and unicodedata.category(query[-1])[0] in "LNM", left_out)


def lucene(asked: Asked, owner: str, types: Sequence[str]) -> str:
    """Return the index's query for what is asked: quoted words, and the owner inside it.

    Nothing that a caller wrote reaches the index's parser but words; that the owner and the words are right
    is checked again on what it finds.
    """
    wanted = [f'+"{" ".join(phrase)}"' for phrase in asked.phrases]
    if asked.last_begins:
        *before, last = asked.phrases[-1]
        # A beginning cannot stand inside a phrase: what is before it must be there, in a row.
        wanted[-1] = f'+("{last}" OR {last}*)'
        if before:
            wanted[-1] += f' +"{" ".join(before)}"'
    kinds = f" +listed:({' '.join(_quoted(kind) for kind in types)})^0" if types else ""
    return f"+owner:{_quoted(owner)}^0{kinds} +text:({' '.join(wanted)})"


def _quoted(term: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", term) + '"'


def best_field(asked: Asked, name: str, held: Iterable[tuple[str, str]]) -> str:
    """Return the field of an entity that says most of what is asked for; the name before all others.

    Args:
        name: what people call it, which stands for its ``canonical_name``.
        held: its fields with their canonical JSON.
    """
    best, most = CANONICAL_NAME, _says(asked, name)
    for field, text in held:
        found = max((_says(asked, one) for one in said(text)), default=0)
        if found > most:
            best, most = field, found
    return best


def _says(asked: Asked, text: str) -> int:
    padded = f" {' '.join(tokens(text))} "
    return sum(pattern in padded for pattern in asked.patterns)
