"""Pages of entities whose values are compared, and of entities as of a time, each of which is reduced.

The page of compared values takes the way that reads the fewest entities.

One way is the index of filterable values: the entities that have a value of a field, in the order of values.
A key of it stands for a value (:func:`graphmem.model.comparison.index_keys`), cut short if it is long. So the
index gives candidates, which are compared like others.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from graphmem import cypher
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import canonical, comparison
from graphmem.model.comparison import Filter
from graphmem.model.rules import NULL
from graphmem.reading import answers, as_of, cursors, recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.cursors import Query
from graphmem.reading.entity_pages import EntityRequest, SortPlace, place_of, start_of
from graphmem.reading.pages import Page
from graphmem.reading.scan import CandidateRows, Scan, ScannedEntity, ScannedStretch, Untrusted, place_at
from graphmem.reading.shared_rows import EntityRow


async def page(context: Context, request: EntityRequest, query: Query, cursor: str | None) -> Page[EntityRow]:
    """Return a page of entities that fit; raises InvalidInput: more entities than one call compares."""
    place, skip = start_of(request, query, cursor)
    scan = Scan(context, request)
    after = None if cursor is None else place
    if request.related is not None:
        return await _chosen(scan, await scan.related(*request.related), after, skip)
    indexed = await _usable(scan)
    if indexed is not None:
        with contextlib.suppress(Untrusted):
            # The index may give a filter's hits in the order of ids.
            by_id = request.order.key is None and request.order.field is None and not request.counted
            if indexed.field_filter is None or (by_id and indexed.field_filter.keys is not None):
                # Index hits fit, except values that the index stores cut short; those are compared below.
                first = skip + request.limit + 1
                return await _along(scan, indexed.stretch, place, skip, (first,))
            candidates = None if scan.is_sealed else await indexed.everything()
            if candidates is not None:
                return await _chosen(scan, candidates, after, skip)
    along = request.least is not None or request.since is None
    by_text = request.order.field is not None or (request.order.key == "name_key" and scan.is_sealed)
    if by_text or request.counted or not along:
        candidates = await scan.everything()
        if candidates is not None:
            return await _chosen(scan, candidates, after, skip)
        if by_text or request.counted:
            raise _refused(request, scan.limits.compared_entities)
    return await _along(scan, scan.stretch, place, skip)


def _refused(request: EntityRequest, limit: int) -> InvalidInput:
    narrower = (
        "narrow it by entity_type, updated_since or created_since, or declare the field filterable in the "
        "schema of one entity_type"
    )
    if request.order.is_by_text:
        message = (
            f"more than {limit:,} entities would have to be compared: {narrower}, "
            "or sort by what has an index"
        )
        return InvalidInput.at("$.sort_by", message)
    message = (
        f"more than {limit:,} entities would have to be compared for a total: {narrower}, or leave it out"
    )
    return InvalidInput.at("$.include_total_count", message)


async def _chosen(
    scan: Scan, candidates: list[ScannedEntity], place: SortPlace | None, skip: int
) -> Page[EntityRow]:
    """Return a page of the candidates that fit, sorted in Python, from ``place`` on."""
    request = scan.request
    fitting, compared = await scan.fitting(candidates)
    if compared < len(candidates):
        message = (
            "the values are too large to be compared in one call: narrow the filters, or read entities by id"
        )
        raise InvalidInput.at("$.filters", message)
    ordered = _sorted(scan, fitting)
    places = {each.id: _place(scan, each) for each in ordered}
    rest = [each for each in ordered if place is None or _follows(request, places[each.id], place)]
    part = rest[skip : skip + request.limit]
    rows, last = await scan.answered(part)
    following = None
    if part and (last or len(rest) > skip + len(part)):
        following = place_of(request, places[(last or part[-1]).id])
    scanned = scan.scanned if request.filters or request.writers or request.order.field else None
    return Page(rows, following, last is not None, len(ordered), scanned)


def _sorted(scan: Scan, candidates: Iterable[ScannedEntity]) -> list[ScannedEntity]:
    """Return candidates in order. Those without the sort field come last, by id, in both directions."""
    down = scan.request.order.way == "desc"
    pairs = [(_place(scan, each), each) for each in candidates]
    if scan.request.order.field is None:
        return [candidate for _, candidate in sorted(pairs, key=lambda pair: pair[0], reverse=down)]
    having = sorted((pair for pair in pairs if pair[0].key), key=lambda pair: pair[0], reverse=down)
    lacking = sorted((pair for pair in pairs if not pair[0].key), key=lambda pair: pair[0])
    return [candidate for _, candidate in (*having, *lacking)]


def _place(scan: Scan, candidate: ScannedEntity) -> SortPlace:
    """Return the place of a candidate, by its key in the index or else by its value."""
    order = scan.request.order
    if candidate.key is not None and not isinstance(candidate.key, type(order.least)):
        # It is damaged, and names no place.
        return SortPlace(order.least, candidate.id)
    if order.field is None or candidate.key is not None:
        return place_at(candidate)
    assert candidate.texts is not None
    text = candidate.texts[scan.fields.index(order.field)]
    key = comparison.sort_key(canonical.decode(text)) if text is not None and text != NULL else None
    return SortPlace(key or "", candidate.id)


def _follows(request: EntityRequest, later: SortPlace, place: SortPlace) -> bool:
    """Return whether ``later`` comes after ``place`` in an order."""
    if request.order.field is not None and not (later.key and place.key):
        # Candidates without the field follow all others, by id.
        return not later.key and (bool(place.key) or later.id > place.id)
    beyond: Mapping[str, bool] = {"asc": later > place, "desc": later < place}
    return beyond[request.order.way]


async def _along(
    scan: Scan,
    read: Callable[[SortPlace, int], Awaitable[ScannedStretch]],
    place: SortPlace,
    skip: int,
    first_sizes: Sequence[int] = (),
) -> Page[EntityRow]:
    """Return a page by comparing the candidates along an index, until the page is full. ``first_sizes``: how
    many candidates the first reads take, before those of ``Limits.compared_at_once``."""
    request, limit = scan.request, scan.limits.compared_entities
    sizes, size_limit = [*first_sizes, *scan.limits.compared_at_once], scan.limits.compared_at_once[-1]
    fitting: list[ScannedEntity] = []
    steps, ended = iter(sizes), False
    while len(fitting) <= skip + request.limit and not (ended or scan.is_spent or scan.scanned >= limit):
        step = min(next(steps, size_limit), size_limit, limit - scan.scanned)
        candidates, place, ended = await read(place, step)
        more, compared = await scan.fitting(candidates)
        fitting += more
        if compared < len(candidates):
            # The call has read as many characters as it may: the page ends here.
            place, ended = place_at(candidates[compared - 1]), False
            break
    part = fitting[skip : skip + request.limit]
    rows, last = await scan.answered(part)
    if part and (last or len(fitting) > skip + len(part)):
        following = place_of(request, place_at(last or part[-1]))
        return Page(rows, following, last is not None, scan.total, scan.scanned)
    following = None if ended else place_of(request, place, max(0, skip - len(fitting)))
    return Page(rows, following, not ended, scan.total, scan.scanned)


FREQUENT_ENTITIES: Final = 2_000
"""A filter that more entities fit is read along the index of the requested order."""
_BEYOND: Final = "4"
"""Follows the keys of all single values; keys of list elements and of unsortable values come after it."""


class _ValueRows(NamedTuple):
    """The row of the queries that read the index: ``entries`` were read, the last of them is ``last``.
    ``last`` is a pair of an id and a key. ``trusted`` is false if the index lacks the field of some type."""

    trusted: bool
    candidates: list[list[Any]]
    keys: list[Any]
    entries: int
    last: list[Any] | None
    heads: list[list[Any]]
    total: int | None


@dataclass(frozen=True, slots=True)
class ByValue:
    """How one call reads the index: in the order of a field, or by a filter on a field."""

    scan: Scan
    field: str
    field_filter: Filter | None

    async def stretch(self, place: SortPlace, reach: int) -> ScannedStretch:
        way = self.scan.request.order.way
        if self.field_filter is not None:
            return await self._named(place, reach, self.field_filter.keys or [], way)
        # Entities without the field come last, by id, in both directions: their places have no key.
        if not place.key and place.id:
            return await self._named(place, reach, [comparison.LACKING], "asc")
        row, candidates = await self.scan.settled(
            cypher.form("entity.in_value_order", way), _ValueRows, _check, **self._common, key=place.key,
            after=place.id, beyond=_BEYOND, reach=reach,
        )  # fmt: skip
        first = self._stretch(row, candidates, place, reach)
        if not first.ended:
            return first
        rest = await self._named(SortPlace("", ""), reach - len(candidates), [comparison.LACKING], "asc")
        return ScannedStretch([*candidates, *rest.candidates], rest.place, rest.ended)

    async def _named(
        self, place: SortPlace, reach: int, values: list[str], way: cypher.Way
    ) -> ScannedStretch:
        if reach < 1:
            return ScannedStretch([], place, False)
        row, candidates = await self.scan.settled(
            cypher.form("entity.by_value", way), _ValueRows, _check, **self._common, values=values,
            after=place.id, reach=reach,
        )  # fmt: skip
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
        """Return all candidates of the filter, or None if they are more than one call compares. If many
        entities fit and another index has the requested order, reading along that index is faster."""
        assert self.field_filter is not None
        request, keys = self.scan.request, self.field_filter.keys
        is_whole = request.counted or request.order.field is not None or request.since
        most = self.scan.limits.compared_entities if is_whole else FREQUENT_ENTITIES
        ranges = self.field_filter.ranges if keys is None else [[key, f"{key}\x00", ""] for key in keys]
        row, candidates = await self.scan.settled(
            "entity.in_value_range", _ValueRows, _check, **self._common, ranges=ranges,
            lossy=comparison.EXACT_KEY_LENGTH, key=request.order.key, most=most + 1,
        )  # fmt: skip
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


async def _usable(scan: Scan) -> ByValue | None:
    """Return how the index of live entities serves a call; None: some type has no such filterable field."""
    request = scan.request
    if request.include_deleted or request.include_merged or not scan.fields:
        return None
    types, fields = await scan.context.graph.only(
        "entity.filterable", tuple[int, list[list[Any]]], **request.which
    )
    if not types or len(fields) < types:
        return None
    filterable = set.intersection(*map(set, fields))
    filters = [each for name, each in request.filters.items() if name in filterable]
    # Few entities fit an equality; a range may fit all of them.
    filters.sort(key=lambda each: (each.keys is None, each.op in ("contains", "contains_word"), each.field))
    if scan.is_sealed:
        # Sealed values are equal or not: no index has their order.
        return ByValue(scan, filters[0].field, filters[0]) if filters and filters[0].keys else None
    by_field = request.order.field in filterable and not (
        request.counted and (request.filters or request.writers or request.since)
    )
    if by_field and not (filters and filters[0].keys):
        return ByValue(scan, request.order.field or "", None)
    return ByValue(scan, filters[0].field, filters[0]) if filters else None


_ENTITIES_PER_READ: Final = 125


async def page_as_of(
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
            raise InvalidInput.at("$.include_total_count", message)
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
