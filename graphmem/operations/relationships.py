"""Relationships: creating, deleting and restoring them, and reading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import (
    PAGE_DEFAULT,
    PAGE_LIMIT,
    Arguments,
    EntityId,
    Limit,
    Offset,
    Spelled,
    Total,
    invalid,
)
from graphmem.domain import ids, merges, reduction, relationship
from graphmem.errors import IdempotencyMismatch, NotFound, StoreRefused
from graphmem.operations import answers, as_of
from graphmem.operations.answers import ObservationRow, RelationshipRow
from graphmem.operations.as_of import AsOf, Clocks
from graphmem.operations.entities import At, AtIngested, IncludeDeleted
from graphmem.operations.relationship_page import Wanted, relationship_page
from graphmem.operations.store import RELATIONSHIP_LIMIT
from graphmem.operations.writing import (
    Observing,
    Reason,
    StoredRelationship,
    Writing,
    accept,
    links,
    not_found,
)
from graphmem.registry import Context, Scope, operation
from graphmem.writer import Receipt

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
            suggest = len(issues) < relationship.SUGGESTIONS
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
    direction: Literal["both", "outgoing", "incoming"] = Field(
        default="both", description="With entity_id: which of its relationships."
    )


class ListRelationships(Arguments):
    """What ``relationships.list`` takes."""

    filters: RelationshipFilters = Field(default=RelationshipFilters(), description="Which relationships.")
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    include_total_count: Total = False
    include_deleted: IncludeDeleted = False
    expand_entities: bool = Field(
        default=False, description="Whether the answer carries the entities at the ends."
    )
    at: At = None
    at_ingested: AtIngested = None


class RelationshipPage(AsOf):
    """A page of relationships, newest first.

    Of one entity, ``version`` is the entity's today, and ``outgoing`` and ``incoming`` are the page by
    direction. ``truncated`` says that the page ends before ``limit`` because its values are large: go on at
    ``next_offset``.
    """

    relationships: list[answers.Relationship]
    limit: int
    offset: int
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    entity_id: NotRequired[str]
    version: NotRequired[int]
    outgoing: NotRequired[list[answers.Relationship]]
    incoming: NotRequired[list[answers.Relationship]]
    total: NotRequired[int]
    related_entities: NotRequired[list[answers.Entity]]


@operation(
    "relationships.list",
    "POST /list_relationships",
    "GET /relationships",
    "GET /entities/{entity_id}/relationships",
    tool="list_relationships",
    command="relationships list",
    scope=Scope.READ,
    errors=(NotFound,),
    example="--entity-id ent_0123456789abcdef01234567",
    people={"expand_entities": True},
)
async def list_relationships(context: Context, arguments: ListRelationships) -> RelationshipPage:
    """List live relationships, newest first: of one entity, between two, of one type, or all.

    The order is by the time of the last observation, then by id. A relationship is shown while both of its
    entities live; `include_deleted` shows the others too. `at` and `at_ingested` list those of then, in the
    order of then; without an entity, all that the caller has are read for that.
    """
    filters = arguments.filters
    clocks = Clocks(arguments.at, arguments.at_ingested)
    given = {} if filters.relationship_type is None else {_TYPE_FILTER: filters.relationship_type}
    kind = next(iter(await known_types(context, given)), None)
    found = await relationship_page(context, _wanted(arguments, kind), clocks)
    rows = [answers.relationship(one) for one in found.relationships]
    page: RelationshipPage = {
        "relationships": rows,
        "limit": arguments.limit,
        "offset": arguments.offset,
        **clocks.said,
    }
    if found.truncated:
        page["truncated"] = True
        page["next_offset"] = arguments.offset + len(rows)
    if filters.entity_id is not None:
        page["entity_id"] = found.root or filters.entity_id
        if found.version is not None:
            page["version"] = found.version
        page["outgoing"] = [one for one in rows if one["source_entity_id"] == found.root]
        page["incoming"] = [one for one in rows if one["target_entity_id"] == found.root]
    if arguments.include_total_count:
        page["total"] = found.total
    if arguments.expand_entities:
        page["related_entities"] = [answers.entity(one) for one in found.others]
    return page


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
    example="rel_0123456789abcdef01234567",
)
async def get_relationship(context: Context, arguments: GetRelationship) -> RelationshipThen:
    """Return one relationship with its metadata and the provenance of each part, now or as of a time."""
    clocks = Clocks(arguments.at, arguments.at_ingested)
    row = await _found(context, arguments.relationship_id, arguments.include_deleted, clocks)
    return {**answers.relationship(row), **clocks.said}


async def _found(
    context: Context, key: str, include_deleted: bool, clocks: Clocks | None = None
) -> RelationshipRow:
    """Return a relationship by its key or id, now or as of a time.

    Raises:
        NotFound: there is none, or it was not there then.
    """
    if clocks is not None and not clocks.now:
        keys, then = await _written(context, key, clocks)
        found = await as_of.relationships(context, keys, then, include_deleted=include_deleted)
        if found:
            return found[0]
        raise _not_found(key)
    row = await context.graph.one("relationship.get", key=key, include_deleted=include_deleted)
    if row is None:
        raise _not_found(key)
    return RelationshipRow(*row["relationship"])


async def _written(context: Context, key: str, clocks: Clocks) -> tuple[list[str], Clocks]:
    """Return the keys under which what was shown as one relationship may have been written."""
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        key = await _named(context, key)
    _, clocks = await as_of.pinned(context, [], clocks)
    into = await as_of.merged(context, ids.ends(key), clocks)
    sources, targets = (merges.members(merges.root(end, into), into) for end in ids.ends(key))
    kind = key.partition(":")[0]
    keys = [ids.relationship_key(kind, source, target) for source in sources for target in targets]
    return keys, clocks


async def _named(context: Context, relationship_id: str) -> str:
    """Return the key of the relationship that has an id, whatever became of it."""
    row = await context.graph.one("relationship.named", id=relationship_id)
    if row is None:
        raise _not_found(relationship_id)
    return row["key"]


def _not_found(key: str) -> NotFound:
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
    example="--relationship-key rel_0123456789abcdef01234567",
)
async def relationship_snapshot(context: Context, arguments: RelationshipSnapshot) -> RelationshipHistory:
    """Return a relationship with its metadata and the observations it comes from, now or as of a time."""
    clocks = Clocks(arguments.at, arguments.at_ingested)
    row = await _found(context, await arguments.key(context), arguments.include_deleted, clocks)
    keys = [row.key] if clocks.now else (await _written(context, row.key, clocks))[0]
    history = await context.graph.one(
        "relationship.observations", keys=keys, shown=clocks.now, limit=PAGE_LIMIT, **clocks.bounds
    )
    assert history is not None
    observations = [answers.relationship_observation(ObservationRow(*one)) for one in history["observations"]]
    return {**answers.relationship(row), **clocks.said, "observations": observations}


class OneRelationship(Arguments):
    """One relationship to be: its type, its ends and its metadata."""

    relationship_type: str = Field(max_length=200, description="Such as WORKS_AT; any case.")
    source_entity_id: EntityId
    target_entity_id: EntityId
    metadata: dict[str, Any] | None = Field(default=None, description="What is known about it, as fields.")


class CreateRelationship(OneRelationship, Observing):
    """What ``relationships.create`` takes."""


class CreatedRelationship(StoredRelationship):
    """What the creation of a relationship did."""

    snapshot: dict[str, Any]
    replayed: bool


@operation(
    "relationships.create",
    "POST /create_relationship",
    tool="create_relationship",
    command="relationships create",
    scope=Scope.WRITE,
    errors=(StoreRefused, IdempotencyMismatch),
    example="WORKS_AT ent_0123456789abcdef01234567 ent_76543210fedcba9876543210",
)
async def create_relationship(context: Context, arguments: CreateRelationship) -> CreatedRelationship:
    """Relate two entities. Both must live; what was deleted lives again when it is created again.

    Creating it once more adds an observation: its metadata is reduced like the fields of an entity.
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
        held = reduction.shown(receipt.link_folds[0], without=None)
        return {name: orjson.Fragment(winner.value) for name, winner in held}
    then = Clocks(at_ingested=receipt.recorded_at)
    keys, then = await _written(context, receipt.links[0].key, then)
    rows = await as_of.relationships(context, keys, then, include_deleted=True)
    return answers.relationship(rows[0])["snapshot"] if rows else {}


