"""What is around an entity or a source: a page of its neighbours, with an exact total.

Of now and of an entity with few relationships, one round trip reads all of it.
"""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired

from graphmem.arguments import Current, EntityId, Spelled
from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.model import times
from graphmem.reading import answers, as_of, cursors, shared_rows, timeline_pages
from graphmem.reading.as_of import AsOf, AsOfArguments, Clocks
from graphmem.reading.current_relationships import current_page
from graphmem.reading.cursors import Query
from graphmem.reading.pages import NEWEST, IndexedPageEnvelope, Page, Paged, place_then, start_of
from graphmem.reading.relationship_pages import EdgePage, EdgeRequest, relationship_page
from graphmem.reading.shaping import Shaped, ShapedArguments, shaped
from graphmem.reading.shared_rows import EntityRow, ObservationRow, ObservationsOfEntity, RelationshipRow
from graphmem.reading.source_answers import SourceReference, as_reference, read_source, read_sources
from graphmem.reading.timeline_pages import Event, EventRequest, EventRow
from graphmem.registry import Scope, operation

SOURCED_OBSERVATIONS_LIMIT: Final = 1_000  # the newest observations of an entity, whose sources are answered


class Neighbourhood(ShapedArguments, AsOfArguments, Paged):
    node_id: EntityId
    node_type: Literal["entity", "source"] = "entity"
    include_relationships: bool = True
    include_related: Annotated[bool, Spelled("include_related_entities")] = True
    include_observations: bool = False
    include_sources: bool = True
    include_events: bool = True
    current: Current = False


class NeighbourhoodPage(AsOf, Shaped, IndexedPageEnvelope):
    """A node and a page of its neighbours.

    For an entity, the page holds its relationships, newest first, and the entities at their other ends;
    ``total`` counts the relationships. For a source, the page holds the entities observed from it, by id, and
    ``total`` counts them. ``total_count`` is the same number, and ``has_more`` says that ``next_cursor`` (and
    without a cursor ``next_offset``) goes on. ``observations`` are the newest, ``events`` the latest of the
    entity's timeline, at most ``limit`` of each.
    """

    node_id: str
    node_type: str
    entity: NotRequired[answers.Entity]
    source: NotRequired[SourceReference]
    relationships: NotRequired[list[answers.Relationship]]
    related_entities: NotRequired[list[answers.Entity]]
    observations: NotRequired[list[answers.Observation]]
    sources: NotRequired[list[SourceReference]]
    events: NotRequired[list[Event]]
    total_count: int
    has_more: bool


@operation("graph.neighborhood", Scope.READ)
@shaped("entity", "relationships", "related_entities")
async def graph_neighborhood(context: Context, arguments: Neighbourhood) -> NeighbourhoodPage:
    """Return the neighbours of an entity or a source: relationships, related entities, observations, sources.

    Pages have an exact total. `at` and `at_ingested` answer the neighbours of that time. Deleted ones are
    left out. Events are the entity's own.
    """
    query = cursors.fingerprint(context, "graph.neighborhood", arguments)
    return await (_of_source if arguments.node_type == "source" else _of_entity)(context, arguments, query)


def _answer(arguments: Neighbourhood, query: Query, page: Page[Any]) -> NeighbourhoodPage:
    answer: NeighbourhoodPage = {
        "node_id": arguments.node_id,
        "node_type": arguments.node_type,
        "total_count": page.total or 0,
        "has_more": page.place is not None,
        **page.envelope(arguments, query, is_counted=True),
        **arguments.clocks.answered,
        **Clocks(arguments.at).hinted(not page.total),
    }
    if answer["has_more"] and arguments.cursor is None:
        answer["next_offset"] = arguments.offset + len(page.items)
    return answer


_Around = tuple[EntityRow, EdgePage, list[str], list[EventRow]]
"""An entity, a page of its relationships, its sources and its events."""


async def _of_entity(context: Context, arguments: Neighbourhood, query: Query) -> NeighbourhoodPage:
    place, clocks = start_of(arguments, query, NEWEST, arguments.clocks)
    is_first = clocks.now and not arguments.current and place is None
    around = await _at_once(context, arguments) if is_first else None
    entity, listed, sources, events = around or await _in_parts(context, arguments, clocks, place)
    page = listed.as_page
    answer = _answer(arguments, query, page)
    answer["entity"] = answers.entity(entity)
    if arguments.include_relationships:
        answer["relationships"] = answers.relationships(page.items)
    if arguments.include_related:
        answer["related_entities"] = [answers.entity(row) for row in listed.others]
    if arguments.include_observations:
        answer["observations"] = await _observations(context, arguments, listed)
    if arguments.include_sources:
        answer["sources"] = [as_reference(row) for row in await read_sources(context, sources)]
    if arguments.include_events:
        answer["events"] = [timeline_pages.event(row) for row in events]
    return answer


