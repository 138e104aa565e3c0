"""Services whose database goes away, hangs, or does not acknowledge."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import Unavailable
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.tcp_proxy import Proxy, proxied

RETRY = 2.0
BOUND = 15.0
"""Seconds in which every call must have ended, whatever the database does."""
WRITE = b"write.turn"
ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}


@dataclass
class Faulty:
    """Services whose database is behind a proxy, for one owner."""

    loop: Loop
    proxy: Proxy
    services: Services
    owner: str

    async def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        actor = full_actor(self.owner)
        async with asyncio.timeout(BOUND):
            return canonical.decode(await REGISTRY[name].run(self.services, actor, arguments))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.loop.run(self.ask(name, **arguments))

    def refused(self, name: str, /, **arguments: Any) -> Unavailable:
        """Return the 503 that a call ends with, in time."""
        with pytest.raises(Unavailable) as failed:
            self.call(name, **arguments)
        assert (failed.value.status, failed.value.envelope("")["details"]["retryable"]) == (503, True)
        return failed.value

    def do(self, act: Callable[[], None]) -> None:
        """Have the proxy do something, on its own loop."""

        async def doing() -> None:
            act()

        self.loop.run(doing())


@contextlib.contextmanager
def behind_proxy(loop: Loop, settings: Settings, owner: str) -> Iterator[Faulty]:
    """Open services behind a proxy. At the end the proxy passes everything on again."""
    stack = contextlib.AsyncExitStack()

    async def start() -> Faulty:
        assert settings.neo4j_uri
        proxy = await stack.enter_async_context(proxied(settings.neo4j_uri))
        behind = settings.model_copy(update={"neo4j_uri": proxy.uri})
        return Faulty(loop, proxy, await stack.enter_async_context(open_services(behind)), owner)

    faulty = loop.run(start())
    yield faulty
    faulty.do(faulty.proxy.resume)
    loop.run(stack.aclose())
