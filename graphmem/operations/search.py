"""Looking up entities by name, identifier, words or meaning, and explaining a search."""

from collections.abc import Sequence
from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import (
    OFFSET_LIMIT,
    PAGE_DEFAULT,
    EntityType,
    Limit,
    Offset,
    ReadAs,
    Spelled,
    Text,
    TypeFilters,
)
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.model.ids import ENTITY_ID
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.as_of import AsOf, AsOfArguments, Clocks
from graphmem.reading.pages import IndexedPageEnvelope, NamesDamaged, Page, Paged, start_of
from graphmem.reading.shaping import ShapedArguments, shaped
from graphmem.registry import Scope, operation
from graphmem.search import search_engine, search_results
from graphmem.search.lookup import LookupHit, LookupHits, by_words, find_exactly
from graphmem.search.questions import naming


class FindEntity(ShapedArguments, AsOfArguments, Paged):
    identifier: Annotated[Text, Spelled("query", "text", option="query"), ReadAs("words")]
    entity_type: EntityType | None = None


class FoundEntities(LookupHits, AsOf, IndexedPageEnvelope):
    """A page of the hits of a look-up."""

    total: int  # pyright: ignore[reportGeneralTypeIssues]


@operation("entities.find", Scope.READ)
@shaped("entities", "resembling")
async def find_entity(context: Context, arguments: FindEntity) -> FoundEntities:
    """Find entities by an id, an identifier, a name, words, or a description.

    The first step that has a hit answers: an id; an e-mail, phone, URL, domain or external id; a name or an
    alias, also within a question; a part of a person's name; words; meaning. "Tom's boss" follows
    relationships; "unpaid invoices" asks for a kind. `match_mode` names the step. `match: resemblance`: words
    or meaning alone, no such name. `at` answers those that lived then, as they were.
    """
    clocks = arguments.clocks
    query = cursors.fingerprint(context, "entities.find", arguments)
    place, _ = start_of(arguments, query, {"answered": int}, Clocks())
    skip = arguments.offset if place is None else place["answered"]
    if not 0 <= skip <= OFFSET_LIMIT:
        raise cursors.refused()
    identifier, reach = arguments.identifier.strip(), skip + arguments.limit
    hits = await find_exactly(context, identifier, arguments.entity_type, reach)
    if not hits["entities"] and not ENTITY_ID.fullmatch(identifier.lower()):
        types = [arguments.entity_type] if arguments.entity_type else []
        hits = await by_words(context, identifier, types, reach)
    page, total = hits["entities"][skip:reach], hits["total"]
    end = skip + len(page)
    if not clocks.now:
        page, read = await _living(context, page, clocks)
        end = skip + read
        if "resembling" in hits:
            hits["resembling"], _ = await _living(context, hits["resembling"], clocks)
    following = {"answered": end} if skip < end < total else None
    if not clocks.now and not skip and following is None:
        total = len(page)
    truncated = following is not None and end - skip < arguments.limit
    answer: FoundEntities = {
        **hits,
        **clocks.answered,
        **clocks.hinted(bool(end > skip and not page)),
        "entities": page,
        **Page(page, following, truncated, total).envelope(arguments, query, is_counted=True),
        "total": total,
    }
    if end == skip < hits["total"]:
        rest = f"no look-up answers more than its first {skip} hits: POST /entities/query pages a search"
        answer["hint"] = "; ".join(filter(None, [answer.get("hint"), rest]))
    return answer


async def _living(context: Context, hits: Sequence[LookupHit], clocks: Clocks) -> tuple[list[LookupHit], int]:
    """Return those of some hits that lived as of the clocks, as they were, and how many hits were read."""
    rows, read = await as_of.first_entities(context, [each["entity_id"] for each in hits], clocks)
    then = {row.id: answers.entity(row) for row in rows}
    return [
        cast("LookupHit", {**each, **then[each["entity_id"]]}) for each in hits if each["entity_id"] in then
    ], read


class ExplainSearch(Sized):
    """The arguments of ``search.explain``, which are those of a search."""

    search: Annotated[search_results.SearchText, Spelled("query", "text", "search_query"), ReadAs("words")]
    filters: TypeFilters = TypeFilters()
    newest_first: bool = Field(default=False, description=search_results.NEWEST_FIRST)
    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0


