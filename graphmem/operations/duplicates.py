"""Proposals of duplicates: pairs of entities that are likely one thing, for somebody to look at.

Nothing here merges, and nothing is resolved by resemblance: see :mod:`graphmem.matching.similarity`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

import structlog
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, EntityType, NoBool, Offset
from graphmem.errors import GraphmemError, InvalidCursor, NotFound
from graphmem.matching import blocking, similarity
from graphmem.matching.blocking import Pair
from graphmem.matching.similarity import Profile
from graphmem.reading import answers, cursors
from graphmem.reading.answers import EntityRow
from graphmem.reading.cursors import Cursor
from graphmem.reading.receipts import StoredEntity
from graphmem.registry import Context, Scope, operation
from graphmem.writing import Receipt, duplicate_probe
from graphmem.writing.requests import Near

SCANNED = 20_000
"""Most entities that one call compares; a larger owner's are compared in stretches of the order of names."""
WALKED = 100_000
"""Most names that one call looks at, those of entities of other types among them."""
PAGE = 2_500
"""How many entities, or names, one read takes."""
CANDIDATES_DEFAULT = 50
CANDIDATES_LIMIT = 200

LIKELY = 0.9
"""The score from which on a store names a duplicate of what it created."""
NAMED = 5
"""How many a store names for each entity."""
LOOK_SECONDS = 2.0
"""How long it may take to look for duplicates of what is planned."""

_log = structlog.get_logger("graphmem.duplicates")


class FindDuplicates(Arguments):
    """What ``entities.duplicates`` takes."""

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


class Call(TypedDict):
    """An operation and its arguments."""

    operation: str
    arguments: dict[str, Any]


class Candidate(TypedDict):
    """Two entities that are likely one thing, ``entity_a`` having the lesser id.

    ``matched_fields`` are those of ``reasons`` that speak for it; ``merge`` is the call that would merge
    them, into the one with more observations, else into the older.
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


class Duplicates(TypedDict):
    """A page of pairs, the likeliest first, then by ids.

    ``total`` counts the pairs found among the ``scanned`` entities, ``next_offset`` is where the next page
    of them begins. ``truncated`` says that not everything was compared; ``next_cursor`` where to go on then
    (the last pairs of one stretch may come again in the next), else ``hint`` how to narrow the question.
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
    errors=(NotFound, InvalidCursor),
    example="--entity-type person --threshold 0.9",
)
async def find_duplicates(context: Context, arguments: FindDuplicates) -> Duplicates:
    """List pairs of live entities of one type that are likely one thing, each with its score and reasons.

    A proposal only: compare the two, then merge them or leave them. Names count however their words are
    ordered, spelled or abbreviated; equal e-mails, phones, addresses and ids count more; what one thing
    cannot have twice (an event's day, an invoice's number) rules a pair out. Up to 20,000 entities are
    compared in one call, see `truncated`.
    """
    counts = await _counts(context)
    around: list[Profile] = []
    if arguments.entity_id is not None:
        around = [await _one(context, arguments.entity_id)]
        counts = {around[0].entity_type: counts.get(around[0].entity_type, 0)}
    if arguments.entity_type is not None:
        counts = {name: count for name, count in counts.items() if name == arguments.entity_type}
    query = cursors.fingerprint(context, "entities.duplicates", arguments)
    scan = await _scan(context, counts, _start(query, arguments.cursor))
    entities = {one.entity_id: one for one in [*around, *scan.profiles]} if counts else {}
    # Seconds of work at most, beside the loop that serves everybody else.
    found = await asyncio.to_thread(
        blocking.propose,
        list(entities.values()),
        arguments.threshold,
        {one.entity_id for one in around} if around else None,
    )
    end = arguments.offset + arguments.limit
    answer: Duplicates = {
        "candidates": [_candidate(pair) for pair in found.pairs[arguments.offset : end]],
        "total": len(found.pairs),
        "limit": arguments.limit,
        "offset": arguments.offset,
        "scanned": len(entities),
        "truncated": scan.next_name is not None or not found.whole,
    }
    if len(found.pairs) > end:
        answer["next_offset"] = end
    if scan.next_name is not None:
        answer["next_cursor"] = cursors.encode(query, {"name": scan.next_name})
    if not found.whole:
        answer["hint"] = f"more than {blocking.PAIRS} pairs to compare: give entity_type or entity_id"
    return answer


def _start(query: str, cursor: str | None) -> str | None:
    """Return the name behind which a request goes on; ``None`` where it begins.

    Raises:
        InvalidCursor: the cursor is that of another query.
    """
    return None if cursor is None else cursors.decode(query, cursor, {"name": str})["name"]


@dataclass(frozen=True, slots=True)
class _Scan:
    """The entities that are compared with each other, and the name to go on behind if those are not all."""

    profiles: list[Profile]
    next_name: str | None = None


async def _counts(context: Context) -> dict[str, int]:
    """Return how many live entities there are, by type."""
    row = await context.graph.one("duplicate.counts")
    assert row is not None
    return dict(row["counts"])


async def _one(context: Context, entity_id: str) -> Profile:
    """Return the entity that pairs are asked for.

    Raises:
        NotFound: there is none that lives.
    """
    row = await context.graph.one("entity.get", entity_id=entity_id, include_deleted=False)
    if row is None:
        raise answers.no_entity(entity_id)
    entity = EntityRow(*row["entity"])
    texts = duplicate_probe.compared(zip(entity.fields, entity.values, strict=True))
    weight = entity.observation_count, -(entity.created_at or 0)
    return Profile(entity.id, entity.type, entity.name, texts, weight)


