"""What was written elsewhere and is written again: transactions, with all that they wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.model import facts, ids
from graphmem.model.reduction import Observation
from graphmem.model.schema import Active


@dataclass(frozen=True, slots=True)
class Written:
    """A transaction as it was: its own properties, its writer, its observations and schema versions."""

    properties: Mapping[str, Any]
    agent: str
    observations: tuple[Observation, ...] = ()
    versions: tuple[Mapping[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """Its id."""
        return self.properties["id"]


@dataclass(frozen=True, slots=True)
class Restoring:
    """What a request restores.

    Attributes:
        written: in the order in which they were recorded. A merge, or its end, comes alone.
        schemas: the registered schema of each type in the end, set before anything is written of the type,
            with the time (microseconds) of its registration.
        moves: whether the merge, or its end, is the newest fact of what it moves.
    """

    written: tuple[Written, ...] = ()
    schemas: Mapping[str, tuple[Active, int]] = field(default_factory=dict)
    moves: bool = True

    @property
    def observations(self) -> list[Observation]:
        """All observations."""
        return [said for one in self.written for said in one.observations]

    @property
    def merge(self) -> Observation | None:
        """The observation that merges, or ends a merge, if there is one."""
        return next((said for said in self.observations if said.kind in facts.MERGE_KINDS), None)

    def touched(self) -> dict[str, set[Any]]:
        """Return what it touches beside what other requests do, by parameter of ``write.look``."""
        subject_ids = {said.subject_id for said in self.observations}
        keys = {subject_id for subject_id in subject_ids if ":" in subject_id}
        types = {said.entity_type for said in self.observations if said.entity_type}
        types |= {version["entity_type"] for one in self.written for version in one.versions}
        aliases = {name for active, _ in self.schemas.values() for name in active.document.aliases}
        return {
            "keys": {key for one in self.written if (key := one.properties.get("idempotency_key"))},
            "transactions": {one.id for one in self.written},
            "entities": subject_ids - keys | {end for key in keys for end in ids.ends(key)},
            "observations": {said.id for said in self.observations},
            "relationships": {(key, *key.split(":")) for key in keys},
            "types": types | set(self.schemas) | aliases,
        }
