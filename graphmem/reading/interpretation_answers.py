"""Interpretations as answers show them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NotRequired

from typing_extensions import TypedDict

from graphmem.errors import NotFound
from graphmem.model import canonical, times
from graphmem.reading import answers
from graphmem.registry import Context
from graphmem.writing.new_interpretation import Interpretation as NewInterpretation

RUNS_LIMIT: Final = 500
"""Interpretations of one source that are read to number the next run."""


class Interpretation(TypedDict):
    """One run of one interpreter over one source.

    ``status`` is pending, running, completed or failed. ``error_message`` says why it failed, or, while it is
    pending, why the last of its ``attempts`` failed. What is ``withdrawn`` does not count.
    ``interpreter_version`` and ``interpretation_config`` are what the run depends on beside the bytes,
    ``parser`` and its version what made text of them, ``model`` the language model. ``run`` counts the
    repeats from 0. The counts are of what it made.
    """

    interpretation_id: str
    id: str
    source_id: str
    interpreter: str
    interpreter_version: str
    interpretation_config: Any
    config_hash: str
    run: int
    model: NotRequired[str]
    parser: NotRequired[str]
    status: str
    withdrawn: bool
    error_message: str | None
    warnings: list[str]
    attempts: int
    created_at: str | None
    started_at: str | None
    completed_at: str | None
    observations_created: int
    entities_created: int
    relationships_created: int
    transaction_id: str | None


class InterpretationRow(NamedTuple):
    """An interpretation as ``interpretation/_row.cypher`` reads it; times are microseconds."""

    id: str
    source_id: str
    interpreter: str
    version: str
    config: str
    config_hash: str
    run: int
    model: str | None
    parser: str | None
    status: str
    error: str | None
    warnings: list[str] | None
    attempts: int | None
    created_at: int
    started_at: int | None
    recorded_at: int | None
    observations: int | None
    entities: int | None
    relationships: int | None
    replaces: list[str] | None
    withdrawn: bool
    transaction_id: str | None

    @property
    def key(self) -> tuple[str, str, str]:
        """What the runs of one reading share: interpreter, version and hash of the configuration."""
        return self.interpreter, self.version, self.config_hash


class InterpretationPage(NamedTuple):
    """The row of ``interpretation/page.cypher`` and ``interpretation/page_by_source.cypher``."""

    interpretations: list[InterpretationRow]
    total: int


class _One(NamedTuple):
    """The row of ``interpretation/by_id.cypher``."""

    interpretation: InterpretationRow


async def read_interpretation(context: Context, interpretation_id: str) -> InterpretationRow:
    """Return one interpretation.

    Raises:
        NotFound: the caller's owner has no such interpretation.
    """
    row = await context.graph.one("interpretation.by_id", _One, interpretation_id=interpretation_id)
    if row is None:
        raise NotFound(
            f"there is no interpretation {interpretation_id}: GET /interpretations lists them",
            interpretation_id=interpretation_id,
        )
    return row.interpretation


async def read_runs(context: Context, source_id: str) -> list[InterpretationRow]:
    """Return the interpretations of a source, the newest first."""
    row = await context.graph.only(
        "interpretation.page_by_source", InterpretationPage, source_id=source_id, at=times.LATEST, after="",
        status=None, offset=0, limit=RUNS_LIMIT, counted=False,
    )  # fmt: skip
    return row.interpretations


def as_interpretation(row: InterpretationRow) -> Interpretation:
    """Return an interpretation as answers have it."""
    answer: Interpretation = {
        "interpretation_id": row.id,
        "id": row.id,
        "source_id": row.source_id,
        "interpreter": row.interpreter,
        "interpreter_version": row.version,
        "interpretation_config": canonical.decode(row.config),
        "config_hash": row.config_hash,
        "run": row.run,
        "status": row.status,
        "withdrawn": row.withdrawn,
        "error_message": row.error,
        "warnings": row.warnings or [],
        "attempts": row.attempts or 0,
        "created_at": answers.when(row.created_at),
        "started_at": answers.when(row.started_at),
        "completed_at": answers.when(row.recorded_at),
        "observations_created": row.observations or 0,
        "entities_created": row.entities or 0,
        "relationships_created": row.relationships or 0,
        "transaction_id": row.transaction_id,
    }
    if row.model is not None:
        answer["model"] = row.model
    if row.parser:
        answer["parser"] = row.parser
    return answer


def next_run(runs: list[InterpretationRow], interpretation: NewInterpretation) -> int:
    """Return the number of the next run of an interpretation's interpreter, version and configuration."""
    return max((row.run + 1 for row in runs if row.key == interpretation.key), default=0)
