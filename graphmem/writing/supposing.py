"""What an exclusion would change: it is applied to some things in a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from graphmem.database.driver import Database
from graphmem.model import ids, times
from graphmem.writing import forms, refolding
from graphmem.writing import state as states
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.things import Thing
from graphmem.writing.turn_rows import Node
from graphmem.writing.withdrawing import ExclusionRequest
from graphmem.writing.write_requests import Touched


class _Changed(NamedTuple):
    """The row of ``exclusion/suppose.cypher``."""

    changed: list[str]


Sides = tuple[Thing | None, Thing | None]
"""A thing as answers show it now, and as they would show it; ``None`` where they do not."""


@dataclass(frozen=True, slots=True)
class Supposition:
    """Some entities and relationships now, and as an exclusion would leave them."""

    now: State
    then: State

    def entity(self, entity_id: str) -> Sides:
        """Return both sides of an entity that is no member of another."""
        return _listed(self.now, entity_id), _listed(self.then, entity_id)

    def relationship(self, key: str) -> Sides:
        """Return both sides of a relationship: answers show it while it and the entities at its ends live."""
        return _linked(self.now, key), _linked(self.then, key)


def _listed(state: State, entity_id: str) -> Thing | None:
    node = Node.of(state.entities, entity_id, is_entity=True)
    return node.as_listed if node else None


def _linked(state: State, key: str) -> Thing | None:
    node = Node.of(state.relationships, key, is_entity=False)
    if node is None or not node.live or not all(_listed(state, end) for end in ids.ends(key)):
        return None
    return node.view


async def suppose(
    database: Database,
    request: ExclusionRequest,
    entity_ids: Iterable[str],
    relationship_keys: Iterable[str] = (),
) -> Supposition:
    """Return some entities and relationships, with what they are merged with, before and after an exclusion.

    The owner's lock is held meanwhile, and nothing is written.

    Raises:
        StoreRefused: the exclusion would be refused.
        Torn: an entity or a relationship is damaged in the database.
        Unavailable: the database failed.
    """
    touched = Touched(entities=set(entity_ids))
    for key in relationship_keys:
        touched.add_relationship(key)
    request.touch(touched)
    async with database.transaction(request.owner, commit=False) as tx:
        await tx.rows("owner.lock")
        now = states.of_look(await forms.read(touched, tx), request.owner, touched) or states.empty()
        toggles = _toggles(request, now)
        await refolding.refold(tx, now)
        row = await tx.only(
            "exclusion.suppose",
            _Changed,
            subject_id=request.subject,
            toggles=toggles,
            subject_ids=[*now.entities, *now.relationships],
        )
        then = replace(now, entities=now.entities.copy(), relationships=now.relationships.copy())
        for things in (then.entities, then.relationships):
            changed = {each for subject_id in row.changed for each in (subject_id, things.root(subject_id))}
            for thing in filter(None, map(things.get, sorted(changed))):
                things.put(replace(thing, refold=thing.refold + 1))
        await refolding.refold(tx, then)
    return Supposition(now, then)


def _toggles(request: ExclusionRequest, state: State) -> list[int]:
    """Return when the subject is excluded and included again, this exclusion among them."""
    draft = Draft.of(state, request, max(times.now(), state.read.recorded_at + 1))
    request.apply(draft)
    draft.raise_issues()
    return [*state.read.toggles.get(request.subject, ()), draft.recorded_at]
