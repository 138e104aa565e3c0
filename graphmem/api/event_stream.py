"""The stream of changes as server-sent events (``text/event-stream`` of the HTML standard).

Each event has the cursor of its change as its id, so that a client that comes again with ``Last-Event-ID``
goes on after the last change that it read. A stream reads changes only as fast as its client reads them:
nothing is buffered for a slow client, and one that reads nothing for a while is cut.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import orjson
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from graphmem.api.rest_routes import services_of
from graphmem.arguments import from_query, read, with_types
from graphmem.auth import Scope, request_actor
from graphmem.auth.credentials import CHECK_SECONDS
from graphmem.changes import wanted_changes
from graphmem.changes.change import Change, Place, cursor_at_end, place_of
from graphmem.changes.change_feed import ChangeFeed, Part
from graphmem.changes.standing_changes import StandingAnswers
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context
from graphmem.errors import GraphmemError
from graphmem.observability.logs import new_trace_id
from graphmem.operations.subscriptions import FollowChanges, changes_for

PING_SECONDS: Final = 25
SEND_SECONDS: Final = 60  # seconds in which a client has to read what was sent
READY: Final = "ready"
"""The event with which a stream begins. It has data: some clients make an event of a block without."""


async def stream(request: Request) -> Response:
    """Answer the changes from now on, or after the cursor of ``Last-Event-ID`` or ``after``.

    Raises:
        CursorOfAnotherDatabase: the cursor is not of this database.
        NotFound, SubscriptionInactive: there is no such subscription, or it sleeps.
        ServiceBusy: the process has as many streams as it serves.
    """
    services, actor = services_of(request), request_actor(request.scope)
    raw = from_query(FollowChanges, request.query_params.multi_items())
    if last := request.headers.get("last-event-id"):
        raw["after"] = last
    arguments = read(FollowChanges, "changes.stream", raw)
    arguments = with_types(arguments, await services.type_aliases.of(actor.owner))
    await services.agent_grants.check(actor, "changes.list", Scope.READ)
    context = Context(actor, services)
    filters, standing = arguments.wanted_changes, None
    if arguments.subscription_id is not None:
        filters, standing = await changes_for(context, arguments.subscription_id)
    place = None
    if arguments.after is not None:
        place = await place_of(context, arguments.after, is_standing=standing is not None)
    services.of(ChangeFeed).check_room()
    holds = partial(services.agent_grants.check_again, actor, "changes.list")
    chunks = _chunks(holds, context, filters, place, standing, values=arguments.values)
    return EventSourceResponse(chunks, ping=PING_SECONDS, send_timeout=SEND_SECONDS)


async def _chunks(
    holds: Callable[[], Awaitable[None]], context: Context, filters: WantedChanges, place: Place | None,
    standing: StandingAnswers | None, *, values: bool,
) -> AsyncIterator[bytes]:  # fmt: skip
    """Yield what the stream sends: several events at once where there are several."""
    feed, checked = context.services.of(ChangeFeed), time.monotonic()
    try:
        async with aclosing(feed.follow(context, place, standing)) as parts_after:
            sent: Place | None = None
            async for parts, at in parts_after:
                if time.monotonic() - checked > CHECK_SECONDS:
                    checked = time.monotonic()
                    await holds()
                events = b"".join([
                    await _written(context, part, change, values=values)
                    for part in parts
                    for change in filters.among(context.actor.owner, part.changes)
                ])  # fmt: skip
                if sent is None:
                    # So that a client that comes again before the first change misses none.
                    cursor = await cursor_at_end(context, at.sequence, at.clock)
                    yield b"retry: 2000\n" + _frame(READY, {"event_type": READY, "cursor": cursor}, cursor)
                    sent = at
                if events:
                    yield events
    except GraphmemError as exc:
        yield _frame("error", exc.envelope(new_trace_id()))


async def _written(context: Context, part: Part, change: Change, *, values: bool) -> bytes:
    """Return the event of a change of a transaction; it is written once for all streams."""
    written = part.written.get((change.index, values))
    if written is None:
        node_key = context.services.of(ChangeFeed).node_key(context.actor.owner)
        answer: Any = wanted_changes.answer(context.actor.owner, node_key, change, values=values)
        await context.services.vocabulary.show(context.actor.owner, answer)
        written = part.written[change.index, values] = _frame(change.kind, answer, answer["cursor"])
    return written


def _frame(event: str, data: Mapping[str, Any], cursor: str | None = None) -> bytes:
    line = f"id: {cursor}\n" if cursor else ""
    return b"%sevent: %s\ndata: %s\n\n" % (line.encode(), event.encode(), orjson.dumps(data))
