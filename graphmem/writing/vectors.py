"""The vectors of entities: a turn stores them beside the key of the text that they were made of.

``packed`` holds those of its beginning and of all passages (:func:`graphmem.embedding.meaning.packed`), for
the copies in memory that search compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphmem.database.jobs import in_halves
from graphmem.embedding import meaning
from graphmem.embedding.meaning import WAITING, Embedder, Vector
from graphmem.errors import EmbeddingRefused

if TYPE_CHECKING:
    from graphmem.writing.turn_rows import Node

EMBEDDED_AT_ONCE: Final = 64  # passages whose vectors one call of a remote service makes


def row(node: Node) -> dict[str, Any]:
    """Return the row of an entity's vector, with a text for :func:`embed`; ``of`` is null without one."""
    text = node.embedded_text
    return {"of": None} if text is None else {"of": meaning.key(text), "text": text}


async def embed(params: dict[str, Any], embedder: Embedder) -> None:
    """Put the vectors into the rows of a turn, all made at once; none where another service makes them."""
    rows = [row["meaning"] for row in params["entities"] if row.get("meaning") and row["meaning"]["of"]]
    texts = [row.pop("text") for row in rows]
    made = await of_texts(texts, embedder) if embedder.at_once else [None] * len(rows)
    for row, packed in zip(rows, made, strict=True):
        row |= {"model": embedder.model if embedder.at_once else WAITING, "packed": packed}


async def of_texts(texts: Sequence[str], embedder: Embedder) -> list[bytes | None]:
    """Return the vectors of each text, ``None`` where the model knows nothing in it."""
    parts = [meaning.passages(text) for text in texts]
    vectors = await embedder.embed([part for each in parts for part in each]) if texts else []
    of_parts = iter(meaning.packed(vectors))
    return [b"".join(islice(of_parts, len(each))) or None for each in parts]


async def of_passages(texts: list[str], embedder: Embedder) -> bytes:
    """Return the vectors of some texts, ``DIMENSIONS`` signed bytes each; zeros where there is none."""

    async def embed(some: list[str]) -> list[Vector | None]:
        try:
            return await embedder.embed(some)
        except EmbeddingRefused:
            if len(some) > 1:
                raise
            return [None]

    step = max(len(texts), 1) if embedder.at_once else EMBEDDED_AT_ONCE
    made: list[Vector | None] = []
    for start in range(0, len(texts), step):
        parts = await in_halves(texts[start : start + step], embed, (EmbeddingRefused,))
        made += [vector for part in parts for vector in part]
    return b"".join(each or bytes(meaning.DIMENSIONS) for each in meaning.packed(made))


class EntityVector(NamedTuple):
    """The vectors of an entity; not known are those that a service makes, and that should be there."""

    entity_id: str
    owner: str
    kind: str
    of: str  # the key of its text
    model: str
    packed: bytes | None


def _summary(vector: EntityVector) -> list[Any]:
    return [vector.kind, vector.of, vector.model, shown(vector.packed)]


def shown(packed: bytes | None) -> str | None:
    """Return the number of packed vectors, and the first components."""
    if type(packed) is not bytes:
        return None if packed is None else f"{packed!r:.50}"
    rest = len(packed) % meaning.DIMENSIONS
    return f"{len(packed) // meaning.DIMENSIONS} * {list(packed[:3])}" + (
        f" and {rest} bytes" if rest else ""
    )


async def expected(owner: str, nodes: Mapping[str, Node], embedder: Embedder) -> dict[str, EntityVector]:
    """Return the vectors that some entities should have, by id; without those that have no text."""
    texts = {
        subject_id: node.embedded_text
        for subject_id, node in nodes.items()
        if node.is_entity and node.embedded_text is not None
    }
    made = await of_texts(list(texts.values()), embedder) if embedder.at_once else [None] * len(texts)
    return {
        subject_id: EntityVector(
            subject_id, owner, nodes[subject_id].view.kind, meaning.key(text), embedder.model, packed
        )
        for (subject_id, text), packed in zip(texts.items(), made, strict=True)
    }


def differences(
    stored: Sequence[EntityVector], expected: EntityVector | None
) -> list[tuple[list[Any] | None, list[Any] | None]]:
    """Return the stored and the expected vectors of an entity, if they differ, as summaries. A vector of
    another model is no difference: the worker will replace it."""
    if not stored and expected is None:
        return []
    if not stored or expected is None:
        return [([*map(_summary, stored)] or None, _summary(expected) if expected else None)]
    first = stored[0]
    is_made = first.model != expected.model or expected.packed in (None, first.packed)
    same = first[1:4] == expected[1:4] and is_made
    return [] if same else [(_summary(first), _summary(expected))]
