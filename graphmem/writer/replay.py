"""Folding what was observed again, from the observations themselves and under the rules of today."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from graphmem.domain import reduction, times
from graphmem.domain.reduction import Observation, Winner
from graphmem.domain.rules import Rules
from graphmem.writer.state import State

STRETCH: Final = 2_000
"""Observations that are read at once."""

Read = Callable[..., Awaitable[list[dict[str, Any]]]]
"""Runs a query of the owner by name, and returns its rows."""


async def fold(
    read: Read, home: str, rules: Rules, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> dict[str, Winner]:
    """Return the fold of one home as of two clocks (microseconds); it is read a stretch at a time."""
    folded: dict[str, Winner] = {}
    start, after, more = times.EARLIEST, "", True
    while more:
        (row,) = await read(
            "entity.replay", home=home, after=after, at=at, at_ingested=at_ingested, limit=STRETCH,
            **{"from": start},
        )  # fmt: skip
        more = row["more"]
        for one in row["observations"]:
            said = _observation(home, one)
            folded = reduction.fold(folded, said, rules)
            start, after = said.observed_at, said.id
    return folded


async def refold(read: Read, state: State, roots: set[str]) -> None:
    """Fold everything that some entities show again under the rules of today; ``state`` has it afterwards."""
    for root in sorted(roots):
        rules = state.rules(state.entities[root].kind)
        for member in state.entities.members(root):
            if member.projection != rules.key:
                folded = await fold(read, member.home, rules)
                state.entities.put(replace(member, fold=folded, projection=rules.key))


def _observation(home: str, row: list[Any]) -> Observation:
    observation_id, kind, observed_at, recorded_at, fields, values, priority, specificity, source = row
    return Observation(
        id=observation_id,
        home=home,
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
