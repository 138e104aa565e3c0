"""The search engine: exact names, words and meaning, in one order, and pages of it.

A copy of the owner's entities in memory is compared as a whole (:mod:`graphmem.search.search_by_copy`), an
identifier with the values of those that have its words (:mod:`graphmem.search.search_by_identifier`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from graphmem.context import Context
from graphmem.model import times
from graphmem.reading import as_of, cursors
from graphmem.reading.as_of import Clocks
from graphmem.reading.entity_pages import EntityRequest
from graphmem.reading.pages import Page
from graphmem.reading.scan import Scan, ScannedEntity, rows_of
from graphmem.reading.shared_rows import EntityRow
from graphmem.search import passage_search, what_is_meant, written_identifiers
from graphmem.search.context.context_lines import with_histories
from graphmem.search.owner_copy import FollowRows, OwnerCopy, OwnerState
from graphmem.search.questions import mentions, naming
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.naming import Asking
from graphmem.search.questions.reading import Reading
from graphmem.search.search_by_copy import by_copy
from graphmem.search.search_by_identifier import by_identifier
from graphmem.search.search_copies import SearchCopies
from graphmem.search.search_results import Ranked, Results, Search
from graphmem.text import identifiers

OF_NOW: Final = (
    "the question asks for the past, and snapshots have the values of now: a search adds earlier ones, and "
    "POST /retrieve_context answers which of them is meant"
)
ABOUT_LIMIT: Final = 5  # named entities whose other names are looked for in the passages of files
PASSAGES_LIMIT: Final = 3  # passages of files in one answer about entities


async def search(context: Context, search: Search) -> Results:
    """Search an owner's live entities.

    Raises:
        ServiceBusy: the owner's entities are being read into memory, and not soon enough.
        SearchMemoryExceeded: they do not fit into it.
    """
    region, limits = context.services.settings.phone_region, context.services.limits
    search = replace(search, types=sorted(set(search.types)))
    whole = set() if search.looks_up else identifiers.candidates(search.query, region)
    sought = written_identifiers.sought(search.query, region)
    if sought is not None:
        # Nothing rather than something similar.
        copy, rows = await _follow(context, whole, search.types, limits.search_identified)
        exact = [each for each in rows.exact if search.among is None or each.id in search.among]
        results = await by_identifier(context, search, copy, sought, exact if whole else None)
        return await _with_passages(context, search, results, rows.state, identifies=True)
    question = mentions.names_in(search.query, region)
    pairs = whole | question.pairs | ({identifiers.ME} if question.may_be_about_own else set())
    # What is named need not be of the types: "Tom's tasks" are, and Tom is not.
    copy, rows = await _follow(context, pairs, [], limits.search_list)
    results = await _results(context, search, question, copy, rows)
    return await _with_passages(context, search, results, rows.state)


async def _follow(
    context: Context, pairs: Collection[tuple[str, str]], types: list[str], limit: int
) -> tuple[OwnerCopy, FollowRows]:
    """Return the copy of the owner's entities, up to date, and at most ``limit`` entities that pairs name."""
    services = context.services
    named = {
        "pairs": [list(pair) for pair in sorted(pairs)],
        "kinds": [*identifiers.KINDS, identifiers.SELF],
        "types": types,
        "list_limit": limit,
    }
    copies, model = services.of(SearchCopies), services.embedder.model
    return await copies.follow(context.actor.owner, model, named, services.limits)


async def _with_passages(
    context: Context, search: Search, results: Results, state: OwnerState | None, *, identifies: bool = False
) -> Results:
    if not search.passages or search.types or search.after is not None or state is None:
        return results
    about = list(dict.fromkeys(each.id for each in results.named))[:ABOUT_LIMIT]
    request = passage_search.PassageRequest(
        search.query, identifies, about, limit=search.passages, clocks=search.clocks
    )
    passages = await passage_search.find(context, request, state)
    return replace(results, passages=passages, notes=[*results.notes, *passages.notes])


async def _results(
    context: Context, search: Search, question: AskedNames, copy: OwnerCopy, rows: FollowRows
) -> Results:
    exact = rows.exact
    named = naming.by_names(question, search.query, exact)
    unknown = question.unknown_identifier((each.start, each.end) for each in named)
    holders = None if unknown is None else await _holders(context, search, copy, unknown)
    first = question.unknown_identifier()
    me = await naming.who_asks(context, exact)
    question, in_use = await copy.look(
        lambda documents: (naming.with_genitives(documents, question), documents.types)
    )
    types = [name for name in in_use if not search.types or name in search.types]
    reading = Reading(question, types, dict(rows.aliases), times.now())
    past = reading.past()
    asking = Asking(context, copy, reading, search.types, past, me)
    meant = await what_is_meant.meant(asking, named)
    named, kind, of_kind = meant.named, meant.kind, [] if meant.kind is None else meant.kind.named
    if meant.leads_nowhere:
        # What is similar to the question is not what is at the end of the relationships.
        search = replace(search, among=frozenset())
    if search.looks_up and not (of_kind or named) and first is not None:
        # What is similar to the rest of the question does not have the identifier.
        return holders or await _holders(context, search, copy, first)
    if holders is not None:
        known = {each.id for each in named}
        named = [*named, *(each for each in holders.named if each.id not in known)]
    if holders is not None and search.looks_up:
        # Beside what it names, a look-up answers only what has the identifier: nothing similar to the rest.
        among = {each.id for each in (*named, *of_kind)} | {hit.id for hit in holders.hits["text"]}
        search = replace(search, among=frozenset(among))
    results = await by_copy(context, search, copy, named, kind)
    notes = [*meant.notes, *naming.doubts(named), *results.notes]
    results = replace(results, way=list(meant.way), notes=notes)
    # Results have values of now.
    if past is not None and not (results.understood is not None and "time" in results.understood):
        results = replace(results, past=past, notes=[*results.notes, OF_NOW])
    if holders is None or holders.named:
        return results
    notes = [*results.notes, f"no entity has the identifier {unknown}"]
    return replace(results, unknown=unknown, notes=notes)


