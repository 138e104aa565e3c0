"""Decide what becomes of a request, on the state that it will be written to. Nothing is read or sent here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphmem.domain import discovery, identity, ids, reduction
from graphmem.domain.items import Issue, Item, Link
from graphmem.domain.reduction import Observation
from graphmem.errors import IdempotencyMismatch, StoreRefused
from graphmem.writer.requests import Receipt, StoredItem, StoredLink, WriteRequest
from graphmem.writer.state import Remembered, State, Thing


@dataclass(slots=True)
class Draft:
    """What one request adds to the state, kept apart until it is accepted whole."""

    state: State
    request: WriteRequest
    recorded_at: int
    request_hash: str
    entities: dict[str, Thing] = field(default_factory=dict)
    relationships: dict[str, Thing] = field(default_factory=dict)
    added: dict[str, Observation] = field(default_factory=dict)
    schemas: dict[str, dict[str, discovery.Seen]] = field(default_factory=dict)
    bumped: set[str] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)

    def entity(self, entity_id: str) -> Thing | None:
        """Return an entity as it stands at this point of the request."""
        return self.entities.get(entity_id) or self.state.entities.get(entity_id)

    def relationship(self, key: str) -> Thing | None:
        """Return a relationship as it stands at this point of the request."""
        return self.relationships.get(key) or self.state.relationships.get(key)

    def is_known(self, observation: Observation) -> bool:
        """Return whether this very observation was written before."""
        return observation.id in self.state.observed or observation.id in self.added

    def add(self, thing: Thing, said: Observation) -> Thing:
        """Return a thing with one observation more; the transaction raises its version once."""
        first = thing.home not in self.bumped
        self.bumped.add(thing.home)
        self.added[said.id] = said
        return thing.with_observation(said, first_of_transaction=first)

    def accept(self, receipt: Receipt) -> None:
        """Make what this request adds part of the state."""
        state, request = self.state, self.request
        state.entities.update(self.entities)
        state.relationships.update(self.relationships)
        state.added.extend(self.added.values())
        state.observed.update(self.added)
        state.schemas.update(self.schemas)
        state.touched_schemas.update(dict.fromkeys(self.schemas, self.recorded_at))
        answer = receipt.remember()
        state.rows.append({
            "agent": request.agent,
            "agent_id": ids.agent_id(request.owner, request.agent),
            "properties": {
                "id": request.transaction_id,
                "owner": request.owner,
                "sequence": state.sequence + len(state.rows) + 1,
                "recorded_at": self.recorded_at,
                "operation": request.operation,
                "client": request.client,
                "idempotency_key": request.idempotency_key,
                "request_hash": self.request_hash,
                "answer": answer,
            },
        })  # fmt: skip
        if request.idempotency_key is not None:
            state.keys[request.idempotency_key] = Remembered(
                request.transaction_id,
                request.idempotency_key,
                self.request_hash,
                self.recorded_at,
                answer,
            )


def decide(state: State, request: WriteRequest, clock: int) -> Receipt:
    """Return the answer of one request and, unless it is a plan, make what it writes part of ``state``.

    Args:
        clock: microseconds; the transaction is recorded then, or later if the owner's order demands it.

    Raises:
        IdempotencyMismatch: its key was used for other content.
        StoreRefused: an item or a relationship cannot be stored; nothing of the request is.
    """
    before = _written_before(state, request)
    if before is not None:
        return before
    recorded_at = max(clock, state.recorded_at + 1) + len(state.rows)
    draft = Draft(state, request, recorded_at, request.request_hash)
    items = [_item(draft, item) for item in request.items]
    links = [_link(draft, link) for link in request.links]
    if draft.issues:
        raise StoreRefused(issues=draft.issues)
    after = [draft.entity(item.entity_id) for item in request.items]
    receipt = Receipt(
        transaction_id=request.transaction_id,
        recorded_at=recorded_at,
        items=[item for item in items if item],
        links=[link for link in links if link],
        folds=[thing.fold for thing in after if thing],
        names=[thing.name for thing in after if thing],
        warnings=draft.warnings,
    )
    if request.commit:
        draft.accept(receipt)
    return receipt


def _written_before(state: State, request: WriteRequest) -> Receipt | None:
    own = state.transactions.get(request.transaction_id)
    if own is not None:
        # This request was written by an attempt whose acknowledgement was lost: that is its answer.
        return Receipt.recall(own.transaction_id, own.recorded_at, own.answer, replayed=False)
    kept = state.keys.get(request.idempotency_key) if request.idempotency_key is not None else None
    if kept is None:
        return None
    if kept.request_hash != request.request_hash:
        raise IdempotencyMismatch(idempotency_key=request.idempotency_key)
    return Receipt.recall(kept.transaction_id, kept.recorded_at, kept.answer, replayed=True)


def _item(draft: Draft, item: Item) -> StoredItem | None:
    known = draft.entity(item.entity_id)
    entity_type = known.kind if known else item.entity_type
    if entity_type is None or (known is None and item.basis == "target_id"):
        _refuse(
            draft,
            item,
            "entity_id" if item.path == "$" else "target_id",
            "ERR_TARGET_NOT_FOUND",
            f"there is no entity {item.entity_id}",
        )
        return None
    if item.entity_type not in (None, entity_type):
        message = f"{item.entity_id} is of type {entity_type}, not {item.entity_type}"
        _refuse(draft, item, "entity_type", "ERR_TARGET_TYPE", message)
        return None
    said = draft.request.item_observation(item, entity_type, draft.recorded_at)
    repeated = draft.is_known(said)
    thing = known or Thing(item.entity_id, entity_type)
    if _cannot_turn(item.kind, thing):
        is_so = "deleted already" if item.kind == "delete" else "not deleted"
        _refuse(draft, item, "entity_id", "ERR_NOTHING_TO_TURN", f"{item.entity_id} is {is_so}")
        return None
    if not repeated:
        _warn(draft, item, thing, said)
        thing = draft.entities[item.entity_id] = draft.add(thing, said)
        schema = draft.schemas.get(entity_type) or draft.state.schemas.get(entity_type, {})
        joined = discovery.join(schema, item.shapes)
        if joined != schema or (known is None and entity_type not in draft.state.schemas):
            draft.schemas[entity_type] = joined
    action = "created" if known is None else "extended" if item.basis == "target_id" else "matched_existing"
    return StoredItem(item.entity_id, entity_type, said.id, action, item.basis, thing.version, repeated)


def _warn(draft: Draft, item: Item, before: Thing, said: Observation) -> None:
    for name, value in item.fields.items():
        holder = before.fold.get(name)
        if value != "null" or holder is None or holder.value == "null":
            continue
        if said.claim(name, value, reduction.PLAIN) > holder:
            draft.warnings.append({
                "code": "NULL_CLEARED_FIELD",
                "index": item.index,
                "field": name,
                "message": f"null is now the value of {name}: the snapshot no longer shows it",
            })  # fmt: skip
    if not before.live and item.kind in reduction.SAYING:
        draft.warnings.append({
            "code": "ENTITY_DELETED",
            "index": item.index,
            "entity_id": item.entity_id,
            "message": "the entity is deleted: this is kept and stays hidden until POST /restore_entity "
            f"with entity_id {item.entity_id}",
        })  # fmt: skip
    if item.basis == identity.CONTENT and before.version == 0:
        rules = " or ".join(" + ".join(names) for names in identity.rule(said.entity_type)[:-1])
        draft.warnings.append({
            "code": "CONTENT_IDENTITY",
            "index": item.index,
            "message": "nothing here identifies the entity, so other content will be another entity: "
            f"give {rules}, or target_id to add to this one",
        })  # fmt: skip


def _link(draft: Draft, link: Link) -> StoredLink | None:
    request = draft.request
    ends = {"source": link.source, "target": link.target}
    found = {side: end.resolve(request.items) for side, end in ends.items()}
    for side, end in ends.items():
        entity = draft.entity(found[side])
        if link.kind != "create" or (entity is None and end.index is not None):
            continue
        if entity is None or not entity.live:
            what = "ERR_RELATIONSHIP_ENTITY_DELETED" if entity else "ERR_RELATIONSHIP_ENTITY_NOT_FOUND"
            message = f"{found[side]} is deleted" if entity else f"there is no entity {found[side]}"
            _refuse(draft, link, f"{side}_entity_id", what, message)
            return None
    if found["source"] == found["target"]:
        _refuse(draft, link, "target", "ERR_RELATIONSHIP_TO_ITSELF", "both ends are the same entity")
        return None
    said = request.link_observation(link, draft.recorded_at)
    known = draft.relationship(said.home)
    if link.kind != "create" and (known is None or _cannot_turn(link.kind, known)):
        is_so = "no such live relationship" if link.kind == "delete" else "no such deleted relationship"
        _refuse(draft, link, "relationship_key", "ERR_NOTHING_TO_TURN", f"there is {is_so}: {said.home}")
        return None
    repeated = draft.is_known(said)
    thing = known or Thing(said.home, link.relationship_type)
    if not repeated:
        thing = draft.relationships[said.home] = draft.add(thing, said)
    action = "matched_existing" if known else "created"
    return StoredLink(said.home, said.id, action, repeated, thing.version, thing.live)


def _cannot_turn(kind: str, thing: Thing) -> bool:
    """Whether there is nothing to delete, or nothing to restore."""
    return (kind == "delete" and not thing.live) or (kind == "restore" and thing.live)


def _refuse(draft: Draft, part: Item | Link, name: str, code: str, message: str) -> None:
    path = f"{part.path}.{name}"
    draft.issues.append({"code": code, "index": part.index, "path": path, "message": message})
