"""The order of what one request observes at one time: of two values of a field, the later one wins.

The ids of observations decide between equal times. An observation that contradicts an earlier one of its
request takes a greater id, if its own is not greater: so its place is part of what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.model import facts, ids
from graphmem.model.links import Part


class _Claims(NamedTuple):
    """Of one field: value and id of the greatest observation, and the greatest id of another value."""

    value: str
    observation_id: str
    other_id: str = ""


@dataclass(slots=True)
class RequestOrder:
    """The observations of one request that have a time of their own, in the order of the request."""

    _claims: dict[tuple[str, int, facts.Kind], dict[str, _Claims]] = field(default_factory=dict)

    def next_id(self, part: Part, subject_id: str, unplaced: str) -> str:
        """Return the id of the observation that the next part makes; ``unplaced``: without a place."""
        if part.observed_at is None or part.kind not in facts.VALUE_KINDS:
            return unplaced
        claims = self._claims.setdefault((subject_id, part.observed_at, part.kind), {})
        known = [(claims[name], value) for name, value in part.fields.items() if name in claims]
        earlier = max(
            (each.observation_id if each.value != value else each.other_id for each, value in known),
            default="",
        )
        observation_id = ids.placed_observation_id(unplaced, earlier) if unplaced < earlier else unplaced
        for name, value in part.fields.items():
            claims[name] = _next(claims.get(name), value, observation_id)
        return observation_id


def _next(claims: _Claims | None, value: str, observation_id: str) -> _Claims:
    if claims is None:
        return _Claims(value, observation_id)
    if claims.value == value:
        return claims._replace(observation_id=max(claims.observation_id, observation_id))
    return _Claims(value, observation_id, claims.observation_id)
