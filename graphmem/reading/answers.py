"""The shapes of answers, and how rows become answers.

Values are canonical JSON in the database. An answer contains these texts as they are; none is parsed.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, NotRequired, TypeVar, cast

import orjson
from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.errors import NotFound
from graphmem.model import canonical, ids, membership, times
from graphmem.model.attribution import ANONYMOUS, UNATTRIBUTED
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.reduction import Stale
from graphmem.reading.shared_rows import (
    EntityRow,
    ObservationRow,
    RelationshipRow,
    check_whole,
    refuse_stale,
    refuse_stale_relationships,
)
from graphmem.receipts.collected import note

Fields = dict[str, Any]
T = TypeVar("T")
ANSWER_CHARACTERS: Final = 8_000_000
"""Characters of values in one answer; one item at least. ``entity/_fitting.cypher`` has the same limit."""


class EntityName(TypedDict):
    """Which entity is meant: its id, its type, and its name."""

    entity_id: str
    entity_type: str
    canonical_name: str


class VersionedEntity(EntityName):
    """Which entity is meant, and in which version."""

    version: int


class Entity(VersionedEntity):
    """An entity with its snapshot: ``provenance`` names, for each field, the observation that set it.

    ``state`` is live, deleted or merged; a merged entity has ``merged_to_entity_id``. The id of an e-mail
    address that several people share has their ids as ``parted_into``, and shows what the address alone says.
    Times are ISO 8601 in UTC. ``version`` rises by one with every transaction that touches the entity.
    ``schema_version`` is null while no schema is registered. ``computed_at`` is the time of the newest
    observation, so that the same observations give the same answer.
    """

    state: str
    schema_version: str | None
    observation_count: int
    created_at: str | None
    last_observation_at: str | None
    computed_at: str | None
    merged_to_entity_id: NotRequired[str]
    parted_into: NotRequired[list[str]]
    snapshot: NotRequired[Fields]
    provenance: NotRequired[dict[str, str]]


class Reason(TypedDict):
    """Why two entities may be the same: their values of a field, and the similarity, 0 to 1."""

    field: str
    a: str
    b: str
    similarity: float


class Likeness(TypedDict):
    """A likely duplicate of another entity. A proposal: nothing is merged by it."""

    entity_id: str
    canonical_name: str
    score: float
    reasons: list[Reason]


class Writer(TypedDict):
    """Who wrote: ``by`` is the account, how it authenticated, its credential, and the agent that signed.

    ``agent`` is the thumbprint of the agent's key, ``anonymous`` if no agent signed, and ``unattributed`` for
    what was stored before writers were kept; ``by`` is then null. ``client`` is the name that the program
    gave itself: it proves nothing. The names in ``by`` are those of the time of the write.
    """

    agent: str
    client: str | None
    by: Any


class Observation(TypedDict):
    """One observation of an entity: its fields, its time, its time of recording, and its writer.

    ``span`` is its place in the file that it was read from; ``fields`` in it are the places of its fields.
    ``exclusions`` stand where it does not count. If it counts for another entity than it was stored for, that
    one is ``home_entity_id``: a split, ``split_id``, moved it, or several people share its e-mail address.
    """

    id: str
    entity_id: str
    home_entity_id: NotRequired[str]
    split_id: NotRequired[str]
    entity_type: str
    canonical_name: NotRequired[str]
    kind: str
    observed_at: str
    recorded_at: str
    learned_at: NotRequired[str]
    created_at: str
    fields: Fields
    source_priority: float
    specificity_score: float
    observation_source: str
    source_id: str | None
    interpretation_id: str | None
    span: NotRequired[Any]
    schema_version: str | None
    identity_basis: str | None
    transaction_id: str
    idempotency_key: str | None
    provenance: Writer
    exclusions: NotRequired[list[Fields]]


class RelationshipObservation(TypedDict):
    """One observation of a relationship: its creation (with metadata), deletion or restoration."""

    id: str
    kind: str
    observed_at: str
    recorded_at: str
    learned_at: NotRequired[str]
    metadata: Fields
    source_priority: float
    specificity_score: float
    observation_source: str
    source_id: str | None
    transaction_id: str
    provenance: Writer


class VersionedRelationship(TypedDict):
    """Which relationship is meant, in which version, and whether it is live."""

    relationship_key: str
    relationship_id: str
    relationship_type: str
    source_entity_id: str
    target_entity_id: str
    is_live: bool
    version: int


class Relationship(VersionedRelationship):
    """A typed relationship between two entities; ``snapshot`` is its current metadata."""

    observation_count: int
    created_at: str
    last_observation_at: str
    snapshot: Fields
    provenance: NotRequired[dict[str, str]]


def no_entity(entity_id: str | None, *, may_be_deleted: bool = False) -> NotFound:
    """Return the error of an entity that does not exist, or that ``include_deleted`` may show."""
    message = f"there is no entity {entity_id}"
    if entity_id is not None and ids.ENTITY_ID.fullmatch(entity_id) is None:
        message += (
            ": an entity id is ent_ and 24 hexadecimal digits, and POST /retrieve_entity_by_identifier finds "
            "an entity by its name"
        )
    elif may_be_deleted:
        message += ": if it was deleted, include_deleted shows it"
    return NotFound(message, entity_id=entity_id)


def when(micros: int | None) -> str | None:
    return None if micros is None else times.render(micros)


def of_row(answer: type[T], row: Any) -> T:
    """Return those members of an answer that are columns of a row; times (``…_at``) are rendered."""
    values = ((name, is_time, getattr(row, name)) for name, is_time in _columns(answer, type(row)))
    return cast("T", {name: when(value) if is_time else value for name, is_time, value in values})


def part_of(answer: type[T], members: Mapping[str, Any]) -> T:
    """Return those of some members that an answer has."""
    return cast("T", {name: value for name, value in members.items() if name in answer.__annotations__})


def without_empty(answer: T, *names: str) -> T:
    """Return an answer without those of some members that are null or an empty text."""
    members = cast("Mapping[str, Any]", answer).items()
    return cast("T", {name: each for name, each in members if each not in (None, "") or name not in names})


@cache
def _columns(answer: type, row_class: Any) -> list[tuple[str, bool]]:
    names = (name for name in answer.__annotations__ if name in row_class._fields)
    return [(name, name.endswith("_at")) for name in names]


def decoded(part: Any) -> Any:
    """Return a part of an answer that is stored JSON as a value."""
    return canonical.decode(orjson.dumps(part).decode())


def stored_json(text: str) -> orjson.Fragment:
    """Return stored JSON as a part of an answer; raises ValueError: it is damaged."""
    canonical.decode(text)
    return orjson.Fragment(text)


def writer(agent: str, client: str | None, by: str | None) -> Writer:
    """Return who wrote, from the columns of a transaction: ``by`` is the canonical JSON of an attribution."""
    if by is None:
        return {"agent": UNATTRIBUTED if agent == ANONYMOUS else agent, "client": client, "by": None}
    return {"agent": agent, "client": client, "by": stored_json(by)}


def relationships(rows: Iterable[RelationshipRow]) -> list[Relationship]:
    return [relationship(row) for row in refuse_stale_relationships(rows)]


def snapshot_parts(row: EntityRow | RelationshipRow, without: str | None) -> tuple[Fields, dict[str, str]]:
    """Return the fields that are not null: their stored values, and the observation that set each.
    ``without``: a name that is no field, as the canonical name of an entity; None for a relationship."""
    snapshot: Fields = {}
    provenance: dict[str, str] = {}
    for name, value, winner in zip(row.fields, row.values, row.winners, strict=True):
        if value != "null" and name != without:
            snapshot[name] = orjson.Fragment(value)
            provenance[name] = winner
    return snapshot, provenance


def entity(row: EntityRow, *, snapshot: bool = True) -> Entity:
    check_whole(row)
    if row.is_stale:
        raise Stale([row.id])
    note(row.id, row)
    last_observation_at = when(row.last_observation_at)
    answer: Entity = {
        "entity_id": row.id,
        "entity_type": row.type,
        "canonical_name": row.name,
        "state": "live" if row.live else "deleted",
        "version": row.version,
        "schema_version": row.schema_version,
        "observation_count": row.observation_count,
        "created_at": when(row.created_at),
        "last_observation_at": last_observation_at,
        "computed_at": last_observation_at,
    }
    if row.merged_into is not None:
        answer["state"] = "merged"
        answer["merged_to_entity_id"] = row.merged_into
    if row.parted_into is not None:
        answer["state"] = "live" if row.live or not row.observation_count else answer["state"]
        answer["parted_into"] = row.parted_into
    if snapshot:
        answer["snapshot"], answer["provenance"] = snapshot_parts(row, CANONICAL_NAME)
    return answer


def entities(rows: Iterable[EntityRow], *, snapshot: bool = True) -> list[Entity]:
    return [entity(row, snapshot=snapshot) for row in refuse_stale(rows)]


def observation(row: ObservationRow) -> Observation:
    """Return the answer for an observation, with all fields that it was stored with, nulls too."""
    fields = {n: stored_json(v) for n, v in zip(row.fields, row.values, strict=True)}
    name = fields.pop(CANONICAL_NAME, None)
    answer: Observation = {
        **without_empty(of_row(Observation, row), "learned_at"),
        "created_at": times.render(row.recorded_at),
        "fields": fields,
        "schema_version": None,
        "provenance": writer(row.agent, row.client, row.by),
    }
    if row.places is not None:
        answer["span"] = stored_json(row.places)
    if row.home is not None and (row.moved_by is not None or row.home != row.entity_id):
        answer["home_entity_id"] = row.home
    if row.moved_by is not None:
        answer["split_id"] = row.moved_by
    if name is not None:
        answer["canonical_name"] = name  # pyright: ignore[reportGeneralTypeIssues]
    return answer


def relationship_observation(row: ObservationRow) -> RelationshipObservation:
    return {
        **without_empty(of_row(RelationshipObservation, row), "learned_at"),
        "metadata": {n: stored_json(v) for n, v in zip(row.fields, row.values, strict=True)},
        "provenance": writer(row.agent, row.client, row.by),
    }


def relationship(row: RelationshipRow) -> Relationship:
    check_whole(row)
    if row.refold:
        raise Stale([], [row.key])
    note(row.key, row)
    snapshot, provenance = snapshot_parts(row, None)
    return {
        **of_row(Relationship, row),
        "relationship_key": row.key,
        "relationship_id": row.id,
        "relationship_type": row.type,
        "source_entity_id": row.source,
        "target_entity_id": row.target,
        "is_live": row.live,
        "snapshot": snapshot,
        "provenance": provenance,
    }


async def stored_observations(context: Context, observation_ids: Iterable[str]) -> list[ObservationRow]:
    """Return the rows of some observations, those of deleted entities and those that do not count too."""
    return await context.graph.only(
        "observation.by_id", list[ObservationRow], observation_ids=sorted(set(observation_ids)),
        include_deleted=True, include_excluded=True,
    )  # fmt: skip


async def with_withdrawals(context: Context, rows: Iterable[ObservationRow]) -> list[Observation]:
    """Return the answers for some observations; one that does not count now names its withdrawals. They are
    read only if there is such an observation."""
    rows = list(rows)
    observations = [observation(row) for row in rows]
    withdrawn = [row.id for row in rows if not membership.counts(row.excluded)]
    if not withdrawn:
        return observations
    exclusions = await context.graph.only(
        "exclusion.of_observations", list[tuple[str, str, str, str, int, str | None]],
        observation_ids=withdrawn,
    )  # fmt: skip
    by_observation: dict[str, list[Fields]] = {}
    for observation_id, exclusion_id, kind, subject_id, recorded_at, reason in exclusions:
        by_observation.setdefault(observation_id, []).append({
            "exclusion_id": exclusion_id, "subject_kind": kind, "subject_id": subject_id,
            "since": times.render(recorded_at), "reason": reason,
        })  # fmt: skip
    for answer in observations:
        if answer["id"] in by_observation:
            answer["exclusions"] = by_observation[answer["id"]]
    return observations
