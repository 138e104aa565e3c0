"""The words of a question: which of them say what is wanted, and which words are forms of one word."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final, Literal, cast

from rapidfuzz.distance import Prefix

from graphmem.model.identity import PEOPLE
from graphmem.search.questions import grammar
from graphmem.text import languages

Wanted = Literal["person", "place", "time"]
"""What a question asks for by its question word."""

WORDS_LIMIT: Final = 32
"""Words of a question that say what is wanted, at most: the first ones."""
STEM_LETTERS: Final = 4
"""A word of at least this many letters matches the words that begin with it."""


_ENDINGS: Final = {"", *grammar.words("endings")}
"""English endings: two words with the same beginning are forms of one word if both rests are among these."""
_SHORT_ENDINGS: Final = {"", *grammar.words("short_endings")}
"""The endings that count after three letters: with the others, card and cars would be one word."""
EMPTY: Final = grammar.words("empty")
"""English words that say nothing about what is wanted."""
FORMER: Final = grammar.words("former")
"""Words that ask for what has ended, too."""
_WANTED: Final[dict[str, Wanted]] = cast("dict[str, Wanted]", grammar.meanings("wanted"))
PERSONS: Final = PEOPLE | grammar.words("types_of_people")
"""Entity types of people."""
ORGANISATIONS: Final = grammar.words("types_of_organisations")
PLACES: Final = grammar.words("fields_of_places")
"""Words of fields and relationship types that name a place."""


def content_words(
    words: Iterable[str], names: Collection[str] = (), language: str | None = None
) -> frozenset[str]:
    """Return the words of a question that say what is wanted of what it names.

    Args:
        names: the words of the names in the question, which are left out.
        language: that of the question (ISO 639-1), where it can be told.
    """
    every = list(dict.fromkeys(words))
    empty = {*EMPTY, *_WANTED, *languages.stop_words().get(language or "", ())}
    telling = [word for word in every if word not in empty] or every
    left_out = frozenset(names)
    return frozenset([word for word in telling if word not in left_out][:WORDS_LIMIT])


def wanted(words: Iterable[str]) -> frozenset[Wanted]:
    """Return what a question asks for by its question words."""
    return frozenset(_WANTED[word] for word in words if word in _WANTED)


@lru_cache(maxsize=65_536)
def is_same(word: str, other: str) -> bool:
    """Return whether two words are forms of one word: equal, one begins with the other, or endings differ."""
    if word == other:
        return True
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) >= STEM_LETTERS and longer.startswith(shorter):
        return True
    return any(
        word[end:] in endings and other[end:] in endings
        for end in range(Prefix.similarity(word, other), STEM_LETTERS - 2, -1)
        for endings in [_ENDINGS if end >= STEM_LETTERS else _SHORT_ENDINGS]
    )


def beginning(word: str) -> str:
    """Return the beginning that a word shares with its forms."""
    for end in range(STEM_LETTERS - 1, len(word)):
        if word[end:] in (_ENDINGS if end >= STEM_LETTERS else _SHORT_ENDINGS):
            return word[:end]
    return word


def shared(question_words: Collection[str], words: Collection[str]) -> int:
    """Return how many words of a question are forms of some other words."""
    # Forms of one word have at least these letters in common.
    beginnings = {word[: STEM_LETTERS - 1] for word in question_words}
    near = [other for other in words if other[: STEM_LETTERS - 1] in beginnings]
    return sum(word in words or any(is_same(word, other) for other in near) for word in question_words)
