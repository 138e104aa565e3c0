"""``graphmem serve``."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import structlog
import uvicorn

from graphmem import __version__, neo4j_local
from graphmem.auth.credentials import Guard
from graphmem.changes.change_feed import ChangeFeed
from graphmem.cli.session import fetching, run_async, stderr, tell_progress
from graphmem.errors import ConfigurationInvalid, Unavailable
from graphmem.observability import logs, tracing
from graphmem.observability.tracing import Tracer
from graphmem.service import beside, calling
from graphmem.service.listening import server_config
from graphmem.service.place import is_locked, place
from graphmem.settings import Settings

DETACHED = [sys.executable, "-P", "-m", "graphmem", "serve", "--detached"]
"""The process that serves in the background."""


class _RestServer(uvicorn.Server):
    """A server that tells that it is bound and ``planned``, and that does not raise its signal again."""

    def __init__(
        self, config: uvicorn.Config, settings: Settings, planned: asyncio.Event, guard: Guard,
        end_streams: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(config)
        self._settings = settings
        self._planned = planned
        self._guard = guard
        self._end_streams = end_streams
        self._announcing: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Whoever collects lines of JSON reads nothing else.
        if self.started and not self._settings.log_json:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._announcing = asyncio.create_task(self._announce(port))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams of changes would last: their clients come again.
        self._end_streams()
        await super().shutdown(sockets)

    async def _announce(self, port: int) -> None:
        await self._planned.wait()
        is_open = self._settings.may_be_open
        with contextlib.suppress(Unavailable):
            is_open = await self._guard.is_open(self._settings)
        base = self._settings.advertised_url(port)
        token = "none (loopback only)" if is_open else "send Authorization: Bearer …"
        if self._settings.sandbox:
            token = "none: a public sandbox, wiped every Sunday at 00:00 UTC"
        stderr.print(f"graphmem {__version__} is ready ({self._settings.env})", style="bold", highlight=False)
        for name, value in (
            ("REST", base), ("MCP", f"{base}/mcp"), ("API description", f"{base}/openapi.yaml"),
            ("Readiness", f"{base}/health/ready"),
            ("Token", token), ("Data", str(self._settings.data_path)), ("Stop", "Ctrl-C"),
        ):  # fmt: skip
            stderr.print(f"  {name:16}{value}", highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The parent raises the signal again after the last request; the database would stay open.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def serve(settings: Settings, *, detached: bool = False) -> None:
    """Serve REST and MCP until a signal to stop. Running requests finish first.

    Commands of the same data directory call this service. A local service that runs there is stopped first.
    ``detached``: `graphmem server stop` may stop it.
    """
    with _bound(settings) as listening:
        sockets = [listening] if settings.service_port == 0 else None
        if sockets:
            # Whatever names the address names the port that the system chose.
            settings = settings.model_copy(update={"port": listening.getsockname()[1]})
        else:
            # The server binds all addresses of the host itself.
            listening.close()
        # In the background nobody reads the console: its file would grow beside that of the log.
        logs.configure(settings, logs.folder(settings), console_level="error" if detached else None)
        # Whoever collects lines of JSON reads nothing else: progress is logged there.
        tell = structlog.get_logger("graphmem.serve").info if settings.log_json else tell_progress
        bound = beside.take_socket(settings, tell, detached=detached)
        if detached and bound is None:
            # Nobody would learn that it is ready, and `graphmem server stop` would not find it.
            raise ConfigurationInvalid("a service in the background needs the socket of its data directory")
        if settings.neo4j_uri is None:
            # The database starts while this process imports what it serves.
            neo4j_local.launch(settings, None if settings.log_json else fetching())
        with contextlib.closing(tracing.start()) as tracer:
            run_async(_serve(settings, tracer, bound, sockets))


def serve_detached(settings: Settings) -> dict[str, Any]:
    """Start a service in the background; return its address, process and log once it answers.

    Raises:
        ConfigurationInvalid: another `graphmem serve` has the data directory, or another program the port.
        GraphmemError: what keeps it from starting.
    """
    where = place(settings)
    record = where.record()
    if "serves" in record and is_locked(where):
        way = ", with `graphmem server stop`" if record.get("detached") else ""
        raise ConfigurationInvalid(
            f"`graphmem serve` (process {record['pid']}) of {settings.data_path} answers at "
            f"{record['serves']}: stop it first{way}"
        )
    with _bound(settings):
        # What keeps the port from being bound is told here, and not in the log of the other process.
        pass
    child = calling.spawn(settings, where, DETACHED)

    def answers(greeting: calling.Greeting) -> bool:
        connection = http.client.HTTPConnection(settings.near_host, _port(greeting), timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == 200
        return False

    address = settings.advertised_url(_port(calling.wait_until_ready(where, child, answers, tell_progress)))
    log = str(settings.data_path / "logs" / logs.FILE)
    return {"address": address, "pid": child.pid, "log": log, "stop": "graphmem server stop"}


def _port(greeting: calling.Greeting) -> int:
    return int(greeting["serves"].rpartition(":")[2])


async def _serve(
    settings: Settings, tracer: Tracer, bound: socket.socket | None, sockets: list[socket.socket] | None
) -> None:
    from graphmem.api.app import create_app
    from graphmem.auth.accounts import Accounts
    from graphmem.runtime import REMOTE_START_SECONDS, open_services
    from graphmem.service.serving import background_work

    # What is not told here is logged.
    progress: dict[str, Any] = {} if settings.log_json else {"progress": fetching(), "waiting": tell_progress}
    async with (
        beside.answering(settings, bound) as socket_server,
        open_services(settings, tracer=tracer, remote_seconds=REMOTE_START_SECONDS, **progress) as services,
    ):
        # Those of a sealed instance have its token.
        settings = services.settings
        if not settings.is_local_only and settings.bearer_token is None:
            settings.check_bind(guarded=await Accounts(services.database).are_guarded())
        where = {"host": settings.host, "port": settings.service_port}
        config = server_config(settings, create_app(services), **where, timeout_keep_alive=75)
        async with background_work(services), beside.opened(socket_server, services):
            planned, end_feed = services.database.planning.planned, services.of(ChangeFeed).end
            await _RestServer(config, settings, planned, services.guard, end_feed).serve(sockets)


@contextlib.contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """Yield a socket that is bound to the first address of the host, and close it at the end."""
    # Before a service that runs is stopped.
    settings.check_token()
    if settings.neo4j_uri is None and not (neo4j_local.exists(settings) or settings.keys_path.exists()):
        # A new database has no account with a password or a key, and none is made only to refuse it.
        settings.check_bind()
    with contextlib.ExitStack() as sockets:
        try:
            addresses = socket.getaddrinfo(settings.host, settings.service_port, type=socket.SOCK_STREAM)
            listening = sockets.enter_context(socket.socket(*addresses[0][:3]))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(addresses[0][4])
        except OSError as exc:
            raise ConfigurationInvalid(
                f"{settings.authority()} cannot be bound ({exc.strerror or exc}): another program may use "
                "it; choose another port with --port",
                setting="GRAPHMEM_PORT",
            ) from exc
        yield listening
