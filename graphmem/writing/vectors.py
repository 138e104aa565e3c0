"""What entities mean, on their way into the graph: a vector beside the text that it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from graphmem.embedding import meaning
from graphmem.embedding.meaning import WAITING, Embedder, Vector

if TYPE_CHECKING:
    from graphmem.writing.rows import Node


def row(node: Node) -> dict[str, Any]:
    """Return the row of what an entity means; ``of`` is null where it means nothing any more.

    The ``text`` is still to be made a vector of, see :func:`embed`.
    """
    text = node.meant
    if text is None:
        return {"of": None}
    return {"of": meaning.key(text), "text": text, "type": node.view.kind}


async def embed(params: dict[str, Any], embedder: Embedder) -> None:
    """Put the vectors into the rows of a turn, made in one go; none where they come from elsewhere.

    What a model makes nothing of has no vector, and waits for none.
    """
    rows = [row["meaning"] for row in params["entities"] if row.get("meaning") and row["meaning"]["of"]]
    if not embedder.at_once:
        for one in rows:
            one |= {"model": WAITING, "vector": None, "fresh": None}
    else:
        vectors = await embedder.embed([one["text"] for one in rows]) if rows else []
        for one, vector in zip(rows, vectors, strict=True):
            one |= {"model": embedder.model, "vector": vector, "fresh": one["type"] if vector else None}
    for one in rows:
        del one["text"], one["type"]


class Meaning(NamedTuple):
    """What an entity should mean; the vector is known where it is made in this process."""

    kind: str
    of: str
    model: str
    vector: Vector | None


async def expected(nodes: Mapping[str, Node], embedder: Embedder) -> dict[str, Meaning]:
    """Return what some entities should mean; those that mean nothing are not among them."""
    texts = {
        subject_id: node.meant
        for subject_id, node in nodes.items()
        if node.is_entity and node.meant is not None
    }
    vectors = (
        await embedder.embed(list(texts.values())) if embedder.at_once and texts else [None] * len(texts)
    )
    return {
        subject_id: Meaning(nodes[subject_id].view.kind, meaning.key(text), embedder.model, vector)
        for (subject_id, text), vector in zip(texts.items(), vectors, strict=True)
    }


def differences(
    stored: Sequence[Sequence[Any]], wanted: Meaning | None, owner: str
) -> list[tuple[list[Any] | None, list[Any] | None]]:
    """Return how what is kept of an entity's meaning differs from what it should be, if it does.

    A vector of another model is none: it waits for the worker.
    """
    if not stored or wanted is None:
        return [] if not stored and wanted is None else [(list(map(_told, stored)) or None, _wanted(wanted))]
    kept_by, kind, of, model, vector, in_index, fresh = stored[0]
    same = (kept_by, kind, of) == (owner, wanted.kind, wanted.of)
    if same and model == wanted.model:
        placed = in_index != (fresh == kind) if vector else not in_index and fresh is None
        same = placed and (wanted.vector is None or _close(vector, wanted.vector))
    return [] if same else [(_told(stored[0]), _wanted(wanted))]


def _close(one: Sequence[float] | None, other: Sequence[float]) -> bool:
    """Return whether two vectors are the same but for the last digits, which another machine may round."""
    if one is None or len(one) != len(other):
        return False
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) < 1e-4


def _told(stored: Sequence[Any]) -> list[Any]:
    _, kind, of, model, vector, in_index, fresh = stored
    return [kind, of, model, vector and vector[:3], in_index, fresh]


def _wanted(wanted: Meaning | None) -> list[Any] | None:
    return wanted and [wanted.kind, wanted.of, wanted.model, wanted.vector and wanted.vector[:3]]
