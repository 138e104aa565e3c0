"""What is related to an entity: a walk of several steps along relationships, in pages."""

import asyncio
import bisect
import itertools
from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Current, EntityId, NoBool, Spelled
from graphmem.context import Context
from graphmem.reading import answers, as_of, cursors, shared_rows
from graphmem.reading.as_of import AsOf, AsOfArguments
from graphmem.reading.cursors import ANSWERED_LIMIT
from graphmem.reading.pages import IndexedPageEnvelope, NamesDamaged, Page, Paged, place_then, start_of
from graphmem.reading.relationship_lookup import RelationshipType, followed_types
from graphmem.reading.shaping import Shaped, ShapedArguments, shaped
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.walk import Walk, WalkPlace, WalkRequest, walk
from graphmem.registry import Scope, operation
from graphmem.settings import LIMITS

DEPTH_LIMIT: Final = 5


class RelatedEntities(ShapedArguments, AsOfArguments, Paged):
    entity_id: EntityId
    relationship_types: list[RelationshipType] = Field(default=[], max_length=100)
    depth: Annotated[int, Spelled("max_hops"), NoBool] = Field(
        default=1, ge=1, le=DEPTH_LIMIT, description=f"Steps from the entity at most, 1 to {DEPTH_LIMIT}."
    )
    direction: Literal["both", "outgoing", "incoming"] = "both"
    include_entities: bool = True
    include_paths: bool = False
    through_hubs: bool = Field(
        default=False,
        description="Whether to pass through entities of more than "
        f"{LIMITS.hub_relationships:,} relationships.",
    )
    current: Current = False


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


class RelatedPage(answers.VersionedEntity, AsOf, Shaped, NamesDamaged, IndexedPageEnvelope):
    """The entities related to an entity, nearest first, then by id, and the relationships between them.

    A relationship is on the page of the later of its ends. ``total`` counts all related entities.
    ``left_out`` counts what this page lacks, where ``truncated`` is true; ``next_cursor`` answers the
    entities that follow. ``hubs`` have too many relationships (deleted ones included) to be passed through:
    start from the hub, or set ``through_hubs``. ``paths`` holds one shortest path for each entity: of
    several, the path with the smallest keys.
    """

    relationships: list[answers.Relationship]
    entities: NotRequired[list[Related]]
    paths: NotRequired[dict[str, list[Step]]]
    total: int  # pyright: ignore[reportGeneralTypeIssues]
    truncated: bool  # pyright: ignore[reportGeneralTypeIssues]
    left_out: NotRequired[LeftOut]  # pyright: ignore[reportIncompatibleVariableOverride]
    hubs: list[str]


@operation("entities.related", Scope.READ)
@shaped("relationships", "entities")
async def related_entities(context: Context, arguments: RelatedEntities) -> RelatedPage:
    """Return the entities within some steps of an entity by live relationships, each once, nearest first.

    `relationship_types` limits the walk to some types, `depth` to a number of steps, `direction` to one way.
    `at` and `at_ingested` walk the relationships of that time. `next_cursor` answers the next entities.
    """
    query = cursors.fingerprint(context, "entities.related", arguments)
    requested = arguments.clocks
    place, clocks = start_of(arguments, query, {"depth": int, "entity": str, "answered": int}, requested)
    place = {} if place is None else place
    if not 0 <= place.get("depth", 0) <= DEPTH_LIMIT or not 0 <= place.get("answered", 0) <= ANSWERED_LIMIT:
        raise cursors.refused()
    paths = {f"$.relationship_types[{i}]": name for i, name in enumerate(arguments.relationship_types)}
    types, direction = await followed_types(context, paths, arguments.direction)
    request = WalkRequest(
        arguments.entity_id, frozenset(types) or None, arguments.depth, direction, arguments.through_hubs,
        arguments.offset + arguments.limit, arguments.include_entities, arguments.current,
    )  # fmt: skip
    start = WalkPlace(place.get("depth", 0), place.get("entity", ""), place.get("answered", 0))
    reached = await walk(context, request, clocks, start)
    reached.skip(arguments.offset)
    part, entities, relationships, dropped = await _fitting(
        context, reached, arguments.limit, include_entities=arguments.include_entities
    )
    page = _as_page(reached, part)
    if reached.origin is None:
        (row,) = await as_of.entities(context, [reached.root], reached.clocks)
        kind, name, version = row.type, row.name, row.version
    else:
        _, kind, name, version = reached.origin
    answer: RelatedPage = {
        "entity_id": reached.root,
        "entity_type": kind,
        "canonical_name": name,
        "version": version,
        **requested.answered,
        **requested.hinted(not reached.entities),
        "relationships": answers.relationships(sorted(relationships, key=lambda row: row.key)),
        "hubs": sorted(reached.hubs),
        "truncated": False,
        **page.envelope(arguments, query, is_counted=True),
        "total": page.total or 0,
    }
    if arguments.include_entities:
        depths = {entity_id: depth for depth, entity_id in part}
        answer["entities"] = [{**answers.entity(row), "depth": depths[row.id]} for row in entities]
    if arguments.include_paths:
        answer["paths"] = {entity_id: _path(reached.root, reached.paths[entity_id]) for _, entity_id in part}
    _add_left_out(answer, reached, len(part), dropped)
    return answer


_Fitting = tuple[list[tuple[int, str]], list[EntityRow], list[RelationshipRow], int]
"""The part of a walk that fits into an answer: depths and ids, rows, and how many relationships lack."""


async def _fitting(context: Context, walk: Walk, limit: int, *, include_entities: bool) -> _Fitting:
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
    return reached[:end], [each for each in entities if each.id in kept_ids], relationships, dropped


async def _rows(
    context: Context, walk: Walk, entity_ids: list[str], keys: list[str]
) -> tuple[list[EntityRow], list[RelationshipRow]]:
    """Return the rows of some entities and relationships of a walk, as many as fit into an answer."""
    if walk.rows is None:
        return await asyncio.gather(
            as_of.entities(context, entity_ids, walk.clocks), as_of.relationships(context, keys, walk.clocks)
        )
    wanted_ids = set(entity_ids)
    entities, relationships = walk.rows
    by_key = {row.key: row for row in relationships}
    entities = shared_rows.refuse_stale(row for row in entities if row.id in wanted_ids)
    return entities, [by_key[key] for key in keys if key in by_key]


def _count_within(counts: list[int], most: int) -> int:
    """Return how many counts, from the first on, sum up to at most ``most``; at least one if there is any."""
    within = bisect.bisect_right(list(itertools.accumulate(counts)), most)
    return max(within, min(len(counts), 1))


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


def _as_page(walk: Walk, part: list[tuple[int, str]]) -> Page[tuple[int, str]]:
    """Return the entities of a page with the place where the next page starts."""
    following = None
    if part and len(walk.entities) + walk.more > len(part):
        depth, entity_id = part[-1]
        place = {"depth": depth, "entity": entity_id, "answered": walk.answered + len(part)}
        following = place_then(place, walk.clocks)
    return Page(part, following, total=walk.answered + len(walk.entities) + walk.more)


def _add_left_out(answer: RelatedPage, walk: Walk, count: int, dropped: int) -> None:
    rest = walk.entities[count:]
    entities = len(rest) + walk.more
    links = sum(len(walk.links.get(entity_id, ())) for _, entity_id in rest)
    relationships = links + walk.more_links + dropped
    if not (entities or relationships or walk.unexplored):
        return
    answer["truncated"] = True
    answer["left_out"] = {
        "entities": entities,
        "relationships": relationships,
        "unexplored": walk.unexplored,
        "at_least": bool(walk.unexplored),
    }
