"""One entity: its snapshot now or as of a time, and the provenance of a field."""

from typing import Any, NotRequired, cast

from pydantic import Field

from graphmem.arguments import EntityId, IncludeDeleted
from graphmem.budgets import Sized
from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.model import identity
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.reduction import Stale
from graphmem.reading import answers, as_of, shaping
from graphmem.reading.as_of import NOW, AsOf, AsOfArguments
from graphmem.reading.pages import Paged, PageEnvelope, page_of
from graphmem.reading.shaping import (
    OneEntity,
    ShapedArguments,
    shaped,
)
from graphmem.reading.shared_rows import check_whole
from graphmem.reading.source_answers import FilePlace, SourceReference, as_reference, place_of, read_sources
from graphmem.registry import Scope, operation


class GetEntity(ShapedArguments, Sized):
    entity_id: EntityId
    include_deleted: IncludeDeleted = False


@operation("entities.get", Scope.READ)
@shaped()
async def get_entity(context: Context, arguments: GetEntity) -> OneEntity:
    """Return one entity with its current snapshot and the provenance of each field."""
    row = await as_of.entity(context, arguments.entity_id, NOW, include_deleted=arguments.include_deleted)
    return {**answers.entity(row)}


class GetSnapshot(ShapedArguments, AsOfArguments, Sized):
    entity_id: EntityId
    include_deleted: IncludeDeleted = False
    expand_provenance: bool = False


class Snapshot(OneEntity, AsOf):
    """An entity with its snapshot. ``at`` and ``at_ingested`` stand where the request gave them.

    ``hint`` says that nothing of it counts at that time.
    """


@operation("entities.snapshot", Scope.READ)
@shaped()
async def get_snapshot(context: Context, arguments: GetSnapshot) -> Snapshot:
    """Return an entity's snapshot, current or as of a time, each field with the observation that set it.

    `at` counts observations by the time of what they describe, `at_ingested` by the time of recording. If no
    observation counts, the snapshot is empty. `provenance: full` adds the observations: time, source, writer.
    """
    clocks = arguments.clocks
    row = await as_of.entity(context, arguments.entity_id, clocks, include_deleted=arguments.include_deleted)
    return {**answers.entity(row), **clocks.answered, **clocks.hinted(not row.observation_count)}


class GetProvenance(AsOfArguments, Paged):
    entity_id: EntityId
    field: str = Field(min_length=1, max_length=identity.NAME_LIMIT)


class QuotedPlace(FilePlace):
    """The place in a file from which an observation has the value, and the text there as ``quote``."""

    observation_id: str
    source_id: str | None


class Provenance(PageEnvelope):
    """The value of one field, and a page of the observations behind it, which are several for a union.

    ``observation_ids`` names all of them. ``sources`` are the files of the page, ``places`` says where in
    them the value stands.
    """

    entity_id: str
    field: str
    value: Any
    version: int
    observation_ids: list[str]
    observations: list[answers.Observation]
    sources: list[SourceReference]
    places: NotRequired[list[QuotedPlace]]


@operation("entities.provenance", Scope.READ)
async def get_provenance(context: Context, arguments: GetProvenance) -> Provenance:
    """Return the observations that set one field of a snapshot: time, source, place in the file, writer."""
    row = await as_of.entity(context, arguments.entity_id, arguments.clocks)
    check_whole(row)
    if row.is_stale:
        raise Stale([row.id])
    snapshot, winners_by_field = answers.snapshot_parts(row, CANONICAL_NAME)
    if arguments.field not in winners_by_field:
        raise NotFound(
            f"the snapshot of {arguments.entity_id} has no field {arguments.field!r}",
            entity_id=arguments.entity_id,
            field=arguments.field,
            fields=list(winners_by_field),
        )
    observation_ids = winners_by_field[arguments.field].split(",")
    page, envelope = page_of(context, "entities.provenance", arguments, observation_ids, str)
    observations = await shaping.observations(context, set(page))
    source_ids = {each["source_id"] for each in observations.values() if each["source_id"] is not None}
    files = await read_sources(context, source_ids)
    places = [place for each in observations.values() if (place := _place(each, arguments.field))]
    answer: Provenance = {
        "entity_id": arguments.entity_id,
        "field": arguments.field,
        "value": snapshot[arguments.field],
        "version": row.version,
        "observation_ids": observation_ids,
        "observations": [observations[observation_id] for observation_id in page],
        **envelope,
        "sources": [as_reference(row) for row in files],
    }
    return {**answer, "places": places} if places else answer


def _place(observation: answers.Observation, field: str) -> QuotedPlace | None:
    if "span" not in observation:
        return None
    place = place_of(
        answers.decoded(observation["span"]), field, answers.decoded(observation["fields"][field])
    )
    if not place:
        return None
    of_observation = {"observation_id": observation["id"], "source_id": observation["source_id"]}
    return cast("QuotedPlace", {**of_observation, **place})
