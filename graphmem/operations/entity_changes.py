"""Observing, correcting, deleting and restoring entities. Each is an observation of its own kind."""

from typing import Annotated, Any, NotRequired

import orjson
from pydantic import Field

from graphmem.arguments import DryRun, EntityId, EntityType, Moment, Spelled, Text, invalid
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound
from graphmem.model import canonical, facts, identity, items, times
from graphmem.model.items import ItemReader
from graphmem.reading import answers
from graphmem.registry import Scope, operation
from graphmem.search.lookup import find_exactly
from graphmem.storing import acceptance
from graphmem.writing import Receipt
from graphmem.writing.demoting import NOT_HELD

CORRECTION_PRIORITY = 1_000.0


class CreateObservation(acceptance.Observing, Sized):
    entity_id: Annotated[EntityId | None, Spelled(option="entity_id")] = None
    entity_type: EntityType | None = None
    entity_identifier: Text | None = None
    fields: dict[str, Any]


class CreatedObservation(answers.VersionedEntity, Budgeted):
    """The result of one observation; its ``store_warnings`` are as in the answer of a store."""

    observation_id: str
    snapshot: answers.Fields
    replayed: bool
    transaction_id: str
    store_warnings: list[dict[str, Any]]


@operation("observations.create", Scope.WRITE)
async def create_observation(context: Context, arguments: CreateObservation) -> CreatedObservation:
    """Add one observation to an existing entity; the answer has the entity's new snapshot.

    Name the entity by `entity_id`, or by `entity_type` with an exact `entity_identifier`.
    """
    reserved = sorted(items.RESERVED & set(arguments.fields) - {identity.CANONICAL_NAME})
    if reserved:
        message = "this name is reserved: give it beside `fields`, if the operation takes it"
        raise invalid([{"path": f"$.fields.{name}", "message": message} for name in reserved])
    entity_id = await _target(context, arguments)
    about = {"target_id": entity_id, "entity_type": arguments.entity_type}
    with acceptance.refusals("ERR_TARGET_NOT_FOUND", entity_id=entity_id):
        receipt = await acceptance.accept(
            context,
            "observations.create",
            arguments,
            lambda reader: ([reader.observation(0, "$", "$.fields", about, arguments.fields)], []),
        )
    stored = acceptance.entries(receipt)[0]
    return {
        **answers.part_of(CreatedObservation, stored),
        **acceptance.receipt_of(CreatedObservation, receipt),
        "snapshot": stored.get("entity_snapshot_after", {}),
    }


async def _target(context: Context, arguments: CreateObservation) -> str:
    if arguments.entity_id is not None:
        return arguments.entity_id
    if arguments.entity_type is None or arguments.entity_identifier is None:
        message = "name the entity by entity_id, or by entity_type with entity_identifier"
        raise InvalidInput.at("$.entity_id", message)
    # A write needs an exact name: a similar one may be another entity.
    aliases = await context.services.type_aliases.of(context.actor.owner)
    kind = aliases.get(arguments.entity_type, arguments.entity_type)
    entities = (await find_exactly(context, arguments.entity_identifier, kind, limit=10))["entities"]
    # Who bears a name now is meant before who bore it formerly.
    entities = [entity for entity in entities if "formerly" not in entity] or entities
    if not entities:
        raise NotFound(
            f"no {arguments.entity_type} has exactly this name or identifier",
            entity_type=arguments.entity_type,
            entity_identifier=arguments.entity_identifier[:200],
        )
    if len(entities) > 1:
        candidates = [entity["entity_id"] for entity in entities]
        message = f"{len(entities)} entities have this name: give entity_id"
        raise invalid([{"path": "$.entity_identifier", "message": message, "candidates": candidates}])
    return entities[0]["entity_id"]


class Correct(acceptance.Expecting, DryRun, Sized):
    entity_id: EntityId
    field: Annotated[
        Annotated[str, Field(min_length=1, max_length=identity.NAME_LIMIT)] | None, Spelled(option="field")
    ] = None
    value: Any = None
    corrections: dict[str, Any] | None = Field(default=None, min_length=1)
    since: Moment | None = None
    release: bool = False
    entity_type: EntityType | None = None


class Corrected(answers.VersionedEntity, acceptance.Written, Budgeted):
    """The result of a correction; its ``store_warnings`` are as in the answer of a store.

    A dry run has no observation and no transaction, and the ``snapshot`` and ``version`` that there would be.
    """

    field: NotRequired[str]
    value: NotRequired[Any]
    corrections: NotRequired[dict[str, Any]]
    observation_id: str | None
    transaction_id: str | None
    snapshot: answers.Fields
    dry_run: NotRequired[bool]
    store_warnings: list[dict[str, Any]]


