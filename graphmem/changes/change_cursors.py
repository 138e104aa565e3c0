"""Cursors of changes: a place in the order of an owner's transactions, which fits one database alone.

A cursor names the owner's node, which is another one after a wipe, an erasure or a recovery from a backup,
and the transaction at its place by the beginning of its random id. A cursor whose place is
gone, or is that of another transaction, is refused: it never goes on at a wrong place.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from graphmem.changes.derived_changes import Change
from graphmem.errors import CursorOfAnotherDatabase
from graphmem.registry import Context

END: Final = 999_999_999
"""The index of a place after all changes of its transaction."""
_SHAPE: Final = re.compile(r"([0-9a-f]{8})\.([0-9]{1,15})\.([0-9]{1,9})\.([0-9a-f]{8})", re.ASCII)


class Place(NamedTuple):
    """A place in an owner's order: after the change ``part`` of the transaction ``sequence``."""

    sequence: int = 0
    part: int = END


class _Transaction(NamedTuple):
    """The row of ``change/place.cypher``."""

    node_key: str | None
    transaction_id: str | None


def cursor(node_key: str, change: Change) -> str:
    """Return the cursor after a change."""
    return _text(node_key, change.transaction.sequence, change.index, change.transaction.id)


def _text(node_key: str, sequence: int, index: int, transaction_id: str) -> str:
    return f"{node_key[:8]}.{sequence}.{index}.{transaction_id.removeprefix('txn_')[:8]:0<8}"


async def at_end(context: Context, sequence: int) -> str:
    """Return the cursor after all changes of a transaction; an empty text if there is none yet."""
    row = await context.graph.one("change.place", _Transaction, sequence=sequence)
    if row is None or row.node_key is None or row.transaction_id is None:
        return ""
    return _text(row.node_key, sequence, END, row.transaction_id)


async def place_of(context: Context, text: str) -> Place:
    """Return the place of a cursor. An empty text is the beginning.

    Raises:
        CursorOfAnotherDatabase: it is no cursor of the owner's changes as this database has them.
    """
    if not text:
        return Place()
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise CursorOfAnotherDatabase
    sequence, index = int(match[2]), int(match[3])
    row = await context.graph.one("change.place", _Transaction, sequence=sequence)
    if (
        row is None
        or None in row
        or text != _text(row.node_key or "", sequence, index, row.transaction_id or "")
    ):
        raise CursorOfAnotherDatabase
    return Place(sequence, index)
