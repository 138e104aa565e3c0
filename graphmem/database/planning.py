"""Has Neo4j plan queries before somebody waits for them.

Neo4j plans a statement when the statement first runs, which takes seconds shortly after the server's start.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphmem import cypher
from graphmem.database.driver_errors import DRIVER_ERRORS
from graphmem.database.first_runs import FIRST_RUN_SECONDS
from graphmem.model import relationship
from graphmem.settings import DEFAULT_OWNER

if TYPE_CHECKING:
    from graphmem.database.driver import Database

Groups = tuple[tuple[str, ...], ...]
"""Names of queries: those of each group are planned on a connection of their own."""

STORE_QUERIES: Groups = (("write.look[plain]", "duplicate.near"), ("write.turn[plain]", "owner.create"))
"""The queries of the first store of a new owner."""
FIRST_QUERIES: Groups = (
    ("entity.get", "entity.find", "entity.page[asc]"),
    ("write.turn[linked]", "search.copy", "search.follow"),
)
"""The other queries that a service plans before it is ready."""
PLANNED_FIRST: Groups = (*STORE_QUERIES, *FIRST_QUERIES)
PAUSE_FACTOR = 3.0
"""Between two background plans the service pauses for this many times the last plan's duration."""


class Planning:
    """What one process has had the server plan, and is having it plan."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: dict[str, asyncio.Event] = {}
        """By text: set once its planning has ended."""
        self.quiet_seconds = 1.0
        """After so many seconds without a request the service plans in the background."""
        self.last_request_at = -math.inf
        """When the last statement of a request was sent, by the monotonic clock."""
        self.planned = asyncio.Event()
        """Not set while the first queries are being planned."""
        self.planned.set()

    async def plan_stores(self) -> None:
        """Plan the queries of a store. :attr:`planned` is not set until :meth:`plan_first` has ended."""
        self.planned.clear()
        await self._plan_groups(STORE_QUERIES)

    async def plan_first(self) -> None:
        """Plan :data:`PLANNED_FIRST`, so that no first caller waits, and set :attr:`planned` at the end."""
        try:
            await self.plan_stores()
            await self._plan_groups(FIRST_QUERIES)
        finally:
            self.planned.set()

    async def plan_rest(self, edge_types: frozenset[str]) -> None:
        """Plan all other queries while no requests arrive: it takes half a minute of a core."""
        planned = {name for names in PLANNED_FIRST for name in names}
        for name in [name for name in cypher.names() if name not in planned]:
            await self.wait_until_quiet(self.quiet_seconds)
            start = time.monotonic()
            await self._plan(name, edge_types)
            await asyncio.sleep(PAUSE_FACTOR * (time.monotonic() - start))

    async def wait_for(self, text: str) -> None:
        """Wait while a text is being planned: the server would plan it a second time for the caller."""
        if under_way := self._under_way.get(text):
            await under_way.wait()

    async def seconds_for(self, name: str, seconds: float) -> float:
        """Return the seconds that a query may take, more if it has never run, once its planning has ended."""
        text = self._database.query_text(name)
        await self.wait_for(text)
        return FIRST_RUN_SECONDS if self._database.first_runs.expects(text) else seconds

    async def _plan_groups(self, groups: Groups) -> None:
        async def plan_all(names: Iterable[str]) -> None:
            for name in names:
                await self._plan(name, frozenset())

        await asyncio.gather(*map(plan_all, groups))

    async def _plan(self, name: str, edge_types: frozenset[str]) -> None:
        # Neo4j keeps a plan for each combination of parameter types. All owners' ids have one length.
        nothing = dict.fromkeys(cypher.query(name).params)
        params = cypher.bind(name, nothing, None if cypher.query(name).tenancy else DEFAULT_OWNER)
        # A text holds the types, and each is planned anew: with all built-in ones most queries share one.
        text = self._database.query_text(name, edge_types.union(relationship.BUILTIN))
        under_way = self._under_way[text] = asyncio.Event()
        try:
            with contextlib.suppress(*DRIVER_ERRORS):
                await self._database.explain(text, params)
        finally:
            del self._under_way[text]
            under_way.set()

    async def wait_until_quiet(self, seconds: float) -> None:
        """Return after so many seconds without a request."""
        while True:
            busy = self.last_request_at + seconds - time.monotonic()
            if busy <= 0:
                return
            await asyncio.sleep(busy)
