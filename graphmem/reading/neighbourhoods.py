"""What is around an entity: its neighbourhood, and the answer of a walk to what is related to it.

A neighbourhood is a page of relationships, the entities at their other ends, sources and events. Of now and
of an entity with few relationships, one round trip reads all of it.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired

from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.reading import answers, as_of, shared_rows, timeline_pages
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.current_relationships import current_page
from graphmem.reading.pages import IndexedPageEnvelope, NamesDamaged, Page, place_then
from graphmem.reading.relationship_pages import EdgePage, EdgeRequest, relationship_page
from graphmem.reading.shaping import Shaped
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.timeline_pages import EventRow
from graphmem.reading.walk import Reached

SOURCED_OBSERVATIONS_LIMIT = 1_000
"""The newest observations of an entity, whose sources are answered."""


@dataclass(frozen=True, slots=True)
class NeighbourhoodRequest:
    """Which entity, which page of its relationships, and what else is wanted of it.

    ``place`` is the one that the page follows.
    """

    entity_id: str
    limit: int
    offset: int
    include_related: bool
    include_sources: bool
    include_events: bool
    current: bool = False
    place: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NeighbourhoodRows:
    """An entity with what is around it.

    Attributes:
        page: a page of its relationships, with the total.
        others: the entities at the other ends of these relationships.
        subject_ids: as of a time, the members of the entity.
        clocks: the clocks for further queries of the same answer.
    """

    entity: EntityRow
    page: Page[RelationshipRow]
    others: list[EntityRow]
    sources: list[str]
    events: list[EventRow]
    subject_ids: list[str] | None
    clocks: Clocks


class _AtOnce(NamedTuple):
    """The row of ``relationship/neighbourhood.cypher``; ``whole`` is false for an entity with many edges."""

    entity: EntityRow
    page: list[RelationshipRow]
    others: list[EntityRow]
    total: int
    sources: list[str]
    events: list[EventRow]
    whole: bool


async def neighbourhood(context: Context, request: NeighbourhoodRequest, clocks: Clocks) -> NeighbourhoodRows:
    """Return what is around an entity, now or as of a time."""
    is_first = clocks.now and not request.current and request.place is None
    at_once = await _at_once(context, request) if is_first else None
    return at_once or await _in_parts(context, request, clocks)


async def _at_once(context: Context, request: NeighbourhoodRequest) -> NeighbourhoodRows | None:
    """Read everything in one round trip; return None for an entity with many edges."""
    row = await context.graph.one(
        "relationship.neighbourhood",
        _AtOnce,
        entity_id=request.entity_id,
        hub=context.services.limits.hub_relationships,
        expanded=request.include_related,
        offset=request.offset,
        limit=request.limit,
        observations=SOURCED_OBSERVATIONS_LIMIT if request.include_sources else 0,
        events=request.limit if request.include_events else 0,
    )
    if row is None:
        raise answers.no_entity(request.entity_id)
    if not row.whole:
        return None
    shared_rows.refuse_stale([row.entity, *row.others])
    more = request.offset + len(row.page) < row.total
    truncated = more and len(row.page) < request.limit
    page = EdgePage(row.page, row.others, row.total, truncated, more).as_page
    return NeighbourhoodRows(row.entity, page, row.others, row.sources, row.events, None, Clocks())


async def _in_parts(context: Context, request: NeighbourhoodRequest, clocks: Clocks) -> NeighbourhoodRows:
    page_request = EdgeRequest(
        request.entity_id, request.limit, request.offset, counted=True, expanded=request.include_related
    ).after_place(request.place)
    page_of = current_page if request.current else relationship_page
    listed = await page_of(context, page_request, clocks)
    entity_id = listed.root or request.entity_id
    rows = await as_of.entities(context, [entity_id], listed.clocks)
    if not rows:
        raise answers.no_entity(entity_id)
    sources, events = await asyncio.gather(
        _sources(context, request, listed.clocks), _events(context, request, listed.clocks)
    )
    return NeighbourhoodRows(
        rows[0],
        listed.as_page,
        listed.others,
        sources,
        events,
        listed.subject_ids,
        listed.clocks,
    )


async def _sources(context: Context, request: NeighbourhoodRequest, clocks: Clocks) -> list[str]:
    if not request.include_sources:
        return []
    sources = await context.graph.one(
        "source.of_entity",
        list[str],
        entity_id=request.entity_id,
        most=SOURCED_OBSERVATIONS_LIMIT,
        **clocks.bounds,
    )
    return sources or []


async def _events(context: Context, request: NeighbourhoodRequest, clocks: Clocks) -> list[EventRow]:
    if not request.include_events:
        return []
    event_request = timeline_pages.EventRequest(entity_id=request.entity_id, limit=request.limit)
    return (await timeline_pages.page(context, event_request, clocks)).events[: request.limit]


class Related(answers.Entity):
    """A related entity. ``depth`` counts the steps from the origin."""

    depth: NotRequired[int]


class Step(TypedDict):
    """One step of a path: the relationship, the direction in which it is followed, and its far entity."""

    relationship_key: str
    relationship_type: str
    direction: str
    entity_id: str


class LeftOut(TypedDict):
    """Counts of related entities and relationships that this answer does not hold.

    ``entities`` and ``relationships`` count those that later pages answer. ``unexplored`` counts entities
    whose relationships were not read, because a walk reads 50,000 relationships at most. Then ``at_least``
    is true and the other counts are lower bounds.
    """

    entities: int
    relationships: int
    unexplored: int
    at_least: bool


class RelatedPage(AsOf, Shaped, NamesDamaged, IndexedPageEnvelope):
    """The entities related to an entity, nearest first, then by id, and the relationships between them.

    A relationship is on the page of the later of its ends. ``total`` counts all related entities.
    ``left_out`` counts what this page lacks, where ``truncated`` is true; ``next_cursor`` answers the
    entities that follow. ``hubs`` have too many relationships (deleted ones included) to be passed through:
    start from the hub, or set ``through_hubs``. ``paths`` holds one shortest path for each entity: of
    several, the path with the smallest keys.
    """

    entity_id: str
    entity_type: str
    canonical_name: str
    version: int
    relationships: list[answers.Relationship]
    entities: NotRequired[list[Related]]
    paths: NotRequired[dict[str, list[Step]]]
    total: int  # pyright: ignore[reportGeneralTypeIssues]
    truncated: bool  # pyright: ignore[reportGeneralTypeIssues]
    left_out: NotRequired[LeftOut]  # pyright: ignore[reportIncompatibleVariableOverride]
    hubs: list[str]


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of a walk that fits into one answer. ``dropped`` counts relationships that do not fit."""

    reached: list[tuple[int, str]]
    entities: list[EntityRow]
    relationships: list[RelationshipRow]
    dropped: int


