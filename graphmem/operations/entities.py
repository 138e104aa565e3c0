"""Entities: one, its snapshot now or as of a time, the provenance of a field, and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import AfterValidator, BeforeValidator, Field

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    PAGE_DEFAULT,
    Arguments,
    At,
    AtIngested,
    EntityId,
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
from graphmem.errors import InvalidCursor, NotFound
from graphmem.model import identity, times
from graphmem.model.comparison import Filter
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.reduction import Stale
from graphmem.reading import (
    answers,
    compared_pages,
    cursors,
    entities_as_of,
    entity_pages,
    names_in_use,
    recomputed,
    search_pages,
    shaping,
)
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.budgets import Budgeted, MaxCharacters, within_budget
from graphmem.reading.cursors import PAGE_ARGUMENTS, Cursor
from graphmem.reading.entity_pages import FIELD, ORDERS, EntityRequest, Order
from graphmem.reading.fresh import read_fresh
from graphmem.reading.lookup import NamedEntity, named_entities
from graphmem.reading.pages import PageEnvelope
from graphmem.reading.places import Place, place_of
from graphmem.reading.search_results import NEWEST_FIRST, SearchText, Semantic
from graphmem.reading.shaping import (
    EVERY_FIELD,
    FieldNames,
    OneEntity,
    ProvenanceLevel,
    Shaped,
    shaped,
)
from graphmem.reading.shared_rows import EntityResult, EntityRow
from graphmem.reading.snapshot_filters import SnapshotFilters, check_field_name
from graphmem.reading.sources import SourceReference, as_reference, read_sources
from graphmem.reading.understood import Understood
from graphmem.registry import Context, Scope, operation


class GetEntity(Arguments):
    """The arguments of ``entities.get``."""

    entity_id: EntityId
    include_deleted: IncludeDeleted = False
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"
    max_characters: MaxCharacters = None


@operation(
    "entities.get",
    "GET /entities/{entity_id}",
    tool="retrieve_entity",
    command="entities get",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID},
)
@within_budget()
@shaped()
@read_fresh
async def get_entity(context: Context, arguments: GetEntity) -> OneEntity:
    """Return one entity with its current snapshot and the provenance of each field."""
    row = await context.graph.one(
        "entity.get",
        EntityResult,
        entity_id=arguments.entity_id,
        include_deleted=arguments.include_deleted,
    )
    if row is None:
        raise answers.no_entity(arguments.entity_id)
    return {**answers.entity(row.entity)}


class GetSnapshot(Arguments):
    """The arguments of ``entities.snapshot``."""

    entity_id: EntityId
    at: At = None
    at_ingested: AtIngested = None
    include_deleted: IncludeDeleted = False
    expand_provenance: bool = Field(default=False, description="The same as `provenance: full`.")
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"
    max_characters: MaxCharacters = None


class Snapshot(OneEntity):
    """An entity with its snapshot. ``at`` and ``at_ingested`` stand where the request gave them."""

    at: NotRequired[str | None]
    at_ingested: NotRequired[str | None]


@operation(
    "entities.snapshot",
    "POST /get_entity_snapshot",
    tool="retrieve_entity_snapshot",
    command="entities snapshot",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID, "at": "2026-06-01T00:00:00Z"},
    people={"expand_provenance": True},
)
@within_budget()
@shaped()
@read_fresh
async def get_snapshot(context: Context, arguments: GetSnapshot) -> Snapshot:
    """Return an entity's snapshot, current or as of a time, each field with the observation that set it.

    `at` counts observations by the time of what they describe, `at_ingested` by the time of recording. If no
    observation counts, the snapshot is empty. `provenance: full` adds the observations: time, source, writer.
    """
    row = await _as_of(
        context, arguments.entity_id, arguments.at, arguments.at_ingested, arguments.include_deleted
    )
    answer: Snapshot = {**answers.entity(row)}
    if arguments.at is not None:
        answer["at"] = times.render(arguments.at)
    if arguments.at_ingested is not None:
        answer["at_ingested"] = times.render(arguments.at_ingested)
    return answer


async def _as_of(
    context: Context, entity_id: str, at: int | None, at_ingested: int | None, include_deleted: bool = False
) -> EntityRow:
    """Return an entity as of two clocks. Without a clock, the stored snapshot is read.

    Raises:
        NotFound: no such entity, or it was deleted at that time.
    """
    if at is None and at_ingested is None:
        row = await context.graph.one(
            "entity.get", EntityResult, entity_id=entity_id, include_deleted=include_deleted
        )
        if row is not None:
            return row.entity
    else:
        latest = (times.LATEST if cutoff is None else cutoff for cutoff in (at, at_ingested))
        entity = (await recomputed.entities(context, [entity_id], *latest)).get(entity_id)
        if entity is not None and (entity.live or include_deleted):
            return entity
    raise answers.no_entity(entity_id)


class GetProvenance(Arguments):
    """The arguments of ``entities.provenance``."""

    entity_id: EntityId
    field: str = Field(min_length=1, max_length=identity.NAME_LIMIT, description="Name of the field.")
    at: At = None
    at_ingested: AtIngested = None
    max_characters: MaxCharacters = None


class QuotedPlace(Place):
    """The place in a file from which an observation has the value, and the text there as ``quote``."""

    observation_id: str
    source_id: str | None


class Provenance(Budgeted):
    """The value of one field, and the observations behind it; ``places`` says where in files it stands."""

    entity_id: str
    field: str
    value: Any
    version: int
    observation_ids: list[str]
    observations: list[answers.Observation]
    sources: list[SourceReference]
    places: NotRequired[list[QuotedPlace]]


@operation(
    "entities.provenance",
    "POST /get_field_provenance",
    tool="retrieve_field_provenance",
    command="entities provenance",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID, "field": "email"},
)
@within_budget()
@read_fresh
async def get_provenance(context: Context, arguments: GetProvenance) -> Provenance:
    """Return the observations that set one field of a snapshot: time, source, place in the file, writer."""
    row = await _as_of(context, arguments.entity_id, arguments.at, arguments.at_ingested)
    if row.is_stale:
        raise Stale([row.id])
    snapshot, winners_by_field = answers.snapshot_parts(row, CANONICAL_NAME)
    if arguments.field not in winners_by_field:
        raise NotFound(
            f"the snapshot of {arguments.entity_id} has no field {arguments.field!r}",
            entity_id=arguments.entity_id,
            field=arguments.field,
            fields=list(winners_by_field),
        )
    observations = await shaping.observations(context, set(winners_by_field[arguments.field].split(",")))
    source_ids = {each["source_id"] for each in observations.values() if each["source_id"] is not None}
    files = await read_sources(context, source_ids)
    places = [place for each in observations.values() if (place := _place(each, arguments.field))]
    answer: Provenance = {
        "entity_id": arguments.entity_id,
        "field": arguments.field,
        "value": snapshot[arguments.field],
        "version": row.version,
        "observation_ids": winners_by_field[arguments.field].split(","),
        "observations": [
            observations[observation_id] for observation_id in winners_by_field[arguments.field].split(",")
        ],
        "sources": [as_reference(row) for row in files],
    }
    return {**answer, "places": places} if places else answer


def _place(observation: answers.Observation, field: str) -> QuotedPlace | None:
    """Return where in its file an observation has a field from."""
    if "span" not in observation:
        return None
    place = place_of(
        answers.decoded(observation["span"]), field, answers.decoded(observation["fields"][field])
    )
    if not place:
        return None
    of_observation = {"observation_id": observation["id"], "source_id": observation["source_id"]}
    return cast("QuotedPlace", {**of_observation, **place})


def _known_order(sort_by: str) -> str:
    name = sort_by.strip()
    if name in ORDERS:
        return name
    if not name.startswith(FIELD):
        raise ValueError(f"sort by one of {', '.join(ORDERS)}, or snapshot.<field>")
    check_field_name(name.removeprefix(FIELD))
    return name


def _known_way(sort_order: Any) -> Any:
    return sort_order.strip().lower() if isinstance(sort_order, str) else sort_order


class EntityFilters(TypeFilters):
    """Filters of entities."""

    include_deleted: IncludeDeleted = False
    include_merged: bool = Field(
        default=False, description="Whether the answer includes entities that are merged into others."
    )
    updated_since: Annotated[
        Moment | None, Field(description="Only entities with an observation recorded at or after this time.")
    ] = None
    created_since: Annotated[
        Moment | None,
        Field(description="Only entities whose first observation was recorded at or after this time."),
    ] = None
    snapshot_filters: SnapshotFilters = Field(default={})


UNSEARCHABLE: Final = frozenset({"include_deleted", "include_merged"})
"""Filters that a search does not take: its hits are live."""


class QueryEntities(Arguments):
    """The arguments of ``entities.query``."""

    filters: EntityFilters = Field(default=EntityFilters(), description="Filters; all of them must fit.")
    sort_by: Annotated[
        str,
        Field(max_length=100, description=f"One of {', '.join(ORDERS)}, or snapshot.<field>."),
        AfterValidator(_known_order),
    ] = "entity_id"
    sort_order: Annotated[
        Way,
        BeforeValidator(_known_way),
        Field(description="Equal keys are ordered by id, in the same direction."),
    ] = "asc"
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    cursor: Cursor = None
    include_total_count: Total = False
    include_snapshots: bool = Field(default=True, description="Whether each entity has its snapshot.")
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"
    max_characters: MaxCharacters = None
    at: At = None
    at_ingested: AtIngested = None
    search: Annotated[SearchText | None, Spelled("query", "search_query")] = None
    newest_first: bool = Field(default=False, description=NEWEST_FIRST)


SEARCHABLE: Final = PAGE_ARGUMENTS | {
    "search", "newest_first", "filters", "include_total_count", "include_snapshots"
}  # fmt: skip
"""Arguments that a search takes."""


class EntityPage(AsOf, PageEnvelope, Shaped):
    """A page of entities.

    ``next_cursor`` stands where more entities follow. ``truncated`` means that the page ends before ``limit``
    although more may follow: its values are large, or one call compares no more entities than ``scanned``.
    Without a cursor, ``next_offset`` says where a page of large values goes on. A search adds the strategies
    that ran, ``semantic`` (whether all entities could be compared by meaning), ``exact`` where it is false
    (the indexes of the database answered, and may miss some) and, as ``hint``, what it left out. Where it
    names entities, each says how it is named, or that it is a ``resemblance``. Where it asks for a kind,
    ``understood`` says how it was read, and what is of the kind comes first. ``warnings``
    proposes the names that were probably meant by unknown types and, if no entity fits, by unknown fields.
    """

    entities: list[NamedEntity]
    understood: NotRequired[Understood]
    scanned: NotRequired[int]
    applied_search_strategies: NotRequired[list[str]]
    semantic: NotRequired[Semantic]
    exact: NotRequired[bool]
    hint: NotRequired[str]


@operation(
    "entities.query",
    "POST /entities/query",
    "GET /entities",
    tool="retrieve_entities",
    command="entities list",
    scope=Scope.READ,
    heavy=True,
    errors=(InvalidCursor,),
    example={"entity_type": "person", "sort_by": "last_observation_at", "sort_order": "desc", "limit": 20},
)
@within_budget("entities", is_page=True)
@shaped("entities")
@read_fresh
async def query_entities(context: Context, arguments: QueryEntities) -> EntityPage:
    """List entities by type, time and the values of their fields, in any order.

    Each of `snapshot_filters` has `op` and `value`: numbers compare as numbers, dates as times, text without
    case. A list matches if one of its elements does. Give `next_cursor` as `cursor` for the next page. `at`
    and `at_ingested` list the entities of that time, by id. `search` finds current entities by names,
    words and meaning, best first.
    """
    if arguments.search is not None:
        return await _searched(context, arguments, arguments.search)
    cursors.refuse_both(arguments.cursor, arguments.offset)
    request = _request(arguments)
    query = cursors.fingerprint(context, "entities.query", arguments)
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if clocks.now:
        page_of = entity_pages.page if request.is_indexed else compared_pages.page
        results = await page_of(context, request, query, arguments.cursor)
    else:
        _refuse_as_of(arguments)
        results = await entities_as_of.page(context, request, clocks, query, arguments.cursor)
    page: EntityPage = {
        "entities": named_entities(
            (answers.entity(row, snapshot=arguments.include_snapshots) for row in results.items), ()
        ),
        **results.envelope(arguments, query),
        **clocks.answered,
        **await names_in_use.warned(
            context, results.items, request.types, request.filters, {row.type for row in results.items}
        ),
    }
    if results.scanned is not None:
        page["scanned"] = results.scanned
    return page


async def _searched(context: Context, arguments: QueryEntities, search: str) -> EntityPage:
    """Return a page of search results.

    Raises:
        InvalidCursor: the cursor belongs to another query.
        InvalidInput: an argument is given that a search does not take.
    """
    why = "not together with search: its hits are current entities, in the order in which they fit"
    refused = [f"$.{name}" for name in arguments.sent() if name not in SEARCHABLE]
    refused += [
        f"$.filters.{name}"
        for name, value in arguments.filters.sent().items()
        if value and name in UNSEARCHABLE
    ]
    if refused:
        raise invalid([{"path": path, "message": why} for path in refused])
    cursors.refuse_both(arguments.cursor, arguments.offset)
    request = _request(arguments)
    query = cursors.fingerprint(context, "entities.query", arguments)
    matches = await search_pages.page(
        context, search, request, query, arguments.cursor, newest_first=arguments.newest_first
    )
    results = matches.results
    page: EntityPage = {
        "entities": named_entities(
            answers.entities(matches.page.items, snapshot=arguments.include_snapshots),
            results.named,
            has_kind=results.understood is not None,
        ),
        **matches.page.envelope(arguments, query),
        "applied_search_strategies": list(results.ran),
        "semantic": results.semantic,
        **await names_in_use.warned(
            context,
            matches.page.items,
            request.types,
            request.filters,
            {row.type for row in matches.page.items},
        ),
    }
    if results.understood is not None:
        page["understood"] = results.understood
    if matches.page.scanned is not None:
        page["scanned"] = matches.page.scanned
    if not results.is_exact:
        page["exact"] = False
    if results.notes:
        page["hint"] = "; ".join(results.notes)
    return page


def _request(arguments: QueryEntities) -> EntityRequest:
    filters = arguments.filters
    return EntityRequest(
        types=filters.types,
        order=Order.of(arguments.sort_by, arguments.sort_order),
        include_deleted=filters.include_deleted,
        include_merged=filters.include_merged,
        updated_since=filters.updated_since,
        created_since=filters.created_since,
        filters={
            name: Filter(name, condition.op, condition.value)
            for name, condition in filters.snapshot_filters.items()
        },
        limit=arguments.limit,
        offset=arguments.offset,
        counted=arguments.include_total_count,
    )


def _refuse_as_of(arguments: QueryEntities) -> None:
    """Refuse arguments that a list as of a time does not take: no index has the state of that time.

    Raises:
        InvalidInput: one of them is given.
    """
    filters = arguments.filters
    why = "not together with at or at_ingested: entities as of a time are listed by id, ascending"
    refused: Mapping[str, bool] = {
        "$.sort_by": arguments.sort_by != "entity_id",
        "$.sort_order": arguments.sort_order != "asc",
        "$.filters.snapshot_filters": bool(filters.snapshot_filters),
        "$.filters.updated_since": filters.updated_since is not None,
        "$.filters.created_since": filters.created_since is not None,
        "$.filters.include_merged": filters.include_merged,
    }
    issues = [{"path": path, "message": why} for path, is_given in refused.items() if is_given]
    if issues:
        raise invalid(issues)
