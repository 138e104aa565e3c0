"""The glossary is used as it says: its names exist, and its banned words are in no description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem import cypher
from graphmem.api import openapi
from graphmem.registry import REGISTRY
from tests.contract.snapshots import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
WORDS_MINIMUM = 40


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading."""
    part = re.search(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", GLOSSARY, re.DOTALL | re.MULTILINE)
    assert part is not None
    lines = [line for line in part[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


WORDS = rows("Glossary")
BANNED = [word for row in rows("Words that are not used") for word in row[0].split(", ")]


def descriptions() -> Iterator[tuple[str, str]]:
    """Yield every description of the registry: of operations, of their arguments and of their answers."""
    for operation in REGISTRY.values():
        yield operation.name, operation.description
        for schema in (operation.arguments.model_json_schema(), operation.result.json_schema()):
            yield from ((operation.name, text) for text in _descriptions(schema))


def _descriptions(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            yield schema["description"]
        for value in schema.values():
            yield from _descriptions(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _descriptions(value)


def _names(value: Any) -> Iterator[str]:
    """Yield the keys, the names of parameters and the parts of paths of an OpenAPI document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from re.findall(r"\w+", key)
            yield from _names(inner)
        if isinstance(value.get("name"), str):
            yield value["name"]
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def test_the_glossary_has_the_words_once_each_with_a_sentence() -> None:
    words = [row[0] for row in WORDS]
    assert len(words) >= WORDS_MINIMUM
    assert words == sorted(set(words), key=str.lower)
    assert [row[0] for row in WORDS if not row[1].endswith(".")] == []


def test_every_cypher_name_of_the_glossary_is_in_the_queries() -> None:
    queries = "\n".join(f"{name} {cypher.query(name).text}" for name in cypher.names())
    names = set(re.findall(r"\w+", queries)) | {"RELATIONSHIP_TYPES"}
    assert [row[2] for row in WORDS if row[2] != "–" and row[2].strip("`") not in names] == []


def test_every_rest_name_of_the_glossary_is_in_the_description_of_the_service() -> None:
    names = set(_names(openapi.document()))
    assert [row[3] for row in WORDS if row[3] != "–" and row[3].strip("`") not in names] == []


@pytest.mark.parametrize("word", BANNED)
def test_a_word_that_is_not_used_is_in_no_description(word: str) -> None:
    used = {(name, text) for name, text in descriptions() if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
    assert used == set()
