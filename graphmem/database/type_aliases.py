"""Other names of an owner's entity types, as their registered schemas declare them (``aliases``).

Writes are decided on the names that the writer looked at. Reads that name a type take them from here: a
process remembers what it read for :data:`REMEMBERED` seconds, and forgets it at once when it changes a
schema itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from graphmem.database.driver import Database

REMEMBERED: Final = 5.0
"""Seconds for which what was read is taken as it was."""
OWNERS: Final = 10_000
"""Owners whose names a process remembers."""


class _Alias(NamedTuple):
    name: str
    type: str


class _StoredAliases(NamedTuple):
    aliases: list[_Alias]


class TypeAliases:
    """What one process knows of other names of types; it holds nothing that the database does not."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[float, Mapping[str, str]]] = {}
        self._changes = 0

    async def of(self, owner: str) -> Mapping[str, str]:
        """Return an owner's types by their other names; read again if they were last read too long ago.

        Raises:
            Unavailable: the database failed.
        """
        started, changes = time.monotonic(), self._changes
        read_at, known = self._known.get(owner, (-math.inf, {}))
        if started - read_at < REMEMBERED:
            return known
        row = await self._database.reads(owner).only("schema.aliases", _StoredAliases)
        found = {alias.name: alias.type for alias in row.aliases}
        # What was read before a change was made here is not what it is now.
        if changes == self._changes:
            if len(self._known) >= OWNERS:
                self._known.clear()
            self._known[owner] = (started, found)
        return found

    def forget(self, owner: str) -> None:
        """Have an owner's names read again: a schema of theirs was changed here."""
        self._changes += 1
        self._known.pop(owner, None)
