"""Runs of interpreters over sources: now, or by the worker."""

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, NotRequired, cast

import structlog
from typing_extensions import TypedDict

from graphmem.auth import Actor, Scope
from graphmem.context import Context, Services
from graphmem.database.driver import Database
from graphmem.database.jobs import renewed
from graphmem.errors import GraphmemError, NotFound, StoreRefused
from graphmem.ingest.document import LEFT_OUT
from graphmem.ingest.proposal import BOOKING
from graphmem.interpretation import readings, source_passages, writing
from graphmem.model import canonical, times
from graphmem.reading import answers, source_answers
from graphmem.reading.source_answers import InterpretationRow
from graphmem.storing.acceptance import apply_withdrawals
from graphmem.writing import Receipt
from graphmem.writing.new_interpretation import ENDED, Interpretation, Status

ATTEMPTS_LIMIT: Final = 8  # how often an interpretation is tried
BACKOFF_SECONDS: Final = 5.0
"""Seconds before the second attempt; each later one waits twice as long, up to an hour."""
_BACKOFF_LIMIT_SECONDS: Final = 3_600.0

_log = structlog.get_logger("graphmem.interpretation")


class Claim(NamedTuple):
    """An interpretation that this process has for a lease, and who asked for it."""

    owner: str
    interpretation: InterpretationRow
    client: str
    agent: str
    by: str | None
    account: str
    token: str


async def add(context: Context, interpretation: Interpretation) -> InterpretationRow:
    """Add an interpretation to the queue, unless it is known already; return it as it is then."""
    actor, now = context.actor, times.now()
    properties: dict[str, Any] = {
        **interpretation.identity,
        "status": Status.PENDING,
        "attempts": 0,
        "created_at": now,
        "due_at": now,
        **actor.writer_columns,
    }
    return await context.services.database.writes(actor.owner).only(
        "interpretation.enqueue", InterpretationRow, id=interpretation.id, source_id=interpretation.source_id,
        properties=properties,
    )  # fmt: skip


async def claim_next(database: Database, lease: float, only_owner: str | None = None) -> Claim | None:
    """Take the interpretation that is due for the longest time, for ``lease`` seconds; ``None``: none is."""
    now, latest = times.now(), times.now() + int(_BACKOFF_LIMIT_SECONDS * times.SECOND)
    return await database.writes(None).one(
        "interpretation.claim", Claim, now=now, latest=latest, lease=int(lease * times.SECOND),
        token=uuid.uuid4().hex, only=only_owner,
    )  # fmt: skip


async def renew(database: Database, claim: Claim, lease: float) -> None:
    try:
        await _set(database, claim, times.now() + int(lease * times.SECOND), Status.RUNNING, None)
    except GraphmemError as exc:
        _log.warning(
            "a lease was not renewed", id=claim.interpretation.interpretation_id, reason=str(exc)[:500]
        )


async def postpone(database: Database, claim: Claim, reason: str) -> None:
    """Give an interpretation back to the queue, to be tried again later."""
    attempts = claim.interpretation.attempts or 1
    wait = min(BACKOFF_SECONDS * 2 ** (attempts - 1), _BACKOFF_LIMIT_SECONDS)
    await _set(database, claim, times.now() + int(wait * times.SECOND), Status.PENDING, reason)


async def _set(database: Database, claim: Claim, due_at: int, status: Status, error: str | None) -> None:
    await database.writes(claim.owner).rows(
        "interpretation.postpone", id=claim.interpretation.interpretation_id, token=claim.token,
        due_at=due_at, status=status, error=error,
    )  # fmt: skip


PROMPT_BYTES: Final = 65_536  # size of the largest source that is interpreted before its caller is answered
PROMPT_OBSERVATIONS: Final = 500
"""Observations that are written before the caller is answered; more are left to the worker."""
LEASE_SECONDS: Final = 60.0


_log = structlog.get_logger("graphmem.interpretation")


class Outcome(NamedTuple):
    """An interpretation as it is after a request. ``unchanged``: the same interpreter had read the same bytes
    before. ``replayed``: the same request had."""

    row: source_answers.InterpretationRow
    unchanged: bool = False
    replayed: bool = False


