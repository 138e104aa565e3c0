"""How many things of an owner wait to be folded again, after a withdrawal or because a schema has changed.

Lists may show them as before. A process remembers that nothing waits, and counts beside a read.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable
from typing import TypeVar

from graphmem.database.driver import Database
from graphmem.database.owner_cache import OwnerCache

T = TypeVar("T")


class PendingRefolds(OwnerCache[tuple[int, int]]):
    """How many things of each owner wait after withdrawals, and at most how many for changed schemas."""

    remembered_seconds = 2.0

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._checks: set[asyncio.Task[tuple[int, int]]] = set()

    async def read(self, owner: str) -> tuple[int, int]:
        return await self._database.reads(owner).only("exclusion.pending", tuple[int, int])

    def keeps(self, answer: tuple[int, int]) -> bool:
        return not any(answer)

    async def withdrawn(self, owner: str) -> int:
        """Return how many wait after withdrawals; see :meth:`of`."""
        return (await self.of(owner))[0]

    async def beside(self, owner: str, read: Awaitable[T]) -> tuple[T, int]:
        """Run a read, and count meanwhile what waits, for the process; return the answer and the count."""
        if self.known(owner) is not None:
            return await read, 0
        check = asyncio.create_task(self.of(owner), context=contextvars.Context())
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        # The read may fail first: then nobody asks for the error of the check.
        check.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        answered = await read
        return answered, sum(await asyncio.shield(check))
