"""Meaning: the text of an entity that an embedder turns into vectors.

The vectors of an entity belong to one text and one model; if either changes, they are made again. A long text
has one vector for its beginning, and one for each of its passages: a vector of many sentences says little of
each. An :class:`Embedder` works at once, or it is a remote service or a larger model: then an entity is
``pending`` until the worker has asked it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.errors import EmbeddingUnavailable
from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME
from graphmem.text import words

DIMENSIONS: Final = 256
TEXT_LIMIT: Final = 20_000  # characters of an entity's text that its vectors are made of
BEGINNING_LIMIT: Final = 2_000
"""Characters at the beginning of a text that its first vector is made of: more would blur it."""
PASSAGE_LENGTH: Final = 600  # characters of a passage at most, about; a sentence that is longer is divided
PASSAGED_LENGTH: Final = 900  # only a text with more characters is divided into passages
PASSAGING: Final = "passages 2"
"""How texts are divided, as a part of the name of each model. Whoever changes :func:`passages` changes it:
the worker then makes all vectors anew, as for another model."""
COMPONENT_LIMIT: Final = 127
"""The largest component of a packed vector by magnitude: all components are signed bytes."""
WAITING: Final = ""  # the model of an entity that has no vector yet

Vector = list[float]


class Weighted(NamedTuple):
    """A part of a question, and how much it counts, 0 to 1."""

    text: str
    weight: float


class Embedder:
    """Turns texts into vectors of 256 dimensions; only their direction counts.

    Attributes:
        model: the name of the model; vectors of two models do not compare.
        at_once: whether it takes no time, so that a vector is written together with its text.
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
        raise NotImplementedError

    def weighted(self, parts: Sequence[Weighted]) -> Vector | None:
        """Return the vector of a question whose parts count differently; only where ``at_once``."""
        raise NotImplementedError

    def warm(self) -> None: ...
    async def close(self) -> None: ...


async def of_query(embedder: Embedder, query: str) -> tuple[Vector | None, str]:
    """Return the vector of what is searched, and why there is none; numbers and signs alone have none."""
    if not words.has_letter(query):
        return None, ""
    try:
        (vector,) = await embedder.embed([query[: words.TEXT_LIMIT]])
    except EmbeddingUnavailable as exc:
        return None, str(exc)
    return vector, ""


def stored_name(model: str) -> str:
    """Return the name under which the vectors of a model of a remote service are stored."""
    return f"{model} {DIMENSIONS}, {PASSAGING}"


_ENDS: Final = (
    re.compile(r"(?<=[.!?。！？\n])\s*(?=\S)"),
    re.compile(r"(?<=[,;:])\s+(?=\S)|(?<=[，、；：،؛])\s*(?=\S)"),
    re.compile(r"\s+"),
)
"""Where a text is divided: behind sentences; within a sentence that is too long, behind commas; else at
blanks."""


def passages(text: str) -> list[str]:
    """Return what the vectors of a text are made of: its beginning, and its passages if it is long."""
    if len(text) <= PASSAGED_LENGTH:
        return [text]
    return [text[:BEGINNING_LIMIT], *_passages(text)]


def _passages(text: str) -> Iterator[str]:
    passage = ""
    for part in _parts(text, *_ENDS):
        if passage and len(passage) + len(part) >= PASSAGE_LENGTH:
            yield passage
            passage = ""
        passage = f"{passage} {part}".strip()
    if passage:
        yield passage


def _parts(text: str, end: re.Pattern[str], *further_ends: re.Pattern[str]) -> Iterator[str]:
    """Yield the sentences of a text; of one that is longer than a passage, its parts."""
    for part in end.split(text):
        if len(part) <= PASSAGE_LENGTH:
            yield part
        elif further_ends:
            yield from _parts(part, *further_ends)
        else:
            # A script without blanks, or no words at all.
            yield from (part[at : at + PASSAGE_LENGTH] for at in range(0, len(part), PASSAGE_LENGTH))


def packed(vectors: Sequence[Vector | None]) -> list[bytes]:
    """Return each vector as signed bytes, empty where there is none. Only its direction counts."""
    rows = np.array([vector or [0.0] * DIMENSIONS for vector in vectors]).reshape(-1, DIMENSIONS)
    return [row.tobytes() if vector else b"" for vector, row in zip(vectors, in_bytes(rows), strict=True)]


def in_bytes(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.int8]:
    """Return the directions of vectors in signed bytes; that of zeros is zeros. Rounding changes a direction
    by less than half a degree."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.rint(rows * (COMPONENT_LIMIT / np.where(largest > 0, largest, 1))).astype(np.int8)


def text_of(name: str, fields: Iterable[tuple[str, str]]) -> str:
    """Return the text of an entity for a model: its name, then the strings of its values. Values that are
    only an address, a number or a time are left out: they distort the vector."""
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
