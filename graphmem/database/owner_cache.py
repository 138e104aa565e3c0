"""What one process read of each owner, and believes for some seconds, such as other names of entity types.

Writes are decided on the names that the writer looked at. Reads that name a type take them from here.
"""

import abc
import asyncio
import contextvars
import math
import time
from collections.abc import Awaitable, Mapping
from typing import ClassVar, Final, Generic, TypeVar

from graphmem.database.driver import Database

OWNERS_LIMIT: Final = 10_000  # owners in a cache; beyond it the cache is emptied

T = TypeVar("T")
R = TypeVar("R")


class OwnerCache(abc.ABC, Generic[T]):
    """A cache of one answer for each owner."""

    remembered_seconds: ClassVar[float] = 5.0

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[float, T]] = {}
        self._changes = 0

    @abc.abstractmethod
    async def read(self, owner: str) -> T:
        """Read the answer from the database."""

    def keeps(self, answer: T) -> bool:
        """Return whether an answer is remembered."""
        return True

    def known(self, owner: str) -> T | None:
        """Return the answer for an owner that is remembered, ``None`` where none is."""
        read_at, answer = self._known.get(owner, (-math.inf, None))
        return answer if time.monotonic() - read_at < self.remembered_seconds else None

    async def of(self, owner: str) -> T:
        """Return the answer for an owner, at most :attr:`remembered_seconds` old."""
        if (known := self.known(owner)) is not None:
            return known
        started, changes = time.monotonic(), self._changes
        answer = await self.read(owner)
        # A change during the read makes what was read outdated: it is not kept.
        if changes == self._changes and self.keeps(answer):
            if len(self._known) >= OWNERS_LIMIT:
                self._known.clear()
            self._known[owner] = (started, answer)
        return answer

    def forget(self, owner: str) -> None:
        """Read again at the next use: this process changed what is remembered of an owner."""
        self._changes += 1
        self._known.pop(owner, None)


class TypeAliases(OwnerCache[Mapping[str, str]]):
    """Owners' types by their other names."""

    async def read(self, owner: str) -> Mapping[str, str]:
        return dict(await self._database.reads(owner).only("schema.aliases", list[tuple[str, str]]))


class PendingRefolds(OwnerCache[tuple[int, int]]):
    """How many things of each owner wait after withdrawals, and at most how many for changed schemas. Lists
    may show them as before. A process remembers that nothing waits, and counts beside a read."""

    remembered_seconds = 2.0

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._checks: set[asyncio.Task[tuple[int, int]]] = set()

    async def read(self, owner: str) -> tuple[int, int]:
        return await self._database.reads(owner).only("exclusion.pending", tuple[int, int])

    def keeps(self, answer: tuple[int, int]) -> bool:
        return not any(answer)

    async def withdrawn(self, owner: str) -> int:
        """Return how many wait after withdrawals; see :meth:`of`."""
        return (await self.of(owner))[0]

    async def beside(self, owner: str, read: Awaitable[R]) -> tuple[R, int]:
        """Run a read, and count meanwhile what waits, for the process; return the answer and the count."""
        if self.known(owner) is not None:
            return await read, 0
        check = asyncio.create_task(self.of(owner), context=contextvars.Context())
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        # The read may fail first: then nobody asks for the error of the check.
        check.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        answered = await read
        return answered, sum(await asyncio.shield(check))