class Hit(TypedDict):
    """An entity in the list of one strategy."""

    entity_id: str
    rank: int
    score: float


class StrategyRun(TypedDict):
    """One strategy: whether it ran, its number of hits, its weight, and its list, best first."""

    strategy: str
    ran: bool
    found: int
    weight: float
    hits: list[Hit]


class Explained(answers.EntityName):
    """An entity of the answer: its points, its rank and score in each list, and the kinds of its matches.

    ``parts`` add up to the points: ``exact``, ``text`` and ``meaning``; ``name``, for the share of the query
    in the name; and ``newest_first``, for what the entity was raised by.
    """

    points: float
    parts: dict[str, float]
    ranks: dict[str, int]
    scores: dict[str, float]
    matched: list[str]


class Compared(TypedDict):
    """What the comparison by meaning read.

    ``entities`` counts the entities of the requested types, ``one_by_one`` those that were compared: all of
    them where meaning was searched. ``by_index`` is false and ``nearest`` is 0: no index takes part.
    ``floor`` is the least similarity of a hit.
    """

    entities: int
    one_by_one: int
    by_index: bool
    nearest: int
    floor: float
    model: str


class Explanation(NamesDamaged, Budgeted):
    """How a search came to its answer. ``*`` marks the beginning of a word.

    Any of ``phrases`` makes a hit by words. Where the search asks for a kind, ``understood`` says how it was
    read.
    """

    phrases: list[str]
    entity_types: list[str]
    semantic: search_results.Semantic
    strategies: list[StrategyRun]
    order: str
    entities: list[Explained]
    total: int
    compared: Compared
    left_out: list[str]
    milliseconds: dict[str, float]
    understood: NotRequired[search_results.Understood]


@operation("search.explain", Scope.READ)
async def explain_search(context: Context, arguments: ExplainSearch) -> Explanation:
    """Explain a search: which strategies ran, what each of them found, and how the answer was ordered.

    `left_out` names what was not searched, and why. `semantic` says whether all entities could be compared by
    meaning.
    """
    types = arguments.filters.types
    results = await search_engine.search(
        context,
        search_results.Search(
            arguments.search,
            types,
            arguments.limit,
            arguments.offset,
            listed=True,
            newest_first=arguments.newest_first,
        ),
    )
    embedder = context.services.embedder
    explanation: Explanation = {
        "phrases": results.phrases,
        "entity_types": types,
        "semantic": results.semantic,
        "strategies": [
            {
                "strategy": name,
                "ran": name in results.ran,
                "found": results.counts[name],
                "weight": results.ordering.weights[name],
                "hits": [
                    {"entity_id": entity_id, "rank": rank, "score": 1.0 if name == "exact" else score}
                    for rank, (entity_id, score) in enumerate(results.hits[name][: arguments.limit], 1)
                ],
            }
            for name in search_results.STRATEGIES
        ],
        "order": results.ordering.text,
        "entities": _explained(results, arguments.offset),
        "total": results.total,
        "compared": {
            "entities": results.compared,
            "one_by_one": results.compared if "meaning" in results.ran else 0,
            "by_index": False,
            "nearest": 0,
            "floor": embedder.floor,
            "model": embedder.model,
        },
        "left_out": results.notes,
        "milliseconds": results.milliseconds,
    }
    if results.understood is not None:
        explanation["understood"] = results.understood
    return explanation


def _explained(results: search_results.Results, offset: int) -> list[Explained]:
    ranks: dict[search_results.Strategy, dict[str, int]] = {
        name: {hit.id: rank for rank, hit in enumerate(hits, 1)} for name, hits in results.hits.items()
    }
    ranked = {each.id: each for each in results.ranked[offset:]}
    explained: list[Explained] = []
    for row in results.rows:
        answers.entity(row)
        scores = ranked[row.id].scores
        matched: list[str] = [naming.KINDS[int(scores["exact"])]] if "exact" in scores else []
        explained.append({
            "entity_id": row.id,
            "entity_type": row.type,
            "canonical_name": row.name,
            "points": ranked[row.id].points,
            "parts": dict(ranked[row.id].parts),
            "ranks": {str(name): ranks[name][row.id] for name in scores if row.id in ranks[name]},
            "scores": {str(name): score for name, score in scores.items() if name != "exact"},
            "matched": matched + [name for name in ("text", "meaning") if name in scores],
        })  # fmt: skip
    return explained
