"""Pages of a search: the hits in their order, those that fit filters, and where the next page starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from graphmem.reading import cursors
from graphmem.reading.entity_pages import EntityRequest
from graphmem.reading.pages import Page
from graphmem.reading.scan import Scan, ScannedEntity, rows_of
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context
from graphmem.search import search_engine
from graphmem.search.search_results import Ranked, Results, Search

BILLIONTHS: Final = 1_000_000_000
"""Points in a cursor are whole numbers."""


async def page(
    context: Context, text: str, request: EntityRequest, query: str, cursor: str | None, *, newest_first: bool
) -> tuple[Page[EntityRow], Results]:
    """Return a page of the hits that fit a request, best first, and the search itself.

    A page with filters reads hits in their order until it is full, or until it has compared
    ``Limits.compared_entities``: then ``next_cursor`` goes on behind them.
    """
    has_filters = bool(request.filters) or request.since is not None or request.related is not None
    scan = Scan(context, request)
    among = None if request.related is None else await scan.related(request.related)
    limit = context.services.limits.compared_entities if has_filters else request.limit
    place, found = None, 0
    if cursor is not None:
        kinds: dict[str, type] = {"points": int, "id": str, "at": int}
        held = cursors.decode(query, cursor, {**kinds, "found": int} if has_filters else kinds)
        place, found = Ranked(held["id"], held["points"] / BILLIONTHS, {}, held["at"]), held.get("found", 0)
    search = Search(
        text,
        request.types,
        limit,
        0 if has_filters else request.offset,
        after=place,
        newest_first=newest_first,
        bare=True,
        among=None if among is None else frozenset(each.id for each in among),
    )
    results = await search_engine.search(context, search)
    ranked = results.ranked[search.offset :]
    if has_filters:
        has_more = results.has_more
        page = await _filtered(scan, among, ranked, found, has_more=has_more, is_cut=results.is_cut)
        # Hits that a cut list lacks might fit.
        results = replace(results, is_exact=results.is_exact and not results.is_cut)
        return page, results
    rows, truncated = await rows_of(context, [each.id for each in ranked], request)
    last = ranked[-1] if ranked else None
    if truncated:
        last = next(each for each in ranked if each.id == rows[-1].id)
    following = _place_of(last) if last is not None and (truncated or results.has_more) else None
    return Page(rows, following, truncated, results.total), results


async def _filtered(
    scan: Scan,
    among: Sequence[ScannedEntity] | None,
    ranked: Sequence[Ranked],
    found: int,
    *,
    has_more: bool,
    is_cut: bool,
) -> Page[EntityRow]:
    """Return the page of the hits that fit filters.

    Args:
        is_cut: further hits may be missing, so that no total is known.
        among: the compared values of the only entities that may fit; without them they are read.
        found: how many that fit are on earlier pages, or were skipped there.
    """
    request = scan.request
    values = None if among is None else {each.id: each for each in among}
    reads, fitting, compared = iter(scan.limits.compared_at_once), list[ScannedEntity](), 0
    step = scan.limits.compared_at_once[-1]
    needed = request.offset + request.limit + 1
    while compared < len(ranked) and not scan.is_spent and (request.counted or len(fitting) < needed):
        part = ranked[compared : compared + next(reads, step)]
        if values is None:
            candidates = await scan.of_ids([each.id for each in part])
            scan.scanned += len(candidates)
        else:
            candidates = [values[each.id] for each in part if each.id in values]
        more, read = await scan.fitting(candidates)
        fitting += more
        if read < len(candidates):
            unread = candidates[read].id
            compared += next(place for place, each in enumerate(part) if each.id == unread)
            break
        compared += len(part)
    by_id = {each.id: each for each in ranked}
    chosen = fitting[request.offset : request.offset + request.limit]
    rows, last = await scan.answered(chosen)
    is_whole = compared == len(ranked) and not has_more
    least = found + len(fitting)
    total = least if is_whole and not is_cut else None
    if chosen and (last or len(fitting) > request.offset + len(chosen)):
        end = last or chosen[-1]
        following = {**_place_of(by_id[end.id]), "found": found + fitting.index(end) + 1}
        return Page(rows, following, last is not None, total, scan.scanned, least)
    # The page may go on behind the last hit that was compared, though none of the next may fit.
    following = None
    if compared and not is_whole:
        following = {**_place_of(ranked[compared - 1]), "found": least}
    return Page(rows, following, not is_whole, total, scan.scanned, least)


def _place_of(ranked: Ranked) -> Mapping[str, Any]:
    return {"points": round(ranked.points * BILLIONTHS), "id": ranked.id, "at": ranked.at}
