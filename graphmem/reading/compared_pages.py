"""Pages of entities whose values are compared. The page takes the way that reads the fewest entities."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from graphmem.errors import InvalidInput
from graphmem.model import canonical, comparison
from graphmem.model.rules import NULL
from graphmem.reading import value_index
from graphmem.reading.cursors import Query
from graphmem.reading.entity_pages import EntityRequest, SortPlace, place_of, start_of, too_many
from graphmem.reading.pages import Page
from graphmem.reading.scan import Scan, ScannedEntity, ScannedStretch, Untrusted, place_at
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context


async def page(context: Context, request: EntityRequest, query: Query, cursor: str | None) -> Page[EntityRow]:
    """Return a page of entities that fit the request.

    Raises:
        InvalidCursor: the cursor belongs to another query.
        InvalidInput: the request compares more entities than one call may.
        NotFound: there is no entity to which they are to be related.
    """
    place, skip = start_of(request, query, cursor)
    scan = Scan(context, request)
    behind = None if cursor is None else place
    if request.related is not None:
        return await _chosen(scan, await scan.related(request.related), behind, skip)
    indexed = await value_index.usable(scan)
    if indexed is not None:
        with contextlib.suppress(Untrusted):
            if indexed.is_order or indexed.goes_by_id:
                # Index hits fit, except values that the index stores cut short; those are compared below.
                first = skip + request.limit + 1
                return await _along(scan, indexed.stretch, place, skip, (first,))
            candidates = await indexed.everything()
            if candidates is not None:
                return await _chosen(scan, candidates, behind, skip)
    along = request.least is not None or request.since is None
    if request.order.field is not None or request.counted or not along:
        candidates = await scan.everything()
        if candidates is not None:
            return await _chosen(scan, candidates, behind, skip)
        if request.order.field is not None or request.counted:
            raise _refused(request, scan.limits.compared_entities)
    return await _along(scan, scan.stretch, place, skip)


def _refused(request: EntityRequest, limit: int) -> InvalidInput:
    narrower = (
        "narrow it by entity_type, updated_since or created_since, or declare the field filterable in the "
        "schema of one entity_type"
    )
    if request.order.field is not None:
        message = (
            f"more than {limit:,} entities would have to be compared: {narrower}, "
            "or sort by what has an index"
        )
        return too_many("$.sort_by", message)
    message = (
        f"more than {limit:,} entities would have to be compared for a total: {narrower}, or leave it out"
    )
    return too_many("$.include_total_count", message)


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
        raise too_many("$.filters", message)
    ordered = _sorted(scan, fitting)
    places = {each.id: _place(scan, each) for each in ordered}
    behind = [each for each in ordered if place is None or _follows(request, places[each.id], place)]
    part = behind[skip : skip + request.limit]
    rows, last = await scan.answered(part)
    following = None
    if part and (last or len(behind) > skip + len(part)):
        following = place_of(request, places[(last or part[-1]).id])
    scanned = scan.scanned if request.filters or request.order.field else None
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
    """Return a page by comparing the candidates along an index, until the page is full.

    ``first_sizes``: how many candidates the first reads take, before those of ``Limits.compared_at_once``.
    """
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
