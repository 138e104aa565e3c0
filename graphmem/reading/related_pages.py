"""The answer of a walk: the entities and relationships that fit into it, paths, and what follows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NotRequired

from typing_extensions import TypedDict

from graphmem.reading import answers, as_of, cursors
from graphmem.reading.answers import EntityRow, RelationshipRow
from graphmem.reading.as_of import AsOf
from graphmem.reading.walk import Reached
from graphmem.registry import Context


class Related(answers.Entity):
    """An entity that was reached, and in how many steps."""

    depth: NotRequired[int]


class Step(TypedDict):
    """One step of a path: the relationship, which way it was followed, and the entity that it leads to."""

    relationship_key: str
    relationship_type: str
    direction: str
    entity_id: str


class LeftOut(TypedDict):
    """What follows this answer, or is not in it.

    ``entities`` and ``relationships`` are what was reached and not answered yet. ``unexplored`` counts the
    entities whose relationships were not looked at, because a walk looks at so many at most (50,000);
    then ``at_least`` is true and the other counts are lower bounds.
    """

    entities: int
    relationships: int
    unexplored: int
    at_least: bool


class RelatedPage(AsOf):
    """What can be reached from an entity, nearest first, then by id, and the relationships walked.

    A relationship is answered with the later of its ends. ``total`` counts all that is reached.
    ``truncated`` says that something was left out, ``left_out`` what; ``next_cursor`` answers the following
    entities. ``hubs`` are entities with so many relationships, those that ended included, that they were not
    passed through: ask from one of them, or with ``through_hubs``. ``paths`` holds by entity one path of the
    fewest steps, that whose keys are the smallest.
    """

    entity_id: str
    entity_type: str
    canonical_name: str
    version: int
    relationships: list[answers.Relationship]
    entities: NotRequired[list[Related]]
    paths: NotRequired[dict[str, list[Step]]]
    total: int
    truncated: bool
    left_out: NotRequired[LeftOut]
    next_cursor: NotRequired[str]
    hubs: list[str]


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of what was reached that one answer holds; ``dropped`` relationships did not fit."""

    reached: list[tuple[int, str]]
    entities: list[EntityRow]
    relationships: list[RelationshipRow]
    dropped: int


async def fitting(context: Context, found: Reached, limit: int, *, include_entities: bool) -> Fitting:
    """Return as many of the entities, with the relationships that come with them, as fit: one at least."""
    reached = found.entities[:limit]
    links = [sorted(found.links.get(entity_id, ())) for _, entity_id in reached]
    most = context.services.limits.page_relationships
    end = _count_within([len(keys) for keys in links], most)
    keys = [key for some in links[:end] for key in some][:most]
    written = [one for key in keys for one in sorted(found.written.get(key, {key}))]
    ids = [entity_id for _, entity_id in reached[:end]]
    entities, relationships = await asyncio.gather(
        as_of.entities(context, ids if include_entities else [], found.clocks),
        as_of.relationships(context, written, found.clocks),
    )
    # Each answers the first of what it is asked for, as many as fit: the page ends where either does.
    if entities and entities[-1].id != ids[-1]:
        end = ids.index(entities[-1].id) + 1
    if relationships and relationships[-1].key != keys[-1]:
        last = keys.index(relationships[-1].key) + 1
        end = min(end, _count_within([len(some) for some in links[:end]], last))
    named = {key for some in links[:end] for key in some}
    relationships = [one for one in relationships if one.key in named]
    held = set(ids[:end])
    dropped = len(named) - len(relationships) if end == 1 else 0
    return Fitting(reached[:end], [one for one in entities if one.id in held], relationships, dropped)


def _count_within(counts: list[int], most: int) -> int:
    """Return how many of the first counts are ``most`` together; one at least, where there is one."""
    total = 0
    for i, count in enumerate(counts):
        total += count
        if total > most:
            return max(i, 1)
    return len(counts)


async def origin(context: Context, found: Reached) -> tuple[str, str, int]:
    """Return type, name and version of the entity that the walk started from."""
    if found.origin is not None:
        return found.origin
    (row,) = await as_of.entities(context, [found.root], found.clocks)
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


def add_left_out(answer: RelatedPage, query: str, found: Reached, page: Fitting) -> None:
    rest = found.entities[len(page.reached) :]
    entities = len(rest) + found.more
    relationships = sum(len(found.links.get(one, ())) for _, one in rest) + found.more_links + page.dropped
    if not (entities or relationships or found.unexplored):
        return
    answer["truncated"] = True
    answer["left_out"] = {
        "entities": entities,
        "relationships": relationships,
        "unexplored": found.unexplored,
        "at_least": bool(found.unexplored),
    }
    if entities and page.reached:
        depth, entity_id = page.reached[-1]
        place = {"depth": depth, "entity": entity_id, "answered": found.answered + len(page.reached)}
        if not found.clocks.now:
            place["known"] = found.clocks.bounds["at_ingested"]
        answer["next_cursor"] = cursors.encode(query, place)
