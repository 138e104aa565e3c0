"""The answer of a walk: the entities and relationships that fit into it, paths, and what follows."""

from __future__ import annotations

import asyncio
import bisect
import itertools
from dataclasses import dataclass
from typing import NotRequired

from typing_extensions import TypedDict

from graphmem.reading import answers, as_of, shared_rows
from graphmem.reading.as_of import AsOf
from graphmem.reading.pages import IndexedPageEnvelope, Page, place_then
from graphmem.reading.shaping import Shaped
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.walk import Reached
from graphmem.registry import Context


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


class RelatedPage(AsOf, Shaped, IndexedPageEnvelope):
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
    left_out: NotRequired[LeftOut]
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
