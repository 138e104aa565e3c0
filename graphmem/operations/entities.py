"""Reading single entities: snapshots, now or as of a time, provenance."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, At, AtIngested, EntityId, IncludeDeleted
from graphmem.errors import NotFound
from graphmem.model import identity, times
from graphmem.model.reduction import Stale
from graphmem.reading import answers, recomputed
from graphmem.reading.answers import EntityRow, ObservationRow
from graphmem.registry import Context, Scope, operation


class GetEntity(Arguments):
    """What ``entities.get`` takes."""

    entity_id: EntityId
    include_deleted: IncludeDeleted = False


@operation(
    "entities.get",
    "GET /entities/{entity_id}",
    tool="retrieve_entity",
    command="entities get",
    scope=Scope.READ,
    errors=(NotFound,),
    example="ent_0123456789abcdef01234567",
)
async def get_entity(context: Context, arguments: GetEntity) -> answers.Entity:
    """Return one entity with its current snapshot and the provenance of each field."""
    row = await context.graph.one(
        "entity.get", entity_id=arguments.entity_id, include_deleted=arguments.include_deleted
    )
    if row is None:
        raise answers.no_entity(arguments.entity_id)
    return answers.entity(EntityRow(*row["entity"]))


class GetSnapshot(Arguments):
    """What ``entities.snapshot`` takes."""

    entity_id: EntityId
    at: At = None
    at_ingested: AtIngested = None
    include_deleted: IncludeDeleted = False
    expand_provenance: bool = Field(
        default=False, description="Whether the answer carries the observations that set the fields."
    )


class Snapshot(answers.Entity):
    """An entity's snapshot, as of ``at`` and ``at_ingested`` where they were asked for."""

    at: NotRequired[str | None]
    at_ingested: NotRequired[str | None]
    provenance_observations: NotRequired[dict[str, answers.Observation]]


@operation(
    "entities.snapshot",
    "POST /get_entity_snapshot",
    tool="retrieve_entity_snapshot",
    command="entities snapshot",
    scope=Scope.READ,
    errors=(NotFound,),
    example="ent_0123456789abcdef01234567 --at 2026-06-01T00:00:00Z",
    people={"expand_provenance": True},
)
async def get_snapshot(context: Context, arguments: GetSnapshot) -> Snapshot:
    """Return an entity's snapshot, now or as of an earlier time, each field with the observation that set it.

    `at` is when things were so, `at_ingested` when they were known here. Where nothing was observed yet,
    the snapshot is empty. `expand_provenance` adds the observations themselves: time, source and writer.
    """
    row = await _as_of(
        context, arguments.entity_id, arguments.at, arguments.at_ingested, arguments.include_deleted
    )
    answer: Snapshot = {**answers.entity(row)}
    if arguments.at is not None:
        answer["at"] = times.render(arguments.at)
    if arguments.at_ingested is not None:
        answer["at_ingested"] = times.render(arguments.at_ingested)
    if arguments.expand_provenance:
        winners = {one for held in answer.get("provenance", {}).values() for one in held.split(",")}
        answer["provenance_observations"] = await _observations(context, winners)
    return answer


async def _as_of(
    context: Context, entity_id: str, at: int | None, at_ingested: int | None, include_deleted: bool = False
) -> EntityRow:
    """Return an entity as of two clocks; the current one is read as it is kept.

    Raises:
        NotFound: there is none, or it was deleted by then.
    """
    if at is None and at_ingested is None:
        row = await context.graph.one("entity.get", entity_id=entity_id, include_deleted=include_deleted)
        if row is not None:
            return EntityRow(*row["entity"])
    else:
        latest = (times.LATEST if cutoff is None else cutoff for cutoff in (at, at_ingested))
        found = (await recomputed.entities(context, [entity_id], *latest)).get(entity_id)
        if found is not None and (found.live or include_deleted):
            return found
    raise answers.no_entity(entity_id)


async def _observations(context: Context, observation_ids: set[str]) -> dict[str, answers.Observation]:
    row = await context.graph.one(
        "observation.by_id", observation_ids=sorted(observation_ids), include_deleted=True
    )
    assert row is not None
    found = [answers.observation(ObservationRow(*one)) for one in row["observations"]]
    return {one["id"]: one for one in sorted(found, key=lambda one: one["id"])}


class GetProvenance(Arguments):
    """What ``entities.provenance`` takes."""

    entity_id: EntityId
    field: str = Field(min_length=1, max_length=identity.NAME_LIMIT, description="Name of the field.")
    at: At = None
    at_ingested: AtIngested = None


class Provenance(TypedDict):
    """Where the value of one field comes from."""

    entity_id: str
    field: str
    value: Any
    version: int
    observation_ids: list[str]
    observations: list[answers.Observation]
    sources: list[dict[str, Any]]


@operation(
    "entities.provenance",
    "POST /get_field_provenance",
    tool="retrieve_field_provenance",
    command="entities provenance",
    scope=Scope.READ,
    errors=(NotFound,),
    example="ent_0123456789abcdef01234567 email",
)
async def get_provenance(context: Context, arguments: GetProvenance) -> Provenance:
    """Return the observation behind one field of a snapshot: its time, its source and who wrote it."""
    row = await _as_of(context, arguments.entity_id, arguments.at, arguments.at_ingested)
    if row.is_stale:
        raise Stale([row.id])
    held = answers.provenance(row.fields, row.values, row.winners)
    if arguments.field not in held:
        raise NotFound(
            f"the snapshot of {arguments.entity_id} has no field {arguments.field!r}",
            entity_id=arguments.entity_id,
            field=arguments.field,
            fields=list(held),
        )
    found = await _observations(context, set(held[arguments.field].split(",")))
    return {
        "entity_id": arguments.entity_id,
        "field": arguments.field,
        "value": answers.current(row.fields, row.values)[arguments.field],
        "version": row.version,
        "observation_ids": held[arguments.field].split(","),
        "observations": [found[one] for one in held[arguments.field].split(",")],
        "sources": [],
    }
