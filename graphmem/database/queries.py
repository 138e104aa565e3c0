"""Queries by name, their rows as row classes: what operations, the writer and checks use.

``one`` is for a query that has one row or none, ``only`` for a query that always has exactly one row, ``all``
for any number of rows. ``tests/cypher`` compares the row class of every call with the query's header.
"""

from collections.abc import Awaitable, Callable
from typing import Any, LiteralString, TypeVar

from neo4j import AsyncResult

from graphmem import cypher
from graphmem.database.left_out import each_sound, kept, refuse_unopened
from graphmem.database.typed_rows import Row, maker
from graphmem.errors import InternalError

R = TypeVar("R")


class Queries:
    """Runs queries by name for one owner, or for no owner where a query is of the whole database."""

    def __init__(
        self, run: Callable[..., Awaitable[list[Row]]], owner: str | None, *, by_writer: bool = False
    ) -> None:
        """``run`` is :meth:`Database.read`, :meth:`Database.write`, or runs inside a transaction."""
        self._run, self._owner, self._by_writer = run, owner, by_writer

    async def rows(
        self, name: LiteralString, /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a query by name; return its rows as they are. ``edge_types`` fill its place for types."""
        if self._by_writer and cypher.BY_WRITER in cypher.query(name).params:
            params[cypher.BY_WRITER] = True
        return await self._run(name, self._owner, edge_types, **params)

    async def all(self, name: LiteralString, row: type[R], /, **params: Any) -> list[R]:
        """Run a query by name; return its rows."""
        return refuse_unopened(each_sound(*maker(row, await self.rows(name, **params))))

    async def one(self, name: LiteralString, row: type[R], /, **params: Any) -> R | None:
        """Run a query by name; return its row, ``None`` if it has none."""
        make, parts = maker(row, await self.rows(name, **params))
        return refuse_unopened(kept(make, parts[0])) if parts else None

    async def only(self, name: LiteralString, row: type[R], /, **params: Any) -> R:
        """Run a query that always has exactly one row; return it. Raises InternalError: it had another
        number."""
        rows = await self.rows(name, **params)
        if len(rows) != 1:
            raise InternalError(f"the query {name} answered {len(rows)} rows in place of one")
        make, parts = maker(row, rows)
        return refuse_unopened(kept(make, parts[0]))


async def fetch_rows(result: AsyncResult) -> list[Row]:
    """Return rows as dicts. The driver's ``data()`` would search every value for nodes in vain."""
    columns = result.keys()
    return [dict(zip(columns, record, strict=True)) async for record in result]
