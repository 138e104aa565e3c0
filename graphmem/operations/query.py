"""Pages of entities: filtered, sorted, by cursor or offset, now or as of a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from graphmem.arguments import (
    PAGE_DEFAULT,
    Arguments,
    At,
    AtIngested,
    IncludeDeleted,
    Limit,
    Moment,
    Offset,
    Spelled,
    Total,
    TypeFilters,
    invalid,
)
from graphmem.cypher import Way
from graphmem.errors import InvalidCursor
from graphmem.model import comparison, identity
from graphmem.model.comparison import Filter
from graphmem.reading import answers, compared_pages, cursors, entities_as_of, paging, search_engine
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.cursors import Cursor
from graphmem.reading.paging import FIELD, ORDERS, Asked, Order
from graphmem.reading.search_engine import SearchText, Semantic
from graphmem.registry import Context, Scope, operation

FILTERS_LIMIT = 10
"""Fields that one query filters on."""


class SnapshotFilter(BaseModel):
    """What the value of one field must be."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    op: comparison.Op = Field(description="eq, in, gt, lt, gte, lte, contains or contains_word.")
    value: Any = Field(description="A string, a number or a boolean; of in a list of these.")

    @field_validator("value", mode="after")
    @classmethod
    def _fits_the_op(cls, value: Any, info: ValidationInfo) -> Any:
        found = comparison.fault(info.data["op"], value) if "op" in info.data else None
        if found is not None:
            raise ValueError(found)
        return value


