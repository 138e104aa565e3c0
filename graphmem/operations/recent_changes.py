"""What changed: a list of changes, the newest first, or those after a place as they come."""

from typing import Annotated, NotRequired, Self

from pydantic import Field, model_validator

from graphmem.arguments import MomentBefore, MomentFrom, Spelled
from graphmem.changes import change_pages, wanted_changes
from graphmem.changes.change import Change, cursor_at_end, place_of
from graphmem.changes.change_feed import ChangeFeed
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.wanted_changes import ChangeAnswer
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import times
from graphmem.operations.subscriptions import FollowChanges, changes_for
from graphmem.reading import cursors, names_in_use
from graphmem.reading.as_of import NOW
from graphmem.reading.names_in_use import Warned
from graphmem.reading.pages import LeavesOut, Page, Paged, PageEnvelope, start_of
from graphmem.registry import Scope, operation

WAIT_LIMIT = 25  # seconds that a call may wait for a change


class ListChanges(Paged, FollowChanges):
    depth: int = Field(default=0, ge=0, le=1)
    since: Annotated[MomentFrom | None, Spelled("from")] = None
    until: Annotated[MomentBefore | None, Spelled("to")] = None
    wait_seconds: float = Field(default=0, ge=0, le=WAIT_LIMIT)

    @model_validator(mode="after")
    def _one_order(self) -> Self:
        alone = {"cursor", "offset", "since", "until", "depth", "include_total_count"}
        if self.after is not None and (both := sorted(alone & self.model_fields_set)):
            raise ValueError(f"with after, leave out {', '.join(both)}")
        if self.after is None and self.wait_seconds:
            raise ValueError("give after with wait_seconds: the newest changes are there at once")
        if self.depth and not self.wanted_changes.entity_ids:
            raise ValueError("give entity_id with depth")
        return self


class ChangesPage(Warned, LeavesOut, PageEnvelope):
    """A page of changes.

    ``resume_cursor`` is the place after all of them; give it as ``after`` to see what comes later. ``more``
    stands where more came after it already. ``changes_pending`` stands while the worker works out what a
    withdrawal changed: what came after the cursor is listed then.
    """

    changes: list[ChangeAnswer]
    resume_cursor: NotRequired[str]
    more: NotRequired[bool]
    changes_pending: NotRequired[bool]


@operation("changes.list", Scope.READ)
async def list_changes(context: Context, arguments: ListChanges) -> ChangesPage:
    """List what changed, the newest first: which entities, relationships, files and schemas, in which fields.

    Filter by kind, type, entity, field, writer and time; `depth` 1 adds the neighbours of the entity. Each
    change names its transaction and who wrote it. With `after` it lists what came after a cursor, the oldest
    first, and `wait_seconds` waits for it. One page looks through 2,000 transactions at most, and fewer
    where many are merges: its `next_cursor` goes on. With `subscription_id` it lists the changes that this
    subscription sends; without `after`, it has the `resume_cursor` of now alone.
    """
    if arguments.after is not None or arguments.subscription_id is not None:
        return await _after(context, arguments, arguments.after)
    query = cursors.fingerprint(context, "changes.list", arguments, apart=("values",))
    start, _ = start_of(arguments, query, {"at": int, "index": int}, NOW)
    place = None if start is None else (start["at"], start["index"])
    is_first = arguments.cursor is None
    head = await context.services.of(ChangeFeed).head(context.actor.owner, settled=False)
    end = head.recorded_at + 1
    since = times.EARLIEST if arguments.since is None else arguments.since
    until = end if arguments.until is None else min(arguments.until, end)
    if arguments.until is not None and since > arguments.until:
        raise InvalidInput.at("$.until", "it lies before `since`: give a range that begins before it ends")
    filters = arguments.wanted_changes
    request = NewestFirst(
        filters, since, until, None if arguments.include_total_count else place,
        count=1_000_000 if arguments.include_total_count else arguments.offset + arguments.limit + 1,
        surroundings=tuple(sorted(filters.entity_ids)), depth=arguments.depth,
    )  # fmt: skip
    newest, end_place = await change_pages.newest_first(context, request)
    rest = [each for each in newest if place is None or each.place < place][arguments.offset :]
    changes = rest[: arguments.limit]
    following: dict[str, int] | None = None
    if len(rest) > len(changes):
        following = dict(zip(("at", "index"), changes[-1].place, strict=True))
    elif end_place is not None:
        following = dict(zip(("at", "index"), end_place, strict=True))
    page = Page(
        changes, following, truncated=len(rest) <= len(changes) and end_place is not None,
        total=len(newest) if end_place is None else None, least=len(newest),
        scanned=None if end_place is None else change_pages.SCANNED_TRANSACTIONS,
    )  # fmt: skip
    answer: ChangesPage = {
        "changes": _answers_of(context, head.node_key, changes, arguments),
        **page.envelope(arguments, query),
        **await names_in_use.warned(context, changes, arguments.types),
    }
    if is_first and (resume := await cursor_at_end(context, head.sequence)):
        answer["resume_cursor"] = resume
    return answer


async def _after(context: Context, arguments: ListChanges, cursor: str | None) -> ChangesPage:
    filters, standing, changes = arguments.wanted_changes, None, list[ChangeAnswer]()
    if arguments.subscription_id is not None:
        filters, standing = await changes_for(context, arguments.subscription_id)
    answer: ChangesPage = {"changes": changes, "limit": arguments.limit, "offset": 0}
    if cursor is None:
        head = await context.services.of(ChangeFeed).head(context.actor.owner, settled=False)
        clock = None if standing is None else times.now()
        answer["resume_cursor"] = await cursor_at_end(context, head.sequence, clock)
        return answer
    place = await place_of(context, cursor, is_standing=standing is not None)
    following, place, has_more, node_key, is_pending = await change_pages.after(
        context, place, filters, arguments.limit, arguments.wait_seconds, standing
    )
    changes += _answers_of(context, node_key, following, arguments)
    if has_more and changes:
        resume = changes[-1]["cursor"]
    else:
        resume = await cursor_at_end(context, place.sequence, place.clock)
    answer["resume_cursor"] = resume or cursor
    if has_more:
        answer["more"] = True
    if is_pending:
        answer["changes_pending"] = True
    return answer


def _answers_of(
    context: Context, node_key: str, changes: list[Change], arguments: ListChanges
) -> list[ChangeAnswer]:
    owner = context.actor.owner
    return [wanted_changes.answer(owner, node_key, each, values=arguments.values) for each in changes]
