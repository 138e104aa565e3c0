"""The shapes of answers about schemas, and how rows of the database become them."""

from __future__ import annotations

from typing import Any, NamedTuple, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from graphmem.errors import NotFound
from graphmem.model import canonical, discovery, identity, schema, times
from graphmem.model.schema import Document
from graphmem.reading.answers import when

VERSIONS_TOLD = 100
"""Versions of a schema that an answer tells, the newest first."""


class FieldSummary(TypedDict):
    """One field of a schema.

    ``type`` is string, number, date, boolean, array or object; of a discovered schema also several
    (``number|string``), or null. ``merge`` decides which observation wins, ``mismatch`` what becomes of a
    value of another type.
    """

    type: str
    required: bool
    description: NotRequired[str]
    merge: NotRequired[str]
    mismatch: NotRequired[str]
    converters: NotRequired[list[str]]
    constraints: NotRequired[dict[str, Any]]


class Declared(TypedDict):
    """A schema document: what is declared of an entity type.

    ``identity`` holds the alternatives by which an item is identified, first match wins.
    ``additional_fields`` says whether fields that are not declared are shown in snapshots, ``mismatch``
    whether a value of another type is converted, or else hidden (hide), or shown as given (show).
    """

    entity_type: str
    schema_version: str | None
    fields: dict[str, FieldSummary]
    field_names: list[str]
    identity: list[list[str]]
    additional_fields: str
    mismatch: str
    description: NotRequired[str]
    hidden_fields: NotRequired[list[str]]
    canonical_name_fields: NotRequired[list[dict[str, list[str]]]]
    canonical_name_strict: NotRequired[bool]
    identity_opt_out: NotRequired[str]
    constraint_violation_policy: NotRequired[str]
    temporal_fields: NotRequired[list[dict[str, str]]]
    aliases: NotRequired[list[str]]
    observation_source_priority: NotRequired[list[str]]


class Version(TypedDict):
    """One registered version: when, by which transaction, and what it changed."""

    version: str
    registered_at: str
    transaction_id: str
    change: Any


class Schema(Declared):
    """The schema of an entity type.

    ``origin`` is registered, shipped or discovered; ``seen`` the types under which each field was stored;
    ``scope`` is user for what is the caller's own, global for what is shipped. ``versions`` are the
    registered ones, newest first.
    """

    origin: str
    active: bool
    scope: str
    seen: dict[str, str]
    entity_count: int
    observation_count: int
    updated_at: str | None
    versions: NotRequired[list[Version]]


class SchemaRow(NamedTuple):
    """``schema/_row.cypher``."""

    entity_type: str
    version: str | None
    document: str | None
    fields: list[str]
    seen: list[str]
    updated_at: int | None
    entities: int
    observations: int


class VersionRow(NamedTuple):
    """A registered version of a schema; ``change`` is canonical JSON."""

    version: str
    recorded_at: int
    transaction_id: str
    change: str | None


def declared(document: Document, version: str | None) -> Declared:
    """Return the answer for a document."""
    given = document.as_json()
    fields = {name: {**one, "required": one.get("required", False)} for name, one in given["fields"].items()}
    alternatives = document.alternatives()
    rule = (
        identity.rule(document.entity_type) if alternatives is None else (*alternatives, (identity.CONTENT,))
    )
    if document.strict:
        rule = [names for names in rule if names != (identity.CONTENT,)]
    found = {
        **given,
        "schema_version": version,
        "fields": fields,
        "field_names": sorted(fields),
        "identity": [list(names) for names in rule],
    }
    return cast("Declared", _exact(found))


def _exact(value: Any) -> Any:
    """Return a value in which whole numbers of more than 64 bits are texts of JSON, which can be sent."""
    if isinstance(value, dict):
        return {name: _exact(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return orjson.Fragment(canonical.encode(value))
    return value


def answer(row: SchemaRow, versions: list[VersionRow] | None = None) -> Schema:
    """Return the answer for the schema of a type that is stored, registered or shipped."""
    shapes = zip(row.fields, row.seen, strict=True)
    seen = {name: discovery.describe(filter(None, one.split("|"))) for name, one in shapes}
    shipped = schema.shipped(row.entity_type)
    if row.document is not None:
        origin, said = "registered", declared(Document.read(row.document), row.version)
    elif shipped is not None:
        origin, said = "shipped", declared(shipped, schema.VERSION)
    else:
        origin, said = "discovered", _discovered(row.entity_type, seen)
    found: Schema = {
        **said,
        "origin": origin,
        "active": True,
        "scope": "global" if origin == "shipped" else "user",
        "seen": seen,
        "entity_count": row.entities,
        "observation_count": row.observations,
        "updated_at": when(row.updated_at),
    }
    if versions is not None:
        found["versions"] = [
            {
                "version": version.version,
                "registered_at": times.render(version.recorded_at),
                "transaction_id": version.transaction_id,
                "change": orjson.Fragment(version.change) if version.change else None,
            }
            for version in versions
        ]
    return found


def unstored(entity_type: str) -> SchemaRow:
    """Return the row of a type of which nothing is stored."""
    return SchemaRow(entity_type, None, None, [], [], None, 0, 0)


def _discovered(entity_type: str, seen: dict[str, str]) -> Declared:
    """Return what a type is that nobody declared: every field as it was seen."""
    said = declared(Document(entity_type, additional_fields="show", mismatch="show"), None)
    said["fields"] = {name: {"type": kind, "required": False} for name, kind in seen.items()}
    said["field_names"] = sorted(seen)
    return said


def unknown_type(entity_type: str) -> NotFound:
    """Return the error of a type that is neither stored, registered nor shipped."""
    message = f"nothing of type {entity_type!r} was stored or registered yet"
    return NotFound(message, entity_type=entity_type)
