"""Reading the graph as of two clocks: rows of entities and relationships, current or as of a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from typing_extensions import TypedDict

from graphmem.arguments import Arguments, At, AtIngested
from graphmem.context import Context
from graphmem.model import ids, membership, reduction, times
from graphmem.model.reduction import Stale
from graphmem.reading import answers, recomputed, shared_rows, tallies
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.tallies import Sum, Tally

_ENTITIES_PER_READ = 100
"""Entities that one query recomputes. After each query the size of the answer is checked."""


NOTHING_YET: Final = (
    "nothing counts at this time: an observation counts from its observed_at, or from the date that it says "
    "(since, start_date), and until its end (until, end_date); leave out at, or give another time"
)
"""The hint of an answer as of a time that has nothing."""


class Bounds(TypedDict):
    """The parameters of a query as of two clocks, in microseconds."""

    at: int
    at_ingested: int


class AsOf(TypedDict, total=False):
    """The times that the request gave, as the answer repeats them; ``hint`` where nothing counts then."""

    at: str
    at_ingested: str
    hint: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of a read: ``at`` bounds observed_at, ``at_ingested`` recorded_at; microseconds. Without
    both, the read is of now: the stored snapshots are read, and nothing is recomputed."""

    at: int | None = None
    at_ingested: int | None = None

    @property
    def now(self) -> bool:
        """Whether neither clock was given."""
        return self.at is None and self.at_ingested is None

    @property
    def bounds(self) -> Bounds:
        return {
            "at": times.LATEST if self.at is None else self.at,
            "at_ingested": times.LATEST if self.at_ingested is None else self.at_ingested,
        }

    @property
    def answered(self) -> AsOf:
        as_of: AsOf = {}
        if self.at is not None:
            as_of["at"] = times.render(self.at)
        if self.at_ingested is not None:
            as_of["at_ingested"] = times.render(self.at_ingested)
        return as_of

    def hinted(self, is_empty: bool) -> AsOf:
        """Return the part of an answer that says why it is empty, as of an earlier time."""
        return {"hint": NOTHING_YET} if is_empty and self.at is not None else {}

    def pinned(self, known: int) -> Clocks:
        """Return the clocks for further queries of the same answer, which then see no later commit."""
        return replace(self, at_ingested=known)


NOW: Final = Clocks()  # the clocks of a read of now


class AsOfArguments(Arguments):
    """The arguments of a read that answers what was true, or known, at a time."""

    described_last: ClassVar[tuple[str, ...]] = ("at", "at_ingested")

    at: At = None
    at_ingested: AtIngested = None

    @property
    def clocks(self) -> Clocks:
        return Clocks(self.at, self.at_ingested)


async def merged(context: Context, entity_ids: Iterable[str], clocks: Clocks) -> dict[str, str]:
    """Return the survivor of each entity that was merged with one of these, as of the clocks. A read of now
    returns an empty mapping: the stored snapshots are merged already."""
    sorted_ids = sorted(set(entity_ids))
    if clocks.now or not sorted_ids:
        return {}
    merges = await recomputed.membership_of(context, sorted_ids, clocks.bounds["at_ingested"])
    return merges.merged_into(**clocks.bounds)


