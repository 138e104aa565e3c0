"""Cursors of changes: a place in the order of an owner's transactions, which fits one database alone.

A cursor names the owner's node, which is another one after a wipe, an erasure or a recovery from a backup,
and the transaction at its place by the beginning of its random id. A cursor whose place is
gone, or is that of another transaction, is refused: it never goes on at a wrong place.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from graphmem.changes.change import Change
from graphmem.context import Context
from graphmem.errors import CursorOfAnotherDatabase

END: Final = 999_999_999
"""The index of a place after all changes of its transaction."""
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


class PlacedTransaction(NamedTuple):
    node_key: str | None
    transaction_id: str | None
    recorded_at: int | None


def cursor(node_key: str, change: Change) -> str:
    return _text(node_key, place_after(change), change.transaction.id)


def place_after(change: Change) -> Place:
    return Place(change.transaction.sequence, change.index, change.clock)


def _text(node_key: str, place: Place, transaction_id: str) -> str:
    clock = "" if place.clock is None else f".{place.clock}"
    return (
        f"{node_key[:8]}.{place.sequence}.{place.part}.{transaction_id.removeprefix('txn_')[:8]:0<8}{clock}"
    )


async def at_end(context: Context, sequence: int, clock: int | None = None) -> str:
    """Return the cursor after all changes of a transaction; an empty text if there is none yet."""
    row = await transaction_at(context, sequence)
    if row is None or row.node_key is None or row.transaction_id is None:
        return ""
    return _text(row.node_key, Place(sequence, END, clock), row.transaction_id)


async def transaction_at(context: Context, sequence: int) -> PlacedTransaction | None:
    """Return what is at a place of the owner's order; ``None`` if the owner has written nothing."""
    return await context.graph.one("change.place", PlacedTransaction, sequence=sequence)


async def place_of(context: Context, text: str, *, is_standing: bool = False) -> Place:
    """Return the place of a cursor. An empty text is the beginning.

    Args:
        is_standing: it is to be one of the answers of a standing query, or after all changes of a
            transaction.

    Raises:
        CursorOfAnotherDatabase: it is no cursor of the owner's changes as this database has them.
    """
    if not text:
        return Place()
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise CursorOfAnotherDatabase
    place = Place(int(match[2]), int(match[3]), None if match[5] is None else int(match[5]))
    row = await transaction_at(context, place.sequence)
    if row is None or None in row or text != _text(row.node_key or "", place, row.transaction_id or ""):
        raise CursorOfAnotherDatabase
    if (place.clock is None) == is_standing and place.part != END:
        raise CursorOfAnotherDatabase("the cursor is of the stream of another subscription")
    return place
