"""Listing likely duplicates, pairs of entities for somebody to review, and saying that a pair is none.

Nothing is merged here. How pairs are scored is said in :mod:`graphmem.duplicates.similarity`.
"""

import asyncio
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import EntityId, EntityType, NoBool
from graphmem.budgets import within_budget
from graphmem.context import Context
from graphmem.duplicates import blocking, duplicate_pages, similarity
from graphmem.duplicates.blocking import Pair, Proposals
from graphmem.duplicates.similarity import Profile
from graphmem.model.fact_records import pair_of
from graphmem.reading import answers, cursors
from graphmem.reading.pages import LeavesOut, Page, Paged, PageEnvelope
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import Reason, Writing, Written, receipt_of, refusals, submit, transaction
from graphmem.writing import DismissalRequest, DismissedPair


class FindDuplicates(Paged):
    entity_type: EntityType | None = None
    entity_id: EntityId | None = None
    threshold: Annotated[float, NoBool] = Field(default=0.85, ge=similarity.LOWEST_THRESHOLD, le=1)
    include_dismissed: bool = False
    parted: bool = False


class Call(TypedDict):
    """An operation and its arguments."""

    operation: str
    arguments: dict[str, Any]


class Dismissed(TypedDict):
    """The fact that a pair is two; its ends are in the pair, or merged into them."""

    dismissal_id: str
    entity_a: str
    entity_b: str
    dismissed_at: str
    reason: str | None
    agent: str | None


