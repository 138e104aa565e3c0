"""Admission: limits the heavy queries that run at once, so that light queries get a core and a connection.

A query that reads far more than it returns has ``cost heavy`` in its header. A process runs at most
``Settings.heavy_queries`` heavy queries at once. Another query waits ``PLACE_TIMEOUT_SECONDS`` for a
place, and is then refused.
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
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - not on every system
        return os.cpu_count() or 1


class Admission:
    """The places for heavy queries of one process."""

    def __init__(self, places: int | None = None, timeout_seconds: float = PLACE_TIMEOUT_SECONDS) -> None:
        """Make the places.

        Args:
            places: how many; default is the number of cores minus one, at least one.
            timeout_seconds: how long a query waits for a place.
        """
        self._timeout_seconds: Final = timeout_seconds
        self.places: Final = max(1, cores() - 1) if places is None else places
        self._free_places = asyncio.Semaphore(self.places)
        self._first_runs = 0

    @asynccontextmanager
    async def place(self, *, first_run: bool = False) -> AsyncIterator[None]:
        """Take a place for the block. ``first_run``: the database may have to plan the query first.

        Raises:
            ServiceBusy: no place was free for ``timeout_seconds``, and no first run had a place.
        """
        await self._wait_for_a_place()
        self._first_runs += first_run
        try:
            yield
        finally:
            self._first_runs -= first_run
            self._free_places.release()

    async def _wait_for_a_place(self) -> None:
        while True:
            first_runs_before = self._first_runs
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    await self._free_places.acquire()
                return
            except TimeoutError:
                # A first run takes long because the database plans, not because of the load: wait on.
                if not (first_runs_before or self._first_runs):
                    raise ServiceBusy(
                        "too many searches and walks run at once: try again in a moment", places=self.places
                    ) from None
