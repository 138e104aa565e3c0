"""Work that is too large for one transaction or one request is split into halves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from graphmem.errors import DatabaseFull, TransactionTooLarge

T = TypeVar("T")
R = TypeVar("R")


async def in_halves(
    items: list[T],
    work: Callable[[list[T]], Awaitable[R]],
    too_much: tuple[type[Exception], ...] = (DatabaseFull, TransactionTooLarge),
) -> list[R]:
    """Call ``work`` with all items; if they are too many, with each half, and so on.

    ``too_much`` are the errors that ``work`` raises for too many items; that of a single item is raised.
    It returns the results of the parts, in the order of the items.
    """
    try:
        return [await work(items)]
    except too_much:
        if len(items) < 2:
            raise
    half = len(items) // 2
    return [*await in_halves(items[:half], work, too_much), *await in_halves(items[half:], work, too_much)]
