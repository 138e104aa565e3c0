"""Walking the graph: what can be reached from an entity through its relationships."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    PAGE_DEFAULT,
    Arguments,
    At,
    AtIngested,
    EntityId,
    Limit,
    NoBool,
    Spelled,
)
from graphmem.errors import InvalidCursor, NotFound
from graphmem.model import identity, times
from graphmem.operations.relationships import RelationshipType, known_types
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.answers import EntityRow, RelationshipRow
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.cursors import Cursor
from graphmem.reading.fresh import read_fresh
from graphmem.reading.walk import HUB, Asked, Place, Reached, walk
from graphmem.registry import Context, Scope, operation

EDGES = 5_000
"""Most relationships that an answer names."""
DEPTH_LIMIT = 5


class RelatedEntities(Arguments):
    """What ``entities.related`` takes."""

    entity_id: EntityId
    relationship_types: list[RelationshipType] = Field(
        default=[], max_length=100, description="Only through relationships of these types; none means all."
    )
    depth: Annotated[
        int,
        Spelled("max_hops"),
        Field(ge=1, le=DEPTH_LIMIT, description=f"How many steps away at most, 1 to {DEPTH_LIMIT}."),
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
        default=False, description=f"Whether to pass through entities of more than {HUB:,} relationships."
    )
    at: At = None
    at_ingested: AtIngested = None
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


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


@operation(
    "entities.related",
    "POST /retrieve_related_entities",
    tool="retrieve_related_entities",
    command="entities related",
    scope=Scope.READ,
    errors=(NotFound, InvalidCursor),
    example={"entity_id": EXAMPLE_ENTITY_ID, "relationship_types": ["WORKS_AT"], "depth": 2},
)
@read_fresh
async def related_entities(context: Context, arguments: RelatedEntities) -> RelatedPage:
    """Return the entities within some steps of one, through live relationships, each once, nearest first.

    `relationship_types` narrows the walk, `depth` is how far it goes, `direction` which way. `at` and
    `at_ingested` walk what was related then. What does not fit follows with `next_cursor`.
    """
    query = cursors.fingerprint(context, "entities.related", arguments)
    clocks, place = _from(query, arguments)
    paths = {f"$.relationship_types[{i}]": name for i, name in enumerate(arguments.relationship_types)}
    asked = Asked(
        arguments.entity_id,
        frozenset(await known_types(context, paths)),
        arguments.depth,
        arguments.direction,
        arguments.through_hubs,
        arguments.limit,
    )
    found = await walk(context, asked, clocks, place)
    page = await _page(context, found, arguments)
    kind, name, version = await _origin(context, found)
    answer: RelatedPage = {
        "entity_id": found.root,
        "entity_type": kind,
        "canonical_name": name,
        "version": version,
        **Clocks(arguments.at, arguments.at_ingested).said,
        "relationships": [
            answers.relationship(one) for one in sorted(page.relationships, key=lambda one: one.key)
        ],
        "total": found.answered + len(found.entities) + found.more,
        "truncated": False,
        "hubs": sorted(found.hubs),
    }
    if arguments.include_entities:
        depths = {entity_id: depth for depth, entity_id in page.reached}
        answer["entities"] = [{**answers.entity(one), "depth": depths[one.id]} for one in page.entities]
    if arguments.include_paths:
        answer["paths"] = {one: _path(found.root, found.paths[one]) for _, one in page.reached}
    _tell_left_out(answer, query, found, page)
    return answer


def _from(query: str, arguments: RelatedEntities) -> tuple[Clocks, Place]:
    """Return the clocks and the place that a request starts from; those of its cursor, if it has one.

    Raises:
        InvalidCursor: the cursor is that of another query.
    """
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if arguments.cursor is None:
        return clocks, Place()
    kinds = {"depth": int, "entity": str, "answered": int} | ({} if clocks.now else {"known": int})
    place = cursors.decode(query, arguments.cursor, kinds)
    known = place.get("known", times.EARLIEST)
    if not (
        0 <= place["depth"] <= DEPTH_LIMIT
        and 0 <= place["answered"] <= cursors.ANSWERED_LIMIT
        and times.EARLIEST <= known <= times.LATEST
        and len(place["entity"]) <= identity.KEY_LIMIT
    ):
        raise cursors.refused()
    if not clocks.now:
        # As of a time pages tile even while something is written: what came later is in none of them.
        clocks = clocks.pinned(min(place["known"], clocks.bounds["at_ingested"]))
    return clocks, Place(place["depth"], place["entity"], place["answered"])


@dataclass(frozen=True, slots=True)
class _Page:
    """The part of what was reached that one answer holds; ``dropped`` relationships did not fit."""

    reached: list[tuple[int, str]]
    entities: list[EntityRow]
    relationships: list[RelationshipRow]
    dropped: int


async def _page(context: Context, found: Reached, arguments: RelatedEntities) -> _Page:
    """Return as many of the entities, with the relationships that come with them, as fit: one at least."""
    reached = found.entities[: arguments.limit]
    links = [sorted(found.links.get(entity_id, ())) for _, entity_id in reached]
    end = _fitting([len(keys) for keys in links], EDGES)
    keys = [key for some in links[:end] for key in some][:EDGES]
    written = [one for key in keys for one in sorted(found.written.get(key, {key}))]
    ids = [entity_id for _, entity_id in reached[:end]]
    entities, relationships = await asyncio.gather(
        as_of.entities(context, ids if arguments.include_entities else [], found.clocks),
        as_of.relationships(context, written, found.clocks),
    )
    # Each answers the first of what it is asked for, as many as fit: the page ends where either does.
    if entities and entities[-1].id != ids[-1]:
        end = ids.index(entities[-1].id) + 1
    if relationships and relationships[-1].key != keys[-1]:
        last = keys.index(relationships[-1].key) + 1
        end = min(end, _fitting([len(some) for some in links[:end]], last))
    named = {key for some in links[:end] for key in some}
    relationships = [one for one in relationships if one.key in named]
    held = set(ids[:end])
    dropped = len(named) - len(relationships) if end == 1 else 0
    return _Page(reached[:end], [one for one in entities if one.id in held], relationships, dropped)


def _fitting(counts: list[int], most: int) -> int:
    """Return how many of the first counts are ``most`` together; one at least, where there is one."""
    total = 0
    for i, count in enumerate(counts):
        total += count
        if total > most:
            return max(i, 1)
    return len(counts)


async def _origin(context: Context, found: Reached) -> tuple[str, str, int]:
    """Return type, name and version of the entity that the walk started from."""
    if found.origin is not None:
        return found.origin
    (row,) = await as_of.entities(context, [found.root], found.clocks)
    return row.type, row.name, row.version


def _path(start: str, keys: tuple[str, ...]) -> list[Step]:
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


def _tell_left_out(answer: RelatedPage, query: str, found: Reached, page: _Page) -> None:
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
