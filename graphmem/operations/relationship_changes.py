"""Creating, deleting and restoring relationships. Each is an observation of the relationship."""

from typing import Any, NotRequired

import orjson
from pydantic import Field

from graphmem.arguments import Arguments, DryRun, EntityId, FreeObject
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.model import facts, ids, reduction
from graphmem.operations.store import RELATIONSHIP_LIMIT
from graphmem.reading import answers, as_of
from graphmem.reading.as_of import Clocks
from graphmem.reading.relationship_lookup import RelationshipReference, key_of_id, written_keys
from graphmem.registry import Scope, operation
from graphmem.storing import acceptance
from graphmem.writing import Receipt


class OneRelationship(Arguments):
    """A relationship to create: its type, its ends and its metadata."""

    relationship_type: str = Field(max_length=200)
    source_entity_id: EntityId
    target_entity_id: EntityId
    metadata: FreeObject = None


class CreateRelationship(OneRelationship, acceptance.Observing, DryRun, Sized):
    pass


class CreatedRelationship(acceptance.StoredRelationship, Budgeted):
    """A created relationship, with its metadata after the transaction.

    ``store_warnings`` are as in the answer of a store. A dry run has no transaction, and the id of no
    observation.
    """

    observation_id: str | None  # pyright: ignore[reportIncompatibleVariableOverride]
    transaction_id: str | None
    snapshot: dict[str, Any]
    replayed: bool
    dry_run: NotRequired[bool]
    store_warnings: list[dict[str, Any]]


@operation("relationships.create", Scope.WRITE)
async def create_relationship(context: Context, arguments: CreateRelationship) -> CreatedRelationship:
    """Create a relationship between two live entities. A deleted relationship is restored.

    Creating it again adds to its metadata: `end_date` there ends it.
    """
    raw = arguments.model_dump(include=set(OneRelationship.model_fields))
    receipt = await acceptance.accept(
        context, "relationships.create", arguments, lambda reader: ([], [reader.link(0, raw, 0, "$")]),
        types=[arguments.relationship_type], commit=not arguments.is_preview,
    )  # fmt: skip
    (stored,) = acceptance.links(receipt)
    is_plan = arguments.is_preview and not receipt.replayed
    answer: CreatedRelationship = {
        **stored,
        **acceptance.receipt_of(CreatedRelationship, receipt, is_written=not is_plan),
        "snapshot": await _metadata(context, receipt),
    }
    if is_plan:
        answer["dry_run"], answer["observation_id"] = True, None
    return answer


async def _metadata(context: Context, receipt: Receipt) -> dict[str, Any]:
    if receipt.link_folds:
        metadata_fields = reduction.snapshot_fields(receipt.link_folds[0], without=None)
        return {name: orjson.Fragment(winner.value) for name, winner in metadata_fields}
    then, context = Clocks(at_ingested=receipt.recorded_at), context.of_writers
    keys, then = await written_keys(context, receipt.links[0].relationship_key, then)
    rows = await as_of.relationships(context, keys, then, include_deleted=True)
    return answers.relationship(rows[0])["snapshot"] if rows else {}


class CreateRelationships(acceptance.Observing):
    relationships: list[OneRelationship] = Field(min_length=1, max_length=RELATIONSHIP_LIMIT)


class CreatedRelationships(acceptance.Written):
    """The relationships of one transaction; ``created_count`` counts new ones.

    ``store_warnings`` are as in the answer of a store.
    """

    requested: int
    created_count: int
    relationships: list[acceptance.StoredRelationship]
    transaction_id: str
    store_warnings: list[dict[str, Any]]


@operation("relationships.create_many", Scope.WRITE)
async def create_relationships(context: Context, arguments: CreateRelationships) -> CreatedRelationships:
    """Create many relationships in one transaction: all or none."""
    raw = [item.model_dump() for item in arguments.relationships]
    receipt = await acceptance.accept(
        context,
        "relationships.create_many",
        arguments,
        lambda reader: ([], [reader.link(i, item, 0) for i, item in enumerate(raw)]),
        types=[item.relationship_type for item in arguments.relationships],
    )
    stored = acceptance.links(receipt)
    return {
        **acceptance.receipt_of(CreatedRelationships, receipt),
        "requested": len(raw),
        "created_count": 0 if receipt.replayed else sum(entry["action"] == "created" for entry in stored),
        "relationships": stored,
    }


class TurnRelationship(RelationshipReference, acceptance.Writing):
    """What ``relationships.delete`` and ``relationships.restore`` take."""

    reason: acceptance.Reason = None


class TurnedRelationship(acceptance.StoredRelationship, acceptance.Written):
    """A deleted or restored relationship."""


@operation("relationships.delete", Scope.WRITE)
async def delete_relationship(context: Context, arguments: TurnRelationship) -> TurnedRelationship:
    """Delete a relationship that never was. It leaves every answer, keeps its history, and can be restored.

    To end a relationship that was, create it again with `end_date` in its metadata.
    """
    return await _turn(context, "relationships.delete", arguments, "delete")


@operation("relationships.restore", Scope.WRITE)
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
    hint = "POST /list_relationships lists the relationships"
    with acceptance.refusals("ERR_NOTHING_TO_TURN", "ERR_RELATIONSHIP_TYPE", relationship_key=key, hint=hint):
        receipt = await acceptance.accept(
            context, name, arguments, lambda reader: ([], [reader.link(0, raw, 0, "$", kind)]),
            types=[relationship_type],
        )  # fmt: skip
    (stored,) = acceptance.links(receipt)
    return {**stored, **acceptance.receipt_of(TurnedRelationship, receipt)}
