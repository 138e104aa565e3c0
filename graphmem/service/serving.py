"""What a local service opens: traces, the database, the HTTP application, the background work."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from graphmem.context import Services
from graphmem.observability import tracing
from graphmem.runtime import REMOTE_START_SECONDS, open_services, warm
from graphmem.service.front import Front, create_local_app
from graphmem.service.neo4j_restarts import keep_up
from graphmem.settings import Settings
from graphmem.worker import work


@contextlib.asynccontextmanager
async def opened(settings: Settings, front: Front) -> AsyncIterator[Any]:
    """Open the service, and yield the ASGI application of its socket; raise what ``open_services`` raises."""

    def waiting(line: str) -> None:
        front.doing = line

    front.doing = "starting the database"
    with contextlib.closing(tracing.start()) as tracer:
        async with open_services(
            settings, front.fetching, tracer=tracer, remote_seconds=REMOTE_START_SECONDS, waiting=waiting
        ) as services:
            app = create_local_app(services)
            front.doing = "planning the first statements"
            # The other first statements are planned while the first caller is served.
            await services.database.planning.plan_stores()
            async with app.router.lifespan_context(app), background_work(services):
                yield app


@contextlib.asynccontextmanager
async def background_work(services: Services, head_start: float = 0.0) -> AsyncIterator[None]:
    """Keep the database up, plan queries, and run the worker.

    The worker begins once the first queries are planned, and not before ``head_start`` seconds: its own
    statements would be planned beside those that the first caller waits for.
    """
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