@operation("entities.correct", Scope.WRITE)
async def correct(context: Context, arguments: Correct) -> Corrected:
    """Correct fields of an entity. A correction wins over all other observations.

    What was wrong stays in the history as a mistake; with `since`, it held until then. `release` ends a
    correction. `undo` and `withdraw_writings` take back what was stored.
    """
    fields = _corrected(arguments)
    receipt, stored = await _observe(context, "entities.correct", arguments, "correction", fields)
    snapshot = stored.get("entity_snapshot_after", {})
    values = {name: orjson.Fragment(canonical.encode(value)) for name, value in fields.items()}
    is_plan = arguments.is_preview and not receipt.replayed
    answer: Corrected = {
        **answers.part_of(Corrected, stored),
        **acceptance.receipt_of(Corrected, receipt, is_written=not is_plan),
        "snapshot": snapshot,
    }
    if is_plan:
        answer["dry_run"], answer["observation_id"] = True, None
    if (name := arguments.field) is None:
        return {**answer, "corrections": values}
    value = snapshot.get(name) if arguments.release else values[name]
    return {**answer, "field": name, "value": value}


def _corrected(arguments: Correct) -> dict[str, Any]:
    """Return the right value of each field; none where a correction is released."""
    if (arguments.field is None) is (arguments.corrections is None):
        raise InvalidInput.at("$.field", "Field required: give field, or corrections")
    has_value = "value" in arguments.model_fields_set
    if arguments.corrections is not None:
        if has_value or arguments.release:
            raise InvalidInput.at("$.corrections", "give it without value and release")
        return arguments.corrections
    if arguments.release and arguments.since is not None:
        raise InvalidInput.at("$.since", "give it with value, not with release")
    if arguments.release is has_value:
        raise InvalidInput.at("$.value", "Field required: give value, or release")
    return {} if arguments.release else {str(arguments.field): arguments.value}


class Turn(acceptance.Expecting):
    entity_id: EntityId
    entity_type: EntityType | None = None
    reason: acceptance.Reason = None


class DeletionResult(answers.VersionedEntity, acceptance.Written):
    """The result of a deletion or a restoration."""

    state: str
    observation_id: str


@operation("entities.delete", Scope.WRITE)
async def delete_entity(context: Context, arguments: Turn) -> DeletionResult:
    """Delete an entity. It leaves every answer, keeps its history, and can be restored.

    Its relationships are hidden with it. Observations that are stored later stay hidden too.
    """
    return await _turn(context, "entities.delete", arguments, "delete")


@operation("entities.restore", Scope.WRITE)
async def restore_entity(context: Context, arguments: Turn) -> DeletionResult:
    """Restore a deleted entity, with all observations that were stored since the deletion."""
    return await _turn(context, "entities.restore", arguments, "restore")


async def _turn(context: Context, name: str, arguments: Turn, kind: facts.Kind) -> DeletionResult:
    fields = {} if arguments.reason is None else {"reason": arguments.reason}
    receipt, stored = await _observe(context, name, arguments, kind, fields)
    return {
        **answers.part_of(DeletionResult, stored),
        **acceptance.receipt_of(DeletionResult, receipt),
        "state": "deleted" if kind == "delete" else "live",
    }


async def _observe(
    context: Context, name: str, arguments: Correct | Turn, kind: facts.Kind, fields: dict[str, Any]
) -> tuple[Receipt, acceptance.StoredEntity]:
    """Write one observation of a kind other than ``value`` about an existing entity, or end corrections."""
    released, commit = None, True
    if isinstance(arguments, Correct):
        commit = not arguments.is_preview
        released = (arguments.entity_id, str(arguments.field)) if arguments.release else None
    about = {"target_id": arguments.entity_id, "entity_type": arguments.entity_type}
    if kind == "correction":
        about["source_priority"] = CORRECTION_PRIORITY
    if isinstance(arguments, Correct) and arguments.since is not None:
        about["observed_at"] = times.render(arguments.since)

    def parts(reader: ItemReader) -> acceptance.Parts:
        return ([] if released else [reader.observation(0, "$", "$", about, fields, kind)]), []

    missing = "ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", "ERR_ENTITY_ID_FORMAT"
    with acceptance.refusals(*missing, faults=("ERR_ENTITY_MERGED", NOT_HELD), entity_id=arguments.entity_id):
        receipt = await acceptance.accept(context, name, arguments, parts, commit=commit, released=released)
    return receipt, acceptance.entries(receipt)[0]
