"""Relationships: list and get them, and create, delete and restore them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import (
    EXAMPLE_ENTITY_ID,
    EXAMPLE_OTHER_ENTITY_ID,
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
    Total,
)
from graphmem.errors import IdempotencyMismatch, InvalidCursor, NotFound, StoreRefused
from graphmem.model import facts, ids, reduction, times
from graphmem.operations.store import RELATIONSHIP_LIMIT
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.answers import ObservationRow
from graphmem.reading.as_of import AsOf, Clocks
from graphmem.reading.cursors import Cursor
from graphmem.reading.fresh import read_fresh
from graphmem.reading.pages import Page, PageEnvelope
from graphmem.reading.receipts import Observing, Reason, StoredRelationship, Writing, accept, links, not_found
from graphmem.reading.relationship_lookup import (
    RelationshipReference,
    RelationshipType,
    find_relationship,
    key_of_id,
    known_types,
    written_keys,
)
from graphmem.reading.relationship_pages import Found, Wanted, relationship_page
from graphmem.registry import Context, Scope, operation
from graphmem.writing import Receipt

_TYPE_FILTER = "$.filters.relationship_type"


class RelationshipFilters(Arguments):
    """Which relationships."""

    entity_id: EntityId | None = None
    source_entity_id: Annotated[EntityId | None, Field(description="Relationships from this entity.")] = None
    target_entity_id: Annotated[EntityId | None, Field(description="Relationships to this entity.")] = None
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

    The order is by the time of the last observation, then by id. A relationship is listed while both of its
    entities live; `include_deleted` lists the others too. `at` and `at_ingested` list the relationships of
    that time, in the order of that time; without an entity, this reads all relationships of the caller.
    `next_cursor` answers the next page.
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
    """Return the clocks and the place where a page starts, taken from the cursor if there is one.

    Raises:
        InvalidCursor: the cursor belongs to another query.
    """
    clocks = Clocks(arguments.at, arguments.at_ingested)
    if clocks.now or arguments.cursor is None:
        return clocks, *cursors.newest_first(query, arguments.cursor)
    place = cursors.decode(query, arguments.cursor, {"at": int, "id": str, "known": int})
    if not times.EARLIEST <= place["known"] <= times.LATEST:
        raise cursors.refused()
    # Pages as of a time tile while observations are recorded: later ones are in no page.
    return clocks.pinned(min(place["known"], clocks.bounds["at_ingested"])), place["at"], place["id"]


def _place(found: Found) -> dict[str, Any]:
    last = found.relationships[-1]
    place: dict[str, Any] = {"at": last.last_observation_at, "id": last.id}
    if not found.clocks.now:
        place["known"] = found.clocks.bounds["at_ingested"]
    return place


def _wanted(arguments: ListRelationships, kind: str | None) -> Wanted:
    """Return the relationships that a list asks for: those of one entity, or all."""
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


class RelationshipThen(answers.Relationship, AsOf):
    """A relationship, now or as of ``at`` and ``at_ingested``."""


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
    row, _, _ = await find_relationship(context, arguments.relationship_id, arguments.include_deleted, clocks)
    return {**answers.relationship(row), **clocks.said}


class RelationshipSnapshot(RelationshipReference):
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
    row, keys, then = await find_relationship(
        context, await arguments.key(context), arguments.include_deleted, clocks
    )
    history = await context.graph.one(
        "relationship.observations", keys=keys, shown=clocks.now, limit=PAGE_LIMIT, **then.bounds
    )
    assert history is not None
    observations = [answers.relationship_observation(ObservationRow(*one)) for one in history["observations"]]
    return {**answers.relationship(row), **clocks.said, "observations": observations}


class OneRelationship(Arguments):
    """A relationship to create: its type, its ends and its metadata."""

    relationship_type: str = Field(max_length=200, description="Such as WORKS_AT; any case.")
    source_entity_id: EntityId
    target_entity_id: EntityId
    metadata: dict[str, Any] | None = Field(default=None, description="Fields of the relationship.")


class CreateRelationship(OneRelationship, Observing):
    """What ``relationships.create`` takes."""


class CreatedRelationship(StoredRelationship):
    """A created relationship, with its metadata after the transaction."""

    snapshot: dict[str, Any]
    replayed: bool


@operation(
    "relationships.create",
    "POST /create_relationship",
    tool="create_relationship",
    command="relationships create",
    scope=Scope.WRITE,
    errors=(StoreRefused, IdempotencyMismatch),
    example={
        "relationship_type": "WORKS_AT",
        "source_entity_id": EXAMPLE_ENTITY_ID,
        "target_entity_id": EXAMPLE_OTHER_ENTITY_ID,
    },
)
async def create_relationship(context: Context, arguments: CreateRelationship) -> CreatedRelationship:
    """Create a relationship between two live entities. A deleted relationship is restored.

    Creating it again adds an observation: its metadata is reduced like the fields of an entity.
    """
    raw = _raw(arguments)
    receipt = await accept(
        context,
        "relationships.create",
        arguments,
        lambda reader: ([], [reader.link(0, raw, 0, "$")]),
        types=[arguments.relationship_type],
    )
    (stored,) = links(receipt)
    return {**stored, "snapshot": await _metadata(context, receipt), "replayed": receipt.replayed}


async def _metadata(context: Context, receipt: Receipt) -> dict[str, Any]:
    """Return the metadata of the relationship of a receipt as of its transaction."""
    if receipt.link_folds:
        held = reduction.snapshot_fields(receipt.link_folds[0], without=None)
        return {name: orjson.Fragment(winner.value) for name, winner in held}
    then = Clocks(at_ingested=receipt.recorded_at)
    keys, then = await written_keys(context, receipt.links[0].key, then)
    rows = await as_of.relationships(context, keys, then, include_deleted=True)
    return answers.relationship(rows[0])["snapshot"] if rows else {}


class CreateRelationships(Observing):
    """What ``relationships.create_many`` takes."""

    relationships: list[OneRelationship] = Field(
        min_length=1, max_length=RELATIONSHIP_LIMIT, description="The relationships."
    )


class CreatedRelationships(TypedDict):
    """The relationships of one transaction; ``created_count`` counts new ones."""

    success: bool
    requested: int
    created_count: int
    relationships: list[StoredRelationship]
    replayed: bool
    transaction_id: str


@operation(
    "relationships.create_many",
    "POST /create_relationships",
    tool="create_relationships",
    command="relationships create-many",
    scope=Scope.WRITE,
    errors=(StoreRefused, IdempotencyMismatch),
    example={
        "relationships": [
            {
                "relationship_type": "WORKS_AT",
                "source_entity_id": EXAMPLE_ENTITY_ID,
                "target_entity_id": EXAMPLE_OTHER_ENTITY_ID,
            }
        ]
    },
)
async def create_relationships(context: Context, arguments: CreateRelationships) -> CreatedRelationships:
    """Create many relationships in one transaction: all or none."""
    raw = [_raw(one) for one in arguments.relationships]
    receipt = await accept(
        context,
        "relationships.create_many",
        arguments,
        lambda reader: ([], [reader.link(i, one, 0) for i, one in enumerate(raw)]),
        types=[one.relationship_type for one in arguments.relationships],
    )
    stored = links(receipt)
    fresh = 0 if receipt.replayed else sum(one["action"] == "created" for one in stored)
    return {
        "success": True,
        "requested": len(raw),
        "created_count": fresh,
        "relationships": stored,
        "replayed": receipt.replayed,
        "transaction_id": receipt.transaction_id,
    }


class TurnRelationship(RelationshipReference, Writing):
    """What ``relationships.delete`` and ``relationships.restore`` take."""

    reason: Reason = None


class TurnedRelationship(StoredRelationship):
    """A deleted or restored relationship."""

    success: bool
    replayed: bool


@operation(
    "relationships.delete",
    "POST /delete_relationship",
    tool="delete_relationship",
    command="relationships delete",
    scope=Scope.WRITE,
    errors=(NotFound, IdempotencyMismatch),
    example={"relationship_key": EXAMPLE_RELATIONSHIP_ID},
)
async def delete_relationship(context: Context, arguments: TurnRelationship) -> TurnedRelationship:
    """Delete a relationship. It leaves every answer, keeps its history, and can be restored."""
    return await _turn(context, "relationships.delete", arguments, "delete")


@operation(
    "relationships.restore",
    "POST /restore_relationship",
    tool="restore_relationship",
    command="relationships restore",
    scope=Scope.WRITE,
    errors=(NotFound, IdempotencyMismatch),
    example={"relationship_key": EXAMPLE_RELATIONSHIP_ID},
)
async def restore_relationship(context: Context, arguments: TurnRelationship) -> TurnedRelationship:
    """Restore a deleted relationship with its metadata."""
    return await _turn(context, "relationships.restore", arguments, "restore")


async def _turn(
    context: Context, name: str, arguments: TurnRelationship, kind: facts.Kind
) -> TurnedRelationship:
    key = await arguments.key(context)
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        key = await key_of_id(context, key)
    relationship_type, source, target = key.split(":")
    raw = {"relationship_type": relationship_type, "source_entity_id": source, "target_entity_id": target}
    raw |= {} if arguments.reason is None else {"metadata": {"reason": arguments.reason}}
    try:
        receipt = await accept(
            context,
            name,
            arguments,
            lambda reader: ([], [reader.link(0, raw, 0, "$", kind)]),
            types=[relationship_type],
        )
    except StoreRefused as exc:
        hint = "POST /list_relationships lists those that are there"
        not_found(exc, "ERR_NOTHING_TO_TURN", "ERR_RELATIONSHIP_TYPE", relationship_key=key, hint=hint)
    (stored,) = links(receipt)
    return {**stored, "success": True, "replayed": receipt.replayed}


def _raw(one: OneRelationship) -> dict[str, Any]:
    return {
        "relationship_type": one.relationship_type,
        "source_entity_id": one.source_entity_id,
        "target_entity_id": one.target_entity_id,
        "metadata": one.metadata,
    }
