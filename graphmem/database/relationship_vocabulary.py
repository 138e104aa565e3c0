"""The vocabulary of relationship types of one database: those that are built in, and those registered in it.

It belongs to the database and not to an owner: a type means the same to everybody. Types are added and never
taken away. A process remembers what it read for :data:`REMEMBERED_SECONDS`, and reads again at once when it
meets a type that it does not know, so that what one process registers every other can use.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from graphmem.database.driver import Database
from graphmem.errors import ServiceBusy
from graphmem.model import relationship, times
from graphmem.model.relationship import REGISTERED_LIMIT, RegistrationRefused
from graphmem.model.shipped_relationships import BUILTIN, MEANINGS, RelationshipKind
from graphmem.settings import Settings

REMEMBERED_SECONDS = 5.0
"""Seconds for which a process uses what it read, before it reads again."""


class _StoredTypes(NamedTuple):
    revision: int
    types: list[RelationshipKind]


class _Registered(NamedTuple):
    revision: int


@dataclass(frozen=True, slots=True)
class Known:
    """The vocabulary at one revision: all types by name. ``read_at`` is in seconds of the monotonic clock."""

    kinds: Mapping[str, RelationshipKind]
    revision: int = 0
    read_at: float = -math.inf
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.kinds))

    @property
    def is_fresh(self) -> bool:
        """Whether it was read less than :data:`REMEMBERED_SECONDS` ago."""
        return time.monotonic() - self.read_at < REMEMBERED_SECONDS


def _completed(kind: RelationshipKind) -> RelationshipKind:
    """Return a registered type, with what the built-in type of its name has where it has nothing itself.

    A type may have been registered before a version of graphmem had it built in: what it says stays.
    """
    usual = BUILTIN.get(kind.name, kind)
    return replace(
        kind, inverse=kind.inverse or usual.inverse, description=kind.description or usual.description
    )


class Vocabulary:
    """A cache of the relationship types in the database, for one process."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._known = Known(BUILTIN)
        self.registered_limit = REGISTERED_LIMIT

    async def current(self) -> Known:
        """Return the vocabulary; read it again if it is older than :data:`REMEMBERED_SECONDS`.

        Raises:
            Unavailable: the database failed.
        """
        return self._known if self._known.is_fresh else await self.refresh()

    async def refresh(self) -> Known:
        """Read the vocabulary.

        Raises:
            Unavailable: the database failed.
        """
        started = time.monotonic()
        row = await self._database.reads(None).only("relationship_type.all", _StoredTypes)
        # A node with another name was written by other means than graphmem: it is ignored.
        kinds = {kind.name: _completed(kind) for kind in row.types if relationship.is_name(kind.name)}
        vocabulary = Known({**BUILTIN, **kinds}, row.revision, started)
        if started >= self._known.read_at:
            self._known = vocabulary
        return vocabulary

    async def covering(self, types: Iterable[str]) -> Mapping[str, RelationshipKind]:
        """Return all types by name. The vocabulary is read again if one of ``types`` is unknown.

        Args:
            types: names in any spelling. Other shipped names of types count as known.

        Raises:
            Unavailable: the database failed.
        """
        names = set(map(relationship.spell, types))
        known = self._known
        if not names <= (known.names | MEANINGS.keys() if known.is_fresh else BUILTIN.keys()):
            known = await self.refresh()
        return known.kinds

    async def register(
        self, requested: RelationshipKind, agent: str, registered_at: int | None = None
    ) -> tuple[RelationshipKind, bool]:
        """Register a type, or complete a registered one; return the type and whether it is new.

        Args:
            requested: names in canonical spelling; a field that is ``None`` is not changed.
            agent: who registers it; stored with the type.
            registered_at: in microseconds; given for a type that is restored, else now.

        Raises:
            RegistrationRefused: see :func:`graphmem.model.relationship.registered`; or there are too many.
            ServiceBusy: other registrations came first for ``Settings.retry_seconds``.
            Unavailable: the database failed; registering again does no harm.
        """
        end = asyncio.get_running_loop().time() + self._settings.retry_seconds
        while True:
            known = await self.refresh()
            kind = relationship.registered(known.kinds, requested)
            new = kind.name not in known.kinds
            read = replace(kind, inverse=relationship.inverse_of({**known.kinds, kind.name: kind}, kind.name))
            if known.kinds.get(kind.name) == kind:
                return read, False
            if new and len(known.kinds) - len(BUILTIN) >= self.registered_limit:
                message = f"{self.registered_limit} types are registered already: use one of those"
                raise RegistrationRefused("relationship_type", message)
            written = await self._database.writes(None).one(
                "relationship_type.register",
                _Registered,
                revision=known.revision,
                name=kind.name,
                inverse=kind.inverse,
                description=kind.description,
                registered_at=times.now() if registered_at is None else registered_at,
                agent=agent,
            )
            if written:
                return read, new
            if asyncio.get_running_loop().time() > end:
                raise ServiceBusy("others register types all the time: try again in a moment")
            await asyncio.sleep(random.uniform(0, 0.05))
