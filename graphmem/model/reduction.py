"""Reduction: from observations to a snapshot.

For each field, the winner among the observations that carry it is the greatest by (rank, id); see
:mod:`graphmem.model.ranks`. A winning null clears the field: it stays in the fold, so that an older
value cannot come back, and is absent from the snapshot. Which order a field has, which fields are shown
and how their values convert is said by the :class:`~graphmem.model.rules.Rules` of the type.

What is merged is folded apart: the snapshot of a survivor is the field-wise greatest over its members
(:func:`together`).

Whether an entity or a relationship lives is decided apart from its values, by its newest lifecycle
observation (:data:`~graphmem.model.facts.LIFECYCLE_KINDS`): no value ever revives what was deleted.

The current snapshot is folded forward from the one before it (:func:`fold`), so that a write does not
pay for history. The snapshot of another time is reduced in the database from the observations
themselves (``cypher/entity/recompute.cypher``). Both give the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.model import arrays, canonical, facts, ranks
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.rules import PLAIN, Rules


class Winner(NamedTuple):
    """What holds one field: the order of its parts is the order in which winners are compared."""

    rank: str
    observation_id: str
    value: str


Fold = Mapping[str, Winner]
"""The winner of each field, by field name."""


class Turn(NamedTuple):
    """The lifecycle observation that decides: the greatest, by time and id, whatever arrived when."""

    rank: str
    observation_id: str
    kind: facts.Kind


@dataclass(frozen=True, slots=True)
class Observation:
    """One immutable fact: what was said of one home (an entity, or a relationship) at one time.

    ``observed_at`` and ``recorded_at`` are microseconds; ``fields`` holds canonical JSON by field name.
    """

    id: str
    subject_id: str
    entity_type: str
    kind: facts.Kind
    observed_at: int
    recorded_at: int
    fields: Mapping[str, str]
    transaction_id: str
    priority: float = 100.0
    specificity: float = 1.0
    observation_source: str = "llm_summary"
    agent: str = "anonymous"
    source_id: str | None = None
    interpretation_id: str | None = None
    basis: str | None = None
    shapes: Mapping[str, str | None] = field(default_factory=dict)

    def claim(self, name: str, value: str, rules: Rules) -> Winner:
        """Return what this observation holds up for a field; ``value`` is what a snapshot would show."""
        policy, correction = rules.policy(name), self.kind == "correction"
        if policy == "merge_array":
            held = arrays.said(
                self.id, value, correction=correction, observed_at=self.observed_at, priority=self.priority
            )
            return Winner(*held)
        rank = ranks.rank(
            policy,
            correction=correction,
            observed_at=self.observed_at,
            priority=self.priority,
            specificity=self.specificity,
            observation_source=self.observation_source,
            sources=rules.sources,
        )
        return Winner(rank, self.id, value)


def fold(known: Fold, observation: Observation, rules: Rules = PLAIN) -> dict[str, Winner]:
    """Return the fold of everything in ``known`` and one observation more, in any order of arrival."""
    folded = dict(known)
    if observation.kind not in facts.VALUE_KINDS:
        return folded
    for name, given in observation.fields.items():
        value = rules.value(name, given) if rules.shows(name) else None
        if value is not None:
            folded[name] = greatest(folded.get(name), observation.claim(name, value, rules))
    return folded


def greatest(holder: Winner | None, challenger: Winner) -> Winner:
    """Return which of two holds a field, or what they hold together where the field is a union."""
    if holder is None:
        return challenger
    if arrays.is_union(holder.rank):
        return Winner(*arrays.union(holder, challenger))
    return max(holder, challenger)


def together(folds: Iterable[Fold]) -> dict[str, Winner]:
    """Return the fold of a survivor from those of its members, itself among them, under the same rules."""
    found: dict[str, Winner] = {}
    for one in folds:
        for name, winner in one.items():
            found[name] = greatest(found.get(name), winner)
    return found


def turned(known: Turn | None, observation: Observation) -> Turn | None:
    """Return what decides whether a home lives, after one observation more."""
    if observation.kind not in facts.LIFECYCLE_KINDS:
        return known
    turn = Turn(ranks.time_rank(observation.observed_at), observation.id, observation.kind)
    return turn if known is None or turn > known else known


class Stale(Exception):
    """Some entities were folded under other rules than those of today: they must be folded again first."""

    def __init__(self, entity_ids: list[str]) -> None:
        super().__init__()
        self.entity_ids = entity_ids


class Torn(Exception):
    """What was read of one thing is of two moments: a commit fell between. Reading again helps."""


def check(
    version: int, fields: list[str], values: list[str], winners: list[str], own: str | None = None
) -> int:
    """Return the checksum (CRC-32) that a thing carries over its version and the lists of its snapshot.

    The database reads a node's properties one by one, and a commit may fall between two of them.
    """
    text = "\x1f".join(
        (str(version), *("\x1e".join(one) for one in (fields, values, winners)), *filter(None, [own]))
    )
    return zlib.crc32(text.encode())


def shown(folded: Fold, without: str | None = CANONICAL_NAME) -> list[tuple[str, Winner]]:
    """Return the fields of a snapshot in canonical order: neither nulls nor the canonical name.

    Args:
        without: the canonical name of an entity is no field; a relationship has none.
    """
    return [
        (name, folded[name])
        for name in sorted(folded, key=canonical.name_order)
        if name != without and folded[name].value != "null"
    ]
