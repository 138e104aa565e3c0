"""Schemas of entity types: documents, their rules, and changes to them. Pure values, no I/O."""

from graphmem.model.schema.changes import (
    Active,
    Change,
    UnknownType,
    decide,
    effective,
    registration,
    unregistered_document,
    update,
    version_order,
)
from graphmem.model.schema.fields import Constraints, Field, SchemaFinding
from graphmem.model.schema.schema_document import SchemaDocument, Temporal
from graphmem.model.schema.schema_parsing import canonical_type, parse, warnings_of
from graphmem.model.schema.shapes import Issue, Issues, SchemaInvalid
from graphmem.model.schema.shipped import VERSION, shipped, shipped_types

__all__ = [
    "VERSION", "Active", "Change", "Constraints", "Field", "Issue", "Issues", "SchemaDocument",
    "SchemaFinding", "SchemaInvalid", "Temporal", "UnknownType", "canonical_type", "decide", "effective",
    "parse", "registration", "shipped", "shipped_types", "unregistered_document", "update", "version_order",
    "warnings_of",
]  # fmt: skip
