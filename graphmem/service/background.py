"""What a service does beside answering."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from graphmem.registry import Services


@contextlib.asynccontextmanager
async def background_work(services: Services, head_start: float = 0.0) -> AsyncIterator[None]:
    """Run the background work of a service: keep the database up, plan queries, run the worker.

    The worker begins after ``head_start`` seconds.
    """
    from graphmem.runtime import keep_up, warm
    from graphmem.worker import work

    async def later(task: Callable[[Services], Awaitable[None]]) -> None:
        await asyncio.sleep(head_start)
        await task(services)

    tasks = [asyncio.create_task(work) for work in (keep_up(services), warm(services), later(work))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
