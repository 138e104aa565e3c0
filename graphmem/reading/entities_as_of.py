"""Pages of entities as of a time, by id. Each entity is reduced from its observations."""

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
    Raises InvalidInput: the total needs more entities than one call reduces.
    """
    after, skip, limits = "", request.offset, context.services.limits
    if cursor is None:
        _, clocks = await as_of.pinned(context, [], clocks)
    else:
        decoded = cursors.decode(query, cursor, {"id": str, "skip": int, "known": int})
        after, skip = decoded["id"], decoded["skip"]
        clocks = clocks.pinned(min(decoded["known"], clocks.bounds["at_ingested"]))
    known, counted, limit = clocks.bounds["at_ingested"], request.counted, limits.reduced_entities
    # An entity that is deleted, merged or absent today may have been live at that time.
    which = replace(request, include_deleted=True, include_merged=True, include_absent=True).which
    # Some were merged at that time: a few more than the page, so that one read is mostly enough.
    usual = min(_ENTITIES_PER_READ, max(_ENTITIES_PER_READ // 2, request.limit * 5 // 4))
    # Every entity is reduced for a total.
    last, rows, ended = "" if counted else after, list[EntityRow](), False
    total = reduced = characters = 0
    while not ended and (counted or (reduced < limit and len(rows) <= skip + request.limit)):
        reach = min(usual, limit + counted - reduced)
        row = await context.graph.only(
            cypher.form("entity.scan", "asc"), CandidateRows, **which, after=last, fields=[], cut=0,
            reach=reach,
        )  # fmt: skip
        ids = [values[0] for values in row.candidates]
        ended, reduced, last = len(ids) < reach, reduced + len(ids), ids[-1] if ids else last
        if counted and reduced > limit:
            message = f"more than {limit:,} entities would have to be reduced for a total: leave it out"
            raise too_many("$.include_total_count", message)
        # An entity that was merged at that time has no row under its own id.
        then = (await recomputed.entities(context, ids, **clocks.bounds)).rows if ids else {}
        stretch = [then[entity_id] for entity_id in ids if entity_id in then]
        characters += sum(len(value) for row in stretch for value in row.values)
        stretch = [row for row in stretch if row.observation_count and (row.live or request.include_deleted)]
        total += len(stretch)
        room = skip + request.limit + 1 - len(rows)
        rows += [row for row in stretch if row.id > after][: max(0, room)]
        if characters > answers.ANSWER_CHARACTERS and len(rows) > skip and not counted:
            break
    part = rows[skip : skip + request.limit]
    place = None
    if len(rows) > skip + len(part):
        place = {"id": part[-1].id, "skip": 0, "known": known}
    elif not ended:
        place = {"id": last, "skip": max(0, skip - len(rows)), "known": known}
        return Page(part, place, truncated=len(part) < request.limit, scanned=reduced)
    return Page(part, place, total=total if counted else None)
