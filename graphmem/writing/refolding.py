"""Folding what was observed again, from the observations themselves and under the rules of today."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from graphmem.model import canonical, reduction, times
from graphmem.model.merges import MergeFact, Merges
from graphmem.model.reduction import Observation, Winner
from graphmem.model.rules import Rules
from graphmem.writing.requests import Merging
from graphmem.writing.state import State

STRETCH: Final = 2_000
"""Observations that are read at once."""

Read = Callable[..., Awaitable[list[dict[str, Any]]]]
"""Runs a query of the owner by name, and returns its rows."""


async def observations(
    read: Read, subject_id: str, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> AsyncIterator[Observation]:
    """Yield what was said of one home as of two clocks (microseconds), oldest first."""
    start, after, more = times.EARLIEST, "", True
    while more:
        (row,) = await read(
            "entity.replay", subject_id=subject_id, after=after, at=at, at_ingested=at_ingested,
            limit=STRETCH,
            **{"from": start},
        )  # fmt: skip
        more = row["more"]
        for one in row["observations"]:
            said = _observation(subject_id, one)
            start, after = said.observed_at, said.id
            yield said


async def fold(
    read: Read, subject_id: str, rules: Rules, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> dict[str, Winner]:
    """Return the fold of one home as of two clocks (microseconds)."""
    folded: dict[str, Winner] = {}
    async for said in observations(read, subject_id, at, at_ingested):
        folded = reduction.fold(folded, said, rules)
    return folded


async def merges(read: Read, entity_ids: list[str], at_ingested: int = times.LATEST) -> Merges:
    """Return every merge among entities that were ever merged with some, as it was known at a time."""
    (row,) = await read("entity.merges", entity_ids=entity_ids, at_ingested=at_ingested)
    facts = [
        MergeFact(
            subject_id, at, recorded_at, observation_id, canonical.decode(into) if kind == "merge" else None
        )
        for subject_id, at, recorded_at, observation_id, kind, into in row["facts"]
    ]
    touches = {
        subject_id: tuple((recorded, at) for recorded, at in touched)
        for subject_id, touched in row["touches"]
    }
    return Merges.of(facts, touches)


async def refold(read: Read, state: State, roots: set[str]) -> None:
    """Fold everything that some entities show again under the rules of today; ``state`` has it afterwards."""
    for root in sorted(roots):
        await _refolded(read, state, root, state.rules(state.entities[root].kind))


async def refold_moved(read: Read, state: State, merging: Merging) -> None:
    """Fold what a merge, or its end, moves under the rules of the type that will show it."""
    source, target = state.entities.get(merging.source), state.entities.get(merging.target or "")
    if source is None or (merging.kind == "merge" and target is None):
        return
    shows = target if merging.kind == "merge" and target else source
    await _refolded(read, state, source.subject_id, state.rules(shows.kind))


async def _refolded(read: Read, state: State, subject_id: str, rules: Rules) -> None:
    """Fold an entity, and what is merged into it, under some rules where they were folded under others."""
    for member in state.entities.members(subject_id):
        if member.projection != rules.key:
            folded = await fold(read, member.subject_id, rules)
            state.entities.put(replace(member, fold=folded, projection=rules.key))


def _observation(subject_id: str, row: list[Any]) -> Observation:
    observation_id, kind, observed_at, recorded_at, fields, values, priority, specificity, source = row
    return Observation(
        id=observation_id,
        subject_id=subject_id,
        entity_type="",
        kind=kind,
        observed_at=observed_at,
        recorded_at=recorded_at,
        fields=dict(zip(fields, values, strict=True)),
        transaction_id="",
        priority=priority,
        specificity=specificity,
        observation_source=source,
    )