class DuplicatePair(TypedDict):
    """Two entities that are likely the same thing; ``entity_a`` has the lesser id.

    ``matched_fields`` are the fields of ``reasons`` that raise the score. ``merge`` has the
    arguments with which `merge_entities` merges the two, into the one with more observations, or else into
    the older. A dismissed pair has ``dismissed``.
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
    dismissed: NotRequired[Dismissed]


class Duplicates(LeavesOut, PageEnvelope):
    """A page of pairs, the likeliest first, then by ids.

    ``total`` counts the pairs among the ``scanned`` entities; ``next_offset`` is where their next page
    begins. ``truncated`` means that not all entities were compared, so that ``total_is_at_least`` is the same
    number: ``next_cursor`` goes on among these pairs, and after the last of them it compares the next
    entities (its first pairs may repeat the last ones here), or ``hint`` says how to narrow the request.
    """

    candidates: list[DuplicatePair]
    total: int  # pyright: ignore[reportGeneralTypeIssues]
    scanned: int
    truncated: bool  # pyright: ignore[reportGeneralTypeIssues]
    hint: NotRequired[str]


@operation("entities.duplicates", Scope.READ)
async def find_duplicates(context: Context, arguments: FindDuplicates) -> Duplicates:
    """List pairs of live entities of one type that are likely the same thing, with scores and reasons.

    Companies, customers, vendors and organizations are compared with each other.

    These are proposals: compare the two, then merge them by `merge_entities` with the arguments of `merge`,
    or say by `dismiss_duplicates` that they are two. Names match in any order, spelling or abbreviation of
    their words. Equal e-mails, phones, addresses and ids count more. Different values of a field that a thing
    has only once (the day of an event, the number of an invoice) rule a pair out. One call compares up to
    20,000 entities, see `truncated`.
    """
    counts = dict(await context.graph.only("duplicate.counts", list[tuple[str, int]]))
    detections = await duplicate_pages.detections_of(context, counts)
    named: list[Profile] = []
    if arguments.entity_id is not None:
        named = [await duplicate_pages.profile_of(context, arguments.entity_id, detections)]
    about = named[0].entity_type if named else arguments.entity_type
    if about is not None:
        counts = {name: count for name, count in counts.items() if name in blocking.types_like(about)}
    query = cursors.fingerprint(context, "entities.duplicates", arguments)
    name, skip = _start(query, arguments)
    thresholds = dict.fromkeys(counts, arguments.threshold)
    if "threshold" not in arguments.model_fields_set:
        thresholds |= {name: least for name, least in detections.thresholds.items() if name in counts}
    around, next_name = {profile.entity_id for profile in named} if named else None, None
    if arguments.parted:
        pairs = await duplicate_pages.parted(context, counts, detections)
        pairs = [pair for pair in pairs if not around or around & {*pair.ids}]
        entities = {each.entity_id: each for pair in pairs for each in (pair.a, pair.b)}
        proposals = Proposals(pairs, len(pairs), complete=True)
        thresholds = dict.fromkeys(counts, 0.0)
    else:
        profiles, next_name = await duplicate_pages.scan(context, counts, name, detections)
        entities = {profile.entity_id: profile for profile in [*named, *profiles]} if counts else {}
        # This takes seconds for many entities: a thread keeps the event loop free for other calls.
        proposals = await asyncio.to_thread(
            blocking.propose,
            list(entities.values()),
            min(thresholds.values(), default=arguments.threshold),
            around,
        )
    types = {arguments.entity_type} if arguments.entity_type else counts.keys()
    pairs = [
        pair
        for pair in proposals.pairs
        if pair.score.score >= thresholds[pair.a.entity_type]
        and types & {pair.a.entity_type, pair.b.entity_type}
        and (arguments.parted or not duplicate_pages.are_parted(context.actor.owner, pair))
    ]
    dismissed = await duplicate_pages.dismissed(context, pairs)
    if not arguments.include_dismissed:
        pairs = [pair for pair in pairs if pair.ids not in dismissed]

    # Comparing takes long, a page of the pairs does not: only that is made again to be shorter.
    @within_budget(["candidates"])
    async def page(context: Context, arguments: FindDuplicates) -> Duplicates:
        start = skip + arguments.offset
        end = start + arguments.limit
        following: dict[str, Any] | None = None
        if len(pairs) > end:
            following = {"name": name or "", "pairs": end}
        elif next_name is not None:
            following = {"name": next_name, "pairs": 0}
        whole = next_name is None and proposals.complete
        part = Page(pairs[start:end], following, total=len(pairs) if whole else None, least=len(pairs))
        answer: Duplicates = {
            "candidates": [_candidate(pair, dismissed.get(pair.ids)) for pair in part.items],
            "scanned": len(entities),
            "truncated": not whole,
            **part.envelope(arguments, query, is_counted=True),
            "total": len(pairs),
        }
        if len(pairs) > end and not skip:
            answer["next_offset"] = end
        if not proposals.complete:
            answer["hint"] = (
                f"more than {blocking.PAIRS_LIMIT} pairs to compare: give entity_type or entity_id"
            )
        return answer

    return await page(context, arguments)


def _start(query: cursors.Query, arguments: FindDuplicates) -> tuple[str | None, int]:
    """Return the name after which the request compares, None from the first, and how many pairs it skips.

    An offset goes on among the pairs, also beside a cursor. Raises InvalidCursor: it belongs to another
    query.
    """
    if arguments.cursor is None:
        return None, 0
    place = cursors.decode(query, arguments.cursor, {"name": str, "pairs": int})
    if not 0 <= place["pairs"] <= cursors.ANSWERED_LIMIT:
        raise cursors.refused()
    return place["name"] or None, place["pairs"]


def _candidate(pair: Pair, dismissed: DismissedPair | None) -> DuplicatePair:
    into = similarity.survivor(pair.a, pair.b)
    merged = pair.b if into is pair.a else pair.a
    candidate: DuplicatePair = {
        "entity_a": pair.a.entity_id,
        "entity_b": pair.b.entity_id,
        "canonical_name_a": pair.a.name,
        "canonical_name_b": pair.b.name,
        "entity_type": pair.a.entity_type,
        "score": pair.score.score,
        "matched_fields": pair.score.matched_fields,
        "reasons": [answers.Reason(**reason._asdict()) for reason in pair.score.reasons],
        "merge": {
            "operation": "entities.merge",
            "arguments": {"source_entity_id": merged.entity_id, "target_entity_id": into.entity_id},
        },
    }
    if dismissed is not None:
        candidate["dismissed"] = answers.of_row(Dismissed, dismissed)
    return candidate


class DismissDuplicates(Writing):
    entity_a: EntityId
    entity_b: EntityId
    undo: bool = False
    reason: Reason = None


class DismissedDuplicates(Written):
    """The result of a dismissal, or of its end. ``entity_a`` has the lesser id.

    ``changed`` is false if the pair was dismissed already, or was not dismissed. No fact is written then; id
    and time of the transaction are null without an idempotency key.
    """

    entity_a: str
    entity_b: str
    dismissed: bool
    changed: bool
    dismissal_ids: list[str]
    transaction_id: str | None
    recorded_at: str | None


@operation("entities.dismiss_duplicates", Scope.WRITE)
async def dismiss_duplicates(context: Context, arguments: DismissDuplicates) -> DismissedDuplicates:
    """Say that two entities are two: no list and no store proposes the pair as duplicates any more.

    A merge by rule of the two ends. `merge_entities` can still merge them. `undo` ends it.
    """
    pair = pair_of(arguments.entity_a, arguments.entity_b)
    request = DismissalRequest(
        **transaction(context, "entities.dismiss_duplicates", arguments),
        kind="undo" if arguments.undo else "dismiss",
        pair=pair,
        reason=arguments.reason,
    )
    with refusals(
        "ERR_TARGET_NOT_FOUND", faults=("ERR_DISMISSAL_REFUSED",), entity_a=pair[0], entity_b=pair[1]
    ):
        receipt = await submit(context, request)
    return {
        **receipt_of(DismissedDuplicates, receipt, is_written=receipt.is_written),
        "entity_a": pair[0],
        "entity_b": pair[1],
        "dismissed": not arguments.undo,
        "changed": receipt.result["changed"],
        "dismissal_ids": receipt.result["dismissal_ids"],
    }
