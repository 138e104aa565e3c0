"""Turns: callers that want more than the process can give at once share it by the account.

All requests of a process run in one thread. If one account sends many at once, a request of another account
would wait at each of its steps for all of them. So while several accounts are present, each has a share of
the requests that run, and the others of its requests wait here, first come, first served. An account that is
alone has the whole process.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

PLACES: Final = 8
"""Requests that run at once while several accounts are present."""
PLACES_MIN: Final = 2
"""Requests of each account that run at once, however many accounts are present."""
PRESENCE_SECONDS: Final = 1.0
"""Seconds for which an account is present after the start of its last request."""


@dataclass(slots=True)
class _Line:
    """The requests of one account: how many run, and those that wait."""

    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque[asyncio.Future[None]])
    seen: float = 0.0


class Turns:
    """The requests that run in one process, and those that wait for their turn."""

    def __init__(self, places: int = PLACES, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._clock = clock
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[None]:
        """Wait until a request of the account may run, and hold its place for the block."""
        line = self._present(account)
        if line.waiting or line.running >= self._share():
            await self._wait(line)
        else:
            line.running += 1
        try:
            yield
        finally:
            line.running -= 1
            self._call(line)

    def _present(self, account: str) -> _Line:
        """Return the line of an account, and forget the accounts that are not present any more."""
        now = self._clock()
        line = self._lines.setdefault(account, _Line())
        line.seen = now
        self._lines.move_to_end(account)
        for name, other in list(self._lines.items()):
            if other.seen > now - PRESENCE_SECONDS:
                break
            if not other.running:
                del self._lines[name]
        return line

    def _share(self) -> float:
        """Return how many requests of one account may run at once."""
        present = len(self._lines)
        return max(PLACES_MIN, self._places // present) if present > 1 else float("inf")

    async def _wait(self, line: _Line) -> None:
        called = asyncio.get_running_loop().create_future()
        line.waiting.append(called)
        try:
            await called
        except asyncio.CancelledError:
            if not called.cancelled():
                # It was called, and cancelled before it ran: the next one has its place.
                line.running -= 1
                self._call(line)
            elif called in line.waiting:
                line.waiting.remove(called)
            raise

    def _call(self, line: _Line) -> None:
        """Let the first requests that wait run, as far as the account's share goes."""
        share = self._share()
        while line.waiting and line.running < share:
            called = line.waiting.popleft()
            if not called.cancelled():
                line.running += 1
                called.set_result(None)
