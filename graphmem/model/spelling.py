"""Near spellings: which known name a caller probably meant. They serve messages and warnings only.

Names are near if they differ by one edit, or by two if both have eight characters or more. An edit inserts,
deletes or replaces one character, or swaps two neighbours. Near names have the same first letter and the same
digits: ``line_1`` is no misspelling of ``line_2``. In names of four characters or fewer no character may be
replaced: ``city`` is no misspelling of ``cite``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SHORTEST: Final = 3
"""Characters of the shortest name that has near ones."""
_LONG: Final = 8
"""Characters from which two edits are near."""
_SHORT: Final = 4
"""Characters up to which no character may be replaced."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest edits from a name, ``None`` if none is near.

    Of several, the first in alphabetical order. A name that is known itself has no near one.
    """
    best: tuple[int, str] | None = None
    for other in known:
        if other == name:
            return None
        edits = _near_edits(name, other)
        if edits is not None and (best is None or (edits, other) < best):
            best = edits, other
    return best[1] if best else None


def _near_edits(name: str, other: str) -> int | None:
    """Return the number of edits between two different names, ``None`` if they are not near."""
    shorter = min(len(name), len(other))
    limit = 2 if shorter >= _LONG else 1
    if shorter < SHORTEST or abs(len(name) - len(other)) > limit or name[0] != other[0]:
        return None
    if shorter <= _SHORT and len(name) == len(other) and sorted(name) != sorted(other):
        return None
    if _digits(name) != _digits(other):
        return None
    edits = _edits(name, other)
    return edits if edits <= limit else None


def _digits(name: str) -> list[str]:
    return [character for character in name if character.isdigit()]


def _edits(name: str, other: str) -> int:
    """Return the edits from one name to another, each part edited once (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, character in enumerate(name, 1):
        row = [i]
        for j, target in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (character != target))
            if i > 1 and j > 1 and character == other[j - 2] and name[i - 2] == target:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
