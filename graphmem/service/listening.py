"""The server of a local service's socket."""

import asyncio
import contextlib
import os
import secrets
import socket
from collections import Counter
from collections.abc import Collection
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graphmem.errors import GraphmemError, InvalidInput, ServiceBusy
from graphmem.observability.logs import new_trace_id
from graphmem.service import wire
from graphmem.service.front import Front
from graphmem.service.place import write_record
from graphmem.settings import Settings

DRAIN_SECONDS = 0.2
"""Seconds between the removal of the socket and the end, for callers that had connected before."""

BACKLOG = 512
HEADER_SECONDS: Final = 20.0
"""Seconds for the headers of a request, from the connection or from their first byte on."""
CONNECTIONS_LIMIT: Final = 1_000  # connections of one address at once
ADDRESS_BYTES_LIMIT = 65_535
"""Bytes of the path and the query string of a request that the parser of HTTP reads."""


def bind(path: Path, handle: int, **more: str | bool) -> socket.socket:
    """Return a socket that listens at ``path``, mode 0600. A socket of an earlier service is replaced.

    Beside it lies its secret, which callers of an earlier service go on using.

    The locked file ``handle`` gets the record of this process, with what ``more`` it tells.
    """
    record = {"pid": os.getpid(), **more}
    write_record(handle, record)
    path.unlink(missing_ok=True)
    if not wire.secret_headers(path):
        from graphmem.neo4j_local.private_files import write_private

        write_private(wire.secret_file(path), secrets.token_urlsafe(32))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(BACKLOG)
    write_record(handle, {**record, "socket": str(path)})
    return listening


class BoundedProtocol(HttpToolsProtocol):
    """Limits the time of headers and the connections of an address; answers in the envelope what it refuses.
    What is no valid HTTP, or has an address too long to be read, is refused here too."""

    _open: ClassVar[Counter[str]] = Counter()

    def __init__(self, *args: Any, unlimited: Collection[str] = (), **kwargs: Any) -> None:
        """``unlimited``: addresses of proxies, whose connections are those of many."""
        super().__init__(*args, **kwargs)
        self._unlimited = unlimited
        self._address = ""
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait_for_headers()
        if self.client is not None and self.client[0] not in self._unlimited:
            self._address = self.client[0]
            self._open[self._address] += 1
            if self._open[self._address] > CONNECTIONS_LIMIT:
                self._refuse(503, ServiceBusy(
                    f"this address has {CONNECTIONS_LIMIT:,} connections: close some. Of a proxy, name the "
                    "address in GRAPHMEM_TRUSTED_PROXIES"
                ))  # fmt: skip

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()
        if self._address:
            self._open[self._address] -= 1
            if not self._open[self._address]:
                del self._open[self._address]

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, InvalidInput(
            f"the request is no valid HTTP, or its address is longer than {ADDRESS_BYTES_LIMIT:,} bytes: "
            "send long arguments in the body of a POST"
        ))  # fmt: skip

    def _wait_for_headers(self) -> None:
        self._stop_waiting()
        late = f"the headers of a request came in no {HEADER_SECONDS:g} seconds: send them at once"
        self._waiting = self.loop.call_later(HEADER_SECONDS, lambda: self._refuse(408, InvalidInput(late)))

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    def _refuse(self, status: int, error: GraphmemError) -> None:
        body = orjson.dumps(error.envelope(new_trace_id()))
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def server_config(settings: Settings, app: Any, **more: Any) -> uvicorn.Config:
    """Return how an application is served. No right depends on an address, so no header needs to set one."""
    return uvicorn.Config(
        app, http=cast("Any", partial(BoundedProtocol, unlimited=frozenset(settings.trusted_proxies))),
        log_config=None, access_log=False, proxy_headers=False, server_header=False,
        timeout_graceful_shutdown=int(settings.shutdown_seconds), **more,
    )  # fmt: skip


class SocketServer:
    """Serves a front on a bound socket from its construction, in the running loop, until :meth:`end`."""

    def __init__(self, settings: Settings, front: Front, path: Path, listening: socket.socket) -> None:
        self.front = front
        self._path = path
        self._server = uvicorn.Server(server_config(settings, front, lifespan="off"))
        # The process handles the signals itself.
        self._server.capture_signals = contextlib.nullcontext  # pyright: ignore[reportAttributeAccessIssue]
        self._serving = asyncio.create_task(self._server.serve([listening]))

    async def end(self) -> None:
        """Remove the socket, and return once the running requests have finished. Twice is as good as once."""
        if self._serving.done():
            return
        # No new caller finds the service; those that found it are served.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        await asyncio.sleep(DRAIN_SECONDS)
        self._server.should_exit = True
        await self._serving
