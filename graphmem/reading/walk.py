"""A walk through relationships: breadth first, bounded, and resumed by a cursor.

A small walk takes one round trip, any other one a level.

Entities come nearest first, then by id; a relationship comes with the later of its two ends. A walk of one
step is resumed where it stopped; a longer one is walked again as far as it may go, which its bound makes
cheap, and what was answered before is skipped. So pages tile while nothing is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, LiteralString

from graphmem.model import ids, membership
from graphmem.reading import answers, as_of
from graphmem.reading.as_of import Clocks
from graphmem.registry import Context

_NO_LIMIT = 2**31 - 2
"""More rows than there are. The database slices lists by 32 bits."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a walk. ``limit`` bounds the entities of a walk of one step."""

    entity_id: str
    relationship_types: frozenset[str]
    depth: int
    direction: str
    through_hubs: bool
    limit: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk continues: after this entity. ``answered`` counts the entities of earlier pages."""

    depth: int = 0
    entity_id: str = ""
    answered: int = 0


@dataclass(slots=True)
class Reached:
    """What a walk comes to from a place on.

    ``entities`` are (depth, id) in order, ``limit`` at most of a walk of one step; ``links`` the keys that
    come with each, ``more`` and ``more_links`` count what follows these. ``unexplored`` counts the entities
    whose relationships the bound left out. ``paths`` holds the keys of one shortest path to each: the
    smallest, key by key. ``origin`` is the type, name and version of where it started, ``None`` as of a
    time; ``root`` is its id; ``clocks`` are those that further queries of the answer must use. ``written``
    holds, as of a time, the keys under which each relationship was written.
    """

    origin: tuple[str, str, int] | None
    clocks: Clocks
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


async def walk(context: Context, asked: Asked, clocks: Clocks, place: Place) -> Reached:
    """Walk from a place on.

    Raises:
        NotFound: there is no such entity.
    """
    whole = _Walk(context, asked, clocks)
    await whole.start()
    if asked.depth == 1 and clocks.now:
        return await _one_step(whole, place)
    if not await whole.run():
        # The origin alone is more than a walk may look at.
        found = await _one_step(whole, place)
        found.unexplored = place.answered + len(found.entities) + found.more
        return found
    order = sorted((depth, entity_id) for entity_id, depth in whole.depths.items() if depth)
    start = bisect_right(order, (place.depth, place.entity_id))
    found = Reached(whole.origin, whole.clocks, start, order[start:])
    found.hubs, found.unexplored, found.paths = whole.hubs, whole.unexplored, whole.paths
    found.root, found.written = whole.root, whole.written
    ranks = {entity_id: i for i, (_, entity_id) in enumerate(order)}
    for key, ends in whole.edges.items():
        later = max(ends, key=lambda end: ranks.get(end, -1))
        if ranks[later] >= start:
            found.links.setdefault(later, []).append(key)
    return found


async def _one_step(whole: _Walk, place: Place) -> Reached:
    """Return the entities at one step after a place; a hub has any number of them."""
    asked = whole.asked
    row = await whole.expand(
        [whole.root], after=place.entity_id, room=asked.limit, most=_NO_LIMIT, through=True
    )
    await whole.note(row["neighbours"], 1)
    entities = sorted((1, entity_id) for entity_id, depth in whole.depths.items() if depth)
    found = Reached(whole.origin, whole.clocks, place.answered, entities, paths=whole.paths)
    found.root, found.written = whole.root, whole.written
    for key, ends in whole.edges.items():
        found.links.setdefault(next(end for end in ends if end != whole.root), []).append(key)
    found.more = row["total"] - len(row["neighbours"])
    found.more_links = row["links"] - sum(len(one) - 1 for one in row["neighbours"])
    return found


class _Walk:
    """What was walked so far; ``edges`` holds the two ends of each relationship by the key it is shown under.

    As of a time, ``into`` is what was merged into what, ``dead`` what showed others and was deleted, and
    ``written`` the keys under which each relationship was written.
    """

    def __init__(self, context: Context, asked: Asked, clocks: Clocks) -> None:
        self.context = context
        self.limits = context.services.limits
        self.asked = asked
        self.clocks = clocks
        self.origin: tuple[str, str, int] | None = None
        self.root = asked.entity_id
        self.into: dict[str, str] = {}
        self.depths: dict[str, int] = {}
        self.edges: dict[str, tuple[str, str]] = {}
        self.paths: dict[str, tuple[str, ...]] = {}
        self.hubs: set[str] = set()
        self.dead: set[str] = set()
        self.written: dict[str, set[str]] = {}
        self.unexplored = 0

    async def start(self) -> None:
        """Find what showed the entity to start from, as of the clocks."""
        if not self.clocks.now:
            _, self.clocks = await as_of.pinned(self.context, [], self.clocks)
            self.into = await as_of.merged(self.context, [self.asked.entity_id], self.clocks)
            self._start_at(membership.survivor(self.asked.entity_id, self.into))

    def _start_at(self, root: str) -> None:
        self.root = root
        self.depths = {root: 0}
        self.paths = {root: ()}

    async def run(self) -> bool:
        """Walk level by level as far as may be; return false where even the first is too much."""
        if self.clocks.now and await self._run_at_once():
            return True
        frontier, left = [self.root], self.limits.walk_relationships
        for depth in range(1, self.asked.depth + 1):
            row = await self.expand(
                frontier, after="", room=_NO_LIMIT, most=left, through=depth == 1 or self.asked.through_hubs
            )
            if depth == 1 and row["unexplored"]:
                return False
            self.hubs.update(membership.survivor(one, self.into) for one in row["hubs"])
            self.unexplored = row["unexplored"]
            left -= row["spent"]
            frontier = sorted(await self.note(row["neighbours"], depth))
            if not frontier or self.unexplored:
                break
        return True

    async def _run_at_once(self) -> bool:
        """Walk all levels in one round trip; return false where the walk is not small."""
        row = await self._asked(
            "relationship.reach",
            origin=self.root,
            outgoing=self.asked.direction != "incoming",
            incoming=self.asked.direction != "outgoing",
            depth=self.asked.depth,
            hub=self.limits.hub_relationships,
            most=self.limits.walk_at_once,
        )
        if row["whole"]:
            for depth, found in enumerate(row["levels"], 1):
                await self.note(found, depth)
        return row["whole"]

    async def expand(
        self, frontier: list[str], *, after: str, room: int, most: int, through: bool
    ) -> dict[str, Any]:
        """Return what is one step away from some entities.

        Raises:
            NotFound: there is no entity to start from.
        """
        step: dict[str, Any] = {
            "frontier": [subject_id for one in frontier for subject_id in membership.members(one, self.into)],
            "origin": self.root,
            "outgoing": self.asked.direction != "incoming",
            "incoming": self.asked.direction != "outgoing",
            "hub": self.limits.hub_relationships,
            "through": through,
            "most": most,
            "after": after,
            "room": room,
        }
        if self.clocks.now:
            return await self._asked("relationship.expand", **step)
        return await self._asked("relationship.expand_as_of", **step, **self.clocks.bounds)

    async def _asked(self, query: LiteralString, **params: Any) -> dict[str, Any]:
        """Run a query of the walk.

        Raises:
            NotFound: there is no entity to start from.
        """
        row = await self.context.walk(query, edge_types=self.asked.relationship_types or None, **params)
        if row is None:
            missing = self.asked.entity_id
            raise answers.no_entity(missing)
        if self.clocks.now:
            self.origin = (row["origin"][1], row["origin"][2], row["origin"][3])
            if not self.depths:
                self._start_at(row["origin"][0])
        return row

    async def note(self, found: Iterable[list[str]], depth: int) -> list[str]:
        """Take in what a step found: an id with the keys that lead to it, each; return what is new."""
        rows = list(found)
        await self._resolve({end for _, *keys in rows for key in keys for end in ids.ends(key)})
        fresh: list[str] = []
        ways: dict[str, list[tuple[str, str]]] = {}
        for far, *keys in rows:
            to = membership.survivor(far, self.into)
            for key in keys:
                near = membership.survivor(self._near(key, far), self.into)
                if near != to and to not in self.dead:
                    ways.setdefault(to, []).append((near, membership.surviving_key(key, self.into)))
                    self.written.setdefault(membership.surviving_key(key, self.into), set()).add(key)
        for to, steps in sorted(ways.items()):
            self.edges.update((key, (near, to)) for near, key in steps)
            if to not in self.depths:
                self.depths[to] = depth
                self.paths[to] = min((*self.paths[near], key) for near, key in steps)
                fresh.append(to)
        return fresh

    async def _resolve(self, entity_ids: set[str]) -> None:
        """Learn what shows some entities as of the clocks, and which of those were deleted."""
        more = await as_of.merged(self.context, entity_ids, self.clocks)
        self.into |= more
        roots = {membership.survivor(one, more) for one in more}
        if roots:
            lived = await as_of.living(self.context, roots, self.clocks)
            self.dead.update(one for one in roots if not lived.get(one))

    @staticmethod
    def _near(key: str, far: str) -> str:
        """Return the entity from which a relationship led to ``far``."""
        source, target = ids.ends(key)
        return target if source == far else source
