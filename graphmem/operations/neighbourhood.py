"""What is around an entity: one step, in pages with an exact total, or a walk of several steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    At,
    AtIngested,
    Current,
    EntityId,
    NoBool,
    Spelled,
)
from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.model import times
from graphmem.reading import answers, as_of, cursors, neighbourhoods, timeline_pages
from graphmem.reading.as_of import AsOf, Bounds, Clocks
from graphmem.reading.budgets import within_budget
from graphmem.reading.cursors import ANSWERED_LIMIT, Query
from graphmem.reading.neighbourhoods import NeighbourhoodRequest, RelatedPage, neighbourhood
from graphmem.reading.pages import NEWEST, IndexedPageEnvelope, Page, Paged, place_then, start_of
from graphmem.reading.relationship_lookup import RelationshipType, followed_types
from graphmem.reading.shaping import EVERY_FIELD, FieldNames, ProvenanceLevel, Shaped, shaped
from graphmem.reading.shared_rows import ObservationRow, ObservationsOfEntity
from graphmem.reading.source_answers import SourceReference, as_reference, read_source, read_sources
from graphmem.reading.timeline_pages import Event
from graphmem.reading.walk import WalkPlace, WalkRequest, walk
from graphmem.registry import Scope, operation
from graphmem.settings import LIMITS

DEPTH_LIMIT = 5


class Neighbourhood(Paged):
    node_id: Annotated[EntityId, Field(description="Id of the entity or source.")]
    node_type: Literal["entity", "source"] = Field(default="entity", description="What the id names.")
    include_relationships: bool = Field(
        default=True, description="Whether the answer carries the relationships of the page."
    )
    include_related: Annotated[
        bool,
        Spelled("include_related_entities"),
        Field(description="Whether the answer carries the entities at their other ends."),
    ] = True
    include_observations: bool = Field(
        default=False, description="Whether the answer carries the newest observations of the node."
    )
    include_sources: bool = Field(
        default=True, description="Whether the answer carries the sources of its observations."
    )
    include_events: bool = Field(default=True, description="Whether the answer carries its timeline events.")
    current: Current = False
    at: At = None
    at_ingested: AtIngested = None
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"


class _StoredSource(NamedTuple):
    """The row of ``source/get.cypher``; ``known`` is the latest recorded_at that was read."""

    source: list[Any]
    entities: list[str]
    total: int
    known: int


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


@operation(
    "graph.neighborhood",
    "POST /retrieve_graph_neighborhood",
    tool="retrieve_graph_neighborhood",
    command="entities neighborhood",
    scope=Scope.READ,
    statements=20,
    heavy=True,
    errors=(NotFound,),
    example={"node_id": EXAMPLE_ENTITY_ID, "include_observations": True},
)
@within_budget("relationships", "related_entities")
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
        **Clocks(arguments.at, arguments.at_ingested).answered,
        **Clocks(arguments.at).hinted(not page.total),
    }
    if answer["has_more"] and arguments.cursor is None:
        answer["next_offset"] = arguments.offset + len(page.items)
    return answer


async def _of_entity(context: Context, arguments: Neighbourhood, query: Query) -> NeighbourhoodPage:
    place, clocks = start_of(arguments, query, NEWEST, Clocks(arguments.at, arguments.at_ingested))
    request = NeighbourhoodRequest(
        arguments.node_id,
        arguments.limit,
        arguments.offset,
        arguments.include_related,
        arguments.include_sources,
        arguments.include_events,
        arguments.current,
        place,
    )
    around = await neighbourhood(context, request, clocks)
    answer = _answer(arguments, query, around.page)
    answer["entity"] = answers.entity(around.entity)
    if arguments.include_relationships:
        answer["relationships"] = answers.relationships(around.page.items)
    if arguments.include_related:
        answer["related_entities"] = [answers.entity(row) for row in around.others]
    if arguments.include_observations:
        answer["observations"] = await _observations(
            context, arguments, around.subject_ids, around.clocks.bounds
        )
    if arguments.include_sources:
        answer["sources"] = [as_reference(row) for row in await read_sources(context, around.sources)]
    if arguments.include_events:
        answer["events"] = [timeline_pages.event(row) for row in around.events]
    return answer


async def _observations(
    context: Context, arguments: Neighbourhood, subject_ids: list[str] | None, bounds: Bounds
) -> list[answers.Observation]:
    row = await context.graph.one(
        "observation.of_entity",
        ObservationsOfEntity,
        entity_id=arguments.node_id,
        at=bounds["at"],
        after=cursors.LAST,
        observed_since=times.EARLIEST,
        recorded_since=times.EARLIEST,
        recorded_until=bounds["at_ingested"],
        subject_ids=subject_ids,
        include_deleted=True,
        include_excluded=False,
        field=None,
        offset=0,
        limit=arguments.limit,
        reach=arguments.limit,
    )
    return [answers.observation(observation) for observation in row.page] if row else []


async def _of_source(context: Context, arguments: Neighbourhood, query: Query) -> NeighbourhoodPage:
    place, clocks = start_of(arguments, query, {"id": str}, Clocks(arguments.at, arguments.at_ingested))
    row = await context.graph.one(
        "source.get",
        _StoredSource,
        source_id=arguments.node_id,
        after="" if place is None else place["id"],
        offset=arguments.offset,
        limit=arguments.limit + 1,
        **clocks.bounds,
    )
    if row is None:
        raise NotFound(f"there is no source {arguments.node_id}", source_id=arguments.node_id)
    then = clocks if clocks.now else clocks.pinned(row.known)
    page = row.entities[: arguments.limit]
    entities = await as_of.entities(context, page, then) if arguments.include_related else []
    if entities:
        page = page[: page.index(entities[-1].id) + 1]
    following = place_then({"id": page[-1]}, then) if len(page) < len(row.entities) else None
    truncated = following is not None and len(page) < arguments.limit
    answer = _answer(arguments, query, Page(page, following, truncated, row.total))
    answer["source"] = as_reference(await read_source(context, arguments.node_id))
    if arguments.include_relationships:
        answer["relationships"] = []
    if arguments.include_related:
        answer["related_entities"] = [answers.entity(entity) for entity in entities]
    if arguments.include_observations:
        newest = await context.graph.one(
            "source.observations",
            list[ObservationRow],
            source_id=arguments.node_id,
            limit=arguments.limit,
            **then.bounds,
        )
        answer["observations"] = [answers.observation(observation) for observation in newest or ()]
    if arguments.include_events:
        answer["events"] = []
    return answer


class RelatedEntities(Paged):
    entity_id: EntityId
    relationship_types: list[RelationshipType] = Field(
        default=[],
        max_length=100,
        description="Follow only relationships of these types; all types if empty.",
    )
    depth: Annotated[
        int,
        Spelled("max_hops"),
        Field(ge=1, le=DEPTH_LIMIT, description=f"Steps from the entity at most, 1 to {DEPTH_LIMIT}."),
        NoBool,
    ] = 1
    direction: Literal["both", "outgoing", "incoming"] = Field(
        default="both", description="Which way to follow relationships."
    )
    include_entities: bool = Field(default=True, description="Whether to answer the entities.")
    include_paths: bool = Field(default=False, description="Whether to answer a shortest path to each.")
    through_hubs: bool = Field(
        default=False,
        description="Whether to pass through entities of more than "
        f"{LIMITS.hub_relationships:,} relationships.",
    )
    current: Current = False
    at: At = None
    at_ingested: AtIngested = None
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"


@operation(
    "entities.related",
    "POST /retrieve_related_entities",
    tool="retrieve_related_entities",
    scope=Scope.READ,
    statements=24,
    heavy=True,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID, "relationship_types": ["WORKS_AT"], "depth": 2},
)
@within_budget("entities", "relationships")
@shaped("relationships", "entities")
async def related_entities(context: Context, arguments: RelatedEntities) -> RelatedPage:
    """Return the entities within some steps of an entity by live relationships, each once, nearest first.

    `relationship_types` limits the walk to some types, `depth` to a number of steps, `direction` to one way.
    `at` and `at_ingested` walk the relationships of that time. `next_cursor` answers the next entities.
    """
    query = cursors.fingerprint(context, "entities.related", arguments)
    requested = Clocks(arguments.at, arguments.at_ingested)
    place, clocks = start_of(arguments, query, {"depth": int, "entity": str, "answered": int}, requested)
    place = {} if place is None else place
    if not 0 <= place.get("depth", 0) <= DEPTH_LIMIT or not 0 <= place.get("answered", 0) <= ANSWERED_LIMIT:
        raise cursors.refused()
    paths = {f"$.relationship_types[{i}]": name for i, name in enumerate(arguments.relationship_types)}
    types, direction = await followed_types(context, paths, arguments.direction)
    request = WalkRequest(
        arguments.entity_id,
        frozenset(types),
        arguments.depth,
        direction,
        arguments.through_hubs,
        arguments.offset + arguments.limit,
        arguments.include_entities,
        arguments.current,
    )
    start = WalkPlace(place.get("depth", 0), place.get("entity", ""), place.get("answered", 0))
    reached = await walk(context, request, clocks, start)
    reached.skip(arguments.offset)
    page = await neighbourhoods.fitting(
        context, reached, arguments.limit, include_entities=arguments.include_entities
    )
    part = neighbourhoods.as_page(reached, page)
    kind, name, version = await neighbourhoods.origin(context, reached)
    answer: RelatedPage = {
        "entity_id": reached.root,
        "entity_type": kind,
        "canonical_name": name,
        "version": version,
        **requested.answered,
        **requested.hinted(not reached.entities),
        "relationships": answers.relationships(sorted(page.relationships, key=lambda row: row.key)),
        "hubs": sorted(reached.hubs),
        "truncated": False,
        **part.envelope(arguments, query, is_counted=True),
        "total": part.total or 0,
    }
    if arguments.include_entities:
        depths = {entity_id: depth for depth, entity_id in page.reached}
        answer["entities"] = [{**answers.entity(row), "depth": depths[row.id]} for row in page.entities]
    if arguments.include_paths:
        answer["paths"] = {
            entity_id: neighbourhoods.path(reached.root, reached.paths[entity_id])
            for _, entity_id in page.reached
        }
    neighbourhoods.add_left_out(answer, reached, page)
    return answer
