"""What a service does beside answering."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphmem.registry import Services


@contextlib.asynccontextmanager
async def background_work(services: Services, head_start: float = 0.0) -> AsyncIterator[None]:
    """Run the background work of a service: keep the database up, plan queries, run the worker.

    The worker begins once the first queries are planned, and not before ``head_start`` seconds: its own
    statements would be planned beside those that the first caller waits for.
    """
    from graphmem.runtime import keep_up, warm
    from graphmem.worker import work

    planned = services.database.planning.planned
    planned.clear()

    async def work_later() -> None:
        await asyncio.sleep(head_start)
        await planned.wait()
        await work(services)

    tasks = [asyncio.create_task(each) for each in (keep_up(services), warm(services), work_later())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
