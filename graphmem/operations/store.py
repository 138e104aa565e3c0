"""Storing: entities and the relationships between them, all of a request or none of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, cast

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, Moment, NoBool
from graphmem.domain import canonical, ids, items, times
from graphmem.domain.items import Item, Link, Reader
from graphmem.domain.ranks import ObservationSource
from graphmem.errors import IdempotencyMismatch, InvalidInput, StoreRefused
from graphmem.operations import answers
from graphmem.registry import Context, Scope, operation
from graphmem.writer import Receipt, WriteRequest

ENTITY_LIMIT = 1_000
RELATIONSHIP_LIMIT = 5_000

Key = Annotated[
    Annotated[str, Field(min_length=1, max_length=255)] | None,
    Field(description="The same key with the same content is answered again, and stored once."),
]
ObservedAt = Annotated[
    Moment | None, Field(description="When it was so, for what does not say; else when it is recorded.")
]
Priority = Annotated[
    Annotated[float, Field(ge=-items.PRIORITY_LIMIT, le=items.PRIORITY_LIMIT, allow_inf_nan=False)] | None,
    Field(description="Priority of what is said, for fields that go by it; 100 unless given."),
]
Source = Annotated[ObservationSource | None, Field(description="Kind of writer; llm_summary unless given.")]
Index = Annotated[int, Field(description="Position in `entities`, from 0."), NoBool]


class NewRelationship(Arguments):
    """One relationship of a store: each end by the index of an item, or by an entity's id."""

    relationship_type: str = Field(max_length=200, description="Such as WORKS_AT; any case.")
    source_index: Index | None = None
    source_entity_id: str | None = None
    target_index: Index | None = None
    target_entity_id: str | None = None
    metadata: dict[str, Any] | None = None


class Store(Arguments):
    """What ``store`` takes."""

    entities: list[Any] = Field(
        min_length=1,
        max_length=ENTITY_LIMIT,
        description="Items: entity_type and any fields. Reserved keys: " + ", ".join(sorted(items.RESERVED)),
        json_schema_extra={"items": {"type": "object"}},
    )
    relationships: list[NewRelationship] = Field(
        default=[], max_length=RELATIONSHIP_LIMIT, description="Typed relationships between entities."
    )
    idempotency_key: Key = None
    observed_at: ObservedAt = None
    source_priority: Priority = None
    observation_source: Source = None
    commit: bool = Field(default=True, description="False: a plan that writes nothing at all.")


class StoredEntity(TypedDict):
    """What became of one item.

    ``action`` is created, matched_existing or extended (would_… in a plan); ``identity_basis`` the fields
    that identified it; ``deduplicated`` says that this very observation was there already.
    """

    entity_id: str
    entity_type: str
    canonical_name: str
    action: str
    version: int
    observation_id: str
    observation_index: int
    identity_basis: str
    deduplicated: bool
    entity_snapshot_after: answers.Fields


class StoredRelationship(TypedDict):
    """What became of one relationship."""

    relationship_key: str
    relationship_id: str
    relationship_type: str
    source_entity_id: str
    target_entity_id: str
    observation_id: str
    action: str
    deduplicated: bool


class Stored(TypedDict):
    """The receipt of a store: what was written, durable and readable when this is answered.

    A replay answers the ids and actions of the first time with ``replayed`` true and nothing created.
    """

    success: bool
    replayed: bool
    commit: bool
    transaction_id: str | None
    recorded_at: str | None
    entities_created: int
    observations_created: int
    entities: list[StoredEntity]
    relationships_created: list[StoredRelationship]
    store_warnings: list[dict[str, Any]]
    hint: NotRequired[str]


@operation(
    "store",
    "POST /store",
    tool="store",
    command="store",
    scope=Scope.WRITE,
    errors=(StoreRefused, IdempotencyMismatch),
    example='--entities \'[{"entity_type": "person", "name": "Ada Lovelace"}]\'',
)
async def store(context: Context, arguments: Store) -> Stored:
    """Store observations about entities, and relationships between them: all of it, or none of it.

    Each item has an `entity_type` and any fields, e.g. `{"entity_type": "person", "name": "Ada Lovelace"}`.
    Items with the same identity (an e-mail, a name, a title: see `identity_basis`) are one entity, and each
    item is one observation of it. `relationships` connect items by `source_index` and `target_index`, or
    entities by `source_entity_id` and `target_entity_id`. With an `idempotency_key` a repeat is stored once.
    `commit: false` answers what would happen and writes nothing.
    """

    def read(reader: Reader) -> tuple[list[Item | None], list[Link | None]]:
        found = [reader.item(index, raw) for index, raw in enumerate(arguments.entities)]
        count = len(arguments.entities)
        links = [
            reader.link(index, link.given(), count) for index, link in enumerate(arguments.relationships)
        ]
        return found, links

    receipt = await accept(context, "store", arguments, read, commit=arguments.commit)
    fresh = not receipt.replayed
    stored = entries(receipt)
    if not arguments.commit:
        would = {
            "created": "would_create",
            "matched_existing": "would_match_existing",
            "extended": "would_extend",
        }
        for one in stored:
            one["action"] = would[one["action"]]
    return {
        "success": True,
        "replayed": receipt.replayed,
        "commit": arguments.commit,
        "transaction_id": receipt.transaction_id if arguments.commit else None,
        "recorded_at": times.render(receipt.recorded_at) if arguments.commit else None,
        "entities_created": sum(item.action == "created" for item in receipt.items) if fresh else 0,
        "observations_created": sum(not item.known for item in receipt.items) if fresh else 0,
        "entities": stored,
        "relationships_created": _relationships(receipt),
        "store_warnings": receipt.warnings,
    }


