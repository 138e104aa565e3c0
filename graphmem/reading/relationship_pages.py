"""Pages of relationships, newest first: of an entity or of an owner, now or as of a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.context import Context
from graphmem.database.left_out import as_read
from graphmem.model import ids, membership, times
from graphmem.reading import answers, as_of, cursors, recomputed, shared_rows
from graphmem.reading.as_of import Clocks
from graphmem.reading.pages import Page, place_then, written
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.tallies import Tally, presence


@dataclass(frozen=True, slots=True)
class EdgeRequest:
    """Which relationships a page lists: those of an entity in some directions, or all of the owner.

    ``other`` is the entity at the far end, ``entity_type`` its type; without ``entity_id``, of that at either
    end. ``counted``: with the total; ``expanded``: with the entities at the far ends. The page follows
    ``time`` (``last_observation_at`` in microseconds) and ``after`` (an id). ``writers`` are filtered by now
    alone.
    """

    entity_id: str | None
    limit: int
    offset: int
    outgoing: bool = True
    incoming: bool = True
    other: str | None = None
    relationship_type: str | None = None
    entity_type: str | None = None
    counted: bool = False
    expanded: bool = False
    include_deleted: bool = False
    time: int = times.LATEST
    after: str = cursors.LAST
    writers: list[str] = field(default_factory=list)

    def after_place(self, place: Mapping[str, Any] | None) -> EdgeRequest:
        return self if place is None else replace(self, time=place["at"], after=place["id"])

    @property
    def is_first(self) -> bool:
        is_plain = not self.counted and not self.writers
        return is_plain and (self.time, self.after) == (times.LATEST, cursors.LAST)


_PageOfEntity = tuple[int, str, list[RelationshipRow], list[EntityRow], bool, bool, int]
"""The row of ``relationship/of_entity.cypher``; ``root`` is the survivor of the entity.

