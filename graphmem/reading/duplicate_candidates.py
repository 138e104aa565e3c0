"""The likely duplicates of what a store created, named in its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from graphmem.errors import GraphmemError
from graphmem.matching import blocking, similarity
from graphmem.matching.blocking import Pair
from graphmem.reading import answers
from graphmem.reading.receipts import StoredEntity
from graphmem.registry import Context
from graphmem.writing import Receipt, duplicate_probe
from graphmem.writing.receipt import Neighbours

LIKELY = 0.9
"""The score from which on a store names a duplicate of what it created."""
NAMED = 5
"""How many a store names for each entity."""
LOOK_SECONDS = 2.0
"""How long it may take to look for duplicates of what is planned."""

_log = structlog.get_logger("graphmem.duplicates")


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
    if receipt.neighbours is None and many > duplicate_probe.PROBED_LIMIT:
        reason = f"{many} entities were created, duplicates are named of {duplicate_probe.PROBED_LIMIT}"
        return [_not_looked_for(reason)]
    if many and not receipt.looked_for_duplicates:
        return [_not_looked_for("the database lacked the time or the memory")]
    try:
        likely = _likely(receipt.neighbours or await _near(context, receipt)) if many else {}
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


async def _near(context: Context, receipt: Receipt) -> Neighbours:
    """Read what stands near what a receipt says is, or would be, created."""
    created = duplicate_probe.created(receipt)
    async with asyncio.timeout(LOOK_SECONDS):
        row = await context.graph.one(
            "duplicate.near", **duplicate_probe.parameters(duplicate_probe.probes(created))
        )
    assert row is not None
    return duplicate_probe.neighbours(created, row)


def _likely(near: Neighbours) -> dict[str, list[answers.Likeness]]:
    """Return the likely duplicates of what was created, by id."""
    likely: dict[str, list[answers.Likeness]] = {}
    for entity_id, beside in near.ids.items():
        entities = [near.created[entity_id], *(near.profiles[one] for one in beside)]
        pairs = blocking.propose(entities, LIKELY, {entity_id}).pairs[:NAMED]
        likely[entity_id] = [_likeness(pair, entity_id) for pair in pairs]
    return likely


def _likeness(pair: Pair, entity_id: str) -> answers.Likeness:
    """Return a pair as the one that was stored sees it: ``a`` of each reason is its own value."""
    turned = pair.a.entity_id != entity_id
    other = pair.a if turned else pair.b
    reasons = [
        reason_of(reason._replace(a=reason.b, b=reason.a) if turned else reason)
        for reason in pair.found.reasons
    ]
    return {
        "entity_id": other.entity_id,
        "canonical_name": other.shown,
        "score": pair.found.score,
        "reasons": reasons,
    }


def reason_of(reason: similarity.Reason) -> answers.Reason:
    return {"field": reason.field, "a": reason.a, "b": reason.b, "similarity": reason.similarity}
