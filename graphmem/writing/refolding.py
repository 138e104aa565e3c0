"""Folding entities again from their observations, under the rules of today."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from graphmem.model import facts, reduction, times
from graphmem.model.membership import Membership, MergeFact
from graphmem.model.reduction import Observation, Winner
from graphmem.model.rules import Rules
from graphmem.writing.receipt import Receipt
from graphmem.writing.requests import Merging, Touched, WriteRequest
from graphmem.writing.state import State

OBSERVATIONS_PER_READ: Final = 2_000
LOOP_WORK_LIMIT: Final = 1_000
"""Merge facts and touches that are computed on the event loop; more are computed in a thread."""

_Result = TypeVar("_Result")

Read = Callable[..., Awaitable[list[dict[str, Any]]]]
"""Runs a query of one owner by name; returns its rows."""


async def observations(
    read: Read, subject_id: str, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> AsyncIterator[Observation]:
    """Yield the observations of one subject as of two clocks (microseconds), oldest first."""
    start, after, more = times.EARLIEST, "", True
    while more:
        (row,) = await read(
            "entity.replay", subject_id=subject_id, after=after, at=at, at_ingested=at_ingested,
            limit=OBSERVATIONS_PER_READ,
            **{"from": start},
        )  # fmt: skip
        more = row["more"]
        for columns in row["observations"]:
            observation = _observation(subject_id, *columns)
            start, after = observation.observed_at, observation.id
            yield observation


async def fold(
    read: Read, subject_id: str, rules: Rules, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> dict[str, Winner]:
    """Return the fold of one subject as of two clocks (microseconds)."""
    folded: dict[str, Winner] = {}
    async for observation in observations(read, subject_id, at, at_ingested):
        folded = reduction.fold(folded, observation, rules)
    return folded


async def membership(read: Read, entity_ids: list[str], at_ingested: int = times.LATEST) -> Membership:
    """Return the membership of all entities that were ever merged with some, as it was known at a time."""
    (row,) = await read("entity.merges", entity_ids=entity_ids, at_ingested=at_ingested)
    merge_facts = []
    for subject_id, at, recorded_at, observation_id, kind, names, values in row["facts"]:
        into = facts.target(kind, dict(zip(names, values, strict=True)))
        merge_facts.append(MergeFact(subject_id, at, recorded_at, observation_id, into))
    return Membership.of(merge_facts, row["entities"])


async def changes(
    read: Read,
    merges: Membership,
    entity_ids: Iterable[str],
    at: int = times.LATEST,
    at_ingested: int = times.LATEST,
) -> dict[str, set[int]]:
    """Return when transactions changed what each of some entities shows, as of two clocks (microseconds).

    The touches of their members alone are read.
    """
    entity_ids = list(entity_ids)
    if not entity_ids:
        return {}
    members = await _off_loop(
        len(merges.facts),
        lambda: sorted({member for entity_id in entity_ids for member in merges.member_ids(entity_id, at)}),
    )
    (row,) = await read("entity.touches", entity_ids=members, at_ingested=at_ingested)

    def compute() -> dict[str, set[int]]:
        touches = {subject_id: tuple(sorted(map(tuple, touched))) for subject_id, touched in row["touches"]}
        return {entity_id: merges.changes(entity_id, touches, at, at_ingested) for entity_id in entity_ids}

    return await _off_loop(len(merges.facts) + sum(len(touched) for _, touched in row["touches"]), compute)


async def _off_loop(work: int, compute: Callable[[], _Result]) -> _Result:
    """Compute something, in a thread where it would hold up the event loop."""
    return compute() if work <= LOOP_WORK_LIMIT else await asyncio.to_thread(compute)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefoldRequest(WriteRequest):
    """Entities to fold again where their rules have changed; every turn does so with what it reads."""

    entity_ids: tuple[str, ...]

    @property
    def writes_facts(self) -> bool:
        """False: it changes what is derived alone."""
        return False

    def touch(self, touched: Touched) -> None:
        """Add the entities."""
        touched.entities.update(self.entity_ids)

    def decide(self, state: State, clock: int) -> Receipt:
        """Return an empty receipt: the entities of the state are folded already."""
        return Receipt(self.transaction_id, state.recorded_at)


async def refold(read: Read, state: State, survivor_ids: set[str]) -> None:
    """Fold some survivors and their members again under the rules of today, in the state."""
    for survivor_id in sorted(survivor_ids):
        await _refold_members(read, state, survivor_id, state.rules(state.entities[survivor_id].kind))


async def refold_moved(read: Read, state: State, merging: Merging) -> None:
    """Fold what a merge, or its end, moves, under the rules of its new survivor's type."""
    source, target = state.entities.get(merging.source), state.entities.get(merging.target or "")
    if source is None or (merging.kind == "merge" and target is None):
        return
    survivor = target if merging.kind == "merge" and target else source
    await _refold_members(read, state, source.subject_id, state.rules(survivor.kind))


async def _refold_members(read: Read, state: State, subject_id: str, rules: Rules) -> None:
    """Fold those members of an entity again that were folded under other rules."""
    for member in state.entities.members(subject_id):
        if member.projection != rules.key:
            folded = await fold(read, member.subject_id, rules)
            state.entities.put(replace(member, fold=folded, projection=rules.key))


def _observation(
    subject_id: str, observation_id: str, kind: facts.Kind, observed_at: int, recorded_at: int,
    fields: list[str], values: list[str], priority: float, specificity: float, source: str,
) -> Observation:  # fmt: skip
    """Return an observation from an item of ``entity.replay``."""
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
