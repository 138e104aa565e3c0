"""Statements that wait for a lock of the database."""

from __future__ import annotations

import asyncio

from graphmem.database.driver import Database


async def until_blocked(database: Database, name: str, count: int = 1) -> None:
    """Wait until so many statements of a name wait for a lock; raise AssertionError: they do not."""
    query = "SHOW TRANSACTIONS YIELD metaData, status WHERE metaData.query = $name RETURN status"
    for _ in range(400):
        rows = await database.script(query, name=name)
        if sum("Blocked" in row["status"] for row in rows) >= count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{name} waits for nothing")
