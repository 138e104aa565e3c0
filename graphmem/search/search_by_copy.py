"""Search by comparing a question with every entity of its owner, in a copy in memory.

The copy may change before the rows of a page are read, so the page leaves out what was deleted meanwhile.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from graphmem.context import Context
from graphmem.embedding import meaning
from graphmem.embedding.meaning import Embedder, Vector, Weighted
from graphmem.errors import InvalidCursor
from graphmem.reading.scan import rows_of
from graphmem.search import search_ranking, terms
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.kinds.kind_lookup import SPREAD, Kind
from graphmem.search.owner_copy import OwnerCopy
from graphmem.search.questions.naming import (
    EXACT_WEIGHT,
    KIND_STEP,
    KIND_WEIGHT,
    PART_WEIGHT,
    RELATIONSHIP_WEIGHT,
    Named,
)
from graphmem.search.search_ranking import NAME_WEIGHT, NEARLY_SHARE, WORDS_WEIGHT, Ranking
from graphmem.search.search_results import (
    STRATEGIES,
    TIMELESS,
    Ordering,
    Ranked,
    Results,
    Search,
    Strategy,
    StrategyHit,
)
from graphmem.text import words

LOOKED_UP_SHARE: Final = 0.5
"""The least share of a looked-up text in an entity that is found by its words alone."""
NAMED_SHARE: Final = 0.25  # the same of another query that names something
CONTEXT_SHARE: Final = 0.07
"""The same of the question of a context that names nothing: a message says little of a long question."""
NAMED_FLOOR: Final = 0.4  # the least similarity of what resembles a looked-up text that names something
ORDERING: Final = Ordering(
    "The answer is ordered by the sum of points, then by id. exact: an entity that the query names gets "
    f"{EXACT_WEIGHT:g} points for the strongest kind of identifier, and {KIND_STEP:g} less for each weaker "
    f"kind, for a part of its name {PART_WEIGHT:g}; what it asks for by a relationship gets "
    f"{RELATIONSHIP_WEIGHT:g}; what is of the kind that it asks for gets {KIND_WEIGHT:g}, and where no other "
    f"words order it, up to {SPREAD:g} more by its time. text: BM25 of the words over the owner's entities; "
    "a message has a part of those of the messages beside it; the best score gives "
    f"{WORDS_WEIGHT:g} points, or the share of them that the entity has of the query which has most of it, "
    "others in proportion, and the share of the query in the name gives up to "
    f"{NAME_WEIGHT:g}. meaning: cosine similarity, of the most similar passage.",
    {"exact": EXACT_WEIGHT, "text": WORDS_WEIGHT, "meaning": 1.0},
)
NEWEST_ORDERING: Final = ORDERING._replace(
    text=f"{ORDERING.text} newest_first: hits with {NEARLY_SHARE:g} of the best points that are about the "
    "matter of the best one, by their vectors, get its points and a part of one more, the newest the most."
)


async def by_copy(
    context: Context, search: Search, copy: OwnerCopy, named: Sequence[Named], kind: Kind | None
) -> Results:
    """Search an owner's live entities in an up-to-date copy of them, beside what is named and of a kind."""
    embedder = context.services.embedder
    start = time.perf_counter()
    vector, reason = (None, "") if embedder.at_once else await meaning.of_query(embedder, search.query)
    embedded = time.perf_counter()
    compare = partial(
        _compared, search=search, named=named, kind=kind, embedder=embedder, vector=vector, reason=reason,
        limit=context.services.limits.search_list if search.listed else 0,
    )  # fmt: skip
    results = await copy.compare(compare, context.services.database.heavy, context.actor.owner)
    compared = time.perf_counter()
    page_hits = [] if search.bare else results.ranked[search.offset :]
    rows, _ = await rows_of(context, [each.id for each in page_hits])
    spent = {"embedding": embedded - start, "comparison": compared - embedded}
    spent["database"] = time.perf_counter() - compared
    return replace(
        results, rows=rows, milliseconds={name: round(each * 1000, 2) for name, each in spent.items()}
    )


