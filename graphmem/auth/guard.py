"""Whether callers over TCP need a credential."""

from __future__ import annotations

from cachetools import TTLCache

from graphmem.auth.accounts import Accounts
from graphmem.auth.credentials import REMEMBERED_SECONDS
from graphmem.database.driver import Database


class Guard(Accounts):
    """The accounts, of which it asks the database at most every 4 s whether one has a password or a key."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._guarded: TTLCache[None, bool] = TTLCache(1, REMEMBERED_SECONDS)
        self.was_guarded = False
        """The last answer of the database, however old."""

    async def are_guarded(self) -> bool:
        """Return what the database answered within the last 4 s, else ask it."""
        if None not in self._guarded:
            self.was_guarded = self._guarded[None] = await super().are_guarded()
        return self.was_guarded

    def forget(self) -> None:
        """Ask the database again at the next call: a key or a password was just made."""
        self._guarded.clear()
