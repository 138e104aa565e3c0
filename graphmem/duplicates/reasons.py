"""Why two entities are likely duplicates, or are not."""

from __future__ import annotations

from typing import NamedTuple


class SimilarityReason(NamedTuple):
    """One comparison: the two values as stored, and their similarity."""

    field: str
    a: str
    b: str
    similarity: float
