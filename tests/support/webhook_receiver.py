"""A receiver of webhooks at loopback: a real HTTPS server that fails, hangs and comes back."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from standardwebhooks import Webhook

from graphmem.auth.guarded_fetch import Fetcher
from tests.support.fetches import Resolver
from tests.support.tls_server import Authority, TlsServer

HOST = "hooks.example.org"
URL = f"https://{HOST}/graphmem"
PUBLIC = "93.184.216.34"
TIMEOUT_SECONDS = 2.0


class Received(NamedTuple):
    """A request: its headers by lower-case names, and its body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def event_id(self) -> str:
        return self.message["event"]["event_id"]

    def is_signed_with(self, secret: str) -> bool:
        """Return whether the library finds the signature right."""
        assert self.headers["webhook-id"] == self.event_id
        return Webhook(secret).verify(self.body, self.headers) == self.message


@dataclass
class Receiver(TlsServer):
    """What a receiver got, and what it accepted.

    ``outcomes`` are those of the next requests: a status, or 0 for no answer; then all are 204. Requests to
    a path of ``hanging`` are never answered.
    """

    got: list[Received] = field(default_factory=list)
    accepted: list[Received] = field(default_factory=list)
    outcomes: deque[int] = field(default_factory=deque)
    hanging: set[str] = field(default_factory=set)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = [line.partition(": ") for line in lines if line]
            headers = {name.lower(): value for name, _, value in fields}
            body = await reader.readexactly(int(headers["content-length"]))
            received = Received(first.split(" ")[1], headers, body)
            self.got.append(received)
            outcome = self.outcomes.popleft() if self.outcomes else 204
            if received.path in self.hanging or not outcome:
                await self.released.wait()
            elif outcome == 204:
                self.accepted.append(received)
            writer.write(f"HTTP/1.1 {outcome} X\r\nContent-Length: 0\r\nLocation: {URL}\r\n\r\n".encode())
            await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async def start(self, authority: Authority) -> asyncio.Server:
        """Listen at loopback."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=authority.server_context(HOST))
        self.port = server.sockets[0].getsockname()[1]
        return server

    def fetcher(self, authority: Authority, *addresses: str) -> Fetcher:
        """Return the guarded fetch as it is, but for where its connections end."""
        return Fetcher(
            resolve=Resolver([*addresses] or [PUBLIC]),
            connections=self.connections(authority.client_context()),
            seconds=TIMEOUT_SECONDS,
        )
