"""The vocabulary of relationship types of one database: those that are built in, and those registered in it.

It belongs to the database and not to an owner: a type means the same to everybody. Types are added and never
taken away. Beside it each owner has types of its own, which no other owner sees: the types of its
relationships that are neither built in nor registered.

A process remembers what it read for :data:`REMEMBERED_SECONDS`, and reads again at once when it meets a type
that it does not know, so that what one process registers every other can use.
"""

import asyncio
import math
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphmem.database.driver import Database
from graphmem.errors import ServiceBusy
from graphmem.model import canonical, relationship, times
from graphmem.model.relationship import REGISTERED_LIMIT, RegistrationRefused
from graphmem.model.shipped_relationships import BUILTIN, MEANINGS, RelationshipKind
from graphmem.settings import Settings

REMEMBERED_SECONDS = 5.0  # seconds for which a process uses what it read, before it reads again
OWNERS_LIMIT = 10_000  # owners whose own types a process remembers; beyond it they are forgotten


_TypesOfOwner = tuple[int, list[RelationshipKind], list[tuple[str, int]], list[tuple[str, str]]]
"""The revision, the registered types, how many relationships of each type, and the names of renamed types."""


class _OwnTypes(NamedTuple):
    """The types of an owner's relationships, which are its own where they are not in the vocabulary.
    ``read_at`` is in seconds of the monotonic clock. ``newest_names`` has those of renamed types."""

    read_at: float
    kinds: dict[str, RelationshipKind]
    newest_names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """The vocabulary at one revision: all types by name. ``read_at`` is in seconds of the monotonic clock."""

    kinds: Mapping[str, RelationshipKind]
    revision: int = 0
    read_at: float = -math.inf
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.kinds))


def _is_fresh(read: Known | _OwnTypes) -> bool:
    return time.monotonic() - read.read_at < REMEMBERED_SECONDS


def _completed(kind: RelationshipKind) -> RelationshipKind:
    """Return a registered type, with what the built-in type of its name has where it has nothing itself. A
    type may have been registered before a version of graphmem had it built in: what it says stays."""
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
        self._own: dict[str, _OwnTypes] = {}
        self.registered_limit = REGISTERED_LIMIT

    async def current(self) -> Known:
        """Return the vocabulary; read it again if it is older than :data:`REMEMBERED_SECONDS`."""
        return self._known if _is_fresh(self._known) else await self.refresh()

    def names(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of some types that are built in or registered, as this process last read it."""
        return self._known.names.intersection(names)

    async def refresh(self) -> Known:
        """Read the vocabulary; raises Unavailable: the database failed, as in every method that reads."""
        started = time.monotonic()
        row = await self._database.reads(None).only(
            "relationship_type.all", tuple[int, list[RelationshipKind]]
        )
        return self._read(started, *row)

    async def of_owner(self, owner: str) -> tuple[Mapping[str, RelationshipKind], Mapping[str, int]]:
        """Read all types by name, and how many live relationships of each type an owner has. The owner's own
        types are among them, also by the other names that the owner gave them."""
        started = time.monotonic()
        revision, types, counts, renamings = await self._database.reads(owner).only(
            "relationship_type.of_owner", _TypesOfOwner
        )
        known = self._read(started, revision, types)
        totals = dict(counts)
        keys = dict(renamings)
        # A renaming that is damaged names a type of which there is nothing.
        keys |= {name: name for name in (*keys.values(), *totals)}
        own = _OwnTypes(
            started,
            {name: RelationshipKind(type_, is_own=True) for name, type_ in keys.items()},
            {type_: name for name, type_ in renamings if name not in known.names},
        )
        if len(self._own) >= OWNERS_LIMIT:
            self._own.clear()
        self._own[owner] = own
        return {**own.kinds, **known.kinds}, totals

    async def current_of(self, owner: str) -> Mapping[str, RelationshipKind]:
        """Return all types by name, those of an owner's own among them, read as :meth:`current` reads."""
        known, own = self._known, self._own.get(owner)
        if own is not None and _is_fresh(known) and _is_fresh(own):
            return {**own.kinds, **known.kinds}
        kinds, _ = await self.of_owner(owner)
        return kinds

    async def renamed(self, owner: str, types: Iterable[str]) -> Mapping[str, str]:
        """Return the newest names that an owner gave to types of its own, by the names in keys. Nothing is
        read where all of ``types`` are built in or registered, for these are never renamed."""
        if self._known.names.issuperset(types):
            return {}
        kinds = await self.current_of(owner)
        own = self._own.get(owner)
        newest_names = {} if own is None else own.newest_names
        return {name: new for name, new in newest_names.items() if name in kinds and kinds[name].is_own}

    async def show(self, owner: str, answer: Any) -> bool:
        """Name the relationship types in an answer as its owner names them now; keys and ids stay.

        Returns whether a type of the owner has another name now. Stored values are JSON text in an answer:
        they stay. So does what tells both names, as ``name``.
        """
        named = [
            each
            for each in canonical.objects(answer)
            if isinstance(each.get("relationship_type"), str) and "name" not in each
        ]
        types = [each["relationship_type"] for each in named]
        if newest_names := await self.renamed(owner, types):
            for each, type_ in zip(named, types, strict=True):
                each["relationship_type"] = newest_names.get(type_, type_)
        return bool(newest_names)

    def add_own(self, owner: str, names: Iterable[str]) -> None:
        """Note types that an owner has just used, as far as its own types are known here."""
        if (own := self._own.get(owner)) is not None:
            own.kinds.update({name: RelationshipKind(name, is_own=True) for name in names})

    def forget(self, owner: str) -> None:
        """Read an owner's own types again at their next use: this process has renamed one."""
        self._own.pop(owner, None)

    def _read(self, started: float, revision: int, types: Iterable[RelationshipKind]) -> Known:
        # A node with another name was written by other means than graphmem: it is ignored.
        kinds = {kind.name: _completed(kind) for kind in types if relationship.may_be_native(kind.name)}
        vocabulary = Known({**BUILTIN, **kinds}, revision, started)
        if started >= self._known.read_at:
            self._known = vocabulary
        return vocabulary

    async def covering(self, types: Iterable[str], owner: str) -> Mapping[str, RelationshipKind]:
        """Return all types by name, those of an owner's own among them. The vocabulary is read again if one
        of ``types``, in any spelling, is unknown. Other shipped names of types count as known."""
        known, own = self._known, self._own.get(owner)
        usual = [known.names, MEANINGS, own.kinds if own else ()] if _is_fresh(known) else [BUILTIN]
        readings = (relationship.readings(name) for name in types)
        if all(any(spelled in names for names in usual for spelled in each) for each in readings):
            return {**own.kinds, **known.kinds} if own else known.kinds
        kinds, _ = await self.of_owner(owner)
        return kinds

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
            revision = await self._database.writes(None).one(
                "relationship_type.register", int, revision=known.revision, is_new=new, name=kind.name,
                inverse=kind.inverse, description=kind.description,
                registered_at=times.now() if registered_at is None else registered_at, agent=agent,
            )  # fmt: skip
            if revision is not None:
                self._known = replace(self._known, read_at=-math.inf)
                return read, new
            if asyncio.get_running_loop().time() > end:
                raise ServiceBusy("others register types all the time: try again in a moment")
            await asyncio.sleep(random.uniform(0, 0.05))
