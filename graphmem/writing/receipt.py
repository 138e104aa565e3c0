"""What the writer answers to a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphmem.model import canonical
from graphmem.model.reduction import Fold


class StoredItem(NamedTuple):
    """What became of one item, as answers name it.

    ``deduplicated``: this observation was stored before. ``home_entity_id``: the entity that the observation
    is about, where that is merged into ``entity_id``; else empty. ``resolved_by`` is ``rule`` where a rule
    merged it. Transactions keep items by position, without the last where it is empty.
    """

    entity_id: str
    entity_type: str
    observation_id: str
    action: str
    identity_basis: str
    version: int
    deduplicated: bool
    home_entity_id: str = ""
    resolved_by: str = ""


class StoredLink(NamedTuple):
    """What became of one relationship, as answers name it. Transactions keep links by position."""

    relationship_key: str
    observation_id: str
    action: str
    deduplicated: bool
    version: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a request is answered with. A replay has no folds and names, and reads them again."""

    transaction_id: str
    recorded_at: int
    items: list[StoredItem] = field(default_factory=list)
    links: list[StoredLink] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)  # those of the items' entities, as of the transaction
    names: list[str] = field(default_factory=list)
    link_folds: list[Fold] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)  # what a merge or a change of schema answers
    replayed: bool = False
    is_written: bool = True  # not if it asks for what holds already

    def encode(self) -> str:
        """Return the answer as a transaction stores it: canonical JSON."""
        kept: dict[str, Any] = {
            "items": [list(item) if item.resolved_by else list(item)[:-1] for item in self.items],
            "links": [list(link) for link in self.links],
            "warnings": self.warnings,
        }
        return canonical.encode({**kept, "more": self.result} if self.result else kept)

    @classmethod
    def decode(cls, transaction_id: str, recorded_at: int, answer: str, *, replayed: bool) -> Receipt:
        kept = canonical.decode(answer)
        return cls(
            transaction_id=transaction_id, recorded_at=recorded_at,
            items=[StoredItem(*item) for item in kept["items"]],
            links=[StoredLink(*link) for link in kept["links"]], warnings=kept["warnings"],
            result=kept.get("more", {}), replayed=replayed,
        )  # fmt: skip
