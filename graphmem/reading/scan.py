"""Candidates of a page: reading the fields that a request compares, and comparing them, within limits.

:mod:`graphmem.model.comparison` compares values, in Python. The database sends the compared fields of each
candidate, cut short; a candidate whose cut value does not decide is read whole. The entities of the answer
are read whole and compared once more.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString, NamedTuple, TypeVar

from graphmem import cypher
from graphmem.context import Context
from graphmem.database.left_out import as_read, checking, each_sound, keeping_unopened
from graphmem.errors import InvalidInput
from graphmem.fresh import READ_ATTEMPTS, unsettled
from graphmem.model import canonical, comparison, ending, times
from graphmem.model.rules import NULL
from graphmem.reading import answers, shared_rows
from graphmem.reading.entity_pages import EntityRequest, Key, SortPlace
from graphmem.reading.shared_rows import EntityRow, MergedEntity, snapshot_of
from graphmem.settings import Limits

CANDIDATE_CHARACTERS: Final = 1_000
"""Characters of values that are read of each candidate, over all compared fields."""
C = TypeVar("C")
ROWS_PER_READ: Final = 50
REFOLDS_PER_CALL: Final = 200  # entities that are folded again with one write


class ScannedEntity(NamedTuple):
    """A row of ``entity/_candidate.cypher``: the compared values of an entity, and its key in the order."""

    id: str
    type: str
    merged_into: str | None
    projection: str | None
    created_at: int
    updated_at: int
    texts: list[str | None] | None
    key: Key | None = None


class CandidateRows(NamedTuple):
    """The row of ``entity/candidates.cypher`` and ``entity/scan.cypher``. ``candidates`` come without their
    keys, ``keys`` the keys, ``heads`` the schema version that each type is folded under."""

    candidates: list[list[Any]]
    keys: list[Any] | None
    heads: list[list[Any]]


class _JoinedRows(NamedTuple):
    """Candidates of ``entity/joined.cypher``, and what joins them to the entity.

    ``joined`` has of each relationship the id of the candidate, its key, the fields that may say that it
    ended, and the mark of one that is to be folded again.
    """

    entity_id: str | None
    compared: int
    joined: list[tuple[str, str, list[tuple[str, str]], int | None]]
    candidates: list[list[Any]]
    keys: list[Any] | None
    heads: list[list[Any]]


class ScannedStretch(NamedTuple):
    """Some candidates in order. The next ones follow ``place``; ``ended`` means that there are none."""

    candidates: list[ScannedEntity]
    place: SortPlace
    ended: bool


class Untrusted(Exception):
    """The index of filterable values is incomplete: some entities wait to be folded again."""


@dataclass(slots=True)
class Scan:
    """The comparison of one call: its request, and how much it has read so far. ``fields`` are those whose
    values are read; the ones that the request compares are always among them."""

    context: Context
    request: EntityRequest
    scanned: int = 0
    characters: int = 0
    total: int | None = None
    fields: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fields = sorted({*self.fields, *self.request.filters, *filter(None, [self.request.order.field])})

    @property
    def limits(self) -> Limits:
        return self.context.services.limits

    @property
    def is_sealed(self) -> bool:
        """Whether the instance is sealed: the database then neither orders nor compares values."""
        return self.context.services.database.is_sealed

    @property
    def is_spent(self) -> bool:
        return self.characters > self.limits.compared_characters

    @property
    def reading(self) -> dict[str, Any]:
        return {
            **self.request.which,
            "fields": self.fields,
            "cut": CANDIDATE_CHARACTERS // max(1, len(self.fields)),
        }

    async def everything(self) -> list[ScannedEntity] | None:
        """Return all candidates, or None if they are more than one call compares."""
        limit = self.limits.compared_entities
        candidates = await self._first(limit + 1, lambda row: len(row.candidates) > limit)
        if len(candidates) > limit:
            return None
        self.scanned = len(candidates)
        return candidates

    async def as_many_as_may_be(self) -> tuple[list[ScannedEntity], bool]:
        """Return as many candidates as one call compares, the first by id of each type, and whether there are
        more."""
        limit = self.limits.compared_entities
        candidates = await self._first(limit + 1, None)
        return candidates[:limit], len(candidates) > limit

    async def _first(
        self, most: int, is_enough: Callable[[CandidateRows], bool] | None
    ) -> list[ScannedEntity]:
        request = self.request
        _, candidates = await self.settled(
            "entity.candidates", CandidateRows, is_enough, **self.reading, since=request.since,
            updated_since=request.updated_since, created_since=request.created_since, key=request.order.key,
            most=most,
        )  # fmt: skip
        return candidates

    async def of_ids(self, entity_ids: Sequence[str]) -> list[ScannedEntity]:
        """Return those of some entities that are listed, in the given order."""
        if not entity_ids:
            return []
        _, candidates = await self.settled(
            "entity.ranked", CandidateRows, entity_ids=list(entity_ids), fields=self.fields,
            cut=self.reading["cut"],
        )  # fmt: skip
        return candidates

    async def related(self, entity_id: str, relationship_types: list[str]) -> list[ScannedEntity]:
        """Return the candidates that a relationship, which has not ended, joins to an entity.

        Raises InvalidInput: more relationships than one call compares entities. Raises NotFound: there is no
        such entity.
        """
        limit = self.limits.compared_entities

        def check(row: _JoinedRows) -> bool:
            if row.entity_id is None:
                raise answers.no_entity(entity_id)
            if row.compared > limit:
                raise InvalidInput.at(
                    "$.filters.related_to",
                    f"the entity has more than {limit:,} relationships: name fewer relationship_types, or "
                    "read them by pages with POST /retrieve_related_entities",
                )
            shared_rows.refuse_stale_keys((key, refold) for _, key, _, refold in row.joined)
            return False

        row, candidates = await self.settled(
            "entity.joined", _JoinedRows, check, entity_id=entity_id,
            relationship_types=relationship_types, types=self.request.types, fields=self.fields,
            cut=self.reading["cut"], key=self.request.order.key, names=sorted(ending.NAMES),
            characters=ending.VALUE_LIMIT, most=limit + 1,
        )  # fmt: skip
        now = times.now()
        joined = {id for id, _, metadata, _ in row.joined if ending.ended(metadata, now) is None}
        candidates = [each for each in candidates if each.id in joined]
        self.scanned = len(candidates)
        return candidates

    async def stretch(self, place: SortPlace, reach: int) -> ScannedStretch:
        """Return the candidates that follow a place in the order of an index."""
        order = self.request.order
        common: dict[str, Any] = {**self.reading, "after": place.id, "reach": reach}
        if order.key is None:
            _, candidates = await self.settled(cypher.form("entity.scan", order.way), CandidateRows, **common)
        else:
            _, candidates = await self.settled(
                cypher.form("entity.scan_sorted", order.way, order.key), CandidateRows, key=place.key,
                least=order.least if self.request.least is None else self.request.least, **common,
            )  # fmt: skip
        read = as_read(candidates)
        self.scanned += len(read)
        last = place_at(read[-1]) if read else place
        return ScannedStretch(candidates, last, len(read) < reach)

    async def settled(
        self, name: LiteralString, row_class: type[C], is_enough: Callable[[C], bool] | None = None, /,
        **params: Any,
    ) -> tuple[C, list[ScannedEntity]]:  # fmt: skip
        """Return the row of a query, and its candidates, none of which was folded under an older schema.
        ``is_enough``: whether the candidates of a row are returned as they are."""
        for _ in range(READ_ATTEMPTS):
            # A value that does not open leaves out its candidate alone, below.
            with nullcontext() if checking() is None else keeping_unopened():
                row: Any = await self.context.graph.only(name, row_class, **params)
            candidates = each_sound(
                # A key that may be null comes in a list of its own.
                lambda pair: ScannedEntity(*pair[0], *(pair[1] if isinstance(pair[1], list) else [pair[1]])),
                zip(row.candidates, row.keys or [""] * len(row.candidates), strict=True),
            )
            if (is_enough and is_enough(row)) or not await self.refolded(candidates, row.heads):
                return row, candidates
        raise unsettled()

    async def refolded(self, candidates: Sequence[ScannedEntity], heads: Iterable[list[Any]]) -> bool:
        """Fold candidates again that were folded under an older schema. Returns whether there were any."""
        if not self.fields:
            return False
        rules = dict(heads)
        stale = [
            candidate.id
            for candidate in candidates
            if candidate.merged_into is None and candidate.projection != rules.get(candidate.type)
        ]
        for start in range(0, len(stale), REFOLDS_PER_CALL):
            batch = stale[start : start + REFOLDS_PER_CALL]
            await self.context.services.writers.refold(self.context.actor.owner, batch)
        return bool(stale)

    async def fitting(self, candidates: Sequence[ScannedEntity]) -> tuple[list[ScannedEntity], int]:
        """Return the candidates that fit, and how many of ``candidates`` were compared. A call that has read
        as much as it may leaves the last ones out."""
        updated, created = self.request.updated_since, self.request.created_since
        kept = [
            each
            for each in candidates
            if (updated is None or each.updated_at >= updated)
            and (created is None or each.created_at >= created)
            and not self._excluded(each)
        ]
        if self.request.writers and kept:
            ids = await self.context.graph.only(
                "entity.by_writers", list[str],
                entity_ids=[each.id for each in kept], writers=self.request.writers,
            )  # fmt: skip
            by_writers = frozenset(ids)
            kept = [each for each in kept if each.id in by_writers]
        cut = [each.id for each in kept if each.texts is None or "" in each.texts]
        if not cut:
            return kept, len(candidates)
        texts, unread = await self.whole(cut)
        compared = next((i for i, each in enumerate(candidates) if each.id == unread), len(candidates))
        compared_ids = {each.id for each in candidates[:compared]}
        cut_ids = set(cut)
        kept = [
            each._replace(texts=texts.get(each.id)) if each.id in cut_ids else each
            for each in kept
            if each.id in compared_ids
        ]
        return [each for each in kept if each.texts is not None and not self._excluded(each)], compared

    def _excluded(self, candidate: ScannedEntity) -> bool:
        """Return whether the values read so far show that a candidate does not fit."""
        if candidate.texts is None:
            return False
        for name, text in zip(self.fields, candidate.texts, strict=True):
            value_filter = self.request.filters.get(name)
            if value_filter is None or text == "":
                continue
            if text is None or text == NULL or not value_filter.matches(canonical.decode(text)):
                return True
        return False

    async def whole(self, entity_ids: list[str]) -> tuple[dict[str, list[str | None]], str | None]:
        """Return the compared fields of some entities, whole, and the first entity that was not read."""
        texts: dict[str, list[str | None]] = {}
        waiting = entity_ids
        while waiting and not self.is_spent:
            rows, read = await rows_of(self.context, waiting[:ROWS_PER_READ], self.request)
            for row in rows:
                snapshot = snapshot_of(row)
                texts[row.id] = [snapshot.get(name) for name in self.fields]
                self.characters += sum(map(len, row.values))
            waiting = waiting[read:]
        return texts, waiting[0] if waiting else None

    async def answered(
        self, candidates: Sequence[ScannedEntity]
    ) -> tuple[list[EntityRow], ScannedEntity | None]:
        """Return the rows that still fit, and the last candidate that was read if some were not."""
        rows, read = await rows_of(self.context, [each.id for each in candidates], self.request)
        last = candidates[read - 1] if read < len(candidates) else None
        filters = self.request.filters
        values = ((row, snapshot_of(row)) for row in rows)
        return [row for row, snapshot in values if comparison.matches_all(filters, snapshot)], last


def place_at(candidate: ScannedEntity) -> SortPlace:
    return SortPlace("" if candidate.key is None else candidate.key, candidate.id)


async def rows_of(
    context: Context, entity_ids: Sequence[str], request: EntityRequest | None = None
) -> tuple[list[EntityRow], int]:
    """Return the rows of some entities in the given order, and how many of the entities were read. Deleted,
    merged and absent entities are included as in the request; without one, none of them."""
    if not entity_ids:
        return [], 0
    page, merged, truncated, _ = await context.graph.only(
        "entity.rows", tuple[list[EntityRow], list[MergedEntity], bool, bool], entity_ids=list(entity_ids),
        include_deleted=request is not None and request.include_deleted,
        include_merged=request is not None and request.include_merged,
        include_absent=request is not None and request.include_absent, limit=len(entity_ids),
    )  # fmt: skip
    rows = shared_rows.with_survivors(page, merged)
    if not truncated:
        return rows, len(entity_ids)
    # Of a damaged entity there is no row, and at least one entity is read.
    return rows, entity_ids.index(rows[-1].id) + 1 if rows else 1
