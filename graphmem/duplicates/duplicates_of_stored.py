"""The likely duplicates of created entities, as the answer of a store lists them.

Their neighbours in the index of identifiers are read after the commit, without the owner's lock: nothing that
is written depends on them. :mod:`graphmem.duplicates.blocking` compares them.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import structlog

from graphmem.context import Context
from graphmem.duplicates import blocking, duplicate_pages
from graphmem.duplicates.blocking import Pair
from graphmem.duplicates.duplicate_pages import Detections, ProfileRow, profile
from graphmem.duplicates.name_similarity import INITIAL_LIMIT
from graphmem.duplicates.similarity import Profile
from graphmem.errors import GraphmemError
from graphmem.model import canonical, identity
from graphmem.reading import answers
from graphmem.storing.acceptance import StoredEntity
from graphmem.text import identifiers
from graphmem.writing import Receipt

LIKELY_SCORE = 0.9  # the least score of a pair that a store lists, unless the schema of the type has another
COMPARED_IN_LOOP = 10  # created entities that are compared with those near them on the event loop
CANDIDATES_PER_ENTITY = 5  # likely duplicates that a store lists for one entity
NEIGHBOURS_EACH_SIDE = 4  # names that are read on each side of each name of a created entity
LOOK_SECONDS = 2.0  # time limit of the search for likely duplicates, once the database has run it

_log = structlog.get_logger("graphmem.duplicates")


async def name_likely(
    context: Context, receipt: Receipt, stored: Sequence[StoredEntity]
) -> list[dict[str, Any]]:
    """Add its likely duplicates to each entity that a store created. Returns warnings; a failure is one."""
    many = sum(item.action == "created" for item in receipt.items)
    limit = context.services.limits.probed_entities
    if many > limit:
        return [_not_looked_for(f"{many} entities were created, duplicates are listed for {limit}")]
    try:
        # The writer has just read the schemas of the stored types.
        registered = partial(context.services.writers.registered, context.actor.owner)
        detections = Detections.of({item.entity_type for item in receipt.items}, registered)
        likely = await _likely(context, receipt, detections) if many else {}
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


async def _seconds(context: Context, query: str) -> float:
    """Return the seconds that a look may take. Shortly after a start its first run takes far longer."""
    return await context.services.database.planning.seconds_for(query, LOOK_SECONDS)


async def _likely(
    context: Context, receipt: Receipt, detections: Detections
) -> dict[str, list[answers.Likeness]]:
    """Return the likely duplicates of the created entities, by id, without dismissed pairs."""
    new = created(receipt, detections)
    async with asyncio.timeout(await _seconds(context, "duplicate.near")):
        is_sealed = context.services.database.is_sealed
        probes = parameters(new, detections, is_sealed=is_sealed)
        near, profiles = await context.graph.only(
            "duplicate.near", tuple[list[list[Any]], list[ProfileRow]], **probes
        )
    by_id = {each.entity_id: each for each in (profile(row, detections) for row in profiles)}

    def propose() -> Iterator[tuple[str, list[Pair]]]:
        for entity_id, near_ids in near:
            entities = [new[entity_id], *(by_id[near_id] for near_id in near_ids)]
            least = detections.thresholds.get(new[entity_id].entity_type, LIKELY_SCORE)
            if any(name.kind == "person" and name.initials for name, _ in new[entity_id].names):
                least = min(least, INITIAL_LIMIT)
            yield entity_id, blocking.propose(entities, least, {entity_id}).pairs

    # Many are compared beside the event loop.
    in_thread = len(near) > COMPARED_IN_LOOP
    proposed = dict(await asyncio.to_thread(list, propose()) if in_thread else propose())
    async with asyncio.timeout(await _seconds(context, "dismissal.of_entities")):
        dismissed = await duplicate_pages.dismissed(context, chain.from_iterable(proposed.values()))
    return {
        entity_id: [
            _likeness(pair, entity_id)
            for pair in pairs
            if pair.ids not in dismissed and not duplicate_pages.are_parted(context.actor.owner, pair)
        ][:CANDIDATES_PER_ENTITY]
        for entity_id, pairs in proposed.items()
    }


def created(receipt: Receipt, detections: Detections) -> dict[str, Profile]:
    return {
        item.entity_id: detections.profile(
            item.entity_id, item.entity_type, name, ((field, winner.value) for field, winner in fold.items())
        )
        for item, name, fold in zip(receipt.items, receipt.names, receipt.folds, strict=True)
        if item.action == "created"
    }


def parameters(
    created: Mapping[str, Profile], detections: Detections, *, is_sealed: bool = False
) -> dict[str, Any]:
    """Return the parameters of ``duplicate/_near.cypher``: where to look for the neighbours of new entities.

    A sealed instance looks for equal names and identifiers alone: no index has the order of its names.
    For many entities fewer names are read around each, so that a large store does not take twice its time.
    The number depends on the request alone, not on others in its turn.
    """
    shared = 10 * NEIGHBOURS_EACH_SIDE // max(1, len(created))
    reach = max(1, min(NEIGHBOURS_EACH_SIDE, shared))
    probes = [_probe(entity, reach) for entity in created.values()]
    if is_sealed:
        probes = [{**probe, "beside": []} for probe in probes]
    return {"probes": probes, "reach": reach if probes else 0, "compared": detections.fields}


def _probe(entity: Profile, reach: int) -> dict[str, Any]:
    """Return the places in the index of identifiers near which duplicates of an entity stand."""
    values = {
        name: canonical.decode(text) for name, text in entity.texts.items() if name in identifiers.FIELDS
    }
    exact = identifiers.identifiers(values, entity.name)
    beside = {pair for pair in exact if pair[0] in ("name", "tokens")}
    for name, _ in entity.names:
        # Without honorifics, legal forms and accents, as others may have stored it.
        for kind, parts in (("name", name.words), ("tokens", sorted(name.words))):
            beside.add((kind, identity.index_key(" ".join(parts))))
    return {
        "id": entity.entity_id,
        "types": sorted(blocking.types_like(entity.entity_type)),
        "exact": sorted(map(list, exact | beside)),
        "beside": sorted(map(list, beside)),
        "reach": reach,
    }


def _likeness(pair: Pair, entity_id: str) -> answers.Likeness:
    """Return a pair as seen from the stored entity: ``a`` of each reason is the stored entity's value."""
    turned = pair.a.entity_id != entity_id
    other = pair.a if turned else pair.b
    reasons = [
        answers.Reason(**(reason._replace(a=reason.b, b=reason.a) if turned else reason)._asdict())
        for reason in pair.score.reasons
    ]
    return {
        "entity_id": other.entity_id,
        "canonical_name": other.name,
        "score": pair.score.score,
        "reasons": reasons,
    }
