"""Admission: few heavy queries at a time, so that light ones find a core and a connection.

A query that reads far more than it answers says ``cost heavy`` in its header. One process runs
``Settings.heavy_queries`` of them at once; others wait a second for a place, and are then refused.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from graphmem.errors import ServiceBusy

PATIENCE: Final = 1.0
"""Seconds that a heavy query waits for a place."""


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - not on every system
        return os.cpu_count() or 1


class Admission:
    """The places for heavy queries of one process."""

    def __init__(self, places: int | None = None) -> None:
        """Make ``places``; one less than there are cores, and one at least, where none are said."""
        self.places: Final = max(1, cores() - 1) if places is None else places
        self._free = asyncio.Semaphore(self.places)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place.

        Raises:
            ServiceBusy: none was free for ``PATIENCE`` seconds.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                await self._free.acquire()
        except TimeoutError:
            raise ServiceBusy(
                "too many searches and walks run at once: try again in a moment", places=self.places
            ) from None
        try:
            yield
        finally:
            self._free.release()
