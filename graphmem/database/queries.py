"""Queries by name, their rows as row classes: what operations, the writer and checks use.

:class:`Reads` and :class:`Writes` run single statements, :class:`Transaction` an explicit transaction.

``one`` is for a query that has one row or none, ``only`` for a query that always has exactly one row, ``all``
for any number of rows. ``tests/cypher`` compares the row class of every call with the query's header.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar, overload

from neo4j import AsyncManagedTransaction, AsyncResult, AsyncTransaction

from graphmem import cypher
from graphmem.database.rows import Row, typed
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

    @overload
    async def all(self, name: LiteralString, row: type[R], /, **params: Any) -> list[R]: ...
    @overload
    async def all(self, name: LiteralString, /, **params: Any) -> list[Row]: ...
    async def all(self, name: LiteralString, row: type[R] | None = None, /, **params: Any) -> Any:
        """Run a query by name; return its rows."""
        rows = await self.rows(name, **params)
        return rows if row is None else [typed(row, each) for each in rows]

    @overload
    async def one(self, name: LiteralString, row: type[R], /, **params: Any) -> R | None: ...
    @overload
    async def one(self, name: LiteralString, /, **params: Any) -> Row | None: ...
    async def one(self, name: LiteralString, row: type[R] | None = None, /, **params: Any) -> Any:
        """Run a query by name; return its row, ``None`` if it has none."""
        rows = await self.all(name, row, **params) if row else await self.rows(name, **params)
        return rows[0] if rows else None

    async def only(self, name: LiteralString, row: type[R], /, **params: Any) -> R:
        """Run a query that always has exactly one row; return the row.

        Raises:
            InternalError: it had another number of rows.
        """
        rows = await self.rows(name, **params)
        if len(rows) != 1:
            raise InternalError(f"the query {name} answered {len(rows)} rows in place of one")
        return typed(row, rows[0])


class Transaction(Queries):
    """An explicit transaction of one owner."""

    def __init__(
        self, database: Database, tx: AsyncTransaction | AsyncManagedTransaction, owner: str
    ) -> None:
        self._database = database
        self._tx = tx
        self._owner = owner

    async def rows(
        self, name: str, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a query by name inside the transaction; return its rows as they are."""
        bound = cypher.bind(name, params, self._owner)
        with self._database.statement(name):
            return await fetch_rows(await self._tx.run(self._database.query_text(name, edge_types), bound))


class Reads(Queries):
    """Reads of one owner, or of no owner; see :meth:`Database.read`."""

    def __init__(self, database: Database, owner: str | None) -> None:
        self._database = database
        self._owner = owner

    async def rows(
        self, name: str, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a read by name; return its rows as they are."""
        return await self._database.read(name, self._owner, edge_types, **params)


class Writes(Queries):
    """Write statements of one owner, or of no owner; see :meth:`Database.write`."""

    def __init__(self, database: Database, owner: str | None) -> None:
        self._database = database
        self._owner = owner

    async def rows(
        self, name: str, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a write by name, once; return its rows as they are."""
        return await self._database.write(name, self._owner, edge_types, **params)


class OwnerGraph(Reads):
    """The graph as operations see it: every query is a read of this owner."""

    def __init__(self, database: Database, owner: str) -> None:
        super().__init__(database, owner)
        self.owner = owner


async def fetch_rows(result: AsyncResult) -> list[Row]:
    """Return rows as dicts. The driver's ``data()`` would search every value for nodes in vain."""
    return [dict(record.items()) async for record in result]
