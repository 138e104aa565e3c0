"""Whether the database answers: for health checks, with at most one ping a second, and at the start."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time

from graphmem.database.driver import Database
from graphmem.errors import DatabaseTimeout, DatabaseUnavailable, GraphmemError, Unavailable

STATE_SECONDS = 1.0
"""How old the known state may be, and how long a caller waits for a newer one."""


class Availability:
    """The last known state of the database, for the health checks of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._error: Unavailable | None = None
        self._known_at = -math.inf
        self._ping: asyncio.Task[None] | None = None

    async def error(self) -> Unavailable | None:
        """Return why the database does not answer, ``None`` if it answers.

        The state is at most ``STATE_SECONDS`` old. A ping that takes longer counts as no answer.
        """
        if time.monotonic() - self._known_at >= STATE_SECONDS:
            if self._ping is None or self._ping.done():
                # In a context of its own: the ping is in no request's trace and in no request's count.
                self._ping = asyncio.create_task(self._check(), context=contextvars.Context())
            _, pending = await asyncio.wait({self._ping}, timeout=STATE_SECONDS)
            if pending:
                self._know(DatabaseTimeout())
        return self._error

    async def close(self) -> None:
        """Give up a ping that is under way."""
        if self._ping is not None:
            self._ping.cancel()
            await asyncio.wait({self._ping})

    async def _check(self) -> None:
        try:
            await self._database.verify()
            self._know(None)
        except Unavailable as exc:
            self._know(exc)
        except GraphmemError:
            # A wrong setting. The log has it; a health check, which is public, does not tell it.
            self._know(DatabaseUnavailable())

    def _know(self, error: Unavailable | None) -> None:
        self._error, self._known_at = error, time.monotonic()


def needs_restart(exc: GraphmemError) -> bool:
    """Return whether the server answers, but its database has stopped, as after a full disk."""
    return getattr(exc.__cause__, "code", None) == "Neo.DatabaseError.Transaction.TransactionStartFailed"


async def wait_until_up(database: Database, seconds: float) -> None:
    """Wait until the database answers.

    Raises:
        ConfigurationInvalid: a setting is wrong.
        DatabaseUnavailable: it did not answer in ``seconds``.
    """
    end = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            await database.verify()
            return
        except DatabaseUnavailable:
            if asyncio.get_running_loop().time() > end:
                raise
            await asyncio.sleep(0.1)
