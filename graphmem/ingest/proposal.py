"""What an interpreter makes of a document: entities and relationships to store, with their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.ingest.document import FileSpan


class InterpretationFailed(Exception):
    """A document could not be interpreted. ``reason`` is a sentence for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """One observation of an entity.

    Attributes:
        entity_type: in its canonical spelling.
        fields: JSON values by name.
        spans: the place of the value by name. A value that stands nowhere in the text has none: the name of
            the file, what the format alone implies, metadata.
        span: the place of the whole item.
        observed_at: the time that the format states, as :func:`graphmem.model.times.parse` reads it. It may
            lie in the future: no clock is read here.
    """

    entity_type: str
    fields: Mapping[str, Any]
    spans: Mapping[str, FileSpan] = field(default_factory=dict)
    span: FileSpan | None = None
    canonical_name: str | None = None
    observed_at: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entity as JSON; absent members are left out."""
        value: dict[str, Any] = {"entity_type": self.entity_type, "fields": dict(self.fields)}
        value["spans"] = {name: span.as_dict() for name, span in self.spans.items()}
        return value | _present(self, "canonical_name", "observed_at")


@dataclass(frozen=True, slots=True)
class ProposedRelationship:
    """A relationship of a built-in type; ``source`` and ``target`` are indexes of entities."""

    relationship_type: str
    source: int
    target: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    span: FileSpan | None = None
    observed_at: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the relationship as JSON; absent members are left out."""
        value = {"relationship_type": self.relationship_type, "source": self.source, "target": self.target}
        return (
            value
            | ({"metadata": dict(self.metadata)} if self.metadata else {})
            | _present(self, "observed_at")
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """Entities, relationships between them, and sentences about what was left out."""

    entities: tuple[ProposedEntity, ...] = ()
    relationships: tuple[ProposedRelationship, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as JSON."""
        return {
            "entities": [entity.as_dict() for entity in self.entities],
            "relationships": [relationship.as_dict() for relationship in self.relationships],
            "warnings": list(self.warnings),
        }


def _present(proposed: ProposedEntity | ProposedRelationship, *names: str) -> dict[str, Any]:
    values = {name: getattr(proposed, name) for name in names}
    present = {name: value for name, value in values.items() if value is not None}
    return present | ({"span": proposed.span.as_dict()} if proposed.span is not None else {})
