"""Search by the database's indexes alone: for owners who have no copy in memory, or not yet.

One statement runs the strategies, so that they see one state. Words must all occur, and the index of words
proposes the entities that are compared; the vector index proposes the nearest vectors. Reciprocal rank fuses
the lists: an entity has the sum of weight / (60 + rank) over the lists that contain it. Ties are in the order
of ids. The score of one strategy is never compared with the score of another.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from graphmem.context import Context
from graphmem.embedding import meaning
from graphmem.errors import InvalidCursor
from graphmem.reading.shared_rows import EntityRow
from graphmem.search.questions.naming import kind_of
from graphmem.search.search_results import (
    BY_INDEX,
    STRATEGIES,
    Ordering,
    Ranked,
    Results,
    Search,
    Strategy,
    StrategyHit,
    VectorCoverage,
)
from graphmem.settings import Limits
from graphmem.text import identifiers, words

WEIGHTS: Final[dict[Strategy, float]] = {"exact": 3.0, "text": 1.0, "meaning": 1.0}
"""An exact name counts more than words and meaning together."""
ROWS_FACTOR: Final = 8
"""The index is read again with so many times the rows where the first rows did not settle the answer."""
ORDERING: Final = Ordering(
    "Each list gives its entities weight / (60 + rank) points; the answer is ordered by the sum of points, "
    "then by id. exact: identifiers, then names, then aliases. text: every word occurs; the score is the "
    "frequency for the length, plus 1 for a hit in the name. meaning: cosine similarity, at least the floor.",
    WEIGHTS,
)


class _RankedRow(NamedTuple):
    """An entity; ``ranks`` are pairs of an index into ``STRATEGIES`` and the rank in its list."""

    id: str
    points: float
    ranks: list[list[int]]


class _SearchRows(NamedTuple):
    page: list[EntityRow]
    truncated: bool
    ranked: list[_RankedRow]
    exact: list[StrategyHit]
    text: list[StrategyHit]
    meaning: list[StrategyHit]
    coverage: VectorCoverage


async def by_index(context: Context, search: Search, identifiers_of: Collection[tuple[str, str]]) -> Results:
    """Search an owner's live entities, in one round trip; further ones where the index has to be read again.

    A look-up searches meaning only if no words match. Numbers alone have no meaning.
    """
    has_meaning = words.has_letter(search.query)
    text_query = words.parse_query(search.query, begins=has_meaning and not search.looks_up)
    pairs = sorted(identifiers_of)
    notes = [f"only the first {words.WORDS_LIMIT} words are searched"] if text_query.left_out else []
    start = time.perf_counter()
    vector, reason = None, ""
    if text_query.phrases:
        vector, reason = await meaning.of_query(context.services.embedder, search.query)
        why_not = reason if has_meaning else "the query has no words"
        notes += [f"meaning was not searched: {why_not}"] if why_not else []
    embedded = time.perf_counter()
    limits = context.services.limits
    meaning_limit = max(limits.search_meaning, min(search.offset + search.limit, limits.search_list))
    row = await _find(context, {
        "pairs": [list(pair) for pair in pairs],
        "kinds": list(identifiers.KINDS),
        "types": search.types,
        "lucene": words.lucene(text_query, context.graph.owner, search.types) if text_query.phrases else None,
        "patterns": text_query.patterns,
        "among": None if search.among is None else sorted(search.among),
        "list_limit": limits.search_list,
        "vector": vector,
        "model": context.services.embedder.model,
        "floor": context.services.embedder.floor,
        "meaning_limit": meaning_limit,
        "exact_limit": limits.compared_exactly,
        "unindexed_limit": limits.compared_unindexed,
        "index_share": limits.index_share,
        "only_without_words": search.looks_up,
        "weights": list(WEIGHTS.values()),
        "offset": search.offset,
        "limit": 0 if search.bare else search.limit,
    })  # fmt: skip
    read = time.perf_counter()
    exact = [StrategyHit(hit.id, float(kind_of(hit.score)[0])) for hit in row.exact]
    hits: dict[Strategy, list[StrategyHit]] = {"exact": exact, "text": row.text, "meaning": row.meaning}
    scores = {name: dict(listed) for name, listed in hits.items()}
    ran = {"exact": bool(pairs), "text": bool(text_query.phrases), "meaning": row.coverage.searched}
    # Of some entities alone, each is compared.
    text_hits = len(row.text) if search.among is None else 0
    ranked = [
        Ranked(
            each.id,
            each.points,
            {STRATEGIES[number]: scores[STRATEGIES[number]][each.id] for number, _ in each.ranks},
        )
        for each in row.ranked
    ]
    if search.after is not None:
        ranked = hits_after(ranked, search.after)
    return Results(
        spellings=frozenset(word for phrase in text_query.phrases for word in phrase),
        phrases=[
            pattern[1:].rstrip() + ("" if pattern.endswith(" ") else "*") for pattern in text_query.patterns
        ],
        ran=[name for name in STRATEGIES if ran[name]],
        rows=row.page,
        ranked=ranked[: search.offset + search.limit],
        hits=hits,
        counts={name: len(listed) for name, listed in hits.items()},
        total=len(row.ranked),
        has_more=len(ranked) > search.offset + search.limit,
        ordering=ORDERING,
        coverage=row.coverage,
        semantic="unavailable" if reason else "pending" if row.coverage.pending else "ready",
        is_exact=row.coverage.total <= limits.compared_exactly,
        is_cut=text_hits >= limits.search_list or len(row.meaning) >= meaning_limit,
        notes=[*notes, *_left_out(limits, row.coverage, text_hits, newest_first=search.newest_first)],
        milliseconds={
            "embedding": round((embedded - start) * 1000, 2),
            "database": round((read - embedded) * 1000, 2),
        },
    )


def hits_after(ranked: list[Ranked], after: Ranked) -> list[Ranked]:
    """Return the hits behind a place.

    Raises:
        InvalidCursor: the place is one in the order of a copy.
    """
    if after.at != BY_INDEX:
        message = "the order of this search is no longer in memory: start again with its first page"
        raise InvalidCursor(message, issues=[{"path": "$.cursor", "message": message}])
    place = next((place for place, each in enumerate(ranked) if each.id == after.id), None)
    if place is not None:
        return ranked[place + 1 :]
    return [each for each in ranked if (-each.points, each.id) > (-after.points, after.id)]


async def _find(context: Context, parameters: dict[str, Any]) -> _SearchRows:
    """Return the row of ``search.find`` that settles which entities mean the same.

    The rows of the index are in the order of similarity, and any of them may belong to other owners. So a few
    are read first, and more while a better one may follow.
    """
    limits = context.services.limits
    index_rows = max(limits.index_rows, 2 * parameters["meaning_limit"])
    one_by_one_limit = limits.compared_one_by_one
    while True:
        row = await context.graph.only(
            "search.find",
            _SearchRows,
            index_rows=index_rows,
            one_by_one_limit=one_by_one_limit,
            **parameters,
        )
        coverage = row.coverage
        if _is_settled(coverage, row.meaning, index_rows, parameters):
            return row
        index_rows *= ROWS_FACTOR
        if coverage.total > limits.compared_exactly:
            if coverage.index_rows >= limits.index_rows_approximate:
                return row
            index_rows = min(index_rows, limits.index_rows_approximate)
        elif index_rows > ROWS_FACTOR * coverage.total:
            # So many rows of others cost more than to compare each entity of the owner.
            one_by_one_limit = limits.compared_exactly


def _is_settled(
    coverage: VectorCoverage, meaning: list[StrategyHit], index_rows: int, parameters: dict[str, Any]
) -> bool:
    """Return whether further rows of the index cannot change the list of meaning."""
    if not coverage.indexed or coverage.least is None or coverage.index_rows < index_rows:
        return True
    if coverage.least < parameters["floor"]:
        return True
    # Equal similarities are in the order of ids: of those at the end all must have been read.
    return len(meaning) >= parameters["meaning_limit"] and meaning[-1].score > coverage.least


def _left_out(limits: Limits, coverage: VectorCoverage, text_hits: int, *, newest_first: bool) -> list[str]:
    """Return notes on what the lists may lack."""
    notes: list[str] = []
    if coverage.indexed and coverage.total > limits.compared_exactly:
        notes.append(
            f"of more than {limits.compared_exactly:,} entities, the index of vectors may miss similar ones: "
            f"meaning looked at the {coverage.index_rows:,} nearest that it knew"
        )
    if text_hits >= limits.search_list:
        notes.append(
            f"more than {limits.search_list} entities may contain these words: "
            "the ones that the index ranks first count"
        )
    if newest_first:
        notes.append("newest_first was left out: the indexes do not know what nearly fits")
    return notes
