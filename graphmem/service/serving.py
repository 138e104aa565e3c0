"""What a local service opens: traces, the database, the HTTP application, the background work."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from typing import Any

import structlog

from graphmem import neo4j_local
from graphmem.context import Services
from graphmem.database.availability import needs_restart
from graphmem.errors import GraphmemError, SetupError
from graphmem.observability import tracing
from graphmem.runtime import REMOTE_START_SECONDS, connection, open_services, warm
from graphmem.service.front import Front, create_local_app
from graphmem.settings import Settings
from graphmem.worker import work

_log = structlog.get_logger("graphmem.service")

WATCH_SECONDS = 1.0  # seconds between two checks of a service whether its embedded database answers

RESTART_FREE_BYTES = 64_000_000
"""Bytes that must be free on the disk before a database that stopped working is restarted."""


async def keep_up(services: Services) -> None:
    """Restart the embedded database whenever it does not answer, as long as a service runs.

    The server keeps its ports, so connections come back by themselves. A server whose database has stopped,
    as after a full disk, does not recover: it is stopped first. A server that was stopped on purpose stays
    down. A database at ``NEO4J_URI`` is never started or stopped here.
    """
    settings = services.settings
    crashed_pid: int | None = None
    left = False
    while settings.neo4j_uri is None:
        await asyncio.sleep(WATCH_SECONDS)
        was, left = left, neo4j_local.stopped(settings)
        if left:
            if not was:
                _log.warning("the embedded Neo4j was stopped on purpose: `graphmem db start` starts it")
            continue
        try:
            crashed_pid = await ensure_database_running(services, crashed_pid)
        except Exception:
            _log.exception("unexpected fault in keeping the embedded Neo4j up: it is tried again")


async def ensure_database_running(services: Services, crashed_pid: int | None) -> int | None:
    """Restart the embedded database if it does not answer. ``crashed_pid``: a hung server to stop first.
    Returns the pid that still has to be stopped, or None."""
    settings = services.settings
    try:
        await services.database.verify()
        return None
    except GraphmemError as exc:
        if needs_restart(exc):
            crashed_pid = neo4j_local.running(settings)
    if crashed_pid and shutil.disk_usage(settings.data_path).free < RESTART_FREE_BYTES:
        _log.warning(
            "the embedded Neo4j has stopped working, and its disk is too full to restart it: free some space"
        )
        return crashed_pid
    _log.warning("the embedded Neo4j does not answer: starting it again", crashed_pid=crashed_pid)
    try:
        if crashed_pid:
            await asyncio.to_thread(neo4j_local.stop, settings, only=crashed_pid)
        await connection(settings, requested=False)
        await services.database.planning.plan_first()
    except SetupError as failed:
        _log.error("the embedded Neo4j cannot be started", reason=str(failed)[:500])
        # A server that does not come up after its predecessor was stopped is stopped as well.
        return crashed_pid and neo4j_local.running(settings)
    return crashed_pid


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
async def background_work(services: Services) -> AsyncIterator[None]:
    """Keep the database up, plan queries, and run the worker. The worker begins once the first queries are
    planned: its own statements would be planned beside those that the first caller waits for."""
    planned = services.database.planning.planned
    planned.clear()

    async def work_later() -> None:
        await planned.wait()
        await work(services)

    tasks = [asyncio.create_task(each) for each in (keep_up(services), warm(services), work_later())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
