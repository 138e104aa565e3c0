"""How many things of an owner wait to be folded again after a withdrawal: lists may show them as before.

A process remembers for :data:`REMEMBERED_SECONDS` that nothing waits, and forgets it at once when it
withdraws or reinstates something itself. It counts beside the read that asks for it.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable
from typing import Final, TypeVar

from graphmem.database.driver import Database

REMEMBERED_SECONDS: Final = 2.0
"""Seconds for which a process believes that nothing waits, before it reads again."""
OWNERS_LIMIT: Final = 10_000
"""Owners in the cache; beyond it the cache is emptied."""


T = TypeVar("T")


class PendingRefolds:
    """A cache of the owners of whom nothing waits, for one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: dict[str, float] = {}
        self._checks: set[asyncio.Task[int]] = set()
        self._forgotten = 0

    async def beside(self, owner: str, read: Awaitable[T]) -> tuple[T, int]:
        """Run a read, and count meanwhile what waits; return the answer and the count.

        Nothing waits for the count alone: it belongs to the process, not to the request.

        Raises:
            Unavailable: the database failed.
        """
        if self._is_settled(owner):
            return await read, 0
        check = asyncio.create_task(self.of(owner), context=contextvars.Context())
        self._checks.add(check)
        check.add_done_callback(self._ended)
        answered = await read
        return answered, await asyncio.shield(check)

    def _ended(self, check: asyncio.Task[int]) -> None:
        self._checks.discard(check)
        if not check.cancelled():
            # The read may have failed first: then nobody asks for the error of the check.
            check.exception()

    def _is_settled(self, owner: str) -> bool:
        return time.monotonic() < self._settled.get(owner, 0.0)

    async def of(self, owner: str) -> int:
        """Return how many entities and relationships of an owner wait to be folded again.

        Raises:
            Unavailable: the database failed.
        """
        if self._is_settled(owner):
            return 0
        started, forgotten = time.monotonic(), self._forgotten
        pending = await self._database.reads(owner).only("exclusion.pending", int)
        if pending:
            self._settled.pop(owner, None)
        elif forgotten == self._forgotten:
            if len(self._settled) >= OWNERS_LIMIT:
                self._settled.clear()
            self._settled[owner] = started + REMEMBERED_SECONDS
        return pending

    def forget(self, owner: str) -> None:
        """Read again at the next use: this process withdrew or reinstated something of the owner."""
        self._forgotten += 1
        self._settled.pop(owner, None)
