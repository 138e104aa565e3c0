"""Meaning: what of an entity is turned into a vector, and who turns it.

A vector is of one text and of one model; where either changes it is made again. What makes vectors is an
:class:`Embedder`: one that works in this process at once, or a service elsewhere, for which an entity
waits (``pending``) until the worker has asked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME
from graphmem.text import words

DIMENSIONS: Final = 256
TEXT_LIMIT: Final = 2_000
"""Characters of an entity's text that its vector is made of: further ones would only blur it."""
WAITING: Final = ""
"""The model of what has no vector yet."""

Vector = list[float]


class Embedder(Protocol):
    """What turns texts into vectors of 256 dimensions; only their direction counts.

    Attributes:
        model: names what makes the vectors: those of another model cannot be compared with them.
        at_once: whether it works in this process, so that a vector is written together with its text.
        floor: the least cosine similarity that means something.
    """

    model: str
    at_once: bool
    floor: float

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text, ``None`` where it holds nothing that the model knows.

        Raises:
            EmbeddingUnavailable: the service that makes them does not answer as it should.
        """
        ...


def text_of(name: str, held: Iterable[tuple[str, str]]) -> str:
    """Return what an entity means, for a model to read: its name, then the words of its values.

    Addresses, numbers and times that stand alone are left out: they mean nothing and pull at the vector.

    Args:
        name: what people call it.
        held: its fields with their canonical JSON.
    """
    found: dict[str, None] = {name: None}
    room = TEXT_LIMIT - len(name)
    for field, text in held:
        if room <= 0:
            break
        for one in () if field == CANONICAL_NAME else words.strings_of(text):
            if room > 0 and one not in found and _says_something(one):
                found[one] = None
                room -= len(one) + 2
    return ". ".join(found)[:TEXT_LIMIT]


def _says_something(text: str) -> bool:
    if any(c.isspace() for c in text[:200]):
        return True
    return not any(c.isdigit() or c in "@/" for c in text[:200]) and any(c.isalpha() for c in text[:200])


def key(text: str) -> str:
    """Return 16 hexadecimal digits that stand for the text that a vector is of."""
    return canonical.digest(text)[:16]