def _compared(
    copy: SearchCopy, *, search: Search, named: Sequence[Named], kind: Kind | None, embedder: Embedder,
    vector: Vector | None, reason: str, limit: int,
) -> Results:  # fmt: skip
    """Compare a question with all documents of a copy, and list ``limit`` hits of each strategy apart.
    ``reason``: why a remote embedder gave no vector."""
    has_meaning = words.has_letter(search.query)
    question = terms.of_question(search.query, copy.languages, begins=has_meaning and not search.looks_up)
    match = search_ranking.match_words(copy, question)
    if embedder.at_once and has_meaning:
        # The floor of a look-up is that of whole texts: a weighted one may resemble what has one word of it.
        weighted = zip(question.pieces, match.weights, strict=True)
        parts = [(search.query[: words.TEXT_LIMIT], 1.0)] if search.looks_up else weighted
        vector = embedder.weighted([Weighted(*part) for part in parts])
    among = copy.of_types(search.types)
    if search.among is not None:
        # A new array: the one for all types is the copy's own.
        among = among & copy.of_ids(search.among)
    named = [*(() if kind is None else kind.named), *named]
    has_names = bool(named or kind is not None)
    least_share = LOOKED_UP_SHARE if search.looks_up else CONTEXT_SHARE if search.strict else 0.0
    if has_names and not search.looks_up:
        least_share = NAMED_SHARE
    ranking = search_ranking.rank(
        copy,
        match,
        vector,
        floor=max(embedder.floor, NAMED_FLOOR) if has_names and search.looks_up else embedder.floor,
        among=among,
        # An entity that is named in several ways counts for the best one, which comes first.
        named={hit.id: hit.points for hit in named[::-1]},
        fixed={} if kind is None else kind.points,
        least_share=least_share,
        newest_first=search.newest_first,
    )
    kinds: dict[str, float] = {}
    for hit in named:
        if copy.number_of(hit.id) is not None:
            kinds.setdefault(hit.id, float(hit.kind))
    # One more than the page tells whether the search goes on.
    end = search.offset + search.limit
    numbers = ranking.first(end + 1, _after(copy, ranking, search.after))
    has_words = bool(question.concepts)
    ran = {"exact": True, "text": has_words, "meaning": has_words and has_meaning and not reason}
    is_pending = vector is not None and copy.pending_count > 0
    notes = [f"only the first {words.WORDS_LIMIT} words are searched"] if question.left_out else []
    return Results(
        spellings=match.spellings,
        phrases=[concept.terms[0] + ("" if concept.is_whole else "*") for concept in question.concepts],
        ran=[name for name in STRATEGIES if ran[name]],
        ranked=[_ranked(copy, ranking, number, kinds) for number in numbers[:end]],
        hits=_hits(ranking, kinds, limit),
        counts={
            "exact": len(kinds),
            **{name: int((each[ranking.hits] > 0).sum()) for name, each in ranking.scores.items()},
        },
        total=len(ranking.hits),
        has_more=len(numbers) > end,
        ordering=NEWEST_ORDERING if search.newest_first else ORDERING,
        compared=int(among.sum()),
        semantic="unavailable" if reason else "pending" if is_pending else "ready",
        named=named,
        understood=None if kind is None else kind.understood,
        notes=[*notes, f"meaning was not searched: {reason}"] if reason and has_words else notes,
    )


def _after(copy: SearchCopy, ranking: Ranking, after: Ranked | None) -> tuple[float, str] | None:
    """Return the points and the id behind which hits follow.

    Raises:
        InvalidCursor: the place is one in another order, which an earlier version of graphmem answered.
    """
    if after is None:
        return None
    if after.at == TIMELESS:
        message = "the order of this search is no longer known: start again with its first page"
        raise InvalidCursor(message, issues=[{"path": "$.cursor", "message": message}])
    number = copy.number_of(after.id)
    if number is None or number not in ranking.hits or after.at != copy.times[number]:
        return after.points, after.id
    return float(ranking.points[number]), after.id


def _ranked(copy: SearchCopy, ranking: Ranking, number: int, kinds: dict[str, float]) -> Ranked:
    entity_id = ranking.ids[number]
    scores: dict[Strategy, float] = {"exact": kinds[entity_id]} if entity_id in kinds else {}
    scores |= {name: float(each[number]) for name, each in ranking.scores.items() if each[number] > 0}
    parts = {str(name): part for name, part in ranking.parts_of(number).items()}
    return Ranked(entity_id, float(ranking.points[number]), scores, int(copy.times[number]), parts)


def _hits(ranking: Ranking, kinds: dict[str, float], limit: int) -> dict[Strategy, list[StrategyHit]]:
    """Return the first hits of each strategy by itself."""
    lists: dict[Strategy, list[StrategyHit]] = {
        "exact": [StrategyHit(*each) for each in kinds.items()] if limit else []
    }
    for name, scores in ranking.scores.items():
        documents = ranking.hits[scores[ranking.hits] > 0]
        best = ranking.best(scores, documents, limit) if limit else []
        lists[name] = [StrategyHit(ranking.ids[number], float(scores[number])) for number in best]
    return lists
