"""Reading the graph as of two clocks: rows of entities and relationships, now or as they were then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from typing_extensions import TypedDict

from graphmem.domain import times
from graphmem.operations import answers
from graphmem.operations.answers import EntityRow, RelationshipRow
from graphmem.registry import Context

_AT_ONCE = 50
"""Entities recomputed in one query: between two of them it is asked whether the answer is large enough."""
_CHARACTERS = 8_000_000
"""Characters of values in one answer; one entity at least."""


class Bounds(TypedDict):
    """The parameters of a query as of two clocks, in microseconds."""

    at: int
    at_ingested: int


class AsOf(TypedDict, total=False):
    """The times that an answer is as of, where they were asked for."""

    at: str
    at_ingested: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """When: ``at`` bounds when it was so, ``at_ingested`` when it was known here; microseconds.

    Neither given is now, which is read as it is kept and not recomputed.
    """

    at: int | None = None
    at_ingested: int | None = None

    @property
    def now(self) -> bool:
        """Whether neither clock was given."""
        return self.at is None and self.at_ingested is None

    @property
    def bounds(self) -> Bounds:
        """The parameters of a query as of these clocks."""
        return {
            "at": times.LATEST if self.at is None else self.at,
            "at_ingested": times.LATEST if self.at_ingested is None else self.at_ingested,
        }

    @property
    def said(self) -> AsOf:
        """What an answer says of them."""
        said: AsOf = {}
        if self.at is not None:
            said["at"] = times.render(self.at)
        if self.at_ingested is not None:
            said["at_ingested"] = times.render(self.at_ingested)
        return said

    def pinned(self, known: int) -> Clocks:
        """Return the clocks for the further queries of an answer: none sees what is committed meanwhile."""
        return replace(self, at_ingested=known)


async def shown(context: Context, entity_ids: Sequence[str], clocks: Clocks) -> dict[str, str]:
    """Return, by entity, the id of the one that shows it as of the clocks: itself, while none is merged."""
    return {entity_id: entity_id for entity_id in entity_ids}


async def entities(
    context: Context, entity_ids: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[EntityRow]:
    """Return those of some entities that live, in the order given, as many as fit into an answer.

    Args:
        include_deleted: as of a time, those that were deleted then as well.
    """
    if not entity_ids:
        return []
    if clocks.now:
        row = await context.graph.one("entity.by_id", entity_ids=list(entity_ids))
        return [EntityRow(*one) for one in row["entities"]] if row else []
    found: list[EntityRow] = []
    characters = 0
    for start in range(0, len(entity_ids), _AT_ONCE):
        some = list(entity_ids[start : start + _AT_ONCE])
        row = await context.graph.one("entity.recompute", entity_ids=some, **clocks.bounds)
        for one in map(answers.recomputed, row["snapshots"] if row else []):
            characters += sum(map(len, one.values))
            if found and characters > _CHARACTERS:
                return found
            if one.live or include_deleted:
                found.append(one)
    return found


async def relationships(
    context: Context, keys: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[RelationshipRow]:
    """Return those of some relationships that live, in the order given, as many as fit into an answer.

    Args:
        include_deleted: as of a time, those as well that were deleted then, or of which an end was.
    """
    if not keys:
        return []
    if clocks.now:
        row = await context.graph.one("relationship.by_key", keys=list(keys))
        return [RelationshipRow(*one) for one in row["relationships"]] if row else []
    row = await context.graph.one("relationship.recompute", keys=list(keys), **clocks.bounds)
    assert row is not None
    found = [(answers.recomputed_relationship(one), ends) for one, ends in row["relationships"]]
    return [one for one, ends in found if (one.live and ends) or include_deleted]
