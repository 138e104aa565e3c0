"""Work that the database cannot hold at once is done in halves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from graphmem.errors import DatabaseFull, TransactionTooLarge

T = TypeVar("T")
R = TypeVar("R")


async def in_halves(items: list[T], work: Callable[[list[T]], Awaitable[R]]) -> list[R]:
    """Do some work for all of some items; for their halves, again and again, while they are too much at once.

    Returns:
        What the work returned for each part, in the order of the items.

    Raises:
        DatabaseFull, TransactionTooLarge: it is too much even for one of them.
    """
    try:
        return [await work(items)]
    except (DatabaseFull, TransactionTooLarge):
        if len(items) < 2:
            raise
    half = len(items) // 2
    return [*await in_halves(items[:half], work), *await in_halves(items[half:], work)]
