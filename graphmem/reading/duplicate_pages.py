"""Which entities are compared with each other for duplicates: all of an owner, or a stretch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.matching.similarity import Profile
from graphmem.reading import answers
from graphmem.reading.answers import EntityRow
from graphmem.registry import Context
from graphmem.writing import duplicate_probe

SCANNED = 20_000
"""Most entities that one call compares; a larger owner's are compared in stretches of the order of names."""
WALKED = 100_000
"""Most names that one call looks at, those of entities of other types among them."""
PAGE = 2_500
"""How many entities, or names, one read takes."""


@dataclass(frozen=True, slots=True)
class DuplicateScan:
    """The entities that are compared with each other, and the name to go on behind if those are not all."""

    profiles: list[Profile]
    next_name: str | None = None


async def entity_counts(context: Context) -> dict[str, int]:
    """Return how many live entities there are, by type."""
    row = await context.graph.one("duplicate.counts")
    assert row is not None
    return dict(row["counts"])


async def profile_of(context: Context, entity_id: str) -> Profile:
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


async def scan(context: Context, counts: dict[str, int], after: str | None) -> DuplicateScan:
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
    return DuplicateScan(found + (await _of_types(context, batch) if batch else []))


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


async def _along_names(context: Context, types: Sequence[str], after: str) -> DuplicateScan:
    """Return the entities along a stretch of the order of names, and those that share an identifier."""
    found: dict[str, Profile] = {}
    began = after
    for _ in range(WALKED // PAGE):
        row = await context.graph.one(
            "duplicate.by_name", types=types, after=after, limit=PAGE, compared=duplicate_probe.FIELDS
        )
        assert row is not None
        if row["last"] is None:
            return DuplicateScan(list(found.values()))
        found.update((one.entity_id, one) for one in map(duplicate_probe.profile, row["page"]))
        # The next stretch begins with the last page of this one, so that neighbours across its end meet.
        began, after = after, row["last"]
        if len(found) >= SCANNED:
            break
    return DuplicateScan(list(found.values()), began)