Its form ``first`` has no total.
"""
_WrittenRelationships = list[tuple[str, list[Tally]]]
"""The keys under which relationships were written, each with what decides whether it was there."""


@dataclass(frozen=True, slots=True)
class EdgePage:
    """The rows of a page of relationships; ``truncated``: the values end it before its limit.

    ``others``, the entities at the far ends, and ``total`` are there where the request wants them. ``root``
    is the survivor of the entity, ``version`` its version now; as of a time, ``subject_ids`` are its members.
    ``clocks`` are those of further queries of the same answer.
    """

    relationships: list[RelationshipRow]
    others: list[EntityRow]
    total: int
    truncated: bool
    more: bool = False
    version: int | None = None
    root: str | None = None
    subject_ids: list[str] | None = None
    clocks: Clocks = field(default_factory=Clocks)

    @property
    def as_page(self) -> Page[RelationshipRow]:
        """The relationships with the place where the next page starts."""
        place, read = None, as_read(self.relationships)
        if self.more and read:
            last = read[-1]
            place = place_then({"at": last.last_observation_at, "id": last.id}, self.clocks)
        return Page(self.relationships, place, self.truncated, self.total)


async def relationship_page(context: Context, request: EdgeRequest, clocks: Clocks) -> EdgePage:
    if not clocks.now:
        return await _page_as_of(context, request, clocks)
    if request.entity_id is not None:
        return await _of_entity(context, request, request.entity_id)
    common = {**_which(request), **_place(request)}
    if request.relationship_type is not None:
        name, by = written("relationship.page_by_type", request.writers)
        by["type"] = request.relationship_type
    else:
        name, by = written("relationship.page", request.writers)
    page, others, truncated, more, total = await context.graph.only(
        name, tuple[list[RelationshipRow], list[EntityRow], bool, bool, int], **common, **by
    )
    return EdgePage(page, shared_rows.refuse_stale(others), total, truncated, more)


async def _of_entity(context: Context, request: EdgeRequest, entity_id: str) -> EdgePage:
    which: dict[str, Any] = {
        **_which(request), "entity_id": entity_id, "outgoing": request.outgoing, "incoming": request.incoming,
        "other": request.other, "type": request.relationship_type,
    }  # fmt: skip
    if request.is_first:
        row = await context.graph.one("relationship.of_entity[first]", _PageOfEntity, **which)
    else:
        name, by = written("relationship.of_entity", request.writers)
        row = await context.graph.one(name, _PageOfEntity, **which, **_place(request), **by)
    if row is None:
        raise answers.no_entity(entity_id)
    version, root, page, others, truncated, more, total = row
    return EdgePage(page, shared_rows.refuse_stale(others), total, truncated, more, version, root)


def _which(request: EdgeRequest) -> dict[str, Any]:
    return {
        "entity_type": request.entity_type, "include_deleted": request.include_deleted,
        "expanded": request.expanded, "offset": request.offset, "limit": request.limit,
        "reach": request.offset + request.limit + 1,
    }  # fmt: skip


def _place(request: EdgeRequest) -> dict[str, Any]:
    return {"time": request.time, "after": request.after, "counted": request.counted}


async def _page_as_of(context: Context, request: EdgeRequest, clocks: Clocks) -> EdgePage:
    """Return a page as of a time. Every relationship that was recorded by then is read."""
    lived, clocks = await as_of.pinned(context, filter(None, [request.entity_id]), clocks)
    root, subject_ids = request.entity_id, None
    if request.entity_id is None:
        rows = await context.graph.only(
            "relationship.at_all", _WrittenRelationships, type=request.relationship_type, **clocks.bounds
        )
    else:
        if request.entity_id not in lived:
            raise answers.no_entity(request.entity_id)
        into = await as_of.merged(context, [request.entity_id], clocks)
        root = membership.survivor(request.entity_id, into)
        if root != request.entity_id:
            lived, _ = await as_of.pinned(context, [root], clocks)
        if not lived[root]:
            # It was deleted, or nothing that gave it values counts: what is merged into it may show it.
            row = (await recomputed.entities(context, [root], **clocks.bounds)).get(root)
            if row is None or not (row.live or request.include_deleted):
                raise answers.no_entity(request.entity_id)
        subject_ids = membership.members(root, into)
        rows = await context.graph.only(
            "relationship.at_entities", _WrittenRelationships, subject_ids=subject_ids,
            outgoing=request.outgoing, incoming=request.incoming, type=request.relationship_type,
            **clocks.bounds,
        )  # fmt: skip
    edges = await _edges_as_of(context, rows, request, root, clocks)
    rest = [each for each in edges if each[:2] < (request.time, request.after)]
    page = rest[request.offset : request.offset + request.limit]
    rows = await _recomputed(context, request, root, clocks, [key for *_, keys in page for key in keys])
    truncated = len(rows.relationships) < len(page)
    more = truncated or len(rest) > request.offset + len(page)
    return replace(rows, root=root, subject_ids=subject_ids, total=len(edges), truncated=truncated, more=more)


async def _edges_as_of(
    context: Context, written: _WrittenRelationships, request: EdgeRequest, root: str | None, clocks: Clocks
) -> list[tuple[int, str, list[str]]]:
    """Return the relationships that the written ones were shown as, newest first. Each has the time of its
    last observation and its id, and the keys under which it was written."""
    at = clocks.bounds["at"]
    there = {key: known for key, turns in written if (known := presence(turns, at)) is not None}
    ends = {end for key in there for end in ids.ends(key)} | set(filter(None, [request.other]))
    into = await as_of.merged(context, ends, clocks)
    groups: dict[str, list[str]] = {}
    for key in there:
        groups.setdefault(membership.surviving_key(key, into), []).append(key)
    lifetimes, _ = await as_of.lifetimes(context, {end for key in groups for end in ids.ends(key)}, clocks)
    unknown = False, ""
    other = membership.survivor(request.other, into) if request.other else None
    edges: list[tuple[int, str, list[str]]] = []
    for key, members in groups.items():
        source, target = ids.ends(key)
        if source == target or (other and other != (target if source == root else source)):
            continue
        far_types = [lifetimes.get(end, unknown)[1] for end in (source, target) if end != root]
        if request.entity_type and request.entity_type not in far_types:
            continue
        live = any(there[member][1] for member in members) and all(
            lifetimes.get(end, unknown)[0] for end in (source, target)
        )
        if live or request.include_deleted:
            last = max(there[member][0] for member in members)
            edges.append((last, ids.relationship_id(key), members))
    return sorted(edges, key=lambda edge: edge[:2], reverse=True)


async def _recomputed(
    context: Context, request: EdgeRequest, root: str | None, clocks: Clocks, keys: list[str]
) -> EdgePage:
    """Return the relationships with these keys, as many as fit into an answer; at least one."""
    deleted = request.include_deleted
    rows = await as_of.relationships(context, keys, clocks, include_deleted=deleted)
    others: list[EntityRow] = []
    if request.expanded:
        ends = (end for row in rows for end in (row.source, row.target))
        far_ends = list(dict.fromkeys(end for end in ends if end != root))
        others = await as_of.entities(context, far_ends, clocks, include_deleted=deleted)
        known = {entity.id for entity in others} | {root}
        fitting = next((i for i, row in enumerate(rows) if not {row.source, row.target} <= known), len(rows))
        rows = rows[: max(fitting, 1)]
    return EdgePage(rows, others, 0, truncated=False, clocks=clocks)
