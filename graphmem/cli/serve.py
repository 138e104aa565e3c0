"""``graphmem serve`` and ``graphmem mcp``: the two ways to be called by others."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import uvicorn

from graphmem import __version__
from graphmem.cli.session import fetching, log_folder, run_async, stderr
from graphmem.errors import ConfigurationInvalid
from graphmem.observability import logs, tracing
from graphmem.observability.tracing import Tracer
from graphmem.registry import Services
from graphmem.settings import Settings

HEAD_START = 5.0
"""Seconds for which a client over stdio has the database for itself: it may ask as soon as that is up."""


class _Server(uvicorn.Server):
    """A server that says when it is ready, and leaves closing to us when it is told to stop."""

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            announce(self._settings, self.servers[0].sockets[0].getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Unlike the parent's, these do not raise the signal again once requests are done: the
        # database is still to be closed in order.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def announce(settings: Settings, port: int) -> None:
    """Say on stderr where the faces are; ``port`` is the one that was bound."""
    base = settings.advertised_url(port)
    token = "send Authorization: Bearer …" if settings.bearer_token else "none (loopback only)"
    stderr.print(f"graphmem {__version__} is ready ({settings.env})", style="bold", highlight=False)
    for name, value in (
        ("REST", base), ("MCP", f"{base}/mcp"), ("API description", f"{base}/openapi.yaml"),
        ("Readiness", f"{base}/health/ready"),
        ("Token", token), ("Data", str(settings.data_path)), ("Stop", "Ctrl-C"),
    ):  # fmt: skip
        stderr.print(f"  {name:16}{value}", highlight=False, soft_wrap=True)


def serve(settings: Settings) -> None:
    """Serve REST and MCP until told to stop; requests under way finish first.

    Raises:
        SetupError: the bind is refused, the port is taken, the data directory cannot be used, or the database
            cannot be had.
    """
    settings.check_bind()
    _check_port(settings)
    logs.configure(settings, log_folder(settings))
    with _traced() as tracer:
        run_async(_serve(settings, tracer))


async def _serve(settings: Settings, tracer: Tracer) -> None:
    from graphmem.api.app import create_app
    from graphmem.runtime import open_services

    async with open_services(settings, fetching(), tracer=tracer) as services:
        config = uvicorn.Config(
            create_app(services),
            host=settings.host,
            port=settings.service_port,
            log_config=None,
            access_log=False,
            # No right comes from an address, so no header may set one.
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=int(settings.shutdown_seconds),
            timeout_keep_alive=75,
        )
        async with _tended(services):
            await _Server(config, settings).serve()


@contextlib.asynccontextmanager
async def _tended(services: Services, head_start: float = 0.0) -> AsyncIterator[None]:
    """Do meanwhile what every service does unasked: keep its database up, plan queries, do what waits.

    What makes the database busy begins ``head_start`` seconds later.
    """
    from graphmem.runtime import keep_up, warm
    from graphmem.worker import work

    async def later(task: Callable[[Services], Awaitable[None]]) -> None:
        await asyncio.sleep(head_start)
        await task(services)

    beside = [asyncio.create_task(one) for one in (keep_up(services), later(warm), later(work))]
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


def _check_port(settings: Settings) -> None:
    port = settings.service_port
    try:
        family, kind, proto, _, address = socket.getaddrinfo(settings.host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as exc:
        raise ConfigurationInvalid(
            f"{settings.authority()} cannot be bound ({exc.strerror or exc}): another program may be there; "
            "choose another with --port",
            setting="GRAPHMEM_PORT",
        ) from exc


def serve_stdio(settings: Settings) -> None:
    """Serve MCP over stdin and stdout until stdin closes.

    Raises:
        SetupError: the data directory cannot be used, or the database cannot be had.
    """
    logs.configure(settings, log_folder(settings), console_level="error")

    async def run(tracer: Tracer) -> None:
        from graphmem.auth import local_actor
        from graphmem.mcp.stdio import serve as serve_mcp
        from graphmem.runtime import open_services

        async with open_services(settings, tracer=tracer) as services, _tended(services, HEAD_START):
            await serve_mcp(services, local_actor("mcp"))

    with _traced() as tracer:
        run_async(run(tracer))


@contextlib.contextmanager
def _traced() -> Iterator[Tracer]:
    """Yield what makes spans, as the environment says."""
    tracer = tracing.start()
    try:
        yield tracer
    finally:
        tracer.close()
