"""Languages: their stop words, their stems, their names of months, and in which of them a text is.

A language is told by its stop words alone: they are frequent in every sentence. Words are compared as search
compares them (:func:`graphmem.text.words.tokens`), so without case and accents. The stop words are the lists
of the Snowball project, the stems those of its algorithms, the months those of the CLDR.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import Stemmer
from babel.dates import get_month_names
from whoosh.lang.stopwords import stoplists

from graphmem.text import words

LANGUAGES: Final[Mapping[str, str]] = MappingProxyType({
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
})  # fmt: skip
"""The languages that are told apart (ISO 639-1), and the Snowball algorithm of each."""
STOP_WORDS_LEAST: Final = 2
"""Stop words that a text of a language has at least; a text with fewer is in no language that can be told."""


def _folded(listed: Iterable[str]) -> frozenset[str]:
    return frozenset(token for word in listed for token in words.tokens(word))


STOP_WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {language: _folded(stoplists[language]) for language in LANGUAGES}
)
"""The stop words of each language."""


def _by_word() -> Mapping[str, tuple[str, ...]]:
    languages: dict[str, list[str]] = defaultdict(list)
    for language, listed in STOP_WORDS.items():
        for word in listed:
            languages[word].append(language)
    return {word: tuple(listed) for word, listed in languages.items()}


_BY_STOP_WORD = _by_word()


def language_of(tokens: Collection[str]) -> str | None:
    """Return the language of a text, or ``None`` if its different stop words do not tell it."""
    counts: Counter[str] = Counter()
    for token in _BY_STOP_WORD.keys() & tokens:
        counts.update(_BY_STOP_WORD[token])
    if not counts:
        return None
    (language, most), *others = counts.most_common(2)
    is_clear = not others or others[0][1] < most
    return language if is_clear and most >= STOP_WORDS_LEAST else None


@functools.lru_cache(maxsize=len(LANGUAGES))
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(LANGUAGES[language])


def stems(language: str, tokens: list[str]) -> list[str]:
    """Return the stem of each word in a language."""
    return list(_stemmer(language).stemWords(tokens))


@functools.lru_cache(maxsize=len(LANGUAGES))
def months(language: str) -> Mapping[str, int]:
    """Return the number of the month (1 to 12) that each name of a month means, short names included."""
    numbers: dict[str, int] = {}
    for width in ("abbreviated", "wide"):
        for context in ("format", "stand-alone"):
            for number, name in get_month_names(width, context=context, locale=language).items():
                token = words.tokens(name)
                if len(token) == 1 and not token[0].isdigit():
                    numbers[token[0]] = number
    return numbers