async def accept(
    context: Context,
    operation_name: str,
    arguments: Any,
    parts: Callable[[Reader], tuple[list[Item | None], list[Link | None]]],
    *,
    commit: bool = True,
) -> Receipt:
    """Hand a write to its owner's writer; return its receipt with snapshots as of its transaction.

    Args:
        arguments: have ``observed_at``, ``source_priority``, ``observation_source``, ``idempotency_key``.
        parts: reads the items and links.

    Raises:
        StoreRefused, IdempotencyMismatch, ServiceBusy, Unavailable: see :class:`graphmem.writer.Writers`.
    """
    actor = context.actor
    defaults = items.Defaults(
        observed_at=_not_in_future(arguments.observed_at),
        priority=items.DEFAULT_PRIORITY
        if arguments.source_priority is None
        else arguments.source_priority + 0.0,
        observation_source=arguments.observation_source or items.DEFAULT_SOURCE,
    )
    transaction_id = ids.transaction_id()
    reader = Reader(actor.owner, transaction_id, defaults)
    found, links = parts(reader)
    if reader.issues:
        raise StoreRefused(_told(reader.issues), issues=reader.issues)
    request = WriteRequest(
        operation=operation_name,
        owner=actor.owner,
        agent=actor.agent,
        client=actor.client,
        transaction_id=transaction_id,
        items=cast("list[Item]", found),
        links=cast("list[Link]", links),
        observed_at=defaults.observed_at,
        priority=defaults.priority,
        observation_source=defaults.observation_source,
        idempotency_key=arguments.idempotency_key,
        request_hash=_hash(operation_name, arguments),
        commit=commit,
    )
    try:
        receipt = await context.services.writers.submit(request)
    except StoreRefused as exc:
        raise StoreRefused(_told(exc.details["issues"]), **exc.details) from exc
    return receipt if receipt.snapshots else await _reread(context, receipt)


def entries(receipt: Receipt) -> list[StoredEntity]:
    """Return what became of each item of a receipt."""
    together = zip(receipt.items, receipt.names, receipt.snapshots, strict=True)
    return [
        {
            "entity_id": item.entity_id,
            "entity_type": item.entity_type,
            "canonical_name": name,
            "action": item.action,
            "version": item.version,
            "observation_id": item.observation_id,
            "observation_index": index,
            "identity_basis": item.basis,
            "deduplicated": item.known or receipt.replayed,
            "entity_snapshot_after": cast("dict[str, Any]", orjson.Fragment(snapshot)),
        }
        for index, (item, name, snapshot) in enumerate(together)
    ]


def _relationships(receipt: Receipt) -> list[StoredRelationship]:
    found: list[StoredRelationship] = []
    for link in receipt.links:
        kind, source, target = link.key.split(":")
        found.append({
            "relationship_key": link.key,
            "relationship_id": ids.relationship_id(link.key),
            "relationship_type": kind,
            "source_entity_id": source,
            "target_entity_id": target,
            "observation_id": link.observation_id,
            "action": link.action,
            "deduplicated": link.known or receipt.replayed,
        })  # fmt: skip
    return found


async def _reread(context: Context, receipt: Receipt) -> Receipt:
    """Return a remembered receipt with the snapshots and names as of its transaction."""
    wanted = sorted({item.entity_id for item in receipt.items})
    row = await context.graph.one(
        "entity.recompute", entity_ids=wanted, at=times.LATEST, at_ingested=receipt.recorded_at
    )
    assert row is not None
    found = {one[0]: answers.recomputed(one) for one in row["snapshots"]}
    snapshots, names = [], []
    for item in receipt.items:
        entity = found[item.entity_id]
        held = zip(entity.fields, entity.values, strict=True)
        shown = ((n, v) for n, v in held if v != "null" and n != answers.CANONICAL_NAME)
        snapshots.append(canonical.assemble(shown))
        names.append(entity.name)
    return replace(receipt, snapshots=snapshots, names=names)


def _hash(operation_name: str, arguments: Arguments) -> str:
    """Return the request hash: what was given, after aliases, without the key and ``commit``."""
    given = {n: v for n, v in arguments.given().items() if n not in ("idempotency_key", "commit")}
    if "relationships" in given:
        given["relationships"] = [link.given() for link in given["relationships"]]
    return ids.request_hash(operation_name, given)


def _not_in_future(observed_at: int | None) -> int | None:
    if observed_at is not None and observed_at > times.now() + times.FUTURE_ALLOWED:
        message = "more than 24 hours in the future"
        raise InvalidInput(
            f"$.observed_at: {message}", issues=[{"path": "$.observed_at", "message": message}]
        )
    return observed_at


def _told(issues: list[Mapping[str, Any]] | list[items.Issue]) -> str:
    first = issues[0]
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return f"nothing was stored: {first['path']}: {first['message']}{more}"
