"""Copies in memory of what owners have: how each is compared, and how those of a process share its memory."""

import asyncio
import contextlib
import contextvars
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import structlog

from graphmem.database.admission import Admission
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError
from graphmem.search.entity_copy import SearchCopy

INLINE_DOCUMENTS: Final = 4_000
"""A copy with more documents is compared in a thread, others in the event loop, in a millisecond."""
INLINE_BYTES: Final = 8_000_000  # the same for the memory of a copy: few documents may be long
FAILED_SECONDS: Final = 5.0  # seconds until a copy that could not be read is tried again

_log = structlog.get_logger("graphmem.search.memory_copies")

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class MemoryCopy:
    """The documents of one owner.

    Searches hold it while they wait for something else. So its documents are never replaced: a copy that is
    given up, or read anew, is another object. Who changes or compares the documents holds the lock.

    Attributes:
        loading: the task that reads it.
        not_before: when to try again to read it, on the monotonic clock.
        failures: how often in a row it could not be read.
        damaged: why documents are left out, or have no vectors, by the id of what they are of.
    """

    documents: SearchCopy = field(default_factory=SearchCopy)
    loading: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0
    failures: int = 0
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """The memory that it takes, about."""
        return self.documents.bytes

    async def look(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers that reads few of its documents, in the event loop."""
        async with self.lock:
            return function(self.documents)

    async def compare(self, function: Callable[[SearchCopy], T], heavy: Admission, owner: str) -> T:
        """Return the same of a function that reads many: a large copy takes a thread and a heavy place."""
        size = self.documents.bytes + self.documents.bytes_in_file
        if len(self.documents) <= INLINE_DOCUMENTS and size <= INLINE_BYTES:
            return await self.look(function)
        async with heavy.place(owner):
            return await self.in_thread(function)

    async def in_thread(self, function: Callable[[SearchCopy], T]) -> T:
        async with self.lock:
            return await self.in_thread_with_lock(function)

    async def in_thread_with_lock(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers, in a thread. The caller holds the lock. A thread cannot
        be stopped. So a request that is cancelled keeps the copy until its thread has ended."""
        thread = asyncio.create_task(asyncio.to_thread(function, self.documents))
        try:
            return await asyncio.shield(thread)
        finally:
            while not thread.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([thread])


Copy = TypeVar("Copy", bound=MemoryCopy)
Key = tuple[str, str]
"""An owner, and what else tells a copy from others of the owner: a model, or the key of the owner's node."""


class MemoryCopies(Generic[Copy]):
    """The copies of one process: beyond ``memory`` bytes, the one that was used longest ago is dropped."""

    def __init__(self, database: Database, memory: int) -> None:
        self._database, self._memory = database, memory
        self._copies: OrderedDict[Key, Copy] = OrderedDict()

    async def close(self) -> None:
        """End what is being read."""
        running = [copy.loading for copy in self._copies.values() if copy.loading is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    @property
    def bytes(self) -> int:
        return sum(copy.bytes for copy in self._copies.values())

    def _used(self, key: Key, new: Callable[[], Copy]) -> Copy:
        """Return the copy of a key, a new one if there is none, as the one that was used last."""
        if key not in self._copies:
            self._copies[key] = new()
        self._copies.move_to_end(key)
        return self._copies[key]

    def _begin(self, key: Key, copy: Copy, read: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        async def load() -> None:
            try:
                await read()
            except Exception as exc:
                copy.not_before = time.monotonic() + FAILED_SECONDS
                copy.failures += 1
                log = _log.warning if isinstance(exc, GraphmemError) else _log.exception
                log("a copy for searches is read later", owner=key[0], reason=str(exc)[:500])
            finally:
                copy.loading = None

        # The copy belongs to the process, not to the request: it has no deadline and no trace.
        copy.loading = asyncio.create_task(load(), context=contextvars.Context())
        return copy.loading

    def _drop(self, key: Key) -> None:
        copy = self._copies.pop(key, None)
        if copy is not None and copy.loading is not None:
            copy.loading.cancel()

    def _make_room(self, key: Key) -> None:
        """Drop other copies than that of a key, the one used longest ago first, until all fit."""
        total = self.bytes
        for other, copy in [*self._copies.items()]:
            if total <= self._memory:
                return
            if other != key and len(copy.documents):
                total -= copy.bytes
                self._drop(other)
