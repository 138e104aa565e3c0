"""A change: what one transaction changed of one subject; and its cursor, which fits one database alone.

A cursor names the owner's node, which is another one after a wipe, an erasure or a recovery from a backup,
and the transaction at its place by the beginning of its random id. A cursor whose place is gone, or is that
of another transaction, is refused: it never goes on at a wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from graphmem.changes.recorded_transactions import RecordedObservation, RecordedTransaction
from graphmem.context import Context
from graphmem.errors import CursorOfAnotherDatabase
from graphmem.model import canonical
from graphmem.model.reduction import Winner

KINDS: Final = (
    "entity.created", "entity.updated", "entity.corrected", "entity.deleted", "entity.restored",
    "entity.merged", "entity.unmerged", "entity.split", "relationship.created", "relationship.changed",
    "relationship.ended", "relationship.deleted", "relationship.restored", "source.stored",
    "source.interpreted", "source.withdrawn", "source.reinstated", "writing.withdrawn", "writing.reinstated",
    "schema.registered", "schema.changed", "database.restored", "observation.created", "receipt.affected",
)  # fmt: skip
"""The kinds of changes. Those of observations and receipts repeat what others say: they are told on request
alone."""
ON_REQUEST: Final = frozenset({"observation.created", "receipt.affected"})


Fields = Mapping[str, Winner]
"""Values as they are shown, and the observation that set each; of the winners no rank is needed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one transaction changed of one subject.

    ``subject`` is the id of the entity, source, observation or transaction, the key of the relationship, or
    the type of the schema. ``before`` and ``after`` have the fields whose values changed. ``ends`` are the
    source and the target of a relationship, ``details`` what only some kinds have, ``index`` its place among
    the changes of its transaction. ``clock``: of the answers of a standing query, when they changed.
    ``own_id``: its id, where its transaction and subject are not all that tells it from others.
    """

    transaction: RecordedTransaction
    kind: str
    subject: str
    entity_type: str | None = None
    name: str | None = None
    observation: RecordedObservation | None = None
    before: Fields = field(default_factory=dict[str, Winner])
    after: Fields = field(default_factory=dict[str, Winner])
    ends: tuple[Known, ...] = ()
    details: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    index: int = 0
    clock: int | None = None
    own_id: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order in which changes were recorded: the time, and the index."""
        return self.transaction.recorded_at, self.index

    @property
    def id(self) -> str:
        """Its id: 40 hexadecimal digits, the same whenever it is read."""
        return self.own_id or canonical.digest([self.transaction.id, self.kind, self.subject])[:40]

    @property
    def fields(self) -> list[str]:
        return sorted({*self.before, *self.after}, key=canonical.name_order)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        own = (self.subject,) if self.subject.startswith("ent_") else ()
        into = self.details.get("merged_into")
        return (*own, *((into,) if into else ()), *(end.id for end in self.ends))


class Known(NamedTuple):
    """An entity with its name of now, and the others that were ever merged with it."""

    id: str
    type: str
    name: str | None
    merged: Sequence[str] = ()


END: Final = 999_999_999  # the index of a place after all changes of its transaction
_SHAPE: Final = re.compile(
    r"([0-9a-f]{8})\.([0-9]{1,15})\.([0-9]{1,9})\.([0-9a-f]{8})(?:\.([0-9]{1,17}))?", re.ASCII
)


class Place(NamedTuple):
    """A place in an owner's order: after the change ``part`` of the transaction ``sequence``.

    Time alone changes the answers of a standing query, so a place among its changes has a ``clock`` as well
    (microseconds). One after the time of the transaction is a place between it and the next one: ``part`` is
    then that of the changes of this moment.
    """

    sequence: int = 0
    part: int = END
    clock: int | None = None


def cursor_of(node_key: str, change: Change) -> str:
    return _text(node_key, place_after(change), change.transaction.id)


def place_after(change: Change) -> Place:
    return Place(change.transaction.sequence, change.index, change.clock)


def _text(node_key: str, place: Place, transaction_id: str) -> str:
    clock = "" if place.clock is None else f".{place.clock}"
    return (
        f"{node_key[:8]}.{place.sequence}.{place.part}.{transaction_id.removeprefix('txn_')[:8]:0<8}{clock}"
    )


async def cursor_at_end(context: Context, sequence: int, clock: int | None = None) -> str:
    """Return the cursor after all changes of a transaction; an empty text if there is none yet."""
    node_key, transaction_id, _ = await transaction_at(context, sequence)
    if node_key is None or transaction_id is None:
        return ""
    return _text(node_key, Place(sequence, END, clock), transaction_id)


async def transaction_at(context: Context, sequence: int) -> tuple[str | None, str | None, int | None]:
    """Return the key of the owner's node, and the id and the time of the transaction at a place in its order.
    What is not there is ``None``."""
    row = await context.graph.one(
        "change.place", tuple[str | None, str | None, int | None], sequence=sequence
    )
    return row or (None, None, None)


async def place_of(context: Context, text: str, *, is_standing: bool = False) -> Place:
    """Return the place of a cursor; an empty text is the beginning.

    ``is_standing``: it is of the answers of a standing query, or after all changes of a transaction.
    Raises CursorOfAnotherDatabase: it is no cursor of the owner's changes as this database has them.
    """
    if not text:
        return Place()
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise CursorOfAnotherDatabase
    place = Place(int(match[2]), int(match[3]), None if match[5] is None else int(match[5]))
    node_key, transaction_id, recorded_at = await transaction_at(context, place.sequence)
    if recorded_at is None or text != _text(node_key or "", place, transaction_id or ""):
        raise CursorOfAnotherDatabase
    if (place.clock is None) == is_standing and place.part != END:
        raise CursorOfAnotherDatabase("the cursor is of the stream of another subscription")
    return place
