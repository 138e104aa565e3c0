"""How long a credential that has ended is still taken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


async def seconds_until_refused(status: Callable[[], Awaitable[int]], limit: float) -> float:
    """Return after how many seconds the last request was sent that was not answered with 401.

    How long an answer takes says nothing of it.

    Args:
        status: sends a request and returns the status of its answer.
        limit: for how many seconds requests are sent at most.
    """
    begin = sent = time.monotonic()
    last = 0.0
    while await status() != 401:
        last = sent - begin
        assert last < limit
        await asyncio.sleep(0.1)
        sent = time.monotonic()
    return last
