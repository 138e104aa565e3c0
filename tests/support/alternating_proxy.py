"""An HTTP proxy before several services: each request goes to the next one, whoever sends it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

_CONNECTION = re.compile(rb"\r\nconnection:[^\r\n]*", re.IGNORECASE)


class AlternatingProxy:
    """What the proxy passed on.

    Attributes:
        port: where the proxy listens.
        requests: of each request the number of its service, its method and its path without the query.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = itertools.cycle(enumerate(ports))
        self.port = 0
        self.requests: list[tuple[int, str, str]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def services_of(self, *paths: str) -> list[int]:
        """Return the numbers of the services that answered requests of some paths, in their order."""
        return [number for number, _, path in self.requests if path in paths]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one request on, and close the connection after its answer."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # A browser opens connections ahead and may send nothing.
            head = await reader.readuntil(b"\r\n\r\n")
            number, port = next(self._ports)
            method, target, _ = head.split(b" ", 2)
            self.requests.append((number, method.decode(), target.decode().partition("?")[0]))
            there, back = await asyncio.open_connection("127.0.0.1", port)
            try:
                back.write(_CONNECTION.sub(b"", head)[:-2] + b"Connection: close\r\n\r\n")
                body = asyncio.create_task(_copy(reader, back))
                await _copy(there, writer)
                body.cancel()
            finally:
                back.close()
        except (OSError, EOFError):
            pass
        finally:
            self._tasks.remove(task)
            writer.close()

    async def close(self) -> None:
        """End the connections that have sent nothing, or wait for an answer."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def alternating_proxy(ports: Sequence[int], port: int) -> AsyncIterator[AlternatingProxy]:
    """Serve at a port until the block ends."""
    proxy = AlternatingProxy(ports)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", port)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.close()
