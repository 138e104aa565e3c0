"""The interpretation of a file that was just stored alone."""

from __future__ import annotations

from typing import NotRequired

import structlog
from typing_extensions import TypedDict

from graphmem.errors import GraphmemError
from graphmem.interpretation.runs import interpret
from graphmem.reading.interpretation_answers import InterpretationRow, read_runs
from graphmem.reading.source_answers import read_source
from graphmem.registry import Context
from graphmem.writing import Receipt

_log = structlog.get_logger("graphmem.interpretation")


class StartedInterpretation(TypedDict):
    """How far the interpretation of a stored file is: ``status`` is pending, running, completed or failed.

    If it could not be started, it has no id, ``status`` is failed, and the file is stored all the same.
    """

    interpretation_id: NotRequired[str]
    interpreter: NotRequired[str]
    status: str
    error_message: str | None
    observations_created: int
    entities_created: int


class InterpretedFile(TypedDict):
    """The part of a receipt that is about the interpretation of its file."""

    interpretation: NotRequired[StartedInterpretation]


async def interpret_stored(context: Context, receipt: Receipt) -> InterpretedFile:
    """Interpret the file of a receipt, or leave it to the worker; empty if there is none, or nobody wants it.

    The file is stored already: a fault is part of the answer, and POST /reinterpret tries again.
    """
    if "source" not in receipt.result or not context.services.settings.interpret_files:
        return {}
    try:
        source = await read_source(context, receipt.result["source"]["source_id"])
        # A request that is sent again changes nothing, not even where the interpretation failed.
        runs = await read_runs(context, source.id) if receipt.replayed else []
        row = runs[0] if runs else (await interpret(context, source)).row
    except GraphmemError as exc:
        _log.warning("a stored file is not interpreted", reason=str(exc)[:500])
        message = f"{exc}: POST /reinterpret tries again"
        failure = StartedInterpretation(
            status="failed", error_message=message, observations_created=0, entities_created=0
        )
        return {"interpretation": failure}
    return {"interpretation": as_started(row)}


def as_started(row: InterpretationRow) -> StartedInterpretation:
    """Return an interpretation as the receipt of its file has it."""
    return {
        "interpretation_id": row.id,
        "interpreter": row.interpreter,
        "status": row.status,
        "error_message": row.error,
        "observations_created": row.observations or 0,
        "entities_created": row.entities or 0,
    }
