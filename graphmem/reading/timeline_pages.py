"""Pages of timeline events: read in the order of an index, or recomputed as of a time."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from typing_extensions import TypedDict

from graphmem import cypher
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import dates, timeline_fields, times
from graphmem.model.reduction import Stale
from graphmem.reading import answers, as_of, recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.pages import written

EVENT_ID: Final = re.compile(r"evt_[0-9a-f]{24}", re.ASCII)
_ENTITIES_PER_READ: Final = 100  # entities that one query recomputes
_NAME_CHARACTERS: Final = 1_000
"""Characters of an entity's name in an event. ``event/_row.cypher`` has the same limit."""


class Event(TypedDict):
    """A date in a field of an entity.

    ``event_timestamp`` is the date in ISO 8601, in the ``precision`` (day, minute, second, microsecond) and
    the zone of its text. ``instant`` is the same in UTC, for a day its first moment; events are sorted by it.
    ``utc_offset`` is the zone of the text, null where it has none: then UTC is assumed. ``text`` is the
    stored text. ``created_at`` is when its observation was recorded, ``provenance`` who wrote it.
    """

    id: str
    event_type: str
    event_timestamp: str
    instant: str
    precision: str
    utc_offset: str | None
    text: str
    source_field: str
    entity_id: str
    entity_type: str
    entity_name: str
    observation_id: str
    source_id: str | None
    created_at: str
    provenance: answers.Writer


class EventRow(NamedTuple):
    """A row of ``event/_row.cypher``; times are microseconds."""

    id: str
    event_type: str
    source_field: str
    at: int
    text: str
    entity_id: str
    entity_type: str
    entity_name: str
    observation_id: str
    created_at: int
    source_id: str | None
    agent: str
    written: tuple[str, str | None]

    @property
    def fault(self) -> str | None:
        return None if dates.parse(self.text) else "its text is no date"


_PendingTypes = list[tuple[str, str]]
"""Entity types with entities that were folded under other rules than these."""
_EventRows = tuple[list[EventRow], int, _PendingTypes]


@dataclass(frozen=True, slots=True)
class EventRequest:
    """The events of a page: from ``since`` on, before ``until`` (microseconds), after ``place``."""

    since: int = times.EARLIEST
    until: int = times.LATEST + 1
    descending: bool = True
    place: tuple[int, str] | None = None
    event_type: str | None = None
    entity_type: str | None = None
    entity_id: str | None = None
    source_id: str | None = None
    offset: int = 0
    limit: int = 100
    counted: bool = False
    writers: list[str] = field(default_factory=list)

    @property
    def way(self) -> cypher.Way:
        return "desc" if self.descending else "asc"

    @property
    def start(self) -> tuple[int, str]:
        if self.place is not None:
            return self.place
        return (self.until, "") if self.descending else (self.since - 1, "~")


EventPage = tuple[list[EventRow], int, list[str], int]
"""The events of a page and, if more follow, the first of those; and the total.

Then the types with entities whose events may follow a previous schema, and as of a time, the latest
recorded_at that the page was made from (microseconds): a cursor pins the further pages to it.
"""


def event(row: EventRow) -> Event:
    written = dates.parse(row.text)
    if written is None:
        raise ValueError(f"{row.id} has no date")
    return {
        **answers.of_row(Event, row),
        "event_timestamp": written.iso,
        "instant": times.render(row.at),
        "precision": written.precision,
        "utc_offset": written.offset,
        "provenance": answers.writer(row.agent, *row.written),
    }


async def page(context: Context, request: EventRequest, clocks: Clocks) -> EventPage:
    if not clocks.now:
        return await _page_as_of(context, request, clocks)
    if request.entity_id is not None:
        name, by = written("event.of_entity", request.writers)
        row = await context.graph.one(
            name, tuple[list[EventRow], int, str | None], entity_id=request.entity_id, **_selecting(request),
            **by,
        )  # fmt: skip
        if row is None:
            raise answers.no_entity(request.entity_id)
        events, total, stale_id = row
        if stale_id:
            raise Stale([stale_id])
        return events, total, [], times.LATEST
    events, total, types = await _read(context, request)
    of_page = [each for each in types if request.entity_type in (None, each[0])]
    return events, total, await as_of.refuse_unfolded(context, of_page), times.LATEST


def _common(request: EventRequest) -> dict[str, Any]:
    at, after = request.start
    reach = request.offset + request.limit + 1
    return {
        "since": request.since, "until": request.until, "at": at, "after": after,
        "offset": request.offset, "reach": reach,
    }  # fmt: skip


def _selecting(request: EventRequest) -> dict[str, Any]:
    return {
        "source_id": request.source_id, "event_type": request.event_type, "entity_type": request.entity_type,
        "descending": request.descending, **_common(request),
    }  # fmt: skip


