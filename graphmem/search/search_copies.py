"""Copies of owners' entities in memory, which searches compare whole (:mod:`graphmem.search.entity_copy`).

A copy is read at an owner's first search, and follows the owner: each search first reads what changed since
the last one, together with the entities that identifiers name. So what is acknowledged before a search is
found by it. The copies of a process together take at most ``Settings.search_memory``; beyond it, the one that
was used longest ago is dropped. A copy is a cache: it is dropped and read again at any time.

A search waits for a copy that is being read. Nothing else answers it: where the copy is not there in time,
could not be read, or does not fit into the memory, the search is refused.

The state of an owner may become visible before the entities of the same commit. So a commit counts as read
only once as many entities of it were seen as the state says that it wrote.

Searches of one owner read at the same time, and put what they read into the copy in any order. So what a
copy has read is never replaced by an older state of it.
"""

import asyncio
import time
from functools import partial
from typing import Any, Final

import structlog

from graphmem.database.left_out import note, without_damaged
from graphmem.database.queries import Queries
from graphmem.errors import SearchMemoryExceeded, ServiceBusy
from graphmem.search import owner_copy
from graphmem.search.copy_files import FiledCopies
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import CopyRows, FollowRows, Key, Mark, OwnerCopy, OwnerState
from graphmem.settings import Limits

ROWS_AT_ONCE: Final = 1_000
"""Entities of one read, of a whole copy or of what changed: more at once would hold up the event loop."""
INLINE_CHANGES: Final = 100
"""At most so many changed entities are put into a copy in the event loop; more in a thread."""
INLINE_CHARACTERS: Final = 50_000  # the same for the characters of their texts: 5 ms
CHANGED_LIMIT: Final = 50_000
"""If more entities than this changed since the last search, the copy is read anew."""
SAMPLED_ENTITIES: Final = 100  # entities of a type that say how much memory all of them take
FAILURES_LIMIT: Final = 2  # a copy that could not be read so often in a row is not waited for
FOLLOW_ATTEMPTS: Final = 3  # how often one search begins anew because the copy has to be read anew
TOO_LARGE_SECONDS: Final = 3_600.0  # seconds until a copy that did not fit into the memory is tried again

_log = structlog.get_logger("graphmem.search.search_copies")


