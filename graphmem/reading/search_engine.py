"""The search engine: exact names, words and meaning, fused into one order.

Three strategies each answer a ranked list. One statement runs all three, so that they see one state:
``exact`` (identifiers, names and aliases), ``text`` (entities that contain every word) and ``meaning`` (the
nearest vectors, down to a floor of similarity). Reciprocal rank fuses the lists: an entity has the sum of
weight / (60 + rank) over the lists that contain it. Ties are in the order of ids. The score of one strategy
is never compared with the score of another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from graphmem.arguments import Text
from graphmem.errors import EmbeddingUnavailable
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context
from graphmem.settings import Limits
from graphmem.text import identifiers, words

SearchText = Annotated[
    Text, Field(description="What to search for: words, a name, an identifier, or a description.")
]
Strategy = Literal["exact", "text", "meaning"]
Semantic = Literal["ready", "pending", "unavailable"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("exact", "text", "meaning")
WEIGHTS: Final = (3.0, 1.0, 1.0)
"""An exact name counts more than words and meaning together."""
ROWS_FACTOR: Final = 8
"""The index is read again with so many times the rows where the first rows did not settle the answer."""


class VectorCoverage(NamedTuple):
    """Which vectors a search compared.

    Attributes:
        searched: whether meaning was searched.
        total: entities of the owner, of the requested types.
        compared: entities that were compared one by one.
        indexed: whether the vector index was read as well.
        index_rows: rows that were taken from the index, other owners' rows included.
        least: the least similarity among these rows.
        pending: some entities could not be compared: they have no vector of the model in use, or more than
            ``Limits.compared_unindexed`` are outside the index.
    """

    searched: bool
    total: int
    compared: int
    indexed: bool
    index_rows: int
    least: float | None
    pending: bool


class Ranked(NamedTuple):
    """An entity in the fused order: its points, and its rank in each list that contains it."""

    id: str
    points: float
    ranks: dict[Strategy, int]


class StrategyHit(NamedTuple):
    """An entity in the list of one strategy."""

    id: str
    score: float


class _StrategyRank(NamedTuple):
    """The rank of an entity in the list of a strategy; ``strategy`` is an index into ``STRATEGIES``."""

    strategy: int
    rank: int


class _RankedRow(NamedTuple):
    id: str
    points: float
    ranks: list[_StrategyRank]


class _SearchRows(NamedTuple):
    """The row of ``search/find.cypher``."""

    page: list[EntityRow]
    truncated: bool
    ranked: list[_RankedRow]
    exact: list[StrategyHit]
    text: list[StrategyHit]
    meaning: list[StrategyHit]
    coverage: VectorCoverage


@dataclass(frozen=True, slots=True)
class Results:
    """The answer of a search: ``rows`` are one page of ``ranked``.

    ``hits`` holds the ids and scores of each strategy, best first. The score is the place of the strongest
    kind of identifier, a score of words, or a cosine similarity. ``notes`` says what was left out, and why.
    """

    text_query: words.TextQuery
    looked_up: bool
    rows: list[EntityRow]
    truncated: bool
    ranked: list[Ranked]
    hits: dict[Strategy, list[StrategyHit]]
    coverage: VectorCoverage
    semantic: Semantic
    notes: list[str] = field(default_factory=list)
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def ran(self) -> list[str]:
        """The strategies that ran."""
        ran = {
            "exact": self.looked_up,
            "text": bool(self.text_query.phrases),
            "meaning": self.coverage.searched,
        }
        return [name for name in STRATEGIES if ran[name]]

    @property
    def total(self) -> int:
        """The number of hits; a lower bound where a list was cut."""
        return len(self.ranked)


async def search(
    context: Context,
    query: str,
    *,
    types: Sequence[str] = (),
    limit: int,
    offset: int = 0,
    exact: bool = True,
    begins: bool = True,
    only_without_words: bool = False,
) -> Results:
    """Search an owner's live entities, in one round trip; further ones where the index has to be read again.

    Args:
        types: only entities of these types; all types if empty.
        exact: whether identifiers and names are looked up as well.
        begins: whether the last word may be the beginning of a word.
        only_without_words: search meaning only if no words match, and never for an address or a number.
    """
    text_query = words.parse_query(query, begins=begins)
    pairs = sorted(identifiers.candidates(query, context.services.settings.phone_region)) if exact else []
    notes = [f"only the first {words.WORDS_LIMIT} words are searched"] if text_query.left_out else []
    start = time.perf_counter()
    vector, unavailable = None, False
    if text_query.phrases and not (only_without_words and identifiers.is_identifier(query)):
        try:
            (vector,) = await context.services.embedder.embed([query[: words.TEXT_LIMIT]])
        except EmbeddingUnavailable as exc:
            unavailable = True
            notes.append(f"meaning was not searched: {exc}")
    elif text_query.phrases:
        notes.append("meaning was not searched: the query is an address or a number")
    embedded = time.perf_counter()
    limits = context.services.limits
    row = await _find(context, {
        "pairs": [list(pair) for pair in pairs],
        "kinds": list(identifiers.KINDS),
        "types": sorted(set(types)),
        "lucene": words.lucene(text_query, context.graph.owner, sorted(set(types)))
        if text_query.phrases
        else None,
        "patterns": text_query.patterns,
        "list_limit": limits.search_list,
        "vector": vector,
        "model": context.services.embedder.model,
        "floor": context.services.embedder.floor,
        "meaning_limit": max(limits.search_meaning, min(offset + limit, limits.search_list)),
        "exact_limit": limits.compared_exactly,
        "unindexed_limit": limits.compared_unindexed,
        "index_share": limits.index_share,
        "only_without_words": only_without_words,
        "weights": list(WEIGHTS),
        "offset": offset,
        "limit": limit,
    })  # fmt: skip
    read = time.perf_counter()
    return Results(
        text_query=text_query,
        looked_up=bool(pairs),
        rows=row.page,
        truncated=row.truncated,
        ranked=[
            Ranked(
                ranked.id, ranked.points, {STRATEGIES[place.strategy]: place.rank for place in ranked.ranks}
            )
            for ranked in row.ranked
        ],
        hits={"exact": row.exact, "text": row.text, "meaning": row.meaning},
        coverage=row.coverage,
        semantic="unavailable" if unavailable else "pending" if row.coverage.pending else "ready",
        notes=notes + _left_out(limits, row.coverage, len(row.text)),
        milliseconds={
            "embedding": round((embedded - start) * 1000, 2),
            "database": round((read - embedded) * 1000, 2),
        },
    )


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


def _left_out(limits: Limits, coverage: VectorCoverage, text_hits: int) -> list[str]:
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
    return notes
