"""Pages of changes: the newest first, or those after a place, the oldest first."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Final

from graphmem.changes import recorded_transactions
from graphmem.changes.change import ON_REQUEST, Change, Place, place_after
from graphmem.changes.change_feed import ChangeFeed, Head
from graphmem.changes.derived_changes import changes_of
from graphmem.changes.recorded_transactions import RecordedTransaction, Touched
from graphmem.changes.shown_states import SUBJECTS_PER_READ
from graphmem.changes.standing_changes import StandingAnswers
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context
from graphmem.database.driver import round_trips
from graphmem.errors import NotFound

SCANNED_TRANSACTIONS: Final = 2_000  # transactions that one page looks through; its cursor goes on
SURROUNDING_RELATIONSHIPS: Final = 200
"""Relationships of an entity, in each direction, whose changes are among its changes."""
STATEMENTS: Final = 20
"""Of 100 changes: a page that ran so many statements ends where it is; its cursor goes on."""
READ_ALONE: Final = 3
"""Transactions at once whose states take statements of their own, as merges of one entity do."""
RARE_ENTITIES: Final = 200
"""Entities of a type whose changes are found through them, not by looking through all transactions."""


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """What a page of the newest changes is of: ``count`` changes among so many ``transactions`` at most.

    ``since``, ``until``: recorded from the one on and before the other (microseconds). ``place``: recorded_at
    and index of the last change of the page before. ``surroundings``: entities whose changes are wanted, with
    those of their relationships; ``depth`` 1 adds those of their neighbours.
    """

    filters: WantedChanges
    since: int
    until: int
    place: tuple[int, int] | None
    count: int
    transactions: int = SCANNED_TRANSACTIONS
    surroundings: tuple[str, ...] = ()
    depth: int = 0


async def newest_first(context: Context, request: NewestFirst) -> tuple[list[Change], tuple[int, int] | None]:
    """Return the newest changes that are wanted, and where the look ended if it did not reach the end. Raises
    NotFound: the owner has none of the entities."""
    touched: Touched | None = None
    filters, owner = request.filters, context.actor.owner
    if filters.entity_types and not request.surroundings:
        touched = await _touching_types(context, filters)
    if request.surroundings:
        entities, keys = await _around(context, list(request.surroundings), neighbours=request.depth > 0)
        if not entities:
            raise NotFound(
                "there is no such entity: look it up by its name", entity_id=request.surroundings[0]
            )
        touched = Touched(entities + keys, [])
        filters = replace(filters, entity_ids=frozenset(entities))
    collected: list[Change] = []
    before, scanned = request.until, 0
    end = _statements() + STATEMENTS * max(1, request.count // 100)
    if request.place is not None:
        # Of the transaction of the place no change is left where the index is 0.
        before = min(before, request.place[0] + (request.place[1] > 0))
    while scanned < request.transactions:
        # Most transactions have a change, so that a short page is mostly full after the first read.
        limit = min(recorded_transactions.TRANSACTIONS_PER_READ, request.transactions)
        limit = limit if scanned else min(limit, request.count)
        stretch = await recorded_transactions.newest(context, request.since, before, touched, limit)
        left = stretch.transactions
        if not left:
            return collected, None
        scanned += len(left)
        while left and len(collected) < request.count:
            run, left = _next_run(owner, left, filters, touched, request.count - len(collected))
            changes, kept = await changes_of(context, run[::-1], READ_ALONE, is_whole=touched is None)
            fitting = sorted(filters.among(owner, changes), key=lambda each: each.place, reverse=True)
            collected += [each for each in fitting if request.place is None or each.place < request.place]
            # Those that were left out are the oldest of the run.
            left = run[len(kept) :] + left
            if kept and _statements() >= end and len(collected) < request.count:
                return collected, (kept[0].recorded_at, 0)
        if len(collected) >= request.count:
            return collected, None
        before = stretch.transactions[-1].recorded_at
        if _statements() >= end:
            break
    return collected, (before, 0)


def _statements() -> int:
    return round_trips.get([0])[0]


async def _around(
    context: Context, entity_ids: list[str], *, neighbours: bool
) -> tuple[list[str], list[str]]:
    """Return entities with those that were ever merged with them, their relationships and neighbours."""
    return await context.graph.only(
        "change.surroundings", tuple[list[str], list[str]], entity_ids=entity_ids, neighbours=neighbours,
        limit=SURROUNDING_RELATIONSHIPS,
    )  # fmt: skip


async def _touching_types(context: Context, filters: WantedChanges) -> Touched | None:
    """Return what the changes of some types can come from.

    ``None`` if there are too many entities or relationships of the types: then all transactions are looked
    through. Observations have the type under which they were stored, so those of other entities may fit.
    """
    if not filters.kinds.isdisjoint(ON_REQUEST):
        return None
    entity_ids, moments = await context.graph.only(
        "change.of_types", tuple[list[str], list[int]], types=sorted(filters.entity_types),
        limit=RARE_ENTITIES + 1,
    )  # fmt: skip
    if len(entity_ids) > RARE_ENTITIES:
        return None
    entities, keys = await _around(context, entity_ids, neighbours=False)
    # The relationships of an entity are cut at the same number: with fewer, none is left out.
    if len(keys) >= SURROUNDING_RELATIONSHIPS:
        return None
    return Touched(entities + keys, moments)


def _next_run(
    owner: str,
    transactions: list[RecordedTransaction],
    filters: WantedChanges,
    touched: Touched | None,
    count: int,
) -> tuple[list[RecordedTransaction], list[RecordedTransaction]]:
    """Return the newest transactions that likely have so many wanted changes, and those that are left.

    Within a run, what one transaction shows is folded forward to the next. So no other transaction between
    them may observe what they observe.
    """
    known = None if touched is None else {*touched.subject_ids}
    likely, subjects, first, end = 0, set[str](), None, 0
    for place, each in enumerate(transactions):
        fitting = _likely(owner, each, filters)
        if fitting:
            first, end = place if first is None else first, place + 1
        if first is None:
            continue
        likely += fitting
        observed = {*each.entity_ids, *each.relationship_keys}
        subjects |= observed
        if likely >= count or len(subjects) >= SUBJECTS_PER_READ or not (known is None or known >= observed):
            break
    return ([], []) if first is None else (transactions[first:end], transactions[end:])


def _likely(owner: str, transaction: RecordedTransaction, filters: WantedChanges) -> int:
    """Return about how many wanted changes a transaction has; 0 if it can have none. What is observed of a
    type may change an entity of another type that it was merged with."""
    if filters.writers and not filters.writers <= {*transaction.writers(owner)}:
        return 0
    types = filters.entity_types
    return max(sum(not types or each.entity_type in {None, *types} for each in transaction.observations), 1)


async def after(
    context: Context, place: Place, filters: WantedChanges, count: int, wait_seconds: float,
    standing: StandingAnswers | None = None,
) -> tuple[list[Change], Place, bool, str, bool]:  # fmt: skip
    """Return up to ``count`` changes after a place, as ``ChangeFeed.stretch`` does; wait for the first.

    Returns the changes, the oldest first, where to go on, whether more follow, the key of the owner's node,
    and whether what a withdrawal changed is not wholly known yet: nothing that came after it is told then.
    """
    feed, owner = context.services.of(ChangeFeed), context.actor.owner
    deadline = time.monotonic() + wait_seconds
    with feed.watching(owner):
        while True:
            head = await feed.head(owner)
            changes, place, has_more = await _up_to(context, place, filters, count, head, standing)
            left = deadline - time.monotonic()
            if changes or has_more or left <= 0 or feed.is_ending:
                is_pending = not head.node_key and bool((await feed.head(owner, settled=False)).node_key)
                return changes, place, has_more, head.node_key, is_pending
            if head.node_key:
                await feed.news(owner, head, min(left, 1.0))
            else:
                await asyncio.sleep(min(left, 1.0))


async def _up_to(
    context: Context, place: Place, filters: WantedChanges, count: int, head: Head,
    standing: StandingAnswers | None,
) -> tuple[list[Change], Place, bool]:  # fmt: skip
    collected: list[Change] = []
    scanned = place.sequence
    feed = context.services.of(ChangeFeed)
    while (stretch := await feed.stretch(context, place, head, standing)) is not None:
        parts, following = stretch
        for part in parts:
            for change in part.changes:
                if not filters.fits(context.actor.owner, change):
                    continue
                if len(collected) == count:
                    return collected, place_after(collected[-1]), True
                collected.append(change)
        place = following
        if place.sequence - scanned > SCANNED_TRANSACTIONS:
            return collected, place, place.sequence < head.sequence
        await asyncio.sleep(0)
    return collected, place, False
