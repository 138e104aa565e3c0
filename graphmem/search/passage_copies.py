"""Copies of the passages of owners' sources in memory, which searches compare whole.

A copy is read at an owner's first search, and follows the owner: a search whose owner has newer passages
reads these first. Passages that do not fit into the memory are left out, those that changed longest ago
first, and answers say so.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, NamedTuple

from graphmem.database import left_out
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.embedding.meaning import DIMENSIONS
from graphmem.search.copy_arrays import EntityText
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import MemoryCopies, MemoryCopy, PassagesChange
from graphmem.settings import Limits
from graphmem.text import words

SOURCES_AT_ONCE: Final = 40  # sources of one read
_LAST: Final = "\uffff"


class SourceRow(NamedTuple):
    """A row of ``passages/changed.cypher``; a copy has it without texts and vectors.

    ``withdrawals`` are the times (microseconds) when it was withdrawn, taken back, and so on. ``is_cut``: its
    text goes on behind its passages.
    """

    source_id: str
    changed: int
    recorded_at: int
    learned_at: int
    withdrawals: list[int]
    name: str | None
    title: str | None
    is_cut: bool
    texts: list[str]
    packed: bytes | None

    @property
    def fault(self) -> str | None:
        if wrong := left_out.wrong_types(self):
            return wrong
        packed, length = self.packed, DIMENSIONS * len(self.texts)
        is_sound = packed is None or len(packed) == length
        return None if is_sound else "the vectors of its text are damaged, so that its text is not searched"

    def without_damage(self) -> SourceRow:
        """Return the row of a file without text."""
        return SourceRow(self.source_id, self.changed, 0, 0, [], None, None, False, [], None)

    @property
    def names(self) -> str:
        return f"{self.name or ''} | {self.title or ''}"

    def counts(self, at: int, at_ingested: int) -> bool:
        """Return whether its text counts as of two clocks: it was stored, and not withdrawn."""
        withdrawn = sum(each <= at_ingested for each in self.withdrawals) % 2 == 1
        return self.recorded_at <= at and self.learned_at <= at_ingested and not withdrawn


@dataclass(slots=True, eq=False)
class PassageCopy(MemoryCopy):
    """The passages of one owner: documents whose id is that of the source with the number of the passage.

    Attributes:
        sources: by id, in the order of their last changes.
        mark: the number of the last change that was read.
        left_out: the sources that do not fit into the memory.
        is_behind: some passages are still being read.
    """

    sources: OrderedDict[str, SourceRow] = field(default_factory=OrderedDict)
    mark: int = 0
    left_out: set[str] = field(default_factory=set)
    is_behind: bool = False

    def put(self, documents: SearchCopy, rows: list[SourceRow], memory: int) -> None:
        """Put the passages of some sources in the place of earlier ones, and leave out what does not fit."""
        for row in rows:
            self.damaged.pop(row.source_id, None)
            if (fault := row.fault) is not None:
                row, self.damaged[row.source_id] = row.without_damage(), fault
            self._remove(documents, row.source_id)
            self.sources[row.source_id] = row._replace(texts=[], packed=None)
            packed = row.packed or bytes(DIMENSIONS * len(row.texts))
            name = " ".join(dict.fromkeys(words.tokens(row.names)))
            self.left_out.discard(row.source_id)
            documents.put(
                EntityText(
                    f"{row.source_id} {number}", "", row.recorded_at,
                    f"{name}{words.VALUE_SEPARATOR}{' '.join(words.tokens(text))}",
                    packed[number * DIMENSIONS : (number + 1) * DIMENSIONS],
                )
                for number, text in enumerate(row.texts)
            )  # fmt: skip
        if documents.bytes > memory:
            documents.compact()
        while documents.bytes > memory and len(self.sources) > 1:
            for source_id in list(self.sources)[: max(1, len(self.sources) // 10)]:
                self._remove(documents, source_id)
                self.left_out.add(source_id)
            documents.compact()
        if documents.is_loose:
            documents.compact()

    def _remove(self, documents: SearchCopy, source_id: str) -> None:
        if self.sources.pop(source_id, None) is not None:
            for number in count():
                if documents.number_of(passage := f"{source_id} {number}") is None:
                    break
                documents.remove(passage)


class PassageCopies(MemoryCopies[PassageCopy]):
    """The copies of one process; the vectors of other models than ``model`` are left out."""

    def __init__(self, database: Database, memory: int, model: str) -> None:
        super().__init__(database, memory)
        self._model = model

    async def follow(
        self, owner: str, node_key: str, change: PassagesChange, limits: Limits
    ) -> PassageCopy | None:
        """Return the copy of an owner, if any passages changed, up to date as far as a search may wait."""
        if not change.number:
            return None
        key = owner, node_key
        copy = self._used(key, PassageCopy)
        end = time.monotonic() + limits.passages_wait_seconds
        while copy.mark < change.number and (left := end - time.monotonic()) > 0:
            if copy.loading is None and time.monotonic() < copy.not_before:
                break
            copy.is_behind = True
            loading = copy.loading or self._begin(key, copy, partial(self._load, owner, copy, change))
            await asyncio.wait([loading], timeout=left)
            if copy.mark >= change.number - 1:
                # What is not visible as a whole yet is left to the next search.
                break
        for source_id, reason in copy.damaged.items():
            left_out.note(source_id, reason)
        self._make_room(key)
        return copy

    async def _load(self, owner: str, copy: PassageCopy, change: PassagesChange) -> None:
        queries, at, seen = self._database.reads(owner), (copy.mark, _LAST), 0
        while True:
            rows, damaged = await left_out.without_damaged(partial(self._read, queries, copy, *at))
            if not rows:
                break
            copy.damaged |= damaged
            at = rows[-1].changed, rows[-1].source_id
            seen += sum(row.changed >= change.number for row in rows)
        # The last change may not have been visible as a whole: then it is read once more.
        is_whole = seen >= change.sources or at[0] > change.number
        copy.mark, copy.is_behind = max(copy.mark, change.number - (not is_whole)), False

    async def _read(self, queries: Queries, copy: PassageCopy, changed: int, after: str) -> list[SourceRow]:
        rows = await queries.only(
            "passages.changed", list[SourceRow], changed=changed, after=after, limit=SOURCES_AT_ONCE,
            model=self._model,
        )  # fmt: skip
        await copy.in_thread(partial(copy.put, rows=rows, memory=self._memory))
        return rows
