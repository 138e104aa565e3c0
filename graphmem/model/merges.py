"""Which entity shows which, at any time and as it was known at any time.

A merge holds from the time that it was made until the unmerge that ended it, on both clocks. The newest of
the visible facts of one entity decides whether it is merged, and into what. Where two histories were made one
by a restore, a merge may name what is shown by its own source by then: it has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.model import times


class MergeFact(NamedTuple):
    """A merge of ``home`` ``into`` another entity, or (``into`` ``None``) its end; times are microseconds."""

    subject_id: str
    at: int
    recorded_at: int
    observation_id: str
    into: str | None


@dataclass(frozen=True, slots=True)
class Merges:
    """The merge facts among some entities."""

    facts: tuple[MergeFact, ...] = ()
    touches: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """When each entity was touched: (recorded_at, observed_at) of each transaction."""

    @classmethod
    def of(cls, facts: Iterable[MergeFact], touches: Mapping[str, tuple[tuple[int, int], ...]]) -> Merges:
        """Return the merges that some facts, in any order, come to."""
        return cls(tuple(sorted(facts, key=lambda fact: (fact.at, fact.observation_id))), touches)

    def into(self, at: int = times.LATEST, at_ingested: int = times.LATEST) -> dict[str, str]:
        """Return what each merged entity is merged into, as of two clocks."""
        found: dict[str, str] = {}
        for fact in self.facts:
            if fact.at <= at and fact.recorded_at <= at_ingested:
                if fact.into is None:
                    found.pop(fact.subject_id, None)
                elif root(fact.into, found) != fact.subject_id:
                    found[fact.subject_id] = fact.into
        return found

    def version(self, entity_id: str, at: int = times.LATEST, at_ingested: int = times.LATEST) -> int:
        """Return how many transactions, up to two clocks, changed what an entity shows."""
        return len(self.changes(entity_id, at, at_ingested))

    def changes(
        self, entity_id: str, at: int = times.LATEST, at_ingested: int = times.LATEST
    ) -> frozenset[int]:
        """Return when transactions, up to two clocks, changed what an entity shows."""
        changed = {recorded for recorded, observed in self.touches.get(entity_id, ()) if observed <= at}
        # What shows an entity changes only where one of the facts was recorded.
        moments = sorted({fact.recorded_at for fact in self.facts})
        spans = [self.into(at, moment) for moment in moments]
        for subject_id, touched in self.touches.items():
            for recorded, observed in touched if subject_id != entity_id else ():
                if observed > at or recorded > at_ingested:
                    continue
                before = [into for moment, into in zip(moments, spans, strict=True) if moment < recorded]
                after = [into for moment, into in zip(moments, spans, strict=True) if moment <= recorded]
                if entity_id in {root(subject_id, known[-1] if known else {}) for known in (before, after)}:
                    changed.add(recorded)
        return frozenset(recorded for recorded in changed if recorded <= at_ingested)


def root(entity_id: str, into: Mapping[str, str]) -> str:
    """Return what shows an entity in the end."""
    while entity_id in into:
        entity_id = into[entity_id]
    return entity_id


def members(entity_id: str, into: Mapping[str, str]) -> list[str]:
    """Return an entity and all that it shows, itself first."""
    return [entity_id, *sorted(subject_id for subject_id in into if root(subject_id, into) == entity_id)]
