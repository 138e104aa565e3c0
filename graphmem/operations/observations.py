"""Lists of observations, and the history of an entity."""

from typing import Annotated, Any, NamedTuple, NotRequired, cast

from pydantic import Field

from graphmem.arguments import (
    EntityId,
    EntityType,
    IncludeDeleted,
    IncludeExcluded,
    Moment,
    MomentUntil,
    NotBlank,
    Spelled,
)
from graphmem.context import Context
from graphmem.database.left_out import as_read
from graphmem.errors import InvalidInput
from graphmem.model import identity, times
from graphmem.reading import answers, cursors, names_in_use
from graphmem.reading.names_in_use import Warned
from graphmem.reading.pages import ByWriter, IndexedPageEnvelope, Page, Paged, written
from graphmem.reading.shared_rows import ObservationRow, ObservationsOfEntity
from graphmem.registry import Scope, operation


class ObservationFilters(ByWriter):
    entity_id: EntityId | None = None
    entity_type: EntityType | None = None
    observation_id: Annotated[str, Field(max_length=200), NotBlank] | None = None
    source_id: Annotated[str, Field(max_length=200), NotBlank] | None = None
    field: Annotated[str | None, Field(max_length=identity.NAME_LIMIT)] = None
    observed_since: Moment | None = None
    observed_until: MomentUntil | None = None
    created_since: Annotated[Moment | None, Spelled("updated_since")] = None

    @property
    def observed(self) -> dict[str, int]:
        """The first and the last time of a range, as parameters of queries."""
        since, until = self.observed_since, self.observed_until
        return {
            "observed_since": times.EARLIEST if since is None else since,
            "observed_until": times.LATEST if until is None else until,
        }

    @property
    def recorded_since(self) -> int:
        return times.EARLIEST if self.created_since is None else self.created_since


class QueryObservations(Paged):
    filters: ObservationFilters = ObservationFilters()
    include_deleted: IncludeDeleted = False
    include_excluded: IncludeExcluded = False


class ObservationPage(IndexedPageEnvelope, Warned):
    """A page of observations, newest first.

    ``version`` is the version of the entity, if one is named; ``total`` counts the observations that fit the
    filters. ``next_cursor`` stands where more follow. ``truncated`` means that the page ends early because
    its values are large; without a cursor, ``next_offset`` says where it goes on. If no observation fits,
    ``warnings`` proposes the type that was probably meant by an unknown one.
    """

    observations: list[answers.Observation]
    version: NotRequired[int]


@operation("observations.query", Scope.READ)
async def query_observations(context: Context, arguments: QueryObservations) -> ObservationPage:
    """List observations, newest first: of one entity, of a type, from a source, or all.

    The order is by `observed_at`, then by id. Give `next_cursor` as `cursor` for the next page;
    `include_total_count` adds `total`.
    """
    cursors.refuse_both(arguments.cursor, arguments.offset)
    filters = arguments.filters
    if filters.field is not None and (
        filters.entity_id is None or filters.observation_id or filters.source_id
    ):
        raise InvalidInput.at("$.filters.field", "give it with entity_id, and no other id")
    query = cursors.fingerprint(context, "observations.query", arguments)
    listed = await _listed(context, arguments, query)
    rows, read = listed.rows, as_read(listed.rows)
    place = {"at": read[-1].observed_at, "id": read[-1].id} if listed.more and read else None
    answer: ObservationPage = {
        "observations": await answers.with_withdrawals(context, rows),
        **Page(rows, place, listed.truncated, listed.total).envelope(arguments, query),
        **await names_in_use.warned(context, rows, [filters.entity_type]),
    }
    if listed.version is not None:
        answer["version"] = listed.version
    return answer


class History(ObservationPage):
    """A page of observations of an entity, newest first; ``field`` is the one that is asked for."""

    field: NotRequired[str]


class EntityHistory(Paged):
    entity_id: EntityId
    field: Annotated[
        Annotated[str, Field(max_length=identity.NAME_LIMIT)] | None, Spelled("name", option="field")
    ] = None
    include_deleted: IncludeDeleted = False


@operation("entities.history", Scope.READ)
async def entity_history(context: Context, arguments: EntityHistory) -> History:
    """Return the observations of an entity, or of one of its fields, newest first.

    The first value is the current one, unless a correction or the rules of its type say otherwise. A deleted
    entity has a history with `include_deleted`.
    """
    # The answer of this operation is kept within the budget, not that of the other one.
    paging = arguments.model_dump(exclude={"entity_id", "field", "max_characters"}, exclude_unset=True)
    filters = ObservationFilters(entity_id=arguments.entity_id, field=arguments.field)
    page = await query_observations(context, QueryObservations(filters=filters, **paging))
    named = {} if arguments.field is None else {"field": arguments.field}
    return cast("History", {**page, **named})


