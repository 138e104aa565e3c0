"""The copy of one owner's entities, up to where it follows the owner, and how it is changed; how each copy is
compared, and how those of a process share its memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

import structlog

from graphmem.database.admission import Admission
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError
from graphmem.search.copy_arrays import DIMENSIONS, EntityText
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds.kind_plans import Member

INLINE_DOCUMENTS: Final = 4_000
"""A copy with more documents is compared in a thread, others in the event loop, in a millisecond."""
INLINE_BYTES: Final = 8_000_000  # the same for the memory of a copy: few documents may be long
FAILED_SECONDS: Final = 5.0  # seconds until a copy that could not be read is tried again

_log = structlog.get_logger("graphmem.search.owner_copy")

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


MEMBERS_LIMIT: Final = 40_000  # entities whose values are kept for one owner, over all kinds
BYTES_PER_MEMBER: Final = 700  # the memory of the values of one entity, about
FILE_LEAST_BYTES: Final = 8_000_000
"""A copy that takes more memory is written into a file, and one in a file if it takes so much besides. What
is smaller is compared in the event loop, where nothing may wait for a disk, and read again in a second."""
MEMORY_MOST_BYTES: Final = 64_000_000
"""Memory that a copy in a file takes at most before it is written anew, however large the file is."""


LAST: Final = "\uffff"
"""A text after every id."""


class KindKey(NamedTuple):
    """The types and the fields whose values are kept, and the schemas under which they were read."""

    types: tuple[str, ...]
    fields: tuple[str, ...]
    schemas: str


class KindMembers:
    """The values of one owner's entities, by kind; the kind that was asked for longest ago gives way. Each
    stands beside the revision that had written the entity last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[KindKey, dict[str, tuple[int, Member]]] = OrderedDict()

    @property
    def bytes(self) -> int:
        return BYTES_PER_MEMBER * sum(map(len, self._kept.values()))

    def missing(self, key: KindKey, revisions: Mapping[str, int]) -> list[str]:
        """Return the entities whose values are not kept, or were read before they changed."""
        kept = self._kept.get(key, {})
        return [each for each, revision in revisions.items() if each not in kept or kept[each][0] != revision]

    def put(self, key: KindKey, revisions: Mapping[str, int], members: Iterable[Member]) -> list[Member]:
        """Keep the values of some entities, drop those of entities that are gone, and return all."""
        kept, read = self._kept.pop(key, {}), list(members)
        kept.update({each.id: (revisions[each.id], each) for each in read if each.id in revisions})
        if read or kept.keys() != revisions.keys():
            kept = {entity_id: kept[entity_id] for entity_id in revisions if entity_id in kept}
        self._kept[key] = kept
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > MEMBERS_LIMIT:
            self._kept.popitem(last=False)
        return [member for _, member in kept.values()]


class Mark(NamedTuple):
    """Up to which commit and up to which vectors a copy has read its owner."""

    node_key: str
    revision: int
    vectors: int


@dataclass(slots=True, eq=False)
class OwnerCopy(MemoryCopy):
    """The copy of one owner's entities, with the vectors of one model.

    Attributes:
        members: the values that questions for kinds compared.
        mark: up to where it has read its owner; ``None`` until it is read.
        is_too_large: it does not fit into the memory, or an earlier copy of the owner did not.
        full_at: how many entities an earlier copy of the owner had when it filled the memory.
        entities: how many the owner has; ``None`` until that is known.
        entities_read: how many of them are read.
        newest: where it was read from a file, an entity that the last commit wrote which the file has. If the
            database does not have that, somebody went back to an older one.
        filed: up to where its file goes, or that of another process from which it took its place.
        behind: up to where an earlier copy had read the owner when too much had changed since.
        writing: the task that writes it into a file.
        is_erased: the owner is gone.
        write_after: when to try to write it, on the monotonic clock.
        noted_at: when its file was noted to be in use, on the monotonic clock.
    """

    model: str = ""
    members: KindMembers = field(default_factory=KindMembers)
    mark: Mark | None = None
    is_too_large: bool = False
    full_at: int | None = None
    entities: int | None = None
    entities_read: int = 0
    newest: str | None = None
    filed: Mark | None = None
    behind: Mark | None = None
    writing: asyncio.Task[None] | None = None
    is_erased: bool = False
    write_after: float = 0.0
    noted_at: float = 0.0

    @property
    def bytes(self) -> int:
        return self.documents.bytes + self.members.bytes


