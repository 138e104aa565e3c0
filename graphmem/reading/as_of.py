"""Reading the graph as of two clocks: rows of entities and relationships, current or as of a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from graphmem.model import canonical, ids, membership, reduction, times
from graphmem.model.reduction import OwnState
from graphmem.reading import answers, recomputed
from graphmem.reading.answers import EntityRow, RelationshipRow
from graphmem.registry import Context
from graphmem.writing import refolding

_ENTITIES_PER_READ = 50
"""Entities that one query recomputes. After each query the size of the answer is checked."""


class Bounds(TypedDict):
    """The parameters of a query as of two clocks, in microseconds."""

    at: int
    at_ingested: int


class AsOf(TypedDict, total=False):
    """The times that the request gave, as the answer repeats them."""

    at: str
    at_ingested: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a read: ``at`` bounds observed_at, ``at_ingested`` recorded_at; microseconds.

    Without both, the read is of now: the stored snapshots are read, and nothing is recomputed.
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
        """The part of an answer that repeats the clocks."""
        said: AsOf = {}
        if self.at is not None:
            said["at"] = times.render(self.at)
        if self.at_ingested is not None:
            said["at_ingested"] = times.render(self.at_ingested)
        return said

    def pinned(self, known: int) -> Clocks:
        """Return the clocks for further queries of the same answer, which then see no later commit."""
        return replace(self, at_ingested=known)


async def merged(context: Context, entity_ids: Iterable[str], clocks: Clocks) -> dict[str, str]:
    """Return what each merged entity was merged into, among all that were ever merged with some.

    Now is empty: what is shown of now is kept as it is shown.
    """
    ids = sorted(set(entity_ids))
    if clocks.now or not ids:
        return {}
    merges = await refolding.membership(context.graph, ids, clocks.bounds["at_ingested"])
    return merges.merged_into(**clocks.bounds)


async def entities(
    context: Context, entity_ids: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[EntityRow]:
    """Return those of some entities that live, in the order given, as many as fit into an answer.

    Args:
        include_deleted: as of a time, those that were deleted then as well.

    Raises:
        Stale: some entities were folded under an older schema.
    """
    if not entity_ids:
        return []
    if clocks.now:
        row = await context.graph.one("entity.by_id", entity_ids=list(entity_ids))
        return answers.fresh(row["entities"]) if row else []
    found: list[EntityRow] = []
    characters = 0
    for start in range(0, len(entity_ids), _ENTITIES_PER_READ):
        some = list(entity_ids[start : start + _ENTITIES_PER_READ])
        then = await recomputed.entities(context, some, **clocks.bounds)
        for one in filter(None, map(then.get, some)):
            characters += sum(map(len, one.values))
            if found and characters > answers.ANSWER_CHARACTERS:
                return found
            if one.live or include_deleted:
                found.append(one)
    return found


async def relationships(
    context: Context, keys: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[RelationshipRow]:
    """Return those of some relationships that live, in the order given, as many as fit into an answer.

    Args:
        keys: as of a time, those under which they were written: what is shown as one is one.
        include_deleted: as of a time, those as well that were deleted then, or of which an end was.
    """
    if not keys:
        return []
    if clocks.now:
        row = await context.graph.one("relationship.by_key", keys=list(keys))
        return [RelationshipRow(*one) for one in row["relationships"]] if row else []
    ends = {end for key in keys for end in ids.ends(key)}
    into = await merged(context, ends, clocks)
    row = await context.graph.one("relationship.recompute", keys=list(keys), **clocks.bounds)
    assert row is not None
    groups: dict[str, list[RecomputedRelationship]] = {}
    for one in row["relationships"]:
        groups.setdefault(membership.surviving_key(one[0], into), []).append(RecomputedRelationship(*one))
    if not include_deleted:
        lived = await living(context, {end for key in groups for end in ids.ends(key)}, clocks)
        groups = {key: group for key, group in groups.items() if all(lived.get(one) for one in ids.ends(key))}
    rows = (_recomputed_relationship(key, group) for key, group in groups.items() if not ids.is_loop(key))
    return [one for one in rows if one.live or include_deleted]


async def living(context: Context, entity_ids: Iterable[str], clocks: Clocks) -> dict[str, bool]:
    """Return whether each of some entities was not deleted as of the clocks; unknown ones are left out."""
    entities, _ = await _lived(context, entity_ids, clocks)
    return {entity_id: lived for entity_id, lived, _ in entities}


async def pinned(
    context: Context, entity_ids: Iterable[str], clocks: Clocks
) -> tuple[dict[str, bool], Clocks]:
    """Return which of some entities lived, and the clocks for the further queries of an answer."""
    entities, known = await _lived(context, entity_ids, clocks)
    return {entity_id: lived for entity_id, lived, _ in entities}, clocks.pinned(known)


async def types(context: Context, entity_ids: Iterable[str], clocks: Clocks) -> dict[str, str]:
    """Return the type of each of some entities; unknown ones are left out."""
    entities, _ = await _lived(context, entity_ids, clocks)
    return {entity_id: entity_type for entity_id, _, entity_type in entities}


async def _lived(
    context: Context, entity_ids: Iterable[str], clocks: Clocks
) -> tuple[list[tuple[str, bool, str]], int]:
    row = await context.graph.one("entity.lived", entity_ids=sorted(set(entity_ids)), **clocks.bounds)
    assert row is not None
    known = clocks.bounds["at_ingested"] if row["known"] is None else row["known"]
    return row["entities"], known


class RecomputedRelationship(NamedTuple):
    """``relationship/recompute.cypher``: what the own observations of one relationship come to."""

    key: str
    version: int
    observations: int
    created_at: int
    last_observation_at: int
    turn: list[Any]
    fold: list[list[Any]]


def _recomputed_relationship(key: str, members: list[RecomputedRelationship]) -> RelationshipRow:
    """Return the row of a relationship from those that count for it, itself among them."""
    states = [
        OwnState.reduced(
            member.observations, member.created_at, member.last_observation_at, member.turn, member.fold
        )
        for member in members
    ]
    state = reduction.merged_state(states, is_relationship=True)
    assert state.created_at is not None
    assert state.last_observation_at is not None
    winners = sorted(state.fold.items(), key=lambda pair: canonical.name_order(pair[0]))
    source, target = ids.ends(key)
    return RelationshipRow(
        key=key,
        id=ids.relationship_id(key),
        type=key.partition(":")[0],
        source=source,
        target=target,
        live=state.is_live,
        version=sum(member.version for member in members),
        observation_count=state.observation_count,
        created_at=state.created_at,
        last_observation_at=state.last_observation_at,
        fields=[name for name, _ in winners],
        values=[winner.value for _, winner in winners],
        winners=[winner.observation_id for _, winner in winners],
        check=None,
    )
