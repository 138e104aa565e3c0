"""The search engine: what is named exactly, what says the words, what means the same, all in one order.

Three strategies answer each its own ranked list, in one statement, so that all of them see one state:
``exact`` (identifiers, names and aliases), ``text`` (every word must be there) and ``meaning`` (the nearest
vectors, down to a floor that keeps out what has nothing to do with it). The lists are fused by reciprocal
rank: an entity has the sum of weight / (60 + rank) over the lists that it is in; ties are in the order of
ids. Scores of one strategy never meet those of another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from graphmem.arguments import Text
from graphmem.errors import EmbeddingUnavailable
from graphmem.registry import Context
from graphmem.text import identifiers, words
from graphmem.text.words import Asked

SearchText = Annotated[
    Text, Field(description="What to search for: words, a name, an identifier, or a description.")
]
Strategy = Literal["exact", "text", "meaning"]
Semantic = Literal["ready", "pending", "unavailable"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("exact", "text", "meaning")
WEIGHTS: Final = (3.0, 1.0, 1.0)
"""What is named outright comes before what is found by both of the others."""
REACH: Final = 500
"""How many of each list are looked at; of more that match, those that the index ranks first."""
NEAR: Final = 50
"""How many meaning answers at least, where so many are near enough."""
FEW: Final = 2_000
"""Up to so many entities are compared one by one, which misses none; of more, the index is asked."""
FRESH: Final = 2_000
"""How many that are in no index yet are compared; those beyond wait, and the answer says so."""
WIDENED: Final = 4
DEEPEST: Final = 20_000
"""How much further the index is asked where too few of the owner's were near, and how far at most."""


class Sight(NamedTuple):
    """What meaning looked at.

    Attributes:
        asked: whether it was asked at all.
        total: entities of the owner, of the types that were asked for.
        compared: entities that were compared one by one.
        indexed: whether the index was asked as well.
        deepest: how many the index gave, those of others among them.
        least: the least similarity among these.
        pending: some entities could not be compared yet: they have no vector of the model in use, or more
            than ``FRESH`` are in no index.
    """

    asked: bool
    total: int
    compared: int
    indexed: bool
    deepest: int
    least: float | None
    pending: bool


class Ranked(NamedTuple):
    """An entity in the fused order: its points, and its rank in each list that it is in."""

    id: str
    points: float
    ranks: dict[Strategy, int]


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found: ``rows`` are one page of ``ranked``, each ``entity/_row.cypher``.

    ``hits`` holds the ids and scores of each strategy, best first: the place of the strongest kind of
    identifier, a score of words, a cosine similarity. ``notes`` says what was left out, and why.
    """

    asked: Asked
    looked_up: bool
    rows: list[list[Any]]
    truncated: bool
    ranked: list[Ranked]
    hits: dict[Strategy, list[tuple[str, float]]]
    sight: Sight
    semantic: Semantic
    notes: list[str] = field(default_factory=list)
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def ran(self) -> list[str]:
        """The strategies that ran."""
        ran = {"exact": self.looked_up, "text": bool(self.asked.phrases), "meaning": self.sight.asked}
        return [name for name in STRATEGIES if ran[name]]

    @property
    def total(self) -> int:
        """How many were found; at least so many where a list was cut."""
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
    alone: bool = False,
) -> Results:
    """Search an owner's live entities.

    Args:
        types: only entities of these types; of any where there are none.
        exact: whether identifiers and names are looked up as well.
        begins: whether the last word may be the beginning of one.
        alone: ask meaning only where no words match, and never for an address or a number.

    One round trip, and one more for each time that too few of the owner's entities are among the nearest.
    """
    asked = words.ask(query, begins=begins)
    pairs = sorted(identifiers.candidates(query, context.services.settings.phone_region)) if exact else []
    notes = [f"only the first {words.WORDS_LIMIT} words are searched"] if asked.left_out else []
    start = time.perf_counter()
    vector, unavailable = None, False
    if asked.phrases and not (alone and identifiers.is_identifier(query)):
        try:
            (vector,) = await context.services.embedder.embed([query[: words.TEXT_LIMIT]])
        except EmbeddingUnavailable as exc:
            unavailable = True
            notes.append(f"meaning was not searched: {exc}")
    elif asked.phrases:
        notes.append("meaning was not searched: an address or a number means nothing beyond itself")
    embedded = time.perf_counter()
    wanted: dict[str, Any] = {
        "pairs": [list(pair) for pair in pairs],
        "kinds": list(identifiers.KINDS),
        "types": sorted(set(types)),
        "lucene": words.lucene(asked, context.graph.owner, sorted(set(types))) if asked.phrases else None,
        "patterns": asked.patterns,
        "reach": REACH,
        "vector": vector,
        "model": context.services.embedder.model,
        "floor": context.services.embedder.floor,
        "near": max(NEAR, min(offset + limit, REACH)),
        "few": FEW,
        "most": FRESH,
        "alone": alone,
        "weights": list(WEIGHTS),
        "offset": offset,
        "limit": limit,
    }
    row = await _widened(context, wanted, notes)
    read = time.perf_counter()
    sight = Sight(*row["sight"])
    if len(row["text"]) >= REACH:
        notes.append(
            f"more than {REACH} entities may say these words: those that the index ranks first count"
        )
    return Results(
        asked=asked,
        looked_up=bool(pairs),
        rows=row["page"],
        truncated=row["truncated"],
        ranked=[
            Ranked(one, points, {STRATEGIES[w]: at for w, at in ranks})
            for one, points, ranks in row["ranked"]
        ],
        hits={name: [(one, score) for one, score in row[name]] for name in STRATEGIES},
        sight=sight,
        semantic="unavailable" if unavailable else "pending" if sight.pending else "ready",
        notes=notes,
        milliseconds={
            "embedding": round((embedded - start) * 1000, 2),
            "database": round((read - embedded) * 1000, 2),
        },
    )


async def _widened(context: Context, wanted: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the row of ``search.find``; the index is asked further while too few of its answers fit."""
    deep = 0
    while True:
        row = await context.graph.one("search.find", deep=deep, **wanted)
        assert row is not None
        sight = Sight(*row["sight"])
        # Below the floor nothing more can come, whosever it is.
        exhausted = sight.least is None or sight.least < wanted["floor"]
        if not sight.indexed or exhausted or len(row["meaning"]) >= wanted["near"]:
            return row
        if sight.deepest >= DEEPEST or sight.deepest < deep:
            notes.append(
                f"meaning looked at the {sight.deepest} nearest of all entities; further ones may fit as well"
            )
            return row
        deep = min(DEEPEST, WIDENED * sight.deepest)
