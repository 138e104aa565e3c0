"""The relationship vocabulary: 26 types, in one canonical spelling, UPPER_SNAKE.

Any case goes in; the canonical spelling comes out and stands in keys and edges.
"""

from __future__ import annotations

import difflib
import re

VOCABULARY = frozenset({
    "ACQUIRED_BY", "COMPETITOR_OF", "CONTRACTED_WITH", "CORRECTS", "CREATED_BY", "DEPENDS_ON",
    "DUPLICATE_OF", "EMBEDS", "FUNDED_BY", "INVESTED_IN", "LOCATED_AT", "MANAGES", "MEMBER_OF", "OWNS",
    "PARTNER_OF", "PART_OF", "REFERENCES", "REFERS_TO", "RELATED_TO", "REPORTS_TO", "SETTLES",
    "SUBSIDIARY_OF", "SUPERSEDES", "SUPPLIES_TO", "TRANSACTED_WITH", "WORKS_AT",
})  # fmt: skip


class UnknownRelationshipType(ValueError):
    """A relationship type is not in the vocabulary; ``nearest`` is the likeliest meant, if any."""

    def __init__(self, given: str, nearest: str | None) -> None:
        meant = f"; did you mean {nearest}?" if nearest else ""
        super().__init__(f"unknown relationship type {given[:80]!r}{meant}")
        self.nearest = nearest


def normalise(relationship_type: str) -> str:
    """Return the canonical spelling of a relationship type: ``works-at`` is ``WORKS_AT``.

    Raises:
        UnknownRelationshipType: it is not in the vocabulary.
    """
    spelled = re.sub(r"[\s-]+", "_", relationship_type.strip().upper())
    if spelled in VOCABULARY:
        return spelled
    near = difflib.get_close_matches(spelled[:64], sorted(VOCABULARY), n=1, cutoff=0.4)
    raise UnknownRelationshipType(relationship_type, near[0] if near else None)
