"""Meaning: the text of an entity that an embedder turns into a vector.

A vector belongs to one text and one model; if either changes, it is made again. An :class:`Embedder` works in
this process at once, or it is a remote service: then an entity is ``pending`` until the worker has asked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME
from graphmem.text import words

DIMENSIONS: Final = 256
TEXT_LIMIT: Final = 2_000
"""Characters of an entity's text that its vector is made of: more would blur it."""
WAITING: Final = ""
"""The model of an entity that has no vector yet."""

Vector = list[float]


class Embedder(Protocol):
    """Turns texts into vectors of 256 dimensions; only their direction counts.

    Attributes:
        model: the name of the model; vectors of two models do not compare.
        at_once: whether it works in this process, so that a vector is written together with its text.
        floor: the least cosine similarity of a match.
    """

    model: str
    at_once: bool
    floor: float

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text, ``None`` where the model knows nothing in it.

        Raises:
            EmbeddingUnavailable: the service that makes them does not answer as it should.
        """
        ...


def text_of(name: str, fields: Iterable[tuple[str, str]]) -> str:
    """Return the text of an entity for a model: its name, then the strings of its values.

    Values that are only an address, a number or a time are left out: they distort the vector.

    Args:
        name: the entity's name.
        fields: its fields with their canonical JSON.
    """
    parts: dict[str, None] = {name: None}
    room = TEXT_LIMIT - len(name)
    for field, text in fields:
        if room <= 0:
            break
        for part in () if field == CANONICAL_NAME else words.strings_of(text):
            if room > 0 and part not in parts and _says_something(part):
                parts[part] = None
                room -= len(part) + 2
    return ". ".join(parts)[:TEXT_LIMIT]


def _says_something(text: str) -> bool:
    if any(c.isspace() for c in text[:200]):
        return True
    return not any(c.isdigit() or c in "@/" for c in text[:200]) and any(c.isalpha() for c in text[:200])


def key(text: str) -> str:
    """Return the first 16 hexadecimal digits of the digest of a vector's text."""
    return canonical.digest(text)[:16]