async def _read(context: Context, request: EventRequest) -> _EventRows:
    if request.source_id is not None:
        name, by = written("event.of_source", request.writers)
        return await context.graph.only(name, _EventRows, **_selecting(request), **by)
    common = {**_common(request), "counted": request.counted}
    if request.writers:
        return await context.graph.only(
            cypher.form("event.of_writers", request.way), _EventRows, writers=request.writers,
            event_type=request.event_type, entity_type=request.entity_type, **common,
        )  # fmt: skip
    if request.event_type is None and request.entity_type is None:
        return await context.graph.only(cypher.form("event.page", request.way), _EventRows, **common)
    is_of_event = request.event_type is not None
    return await context.graph.only(
        cypher.form("event.page_of", request.way, "event_type" if is_of_event else "entity_type"),
        _EventRows,
        key=request.event_type if is_of_event else request.entity_type,
        entity_type=request.entity_type if is_of_event else None,
        **common,
    )


async def fold_pending(context: Context) -> None:
    """Raise Stale for entities folded under a previous schema, of types with few enough entities to fold."""
    await as_of.refuse_unfolded(context, await context.graph.only("event.pending", _PendingTypes))


async def _page_as_of(context: Context, request: EventRequest, clocks: Clocks) -> EventPage:
    """Return a page as of a time. It recomputes every entity that may have events."""
    entity_ids = (
        [request.entity_id]
        if request.entity_id
        else await subject_ids(context, request.entity_type, request.source_id)
    )
    if entity_ids is None:
        limit = context.services.limits.recomputed_entities
        message = (
            f"as of a time at most {limit:,} entities are recomputed, and there are more: "
            "give entity_id, or an entity_type or source_id of which there are fewer"
        )
        raise InvalidInput.at("$.at" if clocks.at is not None else "$.at_ingested", message)
    every, live, known = await events_as_of(context, entity_ids, clocks)
    if request.entity_id is not None and not live:
        raise answers.no_entity(request.entity_id)
    events = [
        event
        for event in every
        if request.since <= event.at < request.until
        and request.event_type in (None, event.event_type)
        and request.entity_type in (None, event.entity_type)
    ]
    if request.source_id is not None:
        events = [event for event in await completed(context, events) if event.source_id == request.source_id]
    if request.writers:
        kept = await context.graph.only(
            "observation.by_writers", list[str],
            observation_ids=[event.observation_id for event in events], writers=request.writers,
        )  # fmt: skip
        by_writers = frozenset(kept)
        events = [event for event in events if event.observation_id in by_writers]
    events.sort(key=_place, reverse=request.descending)
    start = request.start
    rest = [
        event for event in events if (_place(event) < start if request.descending else _place(event) > start)
    ]
    page_events = rest[request.offset : request.offset + request.limit + 1]
    return await completed(context, page_events), len(events), [], known


async def subject_ids(
    context: Context, entity_type: str | None, source_id: str | None = None
) -> list[str] | None:
    """Return the ids of all entities, or of those that a source says something of. ``None`` if they are too
    many to recompute for one answer."""
    limit = context.services.limits.recomputed_entities
    ids = await context.graph.only(
        "event.entities", list[str], entity_type=entity_type, source_id=source_id, limit=limit
    )
    return ids if len(ids) <= limit else None


def _place(row: EventRow) -> tuple[int, str]:
    return row.at, row.id


async def events_as_of(
    context: Context, entity_ids: Sequence[str], clocks: Clocks
) -> tuple[list[EventRow], int, int]:
    """Return the events of some entities as of a time: of their survivors that were live then.

    They lack the recorded times and sources that :func:`completed` adds. With them come the number of the
    survivors, and the latest recorded_at that was read.
    """
    events: dict[str, EventRow] = {}
    live = set[str]()
    bounds = clocks.bounds
    for start in range(0, len(entity_ids), _ENTITIES_PER_READ):
        batch = entity_ids[start : start + _ENTITIES_PER_READ]
        states = await recomputed.entities(context, batch, **bounds)
        # Later batches leave out what was recorded after the first.
        bounds["at_ingested"] = states.at_ingested
        for subject_id, row in states.rows.items():
            if not row.live:
                continue
            live.add(subject_id)
            derived = timeline_fields.events(
                context.actor.owner, subject_id, row.type, states.folds[subject_id], states.rules[subject_id]
            )
            for event in derived.values():
                events[event.id] = EventRow(
                    event.id, event.event_type, event.field, event.at, event.text, subject_id, row.type,
                    row.name[:_NAME_CHARACTERS],
                    event.observation_id, 0, None, "", ("", None),
                )  # fmt: skip
    return list(events.values()), len(live), bounds["at_ingested"]


async def completed(context: Context, rows: Iterable[EventRow]) -> list[EventRow]:
    """Return events with the recorded time and the source of their observations."""
    rows = list(rows)
    if not rows:
        return []
    stored = await answers.stored_observations(context, (event.observation_id for event in rows))
    by_id = {
        each.id: {
            "created_at": each.recorded_at, "source_id": each.source_id, "agent": each.agent,
            "written": (each.client, each.by),
        }
        for each in stored
    }  # fmt: skip
    return [event._replace(**by_id[event.observation_id]) for event in rows]