def _of_text(raw: Any) -> Any:
    """Return what a query string holds as JSON."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        raise ValueError('filters are JSON: {"field": {"op": "eq", "value": …}}') from None


def _named(filters: dict[str, SnapshotFilter]) -> dict[str, SnapshotFilter]:
    for name in filters:
        _field_name(name)
    return filters


def _field_name(name: str) -> None:
    if not 0 < len(name) <= identity.NAME_LIMIT:
        raise ValueError(f"a field name has 1 to {identity.NAME_LIMIT} characters")
    if name == identity.CANONICAL_NAME:
        raise ValueError("canonical_name is what an entity is called, and no field of its snapshot")


def _known_order(sort_by: str) -> str:
    name = sort_by.strip()
    if name in ORDERS:
        return name
    if not name.startswith(FIELD):
        raise ValueError(f"sort by one of {', '.join(ORDERS)}, or snapshot.<field>")
    _field_name(name.removeprefix(FIELD))
    return name


def _known_way(sort_order: Any) -> Any:
    return sort_order.strip().lower() if isinstance(sort_order, str) else sort_order


SnapshotFilters = Annotated[
    dict[str, SnapshotFilter],
    BeforeValidator(_of_text),
    AfterValidator(_named),
    Field(
        max_length=FILTERS_LIMIT,
        description="What fields of the snapshot must be: {field: {op, value}}, all of them.",
    ),
]


class EntityFilters(TypeFilters):
    """Which entities."""

    include_deleted: IncludeDeleted = False
    include_merged: bool = Field(
        default=False, description="Whether entities that are merged into others are answered as well."
    )
    updated_since: Annotated[
        Moment | None, Field(description="Only those that the service learned of at or after this time.")
    ] = None
    created_since: Annotated[
        Moment | None,
        Field(description="Only those that the service first learned of at or after this time."),
    ] = None
    snapshot_filters: SnapshotFilters = Field(default={})


class QueryEntities(Arguments):
    """What ``entities.query`` takes."""

    filters: EntityFilters = Field(default=EntityFilters(), description="Which entities.")
    sort_by: Annotated[
        str,
        Field(max_length=100, description=f"One of {', '.join(ORDERS)}, or snapshot.<field>."),
        AfterValidator(_known_order),
    ] = "entity_id"
    sort_order: Annotated[
        Way, BeforeValidator(_known_way), Field(description="asc or desc; ties are by id, the same way.")
    ] = "asc"
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    cursor: Cursor = None
    include_total_count: Total = False
    include_snapshots: bool = Field(default=True, description="Whether each entity carries its snapshot.")
    at: At = None
    at_ingested: AtIngested = None
    search: Annotated[SearchText | None, Spelled("query", "search_query")] = None


class EntityPage(AsOf):
    """A page of entities.

    ``next_cursor`` is there where more follow. ``truncated`` says that the page ends before ``limit`` where
    not all is told: its values are large (it goes on at ``next_offset`` too, where no cursor was given), or
    only so many entities were compared in one call, which ``scanned`` counts. Of a search,
    ``applied_search_strategies`` are those that ran, ``semantic`` says whether all entities could be compared
    by meaning, ``total`` is how many were found, and ``hint`` what was left out.
    """

    entities: list[answers.Entity]
    limit: int
    offset: int
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    next_cursor: NotRequired[str]
    scanned: NotRequired[int]
    total: NotRequired[int]
    applied_search_strategies: NotRequired[list[str]]
    semantic: NotRequired[Semantic]
    hint: NotRequired[str]


@operation(
    "entities.query",
    "POST /entities/query",
    "GET /entities",
    tool="retrieve_entities",
    command="entities list",
    scope=Scope.READ,
    errors=(InvalidCursor,),
    example="--entity-type person --sort-by last_observation_at --sort-order desc --limit 20",
)
async def query_entities(context: Context, arguments: QueryEntities) -> EntityPage:
    """List entities by type, times and the values of their fields, in the order that is asked for.

    `sort_by` is entity_id, canonical_name, last_observation_at, observation_count, created_at, updated_at or
    snapshot.<field>. Each of `snapshot_filters` says `op` (eq, in, gt, lt, gte, lte, contains, contains_word)
    and `value`: numbers compare as numbers, dates as times, text without case, and a list matches where one
    of its elements does. Go on with `next_cursor`; `include_total_count` adds `total`. Deleted and merged
    entities are listed where asked for. `at` and `at_ingested` list those of then, by id. `search` finds by
    identifiers, words and meaning, best first, with types, `limit` and `offset` alone.
    """
    if arguments.search is not None:
        return await _searched(context, arguments, arguments.search)
    cursors.refuse_both(arguments.cursor, arguments.offset)
    asked = _asked(arguments)
    query = cursors.fingerprint(context, "entities.query", arguments)
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if clocks.now:
        page_of = paging.page if asked.is_indexed else compared_pages.page
        found = await page_of(context, asked, query, arguments.cursor)
    else:
        _refuse_then(arguments)
        found = await entities_as_of.page(context, asked, clocks, query, arguments.cursor)
    page: EntityPage = {
        "entities": [answers.entity(one, snapshot=arguments.include_snapshots) for one in found.rows],
        "limit": arguments.limit,
        "offset": arguments.offset,
        **clocks.said,
    }
    if found.truncated:
        page["truncated"] = True
        if found.scanned is None and arguments.cursor is None:
            page["next_offset"] = arguments.offset + len(found.rows)
    if found.place is not None:
        page["next_cursor"] = cursors.encode(query, found.place)
    if found.scanned is not None:
        page["scanned"] = found.scanned
    if arguments.include_total_count:
        assert found.total is not None
        page["total"] = found.total
    return page


async def _searched(context: Context, arguments: QueryEntities, search: str) -> EntityPage:
    """Return a page of what a search finds.

    Raises:
        InvalidInput: something else is asked for that a search does not look at.
    """
    why = "not together with search: it finds what is live now, the best first, by types, limit and offset"
    wanted = {"search", "filters", "limit", "offset", "include_total_count", "include_snapshots"}
    kinds = {"entity_type", "entity_types"}
    given = [f"$.{name}" for name in arguments.given() if name not in wanted]
    given += [
        f"$.filters.{name}"
        for name, value in arguments.filters.given().items()
        if value and name not in kinds
    ]
    if given:
        raise invalid([{"path": path, "message": why} for path in given])
    results = await search_engine.search(
        context, search, types=arguments.filters.types, limit=arguments.limit, offset=arguments.offset
    )
    page: EntityPage = {
        "entities": answers.entities(results.rows, snapshot=arguments.include_snapshots),
        "limit": arguments.limit,
        "offset": arguments.offset,
        "applied_search_strategies": results.ran,
        "semantic": results.semantic,
    }
    if results.truncated:
        page["truncated"] = True
        page["next_offset"] = arguments.offset + len(results.rows)
    if results.notes:
        page["hint"] = "; ".join(results.notes)
    if arguments.include_total_count:
        page["total"] = results.total
    return page


def _asked(arguments: QueryEntities) -> Asked:
    filters = arguments.filters
    return Asked(
        types=filters.types,
        order=Order.of(arguments.sort_by, arguments.sort_order),
        include_deleted=filters.include_deleted,
        include_merged=filters.include_merged,
        updated_since=filters.updated_since,
        created_since=filters.created_since,
        filters={name: Filter(name, one.op, one.value) for name, one in filters.snapshot_filters.items()},
        limit=arguments.limit,
        offset=arguments.offset,
        counted=arguments.include_total_count,
    )


def _refuse_then(arguments: QueryEntities) -> None:
    """Refuse what cannot be asked as of a time.

    Raises:
        InvalidInput: what there was then is known by id alone: it is not sorted or compared otherwise.
    """
    filters = arguments.filters
    why = "not together with at or at_ingested: as of a time entities are listed by id, ascending, alone"
    given: Mapping[str, bool] = {
        "$.sort_by": arguments.sort_by != "entity_id",
        "$.sort_order": arguments.sort_order != "asc",
        "$.filters.snapshot_filters": bool(filters.snapshot_filters),
        "$.filters.updated_since": filters.updated_since is not None,
        "$.filters.created_since": filters.created_since is not None,
        "$.filters.include_merged": filters.include_merged,
    }
    issues = [{"path": path, "message": why} for path, wrong in given.items() if wrong]
    if issues:
        raise invalid(issues)
