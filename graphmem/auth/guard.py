"""Whether callers over TCP need a credential."""

from __future__ import annotations

from typing import Final

from cachetools import TTLCache

from graphmem.auth.accounts import Accounts
from graphmem.database.driver import Database
from graphmem.settings import Settings

REMEMBERED_SECONDS: Final = 4.0
"""Seconds for which a credential, or that none is needed, is not looked up again: changes hold within 5 s."""


class Guard:
    """Knows whether an account has a password or a key. It asks the database at most every 4 s."""

    def __init__(self, database: Database) -> None:
        self._accounts = Accounts(database)
        self._guarded: TTLCache[None, bool] = TTLCache(1, REMEMBERED_SECONDS)
        self.was_guarded = False
        """The last answer of the database, however old."""

    async def is_open(self, settings: Settings) -> bool:
        """Return whether callers need no credential: on loopback, in development, and nothing guards it.

        Raises:
            DatabaseUnavailable, DatabaseTimeout: the database does not answer.
        """
        if not settings.may_be_open:
            return False
        if None not in self._guarded:
            self.was_guarded = self._guarded[None] = await self._accounts.are_guarded()
        return not self.was_guarded

    def forget(self) -> None:
        """Ask the database again at the next call: a key or a password was just made."""
        self._guarded.clear()
