"""The shapes of answers about schemas, and how rows become answers."""

from typing import Any, NamedTuple, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from graphmem.database.left_out import Json
from graphmem.errors import NotFound
from graphmem.model import canonical, discovery, identity, schema, times
from graphmem.model.reduction import paired
from graphmem.model.schema import SchemaDocument
from graphmem.reading.answers import stored_json, when

VERSIONS_LIMIT = 100  # versions of a schema in an answer, the newest first


class FieldSummary(TypedDict):
    """One field of a schema.

    ``type`` is string, number, date, boolean, array or object; in a discovered schema also several types
    (``number|string``), or null. ``merge`` is the policy by which an observation wins. A value of
    another type is, by ``mismatch``, converted or else hidden (hide), or shown as it was stored (show).
    """

    type: str
    required: bool
    description: NotRequired[str]
    merge: NotRequired[str]
    mismatch: NotRequired[str]
    converters: NotRequired[list[str]]
    constraints: NotRequired[dict[str, Any]]


class Declared(TypedDict):
    """A schema document of an entity type.

    ``identity`` holds the alternatives by which an item is identified; the first match wins.
    ``additional_fields`` says whether snapshots show undeclared fields. A value of another type is, by
    ``mismatch``, converted or else hidden (hide), or shown as it was stored (show).
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
    reference_fields: NotRequired[list[dict[str, str]]]
    aliases: NotRequired[list[str]]
    observation_source_priority: NotRequired[list[str]]


class Version(TypedDict):
    """One registered version: its time, its transaction and its change."""

    version: str
    registered_at: str
    transaction_id: str
    change: Any


class Schema(Declared):
    """The schema of an entity type.

    ``origin`` is registered, shipped or discovered. ``scope`` is global for a shipped schema, else user.
    ``seen`` holds the types of the stored values of each field. ``versions`` are the registered versions,
    newest first.
    """

    origin: str
    active: bool
    scope: str
    seen: dict[str, str]
    entity_count: int
    observation_count: int
    updated_at: str | None
    versions: NotRequired[list[Version]]


class StoredSchemaRow(NamedTuple):
    """A row of ``schema/_row.cypher``; ``seen`` holds the stored types of each field, joined by ``|``."""

    entity_type: str
    version: str | None
    document: Json | None
    fields: list[str]
    seen: list[str]
    updated_at: int | None
    entities: int
    observations: int


SchemaPage = tuple[list[StoredSchemaRow], bool, bool, int]
"""The row of ``schema/page.cypher``: the page, whether it is cut, whether more follow, and the total."""
VersionRow = tuple[str, int, str, Json | None]
"""A registered version of a schema: its number, its time, its transaction, and its change."""


def declared(document: SchemaDocument, version: str | None) -> Declared:
    stored = document.as_json()
    fields = {
        name: {**field, "required": field.get("required", False)} for name, field in stored["fields"].items()
    }
    alternatives = document.alternatives()
    rule = (
        identity.rule(document.entity_type) if alternatives is None else (*alternatives, (identity.CONTENT,))
    )
    if document.strict:
        rule = [names for names in rule if names != (identity.CONTENT,)]
    answer = {
        **stored,
        "schema_version": version,
        "fields": fields,
        "field_names": sorted(fields),
        "identity": [list(names) for names in rule],
    }
    return cast("Declared", _sendable(answer))


def _sendable(value: Any) -> Any:
    """Return a value with integers of more than 64 bits as JSON text, because ``orjson`` refuses them."""
    if isinstance(value, dict):
        return {name: _sendable(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(item) for item in value]
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return orjson.Fragment(canonical.encode(value))
    return value


def answer(row: StoredSchemaRow, versions: list[VersionRow] | None = None) -> Schema:
    shapes = paired(f"the schema of {row.entity_type}", row.fields, row.seen)
    seen = {name: discovery.describe(filter(None, types.split("|"))) for name, types in shapes}
    shipped = schema.shipped(row.entity_type)
    if row.document is not None:
        origin, document = "registered", declared(SchemaDocument.read(row.document), row.version)
    elif shipped is not None:
        origin, document = "shipped", declared(shipped, schema.VERSION)
    else:
        # Of a type that nobody declared, the fields have the types of their values.
        unnamed = SchemaDocument(row.entity_type, additional_fields="show", mismatch="show")
        origin, document = "discovered", declared(unnamed, None)
        document["fields"] = {name: {"type": types, "required": False} for name, types in seen.items()}
        document["field_names"] = sorted(seen)
    schema_answer: Schema = {
        **document,
        "origin": origin,
        "active": True,
        "scope": "global" if origin == "shipped" else "user",
        "seen": seen,
        "entity_count": row.entities,
        "observation_count": row.observations,
        "updated_at": when(row.updated_at),
    }
    if versions is not None:
        schema_answer["versions"] = [
            {
                "version": version, "registered_at": times.render(recorded_at),
                "transaction_id": transaction_id,
                "change": stored_json(change) if change else None,
            }
            for version, recorded_at, transaction_id, change in versions
        ]  # fmt: skip
    return schema_answer


def unknown_type(entity_type: str, nearest: str | None = None) -> NotFound:
    """Return the error for an unknown type; ``nearest``: the known type that was probably meant."""
    message = f"nothing of type {entity_type!r} was stored or registered yet"
    if nearest is not None:
        return NotFound(f"{message}: did you mean {nearest}?", entity_type=entity_type, nearest=nearest)
    return NotFound(message, entity_type=entity_type)
