"""The words of questions: the tables of ``grammar.toml``, by language, and of the fields that they are about.

A language is one more section of the file. Code knows the names of tables, and no word.
"""

from __future__ import annotations

import functools
import itertools
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

_DATA: Final[Mapping[str, Mapping[str, Any]]] = {
    name: tomllib.loads(files("graphmem.search.questions").joinpath(f"{name}.toml").read_text("utf-8"))
    for name in ("grammar", "fields")
}


def _listed(text: str) -> list[str]:
    """Return what a text lists: words, or several words in a row each where it has commas."""
    every = text.split(",") if "," in text else text.split()
    return [" ".join(each.split()) for each in every if each]


@functools.cache
def words(table: str, only: str | None = "") -> frozenset[str]:
    """Return the words of a table, in all languages or in one (``None`` is a language without words)."""
    languages = [each for name, each in _DATA["grammar"].items() if only in ("", name)]
    return frozenset(word for each in languages for word in _listed(each.get(table, "")))


def meanings(table: str) -> dict[str, str]:
    """Return what each word of a table means; of two meanings that of the earlier language."""
    return {
        word: meaning
        for language in reversed(_DATA["grammar"].values())
        for meaning, text in language.get(table, {}).items()
        for word in _listed(text)
    }


def by_language(table: str) -> dict[str, frozenset[str]]:
    """Return the words of a table that says what words mean, by language."""
    tables = ((name, language.get(table, {})) for name, language in _DATA["grammar"].items())
    return {
        name: frozenset(word for text in each.values() for word in _listed(text)) for name, each in tables
    }


def synonyms(*tables: str) -> dict[str, frozenset[str]]:
    """Return all that each word of some tables means, in all languages."""
    every: dict[str, set[str]] = {}
    for language, table in itertools.product(_DATA["grammar"].values(), tables):
        for meaning, text in language.get(table, {}).items():
            for word in _listed(text):
                every.setdefault(word, set()).add(meaning)
    return {word: frozenset(listed) for word, listed in every.items()}


def numbers(table: str) -> dict[str, int]:
    return {word: int(meaning) for word, meaning in meanings(table).items()}


def lists(table: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each entry of a table, in their order; the table is that of one language."""
    entries = (language[table] for language in _DATA["grammar"].values() if table in language)
    return {name: tuple(_listed(text)) for each in entries for name, text in each.items()}


def fields(table: str) -> dict[str, tuple[str, ...]]:
    """Return the names of fields of each entry of a table, in their order."""
    return {name: tuple(_listed(text)) for name, text in _DATA["fields"][table].items()}
