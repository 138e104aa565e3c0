"""Candidates of a page: reading the fields that a request compares, and comparing them, within limits.

:mod:`graphmem.model.comparison` compares values, in Python. The database sends the compared fields of each
candidate, cut short; a candidate whose cut value does not decide is read whole. The entities of the answer
are read whole and compared once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from graphmem import cypher
from graphmem.model import canonical, comparison
from graphmem.model.rules import NULL
from graphmem.reading import answers
from graphmem.reading.answers import EntityRow
from graphmem.reading.entity_pages import EntityRequest, Key, Place
from graphmem.reading.fresh import READ_ATTEMPTS, unsettled
from graphmem.registry import Context

COMPARED_LIMIT: Final = 20_000
"""Entities that one call compares at most."""
CANDIDATE_CHARACTERS: Final = 1_000
"""Characters of values that are read of each candidate, over all compared fields."""
WHOLE_CHARACTERS_LIMIT: Final = 40_000_000
"""Characters of values that one call reads of entities whose values were cut short."""
ROWS_PER_READ: Final = 50
REFOLDS_PER_CALL: Final = 200
"""Entities that are folded again with one write."""


class Candidate(NamedTuple):
    """A row of ``entity/_candidate.cypher``: the compared values of an entity, and its key in the order."""

    id: str
    type: str
    merged_into: str | None
    projection: str | None
    created_at: int
    updated_at: int
    texts: list[str | None] | None
    key: Key | None = None


class Stretch(NamedTuple):
    """Some candidates in order. The next ones follow ``place``; ``ended`` means that there are none."""

    found: list[Candidate]
    place: Place
    ended: bool


class Untrusted(Exception):
    """The index of filterable values is incomplete: some entities wait to be folded again."""


@dataclass(slots=True)
class Scan:
    """The comparison of one call: its request, and how much it has read so far."""

    context: Context
    request: EntityRequest
    scanned: int = 0
    characters: int = 0
    total: int | None = None
    fields: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        wanted = {*self.request.filters, *filter(None, [self.request.order.field])}
        self.fields = sorted(wanted)

    @property
    def is_spent(self) -> bool:
        """Whether the call has read as many characters as it may."""
        return self.characters > WHOLE_CHARACTERS_LIMIT

    @property
    def reading(self) -> dict[str, Any]:
        return {
            **self.request.which,
            "fields": self.fields,
            "cut": CANDIDATE_CHARACTERS // max(1, len(self.fields)),
        }

    async def everything(self) -> list[Candidate] | None:
        """Return all candidates, or None if they are more than one call compares."""
        request = self.request
        for _ in range(READ_ATTEMPTS):
            row = await self.context.graph.one(
                "entity.candidates",
                **self.reading,
                since=request.since,
                updated_since=request.updated_since,
                created_since=request.created_since,
                key=request.order.key,
                most=COMPARED_LIMIT + 1,
            )
            assert row is not None
            if len(row["found"]) > COMPARED_LIMIT:
                return None
            found = [
                Candidate._make([*one, key]) for one, (key,) in zip(row["found"], row["keys"], strict=True)
            ]
            if not await self.refolded(found, row["heads"]):
                self.scanned = len(found)
                return found
        raise unsettled()

    async def stretch(self, place: Place, reach: int) -> Stretch:
        """Return the candidates that follow a place in the order of an index."""
        order = self.request.order
        for _ in range(READ_ATTEMPTS):
            if order.key is None:
                row = await self.context.graph.one(
                    cypher.form("entity.scan", order.way), **self.reading, after=place.id, reach=reach
                )
            else:
                row = await self.context.graph.one(
                    cypher.form("entity.scan_sorted", order.way, order.key),
                    **self.reading,
                    after=place.id,
                    key=place.key,
                    least=order.least if self.request.least is None else self.request.least,
                    reach=reach,
                )
            assert row is not None
            keys: list[Key] = row["keys"] or [""] * len(row["found"])
            found = [Candidate._make([*one, key]) for one, key in zip(row["found"], keys, strict=True)]
            if not await self.refolded(found, row["heads"]):
                self.scanned += len(found)
                last = place_at(found[-1]) if found else place
                return Stretch(found, last, len(found) < reach)
        raise unsettled()

    async def refolded(self, found: Sequence[Candidate], heads: Iterable[list[Any]]) -> bool:
        """Fold candidates again that were folded under an older schema. Returns whether there were any."""
        if not self.fields:
            return False
        rules = dict(heads)
        stale = [one.id for one in found if one.merged_into is None and one.projection != rules.get(one.type)]
        for start in range(0, len(stale), REFOLDS_PER_CALL):
            some = stale[start : start + REFOLDS_PER_CALL]
            await self.context.services.writers.refold(self.context.graph.owner, some)
        return bool(stale)

    async def fitting(self, found: Sequence[Candidate]) -> tuple[list[Candidate], int]:
        """Return the candidates that fit, and how many of ``found`` were compared.

        A call that has read as much as it may leaves the last ones out.
        """
        kept = [one for one in found if self._in_time(one) and not self._excluded(one)]
        cut = [one.id for one in kept if one.texts is None or "" in one.texts]
        if not cut:
            return kept, len(found)
        texts, unread = await self._whole(cut)
        known = next((place for place, one in enumerate(found) if one.id == unread), len(found))
        before = {one.id for one in found[:known]}
        cut_ids = set(cut)
        kept = [
            one._replace(texts=texts.get(one.id)) if one.id in cut_ids else one
            for one in kept
            if one.id in before
        ]
        return [one for one in kept if one.texts is not None and not self._excluded(one)], known

    def _in_time(self, one: Candidate) -> bool:
        updated, created = self.request.updated_since, self.request.created_since
        return (updated is None or one.updated_at >= updated) and (
            created is None or one.created_at >= created
        )

    def _excluded(self, one: Candidate) -> bool:
        """Return whether the values read so far show that a candidate does not fit."""
        if one.texts is None:
            return False
        for name, text in zip(self.fields, one.texts, strict=True):
            wanted = self.request.filters.get(name)
            if wanted is None or text == "":
                continue
            if text is None or text == NULL or not wanted.matches(canonical.decode(text)):
                return True
        return False

    async def _whole(self, entity_ids: list[str]) -> tuple[dict[str, list[str | None]], str | None]:
        """Return the compared fields of some entities, whole, and the first entity that was not read."""
        found: dict[str, list[str | None]] = {}
        waiting = entity_ids
        while waiting and not self.is_spent:
            rows, truncated = await rows_of(self.context, self.request, waiting[:ROWS_PER_READ])
            for one in rows:
                held = dict(zip(one.fields, one.values, strict=True))
                found[one.id] = [held.get(name) for name in self.fields]
                self.characters += sum(map(len, one.values))
            read = waiting.index(rows[-1].id) + 1 if truncated else ROWS_PER_READ
            waiting = waiting[read:]
        return found, waiting[0] if waiting else None

    async def answered(self, found: Sequence[Candidate]) -> tuple[list[EntityRow], Candidate | None]:
        """Return the rows that still fit, and the last candidate that was read if some were not."""
        if not found:
            return [], None
        rows, truncated = await rows_of(self.context, self.request, [one.id for one in found])
        last = next(one for one in found if one.id == rows[-1].id) if truncated else None
        return [one for one in rows if self._still_fits(one)], last

    def _still_fits(self, row: EntityRow) -> bool:
        return comparison.matches_all(self.request.filters, dict(zip(row.fields, row.values, strict=True)))


def place_at(one: Candidate) -> Place:
    """Return the place of a candidate in the order."""
    return Place("" if one.key is None else one.key, one.id)


async def rows_of(
    context: Context, request: EntityRequest, entity_ids: list[str]
) -> tuple[list[EntityRow], bool]:
    """Return the rows of some entities in the given order, and whether the answer was too small for all."""
    row = await context.graph.one(
        "entity.rows",
        entity_ids=entity_ids,
        include_deleted=request.include_deleted,
        include_merged=request.include_merged,
        limit=len(entity_ids),
    )
    assert row is not None
    return answers.listed(row), row["truncated"]
