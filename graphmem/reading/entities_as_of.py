"""Pages of entities as of a time, by id: each is reduced again from its observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from graphmem import cypher
from graphmem.model import identity, times
from graphmem.reading import answers, as_of, cursors, recomputed
from graphmem.reading.answers import EntityRow
from graphmem.reading.as_of import Clocks
from graphmem.reading.entity_pages import EntityRequest, too_many
from graphmem.reading.pages import Page
from graphmem.registry import Context

REDUCED: Final = 2_000
"""Most entities that one call reduces."""
_AT_ONCE: Final = 50


async def page(
    context: Context, request: EntityRequest, clocks: Clocks, query: str, cursor: str | None
) -> Page[EntityRow]:
    """Return a page of the entities that were there, by id.

    What is committed meanwhile, or after the first page, is in none of the pages.

    Raises:
        InvalidCursor: the cursor is that of another query.
        InvalidInput: a total of more entities than one call reduces.
    """
    after, skip, clocks = await _start(context, request, clocks, query, cursor)
    known = clocks.bounds["at_ingested"]
    if request.counted:
        return await _counted(context, request, clocks, after, skip)
    walk = _Walk(context, request, clocks, after)
    found: list[EntityRow] = []
    while not walk.ended and walk.reduced < REDUCED and len(found) <= skip + request.limit:
        found += await walk.stretch()
        if walk.characters > answers.ANSWER_CHARACTERS and len(found) > skip:
            break
    part = found[skip : skip + request.limit]
    if len(found) > skip + len(part):
        place = {"id": part[-1].id, "skip": 0, "known": known}
        return Page(part, place)
    if walk.ended:
        return Page(part)
    place = {"id": walk.after, "skip": max(0, skip - len(found)), "known": known}
    return Page(part, place, truncated=len(part) < request.limit, scanned=walk.reduced)


async def _start(
    context: Context, request: EntityRequest, clocks: Clocks, query: str, cursor: str | None
) -> tuple[str, int, Clocks]:
    """Return the id behind which a request starts, how many it skips, and the clocks of all its pages."""
    if cursor is None:
        _, pinned = await as_of.pinned(context, [], clocks)
        return "", request.offset, pinned
    place = cursors.decode(query, cursor, {"id": str, "skip": int, "known": int})
    fits = len(place["id"]) <= identity.KEY_LIMIT and 0 <= place["skip"] <= 1 << 62
    if not (fits and times.EARLIEST <= place["known"] <= times.LATEST):
        raise cursors.refused()
    return place["id"], place["skip"], clocks.pinned(min(place["known"], clocks.bounds["at_ingested"]))


async def _counted(
    context: Context, request: EntityRequest, clocks: Clocks, after: str, skip: int
) -> Page[EntityRow]:
    """Return a page with the total: everything is reduced for that."""
    walk = _Walk(context, request, clocks, "")
    found: list[EntityRow] = []
    total = 0
    while not walk.ended:
        some = await walk.stretch()
        if walk.reduced > REDUCED:
            message = f"more than {REDUCED:,} entities would have to be reduced for a total: leave it out"
            raise too_many("$.include_total_count", message)
        total += len(some)
        room = skip + request.limit + 1 - len(found)
        found += [one for one in some if one.id > after][: max(0, room)]
    part = found[skip : skip + request.limit]
    place = None
    if len(found) > skip + len(part):
        place = {"id": part[-1].id, "skip": 0, "known": clocks.bounds["at_ingested"]}
    return Page(part, place, total=total)


class _Walk:
    """Goes through all entities that there ever were, by id, and reduces each."""

    def __init__(self, context: Context, request: EntityRequest, clocks: Clocks, after: str) -> None:
        # Whatever their state is now: what counts is that of then.
        self._request = replace(request, include_deleted=True, include_merged=True)
        self._deleted = request.include_deleted
        self._context, self._clocks = context, clocks
        self.after, self.reduced, self.characters, self.ended = after, 0, 0, False

    async def stretch(self) -> list[EntityRow]:
        """Return those of the next entities that were there, and unmerged, then."""
        row = await self._context.graph.one(
            cypher.form("entity.scan", "asc"),
            **self._request.which,
            after=self.after,
            fields=[],
            cut=0,
            reach=_AT_ONCE,
        )
        assert row is not None
        ids = [one[0] for one in row["found"]]
        self.ended = len(ids) < _AT_ONCE
        if not ids:
            return []
        self.after, self.reduced = ids[-1], self.reduced + len(ids)
        then = await recomputed.entities(self._context, ids, **self._clocks.bounds)
        # What was merged then is not among the rows under its own id.
        rows = [then.rows[one] for one in ids if one in then.rows]
        self.characters += sum(len(value) for one in rows for value in one.values)
        return [one for one in rows if one.observation_count and (one.live or self._deleted)]
