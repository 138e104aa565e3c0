"""Walking over all entities and relationships of an owner, in stretches that go on from a place."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from graphmem.database.queries import Queries


class Kind(NamedTuple):
    """The entities of a type that are live or not, or the relationships of a type, after a place."""

    is_entity: bool
    type: str
    live: bool = True
    since: int = -(1 << 62)
    after: str = ""

    @property
    def order(self) -> tuple[bool, str, bool]:
        return not self.is_entity, str(self.type), not self.live


class Place(NamedTuple):
    """How far an audit has come: its phase, and in it the kind of subjects, or the source, to go on after."""

    phase: str
    after: Any = ()

    def left(self, kinds: list[Kind]) -> list[Kind]:
        if not self.after:
            return kinds
        first = Kind(*self.after)
        return [first, *(kind for kind in kinds if kind.order > first.order)]


class _Subject(NamedTuple):
    kind: int
    subject_id: str
    since: int
    after: str


def kinds_of(entity_types: Iterable[str], relationship_types: Iterable[str] = ()) -> list[Kind]:
    """Return the kinds of some types in order: entities before relationships, live ones first."""
    kinds = [Kind(True, kind, live) for kind in set(entity_types) for live in (True, False)]
    kinds += [Kind(False, kind) for kind in set(relationship_types)]
    return sorted(kinds, key=lambda kind: kind.order)


async def stretches(
    queries: Queries, kinds: list[Kind], limit: int
) -> AsyncIterator[tuple[dict[str, str], list[Kind]]]:
    """Yield the types of all entities and relationships of some kinds by id, each time with what is left."""
    while kinds:
        subjects = await queries.only(
            "audit.subjects", list[_Subject], kinds=[*map(list, kinds)], limit=limit
        )
        types = {subject.subject_id: kinds[subject.kind].type for subject in subjects}
        if len(subjects) < limit:
            kinds = []
        else:
            last = subjects[-1]
            rest = kinds[last.kind]._replace(since=last.since, after=last.after)
            kinds = [rest, *kinds[last.kind + 1 :]]
        if types:
            yield types, kinds
