"""Withdrawing a file, or one reading of it, and reinstating it: whether what came from it counts."""

from __future__ import annotations

from typing import Annotated

from graphmem.arguments import EXAMPLE_SOURCE_ID, Spelled
from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.operations.interpretations import EXAMPLE_INTERPRETATION_ID, InterpretationId
from graphmem.operations.sources import SourceId
from graphmem.registry import Scope, operation
from graphmem.storing.withdrawal_changes import ChangeWithdrawal, WithdrawalResult, change


class ChangeSource(ChangeWithdrawal):
    """The arguments of ``sources.withdraw`` and ``sources.reinstate``."""

    source_id: Annotated[SourceId, Spelled("id")]


class SourceChange(WithdrawalResult):
    """The result of the withdrawal of a file, or of its reinstatement."""

    source_id: str


@operation(
    "sources.withdraw", "POST /sources/{source_id}/withdraw", tool="withdraw_source", scope=Scope.WRITE,
    statements=18, destructive=True, idempotent=True, sandbox=False, errors=(NotFound,),
    example={"source_id": EXAMPLE_SOURCE_ID, "reason": "a draft"},
)  # fmt: skip
async def withdraw_source(context: Context, arguments: ChangeSource) -> SourceChange:
    """Withdraw a file: nothing that was stored with it counts any more. It can be reinstated.

    Every answer is as if its observations had never been written. Entities that they alone made are gone.
    The file, the observations and the ids are kept, and `at_ingested` before the withdrawal answers what was
    known then. `dry_run` writes nothing, and answers what would change.
    """
    subject = ("source", arguments.source_id)
    answer = await change(context, "sources.withdraw", arguments, "exclude", subject)
    return {"source_id": arguments.source_id, **answer}


@operation(
    "sources.reinstate", "POST /sources/{source_id}/reinstate", tool="reinstate_source", scope=Scope.WRITE,
    idempotent=True, sandbox=False, errors=(NotFound,), example={"source_id": EXAMPLE_SOURCE_ID},
)  # fmt: skip
async def reinstate_source(context: Context, arguments: ChangeSource) -> SourceChange:
    """Reinstate a withdrawn file: what was stored with it counts again, before and since the withdrawal.

    A reading of the file that was withdrawn by itself stays withdrawn.
    """
    subject = ("source", arguments.source_id)
    answer = await change(context, "sources.reinstate", arguments, "include", subject)
    return {"source_id": arguments.source_id, **answer}


class ChangeInterpretation(ChangeWithdrawal):
    """The arguments of ``interpretations.withdraw`` and ``interpretations.reinstate``."""

    interpretation_id: Annotated[InterpretationId, Spelled("id")]


class InterpretationChange(WithdrawalResult):
    """The result of the withdrawal of an interpretation, or of its reinstatement."""

    interpretation_id: str


@operation(
    "interpretations.withdraw", "POST /interpretations/{interpretation_id}/withdraw",
    tool="withdraw_interpretation", scope=Scope.WRITE, statements=16, destructive=True, idempotent=True,
    sandbox=False, errors=(NotFound,),
    example={"interpretation_id": EXAMPLE_INTERPRETATION_ID, "reason": "misread"},
)  # fmt: skip
async def withdraw_interpretation(context: Context, arguments: ChangeInterpretation) -> InterpretationChange:
    """Withdraw one reading of a file: nothing that it observed counts any more. It can be reinstated.

    What was stored with the file, and what other readings observed, still counts.
    """
    subject = ("interpretation", arguments.interpretation_id)
    name = "interpretations.withdraw"
    answer = await change(context, name, arguments, "exclude", subject)
    return {"interpretation_id": arguments.interpretation_id, **answer}


@operation(
    "interpretations.reinstate", "POST /interpretations/{interpretation_id}/reinstate",
    tool="reinstate_interpretation", scope=Scope.WRITE, idempotent=True, sandbox=False, errors=(NotFound,),
    example={"interpretation_id": EXAMPLE_INTERPRETATION_ID},
)  # fmt: skip
async def reinstate_interpretation(context: Context, arguments: ChangeInterpretation) -> InterpretationChange:
    """Reinstate a withdrawn interpretation: what it observed counts again, unless its file is withdrawn."""
    subject = ("interpretation", arguments.interpretation_id)
    name = "interpretations.reinstate"
    answer = await change(context, name, arguments, "include", subject)
    return {"interpretation_id": arguments.interpretation_id, **answer}
