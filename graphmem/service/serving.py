"""What a local service opens: traces, the database, the HTTP application, the background work."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from graphmem.observability import tracing
from graphmem.runtime import REMOTE_START_SECONDS, open_services
from graphmem.service.background import background_work
from graphmem.service.front import Front, create_local_app
from graphmem.settings import Settings


@contextlib.asynccontextmanager
async def opened(settings: Settings, front: Front) -> AsyncIterator[Any]:
    """Open the service and yield the ASGI application of its socket.

    Raises:
        SetupError: the data directory or the database cannot be used.
        DatabaseUnavailable: the database at ``NEO4J_URI`` does not answer.
    """

    def waiting(line: str) -> None:
        front.doing = line

    front.doing = "starting the database"
    tracer = tracing.start()
    try:
        async with open_services(
            settings, front.fetching, tracer=tracer, remote_seconds=REMOTE_START_SECONDS, waiting=waiting
        ) as services:
            app = create_local_app(services)
            front.doing = "planning the first statements"
            # The other first statements are planned while the first caller is served.
            await services.database.planning.plan_stores()
            async with app.router.lifespan_context(app), background_work(services):
                yield app
    finally:
        tracer.close()
