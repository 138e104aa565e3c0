"""The likely duplicates of created entities, as the answer of a store lists them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import structlog

from graphmem.duplicates import blocking, duplicate_pages, duplicate_probe, similarity
from graphmem.duplicates.blocking import Pair
from graphmem.duplicates.duplicate_detection import Detections
from graphmem.duplicates.duplicate_probe import Neighbours
from graphmem.errors import GraphmemError
from graphmem.reading import answers
from graphmem.registry import Context
from graphmem.storing.acceptance import StoredEntity
from graphmem.writing import Receipt

LIKELY_SCORE = 0.9
"""The least score of a pair that a store lists, unless the schema of the type has another."""
CANDIDATES_PER_ENTITY = 5
"""Likely duplicates that a store lists for one entity."""
LOOK_SECONDS = 2.0
"""Time limit of the search for likely duplicates, once the database has run it."""

_log = structlog.get_logger("graphmem.duplicates")


class _NearRows(NamedTuple):
    """The row of ``duplicate/near.cypher``; :func:`duplicate_probe.neighbours` reads it."""

    near: list[list[Any]]
    profiles: list[list[Any]]


async def name_likely(
    context: Context, receipt: Receipt, stored: Sequence[StoredEntity]
) -> list[dict[str, Any]]:
    """Add its likely duplicates to each entity that a store created. Returns warnings.

    The candidates are read after the commit, so a failure becomes a warning.
    """
    many = sum(item.action == "created" for item in receipt.items)
    limit = context.services.limits.probed_entities
    if many > limit:
        return [_not_looked_for(f"{many} entities were created, duplicates are listed for {limit}")]
    try:
        detections = _detections(context, receipt)
        likely = await _likely(context, await _near(context, receipt, detections), detections) if many else {}
    except (GraphmemError, TimeoutError):
        return [_not_looked_for("the database did not answer in time")]
    except Exception:
        # The entities are stored: the answer must not fail.
        _log.exception("comparing likely duplicates failed")
        return [_not_looked_for("comparing them failed")]
    for entry, item in zip(stored, receipt.items, strict=True):
        if item.action == "created" and likely.get(item.entity_id):
            entry["duplicate_candidates"] = likely[item.entity_id]
    return []


def _not_looked_for(reason: str) -> dict[str, Any]:
    message = f"likely duplicates were not searched: {reason}; GET /entities/duplicates lists them"
    return {"code": "DUPLICATES_NOT_LOOKED_FOR", "message": message}


def _detections(context: Context, receipt: Receipt) -> Detections:
    """Return what the schemas of the stored types say; the writer has just read them."""
    detection_of = context.services.writers.detection_of(context.actor.owner)
    return Detections.of({item.entity_type for item in receipt.items}, detection_of)


async def _seconds(context: Context, query: str) -> float:
    """Return the seconds that a look may take. Shortly after a start its first run takes far longer."""
    return await context.services.database.planning.seconds_for(query, LOOK_SECONDS)


async def _near(context: Context, receipt: Receipt, detections: Detections) -> Neighbours:
    """Read the entities near those that a receipt creates, or would create."""
    created = duplicate_probe.created(receipt, detections)
    async with asyncio.timeout(await _seconds(context, "duplicate.near")):
        row = await context.graph.only(
            "duplicate.near",
            _NearRows,
            **duplicate_probe.parameters(duplicate_probe.probes(created), detections),
        )
    return duplicate_probe.neighbours(created, row.near, row.profiles, detections)


async def _likely(
    context: Context, near: Neighbours, detections: Detections
) -> dict[str, list[answers.Likeness]]:
    """Return the likely duplicates of the created entities, by id, without dismissed pairs."""
    proposed: dict[str, list[Pair]] = {}
    for entity_id, beside in near.ids.items():
        entities = [near.created[entity_id], *(near.profiles[near_id] for near_id in beside)]
        least = detections.thresholds.get(near.created[entity_id].entity_type, LIKELY_SCORE)
        proposed[entity_id] = blocking.propose(entities, least, {entity_id}).pairs
    async with asyncio.timeout(await _seconds(context, "dismissal.of_entities")):
        dismissed = await duplicate_pages.dismissed(context, chain.from_iterable(proposed.values()))
    return {
        entity_id: [_likeness(pair, entity_id) for pair in pairs if pair.ids not in dismissed][
            :CANDIDATES_PER_ENTITY
        ]
        for entity_id, pairs in proposed.items()
    }


def _likeness(pair: Pair, entity_id: str) -> answers.Likeness:
    """Return a pair as seen from the stored entity: ``a`` of each reason is the stored entity's value."""
    turned = pair.a.entity_id != entity_id
    other = pair.a if turned else pair.b
    reasons = [
        reason_of(reason._replace(a=reason.b, b=reason.a) if turned else reason)
        for reason in pair.score.reasons
    ]
    return {
        "entity_id": other.entity_id,
        "canonical_name": other.name,
        "score": pair.score.score,
        "reasons": reasons,
    }


def reason_of(reason: similarity.SimilarityReason) -> answers.Reason:
    return {"field": reason.field, "a": reason.a, "b": reason.b, "similarity": reason.similarity}