def is_to_be_written(documents: SearchCopy, memory_limit: int) -> bool:
    """Return whether a file of a copy would save memory, of which all copies may take so many bytes."""
    memory, in_file = documents.bytes, documents.bytes_in_file
    if not in_file:
        return memory > FILE_LEAST_BYTES
    most = min(max(in_file // 2, FILE_LEAST_BYTES), MEMORY_MOST_BYTES, memory_limit // 4)
    return memory > most or documents.is_loose


class Commit(NamedTuple):
    """The last commit that wrote entities of an owner: the revision, and how many entities it wrote."""

    revision: int
    entities: int


class PassagesChange(NamedTuple):
    """The number of the last change of an owner's passages, and how many sources it changed."""

    number: int
    sources: int


class OwnerState(NamedTuple):
    node_key: str
    changed: Commit
    vectors_changed: int
    passages_changed: PassagesChange


class CopiedEntity(NamedTuple):
    """The row of ``search/_document.cypher``. ``changed`` is the revision that wrote the entity last,
    ``vectors_changed`` the call of the worker that stored its vectors last, 0 if none did."""

    id: str
    changed: int
    vectors_changed: int
    type: str | None
    at: int
    text: str | None
    model: str | None
    packed: bytes | None
    fields: list[str] | None = None
    thread: str | None = None

    def without_damage(self) -> CopiedEntity:
        """Return the row of an entity without words; of an id or a type that is no text it is not found at
        all. Its place in the order of ids stays."""
        changed, vectors_changed, at = (
            each if type(each) is int else 0 for each in (self.changed, self.vectors_changed, self.at)
        )
        kind = self.type if isinstance(self.type, str) else None
        entity_id = self.id if isinstance(self.id, str) else LAST
        return CopiedEntity(entity_id, changed, vectors_changed, kind, at, None, self.model, None)

    @property
    def version(self) -> tuple[int, int]:
        """Greater for a newer state."""
        return self.changed, self.vectors_changed


class CopyRows(NamedTuple):
    """The row of ``search/copy.cypher``; ``entities`` is how many the owner has."""

    state: OwnerState | None
    entities: int
    documents: list[CopiedEntity]


class TypeSample(NamedTuple):
    """Some entities of a type of which there are ``total``."""

    total: int
    documents: list[CopiedEntity]


def least_bytes(samples: Iterable[TypeSample], model: str) -> int:
    """Return what a copy of all entities takes at least, without the words, which entities share."""
    least = 0
    for total, entities in samples:
        put(copied := SearchCopy(), entities, model, {})
        copied.compact()
        least += (copied.bytes - copied.terms.bytes) * total // max(len(copied), 1)
    return least


class ExactMatch(NamedTuple):
    """An entity that identifiers name.

    ``strength`` is that of the strongest one (:func:`graphmem.search.questions.naming.kind_of`), ``pairs``
    are the (kind, index key) pairs that name it, and ``type`` is the type of the entity.
    """

    id: str
    strength: int
    pairs: list[tuple[str, str]]
    type: str


class FollowRows(NamedTuple):
    state: OwnerState | None
    documents: list[CopiedEntity]
    vectors: list[CopiedEntity]
    exact: list[ExactMatch]
    aliases: list[tuple[str, str]]  # another name of a type, and the type


def change(
    documents: SearchCopy, changed: Sequence[CopiedEntity], model: str, mark: Mark, damaged: dict[str, str]
) -> None:
    """Put what changed into the documents of a copy. A row counts that says at least as new a state of an
    entity as the copy has: it may be removed there."""
    first = (mark.revision + 1, 0)
    newer = [each for each in changed if each.version >= (documents.version_of(each.id) or first)]
    for each in newer:
        if each.type is None:
            documents.remove(each.id)
            damaged.pop(each.id, None)
    put(documents, newer, model, damaged)


def put(documents: SearchCopy, entities: Iterable[CopiedEntity], model: str, damaged: dict[str, str]) -> None:
    """Put entities into the documents of a copy; ``damaged``: why some are not compared, by id."""
    documents.put(
        EntityText(
            each.id, each.type, each.at, each.text or "", _vectors(each, model, damaged),
            each.model != model, each.version, each.fields or (), each.thread and each.thread[:200],
        )
        for each in entities
        if each.type is not None and each.id != LAST
    )  # fmt: skip


def _vectors(entity: CopiedEntity, model: str, damaged: dict[str, str]) -> bytes | None:
    """Return the vectors of an entity, None if it has none of the model in use or they are damaged."""
    damaged.pop(entity.id, None)
    packed = entity.packed if entity.model == model else None
    if packed is None or (type(packed) is bytes and len(packed) % DIMENSIONS == 0):
        return packed
    damaged[entity.id] = (
        "its vector is damaged, so that it is compared by its words alone: `graphmem rebuild` makes it again"
    )
    return None


def is_whole(documents: list[CopiedEntity], commit: Commit) -> bool:
    """Return whether all that a commit wrote is among the rows: a later commit is visible after it."""
    seen = sum(each.changed == commit.revision for each in documents)
    return seen >= commit.entities or any(each.changed > commit.revision for each in documents)
