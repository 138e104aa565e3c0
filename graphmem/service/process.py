"""The process of a local service: lock, socket, start of the database, end.

It listens before it imports the rest, so that callers learn within moments that it starts and what for.
"""

import asyncio
import contextlib
import importlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from graphmem import settings as graphmem_settings
from graphmem.changes.change_feed import ChangeFeed
from graphmem.errors import GraphmemError, InternalError, ServiceBusy
from graphmem.observability import logs
from graphmem.observability.logs import new_trace_id
from graphmem.service.calling import HELD_EXIT_CODE
from graphmem.service.front import Front
from graphmem.service.listening import SocketServer, bind
from graphmem.service.place import lock, make_folder, place, sessions, write_record
from graphmem.settings import Settings

SESSION_SECONDS = 30.0  # seconds between two looks of an idle service whether a session is still open
FAILURE_SECONDS = 10.0  # seconds for which a service that cannot start waits for a caller to read why


def main() -> None:
    """Run the local service of the environment's settings until it is idle for long, or told to stop."""
    os.umask(0o077)
    settings = graphmem_settings.load()
    where = place(settings)
    make_folder(where)
    handle = lock(where)
    if handle is None:
        sys.exit(HELD_EXIT_CODE)
    path = where.socket()
    listening = bind(path, handle)
    import uvloop

    if uvloop.run(_run(settings, path, listening)):
        # Without a socket in the record, hooks of agents do not start it again.
        write_record(handle, {"pid": os.getpid()})


async def _run(settings: Settings, path: Path, listening: socket.socket) -> bool:
    """Return whether a command has stopped the service."""
    front = Front(settings, path)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, front.stopped.set)
    server = SocketServer(settings, front, path, listening)
    living = asyncio.create_task(_live(settings, front, server.end))
    stopping = asyncio.create_task(front.stopped.wait())
    await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not front.is_ready and not living.done():
        front.fail(ServiceBusy("the local service is stopping: try again"), new_trace_id())
        await server.end()
        # The thread that starts the database would be waited for. A start survives the death of its starter.
        os._exit(0)
    await living
    return front.is_asked_to_stop


async def _live(settings: Settings, front: Front, end: Callable[[], Awaitable[None]]) -> None:
    """Open the database, serve until the end, finish the running requests, close.

    A database that it started and that nobody asked for anything is stopped with it: an agent that checks its
    programs starts `graphmem mcp`, and ends it.
    """
    local, is_own, is_idle = None, False, False
    try:
        # The imports take seconds on a busy machine. Neo4j starts and the greeting is answered meanwhile.
        await asyncio.to_thread(
            lambda: logs.configure(settings, logs.folder(settings), console_level="error")
        )
        if settings.neo4j_uri is None:
            front.doing = "starting the database"
            local = await asyncio.to_thread(importlib.import_module, "graphmem.neo4j_local")
            # Its process starts, and nobody waits until it answers.
            is_own = await asyncio.to_thread(local.launch, settings, front.fetching)
        serving = await asyncio.to_thread(importlib.import_module, "graphmem.service.serving")
        async with serving.opened(settings, front) as app:
            front.doing = ""
            front.ready(app)
            is_idle = await _until_end(settings, front)
            app.state.services.of(ChangeFeed).end()
            await end()
        if local is not None and is_own and is_idle and not front.was_used:
            await asyncio.to_thread(local.stop, settings)
    except Exception as exc:
        if front.is_ready:
            raise
        await _fail(front, exc)
        await end()


async def _fail(front: Front, exc: Exception) -> None:
    """Answer callers with a failure until one has read it, then end."""
    trace_id = new_trace_id()
    log = structlog.get_logger("graphmem.service")
    if isinstance(exc, GraphmemError):
        log.error("the local service cannot start", reason=str(exc)[:500], trace_id=trace_id)
    else:
        log.error("unexpected fault", exc_info=exc, trace_id=trace_id)
        exc = InternalError()
    front.fail(exc, trace_id)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(front.failure_read.wait(), FAILURE_SECONDS)


async def _until_end(settings: Settings, front: Front) -> bool:
    """Return once the service is told to stop; ``True``: it is long idle, and no session of MCP is open."""
    limit = settings.service_idle_seconds
    while not front.stopped.is_set():
        left = limit - front.idle_seconds if limit else None
        if left is not None and left <= 0:
            if lock(sessions(place(settings))) is not None:
                return True
            left = min(limit, SESSION_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(front.stopped.wait(), left)
    return False
