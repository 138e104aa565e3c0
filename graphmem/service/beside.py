"""The socket of a data directory beside TCP: commands then call the running `graphmem serve`."""

import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Services
from graphmem.errors import DataDirectoryRefused, GraphmemError, InternalError
from graphmem.observability.logs import new_trace_id
from graphmem.service import calling
from graphmem.service.front import Front, create_local_app
from graphmem.service.listening import SocketServer, bind
from graphmem.service.place import lock, make_folder, place
from graphmem.settings import Settings

TRIES_LIMIT = 5  # times that local services are stopped: commands may start another one at the same moment


def take_socket(
    settings: Settings, tell: Callable[[str], None], *, detached: bool = False
) -> socket.socket | None:
    """Bind the socket of the data directory; None if another `graphmem serve` has it, or nobody can.

    This process has the lock until it ends. A local service that runs is stopped, after its running requests.
    ``tell`` gets what is done or left out. ``detached``: `graphmem server stop` may stop this process.
    """
    if sys.platform == "win32":
        return None
    where = place(settings)
    try:
        make_folder(where)
        path = where.socket()
        for _ in range(TRIES_LIMIT):
            handle = lock(where)
            if handle is not None:
                try:
                    return bind(path, handle, serves=settings.authority(), detached=detached)
                except OSError:
                    # Callers would wait for the socket of whoever has the lock.
                    os.close(handle)
                    raise
            record = where.record()
            if "serves" in record:
                tell(f"commands go on calling `graphmem serve` at {record['serves']}, which has the socket")
                return None
            tell(f"the local service (process {record.get('pid')}) is stopped: this one takes its place")
            calling.stop(settings)
    except (DataDirectoryRefused, OSError) as exc:
        tell(f"commands cannot call this service, because it has no socket: {exc}")
    return None


@contextlib.asynccontextmanager
async def answering(
    settings: Settings, listening: socket.socket | None
) -> AsyncIterator[SocketServer | None]:
    """Answer callers on the socket: they wait until the services are opened, and are told of a fault."""
    if listening is None:
        yield None
        return
    path = Path(listening.getsockname())
    front = Front(settings, path, settings.authority())
    front.doing = "starting the database"
    server = SocketServer(settings, front, path, listening)
    try:
        yield server
    except Exception as exc:
        if not front.is_ready:
            front.fail(exc if isinstance(exc, GraphmemError) else InternalError(), new_trace_id())
        raise
    finally:
        await server.end()


@contextlib.asynccontextmanager
async def opened(server: SocketServer | None, services: Services) -> AsyncIterator[None]:
    """Let the requests on the socket through to the services. At the end the running ones finish."""
    if server is None:
        yield
        return
    app = create_local_app(services)
    async with app.router.lifespan_context(app):
        server.front.doing = ""
        server.front.ready(app)
        try:
            yield
        finally:
            services.of(ChangeFeed).end()
            await server.end()
