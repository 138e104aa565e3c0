"""The rows of the queries of a walk."""

from __future__ import annotations

from typing import NamedTuple

from graphmem.database.left_out import each_sound
from graphmem.model import ids
from graphmem.reading.shared_rows import EntityRow, RelationshipRow
from graphmem.reading.tallies import Tally


class WalkOrigin(NamedTuple):
    """The entity that a walk starts from: the survivor of the requested one."""

    id: str
    type: str
    name: str
    version: int


class DatedEdge(NamedTuple):
    """A relationship whose dates say when it was there."""

    key: str
    turns: list[Tally]


class Level(NamedTuple):
    """The row of ``relationship/expand.cypher`` and, without an ``origin``, of ``expand_as_of``.

    Each list of ``neighbours`` is for :class:`Neighbour`; as of a time, some of their relationships are
    ``dated``.
    """

    origin: WalkOrigin | None
    neighbours: list[list[str]]
    total: int
    links: int
    hubs: list[str]
    spent: int
    unexplored: int
    revision: int
    dated: list[DatedEdge]


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


class WalkRows(NamedTuple):
    """The rows of the first entities of a walk, as many as fit, and of the relationships between them."""

    entities: list[EntityRow]
    relationships: list[RelationshipRow]


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
