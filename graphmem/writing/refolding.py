"""Folding what was observed again, from the observations themselves and under the rules of today."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar

from graphmem.model import facts, reduction, times
from graphmem.model.membership import Membership, MergeFact
from graphmem.model.reduction import Observation, Winner
from graphmem.model.rules import Rules
from graphmem.writing.requests import Merging
from graphmem.writing.state import State

STRETCH: Final = 2_000
"""Observations that are read at once."""
LOOP_WORK_LIMIT: Final = 1_000
"""Merge facts and touches that are worked through on the event loop; more go to a thread."""

_Result = TypeVar("_Result")

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
