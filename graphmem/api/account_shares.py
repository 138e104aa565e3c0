"""Turns: callers that want more than the process can give at once share it by the account.

All requests of a process run in one thread. If one account sends many at once, a request of another account
would wait at each of its steps for all of them. So while several accounts are present, each has a share of
the requests that run, and the others of its requests wait here, first come, first served. An account that is
alone has the whole process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from graphmem.database.admission import Admission

PLACES: Final = 8
"""Requests that run at once while several accounts are present."""
PLACES_MIN: Final = 2
"""Requests of each account that run at once, however many accounts are present."""
PRESENCE_SECONDS: Final = 1.0
"""Seconds for which an account is present after the start of its last request."""


class Turns(Admission):
    """The requests that run in one process, and those that wait for their turn, however long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(PLACES, math.inf, math.inf)
        self._clock = clock
        self._seen: dict[str, float] = {}
        """When the last request of each account that is present began, the earliest first."""

    def turn(self, account: str) -> AbstractAsyncContextManager[None]:
        """Wait until a request of the account may run, and hold its place for the block."""
        now = self._clock()
        self._seen.pop(account, None)
        self._seen[account] = now
        for name, seen in list(self._seen.items()):
            if seen > now - PRESENCE_SECONDS:
                break
            if not self._running[name]:
                del self._seen[name]
        return self.place(account)

    def _is_free(self, owner: str) -> bool:
        present = len(self._seen)
        return present < 2 or self._running[owner] < max(PLACES_MIN, PLACES // present)
