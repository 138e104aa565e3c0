"""Pages of relationships, newest first: of an entity or of an owner, now or as of a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import NotFound
from graphmem.operations import as_of
from graphmem.operations.answers import EntityRow, RelationshipRow
from graphmem.operations.as_of import Clocks
from graphmem.registry import Context


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which relationships: those at one entity, or all of the owner; ``other`` is what is at the far end."""

    entity_id: str | None
    limit: int
    offset: int
    outgoing: bool = True
    incoming: bool = True
    other: str | None = None
    relationship_type: str | None = None
    counted: bool = False
    expanded: bool = False
    include_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A page with the entities at the far ends, where it is ``expanded``; ``total`` where it is ``counted``.

    ``version`` is that of the entity, now. ``clocks`` are those that further queries of the answer must use.
    """

    relationships: list[RelationshipRow]
    others: list[EntityRow]
    total: int
    truncated: bool
    version: int | None = None
    clocks: Clocks = field(default_factory=Clocks)


async def relationship_page(context: Context, wanted: Wanted, clocks: Clocks) -> Found:
    """Return a page of relationships, now or as of a time.

    Raises:
        NotFound: there is no such entity, or it was deleted by then.
    """
    row = await (_now(context, wanted) if clocks.now else _then(context, wanted, clocks))
    if row is None:
        raise NotFound(f"there is no entity {wanted.entity_id}", entity_id=wanted.entity_id)
    if not clocks.now:
        return await _recomputed(context, wanted, clocks.pinned(row["known"]), row["keys"], row["total"])
    return Found(
        [RelationshipRow(*one) for one in row["page"]],
        [EntityRow(*one) for one in row["others"]],
        row["total"],
        row["truncated"],
        row.get("version"),
    )


async def _now(context: Context, wanted: Wanted) -> dict[str, Any] | None:
    common: dict[str, Any] = {
        "include_deleted": wanted.include_deleted,
        "counted": wanted.counted,
        "expanded": wanted.expanded,
        "offset": wanted.offset,
        "limit": wanted.limit,
    }
    if wanted.entity_id is not None:
        return await context.graph.one(
            "relationship.of_entity",
            **common,
            entity_id=wanted.entity_id,
            outgoing=wanted.outgoing,
            incoming=wanted.incoming,
            other=wanted.other,
            type=wanted.relationship_type,
            reach=wanted.offset + wanted.limit,
        )
    if wanted.relationship_type is not None:
        return await context.graph.one("relationship.page_by_type", **common, type=wanted.relationship_type)
    return await context.graph.one("relationship.page", **common)


async def _then(context: Context, wanted: Wanted, clocks: Clocks) -> dict[str, Any] | None:
    common: dict[str, Any] = {
        "include_deleted": wanted.include_deleted,
        "offset": wanted.offset,
        "limit": wanted.limit,
        "type": wanted.relationship_type,
        **clocks.bounds,
    }
    if wanted.entity_id is None:
        return await context.graph.one("relationship.page_as_of", counted=wanted.counted, **common)
    return await context.graph.one(
        "relationship.of_entity_as_of",
        entity_id=wanted.entity_id,
        outgoing=wanted.outgoing,
        incoming=wanted.incoming,
        other=wanted.other,
        **common,
    )


async def _recomputed(context: Context, wanted: Wanted, clocks: Clocks, keys: list[str], total: int) -> Found:
    """Return the page of these keys, as much of it as fits: one relationship at least."""
    deleted = wanted.include_deleted
    rows = await as_of.relationships(context, keys, clocks, include_deleted=deleted)
    others: list[EntityRow] = []
    if wanted.expanded:
        ends = (end for one in rows for end in (one.source, one.target))
        far = list(dict.fromkeys(end for end in ends if end != wanted.entity_id))
        others = await as_of.entities(context, far, clocks, include_deleted=deleted)
        held = {one.id for one in others} | {wanted.entity_id}
        fitting = next((i for i, one in enumerate(rows) if not {one.source, one.target} <= held), len(rows))
        rows = rows[: max(fitting, 1)]
    return Found(rows, others, total, len(rows) < len(keys), clocks=clocks)
