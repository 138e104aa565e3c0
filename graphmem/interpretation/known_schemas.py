"""The schemas that a language model is shown: those that somebody declared.

What graphmem discovered is left out. Its names come from what was stored, and each interpretation may add
some: the same file would never be known as interpreted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from graphmem.model import schema
from graphmem.reading.schema_rows import SchemaRow
from graphmem.registry import Context

PAGE: Final = 500
"""Schemas that one query reads."""


class _SchemaRows(NamedTuple):
    """The row of ``schema/page.cypher``."""

    page: list[SchemaRow]
    truncated: bool
    more: bool
    total: int


async def known_schemas(context: Context) -> list[schema.Document]:
    """Return the registered schemas of the owner, and the shipped ones of other types."""
    documents = {name: schema.shipped(name) for name in schema.shipped_types()}
    after, more = "", True
    while more:
        row = await context.graph.only(
            "schema.page", _SchemaRows, keyword=None, named=[], shipped=[], after=after, offset=0, limit=PAGE
        )
        registered = {each.entity_type: each.document for each in row.page if each.document is not None}
        documents |= {name: schema.Document.read(text) for name, text in registered.items()}
        after, more = (row.page[-1].entity_type, row.more) if row.page else ("", False)
    return [document for document in documents.values() if document is not None]