_AtOnce = tuple[EntityRow, list[RelationshipRow], list[EntityRow], int, list[str], list[EventRow], bool]


async def _at_once(context: Context, arguments: Neighbourhood) -> _Around | None:
    """Read everything in one round trip; return None for an entity with many edges."""
    row = await context.graph.one(
        "relationship.neighbourhood", _AtOnce, entity_id=arguments.node_id,
        hub=context.services.limits.hub_relationships, expanded=arguments.include_related,
        offset=arguments.offset, limit=arguments.limit,
        observations=SOURCED_OBSERVATIONS_LIMIT if arguments.include_sources else 0,
        events=arguments.limit if arguments.include_events else 0,
    )  # fmt: skip
    if row is None:
        raise answers.no_entity(arguments.node_id)
    entity, page, others, total, sources, events, is_whole = row
    if not is_whole:
        return None
    shared_rows.refuse_stale([entity, *others])
    more = arguments.offset + len(page) < total
    return entity, EdgePage(page, others, total, more and len(page) < arguments.limit, more), sources, events


async def _in_parts(
    context: Context, arguments: Neighbourhood, clocks: Clocks, place: Mapping[str, Any] | None
) -> _Around:
    request = EdgeRequest(
        arguments.node_id, arguments.limit, arguments.offset, counted=True, expanded=arguments.include_related
    ).after_place(place)
    listed = await (current_page if arguments.current else relationship_page)(context, request, clocks)
    entity_id = listed.root or arguments.node_id
    rows = await as_of.entities(context, [entity_id], listed.clocks)
    if not rows:
        raise answers.no_entity(entity_id)
    sources, events = await asyncio.gather(
        _sources(context, arguments, listed.clocks), _events(context, arguments, listed.clocks)
    )
    return rows[0], listed, sources, events


async def _sources(context: Context, arguments: Neighbourhood, clocks: Clocks) -> list[str]:
    if not arguments.include_sources:
        return []
    sources = await context.graph.one(
        "source.of_entity", list[str], entity_id=arguments.node_id, most=SOURCED_OBSERVATIONS_LIMIT,
        **clocks.bounds,
    )  # fmt: skip
    return sources or []


async def _events(context: Context, arguments: Neighbourhood, clocks: Clocks) -> list[EventRow]:
    if not arguments.include_events:
        return []
    request = EventRequest(entity_id=arguments.node_id, limit=arguments.limit)
    events, *_ = await timeline_pages.page(context, request, clocks)
    return events[: arguments.limit]


async def _observations(
    context: Context, arguments: Neighbourhood, listed: EdgePage
) -> list[answers.Observation]:
    bounds = listed.clocks.bounds
    row = await context.graph.one(
        "observation.of_entity", ObservationsOfEntity, entity_id=arguments.node_id, at=bounds["at"],
        after=cursors.LAST, observed_since=times.EARLIEST, recorded_since=times.EARLIEST,
        recorded_until=bounds["at_ingested"], subject_ids=listed.subject_ids, include_deleted=True,
        include_excluded=False, field=None, offset=0, limit=arguments.limit, reach=arguments.limit,
    )  # fmt: skip
    return [answers.observation(observation) for observation in row[0]] if row else []


async def _of_source(context: Context, arguments: Neighbourhood, query: Query) -> NeighbourhoodPage:
    place, clocks = start_of(arguments, query, {"id": str}, arguments.clocks)
    row = await context.graph.one(
        "source.get", tuple[list[str], int, int], source_id=arguments.node_id,
        after="" if place is None else place["id"], offset=arguments.offset, limit=arguments.limit + 1,
        **clocks.bounds,
    )  # fmt: skip
    if row is None:
        raise NotFound(f"there is no source {arguments.node_id}", source_id=arguments.node_id)
    entity_ids, total, known = row
    then = clocks if clocks.now else clocks.pinned(known)
    page = entity_ids[: arguments.limit]
    entities = await as_of.entities(context, page, then) if arguments.include_related else []
    if entities:
        page = page[: page.index(entities[-1].id) + 1]
    following = place_then({"id": page[-1]}, then) if len(page) < len(entity_ids) else None
    truncated = following is not None and len(page) < arguments.limit
    answer = _answer(arguments, query, Page(page, following, truncated, total))
    answer["source"] = as_reference(await read_source(context, arguments.node_id))
    if arguments.include_relationships:
        answer["relationships"] = []
    if arguments.include_related:
        answer["related_entities"] = [answers.entity(entity) for entity in entities]
    if arguments.include_observations:
        newest = await context.graph.one(
            "source.observations", list[ObservationRow], source_id=arguments.node_id, limit=arguments.limit,
            **then.bounds,
        )  # fmt: skip
        answer["observations"] = [answers.observation(observation) for observation in newest or ()]
    if arguments.include_events:
        answer["events"] = []
    return answer
