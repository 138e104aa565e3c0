"""Near spellings: which known name a caller probably meant. They serve messages and warnings only.

Names are near if they differ by one edit, or by two if both have eight characters or more. An edit inserts,
deletes or replaces one character, or swaps two neighbours. Near names have the same first letter and the same
digits: ``line_1`` is no misspelling of ``line_2``. In names of four characters or fewer no character may be
replaced: ``city`` is no misspelling of ``cite``.
"""

from collections.abc import Collection, Iterable
from typing import Final

from rapidfuzz.distance import OSA

FIRST_WORD_LEAST: Final = 5
"""Characters of the shortest first word that says which relationship type is meant; ``HAS`` does not."""
SHORTEST: Final = 3  # characters of the shortest name that has near ones
_LONG: Final = 8  # characters from which two edits are near
_SHORT: Final = 4  # characters up to which no character may be replaced


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest edits from a name, ``None`` if none is near. Of several, the
    first in alphabetical order. A name that is known itself has no near one."""
    best: tuple[int, str] | None = None
    for other in known:
        if other == name:
            return None
        edits = _near_edits(name, other)
        if edits is not None and (best is None or (edits, other) < best):
            best = edits, other
    return best[1] if best else None


def nearest_type(spelled: str, names: Collection[str]) -> str | None:
    """Return the relationship type with a near spelling, else the only one with the same first word.
    ``WORKS_FOR`` has the first word of ``WORKS_AT`` alone."""
    near = nearest(spelled, names)
    first = spelled.partition("_")[0]
    if near is not None or len(first) < FIRST_WORD_LEAST:
        return near
    alike = [name for name in names if name.partition("_")[0] == first]
    return alike[0] if len(alike) == 1 else None


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
    edits = OSA.distance(name, other, score_cutoff=limit)
    return edits if edits <= limit else None


def _digits(name: str) -> list[str]:
    return [character for character in name if character.isdigit()]
