"""The words of questions, and of the fields that they are about: tables of words, one file for each language.

A language is one more file in ``languages/``. Its words are folded as search compares words. An entry lists
words, or runs of words where it has commas ("past due"); a table gives words by what they mean. The tables of
all languages count together, so that a question may mix languages; of two meanings of a word, the English one
counts, then that of the language whose name comes first. Code knows the names of tables, and no word.
"""

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from graphmem import tables

_FIELDS: Final[Mapping[str, Any]] = tables.read("search/questions/fields")
_NAMES: Final = sorted(file.stem for file in Path(__file__).with_name("languages").glob("*.toml"))
LANGUAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    name: tables.read(f"search/questions/languages/{name}") for name in ("en", *_NAMES)
}
"""The tables by language (ISO 639-1)."""


def _listed(text: str) -> list[str]:
    """Return what a text lists: words, or several words in a row each where it has commas."""
    every = text.split(",") if "," in text else text.split()
    return [" ".join(each.split()) for each in every if each]


@functools.cache
def words(table: str, only: str | None = "") -> frozenset[str]:
    """Return the words of a table, in all languages or in one (``None`` is a language without words)."""
    languages = [each for name, each in LANGUAGES.items() if only in ("", name)]
    return frozenset(word for each in languages for word in _listed(each.get(table, "")))


def meanings(table: str) -> dict[str, str]:
    """Return what each word of a table means; of two meanings that of the earlier language."""
    return {
        word: meaning
        for language in reversed(LANGUAGES.values())
        for meaning, text in language.get(table, {}).items()
        for word in _listed(text)
    }


def by_language(table: str) -> dict[str, frozenset[str]]:
    """Return the words of a table that says what words mean, by language."""
    tables = ((name, language.get(table, {})) for name, language in LANGUAGES.items())
    return {
        name: frozenset(word for text in each.values() for word in _listed(text)) for name, each in tables
    }


def synonyms(*tables: str) -> dict[str, frozenset[str]]:
    """Return all that each word of some tables means, in all languages."""
    every: dict[str, set[str]] = {}
    for language, table in itertools.product(LANGUAGES.values(), tables):
        for meaning, text in language.get(table, {}).items():
            for word in _listed(text):
                every.setdefault(word, set()).add(meaning)
    return {word: frozenset(listed) for word, listed in every.items()}


def numbers(table: str) -> dict[str, int]:
    return {word: int(meaning) for word, meaning in meanings(table).items()}


def lists(table: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each entry of a table, in their order; the table is that of one language."""
    entries = (language[table] for language in LANGUAGES.values() if table in language)
    return {name: tuple(_listed(text)) for each in entries for name, text in each.items()}


def fields(table: str) -> dict[str, tuple[str, ...]]:
    """Return the names of fields of each entry of a table, in their order."""
    return {name: tuple(_listed(text)) for name, text in _FIELDS[table].items()}
