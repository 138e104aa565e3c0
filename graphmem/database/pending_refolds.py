"""How many things of an owner wait to be folded again: lists may show them as before.

They wait after a withdrawal, or because a schema has changed.

A process remembers that nothing waits. It counts beside the read that asks for it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable
from typing import TypeVar

from graphmem.database.driver import Database
from graphmem.database.owner_cache import OwnerCache

T = TypeVar("T")


class PendingRefolds(OwnerCache[int]):
    """How many entities and relationships of each owner wait."""

    remembered_seconds = 2.0

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._checks: set[asyncio.Task[int]] = set()

    async def read(self, owner: str) -> int:
        return await self._database.reads(owner).only("exclusion.pending", int)

    def keeps(self, answer: int) -> bool:
        return answer == 0

    async def beside(self, owner: str, read: Awaitable[T]) -> tuple[T, int]:
        """Run a read, and count meanwhile what waits; return the answer and the count.

        Nothing waits for the count alone: it belongs to the process, not to the request.

        Raises:
            Unavailable: the database failed.
        """
        if self.known(owner) is not None:
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
