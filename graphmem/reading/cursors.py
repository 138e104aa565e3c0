"""Cursors: where the next page of a query starts. A cursor is opaque and fits one query only.

Whatever takes a cursor raises what :func:`decode` and :func:`refuse_both` raise.
"""

import base64
import binascii
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field

from graphmem.arguments import Arguments
from graphmem.context import Context
from graphmem.errors import InvalidCursor, InvalidInput
from graphmem.model import canonical, comparison, identity, times

Cursor = Annotated[
    Annotated[str, Field(max_length=2_000)] | None, Field(description="`next_cursor` of the last page.")
]

Query = Callable[[], str]
"""Makes the fingerprint of a query, once: only a page with a cursor or a next page needs it."""
ANSWERED_LIMIT: Final = 1_000_000_000  # items that a cursor can say were answered before
_INT64: Final = (-(1 << 63), (1 << 63) - 1)
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(("at", "known"), (times.EARLIEST, times.LATEST)),
    **dict.fromkeys(("answered", "found", "skip"), (0, ANSWERED_LIMIT)),
}
"""Bounds of the numbers in a cursor; others have 64 bits, as in the database. Times are microseconds."""
TEXT_LIMIT: Final = identity.KEY_LIMIT + 20  # characters of a text in a cursor: no key of an index has more
PAGE_ARGUMENTS: Final = frozenset({
    "cursor", "limit", "offset", "include_total_count", "fields", "provenance", "max_characters"
})  # fmt: skip
"""Arguments that say how much a page answers, not of what: they may differ from page to page."""
LAST: Final = comparison.LAST_CHARACTER  # a text that begins with it sorts after every id


def fingerprint(context: Context, operation: str, arguments: Arguments, apart: Collection[str] = ()) -> Query:
    """Bind a cursor to its query by a digest of the owner and all arguments except the page's own. ``apart``:
    further arguments of the page itself, beside those of every page."""

    @cache
    def made() -> str:
        query = arguments.model_dump(exclude={*PAGE_ARGUMENTS, *apart})
        return canonical.digest([operation, context.actor.owner, query])[:24]

    return made


def encode(query: Query, place: Mapping[str, Any]) -> str:
    """Return a cursor: base64url of JSON, without padding."""
    text = canonical.encode({**place, "q": query()})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(query: Query, cursor: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the place that a cursor holds, within :data:`BOUNDS`. Raises InvalidCursor: it is of another
    query."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = canonical.decode(raw)
    except (ValueError, binascii.Error):
        place = None
    if not isinstance(place, dict) or place.pop("q", None) != query():
        raise refused()
    if set(place) != set(kinds) or any(type(place[name]) is not kind for name, kind in kinds.items()):
        raise refused()
    for name, part in place.items():
        least, most = BOUNDS.get(name, _INT64)
        if not (len(part) <= TEXT_LIMIT if isinstance(part, str) else least <= part <= most):
            raise refused()
    return place


def newest_first(query: Query, cursor: str | None, latest: int = times.LATEST) -> tuple[int, str]:
    """Return the time and id after which a page starts, in the order of times, newest first, then of ids. The
    first page starts at ``latest`` (microseconds)."""
    if cursor is None:
        return latest, LAST
    place = decode(query, cursor, {"at": int, "id": str})
    if place["at"] > latest:
        raise refused()
    return place["at"], place["id"]


def refuse_both(cursor: str | None, offset: int) -> None:
    """Refuse a cursor together with an offset."""
    if cursor is not None and offset:
        message = "give either cursor or offset: a cursor already says where the page starts"
        raise InvalidInput.at("$.offset", message)


def refused() -> InvalidCursor:
    message = InvalidCursor.default_message()
    return InvalidCursor(issues=[{"path": "$.cursor", "message": message}])
