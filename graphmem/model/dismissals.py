"""Dismissals: facts that say of two entities that they are two, and their ends.

The newest dismissal of a pair decides. A pair that is dismissed is no duplicate: nothing proposes it.
"""

from typing import Literal, NamedTuple

DismissalKind = Literal["dismiss", "undo"]
Pair = tuple[str, str]  # the ids of two entities, the lesser first


class DatedDismissal(NamedTuple):
    """Two entities are two from ``recorded_at`` (microseconds) on, or (``undo``) may be one again."""

    id: str
    kind: DismissalKind
    entity_a: str
    entity_b: str
    recorded_at: int


def pair_of(entity_id: str, other_id: str) -> Pair:
    return (entity_id, other_id) if entity_id <= other_id else (other_id, entity_id)
