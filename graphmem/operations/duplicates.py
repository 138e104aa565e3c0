"""Listing likely duplicates: pairs of entities for somebody to review.

Nothing is merged here. How pairs are scored is said in :mod:`graphmem.matching.similarity`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, EntityType, NoBool, Offset
from graphmem.errors import InvalidCursor, NotFound
from graphmem.matching import blocking, similarity
from graphmem.matching.blocking import Pair
from graphmem.matching.similarity import Profile
from graphmem.reading import answers, cursors, duplicate_pages
from graphmem.reading.budgets import Budgeted, MaxCharacters, within_budget
from graphmem.reading.cursors import Cursor
from graphmem.reading.duplicate_candidates import reason_of
from graphmem.registry import Context, Scope, operation

CANDIDATES_DEFAULT = 50
CANDIDATES_LIMIT = 200


class FindDuplicates(Arguments):
    """The arguments of ``entities.duplicates``."""

    entity_type: EntityType | None = None
    entity_id: EntityId | None = Field(default=None, description="Only pairs with this entity.")
    threshold: Annotated[
        float,
        Field(ge=similarity.LOWEST_THRESHOLD, le=1, description="Least score of a pair, 0.5 to 1."),
        NoBool,
    ] = 0.85
    limit: Annotated[
        int, Field(ge=1, le=CANDIDATES_LIMIT, description=f"Page size, 1 to {CANDIDATES_LIMIT}."), NoBool
    ] = CANDIDATES_DEFAULT
    offset: Offset = 0
    cursor: Cursor = None
    max_characters: MaxCharacters = None


class Call(TypedDict):
    """An operation and its arguments."""

    operation: str
    arguments: dict[str, Any]


class Candidate(TypedDict):
    """Two entities that are likely the same thing; ``entity_a`` has the lesser id.

    ``matched_fields`` are the fields of ``reasons`` that raise the score. ``merge`` has the
    arguments with which `merge_entities` merges the two, into the one with more observations, or else into
    the older.
    """

    entity_a: str
    entity_b: str
    canonical_name_a: str
    canonical_name_b: str
    entity_type: str
    score: float
    matched_fields: list[str]
    reasons: list[answers.Reason]
    merge: Call


class Duplicates(Budgeted):
    """A page of pairs, the likeliest first, then by ids.

    Unlike in other lists, an offset goes on among the pairs, and a cursor among the entities. ``total``
    counts the pairs among the ``scanned`` entities; ``next_offset`` is where their next page begins.
    ``truncated`` means that not all entities were compared: ``next_cursor`` then compares the next ones (its
    first pairs may repeat the last ones here), or ``hint`` says how to narrow the request.
    """

    candidates: list[Candidate]
    total: int
    limit: int
    offset: int
    scanned: int
    truncated: bool
    next_offset: NotRequired[int]
    next_cursor: NotRequired[str]
    hint: NotRequired[str]


@operation(
    "entities.duplicates",
    "GET /entities/duplicates",
    tool="list_potential_duplicates",
    command="entities find-duplicates",
    scope=Scope.READ,
    heavy=True,
    errors=(NotFound, InvalidCursor),
    example={"entity_type": "person", "threshold": 0.9},
)
@within_budget("candidates", is_costly=True)
async def find_duplicates(context: Context, arguments: FindDuplicates) -> Duplicates:
    """List pairs of live entities of one type that are likely the same thing, with scores and reasons.

    These are proposals: compare the two, then leave them, or merge them by `merge_entities` with the
    arguments of `merge`. Names match in any order, spelling or abbreviation of their words. Equal e-mails,
    phones, addresses and ids count more. Different values of a field that a thing has only once (the day of
    an event, the number of an invoice) rule a pair out. One call compares up to 20,000 entities, see
    `truncated`.
    """
    counts = await duplicate_pages.entity_counts(context)
    named: list[Profile] = []
    if arguments.entity_id is not None:
        named = [await duplicate_pages.profile_of(context, arguments.entity_id)]
        counts = {named[0].entity_type: counts.get(named[0].entity_type, 0)}
    if arguments.entity_type is not None:
        counts = {name: count for name, count in counts.items() if name == arguments.entity_type}
    query = cursors.fingerprint(context, "entities.duplicates", arguments)
    scan = await duplicate_pages.scan(context, counts, _start(query, arguments.cursor))
    entities = {profile.entity_id: profile for profile in [*named, *scan.profiles]} if counts else {}
    # This takes seconds for many entities: a thread keeps the event loop free for other calls.
    proposals = await asyncio.to_thread(
        blocking.propose,
        list(entities.values()),
        arguments.threshold,
        {profile.entity_id for profile in named} if named else None,
    )
    end = arguments.offset + arguments.limit
    answer: Duplicates = {
        "candidates": [_candidate(pair) for pair in proposals.pairs[arguments.offset : end]],
        "total": len(proposals.pairs),
        "limit": arguments.limit,
        "offset": arguments.offset,
        "scanned": len(entities),
        "truncated": scan.next_name is not None or not proposals.complete,
    }
    if len(proposals.pairs) > end:
        answer["next_offset"] = end
    if scan.next_name is not None:
        answer["next_cursor"] = cursors.encode(query, {"name": scan.next_name})
    if not proposals.complete:
        answer["hint"] = f"more than {blocking.PAIRS_LIMIT} pairs to compare: give entity_type or entity_id"
    return answer


def _start(query: str, cursor: str | None) -> str | None:
    """Return the name after which the request goes on, or None for the first page.

    Raises:
        InvalidCursor: the cursor belongs to another query.
    """
    return None if cursor is None else cursors.decode(query, cursor, {"name": str})["name"]


def _candidate(pair: Pair) -> Candidate:
    into = similarity.survivor(pair.a, pair.b)
    merged = pair.b if into is pair.a else pair.a
    return {
        "entity_a": pair.a.entity_id,
        "entity_b": pair.b.entity_id,
        "canonical_name_a": pair.a.name,
        "canonical_name_b": pair.b.name,
        "entity_type": pair.a.entity_type,
        "score": pair.score.score,
        "matched_fields": pair.score.matched_fields,
        "reasons": [reason_of(reason) for reason in pair.score.reasons],
        "merge": {
            "operation": "entities.merge",
            "arguments": {"source_entity_id": merged.entity_id, "target_entity_id": into.entity_id},
        },
    }
