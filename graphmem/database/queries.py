"""Queries by name, their rows as row classes: what operations, the writer and checks use.

:class:`Statements` runs single reads or writes, :class:`Transaction` an explicit transaction.

``one`` is for a query that has one row or none, ``only`` for a query that always has exactly one row, ``all``
for any number of rows. ``tests/cypher`` compares the row class of every call with the query's header.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from neo4j import AsyncManagedTransaction, AsyncResult, AsyncTransaction

from graphmem.database.first_runs import FIRST_RUN_SECONDS
from graphmem.database.left_out import each_sound, kept, refuse_unopened
from graphmem.database.typed_rows import Row, maker
from graphmem.errors import InternalError

if TYPE_CHECKING:
    from graphmem.database.driver import Database

R = TypeVar("R")


class Queries(abc.ABC):
    """Runs queries by name for one owner, or for no owner where a query is of the whole database."""

    @abc.abstractmethod
    async def rows(
        self, name: LiteralString, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a query by name; return its rows as they are.

        Args:
            edge_types: the relationship types of a query that has a place for them.
        """

    async def all(self, name: LiteralString, row: type[R], /, **params: Any) -> list[R]:
        """Run a query by name; return its rows."""
        return refuse_unopened(each_sound(*maker(row, await self.rows(name, **params))))

    async def one(self, name: LiteralString, row: type[R], /, **params: Any) -> R | None:
        """Run a query by name; return its row, ``None`` if it has none."""
        make, parts = maker(row, await self.rows(name, **params))
        return refuse_unopened(kept(make, parts[0])) if parts else None

    async def only(self, name: LiteralString, row: type[R], /, **params: Any) -> R:
        """Run a query that always has exactly one row; return the row.

        Raises:
            InternalError: it had another number of rows.
        """
        rows = await self.rows(name, **params)
        if len(rows) != 1:
            raise InternalError(f"the query {name} answered {len(rows)} rows in place of one")
        make, parts = maker(row, rows)
        return refuse_unopened(kept(make, parts[0]))


class Transaction(Queries):
    """An explicit transaction of one owner."""

    def __init__(
        self,
        database: Database,
        tx: AsyncTransaction | AsyncManagedTransaction,
        owner: str,
        statements: dict[LiteralString, dict[str, Any]],
        wait: asyncio.Timeout,
    ) -> None:
        """``statements`` takes up the statements that are sent, with their parameters."""
        self._database = database
        self._tx = tx
        self._owner = owner
        self._statements = statements
        self._wait = wait

    async def rows(
        self, name: str, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a query by name inside the transaction; return its rows as they are."""
        database = self._database
        bound, text = database.bound(name, params, self._owner), database.query_text(name, edge_types)
        self._statements[text] = bound
        if database.first_runs.expects(text):
            # While the server plans it ends no transaction.
            until = asyncio.get_running_loop().time() + 2 * FIRST_RUN_SECONDS
            self._wait.reschedule(max(until, self._wait.when() or until))
        with database.statement(name):
            rows = await fetch_rows(await self._tx.run(text, bound))
        database.first_runs.finished(text, database.first_runs.server_life)
        return database.opened(name, rows, self._owner)


class Statements(Queries):
    """Single statements of one owner, or of no owner: reads or writes."""

    def __init__(self, run: Callable[..., Awaitable[list[Row]]], owner: str | None) -> None:
        """``run`` is :meth:`Database.read` or :meth:`Database.write`."""
        self._run = run
        self._owner = owner

    async def rows(
        self, name: str, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        return await self._run(name, self._owner, edge_types, **params)


class OwnerGraph(Statements):
    """The graph as operations see it: every query is a read of this owner."""

    def __init__(self, database: Database, owner: str) -> None:
        super().__init__(database.read, owner)
        self.owner = owner


async def fetch_rows(result: AsyncResult) -> list[Row]:
    """Return rows as dicts. The driver's ``data()`` would search every value for nodes in vain."""
    columns = result.keys()
    return [dict(zip(columns, record, strict=True)) async for record in result]
