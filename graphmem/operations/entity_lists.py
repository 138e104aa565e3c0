"""Lists of entities: by their types, times, fields and relationships, in any order, and by a search."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NotRequired

from pydantic import AfterValidator, BeforeValidator, Field

from graphmem.arguments import (
    EntityId,
    IncludeDeleted,
    Moment,
    Spelled,
    Text,
    TypeFilters,
    invalid,
)
from graphmem.context import Context
from graphmem.cypher import Way
from graphmem.model.comparison import Filter
from graphmem.reading import answers, compared_pages, cursors, entity_pages, names_in_use
from graphmem.reading.as_of import AsOf, AsOfArguments
from graphmem.reading.cursors import PAGE_ARGUMENTS
from graphmem.reading.pages import ByWriter, IndexedPageEnvelope, Paged
from graphmem.reading.relationship_lookup import RelationshipType, meanings
from graphmem.reading.shaping import Shaped, ShapedArguments, shaped
from graphmem.registry import Scope, operation
from graphmem.search.lookup import NamedEntity, named_entities
from graphmem.search.search_engine import search_page
from graphmem.search.search_results import NEWEST_FIRST, Results, SearchNotes, SearchText


def _known_order(sort_by: str) -> str:
    name = sort_by.strip()
    if name in entity_pages.ORDERS:
        return name
    if not name.startswith(entity_pages.FIELD):
        raise ValueError(f"sort by one of {', '.join(entity_pages.ORDERS)}, or snapshot.<field>")
    entity_pages.check_field_name(name.removeprefix(entity_pages.FIELD))
    return name


class EntityFilters(ByWriter, TypeFilters):
    include_deleted: IncludeDeleted = False
    include_merged: bool = False
    name: Text | None = None
    updated_since: Moment | None = None
    created_since: Moment | None = None
    snapshot_filters: entity_pages.SnapshotFilters = Field(default={})
    related_to: EntityId | None = None
    relationship_types: list[RelationshipType] = Field(default=[], max_length=100)

    @property
    def field_filters(self) -> dict[str, Filter]:
        return {name: Filter(name, each.op, each.value) for name, each in self.snapshot_filters.items()}


UNLISTED: Final = frozenset({"include_deleted", "include_merged"})
"""Filters that neither a search takes nor a list of what is related to an entity: these answer live ones."""
_BESIDE_NAME: Final = (
    PAGE_ARGUMENTS | UNLISTED | TypeFilters.model_fields.keys()
    | {"filters", "name", "include_total_count", "include_snapshots", "sort_order"}
)  # fmt: skip
"""Arguments that go with a filter by name."""


class QueryEntities(ShapedArguments, AsOfArguments, Paged):
    filters: EntityFilters = EntityFilters()
    sort_by: Annotated[
        str,
        Field(max_length=100, description=f"One of {', '.join(entity_pages.ORDERS)}, or snapshot.<field>."),
        AfterValidator(_known_order),
    ] = "entity_id"
    sort_order: Annotated[
        Way, BeforeValidator(lambda way: way.strip().lower() if isinstance(way, str) else way)
    ] = "asc"
    include_snapshots: bool = True
    search: Annotated[SearchText | None, Spelled("query", "text", "search_query")] = None
    newest_first: bool = Field(default=False, description=NEWEST_FIRST)


SEARCHABLE: Final = PAGE_ARGUMENTS | {
    "search", "at", "at_ingested", "newest_first", "filters", "include_total_count", "include_snapshots"
}  # fmt: skip
"""Arguments that a search takes."""


class EntityPage(SearchNotes, AsOf, IndexedPageEnvelope, Shaped):
    """A page of entities.

    ``next_cursor`` stands where more entities follow. ``truncated`` means that the page ends before
    ``limit`` although more may follow: its values are large, or one call compares no more entities than
    ``scanned``. Without a cursor, ``next_offset`` says where a page of large values goes on. A search
    adds the strategies that ran, ``semantic`` (whether all entities could be compared by meaning),
    ``exact`` where it is false (not all entities were compared that may have an identifier) and, as
    ``hint``, what it left out. Where it names entities, each says how it is named, or that it is a
    ``resemblance``. Where it asks for a kind, ``understood`` says how it was read, and what is of the
    kind comes first. The first page of a search has the ``passages`` of files that say it. ``warnings``
    proposes the names that were probably meant by unknown types and, if no entity fits, by unknown
    fields.
    """

    entities: list[NamedEntity]
    scanned: NotRequired[int]
    applied_search_strategies: NotRequired[list[str]]


@operation("entities.query", Scope.READ)
@shaped("entities")
async def query_entities(context: Context, arguments: QueryEntities) -> EntityPage:
    """List entities by type, time, relationship and values of fields, in any order.

    Each of `snapshot_filters` has `op` and `value`: numbers compare as numbers, dates as times, text without
    case. A list matches if one of its elements does. `at` and `at_ingested` list the entities of that time,
    by id. `search` finds current entities by names, kinds ("open tasks"), words and meaning, best first; with
    `at`, it answers them as they were then.
    """
    search, results = arguments.search, None
    if search is not None:
        refused = [f"$.{name}" for name in arguments.sent() if name not in SEARCHABLE]
        sent = arguments.filters.sent()
        refused += [f"$.filters.{name}" for name, value in sent.items() if value and name in UNLISTED]
        why = "not together with search: its hits are current entities, in the order in which they fit"
        _refuse(refused, why)
    cursors.refuse_both(arguments.cursor, arguments.offset)
    request = await _request(context, arguments)
    query = cursors.fingerprint(context, "entities.query", arguments)
    clocks = arguments.clocks
    if not clocks.now:
        _refuse_as_of(arguments)
    if search is not None:
        listed, results = await search_page(
            context, search, request, query, arguments.cursor, clocks, newest_first=arguments.newest_first
        )
    elif clocks.now:
        is_indexed = request.is_indexed(is_sealed=context.services.database.is_sealed)
        page_of = entity_pages.page if is_indexed else compared_pages.page
        listed = await page_of(context, request, query, arguments.cursor)
    else:
        listed = await compared_pages.page_as_of(context, request, clocks, query, arguments.cursor)
    page: EntityPage = {
        "entities": named_entities(
            answers.entities(listed.items, snapshot=arguments.include_snapshots),
            () if results is None else results.named,
            resembles=results is not None,
        ),
        **listed.envelope(arguments, query),
        **clocks.answered,
        **await names_in_use.warned(
            context, listed.items, request.types, request.filters, {row.type for row in listed.items}
        ),
    }
    if listed.scanned is not None:
        page["scanned"] = listed.scanned
    if results is not None:
        _add_search(page, results)
    return page


def _refuse(paths: Iterable[str], why: str) -> None:
    """Raise InvalidInput for arguments, by their JSON paths, if there is one."""
    if issues := [{"path": path, "message": why} for path in paths]:
        raise invalid(issues)


def _add_search(page: EntityPage, results: Results) -> None:
    """Add to a page of hits how the search went."""
    page["applied_search_strategies"], page["semantic"] = list(results.ran), results.semantic
    for entity in page["entities"]:
        if earlier := results.earlier.get(entity["entity_id"]):
            entity["earlier"] = earlier
    if results.understood is not None:
        page["understood"] = results.understood
    if results.is_cut:
        page["exact"] = False
    if results.notes:
        page["hint"] = "; ".join(results.notes)
    if results.passages.passages:
        page["passages"] = list(results.passages.passages)


async def _request(context: Context, arguments: QueryEntities) -> entity_pages.EntityRequest:
    filters = arguments.filters
    _refuse_beside_name(arguments)
    return entity_pages.EntityRequest(
        types=filters.types, order=entity_pages.Order.of(arguments.sort_by, arguments.sort_order),
        include_deleted=filters.include_deleted, include_merged=filters.include_merged, name=filters.name,
        updated_since=filters.updated_since, created_since=filters.created_since,
        filters=filters.field_filters, limit=arguments.limit, offset=arguments.offset,
        counted=arguments.include_total_count, related=await _related(context, filters),
        writers=filters.writers,
    )  # fmt: skip


async def _related(context: Context, filters: EntityFilters) -> tuple[str, list[str]] | None:
    """Return to what, and by what, the entities of a list are to be related."""
    if filters.related_to is None:
        if filters.relationship_types:
            why = "give related_to as well: the entity to which these relationships lead"
            _refuse(["$.filters.relationship_types"], why)
        return None
    sent = filters.sent()
    refused = [f"$.filters.{name}" for name in sorted(UNLISTED) if sent.get(name)]
    _refuse(refused, "not together with related_to: what it answers is live")
    paths = {f"$.filters.relationship_types[{i}]": name for i, name in enumerate(filters.relationship_types)}
    return filters.related_to, [each.name for each in await meanings(context, paths)]


def _refuse_beside_name(arguments: QueryEntities) -> None:
    """Refuse what does not go with a filter by name, which has an index of its own."""
    if arguments.filters.name is None:
        return
    sent = {f"$.{name}": name for name in arguments.sent()}
    sent |= {f"$.filters.{name}": name for name in arguments.filters.sent()}
    why = "not together with name: entities of a name are filtered by type and state alone, and listed by id"
    _refuse((path for path, name in sent.items() if name not in _BESIDE_NAME), why)


def _refuse_as_of(arguments: QueryEntities) -> None:
    """Refuse arguments that a list as of a time does not take: no index has the state of that time."""
    filters = arguments.filters
    refused: Mapping[str, bool] = {
        **{f"$.filters.{name}": True for name in filters.sent() if name in ByWriter.model_fields},
        "$.sort_by": arguments.sort_by != "entity_id",
        "$.sort_order": arguments.sort_order != "asc",
        "$.filters.snapshot_filters": bool(filters.snapshot_filters),
        "$.filters.updated_since": filters.updated_since is not None,
        "$.filters.created_since": filters.created_since is not None,
        "$.filters.include_merged": filters.include_merged,
        "$.filters.related_to": filters.related_to is not None,
    }
    why = "not together with at or at_ingested: entities as of a time are listed by id, ascending"
    _refuse((path for path, is_given in refused.items() if is_given), why)
