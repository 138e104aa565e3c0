"""What is around an entity: one step, in pages with an exact total, or a walk of several steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    PAGE_DEFAULT,
    Arguments,
    At,
    AtIngested,
    Current,
    EntityId,
    Limit,
    NoBool,
    Offset,
    Spelled,
)
from graphmem.errors import InvalidCursor, NotFound
from graphmem.model import identity, times
from graphmem.reading import answers, as_of, cursors, related_pages, timeline_pages
from graphmem.reading.as_of import AsOf, Bounds, Clocks
from graphmem.reading.budgets import Budgeted, MaxCharacters, within_budget
from graphmem.reading.cursors import Cursor
from graphmem.reading.fresh import read_fresh
from graphmem.reading.neighbourhoods import NeighbourhoodRequest, neighbourhood
from graphmem.reading.pages import Indexed
from graphmem.reading.related_pages import RelatedPage
from graphmem.reading.relationship_lookup import RelationshipType, known_types
from graphmem.reading.shaping import EVERY_FIELD, FieldNames, ProvenanceLevel, Shaped, shaped
from graphmem.reading.shared_rows import ObservationRows, ObservationsOfEntity
from graphmem.reading.source_answers import SourceReference, as_reference, read_source, read_sources
from graphmem.reading.timeline_pages import Event
from graphmem.reading.walk import Place, WalkRequest, walk
from graphmem.registry import Context, Scope, operation
from graphmem.settings import LIMITS

DEPTH_LIMIT = 5


class Neighbourhood(Arguments):
    """What ``graph.neighborhood`` takes."""

    node_id: Annotated[str, Field(min_length=1, max_length=200, description="Id of the entity or source.")]
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
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"
    max_characters: MaxCharacters = None


class _StoredSource(NamedTuple):
    """The row of ``source/get.cypher``; ``known`` is the latest recorded_at that was read."""

    source: list[Any]
    entities: list[str]
    total: int
    known: int


class NeighbourhoodPage(AsOf, Shaped, Indexed, Budgeted):
    """A node and a page of its neighbours, which is paged by ``offset`` alone, without a cursor.

    For an entity, the page holds its relationships, newest first, and the entities at their other ends;
    ``total_count`` counts the relationships. For a source, the page holds the entities observed from it, by
    id, and ``total_count`` counts them. A page of large values ends before ``limit``; ``next_offset`` is
    there where ``has_more`` is true. ``observations`` are the newest, ``events`` the latest of the entity's
    timeline, at most ``limit`` of each.
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
    limit: int
    offset: int
    has_more: bool
    next_offset: NotRequired[int]


@operation(
    "graph.neighborhood",
    "POST /retrieve_graph_neighborhood",
    tool="retrieve_graph_neighborhood",
    command="entities neighborhood",
    scope=Scope.READ,
    heavy=True,
    errors=(NotFound,),
    example={"node_id": EXAMPLE_ENTITY_ID, "include_observations": True},
)
@within_budget("relationships", "related_entities")
@shaped("entity", "relationships", "related_entities")
@read_fresh
async def graph_neighborhood(context: Context, arguments: Neighbourhood) -> NeighbourhoodPage:
    """Return the neighbours of an entity or a source: relationships, related entities, observations, sources.

    Pages have an exact total. `at` and `at_ingested` answer the neighbours of that time. Deleted ones are
    left out. Events are the entity's own.
    """
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if arguments.node_type == "source":
        answer, page = await _of_source(context, arguments, clocks)
    else:
        answer, page = await _of_entity(context, arguments, clocks)
    end = arguments.offset + page
    answer["has_more"] = end < answer["total_count"] and page > 0
    if answer["has_more"]:
        answer["next_offset"] = end
    return answer


def _answer(arguments: Neighbourhood, total: int) -> NeighbourhoodPage:
    return {
        "node_id": arguments.node_id,
        "node_type": arguments.node_type,
        "total_count": total,
        "limit": arguments.limit,
        "offset": arguments.offset,
        "has_more": False,
        **Clocks(arguments.at, arguments.at_ingested).answered,
    }


async def _of_entity(
    context: Context, arguments: Neighbourhood, clocks: Clocks
) -> tuple[NeighbourhoodPage, int]:
    """Return the answer for an entity, and how many relationships its page has."""
    request = NeighbourhoodRequest(
        arguments.node_id,
        arguments.limit,
        arguments.offset,
        arguments.include_related,
        arguments.include_sources,
        arguments.include_events,
        arguments.current,
    )
    around = await neighbourhood(context, request, clocks)
    answer = _answer(arguments, around.total)
    answer["entity"] = answers.entity(around.entity)
    if arguments.include_relationships:
        answer["relationships"] = answers.relationships(around.relationships)
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
    return answer, len(around.relationships)


async def _observations(
    context: Context, arguments: Neighbourhood, subject_ids: list[str] | None, bounds: Bounds
) -> list[answers.Observation]:
    """Return the newest observations of the entity."""
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
        offset=0,
        limit=arguments.limit,
        reach=arguments.limit,
    )
    return [answers.observation(observation) for observation in row.page] if row else []