class SearchCopies(FiledCopies):
    """The copies of one process, each of the entities of an owner with the vectors of a model."""

    async def follow(
        self, owner: str, model: str, identifiers: dict[str, Any], limits: Limits
    ) -> tuple[OwnerCopy, FollowRows]:
        """Bring the copy of an owner up to date, and read the entities that identifiers name with it.

        ``identifiers`` are parameters of ``search.follow``. An owner who does not exist has no state.

        Raises:
            ServiceBusy: the copy is still being read, or could not be read.
            SearchMemoryExceeded: it does not fit into the memory.
        """
        key = owner, model
        for _ in range(FOLLOW_ATTEMPTS):
            copy = self._used(key, partial(OwnerCopy, model=model))
            if copy.mark is None:
                await self._wait_for(key, copy, limits)
            while True:
                is_read = copy.mark is not None
                read = partial(self._read_rows, owner, copy, identifiers)
                rows, damaged = await without_damaged(read)
                if is_read or copy.mark is None:
                    break
                # It was read meanwhile: these rows do not say what changed since.
            if rows.state is None:
                if is_read:
                    await self.erase(owner)
                self._drop(key)
                return OwnerCopy(model=model), rows
            if not is_read:
                if copy.is_too_large:
                    raise SearchMemoryExceeded()
                if copy.failures:
                    raise ServiceBusy(
                        "this owner's entities could not be read into memory: try again in a moment"
                    )
                continue
            if await self._bring_up_to_date(key, copy, rows, rows.state, damaged):
                for entity_id, reason in copy.damaged.items():
                    note(entity_id, reason)
                return copy, rows
        raise ServiceBusy("this owner's entities change faster than they can be read: try again in a moment")

    def unread(self, owner: str | None = None) -> int:
        """Return how many entities are still to be read into copies, of one owner or of all; 0 if none is."""
        reading = [copy for key, copy in self._copies.items() if copy.loading and owner in (None, key[0])]
        return sum(max((copy.entities or 0) - copy.entities_read, 1) for copy in reading)

    async def _wait_for(self, key: Key, copy: OwnerCopy, limits: Limits) -> None:
        """Begin to read a copy, and wait for it as long as a search may."""
        if copy.loading is None:
            if time.monotonic() < copy.not_before:
                return
            self._begin(key, copy, partial(self._load, key, copy))
        if copy.is_too_large or copy.failures >= FAILURES_LIMIT:
            return
        loading = copy.loading
        assert loading is not None
        await asyncio.wait([loading], timeout=limits.copy_wait_seconds)
        if not loading.done():
            raise ServiceBusy(
                "this owner's entities are still being read into memory, where a search compares all of "
                "them: try again in a moment",
                entities=copy.entities,
                entities_read=copy.entities_read,
            )

    def _refuse(self, key: Key, copy: OwnerCopy) -> None:
        """Give a copy up that does not fit into the memory."""
        copy.is_too_large = True
        full_at = copy.full_at or len(copy.documents) or copy.entities_read or None
        again = time.monotonic() + TOO_LARGE_SECONDS
        new = OwnerCopy(model=copy.model, not_before=again, is_too_large=True, full_at=full_at)
        self._replace(key, copy, new)

    async def _load(self, key: Key, copy: OwnerCopy) -> None:
        start = time.monotonic()
        opened = self._files and await asyncio.to_thread(self._files.open, key, copy.behind)
        if opened:
            copy.documents, copy.mark, copy.newest, copy.damaged = opened
            copy.filed = copy.mark
            copy.entities = copy.entities_read = len(copy.documents)
            copy.failures = 0
        else:
            copy.damaged, damaged = await without_damaged(partial(self._read_all, key, copy))
            copy.damaged |= damaged
        if copy.mark is not None:
            what, seconds = "file" if opened else "copy", round(time.monotonic() - start, 3)
            _log.info(f"{what} for searches", owner=key[0], entities=len(copy.documents), seconds=seconds)
            self._make_room(key)

    async def _read_all(self, key: Key, copy: OwnerCopy) -> dict[str, str]:
        """Read all entities; return why some are not compared, by id."""
        documents, queries, damaged = SearchCopy(), self._database.reads(key[0]), dict[str, str]()
        files = self._files
        reading = self._page(queries, "", owner_copy.LAST)
        state = None
        try:
            while reading is not None:
                page = await reading
                if state is None:
                    state, copy.entities = page.state, page.entities
                    is_full = files is None and page.entities >= (copy.full_at or page.entities + 1)
                    room = self._memory + (0 if files is None else files.limit)
                    if is_full or await self._least_bytes(queries, copy, page) > room:
                        self._refuse(key, copy)
                        return damaged
                reading = None
                if len(page.documents) == ROWS_AT_ONCE:
                    # The database reads the next page while this one is put into the copy.
                    reading = self._page(queries, page.documents[-1].type or "", page.documents[-1].id)
                await asyncio.to_thread(owner_copy.put, documents, page.documents, copy.model, damaged)
                copy.entities_read = len(documents)
                if files is not None and owner_copy.is_to_be_written(documents, self._memory):
                    written = await asyncio.to_thread(files.write, documents.begin_compaction(), key)
                    documents.become(written)
                    files = files if written else None
                if documents.bytes > self._memory:
                    await asyncio.to_thread(documents.compact)
                if documents.bytes > self._memory:
                    self._refuse(key, copy)
                    return damaged
        finally:
            if reading is not None:
                reading.cancel()
        if state is not None:
            # The last commit may not have been visible as a whole: it is read once more.
            mark = Mark(state.node_key, state.changed.revision - 1, state.vectors_changed - 1)
            if files is not None and documents.bytes + documents.bytes_in_file > owner_copy.FILE_LEAST_BYTES:
                before = documents.begin_compaction()
                documents.become(await asyncio.to_thread(files.write, before, key, mark, damaged))
            if not documents.bytes_in_file:
                await asyncio.to_thread(documents.compact)
            copy.documents, copy.mark, copy.failures = documents, mark, 0
            copy.filed = None if self._files is None else await asyncio.to_thread(self._files.mark, key)
        return damaged

    @staticmethod
    async def _least_bytes(queries: Queries, copy: OwnerCopy, page: CopyRows) -> int:
        """Return what a copy takes at least; 0 if a page has all entities."""
        if len(page.documents) < ROWS_AT_ONCE:
            return 0
        samples = await queries.only("search.sample", list[owner_copy.TypeSample], limit=SAMPLED_ENTITIES)
        return await asyncio.to_thread(owner_copy.least_bytes, samples, copy.model)

    @staticmethod
    def _page(queries: Queries, kind: str, after: str) -> asyncio.Task[CopyRows]:
        """Begin to read the entities behind one, in the order of types and ids."""
        return asyncio.create_task(
            queries.only("search.copy", CopyRows, type=kind, after=after, limit=ROWS_AT_ONCE)
        )

    async def _read_rows(self, owner: str, copy: OwnerCopy, identifiers: dict[str, Any]) -> FollowRows:
        """Read what identifiers name, and what changed since the mark of a copy."""
        queries, mark = self._database.reads(owner), copy.mark or Mark("", 0, 0)
        limit = 0 if copy.mark is None else ROWS_AT_ONCE
        # Only a document that waits for its vector changes without a commit of the writer.
        vectors_limit = limit if copy.documents.pending_count else 0
        at, vectors_at = (mark.revision, owner_copy.LAST), (mark.vectors, owner_copy.LAST)
        rows: FollowRows | None = None
        while True:
            page = await queries.only(
                "search.follow", FollowRows, changed=at[0], after=at[1], vectors_changed=vectors_at[0],
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

    async def _bring_up_to_date(
        self, key: Key, copy: OwnerCopy, rows: FollowRows, state: OwnerState, damaged: dict[str, str]
    ) -> bool:
        """Put what changed into a copy; return whether the copy then has all that the state says. Another
        search may have read later, and put more into it: of that nothing is replaced."""
        changed = [*rows.documents, *rows.vectors]
        try:
            async with copy.lock:
                mark = copy.mark
                assert mark is not None
                is_far, ids = len(changed) > CHANGED_LIMIT, {each.id for each in changed}
                is_other = state.node_key != mark.node_key or not (is_far or copy.newest in {None, *ids})
                if is_far or is_other:
                    # Far behind, or the owner was erased and created again: the next search reads all.
                    self._replace(key, copy, OwnerCopy(model=copy.model, behind=mark))
                    if is_other:
                        await self._erase_files(key[0])
                    return False
                copy.newest = None
                change = partial(
                    owner_copy.change, changed=changed, model=copy.model, mark=mark, damaged=copy.damaged
                )
                characters = sum(len(each.text or "") for each in changed)
                if len(changed) > INLINE_CHANGES or characters > INLINE_CHARACTERS:
                    await copy.in_thread_with_lock(change)
                else:
                    change(copy.documents)
                copy.damaged |= damaged
                revision = state.changed.revision - (not owner_copy.is_whole(rows.documents, state.changed))
                copy.mark = Mark(
                    mark.node_key, max(mark.revision, revision), max(mark.vectors, state.vectors_changed - 1)
                )
            if self._writes(copy):
                self._begin_writing(key, copy)
            elif copy.documents.is_loose or copy.documents.bytes > self._memory:
                await copy.in_thread(partial(_tidy, memory=self._memory))
        except Exception:
            # A change that was not completed may have left anything behind.
            self._replace(key, copy, OwnerCopy(model=copy.model))
            raise
        if copy.documents.bytes > self._memory:
            self._refuse(key, copy)
        self._note_use(key, copy)
        self._make_room(key)
        return True


def _tidy(documents: SearchCopy, memory: int) -> None:
    """Compact a copy if that is worth it, and take all memory from it that it can do without."""
    fits = documents.bytes + documents.bytes_in_file <= memory or not documents.bytes_in_file
    if documents.is_loose and fits:
        documents.compact()
    if documents.bytes > memory:
        documents.terms.forget_stems()
    if documents.bytes > memory and fits:
        documents.compact()