async def interpret(
    context: Context, source: source_answers.SourceRow, interpreter: str | None = None,
    config: Mapping[str, Any] | None = None, *, again: bool = False, key: str | None = None,
) -> Outcome:  # fmt: skip
    """Interpret a source, or leave it to the worker.

    What the same interpreter, in the same version and with the same configuration, read before is returned,
    and nothing is written, unless that is withdrawn; so is a run that failed for the same reason. Once an
    interpretation is completed, those that other runs of interpreters made of the source are withdrawn by the
    same transaction. What callers say that they read stays.

    ``again``: interpret it once more, even so. ``key``: the idempotency key of the request;
    Raises IdempotencyMismatch: another request had it. It raises those of a reading too.
    """
    config = dict(config or {})
    request = (source.source_id, interpreter, config, again)
    runs = await source_answers.read_runs(context, source.source_id)
    reading, reason = None, None
    try:
        if source.file_size > PROMPT_BYTES or readings.may_ask_model(context, interpreter):
            reader = await readings.reader_of(context, source, interpreter)
        else:
            reading = await readings.read(context, source, interpreter, config)
            reader = reading.reader
    except readings.ReadingFailed as exc:
        reader, reason = exc.reader, exc.reason
    interpretation = _new_interpretation(context, source, reader, config, runs)
    alike = [row for row in runs if row.key == interpretation.key]
    if reason is None:
        earlier = [row for row in alike if row.status != Status.FAILED and not row.withdrawn]
    else:
        earlier = [row for row in alike if row.error_message == reason]
    if earlier and not again:
        return Outcome(earlier[0], unchanged=True)
    if (replayed := await _of_key(context, interpretation, request, key)) is not None:
        return Outcome(replayed, replayed=True)
    if reason is not None:
        await _end_failed(context, interpretation, reason)
    elif reading is None or writing.size(reading.proposal) > PROMPT_OBSERVATIONS:
        return Outcome(await add(context, interpretation))
    else:
        await _write(context, source, interpretation, reading)
    return Outcome(await source_answers.read_interpretation(context, interpretation.id))


async def _of_key(
    context: Context, interpretation: Interpretation, request: tuple[Any, ...], key: str | None
) -> source_answers.InterpretationRow | None:
    """Return the interpretation that a request with this key made before, else keep the key for this one."""
    if key is None:
        return None
    try:
        # The same request has the same key even if schemas or interpreters changed between its attempts.
        receipt = await writing.keep_key(context, replace(interpretation, request=request), key)
    except StoreRefused as exc:
        if not _has_ended(exc):
            raise
        # Another request made the same run meanwhile: what it read is answered.
        return None
    if not receipt.replayed:
        return None
    try:
        return await source_answers.read_interpretation(context, receipt.result["interpretation_id"])
    except NotFound:
        # The request ended between its key and its interpretation, which is made now.
        return None


async def run_next(services: Services) -> int:
    """Run the interpretation that is due for the longest time; return whether there was one, as 1 or 0."""
    claim = await claim_next(services.database, LEASE_SECONDS)
    if claim is None:
        return 0
    row = claim.interpretation
    actor = Actor(claim.owner, frozenset({Scope.READ, Scope.WRITE}), claim.agent, claim.client)
    context = Context(replace(actor, account=claim.account, asked_by=claim.by), services)
    try:
        async with renewed(partial(renew, services.database, claim), LEASE_SECONDS):
            await _run(context, row)
    except GraphmemError as exc:
        reason = str(exc)[:500]
        if (row.attempts or 1) >= ATTEMPTS_LIMIT or isinstance(exc, NotFound):
            await _end_failed(context, _of_row(context, row), reason)
            _log.warning(
                "the last attempt of an interpretation failed", id=row.interpretation_id, reason=reason
            )
        else:
            await postpone(services.database, claim, reason)
            _log.warning("an interpretation is tried again later", id=row.interpretation_id, reason=reason)
    return 1


async def _run(context: Context, row: source_answers.InterpretationRow) -> None:
    interpretation = _of_row(context, row)
    if (row.attempts or 1) > ATTEMPTS_LIMIT:
        reason = "every attempt to interpret the source ended before it was done"
        await _end_failed(context, interpretation, reason)
        return
    source = await source_answers.read_source(context, row.source_id)
    try:
        reading = await readings.read(context, source, row.interpreter, canonical.decode(row.config))
    except readings.ReadingFailed as exc:
        await _end_failed(context, interpretation, exc.reason)
        return
    if reading.reader.version != (version := row.interpreter_version):
        reason = f"it was asked for version {version} of {row.interpreter}, and this is another version"
        await _end_failed(context, interpretation, reason)
        return
    await _write(context, source, interpretation, reading)


async def _write(
    context: Context,
    source: source_answers.SourceRow,
    interpretation: Interpretation,
    reading: readings.Reading,
) -> None:
    """Write what was read, and end the interpretation: completed, or failed if that cannot be stored."""
    # What does not come in is told first, as further warnings are not kept.
    warnings = tuple(sorted(reading.warnings, key=lambda each: not each.startswith(LEFT_OUT)))
    interpretation = replace(
        interpretation,
        parser=reading.reader.parser,
        model=reading.reader.model,
        warnings=warnings[: writing.WARNINGS_LIMIT],
    )
    await source_passages.store_at_once(context, source.source_id, reading.document)
    try:
        await writing.write(context, source, interpretation, reading)
    except StoreRefused as exc:
        if not _has_ended(exc):
            await _end_failed(context, interpretation, str(exc))
        return
    if interpretation.replaces:
        await apply_withdrawals(context)


