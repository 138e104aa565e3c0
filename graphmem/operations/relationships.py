"""Reading relationships: pages, single ones, what each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    EXAMPLE_RELATIONSHIP_ID,
    PAGE_DEFAULT,
    PAGE_LIMIT,
    Arguments,
    At,
    AtIngested,
    EntityId,
    EntityType,
    IncludeDeleted,
    Limit,
    Offset,
    Spelled,
    Total,
    invalid,
)
from graphmem.errors import InvalidCursor, NotFound
from graphmem.model import ids, membership, relationship, times
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.answers import ObservationRow, RelationshipRow
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.cursors import Cursor
from graphmem.reading.fresh import read_fresh
from graphmem.reading.pages import Page, PageEnvelope
from graphmem.reading.relationship_pages import Found, Wanted, relationship_page
from graphmem.registry import Context, Scope, operation

RelationshipType = Annotated[
    str, Field(max_length=200, description="Relationship type, such as WORKS_AT; any case.")
]
"""As it was given: whether there is such a type, :func:`known_types` asks the vocabulary."""


async def known_types(context: Context, given: Mapping[str, str]) -> list[str]:
    """Return relationship types in canonical spelling.

    Args:
        given: names in any spelling, by where each stands in the arguments.

    Raises:
        InvalidInput: there is no such type; each issue names the ``nearest``.
    """
    known = await context.services.vocabulary.covering(given.values())
    found: list[str] = []
    issues: list[dict[str, Any]] = []
    for path, name in given.items():
        try:
            suggest = len(issues) < relationship.SUGGESTIONS_LIMIT
            found.append(relationship.normalise(name, known, suggest=suggest))
        except relationship.UnknownRelationshipType as exc:
            nearest = {"nearest": exc.nearest} if exc.nearest else {}
            issues.append({"path": path, "message": str(exc), "type": "value_error", **nearest})
    if issues:
        raise invalid(issues)
    return found


_TYPE_FILTER = "$.filters.relationship_type"


class RelationshipFilters(Arguments):
    """Which relationships."""

    entity_id: EntityId | None = None
    source_entity_id: Annotated[EntityId | None, Field(description="Those from this entity.")] = None
    target_entity_id: Annotated[EntityId | None, Field(description="Those to this entity.")] = None
    relationship_type: RelationshipType | None = None
    entity_type: Annotated[
        EntityType | None,
        Field(description="Those with an entity of this type at an end; with entity_id, at the other end."),
    ] = None
    direction: Literal["both", "outgoing", "incoming"] = Field(
        default="both", description="With entity_id: which of its relationships."
    )


class ListRelationships(Arguments):
    """What ``relationships.list`` takes."""

    filters: RelationshipFilters = Field(default=RelationshipFilters(), description="Which relationships.")
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    cursor: Cursor = None
    include_total_count: Total = False
    include_deleted: IncludeDeleted = False
    expand_entities: bool = Field(
        default=False, description="Whether the answer carries the entities at the ends."
    )
    at: At = None
    at_ingested: AtIngested = None


class RelationshipPage(AsOf, PageEnvelope):
    """A page of relationships, newest first.

    Of one entity, ``version`` is the entity's today, and ``outgoing`` and ``incoming`` are the page by
    direction. ``next_cursor`` is there where more follow. ``truncated`` says that the page ends before
    ``limit`` because its values are large: it goes on at ``next_offset`` too, where no cursor was given.
    """

    relationships: list[answers.Relationship]
    entity_id: NotRequired[str]
    version: NotRequired[int]
    outgoing: NotRequired[list[answers.Relationship]]
    incoming: NotRequired[list[answers.Relationship]]
    related_entities: NotRequired[list[answers.Entity]]


@operation(
    "relationships.list",
    "POST /list_relationships",
    "GET /relationships",
    "GET /entities/{entity_id}/relationships",
    tool="list_relationships",
    command="relationships list",
    scope=Scope.READ,
    errors=(NotFound, InvalidCursor),
    example={"entity_id": EXAMPLE_ENTITY_ID},
    people={"expand_entities": True},
)
@read_fresh
async def list_relationships(context: Context, arguments: ListRelationships) -> RelationshipPage:
    """List live relationships, newest first: of one entity, between two, of one type, or all.

    The order is by the time of the last observation, then by id. A relationship is shown while both of its
    entities live; `include_deleted` shows the others too. `at` and `at_ingested` list those of then, in the
    order of then; without an entity, all that the caller has are read for that. Go on with `next_cursor`.
    """
    cursors.refuse_both(arguments.cursor, arguments.offset)
    filters = arguments.filters
    query = cursors.fingerprint(context, "relationships.list", arguments)
    clocks, time, after = _start(query, arguments)
    given = {} if filters.relationship_type is None else {_TYPE_FILTER: filters.relationship_type}
    kind = next(iter(await known_types(context, given)), None)
    wanted = replace(_wanted(arguments, kind), time=time, after=after)
    found = await relationship_page(context, wanted, clocks)
    rows = [answers.relationship(one) for one in found.relationships]
    place = _place(found) if found.more and found.relationships else None
    page: RelationshipPage = {
        "relationships": rows,
        **Page(rows, place, found.truncated, found.total).envelope(arguments, query),
        **Clocks(arguments.at, arguments.at_ingested).said,
    }
    if filters.entity_id is not None:
        page["entity_id"] = found.root or filters.entity_id
        if found.version is not None:
            page["version"] = found.version
        page["outgoing"] = [one for one in rows if one["source_entity_id"] == found.root]
        page["incoming"] = [one for one in rows if one["target_entity_id"] == found.root]
    if arguments.expand_entities:
        page["related_entities"] = [answers.entity(one) for one in found.others]
    return page


def _start(query: str, arguments: ListRelationships) -> tuple[Clocks, int, str]:
    """Return the clocks and the place that a request starts from; those of its cursor, if it has one.

    Raises:
        InvalidCursor: the cursor is that of another query.
    """
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if clocks.now or arguments.cursor is None:
        return clocks, *cursors.newest_first(query, arguments.cursor)
    place = cursors.decode(query, arguments.cursor, {"at": int, "id": str, "known": int})
    if not times.EARLIEST <= place["known"] <= times.LATEST:
        raise cursors.refused()
    # As of a time pages tile even while something is written: what came later is in none of them.
    return clocks.pinned(min(place["known"], clocks.bounds["at_ingested"])), place["at"], place["id"]


def _place(found: Found) -> dict[str, Any]:
    last = found.relationships[-1]
    place: dict[str, Any] = {"at": last.last_observation_at, "id": last.id}
    if not found.clocks.now:
        place["known"] = found.clocks.bounds["at_ingested"]
    return place


def _wanted(arguments: ListRelationships, kind: str | None) -> Wanted:
    """Return which relationships a list is of: those at one entity, if one is named, or all."""
    filters = arguments.filters
    source, target = filters.source_entity_id, filters.target_entity_id
    about = filters.entity_id or source or target
    if filters.entity_id is None:
        outgoing, incoming, other = source is not None, source is None, target if source else None
    else:
        outgoing = filters.direction != "incoming" and source in (None, about)
        incoming = filters.direction != "outgoing" and target in (None, about)
        other = source if source not in (None, about) else target if target not in (None, about) else None
    return Wanted(
        entity_id=about,
        outgoing=outgoing,
        incoming=incoming,
        other=other,
        relationship_type=kind,
        entity_type=filters.entity_type,
        limit=arguments.limit,
        offset=arguments.offset,
        counted=arguments.include_total_count,
        expanded=arguments.expand_entities,
        include_deleted=arguments.include_deleted,
    )


class Named(Arguments):
    """A relationship, named by its key or id, or by its type and both ends."""

    relationship_key: Annotated[
        Annotated[str, Field(max_length=300)] | None,
        Spelled("relationship_id"),
        Field(description="Key (TYPE:source:target) or id (rel_…) of the relationship."),
    ] = None
    relationship_type: RelationshipType | None = None
    source_entity_id: EntityId | None = None
    target_entity_id: EntityId | None = None

    async def key(self, context: Context) -> str:
        """Return the key or id that is named.

        Raises:
            InvalidInput: neither a key nor a whole triple was given, or there is no such type.
        """
        given = {} if self.relationship_type is None else {"$.relationship_type": self.relationship_type}
        types = await known_types(context, given)
        if self.relationship_key is not None:
            return self.relationship_key
        if types and self.source_entity_id and self.target_entity_id:
            return ids.relationship_key(types[0], self.source_entity_id, self.target_entity_id)
        message = "give relationship_key, or relationship_type, source_entity_id and target_entity_id"
        raise invalid([{"path": "$.relationship_key", "message": message}])


class RelationshipThen(answers.Relationship, AsOf):
    """A relationship, as of ``at`` and ``at_ingested`` where they were asked for."""


class GetRelationship(Arguments):
    """What ``relationships.get`` takes."""

    relationship_id: Annotated[
        str, Field(min_length=1, max_length=300, description="Key (TYPE:source:target) or id (rel_…).")
    ]
    at: At = None
    at_ingested: AtIngested = None
    include_deleted: IncludeDeleted = False


@operation(
    "relationships.get",
    "GET /relationships/{relationship_id}",
    tool="retrieve_relationship",
    command="relationships get",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"relationship_id": EXAMPLE_RELATIONSHIP_ID},
)
@read_fresh
async def get_relationship(context: Context, arguments: GetRelationship) -> RelationshipThen:
    """Return one relationship with its metadata and the provenance of each part, now or as of a time."""
    clocks = Clocks(arguments.at, arguments.at_ingested)
    row, _, _ = await _found(context, arguments.relationship_id, arguments.include_deleted, clocks)
    return {**answers.relationship(row), **clocks.said}


async def _found(
    context: Context, key: str, include_deleted: bool, clocks: Clocks
) -> tuple[RelationshipRow, list[str], Clocks]:
    """Return a relationship by its key or id, now or as of a time.

    With it the keys under which it was written, and the clocks that further queries of the answer must use.

    Raises:
        NotFound: there is none, or it was not there then.
    """
    if not clocks.now:
        keys, then = await written(context, key, clocks)
        found = await as_of.relationships(context, keys, then, include_deleted=include_deleted)
        if found:
            return found[0], keys, then
        raise not_there(key)
    row = await context.graph.one("relationship.get", key=key, include_deleted=include_deleted)
    if row is None:
        raise not_there(key)
    found_row = RelationshipRow(*row["relationship"])
    return found_row, [found_row.key], clocks


async def written(context: Context, key: str, clocks: Clocks) -> tuple[list[str], Clocks]:
    """Return the keys under which what was shown as one relationship may have been written."""
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        key = await named(context, key)
    _, clocks = await as_of.pinned(context, [], clocks)
    into = await as_of.merged(context, ids.ends(key), clocks)
    sources, targets = (membership.members(membership.survivor(end, into), into) for end in ids.ends(key))
    kind = key.partition(":")[0]
    keys = [ids.relationship_key(kind, source, target) for source in sources for target in targets]
    return keys, clocks


async def named(context: Context, relationship_id: str) -> str:
    """Return the key of the relationship that has an id, whatever became of it."""
    row = await context.graph.one("relationship.named", id=relationship_id)
    if row is None:
        raise not_there(relationship_id)
    return row["key"]


def not_there(key: str) -> NotFound:
    hint = "POST /list_relationships lists those that are there"
    return NotFound(f"there is no relationship {key}", relationship_key=key, hint=hint)


class RelationshipSnapshot(Named):
    """What ``relationships.snapshot`` takes."""

    at: At = None
    at_ingested: AtIngested = None
    include_deleted: IncludeDeleted = False


class RelationshipHistory(RelationshipThen):
    """A relationship and the observations that it comes from, newest first, 500 at most."""

    observations: list[answers.RelationshipObservation]


@operation(
    "relationships.snapshot",
    "POST /relationships/snapshot",
    tool="get_relationship_snapshot",
    command="relationships snapshot",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"relationship_key": EXAMPLE_RELATIONSHIP_ID},
)
@read_fresh
async def relationship_snapshot(context: Context, arguments: RelationshipSnapshot) -> RelationshipHistory:
    """Return a relationship with its metadata and the observations it comes from, now or as of a time."""
    clocks = Clocks(arguments.at, arguments.at_ingested)
    row, keys, then = await _found(context, await arguments.key(context), arguments.include_deleted, clocks)
    history = await context.graph.one(
        "relationship.observations", keys=keys, shown=clocks.now, limit=PAGE_LIMIT, **then.bounds
    )
    assert history is not None
    observations = [answers.relationship_observation(ObservationRow(*one)) for one in history["observations"]]
    return {**answers.relationship(row), **clocks.said, "observations": observations}
