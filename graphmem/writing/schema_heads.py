"""The head of a type's schema in a turn: the fields discovered, and the registered version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphmem.database.left_out import Json
from graphmem.model import canonical, discovery, ids
from graphmem.model.identity import Alternatives
from graphmem.model.identity_rules import alternatives
from graphmem.model.reduction import paired
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import Active, SchemaDocument
from graphmem.model.schema.schema_document import Reference


class HeadRow(NamedTuple):
    """The head of a type's schema as ``write.look`` reads it; ``seen`` are the shapes of each field."""

    entity_type: str
    fields: list[str]
    seen: list[str]
    version: str | None
    document: Json | None
    projection: str | None


@dataclass(frozen=True, slots=True)
class Head:
    """The fields seen of a type, its registered version, and the rules of that. ``changed``: the turn changes
    the rules, so entities are folded again; ``regroups``: the rule of identity."""

    entity_type: str
    seen: Mapping[str, discovery.Shapes] = field(default_factory=dict)
    active: Active | None = None
    rules: Rules = PLAIN
    changed: bool = False
    regroups: bool = False

    @classmethod
    def of_look(cls, row: HeadRow) -> Head:
        pairs = paired(f"the schema of {row.entity_type}", row.fields, row.seen)
        shapes = {name: frozenset(text.split("|")) if text else frozenset() for name, text in pairs}
        if row.document is None or row.version is None:
            return cls(row.entity_type, shapes)
        parsed = SchemaDocument.read(row.document)
        rules = parsed.rules
        if (row.projection or "") != rules.key:
            # Written before the key told rules of identity apart; it changes with the next version.
            rules = replace(rules, identity=())
        return cls(row.entity_type, shapes, Active(row.version, parsed), rules)

    @property
    def alternatives(self) -> Alternatives | None:
        """The registered alternatives of identity, ``None`` where the usual ones hold."""
        return self.active.document.alternatives() if self.active else None

    @property
    def references(self) -> tuple[Reference, ...]:
        return self.active.document.references if self.active else ()

    def joined(self, shapes: Mapping[str, str | None]) -> Head:
        seen = discovery.join(self.seen, shapes)
        return self if seen == self.seen else replace(self, seen=seen)

    def with_active(self, active: Active) -> Head:
        rules, kind = active.document.rules, self.entity_type
        before, after = self.alternatives, active.document.alternatives()
        return replace(
            self, active=active, rules=rules, changed=self.changed or rules.key != self.rules.key,
            regroups=self.regroups or alternatives(kind, before) != alternatives(kind, after),
        )  # fmt: skip

    def row(self, owner: str, updated_at: int) -> dict[str, Any]:
        names = sorted(self.seen, key=canonical.name_order)
        # Only the worker removes it, once every entity is folded again.
        pending = {"pending": True, "regroups": True if self.regroups else None} if self.changed else {}
        return {
            "id": ids.schema_id(owner, self.entity_type, None),
            "properties": {
                **pending,
                "owner": owner,
                "entity_type": self.entity_type,
                "head": self.entity_type,
                "fields": names,
                "seen": ["|".join(sorted(self.seen[name])) for name in names],
                "updated_at": updated_at,
                "declared": sorted(self.active.document.fields) if self.active else None,
                "active_version": self.active.version if self.active else None,
                "document": self.active.document.text if self.active else None,
                "projection": self.rules.key or None,
                "filterable": sorted(self.rules.filterable) or None,
            },
        }
