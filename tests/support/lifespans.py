"""Applications of a test whose lifespan has begun: their MCP is served, and ends with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.event_loop import Loop


@contextmanager
def lifespan(loop: Loop, app: Any) -> Iterator[None]:
    """Begin the lifespan of an application, and end it after the block."""
    ended, started = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            started.set()
            await ended.wait()

    async def start() -> asyncio.Task[None]:
        task = asyncio.create_task(live())
        await started.wait()
        return task

    async def end() -> None:
        ended.set()
        await task

    task = loop.run(start())
    yield
    loop.run(end())
