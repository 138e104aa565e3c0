"""Copies of owners' entities in memory, which searches compare whole (:mod:`graphmem.matching.search_copy`).

A copy is read at an owner's first search, and follows the owner: each search first reads what changed since
the last one, together with the entities that identifiers name. So what is acknowledged before a search is
found by it. The copies of a process together take at most ``Settings.search_memory``; beyond it, the one that
was used longest ago is dropped. A copy is a cache: it is dropped and read again at any time.

The state of an owner may become visible before the entities of the same commit. So a commit counts as read
only once as many entities of it were seen as the state says that it wrote.

Searches of one owner read at the same time, and put what they read into the copy in any order. So what a
copy has read is never replaced by an older state of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from graphmem.database.admission import Admission
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.errors import GraphmemError
from graphmem.matching.kind_members import KindMembers
from graphmem.matching.search_copy import Document, SearchCopy

ROWS_AT_ONCE: Final = 5_000
"""Entities of one read, of a whole copy or of what changed."""
CHANGED_LIMIT: Final = 50_000
"""If more entities than this changed since the last search, the copy is read anew."""
INLINE_DOCUMENTS: Final = 4_000
"""A copy with at most so many documents is compared in the event loop, in a millisecond; a larger one in a
thread."""
FAILED_SECONDS: Final = 10.0
"""Seconds until a copy that could not be read is tried again."""
TOO_LARGE_SECONDS: Final = 3_600.0
"""Seconds until a copy that did not fit into the memory is tried again."""

T = TypeVar("T")
_log = structlog.get_logger("graphmem.database.search_copies")


class Commit(NamedTuple):
    """The last commit that wrote entities of an owner: the revision, and how many entities it wrote."""

    revision: int
    entities: int


class OwnerState(NamedTuple):
    """The row of ``search/_state.cypher``."""

    node_key: str
    changed: Commit
    vectors_changed: int


class CopiedEntity(NamedTuple):
    """The row of ``search/_document.cypher``.

    ``changed`` is the revision that wrote the entity last, ``vectors_changed`` the call of the worker that
    stored its vectors last, 0 if none did.
    """

    id: str
    changed: int
    vectors_changed: int
    type: str | None
    at: int
    text: str | None
    model: str | None
    packed: bytes | None


class _CopyRows(NamedTuple):
    """The row of ``search/copy.cypher``."""

    state: OwnerState | None
    documents: list[CopiedEntity]


class ExactMatch(NamedTuple):
    """An entity that identifiers name.

    ``kind`` is the strongest one, an index into the kinds of identifiers; ``pairs`` are the (kind, index key)
    pairs that name it; ``type`` is the type of the entity.
    """

    id: str
    kind: int
    pairs: list[tuple[str, str]]
    type: str


class TypeAlias(NamedTuple):
    """Another name of an entity type."""

    name: str
    type: str


class _FollowRows(NamedTuple):
    """The row of ``search/follow.cypher``."""

    state: OwnerState | None
    documents: list[CopiedEntity]
    vectors: list[CopiedEntity]
    exact: list[ExactMatch]
    aliases: list[TypeAlias]


_LAST: Final = "\uffff"
"""A text after every id."""


class _Key(NamedTuple):
    owner: str
    model: str


class _Mark(NamedTuple):
    """Up to where a copy has read its owner: all commits up to ``revision``, and vectors up to
    ``vectors``."""

    node_key: str
    revision: int
    vectors: int


@dataclass(slots=True)
class OwnerCopy:
    """The copy of one owner, with the vectors of one model.

    The lock is held by who changes the copy, or compares it.
    """

    model: str
    documents: SearchCopy = field(default_factory=SearchCopy)
    members: KindMembers = field(default_factory=KindMembers)
    mark: _Mark | None = None
    loading: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0

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
        if len(self.documents) <= INLINE_DOCUMENTS:
            return await self.look(function)
        async with heavy.place():
            return await self.in_thread(function)

    async def in_thread(self, function: Callable[[SearchCopy], T]) -> T:
        """Return what a function of the copy answers, in a thread.

        A thread cannot be stopped. So a request that is cancelled keeps the copy until its thread has ended.
        """
        async with self.lock:
            thread = asyncio.create_task(asyncio.to_thread(function, self.documents))
            try:
                return await asyncio.shield(thread)
            finally:
                while not thread.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait([thread])


class Followed(NamedTuple):
    """The copy of an owner, the entities that identifiers name, and other names of types, as of one read.

    ``copy`` is ``None`` while the copy is being read, and if the owner has more entities than fit into the
    memory.
    """

    copy: OwnerCopy | None
    exact: list[ExactMatch]
    aliases: Mapping[str, str]


class SearchCopies:
    """The copies of one process.

    Args:
        memory: how many bytes the copies take together, about.
    """

    def __init__(self, database: Database, memory: int) -> None:
        self._database, self._memory = database, memory
        self._copies: OrderedDict[_Key, OwnerCopy] = OrderedDict()

    async def close(self) -> None:
        """End what is being read."""
        loads = [copy.loading for copy in self._copies.values() if copy.loading is not None]
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)

    @property
    def bytes(self) -> int:
        """The memory of all copies, about."""
        return sum(copy.documents.bytes + copy.members.bytes for copy in self._copies.values())

    async def follow(
        self, owner: str, model: str, identifiers: dict[str, Any], wait_seconds: float
    ) -> Followed:
        """Bring the copy of an owner up to date, and read the entities that identifiers name.

        Args:
            model: the model whose vectors count.
            identifiers: the parameters ``pairs``, ``kinds``, ``types`` and ``list_limit`` of
                ``search.follow``.
            wait_seconds: how long to wait for a copy that is being read.

        Raises:
            Unavailable: the database failed.
        """
        key = _Key(owner, model)
        copy = self._copies.setdefault(key, OwnerCopy(model))
        self._copies.move_to_end(key)
        if copy.mark is None and time.monotonic() >= copy.not_before:
            if copy.loading is None:
                # The copy belongs to the process, not to the request: it has no deadline and no trace.
                copy.loading = asyncio.create_task(self._load(owner, copy), context=contextvars.Context())
            await asyncio.wait([copy.loading], timeout=wait_seconds)
        mark = copy.mark
        rows = await self._read(owner, copy, identifiers)
        if mark is None and copy.mark is not None:
            # It was read meanwhile: these rows do not say what changed since.
            rows = await self._read(owner, copy, identifiers)
        if rows.state is None:
            self._drop(key)
            return Followed(OwnerCopy(model), [], {})
        aliases = {alias.name: alias.type for alias in rows.aliases}
        if not await self._apply(copy, rows, rows.state):
            return Followed(None, rows.exact, aliases)
        await self._tidy(key, copy)
        return Followed(copy if copy.mark is not None else None, rows.exact, aliases)

    def _drop(self, key: _Key) -> None:
        copy = self._copies.pop(key, None)
        if copy is not None and copy.loading is not None:
            copy.loading.cancel()

    async def _load(self, owner: str, copy: OwnerCopy) -> None:
        """Read the whole copy of an owner."""
        start = time.monotonic()
        try:
            await self._read_all(self._database.reads(owner), copy)
        except GraphmemError as exc:
            copy.not_before = time.monotonic() + FAILED_SECONDS
            _log.warning("a copy for searches is read later", owner=owner, reason=str(exc)[:500])
        finally:
            copy.loading = None
        if copy.mark is not None:
            seconds = round(time.monotonic() - start, 3)
            _log.info("copy for searches", owner=owner, entities=len(copy.documents), seconds=seconds)

    async def _read_all(self, queries: Queries, copy: OwnerCopy) -> None:
        documents = SearchCopy()
        reading = self._page(queries, "", _LAST)
        state = None
        try:
            while reading is not None:
                page = await reading
                state = state or page.state
                reading = None
                if len(page.documents) == ROWS_AT_ONCE:
                    # The database reads the next page while this one is put into the copy.
                    reading = self._page(queries, page.documents[-1].type or "", page.documents[-1].id)
                await asyncio.to_thread(documents.put, list(_documents(page.documents, copy.model)))
                if documents.bytes > self._memory:
                    self._refuse(copy)
                    return
        finally:
            if reading is not None:
                reading.cancel()
        await asyncio.to_thread(documents.compact)
        if state is not None:
            # The last commit may not have been visible as a whole: it is read once more.
            mark = _Mark(state.node_key, state.changed.revision - 1, state.vectors_changed - 1)
            copy.documents, copy.mark = documents, mark

    @staticmethod
    def _page(queries: Queries, kind: str, after: str) -> asyncio.Task[_CopyRows]:
        """Begin to read the entities behind one, in the order of types and ids."""
        return asyncio.create_task(
            queries.only("search.copy", _CopyRows, type=kind, after=after, limit=ROWS_AT_ONCE)
        )

    @staticmethod
    def _refuse(copy: OwnerCopy) -> None:
        """Give a copy up that does not fit into the memory."""
        copy.documents, copy.mark = SearchCopy(), None
        copy.not_before = time.monotonic() + TOO_LARGE_SECONDS

    async def _read(self, owner: str, copy: OwnerCopy, identifiers: dict[str, Any]) -> _FollowRows:
        """Read what changed since the mark of a copy, and what identifiers name; without a mark, the latter
        alone."""
        queries, mark = self._database.reads(owner), copy.mark or _Mark("", 0, 0)
        limit = 0 if copy.mark is None else ROWS_AT_ONCE
        # Only a document that waits for its vector changes without a commit of the writer.
        vectors_limit = limit if copy.documents.pending_count else 0
        at, vectors_at = (mark.revision, _LAST), (mark.vectors, _LAST)
        rows: _FollowRows | None = None
        while True:
            page = await queries.only(
                "search.follow", _FollowRows, changed=at[0], after=at[1], vectors_changed=vectors_at[0],
                vectors_after=vectors_at[1], limit=limit, vectors_limit=vectors_limit,
                **(identifiers if rows is None else {**identifiers, "pairs": []}),
            )  # fmt: skip
            if page.documents:
                at = (page.documents[-1].changed, page.documents[-1].id)
            if page.vectors:
                vectors_at = (page.vectors[-1].vectors_changed, page.vectors[-1].id)
            if rows is None:
                rows = page
            else:
                rows.documents.extend(page.documents)
                rows.vectors.extend(page.vectors)
            is_last = len(page.documents) < ROWS_AT_ONCE and len(page.vectors) < ROWS_AT_ONCE
            if is_last or len(rows.documents) + len(rows.vectors) > CHANGED_LIMIT:
                return rows

    async def _apply(self, copy: OwnerCopy, rows: _FollowRows, state: OwnerState) -> bool:
        """Put what changed into a copy; return whether the copy then has all that the state says.

        Another search may have read later, and put more into it: of that nothing is replaced.
        """
        changed = [*rows.documents, *rows.vectors]
        async with copy.lock:
            mark = copy.mark
            if mark is None:
                return False
            if len(changed) > CHANGED_LIMIT or state.node_key != mark.node_key:
                # Far behind, or the owner was erased and created again: the next search reads all.
                copy.mark = None
                return False
            newer = [each for each in changed if _is_newer(each, copy.documents, mark)]
            for each in newer:
                if each.type is None:
                    copy.documents.remove(each.id)
            copy.documents.put(_documents(newer, copy.model))
            revision = state.changed.revision - (not _is_whole(rows.documents, state.changed))
            copy.mark = _Mark(
                mark.node_key, max(mark.revision, revision), max(mark.vectors, state.vectors_changed - 1)
            )
        return True

    async def _tidy(self, key: _Key, copy: OwnerCopy) -> None:
        """Compact a copy that is worth it, and drop copies beyond the memory."""
        if copy.documents.is_loose:
            await copy.in_thread(SearchCopy.compact)
        if copy.documents.bytes > self._memory:
            self._refuse(copy)
        while self.bytes > self._memory and len(self._copies) > 1:
            self._drop(next(other for other in self._copies if other != key))


def _documents(entities: Iterable[CopiedEntity], model: str) -> Iterator[Document]:
    """Yield the documents of the entities that answers list."""
    for entity in entities:
        if entity.type is not None:
            is_pending = entity.model != model
            vectors = None if is_pending else entity.packed
            yield Document(
                entity.id, entity.type, entity.at, entity.text or "", vectors, is_pending, _version(entity)
            )


def _version(entity: CopiedEntity) -> tuple[int, int]:
    return entity.changed, entity.vectors_changed


def _is_newer(entity: CopiedEntity, documents: SearchCopy, mark: _Mark) -> bool:
    """Return whether a row says at least as new a state of an entity as a copy has: it may be removed
    there."""
    copied = documents.version_of(entity.id)
    return entity.changed > mark.revision if copied is None else _version(entity) >= copied


def _is_whole(documents: list[CopiedEntity], commit: Commit) -> bool:
    """Return whether all that a commit wrote is among the rows: a later commit is visible after it as a
    whole."""
    seen = sum(each.changed == commit.revision for each in documents)
    return seen >= commit.entities or any(each.changed > commit.revision for each in documents)