async def _holders(context: Context, search: Search, copy: OwnerCopy, identifier: str) -> Results:
    region = context.services.settings.phone_region
    sought = written_identifiers.sought(identifier, region) or written_identifiers.code(identifier)
    search = replace(search, query=identifier)
    if not search.looks_up:
        search = replace(search, after=None, offset=0, bare=True)
    return await by_identifier(context, search, copy, sought)


BILLIONTHS: Final = 1_000_000_000  # points in a cursor are whole numbers


async def search_page(
    context: Context, text: str, request: EntityRequest, query: cursors.Query, cursor: str | None,
    clocks: Clocks, *, newest_first: bool,
) -> tuple[Page[EntityRow], Results]:  # fmt: skip
    """Return a page of the hits that fit a request, best first, and the search itself.

    As of a time the hits are those of now that lived then, as they were then.

    A page with filters reads hits in their order until it is full, or until it has compared
    ``Limits.compared_entities``: then ``next_cursor`` goes on behind them.
    """
    has_filters = request.is_compared or request.since is not None
    scan = Scan(context, request)
    among = None if request.related is None else await scan.related(*request.related)
    limit = context.services.limits.compared_entities if has_filters else request.limit
    place, earlier_count = None, 0
    if cursor is not None:
        kinds: dict[str, type] = {"points": int, "id": str, "at": int}
        decoded = cursors.decode(query, cursor, {**kinds, "found": int} if has_filters else kinds)
        place = Ranked(decoded["id"], decoded["points"] / BILLIONTHS, {}, decoded["at"])
        earlier_count = decoded.get("found", 0)
    text_search = Search(
        text, request.types, limit, 0 if has_filters else request.offset, after=place,
        newest_first=newest_first, bare=True,
        among=None if among is None else frozenset(each.id for each in among),
        passages=0 if has_filters or request.offset else PASSAGES_LIMIT, clocks=clocks,
    )  # fmt: skip
    results = await search(context, text_search)
    ranked = results.ranked[text_search.offset :]
    if has_filters:
        has_more = results.has_more
        page = await _filtered(scan, among, ranked, earlier_count, has_more=has_more, is_cut=results.is_cut)
        return page, results
    ids = [each.id for each in ranked]
    total, least = results.total, None
    if clocks.now and results.past is not None:
        rows, histories = await with_histories(context, ids)
        results = replace(results, earlier=histories)
        read = ids.index(rows[-1].id) + 1 if rows and len(rows) < len(ids) else len(ids)
    elif clocks.now:
        rows, read = await rows_of(context, ids, request)
    else:
        rows, read = await as_of.first_entities(context, ids, clocks)
    truncated, last = read < len(ids), ranked[read - 1] if ranked else None
    if not clocks.now:
        # Only what was read is known to have lived then.
        is_whole = place is None and not (text_search.offset or truncated or results.has_more)
        total, least = len(rows) if is_whole else None, len(rows)
        is_past = results.past is not None
        results = replace(results, notes=[note for note in results.notes if not (is_past and note == OF_NOW)])
    following = _place_of(last) if last is not None and (truncated or results.has_more) else None
    return Page(rows, following, truncated, total, least=least), results


async def _filtered(
    scan: Scan, among: Sequence[ScannedEntity] | None, ranked: Sequence[Ranked], earlier_count: int, *,
    has_more: bool, is_cut: bool,
) -> Page[EntityRow]:  # fmt: skip
    """Return the page of the hits that fit filters.

    Args:
        among: the compared values of the only entities that may fit; without them they are read.
        earlier_count: how many that fit are on earlier pages.
        is_cut: further hits may be missing, so that no total is known.
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
    least = earlier_count + len(fitting)
    total = least if is_whole and not is_cut else None
    if chosen and (last or len(fitting) > request.offset + len(chosen)):
        end = last or chosen[-1]
        following = {**_place_of(by_id[end.id]), "found": earlier_count + fitting.index(end) + 1}
        return Page(rows, following, last is not None, total, scan.scanned, least)
    # The page may go on behind the last hit that was compared, though none of the next may fit.
    following = None
    if compared and not is_whole:
        following = {**_place_of(ranked[compared - 1]), "found": least}
    return Page(rows, following, not is_whole, total, scan.scanned, least)


def _place_of(ranked: Ranked) -> Mapping[str, Any]:
    return {"points": round(ranked.points * BILLIONTHS), "id": ranked.id, "at": ranked.at}
