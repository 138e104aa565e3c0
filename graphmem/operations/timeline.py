"""The timeline: the dates in the fields of entities, as events in their order."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NotRequired

from pydantic import Field

from graphmem.arguments import (
    EntityId,
    EntityType,
    Moment,
    MomentBefore,
    NotBlank,
    Spelled,
)
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound
from graphmem.model import times
from graphmem.model.reduction import Stale
from graphmem.reading import cursors, names_in_use, timeline_pages
from graphmem.reading.as_of import AsOf, AsOfArguments, Clocks
from graphmem.reading.names_in_use import Warned
from graphmem.reading.pages import NEWEST, ByWriter, IndexedPageEnvelope, Page, Paged, first_of, start_of
from graphmem.reading.timeline_pages import Event, EventRequest, EventRow
from graphmem.registry import Scope, operation


class ListTimeline(AsOfArguments, ByWriter, Paged):
    event_type: Annotated[Annotated[str, Field(max_length=200)] | None, Spelled(shown="type")] = None
    start_date: Annotated[Moment | None, Spelled("after_date", shown="from")] = None
    end_date: Annotated[MomentBefore | None, Spelled("before_date", shown="to")] = None
    entity_type: EntityType | None = None
    entity_id: EntityId | None = None
    source_id: Annotated[str, Field(max_length=200), NotBlank] | None = None
    order: Annotated[Literal["asc", "desc"], Spelled("sort_order")] = "desc"

    instead: ClassVar[Mapping[str, str]] = {
        "order_by": "give order, asc or desc; events are ordered by their instants"
    }


class TimelinePage(AsOf, Warned, IndexedPageEnvelope):
    """A page of events in the order of their instants, then of their ids.

    ``next_cursor`` stands where more follow. Events are small, so no page is ``truncated``.
    ``types_pending`` names entity types with a changed schema and too many entities to fold again for one
    answer. Their events may still follow the previous schema, until the service has folded them in the
    background. If there is no event, ``warnings`` proposes the type that was probably meant by an unknown
    one.
    """

    events: list[Event]
    types_pending: NotRequired[list[str]]


@operation("timeline.list", Scope.READ)
async def list_timeline(context: Context, arguments: ListTimeline) -> TimelinePage:
    """List timeline events, the latest first: of all entities, of one type, of one entity, or of one file.

    Events are the dates of live entities: of the temporal fields of their schema, else of fields named so
    (date_start, due_date, ...). `at` and `at_ingested` answer the events of that time, of up to 2,000
    entities.
    """
    since, until = _range(arguments)
    query = cursors.fingerprint(context, "timeline.list", arguments)
    requested = arguments.clocks
    place, clocks = start_of(arguments, query, NEWEST, requested)
    if place is not None and not timeline_pages.EVENT_ID.fullmatch(place["id"]):
        raise cursors.refused()
    request = EventRequest(
        since=since, until=until, descending=arguments.order == "desc",
        place=None if place is None else (place["at"], place["id"]), event_type=arguments.event_type,
        entity_type=arguments.entity_type, entity_id=arguments.entity_id, source_id=arguments.source_id,
        offset=arguments.offset, limit=arguments.limit, counted=arguments.include_total_count,
        writers=arguments.writers,
    )  # fmt: skip
    timeline, total, pending, known = await timeline_pages.page(context, request, clocks)
    events, last = first_of(timeline, arguments.limit)
    following = None
    if last is not None:
        following = {"at": last.at, "id": last.id, **({} if clocks.now else {"known": known})}
    page: TimelinePage = {
        "events": [timeline_pages.event(row) for row in events],
        **Page(events, following, total=total).envelope(arguments, query),
        **requested.answered,
        **await names_in_use.warned(context, events, [arguments.entity_type]),
    }
    if pending:
        page["types_pending"] = pending
    return page


def _range(arguments: ListTimeline) -> tuple[int, int]:
    since = times.EARLIEST if arguments.start_date is None else arguments.start_date
    until = times.LATEST + 1 if arguments.end_date is None else arguments.end_date
    if since > until:
        message = "it lies before `from` (start_date): give a range that begins before it ends"
        raise InvalidInput.at("$.end_date", message)
    return since, until


class GetEvent(AsOfArguments):
    event_id: str = Field(min_length=1, max_length=200)
    entity_id: EntityId | None = None


_StoredEvent = tuple[EventRow, bool, str | None]
"""An event, whether it is on the timeline of now, and the id of its entity if that must be folded again."""


class FoundEvent(AsOf):
    """One event."""

    event: Event


@operation("timeline.get", Scope.READ)
async def get_event(context: Context, arguments: GetEvent) -> FoundEvent:
    """Return one timeline event, now or as of a time, with its field and its observation.

    If the field has changed since, or the entity was deleted or merged, the event exists as of a time only.
    """
    row = await context.graph.one("event.get", _StoredEvent, event_id=arguments.event_id)
    clocks = arguments.clocks
    if not clocks.now:
        event = await _as_of(context, arguments, row[0] if row else None, clocks)
        return {"event": timeline_pages.event(event), **clocks.answered}
    if row is None or not row[1]:
        # A changed schema may list the event again, once its entity is folded again.
        await timeline_pages.fold_pending(context)
        row = await context.graph.one("event.get", _StoredEvent, event_id=arguments.event_id)
    if row is None:
        raise NotFound(f"there is no timeline event {arguments.event_id}", event_id=arguments.event_id)
    event, is_listed, stale_id = row
    if stale_id:
        raise Stale([stale_id])
    if not is_listed:
        message = (
            f"the field {event.source_field} of {event.entity_id} no longer has this date, or the entity was "
            "deleted or merged: give as `at` (or `at_ingested`) a time at which the field had the date"
        )
        raise NotFound(message, event_id=event.id, entity_id=event.entity_id, field=event.source_field)
    return {"event": timeline_pages.event(event)}


async def _as_of(context: Context, arguments: GetEvent, known: EventRow | None, clocks: Clocks) -> EventRow:
    """Return an event as of a time: of its entity if that is known, else of any entity. A late observation
    that never won has an event as of its time only, which is not stored."""
    entity_id = known.entity_id if known else arguments.entity_id
    entity_ids = [entity_id] if entity_id else await timeline_pages.subject_ids(context, None)
    if entity_ids is None:
        message = (
            f"the event {arguments.event_id} was never on the current timeline: "
            "give its entity_id too, if it was there as of a time only"
        )
        raise NotFound(message, event_id=arguments.event_id)
    events, *_ = await timeline_pages.events_as_of(context, entity_ids, clocks)
    rows = await timeline_pages.completed(context, (each for each in events if each.id == arguments.event_id))
    if not rows:
        message = f"there was no timeline event {arguments.event_id} then"
        raise NotFound(message, event_id=arguments.event_id)
    return rows[0]
