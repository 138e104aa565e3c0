"""Other names of an owner's entity types, as their registered schemas declare them (``aliases``).

Writes are decided on the names that the writer looked at. Reads that name a type take them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graphmem.database.owner_cache import OwnerCache


class _Alias(NamedTuple):
    name: str
    type: str


class TypeAliases(OwnerCache[Mapping[str, str]]):
    """Owners' types by their other names."""

    async def read(self, owner: str) -> Mapping[str, str]:
        return dict(await self._database.reads(owner).only("schema.aliases", list[_Alias]))
