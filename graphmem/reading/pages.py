"""One page of a list: its items, where the next page starts, and the part that every page answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NotRequired, Protocol, TypeVar

from typing_extensions import TypedDict

from graphmem.reading import cursors
from graphmem.reading.budgets import Budgeted

T = TypeVar("T")


class Indexed(TypedDict):
    """What an answer from indexes adds: see :attr:`graphmem.registry.Operation.indexed`.

    ``pending`` stands after a withdrawal, while so many entities and relationships wait to be folded again.
    """

    pending: NotRequired[int]


class PageEnvelope(Indexed, Budgeted):
    """What every page answers beside its list.

    ``next_cursor`` stands where more items follow. ``truncated`` stands where a page ends before ``limit``
    although more follow; ``next_offset`` then says where it goes on, for a caller who pages by offset.
    """

    limit: int
    offset: int
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    next_cursor: NotRequired[str]
    total: NotRequired[int]


class PageArguments(Protocol):
    """The arguments of an operation that answers a page."""

    @property
    def limit(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def include_total_count(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page.

    Attributes:
        place: where the next page starts, as its cursor holds it; ``None`` at the end.
        truncated: the page ends before its limit though more may follow.
        total: how many items all pages have together, where it was counted.
        scanned: how many items were compared for the page; ``None`` where an index answers it.
    """

    items: list[T]
    place: Mapping[str, Any] | None = None
    truncated: bool = False
    total: int | None = None
    scanned: int | None = None

    def envelope(self, arguments: PageArguments, query: str) -> PageEnvelope:
        """Return the shared part of the answer.

        Args:
            query: the fingerprint that binds the cursor to its query.
        """
        envelope: PageEnvelope = {"limit": arguments.limit, "offset": arguments.offset}
        if self.truncated:
            envelope["truncated"] = True
            # A scan may end between two items that fit: only its cursor knows how far it compared.
            if arguments.cursor is None and self.scanned is None:
                envelope["next_offset"] = arguments.offset + len(self.items)
        if self.place is not None:
            envelope["next_cursor"] = cursors.encode(query, self.place)
        if arguments.include_total_count and self.total is not None:
            envelope["total"] = self.total
        return envelope


def newest_window(arguments: PageArguments, query: str) -> dict[str, Any]:
    """Return the parameters by which a query reads one row more than a page, in the order of newest first.

    The order is that of times, newest first, then of ids.

    Args:
        query: the fingerprint that binds the cursor to its query.

    Raises:
        InvalidInput: the request has a cursor and an offset.
        InvalidCursor: the cursor belongs to another query.
    """
    cursors.refuse_both(arguments.cursor, arguments.offset)
    at, after = cursors.newest_first(query, arguments.cursor)
    return {
        "at": at,
        "after": after,
        "offset": arguments.offset,
        "limit": arguments.limit + 1,
        "counted": arguments.include_total_count,
    }


def newest_page(
    arguments: PageArguments, rows: list[T], total: int, place: Callable[[T], tuple[int, str]]
) -> Page[T]:
    """Return the page of the rows that were read by a :func:`newest_window`.

    Args:
        place: returns the time (microseconds) and the id of a row.
    """
    items = rows[: arguments.limit]
    if len(rows) == len(items):
        return Page(items, total=total)
    at, row_id = place(items[-1])
    return Page(items, {"at": at, "id": row_id}, total=total)
