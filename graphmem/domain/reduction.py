"""Reduction: from observations to a snapshot.

For each field, the winner among the observations that carry it is the greatest by (rank, id); see
:mod:`graphmem.domain.ranks`. A winning null clears the field: it stays in the fold, so that an older
value cannot come back, and is absent from the snapshot.

Whether an entity or a relationship lives is decided apart from its values, by its newest lifecycle
observation (:data:`LIFECYCLE`): no value ever revives what was deleted.

The current snapshot is folded forward from the one before it (:func:`fold`), so that a write does not
pay for history. The snapshot of another time is reduced in the database from the observations
themselves (``cypher/entity/recompute.cypher``). Both give the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.domain import canonical, ranks
from graphmem.domain.identity import CANONICAL_NAME


class Winner(NamedTuple):
    """What holds one field: the order of its parts is the order in which winners are compared."""

    rank: str
    observation_id: str
    value: str


Fold = Mapping[str, Winner]
"""The winner of each field, by field name."""

LIFECYCLE = frozenset({"create", "delete", "restore"})
"""The kinds of observation that decide whether their home lives; ``delete`` alone ends it."""

SAYING = frozenset({"value", "correction", "create"})
"""The kinds of observation whose fields are values of their home; those of others say why."""


class Turn(NamedTuple):
    """The lifecycle observation that decides: the greatest, by time and id, whatever arrived when."""

    rank: str
    observation_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One immutable fact: what was said of one home (an entity, or a relationship) at one time.

    ``observed_at`` and ``recorded_at`` are microseconds; ``fields`` holds canonical JSON by field name.
    """

    id: str
    home: str
    entity_type: str
    kind: str
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

    def rank(self, policy: ranks.Policy = "last_write") -> str:
        """Return this observation's rank for a field under a merge policy."""
        return ranks.rank(
            policy,
            correction=self.kind == "correction",
            observed_at=self.observed_at,
            priority=self.priority,
            specificity=self.specificity,
            observation_source=self.observation_source,
        )


def fold(known: Fold, observation: Observation) -> dict[str, Winner]:
    """Return the fold of everything in ``known`` and one observation more, in any order of arrival."""
    folded = dict(known)
    if observation.kind not in SAYING:
        return folded
    rank = observation.rank()
    for name, value in observation.fields.items():
        challenger = Winner(rank, observation.id, value)
        holder = folded.get(name)
        if holder is None or challenger > holder:
            folded[name] = challenger
    return folded


def turned(known: Turn | None, observation: Observation) -> Turn | None:
    """Return what decides whether a home lives, after one observation more."""
    if observation.kind not in LIFECYCLE:
        return known
    turn = Turn(ranks.time_rank(observation.observed_at), observation.id, observation.kind)
    return turn if known is None or turn > known else known


class Torn(Exception):
    """What was read of one thing is of two moments: a commit fell between. Reading again helps."""


def check(version: int, *lists: list[str]) -> int:
    """Return the checksum (CRC-32) that a thing carries over its version and the lists of its snapshot.

    The database reads a node's properties one by one, and a commit may fall between two of them.
    """
    text = "\x1f".join((str(version), *("\x1e".join(one) for one in lists)))
    return zlib.crc32(text.encode())


def shown(folded: Fold) -> list[tuple[str, Winner]]:
    """Return the fields of a snapshot in canonical order: neither nulls nor the canonical name."""
    return [
        (name, folded[name])
        for name in sorted(folded, key=canonical.name_order)
        if name != CANONICAL_NAME and folded[name].value != "null"
    ]
