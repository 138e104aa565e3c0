"""The owners of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from graphmem.database.driver import Database

PAGE_OWNERS: Final = 1_000
"""Owners that one query reads."""


async def every_owner(database: Database) -> AsyncIterator[str]:
    """Yield the owners who have written something, by id; none whose data is being erased."""
    last: str | None = ""
    while last is not None:
        owners, last = await database.reads(None).only(
            "dump.owners", tuple[list[str], str | None], after=last, limit=PAGE_OWNERS
        )
        for owner in owners:
            yield owner
