"""Removing objects that no source refers to: what a crash between the object store and the graph left behind.

An object is stored before its source is written, so one that was put lately may be about to get its source. A
put of bytes that are there already makes their object recent again. So nobody uses an object that is older
than the grace time and has no source, and it is removed.

The objects of an owner without any source stay. Such a store seldom holds remains alone: rather it belongs to
another database, or this one was restored without its sources.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from graphmem.database.driver import Database
from graphmem.model.times import EARLIEST
from graphmem.objects import ListedObject, ObjectStore
from graphmem.objects.keys import owner_segment

PAGE_OBJECTS: Final = 1_000  # objects of a page; sources that one query reads


@dataclass(slots=True)
class Amount:
    objects: int = 0
    size: int = 0

    def add(self, listed: ListedObject) -> None:
        self.objects += 1
        self.size += listed.size


@dataclass(slots=True)
class Removal:
    """The objects that were looked at and removed. With ``dry_run``, ``removed`` is what would be."""

    dry_run: bool
    used: Amount = field(default_factory=Amount)  # objects with a source
    recent: Amount = field(default_factory=Amount)  # younger than the grace time
    removed: Amount = field(default_factory=Amount)
    foreign: Amount = field(default_factory=Amount)  # objects of owners without any source; they stay
    foreign_segments: set[str] = field(default_factory=set)  # the path segments of these owners
    unfinished: Amount = field(default_factory=Amount)  # temporary files of puts that did not end


async def remove_unreferenced(
    database: Database, store: ObjectStore, modified_before: int, *, dry_run: bool, foreign: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Removal:  # fmt: skip
    """Remove the objects that no source refers to and that were put before a time (microseconds).

    ``foreign``: also those of owners without any source. ``progress`` is called with the objects since its
    last call.
    """
    removal = Removal(dry_run)
    owners = {owner_segment(owner): owner async for owner in database.owners()}
    segment, used = "", set[str]()
    async for page in _pages(store):
        if page[0].segment != segment:
            segment = page[0].segment
            used = await _used(database, store, page[0].owner or owners.get(segment))
        for listed in page:
            if listed.modified_at >= modified_before:
                removal.recent.add(listed)
            elif listed.name in used:
                removal.used.add(listed)
            elif not used and not foreign:
                removal.foreign.add(listed)
                removal.foreign_segments.add(segment)
            elif dry_run or await store.remove(listed, modified_before=modified_before):
                removal.removed.add(listed)
        progress(len(page))
    left = await store.leftovers(modified_before, remove=not dry_run)
    removal.unfinished = Amount(left.count, left.size)
    return removal


async def _used(database: Database, store: ObjectStore, owner: str | None) -> set[str]:
    used = set[str]()
    if owner is not None:
        async for hashes in content_hashes(database, owner):
            used |= await store.names(owner, hashes)
    return used


async def content_hashes(database: Database, owner: str) -> AsyncIterator[list[str]]:
    """Yield the content hashes of the sources of an owner, in pages; one may come again."""
    at: int | None = EARLIEST
    after: str | None = ""
    while True:
        hashes, at, after = await database.reads(owner).only(
            "source.content_hashes", tuple[list[str], int | None, str | None], at=at, after=after,
            limit=PAGE_OBJECTS,
        )  # fmt: skip
        if at is None or after is None:
            break
        yield hashes


async def _pages(store: ObjectStore) -> AsyncIterator[list[ListedObject]]:
    page: list[ListedObject] = []
    async for listed in store.keys():
        if page and (listed.segment != page[0].segment or len(page) == PAGE_OBJECTS):
            yield page
            page = []
        page.append(listed)
    if page:
        yield page
