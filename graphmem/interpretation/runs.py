"""Runs of interpreters over sources: now, or by the worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import structlog

from graphmem.auth import Actor, Scope
from graphmem.errors import GraphmemError, NotFound, StoreRefused
from graphmem.interpretation import queue, writing
from graphmem.interpretation.readings import Reader, Reading, ReadingFailed, may_ask_model, read, reader_of
from graphmem.model import canonical, times
from graphmem.reading import interpretations
from graphmem.reading.interpretations import InterpretationRow, read_interpretation, read_runs
from graphmem.reading.sources import SourceRow, read_source
from graphmem.registry import Context, Services
from graphmem.writing.interpretations import ENDED, Interpretation, Status

PROMPT_BYTES: Final = 65_536
"""Size of the largest source that is interpreted before its caller is answered."""
PROMPT_OBSERVATIONS: Final = 500
"""Observations that are written before the caller is answered; more are left to the worker."""
LEASE_SECONDS: Final = 60.0

_log = structlog.get_logger("graphmem.interpretation")


async def interpret(
    context: Context,
    source: SourceRow,
    interpreter: str | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    again: bool = False,
) -> InterpretationRow:
    """Interpret a source, or leave it to the worker; return the interpretation as it is then.

    What the same interpreter, in the same version and with the same configuration, read before is returned,
    and nothing is written, unless that is withdrawn. Once an interpretation is completed, those that other
    runs of interpreters made of the source are withdrawn by the same transaction. What callers say that they
    read stays.

    Args:
        again: interpret the source once more, even so.

    Raises:
        ObjectStoreUnavailable, ObjectMissing, ObjectDamaged: the bytes of the source cannot be had.
        Unavailable: the database failed.
    """
    config = dict(config or {})
    runs = await read_runs(context, source.id)
    if source.size > PROMPT_BYTES or may_ask_model(context, interpreter):
        return await _later(context, source, interpreter, config, runs, again=again)
    try:
        reading = await read(context, source, interpreter, config)
    except ReadingFailed as exc:
        return await _failed(context, _asked(context, source, exc.reader, config), exc.reason, runs)
    asked = _asked(context, source, reading.reader, config)
    if (known := _known(runs, asked)) is not None and not again:
        return known
    asked = _numbered(asked, runs)
    if writing.size(reading.proposal) > PROMPT_OBSERVATIONS:
        return await queue.add(context, asked)
    await _written(context, source, asked, reading)
    return await read_interpretation(context, asked.id)


async def run_next(services: Services) -> int:
    """Run the interpretation that is due for the longest time; return whether there was one, as 1 or 0."""
    claimed = await queue.claim(services.database, LEASE_SECONDS)
    if claimed is None:
        return 0
    actor = Actor(claimed.owner, frozenset({Scope.READ, Scope.WRITE}), claimed.agent, claimed.client)
    context = Context(replace(actor, account=claimed.account), services)
    try:
        async with queue.held(services.database, claimed, LEASE_SECONDS):
            await _run(context, claimed.interpretation)
    except GraphmemError as exc:
        last = (claimed.interpretation.attempts or 1) >= queue.ATTEMPTS_LIMIT
        if last or isinstance(exc, NotFound):
            await _end_failed(context, _of_row(context, claimed.interpretation), str(exc)[:500])
        else:
            await queue.postpone(services.database, claimed, str(exc)[:500])
        _log.warning(
            "an interpretation is tried again later", id=claimed.interpretation.id, reason=str(exc)[:500]
        )
    return 1


async def _run(context: Context, row: InterpretationRow) -> None:
    """Run a claimed interpretation to its end."""
    asked = _of_row(context, row)
    if (row.attempts or 1) > queue.ATTEMPTS_LIMIT:
        await _end_failed(context, asked, "every attempt to interpret the source ended before it was done")
        return
    source = await read_source(context, row.source_id)
    try:
        reading = await read(context, source, row.interpreter, canonical.decode(row.config))
    except ReadingFailed as exc:
        await _end_failed(context, asked, exc.reason)
        return
    if reading.reader.version != asked.version:
        reason = (
            f"it was asked for version {asked.version} of {asked.interpreter}, and this is another version"
        )
        await _end_failed(context, asked, reason)
        return
    await _written(context, source, asked, reading)


async def _later(
    context: Context,
    source: SourceRow,
    interpreter: str | None,
    config: dict[str, Any],
    runs: list[InterpretationRow],
    *,
    again: bool,
) -> InterpretationRow:
    try:
        reader = await reader_of(context, source, interpreter)
    except ReadingFailed as exc:
        return await _failed(context, _asked(context, source, exc.reader, config), exc.reason, runs)
    asked = _asked(context, source, reader, config)
    if (known := _known(runs, asked)) is not None and not again:
        return known
    return await queue.add(context, _numbered(asked, runs))


async def _failed(
    context: Context, asked: Interpretation, reason: str, runs: list[InterpretationRow]
) -> InterpretationRow:
    """Write that an interpretation failed, as its next run."""
    asked = _numbered(asked, runs)
    await _end_failed(context, asked, reason)
    return await read_interpretation(context, asked.id)


async def _written(context: Context, source: SourceRow, asked: Interpretation, reading: Reading) -> None:
    ending = replace(
        asked,
        parser=reading.reader.parser,
        model=reading.reader.model,
        warnings=reading.warnings[: writing.WARNINGS_LIMIT],
    )
    try:
        await writing.write(context, source, ending, reading)
    except StoreRefused as exc:
        await _end_failed(context, ending, str(exc), refused=exc)


async def _end_failed(
    context: Context, asked: Interpretation, reason: str, refused: StoreRefused | None = None
) -> None:
    """Write that an interpretation failed, unless it has ended meanwhile."""
    if refused is not None and _has_ended(refused):
        return
    try:
        await writing.end(context, replace(asked, error=reason))
    except StoreRefused as exc:
        if not _has_ended(exc):
            raise


def _has_ended(refused: StoreRefused) -> bool:
    return refused.details["issues"][0]["code"] == ENDED


def _known(runs: list[InterpretationRow], asked: Interpretation) -> InterpretationRow | None:
    """Return the run of the same interpreter, version and configuration, unless it failed."""
    key = asked.interpreter, asked.version, asked.config_hash
    return next(
        (
            row for row in runs
            if (row.interpreter, row.version, row.config_hash) == key
            and row.status != Status.FAILED and not row.withdrawn
        ),
        None,
    )  # fmt: skip


def _numbered(asked: Interpretation, runs: list[InterpretationRow]) -> Interpretation:
    """Return an interpretation as the next run, which replaces the earlier ones that interpreters made."""
    replaced = tuple(
        row.id for row in runs
        if row.status == Status.COMPLETED and not row.withdrawn and row.parser
    )  # fmt: skip
    return replace(asked, run=interpretations.next_run(runs, asked), replaces=replaced)


def _asked(context: Context, source: SourceRow, reader: Reader, config: Mapping[str, Any]) -> Interpretation:
    return Interpretation(
        owner=context.actor.owner,
        source_id=source.id,
        interpreter=reader.interpreter,
        version=reader.version,
        config=canonical.encode(dict(config if reader.config is None else reader.config)),
        model=reader.model,
        parser=reader.parser,
        started_at=times.now(),
    )


def _of_row(context: Context, row: InterpretationRow) -> Interpretation:
    return Interpretation(
        owner=context.actor.owner,
        source_id=row.source_id,
        interpreter=row.interpreter,
        version=row.version,
        config=row.config,
        run=row.run,
        replaces=tuple(row.replaces or ()),
        created_at=row.created_at,
        started_at=row.started_at or row.created_at,
    )
