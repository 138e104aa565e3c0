"""Rows of entities for the copies in memory, and how they are put into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from graphmem.search.entity_copy import Document, SearchCopy
from graphmem.search.owner_copy import Mark

INLINE_CHANGES: Final = 100
"""At most so many changed entities are put into a copy in the event loop; more in a thread."""
INLINE_CHARACTERS: Final = 50_000
"""The same for the characters of their texts: 5 ms."""


class Commit(NamedTuple):
    """The last commit that wrote entities of an owner: the revision, and how many entities it wrote."""

    revision: int
    entities: int


class OwnerState(NamedTuple):
    """The row of ``search/_state.cypher``."""

    node_key: str
    changed: Commit
    vectors_changed: int


class CopiedEntity(NamedTuple):
    """The row of ``search/_document.cypher``.

    ``changed`` is the revision that wrote the entity last, ``vectors_changed`` the call of the worker that
    stored its vectors last, 0 if none did.
    """

    id: str
    changed: int
    vectors_changed: int
    type: str | None
    at: int
    text: str | None
    model: str | None
    packed: bytes | None


class CopyRows(NamedTuple):
    """The row of ``search/copy.cypher``; ``entities`` is how many the owner has."""

    state: OwnerState | None
    entities: int
    documents: list[CopiedEntity]


class ExactMatch(NamedTuple):
    """An entity that identifiers name.

    ``kind`` is the strongest one, an index into the kinds of identifiers; ``pairs`` are the (kind, index key)
    pairs that name it; ``type`` is the type of the entity.
    """

    id: str
    kind: int
    pairs: list[tuple[str, str]]
    type: str


class TypeAlias(NamedTuple):
    """Another name of an entity type."""

    name: str
    type: str


class FollowRows(NamedTuple):
    """The row of ``search/follow.cypher``."""

    state: OwnerState | None
    documents: list[CopiedEntity]
    vectors: list[CopiedEntity]
    exact: list[ExactMatch]
    aliases: list[TypeAlias]


def change(documents: SearchCopy, changed: Sequence[CopiedEntity], model: str, mark: Mark) -> None:
    """Put what changed into the documents of a copy, in the event loop or in a thread."""
    newer = [each for each in changed if _is_newer(each, documents, mark)]
    for each in newer:
        if each.type is None:
            documents.remove(each.id)
    put(documents, newer, model)


def put(documents: SearchCopy, entities: Iterable[CopiedEntity], model: str) -> None:
    """Put entities into the documents of a copy."""
    documents.put(_documents(entities, model))


def are_many(changed: Sequence[CopiedEntity]) -> bool:
    """Return whether it takes long to put what changed into a copy."""
    if len(changed) > INLINE_CHANGES:
        return True
    return sum(len(each.text or "") for each in changed) > INLINE_CHARACTERS


def _documents(entities: Iterable[CopiedEntity], model: str) -> Iterator[Document]:
    """Yield the documents of the entities that answers list."""
    for entity in entities:
        if entity.type is not None:
            is_pending = entity.model != model
            vectors = None if is_pending else entity.packed
            yield Document(
                entity.id, entity.type, entity.at, entity.text or "", vectors, is_pending, _version(entity)
            )


def _version(entity: CopiedEntity) -> tuple[int, int]:
    return entity.changed, entity.vectors_changed


def _is_newer(entity: CopiedEntity, documents: SearchCopy, mark: Mark) -> bool:
    """Return whether a row says at least as new a state of an entity as a copy has: it may be removed
    there."""
    copied = documents.version_of(entity.id)
    return entity.changed > mark.revision if copied is None else _version(entity) >= copied


def is_whole(documents: list[CopiedEntity], commit: Commit) -> bool:
    """Return whether all that a commit wrote is among the rows: a later commit is visible after it as a
    whole."""
    seen = sum(each.changed == commit.revision for each in documents)
    return seen >= commit.entities or any(each.changed > commit.revision for each in documents)
