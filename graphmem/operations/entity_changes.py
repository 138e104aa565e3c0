"""Correcting, deleting and restoring entities. Each is an observation of its own kind."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import EXAMPLE_ENTITY_ID, DryRun, EntityId, EntityType, Spelled, invalid
from graphmem.context import Context
from graphmem.errors import NotFound, StoreRefused
from graphmem.model import canonical, facts, identity
from graphmem.model.items import ItemReader
from graphmem.reading import answers
from graphmem.reading.budgets import Budgeted, MaxCharacters, within_budget
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import (
    Expecting,
    Parts,
    Reason,
    StoredEntity,
    accept,
    entries,
    refusals,
)
from graphmem.writing import Receipt
from graphmem.writing.demoting import NOT_HELD

CORRECTION_PRIORITY = 1_000.0


class Correct(Expecting, DryRun):
    entity_id: EntityId
    field: Annotated[
        Annotated[str, Field(min_length=1, max_length=identity.NAME_LIMIT)] | None,
        Spelled(option="field"),
        Field(description="Name of the field."),
    ] = None
    value: Annotated[Any, Field(description="The right value, any JSON; null clears the field.")] = None
    corrections: dict[str, Any] | None = Field(
        default=None,
        min_length=1,
        description="Several fields, all or none, in place of `field`.",
    )
    release: bool = Field(default=False, description="End the correction, without `value`.")
    entity_type: EntityType | None = None
    max_characters: MaxCharacters = None


class Corrected(Budgeted):
    """The result of a correction; its ``store_warnings`` are as in the answer of a store.

    A dry run has no observation and no transaction, and the ``snapshot`` and ``version`` that there would be.
    """

    success: bool
    entity_id: str
    entity_type: str
    canonical_name: str
    field: NotRequired[str]
    value: NotRequired[Any]
    corrections: NotRequired[dict[str, Any]]
    observation_id: str | None
    transaction_id: str | None
    version: int
    snapshot: answers.Fields
    replayed: bool
    dry_run: NotRequired[bool]
    store_warnings: list[dict[str, Any]]


@operation(
    "entities.correct",
    "POST /correct",
    tool="correct",
    scope=Scope.WRITE,
    statements=4,
    typed=True,
    destructive=True,
    errors=(NotFound, StoreRefused),
    example={"entity_id": EXAMPLE_ENTITY_ID, "field": "phone", "value": "+44 1632 960000"},
)
@within_budget(is_receipt=True)
async def correct(context: Context, arguments: Correct) -> Corrected:
    """Correct fields of an entity. A correction wins over all observations that are no corrections.

    `release` ends a correction: the newest wins again.
    """
    fields = _corrected(arguments)
    receipt, stored = await _observe(context, "entities.correct", arguments, "correction", fields)
    snapshot = stored.get("entity_snapshot_after", {})
    values = {name: orjson.Fragment(canonical.encode(value)) for name, value in fields.items()}
    answer: Corrected = {
        "success": True,
        "entity_id": stored["entity_id"],
        "entity_type": stored["entity_type"],
        "canonical_name": stored["canonical_name"],
        "observation_id": stored["observation_id"],
        "transaction_id": receipt.transaction_id,
        "version": stored["version"],
        "snapshot": snapshot,
        "replayed": receipt.replayed,
        "store_warnings": receipt.warnings,
    }
    if arguments.is_preview and not receipt.replayed:
        answer["dry_run"] = True
        answer["observation_id"] = answer["transaction_id"] = None
    if (name := arguments.field) is None:
        return {**answer, "corrections": values}
    value = snapshot.get(name) if arguments.release else values[name]
    return {**answer, "field": name, "value": value}


def _corrected(arguments: Correct) -> dict[str, Any]:
    """Return the right value of each field; none where a correction is released."""
    if (arguments.field is None) is (arguments.corrections is None):
        raise invalid([{"path": "$.field", "message": "Field required: give field, or corrections"}])
    has_value = "value" in arguments.model_fields_set
    if arguments.corrections is not None:
        if has_value or arguments.release:
            raise invalid([{"path": "$.corrections", "message": "give it without value and release"}])
        return arguments.corrections
    if arguments.release is has_value:
        raise invalid([{"path": "$.value", "message": "Field required: give value, or release"}])
    return {} if arguments.release else {str(arguments.field): arguments.value}


class Turn(Expecting):
    entity_id: EntityId
    entity_type: EntityType | None = None
    reason: Reason = None


class DeletionResult(TypedDict):
    """The result of a deletion or a restoration."""

    success: bool
    entity_id: str
    entity_type: str
    canonical_name: str
    state: str
    observation_id: str
    version: int
    replayed: bool


@operation(
    "entities.delete",
    "POST /delete_entity",
    tool="delete_entity",
    scope=Scope.WRITE,
    statements=4,
    typed=True,
    destructive=True,
    idempotent=True,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID, "reason": "duplicate"},
)
async def delete_entity(context: Context, arguments: Turn) -> DeletionResult:
    """Delete an entity. It leaves every answer, keeps its history, and can be restored.

    Its relationships are hidden with it. Observations that are stored later stay hidden too.
    """
    return await _turn(context, "entities.delete", arguments, "delete")


@operation(
    "entities.restore",
    "POST /restore_entity",
    tool="restore_entity",
    scope=Scope.WRITE,
    statements=4,
    typed=True,
    idempotent=True,
    errors=(NotFound,),
    example={"entity_id": EXAMPLE_ENTITY_ID},
)
async def restore_entity(context: Context, arguments: Turn) -> DeletionResult:
    """Restore a deleted entity, with all observations that were stored since the deletion."""
    return await _turn(context, "entities.restore", arguments, "restore")


async def _turn(context: Context, name: str, arguments: Turn, kind: facts.Kind) -> DeletionResult:
    fields = {} if arguments.reason is None else {"reason": arguments.reason}
    receipt, stored = await _observe(context, name, arguments, kind, fields)
    return {
        "success": True,
        "entity_id": stored["entity_id"],
        "entity_type": stored["entity_type"],
        "canonical_name": stored["canonical_name"],
        "state": "deleted" if kind == "delete" else "live",
        "observation_id": stored["observation_id"],
        "version": stored["version"],
        "replayed": receipt.replayed,
    }


async def _observe(
    context: Context, name: str, arguments: Correct | Turn, kind: facts.Kind, fields: dict[str, Any]
) -> tuple[Receipt, StoredEntity]:
    """Write one observation of a kind other than ``value`` about an existing entity, or end corrections."""
    released, commit = None, True
    if isinstance(arguments, Correct):
        commit = not arguments.is_preview
        released = (arguments.entity_id, str(arguments.field)) if arguments.release else None
    about = {"target_id": arguments.entity_id, "entity_type": arguments.entity_type}
    if kind == "correction":
        about["source_priority"] = CORRECTION_PRIORITY

    def parts(reader: ItemReader) -> Parts:
        return ([] if released else [reader.observation(0, "$", "$", about, fields, kind)]), []

    missing = "ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", "ERR_ENTITY_ID_FORMAT"
    with refusals(*missing, faults=("ERR_ENTITY_MERGED", NOT_HELD), entity_id=arguments.entity_id):
        receipt = await accept(context, name, arguments, parts, commit=commit, released=released)
    return receipt, entries(receipt)[0]
