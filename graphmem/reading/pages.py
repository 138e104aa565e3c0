"""One page of a list: its items, where the next page starts, what every page answers, the writers asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Generic, LiteralString, NotRequired, TypeVar, cast

from pydantic import Field
from typing_extensions import TypedDict

from graphmem import cypher
from graphmem.arguments import PAGE_DEFAULT, Arguments, Limit, NotBlank, Offset, Total
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.database.left_out import LeftOutEntity, as_read
from graphmem.model.attribution import writer_key
from graphmem.reading import cursors
from graphmem.reading.as_of import Clocks
from graphmem.reading.cursors import Cursor, Query

T = TypeVar("T")
NEWEST: Final[Mapping[str, type]] = {"at": int, "id": str}
"""The types of a place in the order of times, newest first, then of ids."""


class LeavesOut(TypedDict):
    """What an answer adds that leaves out what is stored damaged: it names the first 20 as ``left_out``."""

    left_out: NotRequired[list[LeftOutEntity]]


class NamesDamaged(TypedDict):
    """What an answer adds whose ``left_out`` is of something else: what it leaves out as stored damaged."""

    damaged: NotRequired[list[LeftOutEntity]]


class Indexed(LeavesOut):
    """What an answer from indexes adds: see :attr:`graphmem.registry.Operation.indexed`.

    ``pending`` stands after a withdrawal or a change of a schema, while so many entities and relationships at
    most wait to be folded again.
    """

    pending: NotRequired[int]


class PageEnvelope(Budgeted):
    """What every page answers beside its list.

    ``next_cursor`` stands where more items follow. ``truncated`` stands where a page ends before ``limit``
    although more follow; ``next_offset`` then says where it goes on, for a caller who pages by offset.
    ``total`` counts the items of all pages where it was asked for, or needs no counting; where not all could
    be compared, ``total_is_at_least`` counts those that were found so far.
    """

    limit: int
    offset: int
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    next_cursor: NotRequired[str]
    total: NotRequired[int]
    total_is_at_least: NotRequired[int]


class IndexedPageEnvelope(Indexed, PageEnvelope):
    """What every page that is read from indexes answers beside its list."""


class Paged(Sized):
    """The arguments of every list."""

    described_last: ClassVar[tuple[str, ...]] = ("limit", "offset", "cursor", "include_total_count")

    limit: Limit = PAGE_DEFAULT
    offset: Offset = 0
    cursor: Cursor = None
    include_total_count: Total = False


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page; ``place`` is where the next one starts, as its cursor holds it, ``None`` at the end.

    ``truncated``: it ends before its limit though more may follow. ``total`` counts the items of all pages
    where they were counted, ``least`` else those that were found so far. ``scanned``: how many items were
    compared for it; ``None`` where an index answers it.
    """

    items: list[T]
    place: Mapping[str, Any] | None = None
    truncated: bool = False
    total: int | None = None
    scanned: int | None = None
    least: int | None = None

    def envelope(self, arguments: Paged, query: Query, *, is_counted: bool = False) -> PageEnvelope:
        """Return the shared part of the answer; ``is_counted``: with the total, asked for or not."""
        envelope: PageEnvelope = {"limit": arguments.limit, "offset": arguments.offset}
        if self.truncated:
            envelope["truncated"] = True
            # A scan may end between two items that fit: only its cursor knows how far it compared.
            if arguments.cursor is None and self.scanned is None:
                envelope["next_offset"] = arguments.offset + len(self.items)
        if self.place is not None:
            envelope["next_cursor"] = cursors.encode(query, self.place)
        if arguments.include_total_count or is_counted:
            if self.total is not None:
                envelope["total"] = self.total
            elif self.least is not None:
                envelope["total_is_at_least"] = self.least
        return envelope


