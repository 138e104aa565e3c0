"""Relationships: list and get them, now or as of a time."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from graphmem.arguments import Current, EntityId, EntityType, IncludeDeleted
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import times
from graphmem.reading import answers, cursors, pages, relationship_lookup
from graphmem.reading.as_of import AsOf, AsOfArguments
from graphmem.reading.current_relationships import current_page
from graphmem.reading.pages import ByWriter
from graphmem.reading.relationship_pages import EdgeRequest, relationship_page
from graphmem.reading.shaping import Shaped, ShapedArguments, shaped
from graphmem.reading.shared_rows import ObservationRow
from graphmem.registry import Scope, operation

_TYPE_FILTER = "$.filters.relationship_type"


class RelationshipFilters(ByWriter):
    """Which relationships."""

    entity_id: EntityId | None = None
    source_entity_id: EntityId | None = None
    target_entity_id: EntityId | None = None
    relationship_type: relationship_lookup.RelationshipType | None = None
    entity_type: EntityType | None = None
    direction: Literal["both", "outgoing", "incoming"] = "both"


class ListRelationships(ShapedArguments, AsOfArguments, pages.Paged):
    filters: RelationshipFilters = RelationshipFilters()
    include_deleted: IncludeDeleted = False
    current: Current = False
    expand_entities: bool = False


class RelationshipPage(AsOf, pages.IndexedPageEnvelope, Shaped):
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


@operation("relationships.list", Scope.READ)
@shaped("relationships", "related_entities")
async def list_relationships(context: Context, arguments: ListRelationships) -> RelationshipPage:
    """List live relationships, newest first: of one entity, between two, of one type, or all.

    The order is by the time of the last observation, then by id. A relationship is listed while both of its
    entities live; `include_deleted` lists the others too. `at` and `at_ingested` list the relationships of
    that time, in the order of that time; without an entity, this reads all relationships of the caller.
    `next_cursor` answers the next page.
    """
    filters = arguments.filters
    query = cursors.fingerprint(context, "relationships.list", arguments)
    requested = arguments.clocks
    place, clocks = pages.start_of(arguments, query, pages.NEWEST, requested)
    if filters.writers and not clocks.now:
        raise InvalidInput.at("$.at", "a filter by writer takes no earlier time: leave it out")
    type_filters = {} if filters.relationship_type is None else {_TYPE_FILTER: filters.relationship_type}
    types, direction = await relationship_lookup.followed_types(context, type_filters, "outgoing")
    request = _page_request(arguments, next(iter(types), None), direction, place)
    page_of = current_page if arguments.current else relationship_page
    listed = await page_of(context, request, clocks)
    rows = answers.relationships(listed.relationships)
    page: RelationshipPage = {
        "relationships": rows,
        **listed.as_page.envelope(arguments, query),
        **requested.answered,
        **requested.hinted(not rows),
    }
    if filters.entity_id is not None:
        page["entity_id"] = listed.root or filters.entity_id
        if listed.version is not None:
            page["version"] = listed.version
        page["outgoing"] = [row for row in rows if row["source_entity_id"] == listed.root]
        page["incoming"] = [row for row in rows if row["target_entity_id"] == listed.root]
    if arguments.expand_entities:
        page["related_entities"] = [answers.entity(row) for row in listed.others]
    return page


def _page_request(
    arguments: ListRelationships,
    kind: str | None,
    direction: relationship_lookup.FollowedWay,
    place: dict[str, Any] | None,
) -> EdgeRequest:
    """Return the relationships that a list asks for: those of one entity, or all. ``direction``: how
    relationships of ``kind`` are stored that are asked for as outgoing."""
    filters = arguments.filters
    source, target = filters.source_entity_id, filters.target_entity_id
    about = filters.entity_id or source or target
    if filters.entity_id is None:
        outgoing, incoming, other = source is not None, source is None, target if source else None
    else:
        outgoing = filters.direction != "incoming" and source in (None, about)
        incoming = filters.direction != "outgoing" and target in (None, about)
        other = source if source not in (None, about) else target if target not in (None, about) else None
    if direction == "incoming":
        outgoing, incoming = incoming, outgoing
    elif direction == "both":
        outgoing = incoming = outgoing or incoming
    return EdgeRequest(
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
        writers=filters.writers,
    ).after_place(place)


class RelationshipThen(answers.Relationship, AsOf):
    """A relationship, now or as of ``at`` and ``at_ingested``."""


class GetRelationship(AsOfArguments, Sized):
    relationship_id: Annotated[str, Field(min_length=1, max_length=300)]
    include_deleted: IncludeDeleted = False


class RelationshipAnswer(RelationshipThen, Budgeted):
    """A relationship, now or as of a time, within a size."""


@operation("relationships.get", Scope.READ)
async def get_relationship(context: Context, arguments: GetRelationship) -> RelationshipAnswer:
    """Return one relationship with its metadata and the provenance of each part, now or as of a time."""
    clocks = arguments.clocks
    row, _, _ = await relationship_lookup.find_relationship(
        context, arguments.relationship_id, arguments.include_deleted, clocks
    )
    return {**answers.relationship(row), **clocks.answered}


class GetRelationshipSnapshot(AsOfArguments, relationship_lookup.RelationshipReference, pages.Paged):
    include_deleted: IncludeDeleted = False


class RelationshipHistory(RelationshipThen, pages.PageEnvelope):
    """A relationship and a page of the observations that it comes from, newest first."""

    observations: list[answers.RelationshipObservation]


@operation("relationships.snapshot", Scope.READ)
async def relationship_snapshot(context: Context, arguments: GetRelationshipSnapshot) -> RelationshipHistory:
    """Return a relationship with its metadata and the observations it comes from, now or as of a time."""
    query = cursors.fingerprint(context, "relationships.snapshot", arguments)
    requested = arguments.clocks
    place, clocks = pages.start_of(arguments, query, pages.NEWEST, requested)
    row, keys, then = await relationship_lookup.find_relationship(
        context, await arguments.key(context), arguments.include_deleted, clocks
    )
    history = await context.graph.only(
        "relationship.observations", list[ObservationRow], keys=keys, include_members=clocks.now,
        time=times.LATEST if place is None else place["at"],
        after=cursors.LAST if place is None else place["id"], offset=arguments.offset,
        limit=arguments.limit + 1, reach=arguments.offset + arguments.limit + 1, **then.bounds,
    )  # fmt: skip
    observations, last = pages.first_of(history, arguments.limit)
    following = None if last is None else pages.place_then({"at": last.observed_at, "id": last.id}, then)
    return {
        **answers.relationship(row),
        **pages.Page(observations, following, total=row.observation_count).envelope(arguments, query),
        **requested.answered,
        "observations": [answers.relationship_observation(each) for each in observations],
    }
