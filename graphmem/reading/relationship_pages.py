"""Pages of relationships, newest first: of an entity or of an owner, now or as of a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphmem.model import ids, membership, times
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.answers import EntityRow, RelationshipRow
from graphmem.reading.as_of import Clocks
from graphmem.registry import Context


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which relationships: those at one entity, or all of the owner; ``other`` is what is at the far end.

    With ``entity_type``, an entity of this type is at the far end, or at either end of those of the owner.
    They follow the place of ``time`` (microseconds) and ``after`` in the order of the newest first.
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


@dataclass(frozen=True, slots=True)
class Found:
    """A page with the entities at the far ends, where it is ``expanded``; ``total`` where it is ``counted``.

    ``version`` is that of the entity, now; ``root`` is what shows it, ``homes`` as of a time all that it
    showed. ``clocks`` are those that further queries of the answer must use.
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


async def relationship_page(context: Context, wanted: Wanted, clocks: Clocks) -> Found:
    """Return a page of relationships, now or as of a time.

    Raises:
        NotFound: there is no such entity, or it was deleted by then.
    """
    if not clocks.now:
        return await _then(context, wanted, clocks)
    row = await _now(context, wanted)
    if row is None:
        raise answers.no_entity(wanted.entity_id)
    return Found(
        [RelationshipRow(*one) for one in row["page"]],
        answers.fresh(row["others"]),
        row["total"],
        row["truncated"],
        row["more"],
        row.get("version"),
        row.get("root"),
    )


async def _now(context: Context, wanted: Wanted) -> dict[str, Any] | None:
    common: dict[str, Any] = {
        "entity_type": wanted.entity_type,
        "include_deleted": wanted.include_deleted,
        "counted": wanted.counted,
        "expanded": wanted.expanded,
        "time": wanted.time,
        "after": wanted.after,
        "offset": wanted.offset,
        "limit": wanted.limit,
        "reach": wanted.offset + wanted.limit + 1,
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
        )
    if wanted.relationship_type is not None:
        return await context.graph.one("relationship.page_by_type", **common, type=wanted.relationship_type)
    return await context.graph.one("relationship.page", **common)


async def _then(context: Context, wanted: Wanted, clocks: Clocks) -> Found:
    """Return a page as of a time: everything that was written is asked, and shown as it was shown then."""
    lived, clocks = await as_of.pinned(context, filter(None, [wanted.entity_id]), clocks)
    root, subject_ids = wanted.entity_id, None
    if wanted.entity_id is None:
        row = await context.graph.one("relationship.at_all", type=wanted.relationship_type, **clocks.bounds)
    else:
        if wanted.entity_id not in lived:
            raise answers.no_entity(wanted.entity_id)
        into = await as_of.merged(context, [wanted.entity_id], clocks)
        root = membership.survivor(wanted.entity_id, into)
        if root != wanted.entity_id:
            lived = await as_of.living(context, [root], clocks)
        if not (lived[root] or wanted.include_deleted):
            raise answers.no_entity(wanted.entity_id)
        subject_ids = membership.members(root, into)
        row = await context.graph.one(
            "relationship.at_entities",
            subject_ids=subject_ids,
            outgoing=wanted.outgoing,
            incoming=wanted.incoming,
            type=wanted.relationship_type,
            **clocks.bounds,
        )
    assert row is not None
    shown = await _shown(context, row["relationships"], wanted, root, clocks)
    behind = [one for one in shown if (one.last, one.relationship_id) < (wanted.time, wanted.after)]
    page = behind[wanted.offset : wanted.offset + wanted.limit]
    found = await _recomputed(context, wanted, root, clocks, [key for one in page for key in one.members])
    truncated = len(found.relationships) < len(page)
    more = truncated or len(behind) > wanted.offset + len(page)
    return replace(
        found, root=root, subject_ids=subject_ids, total=len(shown), truncated=truncated, more=more
    )


class _Shown(NamedTuple):
    """A relationship as it was shown: its place in the order, and the keys under which it was written."""

    last: int
    relationship_id: str
    members: list[str]


async def _shown(
    context: Context, found: list[list[Any]], wanted: Wanted, root: str | None, clocks: Clocks
) -> list[_Shown]:
    """Return what some relationships were shown as, newest first."""
    ends = {end for key, _, _ in found for end in ids.ends(key)} | set(filter(None, [wanted.other]))
    into = await as_of.merged(context, ends, clocks)
    groups: dict[str, list[list[Any]]] = {}
    for one in found:
        groups.setdefault(membership.surviving_key(one[0], into), []).append(one)
    shown_ends = {end for key in groups for end in ids.ends(key)}
    lived = await as_of.living(context, shown_ends, clocks)
    types = await as_of.types(context, shown_ends, clocks) if wanted.entity_type else {}
    other = membership.survivor(wanted.other, into) if wanted.other else None
    shown: list[_Shown] = []
    for key, members in groups.items():
        source, target = ids.ends(key)
        if source == target or (other and other != (target if source == root else source)):
            continue
        far_ends = [end for end in (source, target) if end != root]
        if wanted.entity_type and wanted.entity_type not in map(types.get, far_ends):
            continue
        live = any(alive for _, _, alive in members) and lived.get(source) and lived.get(target)
        if live or wanted.include_deleted:
            last = max(when for _, when, _ in members)
            shown.append(_Shown(last, ids.relationship_id(key), [one[0] for one in members]))
    return sorted(shown, key=lambda one: (one.last, one.relationship_id), reverse=True)


async def _recomputed(
    context: Context, wanted: Wanted, root: str | None, clocks: Clocks, keys: list[str]
) -> Found:
    """Return the page of these keys, as much of it as fits: one relationship at least."""
    deleted = wanted.include_deleted
    rows = await as_of.relationships(context, keys, clocks, include_deleted=deleted)
    others: list[EntityRow] = []
    if wanted.expanded:
        ends = (end for one in rows for end in (one.source, one.target))
        far = list(dict.fromkeys(end for end in ends if end != root))
        others = await as_of.entities(context, far, clocks, include_deleted=deleted)
        held = {one.id for one in others} | {root}
        fitting = next((i for i, one in enumerate(rows) if not {one.source, one.target} <= held), len(rows))
        rows = rows[: max(fitting, 1)]
    return Found(rows, others, 0, truncated=False, clocks=clocks)
