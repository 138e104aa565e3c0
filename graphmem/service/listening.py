"""The server of a local service's socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path
from typing import Any

import uvicorn

from graphmem.service.front import Front
from graphmem.service.place import write_record
from graphmem.settings import Settings

DRAIN_SECONDS = 0.2
"""Seconds between the removal of the socket and the end, for callers that had connected before."""

BACKLOG = 512


def bind(path: Path, handle: int, **more: str) -> socket.socket:
    """Return a socket that listens at ``path``, mode 0600. A socket of an earlier service is replaced.

    The locked file ``handle`` gets the record of this process, with what ``more`` it tells.
    """
    record = {"pid": os.getpid(), **more}
    write_record(handle, record)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(BACKLOG)
    write_record(handle, {**record, "socket": str(path)})
    return listening


def server_config(settings: Settings, app: Any, **more: Any) -> uvicorn.Config:
    """Return how an application is served. No right depends on an address, so no header needs to set one."""
    return uvicorn.Config(
        app,
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
