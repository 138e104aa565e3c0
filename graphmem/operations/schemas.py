"""Schemas of entity types, as they are discovered from what was stored."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import PAGE_DEFAULT, Arguments, Limit, Offset, Total
from graphmem.errors import NotFound
from graphmem.operations import answers
from graphmem.operations.answers import SchemaRow
from graphmem.operations.entities import EntityType
from graphmem.registry import Context, Scope, operation


class ListSchemas(Arguments):
    """What ``schemas.list`` takes."""

    keyword: Annotated[str, Field(max_length=200, description="Only types that contain this.")] | None = None
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    include_total_count: Total = False


class SchemaPage(TypedDict):
    """A page of schemas by type."""

    schemas: list[answers.Schema]
    limit: int
    offset: int
    total: NotRequired[int]


@operation(
    "schemas.list",
    "GET /schemas",
    tool="list_entity_types",
    command="schemas list",
    scope=Scope.READ,
)
async def list_schemas(context: Context, arguments: ListSchemas) -> SchemaPage:
    """List the entity types that were stored, with their fields and how many entities each has."""
    row = await context.graph.one(
        "schema.page",
        keyword=arguments.keyword.strip().lower() if arguments.keyword else None,
        offset=arguments.offset,
        limit=arguments.limit,
    )
    assert row is not None
    page: SchemaPage = {
        "schemas": [answers.schema(SchemaRow(*one)) for one in row["page"]],
        "limit": arguments.limit,
        "offset": arguments.offset,
    }
    if arguments.include_total_count:
        page["total"] = row["total"]
    return page


class GetSchema(Arguments):
    """What ``schemas.get`` takes."""

    entity_type: EntityType


@operation(
    "schemas.get",
    "GET /schemas/{entity_type}",
    tool="describe_entity_type",
    command="schemas get",
    scope=Scope.READ,
    errors=(NotFound,),
    example="person",
)
async def get_schema(context: Context, arguments: GetSchema) -> answers.Schema:
    """Return the schema of one entity type: its fields as they were seen, and what identifies an entity."""
    row = await context.graph.one("schema.get", entity_type=arguments.entity_type)
    if row is None:
        raise NotFound(
            f"nothing of type {arguments.entity_type!r} was stored yet", entity_type=arguments.entity_type
        )
    return answers.schema(SchemaRow(*row["schema"]))
