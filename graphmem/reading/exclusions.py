"""Withdrawing and reinstating, and what waits to be folded again after it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from typing_extensions import TypedDict

from graphmem.errors import StoreRefused
from graphmem.model import times
from graphmem.model.membership import SubjectKind
from graphmem.reading.receipts import Writing, not_found, submit, transaction
from graphmem.registry import Context
from graphmem.writing import ExclusionRequest

APPLIED_AT_ONCE: Final = 1_000
"""Entities and relationships that are folded again before a withdrawal is answered; the worker folds more."""


class _Pending(NamedTuple):
    """The row of ``exclusion/pending.cypher``."""

    pending: int


async def pending(context: Context) -> int:
    """Return how many of the owner's entities and relationships wait to be folded again."""
    return (await context.graph.only("exclusion.pending", _Pending)).pending


async def apply_exclusions(context: Context) -> int:
    """Fold again what waits for it, as far as a caller waits for that; return how many still wait."""
    await context.services.writers.refold_excluded(context.actor.owner, APPLIED_AT_ONCE)
    return await pending(context)


class ExclusionResult(TypedDict):
    """The result of a withdrawal, or of its end.

    ``state`` is withdrawn or counting. ``observations`` counts those of what was withdrawn. While ``pending``
    is not 0, so many entities and relationships wait to be folded again: a read of one of them folds it
    first, and lists, counts and searches may still show them as before.
    """

    success: bool
    state: str
    observations: int
    pending: int
    exclusion_id: str
    transaction_id: str
    recorded_at: str
    replayed: bool


async def change(
    context: Context,
    operation_name: str,
    arguments: Writing,
    kind: Literal["exclude", "include"],
    subject: tuple[SubjectKind, str],
    reason: str | None,
) -> ExclusionResult:
    """Withdraw a subject, given by kind and id, or reinstate it.

    Raises:
        NotFound: the caller's owner has none of this id, or it is withdrawn already, or not withdrawn.
    """
    subject_kind, subject_id = subject
    request = ExclusionRequest(
        **transaction(context, operation_name, arguments),
        kind=kind,
        subject_kind=subject_kind,
        subject=subject_id,
        reason=reason,
    )
    try:
        receipt = await submit(context, request)
    except StoreRefused as exc:
        not_found(exc, "ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", **{f"{subject_kind}_id": subject_id})
    return {
        "success": True,
        "state": "withdrawn" if kind == "exclude" else "counting",
        "observations": receipt.result["observations"],
        "pending": await apply_exclusions(context),
        "exclusion_id": receipt.result["exclusion_id"],
        "transaction_id": receipt.transaction_id,
        "recorded_at": times.render(receipt.recorded_at),
        "replayed": receipt.replayed,
    }