async def _scan(context: Context, counts: dict[str, int], after: str | None) -> _Scan:
    """Return the entities of some types: all of them where they are few enough, else a stretch of them."""
    if after is not None or sum(counts.values()) > SCANNED:
        return await _along_names(context, sorted(counts), after or "")
    found: list[Profile] = []
    batch: list[str] = []
    for entity_type, count in sorted(counts.items()):
        if batch and count + sum(counts[one] for one in batch) > PAGE:
            found += await _of_types(context, batch)
            batch = []
        batch.append(entity_type)
    return _Scan(found + (await _of_types(context, batch) if batch else []))


async def _of_types(context: Context, types: Sequence[str]) -> list[Profile]:
    """Return the entities of one type, by pages, or of several that fit into one page."""
    found: list[Profile] = []
    after = ""
    while True:
        row = await context.graph.one(
            "duplicate.by_type", types=types, after=after, limit=PAGE, compared=duplicate_probe.FIELDS
        )
        assert row is not None
        found += map(duplicate_probe.profile, row["page"])
        if len(types) > 1 or len(row["page"]) < PAGE or len(found) > SCANNED:
            return found
        after = max(one[0] for one in row["page"])


async def _along_names(context: Context, types: Sequence[str], after: str) -> _Scan:
    """Return the entities along a stretch of the order of names, and those that share an identifier."""
    found: dict[str, Profile] = {}
    began = after
    for _ in range(WALKED // PAGE):
        row = await context.graph.one(
            "duplicate.by_name", types=types, after=after, limit=PAGE, compared=duplicate_probe.FIELDS
        )
        assert row is not None
        if row["last"] is None:
            return _Scan(list(found.values()))
        found.update((one.entity_id, one) for one in map(duplicate_probe.profile, row["page"]))
        # The next stretch begins with the last page of this one, so that neighbours across its end meet.
        began, after = after, row["last"]
        if len(found) >= SCANNED:
            break
    return _Scan(list(found.values()), began)


def _candidate(pair: Pair) -> Candidate:
    into = similarity.survivor(pair.a, pair.b)
    merged = pair.b if into is pair.a else pair.a
    return {
        "entity_a": pair.a.entity_id,
        "entity_b": pair.b.entity_id,
        "canonical_name_a": pair.a.shown,
        "canonical_name_b": pair.b.shown,
        "entity_type": pair.a.entity_type,
        "score": pair.found.score,
        "matched_fields": pair.found.matched_fields,
        "reasons": [_reason(reason) for reason in pair.found.reasons],
        "merge": {
            "operation": "entities.merge",
            "arguments": {"source_entity_id": merged.entity_id, "target_entity_id": into.entity_id},
        },
    }


def _reason(reason: similarity.Reason) -> answers.Reason:
    return {"field": reason.field, "a": reason.a, "b": reason.b, "similarity": reason.similarity}


async def name_likely(
    context: Context, receipt: Receipt, stored: Sequence[StoredEntity]
) -> list[dict[str, Any]]:
    """Add to each entity that a store created its likely duplicates, where it has some; return warnings.

    What the turn that wrote it did not look for, as that of a plan, is read; whatever fails then becomes a
    warning. A replay is left as it is.
    """
    if receipt.replayed:
        return []
    many = sum(item.action == "created" for item in receipt.items)
    if receipt.near is None and many > duplicate_probe.LOOKED_FOR:
        reason = f"{many} entities were created, duplicates are named of {duplicate_probe.LOOKED_FOR}"
        return [_not_looked_for(reason)]
    if many and not receipt.looked:
        return [_not_looked_for("the database lacked the time or the memory")]
    try:
        likely = _likely(receipt.near or await _near(context, receipt)) if many else {}
    except (GraphmemError, TimeoutError):
        return [_not_looked_for("the database did not answer in time")]
    except Exception:
        # What was written stays so, and its answer must say so.
        _log.exception("comparing likely duplicates failed")
        return [_not_looked_for("comparing them failed")]
    for entry, item in zip(stored, receipt.items, strict=True):
        if item.action == "created" and likely.get(item.entity_id):
            entry["duplicate_candidates"] = likely[item.entity_id]
    return []


def _not_looked_for(reason: str) -> dict[str, Any]:
    message = f"likely duplicates were not looked for: {reason}; entities.duplicates lists them"
    return {"code": "DUPLICATES_NOT_LOOKED_FOR", "message": message}


async def _near(context: Context, receipt: Receipt) -> Near:
    """Read what stands near what a receipt says is, or would be, created."""
    created = duplicate_probe.created(receipt)
    async with asyncio.timeout(LOOK_SECONDS):
        row = await context.graph.one(
            "duplicate.near", **duplicate_probe.parameters(duplicate_probe.probes(created))
        )
    assert row is not None
    return duplicate_probe.near(created, row)


def _likely(near: Near) -> dict[str, list[answers.Likeness]]:
    """Return the likely duplicates of what was created, by id."""
    likely: dict[str, list[answers.Likeness]] = {}
    for entity_id, beside in near.beside.items():
        entities = [near.created[entity_id], *(near.found[one] for one in beside)]
        pairs = blocking.propose(entities, LIKELY, {entity_id}).pairs[:NAMED]
        likely[entity_id] = [_likeness(pair, entity_id) for pair in pairs]
    return likely


def _likeness(pair: Pair, entity_id: str) -> answers.Likeness:
    """Return a pair as the one that was stored sees it: ``a`` of each reason is its own value."""
    turned = pair.a.entity_id != entity_id
    other = pair.a if turned else pair.b
    reasons = [
        _reason(reason._replace(a=reason.b, b=reason.a) if turned else reason)
        for reason in pair.found.reasons
    ]
    return {
        "entity_id": other.entity_id,
        "canonical_name": other.shown,
        "score": pair.found.score,
        "reasons": reasons,
    }
