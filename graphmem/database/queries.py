"""Queries by name, their rows as row classes: what operations, the writer and checks use.

``one`` is for a query that has one row or none, ``only`` for a query that always has exactly one row, ``all``
for any number of rows. ``tests/cypher`` compares the row class of every call with the query's header.
"""

from __future__ import annotations

import abc
from typing import Any, LiteralString, TypeVar, overload

from graphmem.database.rows import Row, typed
from graphmem.errors import InternalError

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
