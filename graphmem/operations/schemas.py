"""Schemas of entity types: as they are registered, shipped or discovered."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

from pydantic import Field

from graphmem.arguments import EntityType, NotBlank, Spelled
from graphmem.budgets import Budgeted, MaxCharacters, Sized
from graphmem.context import Context
from graphmem.database.left_out import as_read
from graphmem.errors import NotFound, SchemaRefused, StoreRefused
from graphmem.model import schema
from graphmem.model.schema import Change, Issue, SchemaDocument, SchemaInvalid, UnknownType
from graphmem.reading import cursors, names_in_use, schema_rows
from graphmem.reading.as_of import NOW
from graphmem.reading.pages import IndexedPageEnvelope, Page, Paged, start_of
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import Writing, Written, receipt_of, refusals, submit, transaction
from graphmem.writing import UNKNOWN_TYPE, SchemaRequest


class ListSchemas(Paged):
    keyword: Annotated[str, Field(max_length=200), NotBlank] | None = None
    entity_type: EntityType | None = None
    include_shipped: bool = False


class SchemaPage(IndexedPageEnvelope):
    """A page of schemas by type.

    ``next_cursor`` stands where more schemas follow. ``truncated`` means that the page ends early because its
    documents are large. Without a cursor, ``next_offset`` says where such a page goes on.
    """

    schemas: list[schema_rows.Schema]


@operation("schemas.list", Scope.READ)
async def list_schemas(context: Context, arguments: ListSchemas) -> SchemaPage:
    """List the stored and the registered entity types, each with its fields and its number of entities."""
    query = cursors.fingerprint(context, "schemas.list", arguments)
    start, _ = start_of(arguments, query, {"type": str}, NOW)
    keyword = arguments.keyword.strip().lower() if arguments.keyword else ""
    of_type = arguments.entity_type
    matching_types = [
        name for name in schema.shipped_types() if _matches(keyword, name) and of_type in (None, name)
    ]
    page, truncated, more, total = await context.graph.only(
        "schema.page", schema_rows.SchemaPage, keyword=keyword or None, type=of_type, named=matching_types,
        shipped=matching_types if arguments.include_shipped else [],
        after="" if start is None else start["type"], offset=arguments.offset, limit=arguments.limit,
    )  # fmt: skip
    schemas = [schema_rows.answer(schema_row) for schema_row in page]
    read = as_read(page)
    place = {"type": read[-1].entity_type} if more and read else None
    return {"schemas": schemas, **Page(schemas, place, truncated, total).envelope(arguments, query)}


def _matches(keyword: str, entity_type: str) -> bool:
    """Return whether the name, or a field name, of a shipped type contains a keyword."""
    document = schema.shipped(entity_type)
    return keyword in entity_type or any(
        keyword in name.lower() for name in (document.fields if document else ())
    )


class GetSchema(Sized):
    entity_type: EntityType


class SchemaAnswer(schema_rows.Schema, Budgeted):
    """The schema of one entity type, within a size."""


@operation("schemas.get", Scope.READ)
async def get_schema(context: Context, arguments: GetSchema) -> SchemaAnswer:
    """Return the schema of one entity type: its fields, what identifies an entity, and its versions.

    It is the registered schema, else the shipped one, else the one discovered from stored observations.
    `seen` holds the types of the stored values of each field.
    """
    kind = arguments.entity_type
    row = await context.graph.one(
        "schema.get",
        tuple[schema_rows.StoredSchemaRow, list[schema_rows.VersionRow]],
        entity_type=kind,
        limit=schema_rows.VERSIONS_LIMIT,
    )
    if row is not None:
        return {**schema_rows.answer(*row)}
    if schema.shipped(kind) is not None:
        return {**schema_rows.answer(schema_rows.StoredSchemaRow(kind, None, None, [], [], None, 0, 0), [])}
    warnings = (await names_in_use.warned(context, (), [kind])).get("warnings", [])
    raise schema_rows.unknown_type(kind, next((warning.get("nearest") for warning in warnings), None))


# Changing


Version = Annotated[
    Annotated[str, Field(max_length=20)] | None,
    Field(description="Version, major.minor, greater than the current one; default: the next."),
]


class SchemaChanged(Written, Budgeted):
    """The result of a change: the schema as of its transaction.

    ``warnings`` name the parts of the schema that have no effect.
    """

    schema: schema_rows.Declared
    schema_version: str
    fields_added: list[str]
    fields_removed: list[str]
    warnings: list[Issue]
    transaction_id: str


class Changing(Writing):
    schema_version: Version = None
    max_characters: MaxCharacters = None

    instead: ClassVar[Mapping[str, str]] = {
        "activate": "leave it out, a registered schema is active at once",
        "user_specific": "leave it out, schemas are always the caller's own",
        "force": "leave it out, a valid change is always made",
        "migrate_existing": "leave it out, what was stored before is read under the new schema",
    }


with warnings.catch_warnings():
    # `schema` is the interface's own name; what it hides is a deprecated method of pydantic's models.
    warnings.filterwarnings("ignore", 'Field name "schema" in')

    class RegisterSchema(Changing):
        schema: Annotated[  # pyright: ignore[reportIncompatibleMethodOverride]
            dict[str, Any] | None, Spelled("schema_definition")
        ] = None
        entity_type: Annotated[EntityType | None, Spelled(option="entity_type")] = None
        reducer_config: dict[str, Any] | None = None


@operation("schemas.register", Scope.WRITE)
async def register_schema(context: Context, arguments: RegisterSchema) -> SchemaChanged:
    """Register the schema of an entity type; from now on snapshots of the type follow it.

    A field is `{"type": "string|number|date|boolean|array|object"}` with, if wanted, `required`,
    `filterable` (its values stand in an index, for filters and sorts), `description`, `merge` (last_write,
    highest_priority, most_specific, merge_array), `converters`, `constraints` {min, max, enum, pattern,
    banned} and `mismatch`. Values of another type are converted, or hidden where that fails; fields that are
    not declared are hidden. If `mismatch` or `additional_fields` is "show", they are shown as stored.
    `canonical_name_fields` names the fields that identify an entity. Stored observations never change; they
    are read under the new schema.
    """
    with catalogue_errors():
        document, version = _document(arguments)
        return await _change(context, "schemas.register", arguments, schema.registration(document, version))


def _document(arguments: RegisterSchema) -> tuple[SchemaDocument, str | None]:
    """Return the document and the version that a request registers, whichever spelling it uses."""
    raw, path = dict(arguments.schema or {}), "$.schema"
    inner = raw.pop("schema_definition", None)
    config, config_path = raw.pop("reducer_config", None), f"{path}.reducer_config"
    if config is None:
        config, config_path = arguments.reducer_config, "$.reducer_config"
    version = arguments.schema_version or raw.pop("schema_version", None)
    type_name = arguments.entity_type or raw.get("entity_type")
    if isinstance(inner, dict):
        raw, path = {**inner, **raw}, f"{path}.schema_definition"
    issues = schema.Issues()
    if raw.get("fields") is None:
        issues.add(f"{path}.fields", "a schema needs fields: {name: {type}}", "ERR_FORMAT")
    if version is not None and not isinstance(version, str):
        issues.add(f"{path}.schema_version", "a version is a string such as 1.0", "ERR_SCHEMA_VERSION")
    kind = schema.canonical_type(type_name, "$.entity_type", issues) if isinstance(type_name, str) else None
    if type_name is None or not isinstance(type_name, str):
        issues.add("$.entity_type", "say which entity type the schema is of", "ERR_ENTITY_TYPE")
    issues.settle()
    assert kind is not None
    return schema.parse(kind, raw, config, path=path, reducer_path=config_path), version


class UpdateSchema(Changing):
    entity_type: EntityType
    new_fields: Annotated[dict[str, Any] | list[Any] | None, Spelled("fields_to_add")] = None
    fields_to_remove: list[str] = Field(default=[], max_length=500)
    canonical_name_fields: list[str | dict[str, Any]] = Field(default=[])
    identity_opt_out: str | None = None
    canonical_name_strict: bool | None = None
    additional_fields: str | None = None
    mismatch: str | None = None
    constraint_violation_policy: str | None = None
    temporal_fields: list[dict[str, Any]] = Field(default=[])
    reference_fields: list[dict[str, Any]] = Field(default=[])
    aliases: list[str] = Field(default=[])
    observation_source_priority: list[str] = Field(default=[])
    description: str | None = None


_NO_SETTINGS = {*Changing.model_fields, "entity_type", "new_fields", "fields_to_remove"}
_SETTINGS = [name for name in UpdateSchema.model_fields if name not in _NO_SETTINGS]
"""The arguments that stand in the document of a schema as they are."""


@operation("schemas.update", Scope.WRITE)
async def update_schema(context: Context, arguments: UpdateSchema) -> SchemaChanged:
    """Add fields to the schema of an entity type, remove fields, or change what identifies an entity.

    The update starts from the registered schema, else the shipped one, else the discovered one, and keeps
    what it does not name: two updates at the same time both take effect. A removed field is hidden, and comes
    back with its history when it is added again.
    """
    values = arguments.sent()
    with catalogue_errors():
        change = schema.update(
            arguments.entity_type,
            new_fields=arguments.new_fields,
            remove=arguments.fields_to_remove,
            settings={name: values[name] for name in _SETTINGS if name in values},
            version=arguments.schema_version,
        )
        return await _change(context, "schemas.update", arguments, change)


async def _change(context: Context, name: str, arguments: Changing, change: Change) -> SchemaChanged:
    """Hand a change of a schema to the owner's writer, which decides it on the schema of its turn.

    Raises NotFound: there is no schema of that type to change. Raises SchemaRefused: the change is not valid,
    or changes nothing; ``details.issues`` names each fault.
    """
    request = SchemaRequest(**transaction(context, name, arguments), change=change)
    try:
        with refusals(UNKNOWN_TYPE, entity_type=change.entity_type):
            receipt = await submit(context, request)
    except StoreRefused as exc:
        issue = exc.details["issues"][0]
        raise SchemaRefused(f"{issue['path']}: {issue['message']}", **exc.details) from exc
    context.services.type_aliases.forget(context.actor.owner)
    document = SchemaDocument.read(receipt.result["document"])
    return {
        **receipt_of(SchemaChanged, receipt),
        "schema": schema_rows.declared(document, receipt.result["version"]),
        "schema_version": receipt.result["version"],
        "fields_added": receipt.result["added"],
        "fields_removed": receipt.result["removed"],
        "warnings": schema.warnings_of(document),
    }


@contextmanager
def catalogue_errors() -> Iterator[None]:
    """Raise an invalid schema as ``SchemaRefused``, and an unknown type as ``NotFound``."""
    try:
        yield
    except SchemaInvalid as exc:
        raise SchemaRefused(str(exc), issues=exc.issues) from exc
    except UnknownType as exc:
        raise NotFound(str(exc), entity_type=exc.entity_type) from exc
