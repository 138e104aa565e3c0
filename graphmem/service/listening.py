"""The server of a local service's socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graphmem.errors import InvalidInput
from graphmem.observability.logs import new_trace_id
from graphmem.service import wire
from graphmem.service.front import Front
from graphmem.service.place import write_record
from graphmem.settings import Settings

DRAIN_SECONDS = 0.2
"""Seconds between the removal of the socket and the end, for callers that had connected before."""

BACKLOG = 512
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


class EnvelopeProtocol(HttpToolsProtocol):
    """Answers in the envelope also what is no valid HTTP, or has an address too long to be read."""

    def send_400_response(self, msg: str) -> None:
        """Answer, and close the connection."""
        error = InvalidInput(
            f"the request is no valid HTTP, or its address is longer than {ADDRESS_BYTES_LIMIT:,} bytes: "
            "send long arguments in the body of a POST"
        )
        body = orjson.dumps(error.envelope(new_trace_id())).decode()
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self.transport.write(f"{head}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}".encode())
        self.transport.close()


def server_config(settings: Settings, app: Any, **more: Any) -> uvicorn.Config:
    """Return how an application is served. No right depends on an address, so no header needs to set one."""
    return uvicorn.Config(
        app,
        http=EnvelopeProtocol,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        **more,
    )


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
