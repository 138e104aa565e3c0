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

PLACE_TIMEOUT_SECONDS: Final = 1.0
"""Seconds that a heavy query waits for a place before it is refused."""


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - not on every system
        return os.cpu_count() or 1


class Admission:
    """The places for heavy queries of one process."""

    def __init__(self, places: int | None = None) -> None:
        """Make ``places``; without an argument one less than there are cores, at least one."""
        self.places: Final = max(1, cores() - 1) if places is None else places
        self._free = asyncio.Semaphore(self.places)
        self._first_runs = 0

    @asynccontextmanager
    async def place(self, *, first_run: bool = False) -> AsyncIterator[None]:
        """Hold a place; ``first_run`` says that the database may have to plan the query first.

        Raises:
            ServiceBusy: none was free for ``PLACE_TIMEOUT_SECONDS``, and no first run held one.
        """
        await self._wait_for_a_place()
        self._first_runs += first_run
        try:
            yield
        finally:
            self._first_runs -= first_run
            self._free.release()

    async def _wait_for_a_place(self) -> None:
        while True:
            planning = self._first_runs
            try:
                async with asyncio.timeout(PLACE_TIMEOUT_SECONDS):
                    await self._free.acquire()
                return
            except TimeoutError:
                # A first run takes long because the database plans, not because too much is asked for.
                if not (planning or self._first_runs):
                    raise ServiceBusy(
                        "too many searches and walks run at once: try again in a moment", places=self.places
                    ) from None
