"""The index of filterable values: the entities that have a value of a field, in the order of values.

A key of the index stands for a value (:func:`graphmem.model.comparison.index_keys`), cut short if it is long.
So the index gives candidates, which are compared like others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graphmem import cypher
from graphmem.model import comparison
from graphmem.model.comparison import Filter
from graphmem.reading.entity_pages import SortPlace
from graphmem.reading.scan import Scan, ScannedEntity, ScannedStretch, Untrusted

FREQUENT_ENTITIES: Final = 2_000
"""A filter that more entities fit is read along the index of the requested order."""
_BEYOND: Final = "4"
"""Follows the keys of all single values; keys of list elements and of unsortable values come after it."""


class _ValueRows(NamedTuple):
    """The row of the queries that read the index: ``entries`` were read, the last of them is ``last``.

    ``last`` is a pair of an id and a key. ``trusted`` is false if the index lacks the field of some type.
    """

    trusted: bool
    candidates: list[list[Any]]
    keys: list[Any]
    entries: int
    last: list[Any] | None
    heads: list[list[Any]]
    total: int | None


class _Filterable(NamedTuple):
    """The row of ``entity/filterable.cypher``: how many types, and the filterable fields of each."""

    types: int
    fields: list[list[Any]]


@dataclass(frozen=True, slots=True)
class ByValue:
    """How one call reads the index: in the order of a field, or by a filter on a field."""

    scan: Scan
    field: str
    wanted: Filter | None

    @property
    def is_order(self) -> bool:
        """Whether the index gives the requested order."""
        return self.wanted is None

    @property
    def goes_by_id(self) -> bool:
        """Whether the request is ordered by id, and the index gives the filter's hits in that order."""
        request = self.scan.request
        by_id = request.order.key is None and request.order.field is None
        return by_id and not request.counted and self.wanted is not None and self.wanted.keys is not None

    async def stretch(self, place: SortPlace, reach: int) -> ScannedStretch:
        """Return the candidates that follow a place."""
        if self.wanted is not None:
            return await self._named(place, reach, self.wanted.keys or [], self.scan.request.order.way)
        # Entities without the field come last, by id, in both directions: their places have no key.
        having = bool(place.key) or not place.id
        first = await self._ordered(place, reach) if having else ScannedStretch([], place, True)
        if having and not first.ended:
            return first
        start = SortPlace("", "") if having else place
        rest = await self._named(start, reach - len(first.candidates), [comparison.LACKING], "asc")
        return ScannedStretch([*first.candidates, *rest.candidates], rest.place, rest.ended)

    async def _ordered(self, place: SortPlace, reach: int) -> ScannedStretch:
        row, candidates = await self.scan.settled(
            cypher.form("entity.in_value_order", self.scan.request.order.way),
            _ValueRows,
            _check,
            **self._common,
            key=place.key,
            after=place.id,
            beyond=_BEYOND,
            reach=reach,
        )
        return self._stretch(row, candidates, place, reach)

    async def _named(
        self, place: SortPlace, reach: int, values: list[str], way: cypher.Way
    ) -> ScannedStretch:
        if reach < 1:
            return ScannedStretch([], place, False)
        row, candidates = await self.scan.settled(
            cypher.form("entity.by_value", way),
            _ValueRows,
            _check,
            **self._common,
            values=values,
            after=place.id,
            reach=reach,
        )
        return self._stretch(row, candidates, place, reach)

    def _stretch(
        self, row: _ValueRows, candidates: list[ScannedEntity], place: SortPlace, reach: int
    ) -> ScannedStretch:
        self.scan.scanned += row.entries
        if self.scan.request.counted:
            self.scan.total = row.total
        last = SortPlace(row.last[1], row.last[0]) if row.last else place
        return ScannedStretch(candidates, last, row.entries < reach)

    async def everything(self) -> list[ScannedEntity] | None:
        """Return all candidates of the filter, or None if they are more than one call compares.

        If many entities fit and another index has the requested order, reading along that index is faster.
        """
        assert self.wanted is not None
        request, keys = self.scan.request, self.wanted.keys
        most = (
            self.scan.limits.compared_entities
            if request.counted or request.order.field is not None or request.since
            else FREQUENT_ENTITIES
        )
        ranges = self.wanted.ranges if keys is None else [[key, f"{key}\x00", ""] for key in keys]
        row, candidates = await self.scan.settled(
            "entity.in_value_range",
            _ValueRows,
            _check,
            **self._common,
            ranges=ranges,
            lossy=comparison.EXACT_KEY_LENGTH,
            key=request.order.key,
            most=most + 1,
        )
        if row.entries > most:
            return None
        self.scan.scanned = row.entries
        return candidates

    @property
    def _common(self) -> dict[str, Any]:
        return {**self.scan.reading, "field": self.field}


def _check(row: _ValueRows) -> bool:
    if not row.trusted:
        raise Untrusted
    return False


async def usable(scan: Scan) -> ByValue | None:
    """Return how the index serves a call, or None if it does not.

    It holds live entities, and serves a field only if every type of the request declares it filterable.
    """
    request = scan.request
    if request.include_deleted or request.include_merged or not scan.fields:
        return None
    row = await scan.context.graph.only("entity.filterable", _Filterable, **request.which)
    if not row.types or len(row.fields) < row.types:
        return None
    filterable = set.intersection(*map(set, row.fields))
    filters = [each for name, each in request.filters.items() if name in filterable]
    # Few entities fit an equality; a range may fit all of them.
    filters.sort(key=lambda each: (each.keys is None, each.op in ("contains", "contains_word"), each.field))
    by_field = request.order.field in filterable and not (
        request.counted and (request.filters or request.since)
    )
    if by_field and not (filters and filters[0].keys):
        return ByValue(scan, request.order.field or "", None)
    return ByValue(scan, filters[0].field, filters[0]) if filters else None
