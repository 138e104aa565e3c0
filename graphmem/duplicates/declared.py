"""The fields that a schema declares for the detection of duplicates, where they are no usual ones.

Each such field is a kind of its own: ``~label`` for a text, which may have slips, and ``=vintage`` for a
number, a date or a truth value. The usual fields, such as an e-mail address, keep their kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from graphmem.duplicates.persons import SIMILARITIES, SimilarityReason, Values, compare_texts, read_place
from graphmem.model.identity import fold_text

READ: Final[dict[str, Callable[[str], str]]] = {"~": read_place, "=": fold_text}
"""How values are compared, by the first character of the kind."""
EVIDENCE: Final = {("~", "equal"): 0.95, ("~", "near"): 0.8, ("=", "equal"): 0.6}
DIFFERENT_LIMIT: Final = 0.84
"""The highest score of a pair that differs in a declared field: below the default threshold."""


def compare(
    a: Mapping[str, Values], b: Mapping[str, Values], reasons: list[SimilarityReason], doubts: list[float]
) -> float:
    """Add the evidence of declared fields; return the highest score that they allow."""
    limit = 1.0
    for kind in sorted(a.keys() & b.keys()):
        if kind[0] not in READ:
            continue
        common = a[kind].keys() & b[kind].keys()
        first = second = min(common) if common else ""
        agreement = "equal"
        if not common:
            first, second = min(a[kind]), min(b[kind])
            agreement = compare_texts(first, second) if kind[0] == "~" else "different"
        reasons.append(
            SimilarityReason(kind[1:], a[kind][first][1], b[kind][second][1], SIMILARITIES[agreement])
        )
        if agreement == "different":
            limit = DIFFERENT_LIMIT
        else:
            doubts.append(1.0 - EVIDENCE[kind[0], agreement])
    return limit
