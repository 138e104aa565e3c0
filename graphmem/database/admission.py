"""Admission: limits the heavy work that runs at once, such as heavy queries, so that light work gets a core.

A query that reads far more than it returns has ``cost heavy`` in its header. A process runs at most
``Settings.heavy_queries`` heavy queries at once. The others wait: the owners take turns, and the queries of
one owner run in the order in which they came. A query that has waited for ``Settings.heavy_wait`` seconds is
refused, and so is one beyond :data:`WAITING_LIMIT`. Files are parsed, and requests run, by the same rules.
"""

import asyncio
import os
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from graphmem.errors import ServiceBusy

WAITING_LIMIT: Final = 1_000  # heavy queries that wait at once in one process

Place = asyncio.Future[None]
"""A query that waits: its result is set when it has a place, its exception when it is refused."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - not on every system
        return os.cpu_count() or 1


class Admission:
    """The places for heavy queries of one process, and the queries that wait for one."""

    def __init__(
        self, places: int | None = None, timeout_seconds: float = 15.0, waiting_limit: float = WAITING_LIMIT,
        *, of_owner: int | None = None, what: str = "searches and walks run",
    ) -> None:  # fmt: skip
        """Make the places: by default as many as there are cores minus one, at least one.

        Args:
            timeout_seconds: how long a query waits for a place.
            of_owner: how many places one owner has at most; default is all.
            what: the work, for messages.
        """
        self._timeout_seconds: Final = timeout_seconds
        self._waiting_limit: Final = waiting_limit
        self.places: Final = max(1, cores() - 1) if places is None else places
        self._of_owner: Final = self.places if of_owner is None else of_owner
        self._what: Final = what
        self._running = Counter[str]()
        """The places that are taken, by owner."""
        self._waiting = 0
        self._lines: OrderedDict[str, deque[Place]] = OrderedDict()
        """The queries that wait, by owner; the first owner is the next one."""
        self._first_runs = 0

    @asynccontextmanager
    async def place(self, owner: str = "", *, first_run: bool = False) -> AsyncIterator[None]:
        """Take a place for the block. ``first_run``: the database may have to plan the query first. Raises
        ServiceBusy: no place was free in time, and no first run had a place; or too many queries wait."""
        if owner not in self._lines and self._is_free(owner):
            self._running[owner] += 1
        else:
            await self._wait(owner)
        self._first_runs += first_run
        try:
            yield
        finally:
            self._first_runs -= first_run
            self._release(owner)

    def _is_free(self, owner: str) -> bool:
        return self._running.total() < self.places and self._running[owner] < self._of_owner

    async def _wait(self, owner: str) -> None:
        line = self._lines.setdefault(owner, deque())
        waiting = asyncio.get_running_loop().create_future()
        line.append(waiting)
        self._waiting += 1
        if self._waiting > self._waiting_limit:
            # The newest one of the owner who has most of them waiting.
            crowd = max(self._lines, key=lambda each: len(self._lines[each]))
            newest = self._lines[crowd][-1]
            self._leave(crowd, newest)
            newest.set_exception(self._busy(f"{self._waiting_limit:,} wait already"))
        try:
            while not waiting.done():
                first_runs_before = self._first_runs
                await asyncio.wait([waiting], timeout=self._timeout_seconds)
                # A first run takes long because the database plans, not because of the load: wait on.
                if not (waiting.done() or first_runs_before or self._first_runs):
                    raise self._busy(f"it waited for {self._timeout_seconds:g} seconds")
            waiting.result()
        except asyncio.CancelledError:
            if waiting.done() and waiting.exception() is None:
                self._release(owner)
            raise
        finally:
            if not waiting.done():
                self._leave(owner, waiting)

    def _release(self, owner: str) -> None:
        """Give the place of an owner, and others that became free, to the owners whose turn it is."""
        self._running -= Counter([owner])
        while (following := next(filter(self._is_free, self._lines), None)) is not None:
            line = self._lines[following]
            waiting = line[0]
            self._leave(following, waiting)
            if line:
                self._lines.move_to_end(following)
            self._running[following] += 1
            waiting.set_result(None)

    def _leave(self, owner: str, waiting: Place) -> None:
        line = self._lines[owner]
        line.remove(waiting)
        self._waiting -= 1
        if not line:
            del self._lines[owner]

    def _busy(self, reason: str) -> ServiceBusy:
        message = f"too many {self._what} at once, and {reason}: try again in a moment"
        return ServiceBusy(message, places=self.places, wait_seconds=self._timeout_seconds)
