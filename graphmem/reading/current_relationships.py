"""Pages of relationships without those that have ended.

Whether a relationship has ended is worked out from its metadata (:mod:`graphmem.model.ending`). So
relationships are read in their order, and the ended ones are left out, until the page is full.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from graphmem.model import times
from graphmem.reading import answers, cursors, endings
from graphmem.reading.as_of import Clocks
from graphmem.reading.entity_pages import too_many
from graphmem.reading.relationship_pages import Found, WantedEdges, relationship_page
from graphmem.reading.shared_rows import EntityRow, RelationshipRow, refuse_stale_relationships
from graphmem.registry import Context

READ_LIMIT: Final = 20_000
"""Relationships that one call reads; a page or a total that needs more is refused."""
READ_AT_ONCE: Final = 200
"""Relationships of one read at least."""


async def current_page(context: Context, wanted: WantedEdges, clocks: Clocks) -> Found:
    """Return a page of the relationships that have not ended, now or as of a time.

    Raises:
        InvalidInput: more relationships than the limit would have to be read.
        NotFound: there is no such entity, or it was deleted by then.
    """
    page = _CurrentPage(wanted, endings.instant(clocks))
    batch = replace(wanted, offset=0, counted=False, limit=max(wanted.limit + 1, READ_AT_ONCE))
    if wanted.counted:
        # The total is that of all pages.
        batch = replace(batch, time=times.LATEST, after=cursors.LAST)
    read = 0
    while True:
        rows = await relationship_page(context, batch, clocks)
        clocks = rows.clocks
        page.add(rows.relationships, rows.others)
        if not rows.more or not rows.relationships or page.is_complete:
            break
        read += len(rows.relationships)
        if read >= READ_LIMIT:
            message = (
                f"more than {READ_LIMIT:,} relationships would have to be read to leave out those that have "
                "ended: narrow the filters, or leave out `current`"
            )
            raise too_many("$.current", message)
        last = rows.relationships[-1]
        batch = replace(batch, time=last.last_observation_at, after=last.id)
    ends = {end for row in page.rows for end in (row.source, row.target)}
    return replace(
        rows,
        relationships=page.rows,
        others=[other for other in page.others.values() if other.id in ends],
        total=page.total,
        truncated=page.truncated,
        more=page.following > wanted.offset + len(page.rows),
    )


class _CurrentPage:
    """A page as it is filled.

    Attributes:
        rows: the relationships of the page.
        others: the entities at the far ends of all relationships that were read.
        total: how many current relationships were read.
        following: how many of them follow the place of the page.
        truncated: whether the values end the page before its limit.
    """

    def __init__(self, wanted: WantedEdges, at: int) -> None:
        self._wanted = wanted
        self._at = at
        self._characters = 0
        self.rows: list[RelationshipRow] = []
        self.others: dict[str, EntityRow] = {}
        self.total = self.following = 0
        self.truncated = False

    def add(self, rows: Iterable[RelationshipRow], others: Iterable[EntityRow]) -> None:
        """Add the current ones of the relationships that follow, as far as they belong to the page."""
        if not self._is_full:
            self.others |= {other.id: other for other in others}
        for row in refuse_stale_relationships(rows):
            if endings.has_ended(row, self._at):
                continue
            self.total += 1
            if (row.last_observation_at, row.id) >= (self._wanted.time, self._wanted.after):
                continue
            self.following += 1
            if self.following <= self._wanted.offset or self._is_full:
                continue
            self._characters += sum(map(len, row.values))
            self.truncated = bool(self.rows) and self._characters > answers.ANSWER_CHARACTERS
            if not self.truncated:
                self.rows.append(row)

    @property
    def is_complete(self) -> bool:
        """Whether nothing more has to be read: the page is full, and it is known that more follow."""
        enough = self.truncated or self.following > self._wanted.offset + self._wanted.limit
        return enough and not self._wanted.counted

    @property
    def _is_full(self) -> bool:
        return self.truncated or len(self.rows) >= self._wanted.limit
