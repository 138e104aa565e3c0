"""Cursors: where a query goes on, opaque to callers, and good for that query alone."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import Field

from graphmem.arguments import Arguments
from graphmem.domain import canonical
from graphmem.errors import InvalidCursor
from graphmem.registry import Context

Cursor = Annotated[
    Annotated[str, Field(max_length=2_000)] | None,
    Field(description="`next_cursor` of the answer before: with the same arguments, the following ones."),
]


def fingerprint(
    context: Context, operation: str, arguments: Arguments, apart: Collection[str] = ("limit",)
) -> str:
    """Return what binds a cursor to its query: the owner and every argument but the size of the page.

    Args:
        apart: the arguments that are the size of the page.
    """
    asked = arguments.model_dump(exclude={"cursor", *apart})
    return canonical.digest([operation, context.graph.owner, asked])[:24]


def encode(query: str, place: Mapping[str, Any]) -> str:
    """Return a cursor: base64url of JSON, without padding."""
    text = canonical.encode({**place, "q": query})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(query: str, cursor: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the place that a cursor of this query stands for.

    Args:
        kinds: the type of each part of the place.

    Raises:
        InvalidCursor: it is no cursor, or that of another query.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = canonical.decode(raw)
    except (ValueError, binascii.Error):
        place = None
    if not isinstance(place, dict) or place.pop("q", None) != query:
        raise refused()
    if set(place) != set(kinds) or any(type(place[name]) is not kind for name, kind in kinds.items()):
        raise refused()
    return place


def refused() -> InvalidCursor:
    """Return the error for what is no cursor of a query."""
    message = InvalidCursor.default_message()
    return InvalidCursor(issues=[{"path": "$.cursor", "message": message}])
