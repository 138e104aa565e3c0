"""A change: what one transaction changed of one subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from graphmem.changes.recorded_transactions import RecordedObservation, RecordedTransaction
from graphmem.model import canonical
from graphmem.model.reduction import Winner

KINDS: Final = (
    "entity.created", "entity.updated", "entity.corrected", "entity.deleted", "entity.restored",
    "entity.merged", "entity.unmerged", "entity.split", "relationship.created", "relationship.changed",
    "relationship.ended", "relationship.deleted", "relationship.restored", "source.stored",
    "source.interpreted", "source.withdrawn", "source.reinstated", "writing.withdrawn", "writing.reinstated",
    "schema.registered", "schema.changed", "database.restored", "observation.created", "receipt.affected",
)  # fmt: skip
"""The kinds of changes. Those of observations and receipts repeat what others say: they are told on request
alone."""
ON_REQUEST: Final = frozenset({"observation.created", "receipt.affected"})


Fields = Mapping[str, Winner]
"""Values as they are shown, and the observation that set each; of the winners no rank is needed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one transaction changed of one subject.

    ``subject`` is the id of the entity, source, observation or transaction, the key of the relationship, or
    the type of the schema. ``before`` and ``after`` have the fields whose values changed. ``ends`` are the
    source and the target of a relationship, ``details`` what only some kinds have, ``index`` its place among
    the changes of its transaction. ``clock``: of the answers of a standing query, when they changed.
    ``own_id``: its id, where its transaction and subject are not all that tells it from others.
    """

    transaction: RecordedTransaction
    kind: str
    subject: str
    entity_type: str | None = None
    name: str | None = None
    observation: RecordedObservation | None = None
    before: Fields = field(default_factory=dict[str, Winner])
    after: Fields = field(default_factory=dict[str, Winner])
    ends: tuple[Known, ...] = ()
    details: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    index: int = 0
    clock: int | None = None
    own_id: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order in which changes were recorded: the time, and the index."""
        return self.transaction.recorded_at, self.index

    @property
    def id(self) -> str:
        """Its id: 40 hexadecimal digits, the same whenever it is read."""
        return self.own_id or canonical.digest([self.transaction.id, self.kind, self.subject])[:40]

    @property
    def fields(self) -> list[str]:
        return sorted({*self.before, *self.after}, key=canonical.name_order)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        own = (self.subject,) if self.subject.startswith("ent_") else ()
        into = self.details.get("merged_into")
        return (*own, *((into,) if into else ()), *(end.id for end in self.ends))


class Known(NamedTuple):
    """An entity with its name of now, and the others that were ever merged with it."""

    id: str
    type: str
    name: str | None
    merged: Sequence[str] = ()
