"""What one request adds to the state, kept apart until it is accepted whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.model import canonical, ids
from graphmem.model.items import Issue
from graphmem.model.reduction import Observation
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import Active
from graphmem.writing import placement
from graphmem.writing.requests import Receipt, WriteRequest
from graphmem.writing.schema_heads import Head
from graphmem.writing.state import Remembered, State
from graphmem.writing.things import Thing, Things


@dataclass(slots=True)
class Draft:
    """One request on the way to its verdict."""

    state: State
    request: WriteRequest
    recorded_at: int
    entities: Things
    relationships: Things
    added: dict[str, Observation] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    renamed: dict[str, str | None] = field(default_factory=dict)
    bumped: set[str] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, state: State, request: WriteRequest, recorded_at: int) -> Draft:
        """Return an empty draft on a state."""
        return cls(state, request, recorded_at, state.entities.draft(), state.relationships.draft())

    def shown(self, entity_id: str) -> Thing | None:
        """Return what shows an entity, as it is shown."""
        return self.entities.view(self.entities.root(entity_id))

    def head(self, entity_type: str) -> Head:
        """Return the head of a type's schema."""
        found = self.heads.get(entity_type) or self.state.heads.get(entity_type)
        return found or Head(entity_type)

    def rules(self, entity_id: str, entity_type: str) -> Rules:
        """Return the rules under which an entity is folded: those of the type of what shows it."""
        root = self.entities.get(self.entities.root(entity_id))
        return self.head(root.kind if root else entity_type).rules

    def is_known(self, observation: Observation) -> bool:
        """Return whether this very observation was written before."""
        return observation.id in self.state.observed or observation.id in self.added

    def refuse(self, code: str, path: str, message: str, index: int | None = None) -> None:
        """Note why the request is refused; ``index`` is that of the item or relationship, if it is one."""
        issue: Issue = {"code": code, "path": path, "message": message}
        self.issues.append(issue if index is None else {**issue, "index": index})

    def observe_entity(self, said: Observation) -> None:
        """Add an observation to the entity that is its home."""
        self._observe(self.entities, said, said.entity_type, self.rules(said.subject_id, said.entity_type))
        head = self.head(said.entity_type)
        joined = head.joined(said.shapes)
        if joined is not head or said.entity_type not in self.state.heads:
            self.heads[said.entity_type] = joined

    def observe_relationship(self, said: Observation) -> None:
        """Add an observation to the relationship that is its home, and show it where its ends are shown."""
        self._observe(self.relationships, said, said.subject_id.partition(":")[0], PLAIN)
        self.regroup([said.subject_id])

    def _observe(self, things: Things, said: Observation, kind: str, rules: Rules) -> None:
        known = things.get(said.subject_id) or Thing(said.subject_id, kind)
        things.put(known.with_observation(said, rules))
        self.added[said.id] = said
        self.bump(things, said.subject_id)
        self.bump(things, things.root(said.subject_id))

    def bump(self, things: Things, subject_id: str) -> None:
        """Raise the version of a thing, once in a transaction."""
        known = things.get(subject_id)
        if known is not None and subject_id not in self.bumped:
            self.bumped.add(subject_id)
            things.put(replace(known, version=known.version + 1, updated_at=self.recorded_at))

    def shown_key(self, key: str) -> str:
        """Return the key under which a relationship is shown."""
        return placement.shown_key(self.entities, self.relationships, key)

    def regroup(self, keys: list[str]) -> None:
        """Show relationships where their ends are shown now; the version of each that this changes rises."""
        for key in placement.place(self.entities, self.relationships, keys):
            self.bump(self.relationships, key)

    def activate(self, entity_type: str, active: Active, change: str) -> None:
        """Make a document the registered one of a type; ``change`` is the kind of change that led to it."""
        said = {"kind": change, "fields_added": list(active.added), "fields_removed": list(active.removed)}
        self.heads[entity_type] = self.head(entity_type).with_active(active)
        self.versions.append({
            "transaction_id": self.request.transaction_id,
            "properties": {
                "id": ids.schema_id(self.request.owner, entity_type, active.version),
                "owner": self.request.owner,
                "entity_type": entity_type,
                "version": active.version,
                "document": active.document.text,
                "recorded_at": self.recorded_at,
                "change": canonical.encode(said),
            },
        })  # fmt: skip

    def accept(self, receipt: Receipt) -> None:
        """Make what this request adds part of the state, and remember its answer."""
        request = self.request
        self.take_in({
            "agent": request.agent,
            "properties": {
                "id": request.transaction_id,
                "recorded_at": self.recorded_at,
                "operation": request.operation,
                "client": request.client,
                "idempotency_key": request.idempotency_key,
                "request_hash": request.request_hash,
                "answer": receipt.remember(),
            },
        })  # fmt: skip

    def take_in(self, row: dict[str, Any] | None) -> None:
        """Make what this draft holds part of the state.

        Args:
            row: its transaction, without what its place in the owner's order says; ``None`` where it has
                none, or one that is there already.
        """
        state, owner = self.state, self.request.owner
        state.entities.accept(self.entities)
        state.relationships.accept(self.relationships)
        state.added.extend(self.added.values())
        state.observed.update(self.added)
        state.heads.update(self.heads)
        state.touched_heads.update(dict.fromkeys(self.heads, self.recorded_at))
        state.versions.extend(self.versions)
        state.renamed.update(self.renamed)
        if row is None:
            return
        said = row["properties"]
        said |= {"owner": owner, "sequence": state.sequence + len(state.rows) + 1}
        state.rows.append({**row, "agent_id": ids.agent_id(owner, row["agent"])})
        key = said["idempotency_key"]
        if key is not None:
            state.keys[key] = Remembered(
                said["id"], key, said["request_hash"], said["recorded_at"], said["answer"]
            )