async def entities(
    context: Context, entity_ids: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[EntityRow]:
    """Return the live entities with these ids, in the order of the ids, as many as fit into an answer.
    ``include_deleted``: as of a time, also those that were deleted then."""
    if not entity_ids:
        return []
    if clocks.now:
        stored = await context.graph.only("entity.by_id", list[EntityRow], entity_ids=list(entity_ids))
        return shared_rows.refuse_stale(stored)
    which = {"include_deleted": include_deleted, "include_unobserved": True}
    return (await first_entities(context, entity_ids, clocks, **which))[0]


async def entity(
    context: Context, entity_id: str, clocks: Clocks, *, include_deleted: bool | None = None
) -> EntityRow:
    """Return one entity, or the one that it was merged into, now or as of the clocks; raises NotFound: none
    then. ``include_deleted`` is ``None`` where the operation has no such argument."""
    row = None
    if not clocks.now:
        row = (await recomputed.entities(context, [entity_id], **clocks.bounds)).get(entity_id)
    if row is None:
        row = await context.graph.one(
            "entity.get", EntityRow, entity_id=entity_id, include_deleted=bool(include_deleted)
        )
        if row is not None and row.head and row.head[0][2:] == [True]:
            # Another rule of identity of its type is being applied: it may be merged with others.
            await refuse_unfolded(context, [(row.type, row.head[0][0])], lives=(True, False))
        if row is not None and not clocks.now and (row.observation_count or not row.parted_into):
            # It was not there then. An address of which nothing is left but its people parts at every time.
            row = None
    if row is None or not (row.live or include_deleted or row.parted_into):
        raise answers.no_entity(entity_id, may_be_deleted=include_deleted is False)
    return row


async def refuse_unfolded(
    context: Context, types: Iterable[tuple[str, str | None]], lives: Sequence[bool] = (True,)
) -> list[str]:
    """Return those of some types, given with the rules of today, that have too many entities to fold again.
    Stale: some entities of the other types were folded under a previous schema."""
    stale_ids: list[str] = []
    left: list[str] = []
    for entity_type, projection in sorted(types):
        for live in lives:
            entities, last = await context.graph.only(
                "schema.unfolded", tuple[list[str], str | None], type=entity_type, live=live,
                projection=projection, after="", limit=context.services.limits.refolded_entities,
            )  # fmt: skip
            stale_ids += entities if last is None else []
            left += [entity_type] if last is not None else []
    if stale_ids:
        raise Stale(stale_ids)
    return left


async def first_entities(
    context: Context, entity_ids: Sequence[str], clocks: Clocks, *, include_deleted: bool = False,
    include_unobserved: bool = False,
) -> tuple[list[EntityRow], int]:  # fmt: skip
    """Return the entities as of two clocks that fit into an answer, and how many of the ids were read.
    ``include_unobserved``: also entities of which nothing counts then, such as the end of a relationship."""
    rows: list[EntityRow] = []
    characters = 0
    for start in range(0, len(entity_ids), _ENTITIES_PER_READ):
        batch = list(entity_ids[start : start + _ENTITIES_PER_READ])
        then = await recomputed.entities(context, batch, **clocks.bounds)
        for place, row in enumerate(map(then.get, batch), start):
            if row is None or not (row.observation_count or include_unobserved):
                continue
            characters += sum(map(len, row.values))
            if rows and characters > answers.ANSWER_CHARACTERS:
                return rows, place
            if row.live or include_deleted:
                rows.append(row)
    return rows, len(entity_ids)


async def relationships(
    context: Context, keys: Sequence[str], clocks: Clocks, *, include_deleted: bool = False
) -> list[RelationshipRow]:
    """Return the live relationships with these keys, as many as fit into an answer.

    As of a time, ``keys`` are those under which they were written: those whose ends were merged then are one.
    ``include_deleted``: as of a time, also those that were deleted, or had a deleted end, then.
    """
    if not keys:
        return []
    if clocks.now:
        relationships, _ = await context.graph.only(
            "relationship.by_key", tuple[list[RelationshipRow], bool], keys=list(keys)
        )
        return relationships
    ends = {end for key in keys for end in ids.ends(key)}
    into = await merged(context, ends, clocks)
    relationships, _ = await context.graph.only(
        "relationship.recompute", tuple[list[tuple[str, list[Tally], list[list[Any]]]], int | None],
        keys=list(keys), **clocks.bounds,
    )  # fmt: skip
    groups: dict[str, list[Sum]] = {}
    for key, counts, winners in relationships:
        member = tallies.summed(counts, winners, clocks.bounds["at"], is_relationship=True)
        if member.state.lifecycle and not member.unmade and member.is_there:
            groups.setdefault(membership.surviving_key(key, into), []).append(member)
    if not include_deleted:
        lived, _ = await pinned(context, {end for key in groups for end in ids.ends(key)}, clocks)
        groups = {key: group for key, group in groups.items() if all(lived.get(end) for end in ids.ends(key))}
    rows: list[RelationshipRow] = []
    for key, group in groups.items():
        state = reduction.merged_state([member.state for member in group], is_relationship=True)
        if not ids.is_loop(key) and (state.is_live or include_deleted):
            source, target = ids.ends(key)
            rows.append(RelationshipRow(
                key=key, id=ids.relationship_id(key), type=key.partition(":")[0], source=source,
                target=target, version=sum(member.version for member in group), **shared_rows.shown(state),
            ))  # fmt: skip
    return rows


async def pinned(
    context: Context, entity_ids: Iterable[str], clocks: Clocks
) -> tuple[dict[str, bool], Clocks]:
    """Return whether each entity was live, and the clocks for the further queries of the same answer."""
    entities, known = await lifetimes(context, entity_ids, clocks)
    return {entity_id: lived for entity_id, (lived, _) in entities.items()}, clocks.pinned(known)


async def lifetimes(
    context: Context, entity_ids: Iterable[str], clocks: Clocks
) -> tuple[dict[str, tuple[bool, str]], int]:
    """Return whether each entity was live, with its type, and the time of recording that bounds the read."""
    entities, known = await context.graph.only(
        "entity.lived", tuple[list[tuple[str, bool, str]], int | None], entity_ids=sorted(set(entity_ids)),
        **clocks.bounds,
    )  # fmt: skip
    known = clocks.bounds["at_ingested"] if known is None else known
    return {entity_id: (lived, entity_type) for entity_id, lived, entity_type in entities}, known
