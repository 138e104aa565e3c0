"""Services whose database fails where a test wants it: a subclass of the database that they would use."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.database.typed_rows import Row
from graphmem.observability.metrics import Metrics
from graphmem.runtime import connection
from graphmem.settings import Settings
from graphmem.writing import Writers
from tests.support.event_loop import Loop

Write = Callable[[], Awaitable[list[Row]]]
"""Sends the write of a turn; returns its rows."""
Fault = Callable[[Write], Awaitable[list[Row]]]
"""What happens in place of the write of a turn; the argument is that write."""


class FaultyDatabase(Database):
    """A database whose turns meet some faults, one each, and none after those.

    ``faults`` are those to come, ``turns`` the parameters of the turns that were tried, ``names`` the queries
    that ran outside of transactions.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.faults: list[Fault] = []
        self.turns: list[dict[str, Any]] = []
        self.names: list[str] = []

    async def read(
        self, name: str, owner: str | None, /, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a read by name."""
        self.names.append(name)
        return await super().read(name, owner, edge_types, **params)

    async def write(
        self, name: str, owner: str | None, /, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a write by name for one owner; that of a turn meets the next fault."""
        self.names.append(name)
        send = super().write
        return await self.meet(name, params, lambda: send(name, owner, edge_types, **params))

    @contextlib.asynccontextmanager
    async def transaction(self, owner: str, *, commit: bool = True) -> AsyncIterator[Queries]:
        """Hold a transaction in which the write of a turn meets the next fault as well."""
        async with super().transaction(owner, commit=commit) as tx:

            async def run(
                name: Any, _: str, edge_types: frozenset[str] | None = None, **params: Any
            ) -> list[Row]:
                send = partial(tx.rows, name, edge_types=edge_types, **params)
                return await self.meet(name, params, send)

            yield Queries(run, owner)

    async def meet(self, name: str, params: dict[str, Any], write: Write) -> list[Row]:
        """Send a write, unless it is that of a turn and a fault is to come."""
        if not name.startswith("write.turn"):
            return await write()
        self.turns.append(params)
        return await (self.faults.pop(0)(write) if self.faults else write())


async def lost(write: Write) -> list[Row]:
    """Write nothing, as if another process had been faster."""
    return []


@contextlib.contextmanager
def faulty_services(
    loop: Loop, services: Services, settings: Settings | None = None
) -> Iterator[tuple[Services, FaultyDatabase]]:
    """Yield services over a database that fails, with metrics of their own, and that database."""
    settings = settings or services.settings
    database = FaultyDatabase(loop.run(connection(settings)), settings, Metrics())
    database.sealer = services.database.sealer
    writers = Writers(database, settings, services.embedder)
    database.metrics.waiting.set_function(writers.waiting)
    try:
        yield replace(services, database=database, settings=settings, writers=writers), database
    finally:
        loop.run(writers.close())
        loop.run(database.close())
