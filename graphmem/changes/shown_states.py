"""What is shown of entities and relationships as of a time of recording: two times are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from graphmem.changes.change import Fields
from graphmem.context import Context
from graphmem.model import ending, identity, membership, reduction, times
from graphmem.model.reduction import Fold
from graphmem.reading import as_of, recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.recomputed import RecomputedEntities

SUBJECTS_PER_READ: Final = 200  # entities or relationships whose states one query reads
_NO_FIELDS: Final[Fields] = {}


@dataclass(frozen=True, slots=True)
class State:
    """What is shown of an entity or a relationship. ``into`` is the survivor of a merged entity.
    ``created_at``, of a relationship, is when its first observation that counts was recorded."""

    is_live: bool
    fold: Fold = field(default_factory=dict)
    into: str | None = None
    is_entity: bool = True
    created_at: int = 0

    @property
    def is_shown(self) -> bool:
        return self.is_live and self.into is None

    @property
    def fields(self) -> Fields:
        if not self.is_shown:
            return _NO_FIELDS
        without = identity.CANONICAL_NAME if self.is_entity else None
        return dict(reduction.snapshot_fields(self.fold, without))


States = dict[str, State | None]


async def entity_states(context: Context, entity_ids: Sequence[str], at_ingested: int) -> States:
    """Return what is shown of entities as of a time of recording, survivors of merged ones included."""
    states = States()
    for start in range(0, len(entity_ids), SUBJECTS_PER_READ):
        some = entity_ids[start : start + SUBJECTS_PER_READ]
        then = await recomputed.entities(context.of_writers, some, times.LATEST, at_ingested)
        survivors = {membership.survivor(each, then.into) for each in some}
        # It also says who was merged into others that were not asked for: of these nothing was read.
        states |= {
            each: _entity_state(then, each)
            for each in {*some, *then.into, *then.into.values()}
            if membership.survivor(each, then.into) in survivors
        }
    return states


async def relationship_states(context: Context, keys: Sequence[str], at_ingested: int) -> States:
    states: States = dict.fromkeys(keys)
    for start in range(0, len(keys), SUBJECTS_PER_READ):
        some, clocks = keys[start : start + SUBJECTS_PER_READ], Clocks(at_ingested=at_ingested)
        rows = await as_of.relationships(context.of_writers, some, clocks, include_deleted=True)
        for row in rows:
            fields = zip(row.fields, row.values, row.winners, strict=True)
            fold = {name: reduction.Winner("", winner, value) for name, value, winner in fields}
            states[row.key] = State(row.live, fold, None, False, row.created_at)
    return states


def _entity_state(then: RecomputedEntities, entity_id: str) -> State | None:
    survivor = membership.survivor(entity_id, then.into)
    row = then.rows.get(survivor)
    if row is None or not row.observation_count:
        return None
    into = survivor if survivor != entity_id else None
    return State(row.live, then.folds[survivor], into)


def difference(was: State | None, now: State | None) -> tuple[Fields, Fields]:
    before = was.fields if was else _NO_FIELDS
    after = now.fields if now else _NO_FIELDS
    names = [
        name for name in {*before, *after} if name not in before or name not in after
        or before[name].value != after[name].value
    ]  # fmt: skip
    return (
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names if name in after},
    )


def has_ended(state: State | None, at: int) -> bool:
    metadata = ((name, winner.value) for name, winner in state.fields.items()) if state else ()
    return ending.ended(metadata, at) is not None
