"""Merging two entities that are the same thing, and undoing a merge."""

from contextlib import AbstractContextManager
from typing import Annotated, ClassVar, Literal, NotRequired

from graphmem.arguments import DryRun, EntityId, Spelled
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.model import facts, times
from graphmem.registry import Scope, operation
from graphmem.storing import acceptance
from graphmem.storing.withdrawal_changes import EntityChange, changes
from graphmem.writing import MergeRequest, Merging, Receipt
from graphmem.writing.supposing import suppose_written


class Merge(acceptance.Expecting, DryRun, Sized):
    """The arguments of ``entities.merge``; ``expected_version`` is that of the target."""

    expected_of: ClassVar[str] = "target_entity_id"

    source_entity_id: Annotated[EntityId, Spelled("from_entity_id")]
    target_entity_id: Annotated[EntityId, Spelled("to_entity_id")]
    expected_version: acceptance.ExpectedVersion = None
    merge_reason: Annotated[acceptance.Reason, Spelled("reason")] = None
    name_from: Literal["target", "source"] = "target"


class Unmerge(acceptance.Writing):
    source_entity_id: Annotated[EntityId, Spelled("entity_id", "from_entity_id")]
    target_entity_id: Annotated[EntityId | None, Spelled("to_entity_id", option="target_entity_id")] = None
    reason: acceptance.Reason = None


class Merged(acceptance.Written, Budgeted):
    """The result of a merge or an unmerge.

    ``observations_moved`` and ``relationships_repointed`` count what another entity shows now; the stored
    observations and relationships are unchanged. ``entities`` counts the source and all entities merged into
    it. A dry run has no transaction: ``changes`` are the two entities as they would change.
    """

    source_entity_id: str
    target_entity_id: str
    observations_moved: int
    relationships_repointed: int
    entities: int
    transaction_id: str | None
    merged_at: NotRequired[str]
    unmerged_at: NotRequired[str]
    dry_run: NotRequired[bool]
    changes: NotRequired[list[EntityChange]]


@operation("entities.merge", Scope.WRITE)
async def merge_entities(context: Context, arguments: Merge) -> Merged:
    """Merge an entity into another. Afterwards both ids and names answer the target with the facts of both.

    Each field shows the winner among the observations of both; a null clears only its own entity's value. The
    target shows the relationships of both, each once. An unmerge gives each entity its own
    observations back, later ones included.
    """
    request = _request(context, "entities.merge", arguments, "merge", arguments.merge_reason)
    with _refusals(arguments):
        if not arguments.is_preview:
            receipt = await acceptance.submit(context, request)
            return {**_answer(receipt), "merged_at": times.render(receipt.recorded_at)}
        services = context.services
        receipt, supposition = await suppose_written(services.database, request, services.embedder)
    ends = [arguments.target_entity_id, arguments.source_entity_id]
    entities, _ = await changes(context, supposition, ends, [])
    return {**_answer(receipt), "transaction_id": None, "dry_run": True, "changes": entities}


@operation("entities.unmerge", Scope.WRITE)
async def unmerge_entities(context: Context, arguments: Unmerge) -> Merged:
    """Undo a merge: the source is an entity of its own again, with all observations ever stored under it.

    Entities that had been merged into the source go with it.
    """
    request = _request(context, "entities.unmerge", arguments, "unmerge", arguments.reason)
    with _refusals(arguments):
        receipt = await acceptance.submit(context, request)
    return {**_answer(receipt), "unmerged_at": times.render(receipt.recorded_at)}


def _request(
    context: Context, name: str, arguments: Merge | Unmerge, kind: facts.Kind, reason: str | None
) -> MergeRequest:
    source, target = arguments.source_entity_id, arguments.target_entity_id
    takes_name = isinstance(arguments, Merge) and arguments.name_from == "source"
    merging = Merging(kind, source, target, reason, "source" if takes_name else None)
    return MergeRequest(**acceptance.transaction(context, name, arguments), merging=merging)


def _refusals(arguments: Merge | Unmerge) -> AbstractContextManager[None]:
    return acceptance.refusals(
        "ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", faults=("ERR_MERGE_REFUSED",),
        source_entity_id=arguments.source_entity_id, target_entity_id=arguments.target_entity_id,
    )  # fmt: skip


def _answer(receipt: Receipt) -> Merged:
    return {
        **acceptance.receipt_of(Merged, receipt),
        "source_entity_id": receipt.result["source_entity_id"],
        "target_entity_id": receipt.result["target_entity_id"],
        "observations_moved": receipt.result["observations"],
        "relationships_repointed": receipt.result["relationships"],
        "entities": receipt.result["entities"],
    }
