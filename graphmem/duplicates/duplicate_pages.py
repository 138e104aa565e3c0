"""The entities that one call compares for duplicates: all of an owner, or a stretch of them by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphmem.duplicates.blocking import Pair
from graphmem.duplicates.duplicate_detection import Detections, compared, profile
from graphmem.duplicates.similarity import Profile
from graphmem.reading import answers
from graphmem.reading.shared_rows import EntityResult
from graphmem.registry import Context
from graphmem.writing import DismissedPair, dismissed_pairs

NAMES_LIMIT = 100_000
"""Names that one call reads at most, including those of entities of other types."""


@dataclass(frozen=True, slots=True)
class DuplicateScan:
    """The entities to compare with each other. More follow ``next_name``, if it is not None."""

    profiles: list[Profile]
    next_name: str | None = None


class _NameRows(NamedTuple):
    """The row of ``duplicate/by_name.cypher``: the entities, and the last name that was read."""

    page: list[list[Any]]
    last: str | None


async def profile_of(context: Context, entity_id: str, detections: Detections) -> Profile:
    """Return the profile of the entity whose pairs are requested.

    Raises:
        NotFound: no live entity has this id.
    """
    row = await context.graph.one("entity.get", EntityResult, entity_id=entity_id, include_deleted=False)
    if row is None:
        raise answers.no_entity(entity_id)
    entity = row.entity
    kinds = detections.kinds(entity.type)
    texts = compared(zip(entity.fields, entity.values, strict=True), kinds)
    weight = entity.observation_count, -(entity.created_at or 0)
    return Profile(entity.id, entity.type, entity.name, texts, weight, kinds)


async def scan(
    context: Context, counts: dict[str, int], after: str | None, detections: Detections
) -> DuplicateScan:
    """Return all entities of some types, or a stretch of them if they are too many for one call."""
    limits = context.services.limits
    if after is not None or sum(counts.values()) > limits.duplicate_entities:
        return await _along_names(context, sorted(counts), after or "", detections)
    profiles: list[Profile] = []
    batch: list[str] = []
    for entity_type, count in sorted(counts.items()):
        if batch and count + sum(map(counts.__getitem__, batch)) > limits.duplicate_rows:
            profiles += await _of_types(context, batch, detections)
            batch = []
        batch.append(entity_type)
    return DuplicateScan(profiles + (await _of_types(context, batch, detections) if batch else []))


async def dismissed(context: Context, pairs: Iterable[Pair]) -> dict[tuple[str, str], DismissedPair]:
    """Return those of some pairs that are dismissed: an end of each, or a member of it, from the other."""
    entity_ids = {entity_id for pair in pairs for entity_id in pair.ids}
    return {each.survivors: each for each in await dismissed_pairs(context.graph, entity_ids)}


async def _of_types(context: Context, types: Sequence[str], detections: Detections) -> list[Profile]:
    """Return the entities of one type, or of several types that fit into one read."""
    profiles: list[Profile] = []
    limits = context.services.limits
    after = ""
    while True:
        rows = await context.graph.only(
            "duplicate.by_type",
            list[list[Any]],
            types=types,
            after=after,
            limit=limits.duplicate_rows,
            compared=detections.fields,
        )
        page = [profile(each, detections) for each in rows]
        profiles += page
        is_last = len(types) > 1 or len(page) < limits.duplicate_rows
        if is_last or len(profiles) > limits.duplicate_entities:
            return profiles
        after = max(each.entity_id for each in page)


async def _along_names(
    context: Context, types: Sequence[str], after: str, detections: Detections
) -> DuplicateScan:
    """Return the entities of a stretch of the order of names, and those that share an identifier."""
    profiles: dict[str, Profile] = {}
    limits = context.services.limits
    began = after
    for _ in range(NAMES_LIMIT // limits.duplicate_rows):
        row = await context.graph.only(
            "duplicate.by_name",
            _NameRows,
            types=types,
            after=after,
            limit=limits.duplicate_rows,
            compared=detections.fields,
        )
        if row.last is None:
            return DuplicateScan(list(profiles.values()))
        page = (profile(each, detections) for each in row.page)
        profiles.update((each.entity_id, each) for each in page)
        # The next stretch begins with the last page of this one, so that neighbours across its end meet.
        began, after = after, row.last
        if len(profiles) >= limits.duplicate_entities:
            break
    return DuplicateScan(list(profiles.values()), began)
