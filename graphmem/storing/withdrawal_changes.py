"""Withdrawing and reinstating, and what waits to be folded again after it."""

from __future__ import annotations

from typing import Literal, NotRequired

from graphmem.context import Context
from graphmem.model import times
from graphmem.model.membership import SubjectKind
from graphmem.reading.budgets import Budgeted, within_budget
from graphmem.storing.acceptance import refusals, submit, transaction
from graphmem.storing.applying import apply_withdrawals
from graphmem.storing.withdrawal_plans import (
    ChangeWithdrawal,
    EntityChange,
    RelationshipChange,
    page_of_changes,
)
from graphmem.writing import WithdrawalRequest
from graphmem.writing.withdrawing import SubjectChange


class WithdrawalResult(Budgeted):
    """The result of a withdrawal, or of its end.

    ``state`` is withdrawn or counting. ``observations`` counts those of what was withdrawn. While ``pending``
    is not 0, so many entities and relationships wait to be folded again: a read of one of them folds it
    first, and lists, counts and searches may still show them as before.

    A dry run has null in place of ids and time, and answers what would change: entities by id, then
    relationships by key. ``counts`` says of how many observations, entities and relationships.
    """

    success: bool
    state: str
    observations: int
    pending: int
    exclusion_id: str | None
    transaction_id: str | None
    recorded_at: str | None
    replayed: bool
    dry_run: NotRequired[bool]
    counts: NotRequired[dict[str, int]]
    entities: NotRequired[list[EntityChange]]
    relationships: NotRequired[list[RelationshipChange]]
    next_cursor: NotRequired[str]


async def change(
    context: Context,
    operation_name: str,
    arguments: ChangeWithdrawal,
    kind: Literal["exclude", "include"],
    subject: tuple[SubjectKind, str],
) -> WithdrawalResult:
    """Withdraw a subject, given by kind and id, or reinstate it; in a dry run only answer what would change.

    Raises:
        NotFound: the caller's owner has none of this id, or it is withdrawn already, or not withdrawn.
    """
    subject_kind, subject_id = subject
    request = WithdrawalRequest(
        **transaction(context, operation_name, arguments),
        changes=(SubjectChange(kind, subject_kind, subject_id),),
        reason=arguments.reason,
    )
    return await apply(context, arguments, request, **{f"{subject_kind}_id": subject_id})


async def apply(
    context: Context, arguments: ChangeWithdrawal, request: WithdrawalRequest, **named: str
) -> WithdrawalResult:
    """Withdraw or reinstate what a request names; in a dry run only answer what would change.

    Args:
        named: what an error tells beside its message.

    Raises:
        NotFound: a subject is not there, or it is withdrawn already, or not withdrawn.
    """
    state = "counting" if request.is_reinstating else "withdrawn"
    with refusals("ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", **named):
        if arguments.is_preview:
            return await _plan(context, arguments, request, state)
        receipt = await submit(context, request)
    return {
        "success": True,
        "state": state,
        "observations": receipt.result["observations"],
        "pending": await apply_withdrawals(context),
        "exclusion_id": receipt.result["exclusion_id"],
        "transaction_id": receipt.transaction_id,
        "recorded_at": times.render(receipt.recorded_at),
        "replayed": receipt.replayed,
    }


async def _plan(
    context: Context, arguments: ChangeWithdrawal, request: WithdrawalRequest, state: str
) -> WithdrawalResult:
    @within_budget("entities", "relationships")
    async def plan(context: Context, arguments: ChangeWithdrawal) -> WithdrawalResult:
        page = await page_of_changes(context, arguments, request)
        answer: WithdrawalResult = {
            "success": True,
            "dry_run": True,
            "state": state,
            "observations": page["counts"]["observations"],
            "pending": await context.services.pending_refolds.withdrawn(context.actor.owner),
            "exclusion_id": None,
            "transaction_id": None,
            "recorded_at": None,
            "replayed": False,
            **page,
        }
        return answer

    return await plan(context, arguments)
