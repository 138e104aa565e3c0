"""A TCP proxy before a database: on demand it refuses, cuts, stalls, crawls, and loses answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

NETWORK = (ConnectionError, OSError, asyncio.IncompleteReadError)


class Proxy:
    """Passes bytes on until a method changes that. All of it runs on one event loop."""

    def __init__(self, uri: str) -> None:
        self._target = urlsplit(uri)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._refusing = False
        self._lost: bytes | None = None
        self._refuse_then = False
        self._silent_then = False
        self._kept = 0
        self._asking = asyncio.Event()
        self._answering = asyncio.Event()
        self._never = asyncio.Event()
        self._forgotten: set[asyncio.StreamWriter] = set()
        self._delay = 0.0
        self._sip = 0
        self._late: tuple[bytes, float] | None = None
        self.connections = 0
        self.lost = 0
        """How many answers were lost so far."""

    @property
    def uri(self) -> str:
        """Where clients find it."""
        assert self._server
        port = self._server.sockets[0].getsockname()[1]
        return urlunsplit(self._target._replace(netloc=f"127.0.0.1:{port}"))

    async def start(self) -> None:
        """Listen."""
        for way in (self._flowing, self._asking, self._answering):
            way.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        assert self._server
        self.resume()
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def cut(self) -> None:
        """End every connection there is, at once."""
        for writer in list(self._open):
            writer.transport.abort()

    def refuse(self) -> None:
        """Cut, and end every new connection too: the database is down."""
        self._refusing = True
        self.cut()

    def stall(self) -> None:
        """Keep connections open and pass nothing on: the database hangs, or a packet filter drops all."""
        self._flowing.clear()

    def deafen(self) -> None:
        """Pass on what the database sends, and nothing that clients send."""
        self._asking.clear()

    def mute(self) -> None:
        """Pass on what clients send, and nothing that the database sends."""
        self._answering.clear()

    def forget(self) -> None:
        """Pass nothing on any more of the connections that there are: a router lost them; new ones work."""
        self._forgotten.update(self._open)

    def slow(self, delay: float, sip: int = 65536) -> None:
        """Wait so many seconds before passing on anything, of which only so many bytes at a time."""
        self._delay, self._sip = delay, sip

    def answer_late(self, mark: bytes, seconds: float) -> None:
        """Hold back every message that holds ``mark``: it is answered late. Other connections go on."""
        self._late = mark, seconds

    def resume(self) -> None:
        """Be an ordinary proxy again."""
        self._late = None
        self._refusing = False
        self._lost = None
        self._delay = 0.0
        for way in (self._flowing, self._asking, self._answering):
            way.set()

    def lose_the_answer_to(
        self, mark: bytes, *, keep: int = 0, and_refuse: bool = False, in_silence: bool = False
    ) -> None:
        """Pass on the next bytes that hold ``mark``; then cut that connection when the answer to it comes.

        The database has done the work, and no client hears of it.

        Args:
            keep: how many bytes of the answer come through before the cut.
            and_refuse: be down from then on.
            in_silence: keep the connection open instead, and pass nothing on.
        """
        self._lost = mark
        self._refuse_then, self._silent_then, self._kept = and_refuse, in_silence, keep

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._open.add(writer)
        self.connections += 1
        try:
            if not self._refusing:
                await self._serve(reader, writer)
        except NETWORK:
            pass
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        database_reader, database_writer = await asyncio.open_connection(
            self._target.hostname, self._target.port
        )
        marked = asyncio.Event()
        ways = [
            asyncio.create_task(self._forward(reader, writer, database_writer, marked)),
            asyncio.create_task(self._return(database_reader, writer, marked)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            database_writer.transport.abort()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        database_writer: asyncio.StreamWriter,
        marked: asyncio.Event,
    ) -> None:
        tail = b""
        while data := await reader.read(65536):
            await self._pause(writer, self._asking)
            if self._lost is not None and self._lost in tail[1 - len(self._lost) :] + data:
                self._lost = None
                marked.set()
            late = self._late
            if late and late[0] in tail[1 - len(late[0]) :] + data:
                await asyncio.sleep(late[1])
            tail = data[-200:]
            await self._pass(database_writer, data)

    async def _pause(self, writer: asyncio.StreamWriter, way: asyncio.Event) -> None:
        await self._flowing.wait()
        await way.wait()
        if writer in self._forgotten:
            await self._never.wait()

    async def _pass(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        while data:
            sip = len(data)
            if self._delay:
                sip = self._sip
                await asyncio.sleep(self._delay)
            writer.write(data[:sip])
            await writer.drain()
            data = data[sip:]

    async def _return(
        self, database_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, marked: asyncio.Event
    ) -> None:
        while data := await database_reader.read(65536):
            await self._pause(writer, self._answering)
            if marked.is_set():
                # The first bytes of an answer may come before the work is done: give it time to be durable.
                with contextlib.suppress(TimeoutError):
                    while await asyncio.wait_for(database_reader.read(65536), 0.5):
                        pass
                self.lost += 1
                if self._silent_then:
                    await self._never.wait()
                writer.write(data[: self._kept])
                await writer.drain()
                if self._refuse_then:
                    self.refuse()
                return
            await self._pass(writer, data)


@contextlib.asynccontextmanager
async def proxied(uri: str) -> AsyncIterator[Proxy]:
    """Run a proxy to a database."""
    proxy = Proxy(uri)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
