"""What is around an entity: a page of relationships, the entities at their other ends, sources and events.

Of now and of an entity with few relationships, one round trip reads all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphmem.reading import answers, as_of, shared_rows, timeline_pages
from graphmem.reading.as_of import Clocks
from graphmem.reading.current_relationships import current_page
from graphmem.reading.pages import Page
from graphmem.reading.relationship_pages import Found, WantedEdges, relationship_page
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.timeline_pages import EventRow
from graphmem.registry import Context

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
    page = Found(row.page, row.others, row.total, truncated, more).as_page
    return NeighbourhoodRows(row.entity, page, row.others, row.sources, row.events, None, Clocks())


async def _in_parts(context: Context, request: NeighbourhoodRequest, clocks: Clocks) -> NeighbourhoodRows:
    wanted = WantedEdges(
        request.entity_id, request.limit, request.offset, counted=True, expanded=request.include_related
    ).after_place(request.place)
    page_of = current_page if request.current else relationship_page
    listed = await page_of(context, wanted, clocks)
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
    """Return the latest events of the entity."""
    if not request.include_events:
        return []
    wanted = timeline_pages.WantedEvents(entity_id=request.entity_id, limit=request.limit)
    return (await timeline_pages.page(context, wanted, clocks)).events[: request.limit]
