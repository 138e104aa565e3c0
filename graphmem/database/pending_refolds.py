"""How many things of an owner wait to be folded again after a withdrawal: lists may show them as before.

A process remembers for :data:`REMEMBERED_SECONDS` that nothing waits, and forgets it at once when it
withdraws or reinstates something itself.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from graphmem.database.driver import Database

REMEMBERED_SECONDS: Final = 2.0
"""Seconds for which a process believes that nothing waits, before it reads again."""
OWNERS_LIMIT: Final = 10_000
"""Owners in the cache; beyond it the cache is emptied."""


class _Pending(NamedTuple):
    pending: int


class PendingRefolds:
    """A cache of the owners of whom nothing waits, for one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: dict[str, float] = {}

    async def of(self, owner: str) -> int:
        """Return how many entities and relationships of an owner wait to be folded again.

        Raises:
            Unavailable: the database failed.
        """
        started = time.monotonic()
        if started < self._settled.get(owner, 0.0):
            return 0
        row = await self._database.reads(owner).only("exclusion.pending", _Pending)
        if row.pending:
            self._settled.pop(owner, None)
        else:
            if len(self._settled) >= OWNERS_LIMIT:
                self._settled.clear()
            self._settled[owner] = started + REMEMBERED_SECONDS
        return row.pending

    def forget(self, owner: str) -> None:
        """Read again at the next use: this process withdrew or reinstated something of the owner."""
        self._settled.pop(owner, None)
