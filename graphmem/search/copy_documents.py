"""The documents of a copy: what search compares of an entity, and the terms that are counted of it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.search import terms
from graphmem.search.copy_arrays import Numbers
from graphmem.text import languages

IN_NAME: Final = 0x8000  # the bit of a count that says that the term is in the entity's name
IN_ALIAS: Final = 0x4000  # the bit of a count that says that the term is in another name of the entity
IN_LABEL: Final = 0x2000
"""The bit of a count that says that the term is in the entity's type or in the name of one of its fields."""
IN_NAMES: Final = IN_NAME | IN_ALIAS
COUNTED: Final = IN_LABEL - 1  # the bits of a count that say how often the document has the term


class EntityText(NamedTuple):
    """An entity as search compares it: ``at`` is the time of its newest observation, in microseconds.

    ``text`` has its words (:func:`graphmem.text.words.text_of`), ``vectors`` those of its passages,
    ``DIMENSIONS`` signed bytes each, ``fields`` the names of its fields. A newer state has a greater
    ``version``. A message belongs to a ``thread``.
    """

    id: str
    type: str
    at: int
    text: str
    vectors: bytes | None
    is_pending: bool = False
    version: tuple[int, int] = (0, 0)
    fields: Sequence[str] = ()
    thread: str | None = None


class Posting(NamedTuple):
    """Documents that have a term, and how often each has it. ``IN_NAME``, ``IN_ALIAS`` and ``IN_LABEL`` are
    bits of a count; a term that only labels have counts 0."""

    documents: Numbers
    counts: npt.NDArray[np.uint16]

    def having(self, bits: int) -> Numbers:
        """Return the documents whose counts have one of some bits."""
        return self.documents[(self.counts & bits) > 0]


def counted(document: EntityText) -> tuple[dict[str, int], str | None, int]:
    """Return how often a document has each term, with the bits that say where; its language; its length."""
    text = terms.of_text(document.text)
    counts: dict[str, int] = Counter(text.values)
    if len(text.values) > COUNTED:
        counts = {term: min(count, COUNTED // 2) for term, count in counts.items()}
    for term in text.aliases:
        counts[term] = counts.get(term, 0) + 1 | IN_ALIAS
    for term in text.name:
        counts[term] = counts.get(term, 0) + 1 | IN_NAME
    language = languages.language_of(counts)
    for label in (document.type, *document.fields):
        for term in terms.of_label(label):
            counts[term] = counts.get(term, 0) | IN_LABEL
    return counts, language, sum(map(len, text))
