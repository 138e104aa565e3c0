"""Row classes of ``_row.cypher`` fragments and of queries with several readers. Times are microseconds."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from graphmem.database.left_out import Json
from graphmem.model import canonical
from graphmem.model.reduction import OwnState, Stale, Torn, is_whole


class EntityRow(NamedTuple):
    """A row of ``entity/_row.cypher``."""

    id: str
    type: str
    name: str
    version: int
    observation_count: int
    created_at: int | None
    last_observation_at: int | None
    fields: list[str]
    values: list[str]
    winners: list[str]
    live: bool
    check: int | None
    own: str | None
    projection: str | None
    head: list[list[Any]]
    merged_into: str | None = None
    parted_into: list[str] | None = None

    @property
    def schema_version(self) -> str | None:
        return self.head[0][1] if self.head else None

    @property
    def is_stale(self) -> bool:
        """Whether the entity was folded under an older schema of its type."""
        return self.projection != (self.head[0][0] if self.head else None)

    def is_whole(self) -> bool:
        return is_whole(self.check, self.version, self.fields, self.values, self.winners, self.own, self.name)


class ObservationRow(NamedTuple):
    """A row of ``observation/_row.cypher``. ``home`` is the entity that the observation was stored for;
    ``moved_by`` the split that has it count for another.
    """

    id: str
    entity_id: str
    entity_type: str
    kind: str
    observed_at: int
    recorded_at: int
    fields: list[str]
    values: list[Json]
    source_priority: float
    specificity_score: float
    observation_source: str
    agent: str
    source_id: str | None
    interpretation_id: str | None
    identity_basis: str | None
    transaction_id: str
    client: str
    by: Json | None
    idempotency_key: str | None
    places: Json | None
    excluded: list[int] | None
    home: str | None
    moved_by: str | None
    learned_at: int | None


class RelationshipRow(NamedTuple):
    """A row of ``relationship/_row.cypher``."""

    key: str
    id: str
    type: str
    source: str
    target: str
    live: bool
    version: int
    observation_count: int
    created_at: int
    last_observation_at: int
    fields: list[str]
    values: list[str]
    winners: list[str]
    check: int | None
    own: str | None = None
    refold: int | None = None

    def is_whole(self) -> bool:
        return is_whole(self.check, self.version, self.fields, self.values, self.winners, self.own, None)


ObservationsOfEntity = tuple[list[ObservationRow], bool, bool, int, int, str]
"""The row of ``observation/of_entity.cypher``: the page, whether it is cut, whether more follow, the total,
and the version and the type of the entity."""


MergedEntity = tuple[str, str, str | None, str | None]
"""A merged entity and its survivor, by their ids, and the survivor's projection and schema version."""


def with_survivors(page: Iterable[EntityRow], merged: Iterable[MergedEntity]) -> list[EntityRow]:
    """Return a page of ``entity/_page.cypher``; a merged entity has the schema version of its survivor."""
    survivors = {
        entity_id: {"merged_into": survivor_id, "head": [head]} for entity_id, survivor_id, *head in merged
    }
    return refuse_stale(row._replace(**survivors[row.id]) if row.id in survivors else row for row in page)


def refuse_stale(rows: Iterable[EntityRow]) -> list[EntityRow]:
    """Return rows of entities as they are; Stale: some were folded under an older schema."""
    entity_rows = list(rows)
    if stale := [row.id for row in entity_rows if row.is_stale]:
        raise Stale(stale)
    return entity_rows


def refuse_stale_relationships(rows: Iterable[RelationshipRow]) -> list[RelationshipRow]:
    """Return rows of relationships as they are, unless some are to be folded again."""
    relationship_rows = list(rows)
    refuse_stale_keys((row.key, row.refold) for row in relationship_rows)
    return relationship_rows


def refuse_stale_keys(marks: Iterable[tuple[str, int | None]]) -> None:
    """Raise ``Stale`` if some relationships, given by keys and marks, are to be folded again."""
    if stale := [key for key, refold in marks if refold]:
        raise Stale([], stale)


def shown(state: OwnState) -> dict[str, Any]:
    """Return the columns that the rows of entities and of relationships share, of a state as of a time."""
    winners = sorted(state.fold.items(), key=lambda pair: canonical.name_order(pair[0]))
    return {
        "live": state.is_live, "observation_count": state.observation_count, "created_at": state.created_at,
        "last_observation_at": state.last_observation_at, "fields": [name for name, _ in winners],
        "values": [winner.value for _, winner in winners],
        "winners": [winner.observation_id for _, winner in winners], "check": None,
    }  # fmt: skip


def check_whole(row: EntityRow | RelationshipRow) -> None:
    """Refuse a row that was read while it was written; Torn: its parts are of two moments."""
    if not row.is_whole():
        raise Torn(row[0], row)


def snapshot_of(row: EntityRow | RelationshipRow) -> dict[str, str]:
    """Return the values of a row, canonical JSON by field; Torn: it was read while it was written."""
    check_whole(row)
    return dict(zip(row.fields, row.values, strict=True))
