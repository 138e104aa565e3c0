"""Work that is too much at once is done in halves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from graphmem.errors import DatabaseFull, GraphmemError, TransactionTooLarge

T = TypeVar("T")
R = TypeVar("R")


async def in_halves(
    items: list[T],
    work: Callable[[list[T]], Awaitable[R]],
    too_much: tuple[type[GraphmemError], ...] = (DatabaseFull, TransactionTooLarge),
) -> list[R]:
    """Do work for all items at once; for each half of them, again and again, while that is too much.

    Args:
        too_much: the errors by which ``work`` says so.

    Returns:
        What the work returned for each part, in the order of the items.

    Raises:
        GraphmemError: one of ``too_much``, for a single item.
    """
    try:
        return [await work(items)]
    except too_much:
        if len(items) < 2:
            raise
    half = len(items) // 2
    return [*await in_halves(items[:half], work, too_much), *await in_halves(items[half:], work, too_much)]
