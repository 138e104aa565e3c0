"""Languages: their stop words, their stems, their names of months, and in which of them a text is.

A language is told by its stop words alone: they are frequent in every sentence. Words are compared as search
compares them (:func:`graphmem.text.words.tokens`). The stop words are the lists of the Snowball project, the
stems those of its algorithms, the months those of the CLDR. Lists and libraries are loaded with their first
use: most processes never search.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from graphmem import tables
from graphmem.text import words

if TYPE_CHECKING:
    from Stemmer import Stemmer

LANGUAGES: Final[Mapping[str, str]] = MappingProxyType({
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
})  # fmt: skip
"""The languages that are told apart (ISO 639-1), and the Snowball algorithm of each."""
STOP_WORDS_LEAST: Final = 2
"""Stop words that a text of a language has at least; a text with fewer is in no language that can be told."""


@functools.cache
def stop_words() -> Mapping[str, frozenset[str]]:
    listed = tables.read("text/stop_words")
    return MappingProxyType({language: words.word_set(listed[language]) for language in LANGUAGES})


@functools.cache
def _by_stop_word() -> Mapping[str, tuple[str, ...]]:
    languages: dict[str, list[str]] = defaultdict(list)
    for language, listed in stop_words().items():
        for word in listed:
            languages[word].append(language)
    return {word: tuple(listed) for word, listed in languages.items()}


def is_stop_word(token: str) -> bool:
    return token in _by_stop_word()


def language_of(tokens: Collection[str]) -> str | None:
    """Return the language of a text, or ``None`` if its different stop words do not tell it."""
    by_stop_word = _by_stop_word()
    counts = Counter(name for token in by_stop_word.keys() & tokens for name in by_stop_word[token])
    most = max(counts.values(), default=0)
    likely = [language for language, count in counts.items() if count == most >= STOP_WORDS_LEAST]
    return likely[0] if len(likely) == 1 else None


@functools.lru_cache(maxsize=len(LANGUAGES))
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(LANGUAGES[language])


def stems(language: str, tokens: list[str]) -> list[str]:
    return list(_stemmer(language).stemWords(tokens))


@functools.lru_cache(maxsize=len(LANGUAGES))
def weekdays(language: str) -> Mapping[str, int]:
    """Return the number of the weekday (0 to 6, Monday first) that each whole name of one means."""
    names: list[str] = tables.read("text/calendar_names")[language]["weekdays"]
    return {token: number for number, name in enumerate(names) for token in words.tokens(name)}


@functools.lru_cache(maxsize=len(LANGUAGES))
def months(language: str) -> Mapping[str, int]:
    """Return the number of the month (1 to 12) that each name of a month means, short names included."""
    named: list[list[str]] = tables.read("text/calendar_names")[language]["months"]
    tokens = [(words.tokens(name), number) for number, names in enumerate(named, 1) for name in names]
    return {token[0]: number for token, number in tokens if len(token) == 1 and not token[0].isdigit()}