class CreateRelationships(Observing):
    """What ``relationships.create_many`` takes."""

    relationships: list[OneRelationship] = Field(
        min_length=1, max_length=RELATIONSHIP_LIMIT, description="The relationships."
    )


class CreatedRelationships(TypedDict):
    """What the creation of many relationships did."""

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
    example="--file relationships.json",
)
async def create_relationships(context: Context, arguments: CreateRelationships) -> CreatedRelationships:
    """Relate many entities in one transaction: all of it, or none of it."""
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


class TurnRelationship(Named, Writing):
    """What ``relationships.delete`` and ``relationships.restore`` take."""

    reason: Reason = None


class TurnedRelationship(StoredRelationship):
    """What a deletion or a restoration did."""

    success: bool
    replayed: bool


@operation(
    "relationships.delete",
    "POST /delete_relationship",
    tool="delete_relationship",
    command="relationships delete",
    scope=Scope.WRITE,
    errors=(NotFound, IdempotencyMismatch),
    example="--relationship-key rel_0123456789abcdef01234567",
)
async def delete_relationship(context: Context, arguments: TurnRelationship) -> TurnedRelationship:
    """Delete a relationship: it is in no answer any more, keeps its history, and can be restored."""
    return await _turn(context, "relationships.delete", arguments, "delete")


@operation(
    "relationships.restore",
    "POST /restore_relationship",
    tool="restore_relationship",
    command="relationships restore",
    scope=Scope.WRITE,
    errors=(NotFound, IdempotencyMismatch),
    example="--relationship-key rel_0123456789abcdef01234567",
)
async def restore_relationship(context: Context, arguments: TurnRelationship) -> TurnedRelationship:
    """Restore a deleted relationship with its metadata."""
    return await _turn(context, "relationships.restore", arguments, "restore")


async def _turn(context: Context, name: str, arguments: TurnRelationship, kind: str) -> TurnedRelationship:
    key = await arguments.key(context)
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        key = await _named(context, key)
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