async def fitting(context: Context, walk: Reached, limit: int, *, include_entities: bool) -> Fitting:
    """Return the first entities that fit with their relationships; at least one entity."""
    reached = walk.entities[:limit]
    links = [sorted(walk.links.get(entity_id, ())) for _, entity_id in reached]
    most = context.services.limits.page_relationships
    end = _count_within([len(keys) for keys in links], most)
    keys = [key for part in links[:end] for key in part][:most]
    written = [each for key in keys for each in sorted(walk.written.get(key, {key}))]
    ids = [entity_id for _, entity_id in reached[:end]]
    entities, relationships = await _rows(context, walk, ids if include_entities else [], written)
    # Both lists end where an answer is full: the page ends where the shorter list does.
    if entities and entities[-1].id != ids[-1]:
        end = ids.index(entities[-1].id) + 1
    if relationships and relationships[-1].key != keys[-1]:
        last = keys.index(relationships[-1].key) + 1
        end = min(end, _count_within([len(part) for part in links[:end]], last))
    named = {key for part in links[:end] for key in part}
    relationships = [each for each in relationships if each.key in named]
    kept_ids = set(ids[:end])
    dropped = len(named) - len(relationships) if end == 1 else 0
    return Fitting(reached[:end], [each for each in entities if each.id in kept_ids], relationships, dropped)


async def _rows(
    context: Context, walk: Reached, entity_ids: list[str], keys: list[str]
) -> tuple[list[EntityRow], list[RelationshipRow]]:
    """Return the rows of some entities and relationships of a walk, as many as fit into an answer."""
    if walk.rows is None:
        return await asyncio.gather(
            as_of.entities(context, entity_ids, walk.clocks), as_of.relationships(context, keys, walk.clocks)
        )
    wanted_ids = set(entity_ids)
    entities = [row for row in walk.rows.entities if row.id in wanted_ids]
    by_key = {row.key: row for row in walk.rows.relationships}
    return shared_rows.refuse_stale(entities), [by_key[key] for key in keys if key in by_key]


def _count_within(counts: list[int], most: int) -> int:
    """Return how many counts, from the first on, sum up to at most ``most``; at least one if there is any."""
    within = bisect.bisect_right(list(itertools.accumulate(counts)), most)
    return max(within, min(len(counts), 1))


async def origin(context: Context, reached: Reached) -> tuple[str, str, int]:
    """Return type, name and version of the entity that the walk started from."""
    if reached.origin is not None:
        return reached.origin.type, reached.origin.name, reached.origin.version
    (row,) = await as_of.entities(context, [reached.root], reached.clocks)
    return row.type, row.name, row.version


def path(start: str, keys: tuple[str, ...]) -> list[Step]:
    steps: list[Step] = []
    for key in keys:
        kind, source, target = key.split(":")
        outgoing = source == start
        start = target if outgoing else source
        steps.append({
            "relationship_key": key,
            "relationship_type": kind,
            "direction": "outgoing" if outgoing else "incoming",
            "entity_id": start,
        })  # fmt: skip
    return steps


def as_page(walk: Reached, page: Fitting) -> Page[tuple[int, str]]:
    """Return the entities of a page with the place where the next page starts."""
    following = None
    if page.reached and len(walk.entities) + walk.more > len(page.reached):
        depth, entity_id = page.reached[-1]
        place = {"depth": depth, "entity": entity_id, "answered": walk.answered + len(page.reached)}
        following = place_then(place, walk.clocks)
    return Page(page.reached, following, total=walk.answered + len(walk.entities) + walk.more)


def add_left_out(answer: RelatedPage, walk: Reached, page: Fitting) -> None:
    rest = walk.entities[len(page.reached) :]
    entities = len(rest) + walk.more
    relationships = (
        sum(len(walk.links.get(entity_id, ())) for _, entity_id in rest) + walk.more_links + page.dropped
    )
    if not (entities or relationships or walk.unexplored):
        return
    answer["truncated"] = True
    answer["left_out"] = {
        "entities": entities,
        "relationships": relationships,
        "unexplored": walk.unexplored,
        "at_least": bool(walk.unexplored),
    }
