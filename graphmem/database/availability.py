"""Whether the database answers: for health checks, with at most one ping a second, and at the start."""

import asyncio
import contextvars
import math
import time
from collections.abc import Callable

from graphmem.database.driver import Database
from graphmem.errors import DatabaseTimeout, DatabaseUnavailable, GraphmemError, Unavailable

STATE_SECONDS = 1.0  # how old the known state may be, and how long a caller waits for a newer one

TOLD_EVERY_SECONDS = 2.5  # seconds between two lines of progress while a database is awaited


class Availability:
    """The last known state of the database, for the health checks of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._error: Unavailable | None = None
        self._known_at = -math.inf
        self._ping: asyncio.Task[None] | None = None

    async def error(self) -> Unavailable | None:
        """Return why the database does not answer, ``None`` if it answers. The state is at most
        ``STATE_SECONDS`` old. A ping that takes longer counts as no answer."""
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
            # A health check is public: it does not tell the address of the database.
            await self._database.verify(with_address=False)
            self._know(None)
        except GraphmemError as exc:
            # A wrong setting is in the log, and a health check does not tell it.
            self._know(exc if isinstance(exc, Unavailable) else DatabaseUnavailable())

    def _know(self, error: Unavailable | None) -> None:
        self._error, self._known_at = error, time.monotonic()


def needs_restart(exc: GraphmemError) -> bool:
    """Return whether the server answers, but its database has stopped, as after a full disk."""
    return getattr(exc.__cause__, "code", None) == "Neo.DatabaseError.Transaction.TransactionStartFailed"


async def wait_until_up(
    database: Database, seconds: float, address: str, waiting: Callable[[str], None]
) -> None:
    """Wait until the database answers, for at most ``seconds``.

    Args:
        address: of the database, without a password, for messages.
        waiting: called with a line of progress every :data:`TOLD_EVERY_SECONDS`.

    Raises:
        ConfigurationInvalid: a setting is wrong.
        DatabaseUnavailable: it did not answer in time.
    """

    async def answer() -> None:
        while True:
            try:
                return await database.verify()
            except (DatabaseUnavailable, DatabaseTimeout):
                await asyncio.sleep(0.5)

    answered = asyncio.create_task(answer())
    try:
        waited = 0.0
        while waited < seconds:
            step = min(TOLD_EVERY_SECONDS, seconds - waited)
            if (await asyncio.wait({answered}, timeout=step))[0]:
                return answered.result()
            waited += step
            if waited < seconds:
                waiting(f"waiting for the database at {address} (NEO4J_URI): {waited:.0f} of {seconds:.0f} s")
    finally:
        answered.cancel()
        await asyncio.wait({answered})
    raise DatabaseUnavailable(
        f"the database at {address} (NEO4J_URI) did not answer within {seconds:.0f} s: start it, or correct "
        "NEO4J_URI",
        address=address,
        setting="NEO4J_URI",
    )
