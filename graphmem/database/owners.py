"""The owners of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from graphmem.database.driver import Database

PAGE_OWNERS: Final = 1_000
"""Owners that one query reads."""


class _OwnerPage(NamedTuple):
    """A stretch of owners; ``last`` is the id to continue after."""

    owners: list[str]
    last: str | None


async def every_owner(database: Database) -> AsyncIterator[str]:
    """Yield the owners who have written something, by id; none whose data is being erased."""
    after: str | None = ""
    while after is not None:
        page = await database.reads(None).only("dump.owners", _OwnerPage, after=after, limit=PAGE_OWNERS)
        for owner in page.owners:
            yield owner
        after = page.last