async def _of_source(
    context: Context, arguments: Neighbourhood, clocks: Clocks
) -> tuple[NeighbourhoodPage, int]:
    """Return the answer for a source, and how many entities its page has."""
    row = await context.graph.one(
        "source.get",
        _StoredSource,
        source_id=arguments.node_id,
        offset=arguments.offset,
        limit=arguments.limit,
        **clocks.bounds,
    )
    if row is None:
        raise NotFound(f"there is no source {arguments.node_id}", source_id=arguments.node_id)
    answer = _answer(arguments, row.total)
    answer["source"] = as_reference(await read_source(context, arguments.node_id))
    then = clocks if clocks.now else clocks.pinned(row.known)
    size = len(row.entities)
    if arguments.include_relationships:
        answer["relationships"] = []
    if arguments.include_related:
        entities = await as_of.entities(context, row.entities, then)
        if entities:
            size = row.entities.index(entities[-1].id) + 1
        answer["related_entities"] = [answers.entity(entity) for entity in entities]
    if arguments.include_observations:
        newest = await context.graph.one(
            "source.observations",
            ObservationRows,
            source_id=arguments.node_id,
            limit=arguments.limit,
            **then.bounds,
        )
        rows = newest.observations if newest else []
        answer["observations"] = [answers.observation(observation) for observation in rows]
    if arguments.include_events:
        answer["events"] = []
    return answer, size


class RelatedEntities(Arguments):
    """What ``entities.related`` takes."""

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
    include_entities: bool = Field(default=True, description="Whether the answer carries the entities.")
    include_paths: bool = Field(
        default=False, description="Whether the answer carries a shortest path to each entity."
    )
    through_hubs: bool = Field(
        default=False,
        description="Whether to pass through entities of more than "
        f"{LIMITS.hub_relationships:,} relationships.",
    )
    current: Current = False
    at: At = None
    at_ingested: AtIngested = None
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None
    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"
    max_characters: MaxCharacters = None


@operation(
    "entities.related",
    "POST /retrieve_related_entities",
    tool="retrieve_related_entities",
    command="entities related",
    scope=Scope.READ,
    heavy=True,
    errors=(NotFound, InvalidCursor),
    example={"entity_id": EXAMPLE_ENTITY_ID, "relationship_types": ["WORKS_AT"], "depth": 2},
)
@within_budget("entities", "relationships")
@shaped("relationships", "entities")
@read_fresh
async def related_entities(context: Context, arguments: RelatedEntities) -> RelatedPage:
    """Return the entities within some steps of an entity by live relationships, each once, nearest first.

    `relationship_types` limits the walk to some types, `depth` to a number of steps, `direction` to one way.
    `at` and `at_ingested` walk the relationships of that time. `next_cursor` answers the next entities.
    """
    # Only a page with a cursor or a next page needs the digest. It takes longer than reading the arguments.
    query = functools.partial(cursors.fingerprint, context, "entities.related", arguments)
    clocks, place = _from(query, arguments)
    paths = {f"$.relationship_types[{i}]": name for i, name in enumerate(arguments.relationship_types)}
    request = WalkRequest(
        arguments.entity_id,
        frozenset(await known_types(context, paths)),
        arguments.depth,
        arguments.direction,
        arguments.through_hubs,
        arguments.limit,
        arguments.include_entities,
        arguments.current,
    )
    reached = await walk(context, request, clocks, place)
    page = await related_pages.fitting(
        context, reached, arguments.limit, include_entities=arguments.include_entities
    )
    kind, name, version = await related_pages.origin(context, reached)
    answer: RelatedPage = {
        "entity_id": reached.root,
        "entity_type": kind,
        "canonical_name": name,
        "version": version,
        **Clocks(arguments.at, arguments.at_ingested).answered,
        "relationships": answers.relationships(sorted(page.relationships, key=lambda row: row.key)),
        "total": reached.answered + len(reached.entities) + reached.more,
        "truncated": False,
        "hubs": sorted(reached.hubs),
    }
    if arguments.include_entities:
        depths = {entity_id: depth for depth, entity_id in page.reached}
        answer["entities"] = [{**answers.entity(row), "depth": depths[row.id]} for row in page.entities]
    if arguments.include_paths:
        answer["paths"] = {
            entity_id: related_pages.path(reached.root, reached.paths[entity_id])
            for _, entity_id in page.reached
        }
    related_pages.add_left_out(answer, query, reached, page)
    return answer


def _from(query: Callable[[], str], arguments: RelatedEntities) -> tuple[Clocks, Place]:
    """Return the clocks and the place where a page starts, taken from the cursor if there is one.

    Raises:
        InvalidCursor: the cursor belongs to another query.
    """
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if arguments.cursor is None:
        return clocks, Place()
    kinds = {"depth": int, "entity": str, "answered": int} | ({} if clocks.now else {"known": int})
    place = cursors.decode(query(), arguments.cursor, kinds)
    known = place.get("known", times.EARLIEST)
    if not (
        0 <= place["depth"] <= DEPTH_LIMIT
        and 0 <= place["answered"] <= cursors.ANSWERED_LIMIT
        and times.EARLIEST <= known <= times.LATEST
        and len(place["entity"]) <= identity.KEY_LIMIT
    ):
        raise cursors.refused()
    if not clocks.now:
        # Pages as of a time tile while observations are recorded: later ones are in no page.
        clocks = clocks.pinned(min(place["known"], clocks.bounds["at_ingested"]))
    return clocks, Place(place["depth"], place["entity"], place["answered"])
