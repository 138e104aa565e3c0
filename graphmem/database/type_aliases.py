"""Other names of an owner's entity types, as their registered schemas declare them (``aliases``).

Writes are decided on the names that the writer looked at. Reads that name a type take them from here: a
process remembers what it read for :data:`REMEMBERED_SECONDS`, and forgets it at once when it changes a
schema itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from graphmem.database.driver import Database

REMEMBERED_SECONDS: Final = 5.0
"""Seconds for which a process uses what it read, before it reads again."""
OWNERS_LIMIT: Final = 10_000
"""Owners in the cache; beyond it the cache is emptied."""


class _Alias(NamedTuple):
    name: str
    type: str


class TypeAliases:
    """A cache of the other names of owners' types, for one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[float, Mapping[str, str]]] = {}
        self._changes = 0

    async def of(self, owner: str) -> Mapping[str, str]:
        """Return an owner's types by their other names, at most :data:`REMEMBERED_SECONDS` old.

        Raises:
            Unavailable: the database failed.
        """
        started, changes = time.monotonic(), self._changes
        read_at, known = self._known.get(owner, (-math.inf, {}))
        if started - read_at < REMEMBERED_SECONDS:
            return known
        types = dict(await self._database.reads(owner).only("schema.aliases", list[_Alias]))
        # A change during the read makes what was read outdated: it is not kept.
        if changes == self._changes:
            if len(self._known) >= OWNERS_LIMIT:
                self._known.clear()
            self._known[owner] = (started, types)
        return types

    def forget(self, owner: str) -> None:
        """Read an owner's names again at the next use: this process changed one of the owner's schemas."""
        self._changes += 1
        self._known.pop(owner, None)