class _Listed(NamedTuple):
    """The observations of a page, and how many fit the filters, if that is wanted.

    ``version`` is that of the entity that the filters name.
    """

    rows: list[ObservationRow]
    truncated: bool = False
    more: bool = False
    total: int | None = 0
    version: int | None = None


_PageRow = tuple[list[ObservationRow], bool, bool, int]


async def _listed(context: Context, arguments: QueryObservations, query: cursors.Query) -> _Listed:
    """Read the page along the index that fits the filters."""
    filters = arguments.filters
    observed = filters.observed
    included = {"include_deleted": arguments.include_deleted, "include_excluded": arguments.include_excluded}
    at, after = cursors.newest_first(query, arguments.cursor, observed["observed_until"])
    window: dict[str, Any] = {
        "observed_since": observed["observed_since"], "at": at, "after": after, **included,
        "offset": arguments.offset, "limit": arguments.limit,
    }  # fmt: skip
    reach = arguments.offset + arguments.limit + 1
    types = [filters.entity_type] if filters.entity_type else []
    # A page has the total, unless a time is filtered by or withdrawn observations are included.
    times_and_field = filters.created_since, filters.observed_since, filters.observed_until, filters.field
    is_partial = times_and_field != (None,) * 4 or bool(filters.writers)
    counts = arguments.include_total_count and (is_partial or arguments.include_excluded)
    if filters.observation_id is not None:
        return await _named_observation(context, arguments)
    if filters.source_id is not None:
        name, by = written("observation.page_by_source", filters.writers)
        return _Listed(*await context.graph.only(
            name, _PageRow, **by, source_id=filters.source_id, entity_id=filters.entity_id,
            entity_type=filters.entity_type, recorded_since=filters.recorded_since,
            observed_until=observed["observed_until"], counted=arguments.include_total_count, **window,
        ))  # fmt: skip
    if filters.entity_id is not None:
        return await _of_entity(context, filters, reach, window, counts=counts)
    if filters.created_since is not None:
        name, by = written("observation.page_since", filters.writers)
        page, truncated, more = await context.graph.only(
            name, tuple[list[ObservationRow], bool, bool], **by, recorded_since=filters.created_since,
            types=types, **window,
        )  # fmt: skip
        total = None
        if counts:
            name, by = written("observation.count_since", filters.writers)
            total = await context.graph.only(
                name, int, **by, recorded_since=filters.created_since, types=types, **observed, **included
            )
        return _Listed(page, truncated, more, total)
    if filters.entity_type is not None:
        name, by = written("observation.page_by_type", filters.writers)
        window["entity_type"] = filters.entity_type
    else:
        name, by = written("observation.page", filters.writers)
    listed = _Listed(*await context.graph.only(name, _PageRow, reach=reach, **window, **by))
    if counts:
        name, by = written("observation.count_until", filters.writers)
        total = await context.graph.only(name, int, **by, types=types, **observed, **included)
        return listed._replace(total=total)
    return listed


async def _of_entity(
    context: Context, filters: ObservationFilters, reach: int, window: dict[str, Any], *, counts: bool
) -> _Listed:
    of_entity = {
        "entity_id": filters.entity_id, "recorded_since": filters.recorded_since, "field": filters.field
    }  # fmt: skip
    name, by = written("observation.of_entity", filters.writers)
    row = await context.graph.one(
        name, ObservationsOfEntity, recorded_until=times.LATEST, subject_ids=None, reach=reach,
        **by, **of_entity, **window,
    )  # fmt: skip
    if row is None:
        raise answers.no_entity(filters.entity_id, may_be_deleted=not window["include_deleted"])
    page, truncated, more, total, version, entity_type = row
    if filters.entity_type not in (None, entity_type):
        return _Listed([], truncated, version=version)
    listed = _Listed(page, truncated, more, total, version)
    if counts:
        name, by = written("observation.count_of_entity", filters.writers)
        included = {"include_excluded": window["include_excluded"]}
        total = await context.graph.only(name, int, **by, **of_entity, **included, **filters.observed)
        return listed._replace(total=total)
    return listed


async def _named_observation(context: Context, arguments: QueryObservations) -> _Listed:
    """Return the named observation, whether it counts or not, if it fits the other filters."""
    filters = arguments.filters
    name, by = written("observation.by_id", filters.writers)
    rows = await context.graph.only(
        name, list[ObservationRow], **by, observation_ids=[filters.observation_id],
        include_deleted=arguments.include_deleted, include_excluded=True,
    )  # fmt: skip
    observed = filters.observed
    fitting = [
        row
        for row in rows
        if filters.entity_id in (None, row.entity_id)
        and filters.entity_type in (None, row.entity_type)
        and filters.source_id in (None, row.source_id)
        and row.recorded_at >= filters.recorded_since
        and observed["observed_since"] <= row.observed_at <= observed["observed_until"]
    ]
    return _Listed(fitting[arguments.offset :], total=len(fitting))
