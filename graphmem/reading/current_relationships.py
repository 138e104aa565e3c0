"""Relationships that are current, and those that have ended, now or as of a time.

Whether one has ended is worked out from its metadata (:mod:`graphmem.model.ending`) when it is read.
So a page of current relationships reads them in their order, and leaves out the ended ones, until it is full.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from graphmem.context import Context
from graphmem.database.left_out import as_read
from graphmem.errors import InvalidInput
from graphmem.model import ending, times
from graphmem.reading import answers, as_of, cursors, shared_rows
from graphmem.reading.as_of import Clocks
from graphmem.reading.relationship_pages import EdgePage, EdgeRequest, relationship_page

_READ_AT_ONCE: Final = 500  # relationships that one query recomputes


def instant(clocks: Clocks) -> int:
    """Return the time (microseconds) at which relationships are current: the request's, or the clock's."""
    return times.now() if clocks.at is None else clocks.at


def has_ended(row: shared_rows.RelationshipRow, at: int) -> bool:
    return ending.ended(shared_rows.snapshot_of(row).items(), at) is not None


async def ended(context: Context, written: Mapping[str, Collection[str]], clocks: Clocks) -> set[str]:
    """Return the keys of the relationships that have ended as of the clocks. ``written`` has for each
    relationship the keys under which it was written."""
    at = instant(clocks)
    if clocks.now:
        rows = await context.graph.only(
            "relationship.endings", list[tuple[str, list[list[str]], int | None]], keys=sorted(written),
            names=sorted(ending.NAMES), characters=ending.VALUE_LIMIT,
        )  # fmt: skip
        shared_rows.refuse_stale_keys((key, refold) for key, _, refold in rows)
        return {
            key
            for key, fields, _ in rows
            if ending.ended(((name, value) for name, value in fields), at) is not None
        }
    every = sorted(written)
    ended_keys: set[str] = set()
    for start in range(0, len(every), _READ_AT_ONCE):
        keys = [key for each in every[start : start + _READ_AT_ONCE] for key in sorted(written[each])]
        rows = await as_of.relationships(context, keys, clocks)
        ended_keys.update(row.key for row in rows if has_ended(row, at))
    return ended_keys


READ_LIMIT: Final = 20_000  # relationships that one call reads; a page or a total that needs more is refused
READ_AT_ONCE: Final = 200  # relationships of one read at least


async def current_page(context: Context, request: EdgeRequest, clocks: Clocks) -> EdgePage:
    """Return a page of the relationships that have not ended; raises InvalidInput: too many would be read."""
    at = instant(clocks)
    batch = replace(request, offset=0, counted=False, limit=max(request.limit + 1, READ_AT_ONCE))
    if request.counted:
        # The total is that of all pages.
        batch = replace(batch, time=times.LATEST, after=cursors.LAST)
    page, others = list[shared_rows.RelationshipRow](), dict[str, shared_rows.EntityRow]()
    read = total = following = characters = 0
    truncated = False
    while True:
        rows = await relationship_page(context, batch, clocks)
        clocks = rows.clocks
        others |= {other.id: other for other in rows.others}
        for row in shared_rows.refuse_stale_relationships(rows.relationships):
            if has_ended(row, at):
                continue
            total += 1
            if (row.last_observation_at, row.id) >= (request.time, request.after):
                continue
            following += 1
            if following <= request.offset or truncated or len(page) >= request.limit:
                continue
            characters += sum(map(len, row.values))
            truncated = bool(page) and characters > answers.ANSWER_CHARACTERS
            if not truncated:
                page.append(row)
        # The page may be full, and it may be known that more follow.
        enough = truncated or following > request.offset + request.limit
        stretch = as_read(rows.relationships)
        if not rows.more or not stretch or (enough and not request.counted):
            break
        read += len(stretch)
        if read >= READ_LIMIT:
            message = (
                f"more than {READ_LIMIT:,} relationships would have to be read to leave out those that have "
                "ended: narrow the filters, or leave out `current`"
            )
            raise InvalidInput.at("$.current", message)
        batch = replace(batch, time=stretch[-1].last_observation_at, after=stretch[-1].id)
    ends = {end for row in page for end in (row.source, row.target)}
    return replace(
        rows, relationships=page, others=[other for other in others.values() if other.id in ends],
        total=total, truncated=truncated, more=following > request.offset + len(page),
    )  # fmt: skip
