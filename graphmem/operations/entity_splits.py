"""Splitting an entity that is wrongly one, and undoing a split."""

from typing import Annotated, Any, ClassVar, NotRequired, Self

from pydantic import Field, model_validator

from graphmem.arguments import Arguments, EntityId, EntityType, Moment, Previewed, Spelled, invalid
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.model import canonical, ids, times
from graphmem.model.items import ItemReader
from graphmem.operations.sources import SourceId
from graphmem.registry import Scope, operation
from graphmem.storing import acceptance
from graphmem.storing.withdrawal_changes import EntityChange, RelationshipChange, changes
from graphmem.writing import Receipt, SplitRequest, UnsplitRequest
from graphmem.writing.splitting import REFUSED, SPLIT_LIMIT, Selection
from graphmem.writing.supposing import suppose_written


class FieldEquals(Arguments):
    """A field and the value that an observation gives it."""

    field: Annotated[str, Field(min_length=1, max_length=255)]
    value: Any


class SplitPredicate(Arguments):
    """Which observations move: those for which all that is given holds."""

    observed_at_gte: Annotated[Moment | None, Spelled("observed_since")] = None
    source_id_in: list[SourceId] = Field(default=[], max_length=SPLIT_LIMIT)
    observation_field_equals: FieldEquals | None = None
    observation_ids: list[Annotated[str, Field(max_length=100)]] = Field(default=[], max_length=SPLIT_LIMIT)

    @model_validator(mode="after")
    def _refuse_nothing(self) -> Self:
        if not any(self.sent().values()):
            raise ValueError(f"give one of {', '.join(SplitPredicate.model_fields)}")
        return self


class NewEntity(Arguments):
    """The entity that the observations count for: a new one by type and name, or one that is there."""

    entity_type: EntityType | None = None
    canonical_name: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    target_entity_id: EntityId | None = None

    @model_validator(mode="after")
    def _refuse_half(self) -> Self:
        named = [self.entity_type is not None, self.canonical_name is not None]
        if any(named) == (self.target_entity_id is not None) or any(named) != all(named):
            raise ValueError("give entity_type and canonical_name of a new entity, or target_entity_id")
        return self


class SplitEntity(acceptance.Expecting, Previewed, Sized):
    expected_of: ClassVar[str] = "source_entity_id"
    filters_in: ClassVar[str] = "predicate"

    source_entity_id: Annotated[EntityId, Spelled("entity_id", "from_entity_id")]
    predicate: SplitPredicate
    new_entity: NewEntity
    relationships: list[Annotated[str, Field(pattern=f"^{ids.RELATIONSHIP_KEY.pattern}$")]] = Field(
        default=[], max_length=100
    )
    reason: Annotated[acceptance.Reason, Spelled("split_reason")] = None


class UnsplitEntity(acceptance.Writing):
    split_id: Annotated[str, Field(min_length=1, max_length=100)]
    reason: acceptance.Reason = None


class SplitResult(acceptance.Written, Budgeted):
    """The result of a split, or of its end.

    ``observations_moved`` of the source count for the other entity, and so do those of
    ``relationships_moved``, by their keys there. While ``pending`` is not 0, lists and searches may show the
    two as before; a read of one of them does not. A dry run has null in place of ids and time, and ``new``
    for an entity that it would create: ``entities`` and ``relationships`` are what it would change.
    """

    split_id: str | None
    source_entity_id: str
    new_entity_id: str | None
    created: NotRequired[bool]
    observations_moved: int
    observations_left: NotRequired[int]
    relationships_moved: list[str]
    pending: int
    transaction_id: str | None
    split_at: NotRequired[str | None]
    unsplit_at: NotRequired[str]
    dry_run: NotRequired[bool]
    entities: NotRequired[list[EntityChange]]
    relationships: NotRequired[list[RelationshipChange]]


