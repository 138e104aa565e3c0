"""The copy of one owner's entities, up to where it follows the owner, and how it is compared and changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from graphmem.database.admission import Admission
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds.kind_members import KindMembers

INLINE_DOCUMENTS: Final = 4_000
"""A copy with at most so many documents is compared in the event loop, in a millisecond; a larger one in a
thread."""
INLINE_BYTES: Final = 8_000_000
"""The same for the memory of a copy: few documents may be long."""

T = TypeVar("T")


class Mark(NamedTuple):
    """Up to where a copy has read its owner: all commits up to ``revision``, and vectors up to
    ``vectors``."""

    node_key: str
    revision: int
    vectors: int


@dataclass(slots=True, eq=False)
class OwnerCopy:
    """The copy of one owner, with the vectors of one model.

    Searches hold it while they wait for something else. So its documents are never replaced: a copy that is
    given up, or read anew, is another object. The lock is held by who changes the documents, or compares
    them.

    Attributes:
        members: the values that questions for kinds compared.
        mark: up to where it has read its owner; ``None`` until it is read.
        loading: the task that reads it.
        not_before: when to try again to read it, on the monotonic clock.
        is_too_large: it does not fit into the memory, or an earlier copy of the owner did not.
        failures: how often in a row it could not be read.
        entities: how many the owner has; ``None`` until that is known.
        entities_read: how many of them are read.
    """

    model: str
    documents: SearchCopy = field(default_factory=SearchCopy)
    members: KindMembers = field(default_factory=KindMembers)
    mark: Mark | None = None
    loading: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0
    is_too_large: bool = False
    failures: int = 0
    entities: int | None = None
    entities_read: int = 0

    def may_be_missing(self, entities_limit: int) -> bool:
        """Return whether searches are answered without the copy while it is not read.

        Args:
            entities_limit: an owner with at most so many entities has all of them compared.
        """
        return self.is_too_large or self.failures > 0 or (self.entities or 0) > entities_limit

    async def look(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers that reads few of its documents, in the event loop."""
        async with self.lock:
            return function(self.documents)

    async def compare(self, function: Callable[[SearchCopy], T], heavy: Admission) -> T:
        """Return what a function of the copy answers.

        A large copy is compared in a thread, and takes one of the places for what reads far more than it
        answers.

        Raises:
            ServiceBusy: no place becomes free in time.
        """
        if len(self.documents) <= INLINE_DOCUMENTS and self.documents.bytes <= INLINE_BYTES:
            return await self.look(function)
        async with heavy.place():
            return await self.in_thread(function)

    async def in_thread(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers, in a thread."""
        async with self.lock:
            return await self.in_thread_with_lock(function)

    async def in_thread_with_lock(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers, in a thread. The caller holds the lock.

        A thread cannot be stopped. So a request that is cancelled keeps the copy until its thread has ended.
        """
        thread = asyncio.create_task(asyncio.to_thread(function, self.documents))
        try:
            return await asyncio.shield(thread)
        finally:
            while not thread.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([thread])
