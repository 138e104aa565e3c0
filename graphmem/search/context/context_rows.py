"""What lines of context are made from: entities with their values and relationships, now or as of a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from graphmem.context import Context
from graphmem.model import merged_arrays, ranks
from graphmem.reading import recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.relationship_pages import EdgeRequest, relationship_page
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.search.context.context_ranking import Observed

ORIGINS_LIMIT: Final = 3
"""The first entities of the answer whose related entities are answered as well."""
RELATIONSHIPS_LIMIT: Final = 25
"""Relationships of an entity in each direction."""
METADATA_LIMIT: Final = 300
"""Characters of a value of a relationship, and of an earlier value; longer values are left out."""


class WinnerTime(NamedTuple):
    """When an observation that set a field was observed."""

    observation_id: str
    observed_at: int


class RelatedRow(NamedTuple):
    """A relationship of an entity, and the entity at its other end.

    ``text`` has the words of that entity in a sealed instance, where no query compares them.
    """

    relationship_key: str
    relationship_type: str
    direction: str
    entity_id: str
    entity_type: str
    entity_name: str
    last_observation_at: int
    observation_id: str
    metadata: list[tuple[str, str]]
    matches: int
    refold: int | None
    text: str | None = None

    def compared(self, words: Sequence[str]) -> RelatedRow:
        """Return the row with its number of matches, as ``context/gather.cypher`` counts them."""
        if self.text is None:
            return self
        return self._replace(matches=sum(f" {word}" in f" {self.text}" for word in words), text=None)

    def own_matches(self, words: Sequence[str]) -> int:
        """Return how many words its type and its metadata have."""
        own = " ".join([self.relationship_type, *(each for pair in self.metadata for each in pair)]).lower()
        return sum(word in own for word in words)


class KnownEntity(NamedTuple):
    """An entity with the facts that lines are made from."""

    entity: EntityRow
    ranks: list[str]
    winners: list[WinnerTime]
    history: list[Observed]
    related: list[RelatedRow]

    @property
    def fault(self) -> str | None:
        winners = {each for listed in self.entity.winners for each in listed.split(",")}
        lacking = winners - {each.observation_id for each in self.winners}
        if len(self.ranks) != len(self.entity.fields):
            return "it has not a rank for each field"
        return f"there is no {min(lacking)}, which set a value" if lacking else None


async def known_then(context: Context, entity_ids: Sequence[str], clocks: Clocks) -> list[KnownEntity]:
    """Return the facts about those of some entities that lived as of two clocks, in the order of the ids.

    The first ones have their relationships. What contests a value, or was before it, is left out.
    """
    then = await recomputed.entities(context, entity_ids, **clocks.bounds)
    clocks = clocks.pinned(then.at_ingested)
    known: dict[str, KnownEntity] = {}
    for entity_id in entity_ids:
        row = then.get(entity_id)
        if row is None or not (row.live and row.observation_count) or row.id in known:
            continue
        fold = then.folds[row.id]
        winners = [
            WinnerTime(observation_id, _observed_at(winner.rank, row))
            for winner in fold.values()
            for observation_id in winner.observation_id.split(",")
        ]
        related = await _related_then(context, row.id, clocks) if len(known) < ORIGINS_LIMIT else []
        known[row.id] = KnownEntity(row, [fold[name].rank for name in row.fields], winners, [], related)
    return list(known.values())


async def show_types(context: Context, entities: list[KnownEntity]) -> None:
    """Give relationship types of the owner's own their newest names."""
    types = {related.relationship_type for known in entities for related in known.related}
    names = await context.services.vocabulary.renamed(context.actor.owner, types)
    if names:
        for known in entities:
            known.related[:] = [
                each._replace(relationship_type=names.get(each.relationship_type, each.relationship_type))
                for each in known.related
            ]


def _observed_at(rank: str, row: EntityRow) -> int:
    """Return when a value was observed; of a union of values, when its entity was last."""
    is_union = merged_arrays.is_union(rank)
    return (row.last_observation_at or 0) if is_union else ranks.time_of(rank.rpartition(".")[2])


async def _related_then(context: Context, entity_id: str, clocks: Clocks) -> list[RelatedRow]:
    """Return the newest relationships of an entity as of two clocks."""
    request = EdgeRequest(entity_id, 2 * RELATIONSHIPS_LIMIT, 0, expanded=True)
    page = await relationship_page(context, request, clocks)
    others = {each.id: each for each in page.others}
    related: list[RelatedRow] = []
    for row in page.relationships:
        direction, other_id = (
            ("outgoing", row.target) if row.source == entity_id else ("incoming", row.source)
        )
        metadata = [pair for pair in snapshot_of(row).items() if len(pair[1]) <= METADATA_LIMIT]
        if (other := others.get(other_id)) is not None:
            related.append(
                RelatedRow(
                    row.key,
                    row.type,
                    direction,
                    other.id,
                    other.type,
                    other.name,
                    row.last_observation_at,
                    max(row.winners, default=""),
                    metadata,
                    0,
                    None,
                )
            )
    return related
