"""Pages of a search: the hits in their order, those that fit filters, and where the next page starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from graphmem.model import identity
from graphmem.reading import cursors
from graphmem.reading.entity_pages import EntityRequest
from graphmem.reading.fresh import READ_ATTEMPTS, unsettled
from graphmem.reading.pages import Page
from graphmem.reading.scan import CandidateRows, Scan, ScannedEntity, rows_of
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context
from graphmem.search import search_engine
from graphmem.search.search_results import Ranked, RankedPlace, Results, Search

BILLIONTHS: Final = 1_000_000_000
"""Points in a cursor are whole numbers."""


class SearchPage(NamedTuple):
    """A page of a search, and the search itself."""

    page: Page[EntityRow]
    results: Results


async def page(
    context: Context,
    text: str,
    request: EntityRequest,
    query: cursors.Query,
    cursor: str | None,
    *,
    newest_first: bool,
) -> SearchPage:
    """Return a page of the hits that fit a request, best first.

    A page with filters reads hits in their order until it is full, or until it has compared
    ``Limits.compared_entities``: then ``next_cursor`` goes on behind them.

    Args:
        newest_first: see :class:`Search`.

    Raises:
        InvalidCursor: the cursor belongs to another query.
        InvalidInput: the entity to which hits are to be related has too many relationships.
        NotFound: there is no such entity.
    """
    has_filters = bool(request.filters) or request.since is not None or request.related is not None
    scan = Scan(context, request)
    among = None if request.related is None else await scan.related(request.related)
    limit = context.services.limits.compared_entities if has_filters else request.limit
    place, found = _place(query, cursor, is_counted=has_filters)
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
        return SearchPage(page, results)
    rows, truncated = await rows_of(context, [each.id for each in ranked], request)
    last = ranked[-1] if ranked else None
    if truncated:
        last = next(each for each in ranked if each.id == rows[-1].id)
    following = _place_of(last) if last is not None and (truncated or results.has_more) else None
    return SearchPage(Page(rows, following, truncated, results.total), results)


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
            candidates = await _candidates(scan, [each.id for each in part])
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


async def _candidates(scan: Scan, entity_ids: list[str]) -> list[ScannedEntity]:
    """Return the compared values of some entities, in their order."""
    for _ in range(READ_ATTEMPTS):
        row = await scan.context.graph.only(
            "entity.ranked",
            CandidateRows,
            entity_ids=entity_ids,
            fields=scan.fields,
            cut=scan.reading["cut"],
        )
        candidates = [ScannedEntity._make([*values, None]) for values in row.candidates]
        if not await scan.refolded(candidates, row.heads):
            return candidates
    raise unsettled()


def _place_of(ranked: Ranked) -> Mapping[str, Any]:
    return {"points": round(ranked.points * BILLIONTHS), "id": ranked.id, "at": ranked.at}


def _place(query: cursors.Query, cursor: str | None, *, is_counted: bool) -> tuple[RankedPlace | None, int]:
    """Return the place after which a page starts, and, where it is counted, how many were found before.

    Raises:
        InvalidCursor: the cursor belongs to another query.
    """
    if cursor is None:
        return None, 0
    kinds: dict[str, type] = {"points": int, "id": str, "at": int}
    place = cursors.decode(query, cursor, {**kinds, "found": int} if is_counted else kinds)
    found = place.get("found", 0)
    if (
        not 0 <= found <= cursors.ANSWERED_LIMIT
        or abs(place["points"]) > 1_000 * BILLIONTHS
        or len(place["id"]) > identity.KEY_LIMIT
    ):
        raise cursors.refused()
    return RankedPlace(place["points"] / BILLIONTHS, place["id"], place["at"]), found
