"""Ranking of context lines for an agent: most useful first, cut to a budget, deterministic.

A *line* is one value of one entity, or one relationship, with its time and its observation. The order of
lines depends on the question and the stored state alone (:func:`ordered`). Lines are taken in that order
until the budget is spent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from graphmem.model import canonical
from graphmem.model.identity import IDENTIFIER_KINDS

Unit = Literal["tokens", "characters"]
VALUE_LIMIT: Final = 600
"""Characters of one value; a longer value is cut to the part around the words of the question."""
MIN_VALUE_CHARACTERS: Final = 40
"""Characters that a value keeps at least if a small budget cuts it further."""
NAME_BONUS: Final = 0.2
"""Added weight of a name or a contact point. Ids get none: they mean nothing to a reader."""
_NUMBER: Final = "external_id"
STEM_LETTERS: Final = 4
"""A word of at least this many letters matches the words that begin with it."""
RELATED_WEIGHT_FACTOR: Final = 0.5
"""Weight of a related entity, as a factor of the weight of the entity that it is related to."""

NAME_WORDS: Final = 6
"""Most consecutive words of a question that are looked up as a name."""
QUESTION_WORDS: Final = 64
_AROUND: Final = "\"'.,;:!?()[]{}<>«»„“”‘’…¿¡-–—"
_POSSESSIVE = re.compile("['’]s$")
_PIECE = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Contest:
    """A value of a field that did not win although it is not older than the winner."""

    value: str
    observed_at: int
    observation_id: str
    observation_source: str


class About(NamedTuple):
    """The entity that a line is about."""

    id: str
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Line:
    """One value or one relationship of an entity. Times are microseconds, ``value`` is canonical JSON.

    ``place`` is the rank of the entity among the requested ones, from 0; ``weight`` is the entity's weight;
    ``words`` are the words that are compared with the question. For a relationship, ``field`` is its type,
    ``related`` the entity at the other end, and ``value`` the name of that entity.
    """

    place: int
    weight: float
    about: About
    field: str
    value: str
    observed_at: int
    observation_id: str
    words: frozenset[str]
    contested: tuple[Contest, ...] = ()
    direction: str = ""
    related: About | None = None

    def usefulness(self, question_words: frozenset[str]) -> float:
        """Return how useful the line is for a question: the weight of its entity, raised by shared words."""
        shared = sum(any(_same_stem(word, own) for own in self.words) for word in question_words)
        named = NAME_BONUS if IDENTIFIER_KINDS.get(self.field, _NUMBER) != _NUMBER else 0.0
        return round(self.weight * (1.0 + 4.0 * shared / max(len(question_words), 1) + named), 9)


def _same_stem(word: str, other: str) -> bool:
    """Return whether two words are equal, or one begins with the other: work, works, working."""
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) >= STEM_LETTERS and longer.startswith(shorter))


def ordered(lines: Iterable[Line], question_words: frozenset[str]) -> list[Line]:
    """Sort lines by usefulness, then by the place of their entity, newest first, then by field name."""

    def place(line: Line) -> tuple[Any, ...]:
        return (
            -line.usefulness(question_words), line.place, line.related is not None, -line.observed_at,
            canonical.name_order(line.field), line.observation_id, line.related or (),
        )  # fmt: skip

    return sorted(lines, key=place)


def phrases(question: str) -> list[str]:
    """Return the runs of words of a question that may be names, in their spelling.

    A run has up to :data:`NAME_WORDS` words among the first :data:`QUESTION_WORDS`. Each run is returned with
    and without the punctuation around it.
    """
    words = question.split()[:QUESTION_WORDS]
    spellings: dict[str, None] = {}
    for length in range(min(NAME_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            phrase = " ".join(words[start : start + length])
            for spelling in (phrase, phrase.strip(_AROUND), _POSSESSIVE.sub("", phrase.strip(_AROUND))):
                if spelling:
                    spellings.setdefault(spelling)
    return list(spellings)


def cost(text: str, unit: Unit) -> int:
    """Return the cost of a text: its characters, or an upper estimate of its tokens.

    Each model has its own tokens. The estimate counts one token for three letters of an ASCII word, one for
    each other ASCII character and each two-byte UTF-8 character, two for a three-byte and four for a
    four-byte character. For prose, identifiers and JSON this is more than common tokenizers produce.
    """
    if unit == "characters":
        return len(text)
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            total += (len(piece) + 2) // 3 if piece.isalpha() else len(piece)
        else:
            total += 1 if piece < "\u0800" else 2 if piece < "\U00010000" else 4
    return total


def excerpt(
    value: str, question_words: frozenset[str], limit: int, split_words: Callable[[str], Sequence[str]]
) -> tuple[str, bool]:
    """Return a value for a line, as canonical JSON, and whether it is cut.

    Args:
        value: canonical JSON; a longer value becomes text from a little before the first question word.
        limit: characters of the result, without the ellipses.
        split_words: splits a text into words as questions are split.
    """
    if len(value) <= limit:
        return value, False
    decoded = canonical.decode(value)
    text = decoded if isinstance(decoded, str) else value
    start = _first_match(text, question_words, split_words) if question_words else 0
    start = max(0, min(start - limit // 4, len(text) - limit))
    end = start + limit
    part = ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
    return canonical.encode(part), True


def _first_match(
    text: str, question_words: frozenset[str], split_words: Callable[[str], Sequence[str]]
) -> int:
    """Return the position of the first question word in a text; 0 if there is none."""
    for match in re.finditer(r"\S+", text):
        if question_words & set(split_words(match[0])):
            return match.start()
    return 0