def start_of(
    arguments: Paged, query: Query, kinds: Mapping[str, type], clocks: Clocks
) -> tuple[dict[str, Any] | None, Clocks]:
    """Return the place that a page starts after, ``None`` for the first one, and the clocks of the page.

    As of a time, the place holds the time of recording that the first page saw: pages tile although
    observations of that time are recorded meanwhile.
    """
    cursors.refuse_both(arguments.cursor, arguments.offset)
    if arguments.cursor is None:
        return None, clocks
    place = cursors.decode(query, arguments.cursor, {**kinds, **({} if clocks.now else {"known": int})})
    known = place.pop("known", None)
    return place, clocks if known is None else clocks.pinned(min(known, clocks.bounds["at_ingested"]))


def place_then(place: Mapping[str, Any], clocks: Clocks) -> dict[str, Any]:
    """Return a place as :func:`start_of` reads it: as of a time, with the time of recording."""
    return {**place, **({} if clocks.now else {"known": clocks.bounds["at_ingested"]})}


def page_of(
    context: Context, operation: str, arguments: Paged, items: Sequence[T], key: Callable[[T], str]
) -> tuple[list[T], PageEnvelope]:
    """Return the page of a list that was read as a whole, and what the answer has beside it. Its cursors hold
    the key of the last item."""
    query = cursors.fingerprint(context, operation, arguments)
    place, _ = start_of(arguments, query, {"key": str, "answered": int}, Clocks())
    start = arguments.offset
    if place is not None:
        # An item may be gone meanwhile: then the number of those before it says where the page starts.
        keys = map(key, items)
        start = next((i for i, each in enumerate(keys, 1) if each == place["key"]), place["answered"])
    page = list(items[start : start + arguments.limit])
    end = start + len(page)
    following = {"key": key(page[-1]), "answered": end} if page and end < len(items) else None
    return page, Page(page, following, total=len(items)).envelope(arguments, query)


def newest_window(arguments: Paged, query: Query) -> dict[str, Any]:
    """Return the parameters by which a query reads one row more than a page, newest first, then by id."""
    cursors.refuse_both(arguments.cursor, arguments.offset)
    at, after = cursors.newest_first(query, arguments.cursor)
    return {
        "at": at, "after": after, "offset": arguments.offset, "limit": arguments.limit + 1,
        "counted": arguments.include_total_count,
    }  # fmt: skip


def newest_page(
    arguments: Paged, rows: list[T], total: int, place: Callable[[T], tuple[int, str]]
) -> Page[T]:
    """Return the page of the rows of a :func:`newest_window`; ``place``: time in microseconds, and id."""
    items, last = first_of(rows, arguments.limit)
    return Page(items, None if last is None else dict(zip(NEWEST, place(last), strict=True)), total=total)


def first_of(rows: Sequence[T], limit: int) -> tuple[list[T], T | None]:
    """Return the rows of a page, and its last row if more follow; that may be damaged, and left out."""
    read = as_read(rows)
    further = {id(row) for row in read[limit:]}
    return [row for row in rows if id(row) not in further], read[limit - 1] if further else None


Name = Annotated[str, Field(min_length=1, max_length=200), NotBlank]
_KINDS: Final = ("account", "key", "client", "agent")


class ByProgram(Arguments):
    """Arguments that name who wrote: an API key, a client program, an agent that signed."""

    by_key: Name | None = None
    by_client: Name | None = None
    by_agent: Name | None = None

    @property
    def writers(self) -> list[str]:
        names = {kind: getattr(self, f"by_{kind}", None) for kind in _KINDS}
        return [writer_key(kind, name) for kind, name in names.items() if name is not None]


class ByWriter(ByProgram):
    """Which writers a list is about; all that are given must fit. No filter fits what is unattributed."""

    by_account: Name | None = None


def written(name: LiteralString, writers: list[str]) -> tuple[LiteralString, dict[str, Any]]:
    """Return the name of a query that looks for writers only where some are wanted, and its parameter."""
    if not writers:
        return name, {}
    return cast("LiteralString", cypher.query(f"{name}[written]").name), {"writers": writers}