@operation("entities.split", Scope.WRITE)
async def split_entity(context: Context, arguments: SplitEntity) -> SplitResult:
    """Split an entity that holds the facts of two: the observations that fit count for another entity.

    No observation is changed, and `unsplit_entity` undoes it. What is stored later goes to the entity that
    its fields identify: give `target_id` for the new one. Relationships stay, unless they are named. The two
    are no duplicates from then on: no rule merges them. `at_ingested` before the split shows one entity.
    `dry_run` writes nothing, and answers what would change.
    """
    request = _request(context, arguments)
    source_id = arguments.source_entity_id
    with acceptance.refusals("ERR_TARGET_NOT_FOUND", faults=(REFUSED,), source_entity_id=source_id):
        if arguments.is_preview:
            return await _plan(context, request)
        receipt = await acceptance.submit(context, request)
    return {**await _answer(context, receipt), "split_at": times.render(receipt.recorded_at)}


@operation("entities.unsplit", Scope.WRITE)
async def unsplit_entity(context: Context, arguments: UnsplitEntity) -> SplitResult:
    """Undo a split: its observations count for the entity that they were stored for again.

    An observation that a later split moved stays where that one put it. An entity that the split made is
    gone, unless something else was stored for it.
    """
    fields = acceptance.transaction(context, "entities.unsplit", arguments)
    request = UnsplitRequest(**fields, split_id=arguments.split_id, reason=arguments.reason)
    with acceptance.refusals("ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", split_id=arguments.split_id):
        receipt = await acceptance.submit(context, request)
    return {**await _answer(context, receipt), "unsplit_at": times.render(receipt.recorded_at)}


def _request(context: Context, arguments: SplitEntity) -> SplitRequest:
    predicate, new = arguments.predicate, arguments.new_entity
    equals = predicate.observation_field_equals
    selection = Selection(
        observation_ids=predicate.observation_ids or None, since=predicate.observed_at_gte,
        source_ids=predicate.source_id_in or None, field=equals and equals.field,
        value=equals and canonical.encode(equals.value), keys=tuple(dict.fromkeys(arguments.relationships)),
    )  # fmt: skip
    fields = acceptance.transaction(context, "entities.split", arguments)
    reader, created = ItemReader(fields["owner"], fields["transaction_id"]), None
    if new.target_entity_id is None:
        named = {"entity_type": new.entity_type, "canonical_name": new.canonical_name}
        created = reader.item(0, {**named, "intent": "create_new"})
    if reader.issues:
        raise invalid([{**issue, "path": "$.new_entity"} for issue in reader.issues])
    return SplitRequest(
        **fields, items=[created] if created else [], split_entity=arguments.source_entity_id,
        target=new.target_entity_id, selection=selection, reason=arguments.reason,
    )  # fmt: skip


async def _answer(context: Context, receipt: Receipt) -> SplitResult:
    return {**_result(receipt), "pending": await acceptance.apply_withdrawals(context)}


def _result(receipt: Receipt) -> SplitResult:
    result = receipt.result
    answer: SplitResult = {
        **acceptance.receipt_of(SplitResult, receipt),
        "split_id": result["split_id"],
        "source_entity_id": result["source"],
        "new_entity_id": result["target"],
        "observations_moved": result["observations"],
        "relationships_moved": result["relationships"],
        "pending": 0,
    }
    if "left" in result:
        answer["created"], answer["observations_left"] = result["created"], result["left"]
    return answer


async def _plan(context: Context, request: SplitRequest) -> SplitResult:
    services = context.services
    receipt, supposition = await suppose_written(services.database, request, services.embedder)
    result = receipt.result
    entity_ids = [result["source"], result["target"]]
    entities, relationships = await changes(context, supposition, entity_ids, result["relationships"])
    answer = _result(receipt)
    answer["split_id"] = answer["transaction_id"] = answer["split_at"] = None
    if result["created"]:
        answer["new_entity_id"] = None
        for each in entities:
            each["entity_id"] = each["entity_id"].replace(result["target"], "new")
        for each in relationships:
            each["relationship_key"] = each["relationship_key"].replace(result["target"], "new")
        answer["relationships_moved"] = [
            each.replace(result["target"], "new") for each in result["relationships"]
        ]
    return {**answer, "dry_run": True, "entities": entities, "relationships": relationships}
