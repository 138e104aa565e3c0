"""The search engine: exact names, words and meaning, in one order, and pages of it.

A copy of the owner's entities in memory is compared as a whole (:mod:`graphmem.search.search_by_copy`). For
an owner whose entities do not fit into the memory or could not be read, and for one with very many while they
are being read, the indexes of the database answer (:mod:`graphmem.search.search_by_index`), and the answer
says so. An identifier is looked for by the indexes, and compared with the values that they propose
(:mod:`graphmem.search.search_by_identifier`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from graphmem.model import times
from graphmem.reading import as_of, cursors
from graphmem.reading.as_of import Clocks
from graphmem.reading.entity_pages import EntityRequest
from graphmem.reading.pages import Page
from graphmem.reading.scan import Scan, ScannedEntity, rows_of
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context
from graphmem.search import asked_times, written_identifiers
from graphmem.search.asked_times import AskedPast
from graphmem.search.context.context_lines import with_histories
from graphmem.search.entity_copy import IN_LABEL
from graphmem.search.kinds import kind_lookup, kind_words
from graphmem.search.kinds.kind_lookup import Kind
from graphmem.search.owner_copy import INLINE_DOCUMENTS, OwnerCopy
from graphmem.search.questions import chains, mentions, naming, near_words, question_words
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.naming import Named
from graphmem.search.search_by_copy import by_copy
from graphmem.search.search_by_identifier import by_identifier
from graphmem.search.search_by_index import by_index
from graphmem.search.search_results import BY_INDEX, Ranked, Results, Search
from graphmem.text import identifiers

NOT_EXACT: Final = (
    "the index answered, and may miss some: the entities of this owner are being read into memory, or they "
    "take more than GRAPHMEM_SEARCH_MEMORY"
)
WHO_ASKS_NOTE: Final = (
    'nobody is marked as who asks, so "my" and "I" mean nobody: `graphmem me ENTITY` marks a person, or an '
    'observation with "self": true (POST /observations/create)'
)
OF_NOW: Final = (
    "the question asks for the past, and snapshots have the values of now: a search adds earlier ones, and "
    "POST /retrieve_context answers which of them is meant"
)
PHRASES_LIMIT: Final = 2
"""Phrases of one question that are tried as kinds."""


async def search(context: Context, search: Search) -> Results:
    """Search an owner's live entities.

    Raises:
        ServiceBusy: the owner's entities are being read into memory, and not soon enough.
    """
    services = context.services
    search = replace(search, types=sorted(set(search.types)))
    region = services.settings.phone_region
    whole = set() if search.looks_up else identifiers.candidates(search.query, region)
    sought = written_identifiers.sought(search.query, region)
    if sought is not None:
        # Nothing rather than something similar.
        return await by_identifier(context, search, sought, whole)
    question = mentions.read(search.query, region)
    past = asked_times.read(question, times.now())
    pairs = whole | question.pairs | ({identifiers.ME} if question.selves else set())
    copy, exact, aliases = await services.search_copies.follow(
        context.graph.owner,
        services.embedder.model,
        {
            "pairs": [list(pair) for pair in sorted(pairs)],
            "kinds": [*identifiers.KINDS, identifiers.SELF],
            # What is named need not be of the types: "Tom's tasks" are, and Tom is not.
            "types": [],
            "list_limit": services.limits.search_list,
        },
        services.limits,
    )
    named = naming.by_names(question, search.query, exact)
    unknown = question.unknown_identifier((each.start, each.end) for each in named)
    holders = None if unknown is None else await _holders(context, search, unknown)
    first = question.unknown_identifier()
    if copy is None or (search.after is not None and search.after.at == BY_INDEX):
        types = {each.id: each.type for each in exact}
        named = [each for each in named if not search.types or types[each.id] in search.types]
        if search.looks_up and not named and first is not None:
            return holders or await _holders(context, search, first)
        search, named = _with_holders(search, named, holders)
        pairs = {pair for each in named for pair in each.pairs}
        results = await by_index(context, search, pairs)
        results = replace(results, named=named, is_exact=False, notes=[*results.notes, NOT_EXACT])
    else:
        me = await naming.who_asks(context, exact)
        meant = await _meant(context, search, copy, question, named, me, aliases, past)
        named, kind, of_kind = meant.named, meant.kind, [] if meant.kind is None else meant.kind.named
        if meant.leads_nowhere:
            # What is similar to the question is not what is at the end of the relationships.
            search = replace(search, among=frozenset())
        if search.looks_up and not (of_kind or named) and first is not None:
            # What is similar to the rest of the question does not have the identifier.
            return holders or await _holders(context, search, first)
        search, named = _with_holders(search, named, holders, of_kind)
        results = await by_copy(context, search, copy, named, kind)
        notes = [*meant.notes, *naming.doubts(named), *results.notes]
        results = replace(results, way=list(meant.way), notes=notes)
    results = _with_past(results, past)
    if holders is None or holders.named:
        return results
    notes = [*results.notes, f"no entity has the identifier {unknown}"]
    return replace(results, unknown=unknown, notes=notes)


def _with_past(results: Results, past: AskedPast | None) -> Results:
    """Return results that say what the question asks of the past; they have values of now."""
    if past is None or (results.understood is not None and "time" in results.understood):
        return results
    return replace(results, past=past, notes=[*results.notes, OF_NOW])


async def _holders(context: Context, search: Search, identifier: str) -> Results:
    """Return the entities that have an identifier which a question asks for."""
    region = context.services.settings.phone_region
    sought = written_identifiers.sought(identifier, region) or written_identifiers.code(identifier)
    search = replace(search, query=identifier)
    if not search.looks_up:
        search = replace(search, after=None, offset=0, bare=True)
    return await by_identifier(context, search, sought, set())


def _with_holders(
    search: Search, named: list[Named], holders: Results | None, hits: Sequence[Named] = ()
) -> tuple[Search, list[Named]]:
    """Return a search, and what it names, with the entities that have the identifier which it asks for.

    Beside what it names, a look-up answers only what has the identifier: nothing similar to the rest.
    """
    if holders is None:
        return search, named
    known = {each.id for each in named}
    named = [*named, *(each for each in holders.named if each.id not in known)]
    if not search.looks_up:
        return search, named
    among = {each.id for each in (*named, *hits)} | {hit.id for hit in holders.hits["text"]}
    return replace(search, among=frozenset(among)), named


class _Meant(NamedTuple):
    """What a question means.

    Attributes:
        named: what it names, whole and in part, and by relationships to that.
        kind: the kind that it asks for.
        way: the ids of the entities at the end of a chain of relationships, then of those before it.
        notes: what is missing, or left out.
        leads_nowhere: a step of the chain is missing, so nothing is answered.
    """

    named: list[Named]
    kind: Kind | None = None
    way: Sequence[str] = ()
    notes: Sequence[str] = ()
    leads_nowhere: bool = False


async def _meant(
    context: Context,
    search: Search,
    copy: OwnerCopy,
    question: AskedNames,
    by_names: list[Named],
    me: str | None,
    aliases: Mapping[str, str],
    past: AskedPast | None,
) -> _Meant:
    """Return what a question means."""
    now = times.now()
    in_use = await copy.look(lambda documents: documents.types)
    types = [name for name in in_use if not search.types or name in search.types]
    phrases = kind_lookup.phrases(question, by_names, types, aliases, now)[:PHRASES_LIMIT]
    for phrase in phrases:
        # The words that say a kind name nothing.
        named = await _named(copy, question, by_names, phrase.places)
        followed = await naming.by_relationships(context, question, named, search.types, phrase.places)
        owner = [each for each in naming.selves(question, me) if each.end in phrase.places]
        kind = await kind_lookup.of_phrase(context, copy, question, phrase, [*named, *owner], followed, now)
        if kind is not None:
            named = await _of_types(copy, [*followed, *named], search.types)
            return _Meant(named, kind, notes=[kind.note] if kind.note else [])
    named = await _named(copy, question, by_names, frozenset())
    # "My Brother's House" may be a name.
    taken = {place for each in named for place in range(each.start, each.end)}
    selves = [each for each in naming.selves(question, me) if each.start not in taken]
    if (meant := await _by_chain(context, search, copy, question, named, selves)) is not None:
        return meant
    anchors: set[str] = set()
    if past is not None and past.before:
        # "Before Bremen" does not ask for Bremen.
        start, end = past.span
        anchors = {each.id for each in named if start <= each.start and each.end <= end}
        named = [each for each in named if each.id not in anchors]
    is_owned = not named and await _has_owned_kind(copy, question, me, types, aliases)
    bases = named or ([] if is_owned else selves)
    described = chains.described(question)
    word = question.pieces[described].token if described >= 0 else ""
    person = word if word in chains.PEOPLE else ""
    followed = await naming.by_relationships(context, question, bases, search.types, frozenset(), person)
    followed = await _unsaid(copy, question, [each for each in followed if each.id not in anchors])
    is_about_self = not (named or is_owned) and (
        bool(followed) or (not word and await naming.is_about_self(copy, question, me))
    )
    selves = selves if is_about_self else []
    named = await _of_types(copy, [*followed, *named, *selves], search.types)
    if word and not (person and followed):
        named = [each._replace(unsure=word) for each in named]
    way = [each.id for each in named] if word and followed else []
    if not (named or is_about_self or question.asked_identifiers):
        look = copy.look if len(copy.documents) <= INLINE_DOCUMENTS else copy.in_thread
        near = await look(lambda documents: near_words.named_nearly(documents, question))
        named = await _of_types(copy, near, search.types)
    return _Meant(named, way=way, notes=[WHO_ASKS_NOTE] if is_about_self and me is None else [])


async def _unsaid(copy: OwnerCopy, question: AskedNames, followed: list[Named]) -> list[Named]:
    """Return what relationships lead to, without places where a field of what is named says the place.

    An address says more than the city in which somebody lives.
    """
    tokens = [piece.token for piece in question.pieces if piece.token]
    labels = {label for token in tokens for label in question_words.LABELS.get(token, ())}
    labels &= question_words.PLACES
    if question_words.wanted(tokens) != {"place"} or not labels:
        return followed
    return await copy.look(
        lambda documents: [
            each for each in followed if not documents.has_any(each.related_to or "", labels, IN_LABEL)
        ]
    )


async def _has_owned_kind(
    copy: OwnerCopy, question: AskedNames, me: str | None, types: Collection[str], aliases: Mapping[str, str]
) -> bool:
    """Return whether a kind is meant as in "the number plate of my car", and who asks has no such word."""
    owned = [piece.token for at in question.mine for piece in question.pieces[at + 1 : at + 2]]
    if not any(kind_words.named_kind([word], types, aliases) for word in owned):
        return False
    return me is None or not await copy.look(lambda documents: documents.has_any(me, owned))


async def _by_chain(
    context: Context,
    search: Search,
    copy: OwnerCopy,
    question: AskedNames,
    named: Sequence[Named],
    selves: Sequence[Named],
) -> _Meant | None:
    """Return what a chain of relationships in a question leads to, ``None`` if it has none."""
    chain = chains.read(question, [*named, *selves])
    if chain is None or not (chain.decides or chain.start in question.mine):
        return None
    bases = [each for each in (*named, *selves) if each.start == chain.start]
    way = await chains.follow(context, copy, question, chain, bases)
    if not way.named and not way.note:
        return None
    if not way.named and (chain.decides or not (named or chain.is_beside)):
        return _Meant([], notes=[way.note], leads_nowhere=True)
    ends = way.named
    if chain.has_more and len(chain.steps) == 1:
        # "Where does my sister work?": the verb is a step as well.
        at = chain.places[0]
        ends = [each._replace(start=at, end=at + 1) for each in ends]
        verbs = await naming.by_relationships(context, question, ends, search.types, chain.places[1:])
        ends = [*verbs, *ends]
    if chains.described(question) in chain.places:
        # Of "my friend who lives in Rome", only the friend is known.
        ends = [each._replace(unsure=chain.steps[-1]) for each in ends]
    every = await _of_types(copy, [*ends, *named, *(bases if ends else ())], search.types)
    led = [] if chain.is_beside else [*(each.id for each in ends), *way.between]
    return _Meant(every, way=list(dict.fromkeys(led)), notes=[way.note] if way.note else [])


async def _named(
    copy: OwnerCopy, question: AskedNames, by_names: Sequence[Named], kind: Collection[int]
) -> list[Named]:
    """Return what a question names by names, whole and in part, beside the words that say a kind."""
    named = [each for each in by_names if all(place not in kind for place in range(each.start, each.end))]
    return named + await naming.by_parts(copy, question, named, kind)


async def _of_types(copy: OwnerCopy, named: Sequence[Named], types: Sequence[str]) -> list[Named]:
    """Return what is named of some types; all types if empty."""
    ids = [each.id for each in named]
    among = await copy.look(lambda documents: documents.having_types(ids, types))
    return [each for each in named if each.id in among]


BILLIONTHS: Final = 1_000_000_000
"""Points in a cursor are whole numbers."""


async def search_page(
    context: Context,
    text: str,
    request: EntityRequest,
    query: cursors.Query,
    cursor: str | None,
    clocks: Clocks,
    *,
    newest_first: bool,
) -> tuple[Page[EntityRow], Results]:
    """Return a page of the hits that fit a request, best first, and the search itself.

    As of a time the hits are those of now that lived then, as they were then.

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
        decoded = cursors.decode(query, cursor, {**kinds, "found": int} if has_filters else kinds)
        place, found = (
            Ranked(decoded["id"], decoded["points"] / BILLIONTHS, {}, decoded["at"]),
            decoded.get("found", 0),
        )
    wanted = Search(
        text,
        request.types,
        limit,
        0 if has_filters else request.offset,
        after=place,
        newest_first=newest_first,
        bare=True,
        among=None if among is None else frozenset(each.id for each in among),
    )
    results = await search(context, wanted)
    ranked = results.ranked[wanted.offset :]
    if has_filters:
        has_more = results.has_more
        page = await _filtered(scan, among, ranked, found, has_more=has_more, is_cut=results.is_cut)
        # Hits that a cut list lacks might fit.
        results = replace(results, is_exact=results.is_exact and not results.is_cut)
        return page, results
    ids = [each.id for each in ranked]
    last = ranked[-1] if ranked else None
    if clocks.now and results.past is not None:
        rows, histories = await with_histories(context, ids)
        truncated, results = len(rows) < len(ids), replace(results, earlier=histories)
        last = next((each for each in ranked if rows and each.id == rows[-1].id), None)
    elif clocks.now:
        rows, truncated = await rows_of(context, ids, request)
        if truncated:
            last = next(each for each in ranked if each.id == rows[-1].id)
    else:
        rows, read = await as_of.first_entities(context, ids, clocks)
        truncated = read < len(ids)
        last = ranked[read - 1] if truncated else last
        is_past = results.past is not None
        results = replace(results, notes=[note for note in results.notes if not (is_past and note == OF_NOW)])
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
