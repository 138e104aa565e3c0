"""Merging entities that are one, and undoing it."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import EXAMPLE_ENTITY_ID, EXAMPLE_OTHER_ENTITY_ID, EntityId, Spelled, invalid
from graphmem.errors import IdempotencyMismatch, NotFound, StoreRefused
from graphmem.model import facts, times
from graphmem.reading.receipts import Reason, Writing, accept, not_found
from graphmem.registry import Context, Scope, operation
from graphmem.writing import Merging, Receipt


class Merge(Writing):
    """What ``entities.merge`` takes."""

    source_entity_id: Annotated[
        EntityId, Spelled("from_entity_id"), Field(description="The entity that is then shown as the target.")
    ]
    target_entity_id: Annotated[
        EntityId, Spelled("to_entity_id"), Field(description="The entity that stays: the survivor.")
    ]
    merge_reason: Annotated[Reason, Spelled("reason")] = None


class Unmerge(Writing):
    """What ``entities.unmerge`` takes."""

    source_entity_id: Annotated[
        EntityId, Spelled("entity_id", "from_entity_id"), Field(description="The entity that was merged.")
    ]
    target_entity_id: Annotated[
        EntityId | None,
        Spelled("to_entity_id"),
        Field(description="What it is merged into, where the caller wants that to be checked."),
    ] = None
    reason: Reason = None


class Merged(TypedDict):
    """What a merge, or its end, did.

    ``observations`` and ``relationships`` are those that are shown elsewhere now; none of them was moved or
    changed. ``entities`` counts the source and everything merged into it.
    """

    success: bool
    source_entity_id: str
    target_entity_id: str
    observations_moved: int
    relationships_repointed: int
    entities: int
    transaction_id: str
    replayed: bool
    merged_at: NotRequired[str]
    unmerged_at: NotRequired[str]


@operation(
    "entities.merge",
    "POST /entities/merge",
    tool="merge_entities",
    command="entities merge",
    scope=Scope.WRITE,
    sandbox=False,
    errors=(NotFound, IdempotencyMismatch),
    example={
        "source_entity_id": EXAMPLE_ENTITY_ID,
        "target_entity_id": EXAMPLE_OTHER_ENTITY_ID,
        "merge_reason": "one person",
    },
)
async def merge_entities(context: Context, arguments: Merge) -> Merged:
    """Merge an entity into another: from now on both ids and names show the target with what both have.

    Of each field the greatest of all observations is shown, as if they had been stored of one entity.
    Relationships are shown at the target, each once. Nothing is moved: `POST /entities/unmerge` gives each
    entity back what it had and what was stored under it meanwhile. A snapshot `at` an earlier time shows them
    apart.
    """
    receipt = await _accept(context, "entities.merge", arguments, "merge", arguments.merge_reason)
    return {**_answer(receipt), "merged_at": times.render(receipt.recorded_at)}


@operation(
    "entities.unmerge",
    "POST /entities/unmerge",
    tool="unmerge_entities",
    command="entities unmerge",
    scope=Scope.WRITE,
    sandbox=False,
    errors=(NotFound, IdempotencyMismatch),
    example={"source_entity_id": EXAMPLE_ENTITY_ID},
)
async def unmerge_entities(context: Context, arguments: Unmerge) -> Merged:
    """Undo a merge: the source is an entity of its own again, with all that was ever stored under it.

    What had been merged into the source goes with it.
    """
    receipt = await _accept(context, "entities.unmerge", arguments, "unmerge", arguments.reason)
    return {**_answer(receipt), "unmerged_at": times.render(receipt.recorded_at)}


async def _accept(
    context: Context, name: str, arguments: Merge | Unmerge, kind: facts.Kind, reason: str | None
) -> Receipt:
    source, target = arguments.source_entity_id, arguments.target_entity_id
    try:
        return await accept(
            context, name, arguments, lambda _: ([], []), merging=Merging(kind, source, target, reason)
        )
    except StoreRefused as exc:
        issues = exc.details["issues"]
        if issues[0]["code"] == "ERR_MERGE_REFUSED":
            raise invalid(issues) from exc
        not_found(
            exc, "ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN",
            source_entity_id=source, target_entity_id=target,
        )  # fmt: skip


def _answer(receipt: Receipt) -> Merged:
    return {
        "success": True,
        "source_entity_id": receipt.more["source_entity_id"],
        "target_entity_id": receipt.more["target_entity_id"],
        "observations_moved": receipt.more["observations"],
        "relationships_repointed": receipt.more["relationships"],
        "entities": receipt.more["entities"],
        "transaction_id": receipt.transaction_id,
        "replayed": receipt.replayed,
    }
