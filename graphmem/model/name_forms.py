"""Other ways to write the name of a person, which may mean the same person.

They decide what is merged by rule (:mod:`graphmem.model.rule_merges`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from graphmem.model.nicknames import forms_of

WORDS_LIMIT: Final = 4
"""A name of more words has no other forms."""


@lru_cache(maxsize=20_000)
def other_forms(folded: str) -> frozenset[str]:
    """Return the other forms of a folded name: given names and short forms, and the surname in front.

    "bill de wit" has, among others, "william de wit", "de wit, bill" and "wit, bill de". A name is a form of
    each of its forms.
    """
    surname, comma, given = folded.partition(", ")
    words = (given + " " + surname if comma else surname).split()
    if not 0 < len(words) <= WORDS_LIMIT or "," in given or any("," in word for word in words):
        return frozenset()
    forms: set[str] = set()
    for first in {words[0]} | forms_of(words[0]):
        parts = [first, *words[1:]]
        forms.add(" ".join(parts))
        for place in range(1, len(parts)):
            forms.add(f"{' '.join(parts[place:])}, {' '.join(parts[:place])}")
    return frozenset(forms - {folded})
