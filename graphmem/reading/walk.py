"""A walk through relationships: breadth first, bounded, and continued by a cursor.

A small walk takes one round trip; any other walk takes one for each level. That of a small walk of one or two
steps answers the rows of the first page as well.

Entities come nearest first, then by id; a relationship comes with the later of its two ends. A walk of one
step continues where its page ended. A longer walk runs again from the origin, which its limits make cheap,
and leaves out the entities of earlier pages. So pages tile while nothing is written.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphmem.context import Context
from graphmem.database.left_out import checking, each_sound, refused
from graphmem.model import ids, membership
from graphmem.reading import answers, as_of, current_relationships
from graphmem.reading.as_of import Clocks
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.tallies import Tally, presence
from graphmem.settings import Limits

_NO_LIMIT = 2**31 - 2
"""More rows than there are. The database slices lists by 32 bits."""
_CURRENT_ROOM = 2_000
"""Entities next to a hub that one query answers, of which those behind ended relationships are left out."""
_AROUND_DEPTH = 2  # steps of a walk that ``relationship/around.cypher`` can walk


WalkOrigin = tuple[str, str, str, int]
"""The entity that a walk starts from, the survivor of the requested one: its id, type, name and version."""


class Level(NamedTuple):
    """The row of ``relationship/expand.cypher`` and, without an ``origin``, of ``expand_as_of``.

    Each list of ``neighbours`` is for :class:`Neighbour`; as of a time, some of their relationships are
    ``dated``: the key, and what says when it was there.
    """

    origin: WalkOrigin | None
    neighbours: list[list[str]]
    total: int
    links: int
    hubs: list[str]
    spent: int
    unexplored: int
    revision: int
    dated: list[tuple[str, list[Tally]]]


class SmallWalk(NamedTuple):
    """The row of ``relationship/around.cypher`` and, without rows, of ``relationship/reach.cypher``.

    ``whole`` is false if the walk is not small; ``relationships`` is null if no rows were read. In a walk
    with rows each list of ``levels`` is an entity and one key: an entity with several keys is in several
    lists.
    """

    origin: WalkOrigin
    levels: list[list[list[str]]]
    whole: bool
    revision: int
    entities: list[EntityRow]
    relationships: list[RelationshipRow] | None


class Neighbour(NamedTuple):
    """An entity that a step reaches, and the keys of the relationships that lead to it."""

    id: str
    keys: list[str]

    @property
    def fault(self) -> str | None:
        wrong = [key for key in self.keys if key.count(":") != 2 or self.id not in ids.ends(key)]
        return f"no key of a relationship to it is {wrong[0]}" if wrong else None

    @classmethod
    def of(cls, rows: list[list[str]]) -> list[Neighbour]:
        """Return the neighbours that rows hold as lists: an id, then the keys."""
        return each_sound(lambda values: cls(values[0], values[1:]), rows)


@dataclass(frozen=True, slots=True)
class WalkRequest:
    """The arguments of a walk.

    ``limit`` bounds the entities of a walk of one step, and those whose rows may come with a walk.
    ``include_entities``: whether the rows of entities are wanted. ``current``: whether relationships that
    have ended are left out. Without ``relationship_types``, those of every type are followed.
    """

    entity_id: str
    relationship_types: frozenset[str] | None
    depth: int
    direction: str
    through_hubs: bool
    limit: int
    include_entities: bool = True
    current: bool = False

    @property
    def directions(self) -> dict[str, bool]:
        return {"outgoing": self.direction != "incoming", "incoming": self.direction != "outgoing"}


@dataclass(frozen=True, slots=True)
class WalkPlace:
    """Where a walk continues: after this entity. ``answered`` counts the entities of earlier pages."""

    depth: int = 0
    entity_id: str = ""
    answered: int = 0


@dataclass(slots=True, kw_only=True)
class Walk:
    """A walk: the entities that it reaches after a place, and the relationships to them.

    Attributes:
        clocks: the clocks for further queries of the same answer.
        is_small: whether all levels may still be walked in one round trip.
        origin, root: the entity that the walk started from (``None`` as of a time), and its id.
        answered: how many entities earlier pages have.
        entities: depth and id of each entity, in order; at most ``limit`` of a walk of one step.
        links: for each entity, the keys of the relationships that come with it.
        paths: for each entity, the keys of a shortest path to it; of several, the smallest, key by key.
        hubs: entities that have too many relationships to be passed through.
        more, more_links: how many entities and relationships follow those above.
        unexplored: how many entities were reached whose relationships were not read.
        rows: if they came with the walk, those of the first entities that fit, and of their relationships.
        depths: the steps from the origin to each entity that was reached.
        edges: the two ends of each relationship, by the key under which it is shown.
        into, dead: as of a time, the survivor of each merged entity, and survivors that were deleted.
        written: as of a time, for each relationship the keys under which it was written.
        absent: as of a time, the keys of relationships that had not begun, had ended or were deleted.
    """

    context: Context
    request: WalkRequest
    clocks: Clocks
    is_small: bool
    origin: WalkOrigin | None = None
    answered: int = 0
    entities: list[tuple[int, str]] = field(default_factory=list)
    links: dict[str, list[str]] = field(default_factory=dict)
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hubs: set[str] = field(default_factory=set)
    root: str = ""
    written: dict[str, set[str]] = field(default_factory=dict)
    more: int = 0
    more_links: int = 0
    unexplored: int = 0
    rows: tuple[list[EntityRow], list[RelationshipRow]] | None = None
    into: dict[str, str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    edges: dict[str, tuple[str, str]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)

    def skip(self, count: int) -> None:
        """Leave out the first entities, as those of earlier pages."""
        self.answered += len(self.entities[:count])
        self.entities = self.entities[count:]
        if count:
            # They were read from the first entity on, and may end before the page begins.
            self.rows = None

    @property
    def limits(self) -> Limits:
        return self.context.services.limits

    async def start(self) -> None:
        """As of a time, start at the survivor of the requested entity. Now, the first query answers it."""
        if not self.clocks.now:
            _, self.clocks = await as_of.pinned(self.context, [], self.clocks)
            self.into = await as_of.merged(self.context, [self.request.entity_id], self.clocks)
            self._start_at(membership.survivor(self.request.entity_id, self.into))

    def _start_at(self, root: str) -> None:
        self.root = root
        self.depths = {root: 0}
        self.paths = {root: ()}

    def _start_from(self, origin: WalkOrigin) -> None:
        self.origin = origin
        if not self.depths:
            self._start_at(origin[0])

    async def one_step(self, place: WalkPlace) -> None:
        """Read the entities at one step after a place; a hub has any number of them. Of a walk through
        current relationships or as of a time, the counts of what follows include those that have ended."""
        limit, after = self.request.limit, place.entity_id
        leaves_out = self.request.current or not self.clocks.now
        room = max(limit, _CURRENT_ROOM) if leaves_out else limit
        while True:
            row = await self.expand([self.root], after=after, room=room, most=_NO_LIMIT, through=True)
            neighbours = Neighbour.of(row.neighbours)
            await self.add(neighbours, 1)
            self.entities = sorted((1, entity_id) for entity_id, depth in self.depths.items() if depth)
            is_full = len(self.entities) >= limit or len(row.neighbours) == row.total
            if is_full or not leaves_out:
                break
            after = row.neighbours[-1][0]
        self.answered, self.rows = place.answered, None
        for key, ends in self.edges.items():
            self.links.setdefault(next(end for end in ends if end != self.root), []).append(key)
        self.more = row.total - len(row.neighbours)
        self.more_links = row.links - sum(len(neighbour.keys) for neighbour in neighbours)

    async def run(self) -> bool:
        """Walk level by level as far as may be; return false where even the first is too much."""
        if self.is_small:
            small = await self.context.walk(
                "relationship.reach", SmallWalk, edge_types=self.request.relationship_types, **self._small
            )
            if await self._add_levels(small):
                return True
        frontier, left = [self.root], self.limits.walk_relationships
        for depth in range(1, self.request.depth + 1):
            row = await self.expand(
                frontier, after="", room=_NO_LIMIT, most=left, through=depth == 1 or self.request.through_hubs
            )
            if depth == 1 and row.unexplored:
                return False
            self.hubs.update(membership.survivor(hub, self.into) for hub in row.hubs)
            self.unexplored = row.unexplored
            left -= row.spent
            frontier = sorted(await self.add(Neighbour.of(row.neighbours), depth))
            if not frontier or self.unexplored:
                break
        return True

    async def run_with_rows(self) -> bool:
        """Walk one or two levels in one round trip, with the rows of the first page. Returns false where the
        walk is longer, is as of a time, or is not small."""
        if not self.is_small or self.request.depth > _AROUND_DEPTH:
            return False
        row = await self.context.walk(
            "relationship.around", SmallWalk, edge_types=self.request.relationship_types,
            links=self.limits.rows_at_once, limit=self.request.limit,
            include_entities=self.request.include_entities, **self._small,
        )  # fmt: skip
        self.is_small = await self._add_levels(row)
        if row is not None and row.relationships is not None:
            self.rows = row.entities, row.relationships
        return self.is_small

    @property
    def _small(self) -> dict[str, Any]:
        return {
            "origin": self.root,
            "depth": self.request.depth,
            "hub": self.limits.hub_relationships,
            "most": self.limits.walk_at_once,
            **self.request.directions,
        }

    async def _add_levels(self, row: SmallWalk | None) -> bool:
        """Add the entities of a small walk; return false where the walk is not small."""
        if row is None:
            raise answers.no_entity(self.request.entity_id)
        self._start_from(row.origin)
        if row.whole:
            for depth, level in enumerate(row.levels, 1):
                await self.add(Neighbour.of(level), depth)
        return row.whole

    async def expand(self, frontier: list[str], *, after: str, room: int, most: int, through: bool) -> Level:
        """Return the entities one step away from some entities. Raises NotFound: there is none to start
        from."""
        step: dict[str, Any] = {
            "frontier": [member for each in frontier for member in membership.members(each, self.into)],
            "origin": self.root,
            "hub": self.limits.hub_relationships,
            "through": through,
            "most": most,
            "after": after,
            "room": room,
            **self.request.directions,
        }
        types = self.request.relationship_types
        if self.clocks.now:
            row = await self.context.walk("relationship.expand", Level, edge_types=types, **step)
        else:
            row = await self.context.walk(
                "relationship.expand_as_of", Level, edge_types=types, **step, **self.clocks.bounds
            )
        if row is None:
            raise answers.no_entity(self.request.entity_id)
        if row.origin is not None:
            self._start_from(row.origin)
        for key, turns in row.dated:
            known = presence(turns, self.clocks.bounds["at"])
            if known is None or not known[1]:
                self.absent.add(key)
        return row

    async def add(self, neighbours: list[Neighbour], depth: int) -> list[str]:
        """Add the entities that a step reaches; return the ids of those that no earlier step reached."""
        if not self.clocks.now:
            # The survivors as of the clocks, and which of the survivors were deleted.
            ends = {end for _, keys in neighbours for key in keys for end in ids.ends(key)}
            more = await as_of.merged(self.context, ends, self.clocks)
            self.into |= more
            if roots := {membership.survivor(entity_id, more) for entity_id in more}:
                lived, _ = await as_of.pinned(self.context, roots, self.clocks)
                self.dead.update(root for root in roots if not lived.get(root))
        steps_to = await self._steps_to(neighbours)
        fresh: list[str] = []
        for to, steps in sorted(steps_to.items()):
            for near, key in steps:
                self.edges[key] = (near, to)
            if to not in self.depths:
                if checking() and (lost := [key for near, key in steps if near not in self.paths]):
                    raise refused(lost[0])
                self.depths[to] = depth
                self.paths[to] = min([(*self.paths[near], key) for near, key in steps])
                fresh.append(to)
        return fresh

    async def _steps_to(self, neighbours: list[Neighbour]) -> dict[str, list[tuple[str, str]]]:
        """Return for each entity that is reached the steps to it: the entity before, and the relationship."""
        steps_to: dict[str, list[tuple[str, str]]] = {}
        into = self.into
        written: dict[str, set[str]] = {}
        for far_id, keys in neighbours:
            to = membership.survivor(far_id, into)
            if to in self.dead:
                continue
            for key in [key for key in keys if key not in self.absent]:
                near = membership.survivor(
                    next((end for end in ids.ends(key) if end != far_id), far_id), into
                )
                if near != to:
                    shown_key = membership.surviving_key(key, into)
                    steps_to.setdefault(to, []).append((near, shown_key))
                    written.setdefault(shown_key, set()).add(key)
        if self.request.current:
            ended = await current_relationships.ended(self.context, written, self.clocks)
            current = {to: [step for step in steps if step[1] not in ended] for to, steps in steps_to.items()}
            steps_to = {to: steps for to, steps in current.items() if steps}
        if not self.clocks.now:
            for shown_key, keys in written.items():
                self.written.setdefault(shown_key, set()).update(keys)
        return steps_to


async def walk(context: Context, request: WalkRequest, clocks: Clocks, place: WalkPlace) -> Walk:
    # One round trip cannot leave out what has ended.
    is_small = clocks.now and not request.current
    whole = Walk(context=context, request=request, clocks=clocks, root=request.entity_id, is_small=is_small)
    await whole.start()
    if not (place == WalkPlace() and await whole.run_with_rows()):
        if request.depth == 1 and clocks.now and not request.current:
            await whole.one_step(place)
            return whole
        if not await whole.run():
            # The origin alone has more relationships than a walk may read.
            await whole.one_step(place)
            whole.unexplored = place.answered + len(whole.entities) + whole.more
            return whole
    order = sorted((depth, entity_id) for entity_id, depth in whole.depths.items() if depth)
    whole.answered = start = bisect_right(order, (place.depth, place.entity_id))
    whole.entities = order[start:]
    ranks = {entity_id: i for i, (_, entity_id) in enumerate(order)}
    for key, (near, to) in whole.edges.items():
        later = to if ranks.get(to, -1) > ranks.get(near, -1) else near
        if ranks[later] >= start:
            whole.links.setdefault(later, []).append(key)
    return whole
