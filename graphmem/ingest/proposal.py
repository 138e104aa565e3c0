"""What an interpreter makes of a document: entities and relationships to store, with their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphmem.ingest.document import FileSpan

BOOKING: Final = "transaction"  # the entity type of bookings of an account


class InterpretationFailed(Exception):
    """There is no such interpreter, its configuration is wrong, it is broken, or it cannot read the document.

    ``reason`` is a sentence for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """One observation of an entity."""

    entity_type: str  # in its canonical spelling
    fields: Mapping[str, Any]  # JSON values by name
    # The place of the value by name. A value that stands nowhere in the text has none: the name of the file,
    # what the format alone implies, metadata.
    spans: Mapping[str, FileSpan] = field(default_factory=dict)
    span: FileSpan | None = None  # the place of the whole item
    canonical_name: str | None = None
    # The time that the format states, as :func:`graphmem.model.times.parse` reads it. It may lie in the
    # future: no clock is read here.
    observed_at: str | None = None
    # What identifies it where the type has no registered schema, in place of the rule of the type.
    identified_by: tuple[tuple[str, ...], ...] | None = None
    # The fields that identify it, where its own ones need not: another observation of the file has them.
    identifying: Mapping[str, Any] | None = None
    # How the observation was stored where the file comes from: `kind` and reserved keys of an item.
    stored_as: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ProposedRelationship:
    """A relationship of a built-in type; ``source`` and ``target`` are indexes of entities."""

    relationship_type: str
    source: int
    target: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    span: FileSpan | None = None
    observed_at: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """Entities, relationships between them, and sentences about what was left out."""

    entities: tuple[ProposedEntity, ...] = ()
    relationships: tuple[ProposedRelationship, ...] = ()
    warnings: tuple[str, ...] = ()