async def _end_failed(context: Context, interpretation: Interpretation, reason: str) -> None:
    """Write that an interpretation failed, unless it has ended meanwhile. What it made does not count."""
    interpretation = replace(interpretation, error=reason)
    if interpretation.created_at is not None:
        # One of the queue: attempts of the worker may have written a part. Any other is one transaction.
        (made,) = await context.graph.rows("interpretation.made", interpretation_id=interpretation.id)
        interpretation = replace(interpretation, made=made)
    try:
        await writing.end(context, interpretation)
    except StoreRefused as exc:
        if not _has_ended(exc):
            raise
        return
    if interpretation.has_made_something:
        await apply_withdrawals(context)


def _has_ended(refusal: StoreRefused) -> bool:
    return refusal.details["issues"][0]["code"] == ENDED


def _new_interpretation(
    context: Context,
    source: source_answers.SourceRow,
    reader: readings.SourceReader,
    config: Mapping[str, Any],
    runs: list[source_answers.InterpretationRow],
) -> Interpretation:
    """Return the next run of a reader over a source, which replaces the earlier ones of interpreters."""
    interpretation = Interpretation(
        owner=context.actor.owner, source_id=source.source_id, interpreter=reader.interpreter,
        version=reader.version,
        config=canonical.encode(dict(config if reader.config is None else reader.config)), model=reader.model,
        parser=reader.parser, started_at=times.now(),
    )  # fmt: skip
    replaces = tuple(
        row.interpretation_id for row in runs
        # A caller names no parser.
        if row.status == Status.COMPLETED and not row.withdrawn and row.parser
    )  # fmt: skip
    return replace(interpretation, run=source_answers.next_run(runs, interpretation), replaces=replaces)


def _of_row(context: Context, row: source_answers.InterpretationRow) -> Interpretation:
    return Interpretation(
        owner=context.actor.owner, source_id=row.source_id, interpreter=row.interpreter,
        version=row.interpreter_version, config=row.config, run=row.run, replaces=tuple(row.replaces or ()),
        created_at=row.created_at, started_at=row.started_at or row.created_at,
    )  # fmt: skip


class StartedInterpretation(TypedDict):
    """How far the interpretation of a stored file is: ``status`` is pending, running, completed or failed.

    If it could not be started, it has no id, ``status`` is failed, and the file is stored all the same.
    Of a completed one, ``entities_by_type`` says what the file was understood as, and ``passages`` counts
    those of its text, which look-ups and searches find. ``warnings`` say what of the file was not taken, and
    what was not joined or shown as it says.
    """

    interpretation_id: NotRequired[str]
    interpreter: NotRequired[str]
    status: str
    error_message: str | None
    observations_created: int
    entities_created: int
    relationships_created: NotRequired[int]
    entities_by_type: NotRequired[dict[str, int]]
    passages: NotRequired[int]
    warnings: NotRequired[list[str]]


class InterpretedFile(TypedDict):
    """The part of a receipt that is about the interpretation of its file."""

    interpretation: NotRequired[StartedInterpretation]


async def interpret_stored(context: Context, receipt: Receipt) -> InterpretedFile:
    """Interpret the file of a receipt, or leave it to the worker; empty if there is none, or nobody wants it.
    The file is stored already: a fault is part of the answer, and POST /reinterpret tries again."""
    if "source" not in receipt.result or not context.services.settings.interpret_files:
        return {}
    try:
        source = await source_answers.read_source(context, receipt.result["source"]["source_id"])
        # A request that is sent again changes nothing, not even where the interpretation failed.
        runs = await source_answers.read_runs(context, source.source_id) if receipt.replayed else []
        row = runs[0] if runs else (await interpret(context, source)).row
    except GraphmemError as exc:
        _log.warning("a stored file is not interpreted", reason=str(exc)[:500])
        message = f"{exc}: POST /reinterpret tries again"
        failure = StartedInterpretation(
            status="failed", error_message=message, observations_created=0, entities_created=0
        )
        return {"interpretation": failure}
    started = answers.of_row(StartedInterpretation, row)
    del started["relationships_created"]  # of a completed one alone
    if not row.warnings:
        del started["warnings"]
    return {"interpretation": started | await _understood(context, row)}


async def _understood(context: Context, row: source_answers.InterpretationRow) -> StartedInterpretation:
    """Return what a completed interpretation came to; empty if the database does not say it now."""
    understood = cast("StartedInterpretation", {})
    if row.status == Status.COMPLETED:
        with contextlib.suppress(GraphmemError):
            types, passages, source_id, missing, total = await context.graph.only(
                "interpretation.understood",
                tuple[list[tuple[str, int]], int, str | None, list[tuple[str, str]], int],
                interpretation_id=row.interpretation_id, source_id=row.source_id,
                is_table=row.interpreter == "rows",
            )  # fmt: skip
            understood["relationships_created"] = row.relationships_created
            understood["entities_by_type"] = dict(types)
            understood["passages"] = passages
            # Another statement of an account lacks bookings of earlier months, and is no version of that.
            if total and [*dict(types)] != [BOOKING]:
                names = ", ".join(name[:60] for _, name in missing)
                understood["warnings"] = [
                    *row.warnings,
                    f"ROWS_MISSING: {total:,} of the rows of {source_id}, an earlier version of this table, "
                    f"are not in it, and stay as they were: {names}.",
                ]
    return understood
