"""Pages of entities as of a time, by id. Each entity is reduced from its observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from graphmem import cypher
from graphmem.context import Context
from graphmem.reading import answers, as_of, cursors, recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.entity_pages import EntityRequest, too_many
from graphmem.reading.pages import Page
from graphmem.reading.scan import CandidateRows
from graphmem.reading.shared_rows import EntityRow

_ENTITIES_PER_READ: Final = 125


async def page(
    context: Context, request: EntityRequest, clocks: Clocks, query: cursors.Query, cursor: str | None
) -> Page[EntityRow]:
    """Return a page of the entities that existed at that time, by id.

    The first page pins the time of recording, so that later commits are in none of the pages.

    Raises:
        InvalidInput: the total needs more entities than one call reduces.
    """
    after, skip = "", request.offset
    if cursor is None:
        _, clocks = await as_of.pinned(context, [], clocks)
    else:
        decoded = cursors.decode(query, cursor, {"id": str, "skip": int, "known": int})
        after, skip = decoded["id"], decoded["skip"]
        clocks = clocks.pinned(min(decoded["known"], clocks.bounds["at_ingested"]))
    known, counted = clocks.bounds["at_ingested"], request.counted
    # Every entity is reduced for a total.
    walk = _ReducedWalk(context, request, clocks, "" if counted else after)
    rows: list[EntityRow] = []
    total, limit = 0, context.services.limits.reduced_entities
    while not walk.ended and (counted or (walk.reduced < limit and len(rows) <= skip + request.limit)):
        stretch = await walk.stretch(limit + counted - walk.reduced)
        if counted and walk.reduced > limit:
            message = f"more than {limit:,} entities would have to be reduced for a total: leave it out"
            raise too_many("$.include_total_count", message)
        total += len(stretch)
        room = skip + request.limit + 1 - len(rows)
        rows += [row for row in stretch if row.id > after][: max(0, room)]
        if walk.characters > answers.ANSWER_CHARACTERS and len(rows) > skip and not counted:
            break
    part = rows[skip : skip + request.limit]
    place = None
    if len(rows) > skip + len(part):
        place = {"id": part[-1].id, "skip": 0, "known": known}
    elif not walk.ended:
        place = {"id": walk.after, "skip": max(0, skip - len(rows)), "known": known}
        return Page(part, place, truncated=len(part) < request.limit, scanned=walk.reduced)
    return Page(part, place, total=total if counted else None)


class _ReducedWalk:
    """A walk over all entities of the owner by id, which reduces each of them."""

    def __init__(self, context: Context, request: EntityRequest, clocks: Clocks, after: str) -> None:
        # An entity that is deleted, merged or absent today may have been live at that time.
        self._request = replace(request, include_deleted=True, include_merged=True, include_absent=True)
        self._deleted = request.include_deleted
        self._context, self._clocks, self._limit = context, clocks, request.limit
        self.after, self.reduced, self.characters, self.ended = after, 0, 0, False

    async def stretch(self, most: int) -> list[EntityRow]:
        """Return those of the next entities, at most some, that existed and were not merged then."""
        # Some were merged at that time: a few more than the page, so that one read is mostly enough.
        reach = min(_ENTITIES_PER_READ, max(_ENTITIES_PER_READ // 2, self._limit * 5 // 4), most)
        row = await self._context.graph.only(
            cypher.form("entity.scan", "asc"), CandidateRows, **self._request.which, after=self.after,
            fields=[], cut=0, reach=reach,
        )  # fmt: skip
        ids = [values[0] for values in row.candidates]
        self.ended = len(ids) < reach
        if not ids:
            return []
        self.after, self.reduced = ids[-1], self.reduced + len(ids)
        then = await recomputed.entities(self._context, ids, **self._clocks.bounds)
        # An entity that was merged at that time has no row under its own id.
        rows = [then.rows[entity_id] for entity_id in ids if entity_id in then.rows]
        self.characters += sum(len(value) for row in rows for value in row.values)
        return [row for row in rows if row.observation_count and (row.live or self._deleted)]
