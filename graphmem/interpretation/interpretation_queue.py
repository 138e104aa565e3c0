"""The queue of interpretations, in Neo4j: a row is in it while it has a time at which it is due.

Who takes a row has it for a lease, and renews the lease while the work lasts. If the process ends, the row is
due again after the lease. What is done twice has no effect the second time: an interpretation ends once, and
its observations have the same ids.
"""

import uuid
from typing import Any, Final, NamedTuple

import structlog

from graphmem.context import Context
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError
from graphmem.model import times
from graphmem.reading.source_answers import InterpretationRow
from graphmem.writing.new_interpretation import Interpretation, Status

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
