"""The head of a type's schema as a turn sees it: what was discovered, and what is registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from graphmem.model import canonical, discovery, ids
from graphmem.model.identity import Alternatives
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import Active, Document


@dataclass(frozen=True, slots=True)
class Head:
    """What of a type's schema decides: the fields seen, the registered version, and its rules.

    ``changed``: the rules are others than those that were looked at.
    """

    entity_type: str
    seen: Mapping[str, discovery.Seen] = field(default_factory=dict)
    active: Active | None = None
    rules: Rules = PLAIN
    changed: bool = False

    @classmethod
    def found(cls, row: list[Any]) -> Head:
        """Return a head from a row of ``write.look``."""
        entity_type, fields, seen, version, document = row
        pairs = zip(fields, seen, strict=True)
        shapes = {name: frozenset(said.split("|")) if said else frozenset() for name, said in pairs}
        if document is None:
            return cls(entity_type, shapes)
        read, rules = _read(document)
        return cls(entity_type, shapes, Active(version, read), rules)

    @property
    def alternatives(self) -> Alternatives | None:
        """The registered alternatives of identity, ``None`` where the usual ones hold."""
        return self.active.document.alternatives() if self.active else None

    def joined(self, shapes: Mapping[str, str | None]) -> Head:
        """Return it with the shapes of one observation more."""
        seen = discovery.join(self.seen, shapes)
        return self if seen == self.seen else replace(self, seen=seen)

    def with_active(self, active: Active) -> Head:
        """Return it with another registered version."""
        rules = active.document.rules()
        return replace(self, active=active, rules=rules, changed=self.changed or rules.key != self.rules.key)

    def row(self, owner: str, updated_at: int) -> dict[str, Any]:
        """Return what its node holds."""
        names = sorted(self.seen, key=canonical.name_order)
        # Taken away by the worker alone, once every entity is folded again.
        pending = {"pending": True} if self.changed else {}
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


@lru_cache(maxsize=256)
def _read(document: str) -> tuple[Document, Rules]:
    """Return a document and its rules; the same text is read once."""
    read = Document.read(document)
    return read, read.rules()
