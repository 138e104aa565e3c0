"""Decide what becomes of a request, on the state that it will be written to. Nothing is read or sent here."""

from __future__ import annotations

from graphmem.errors import IdempotencyMismatch, StoreRefused
from graphmem.model import facts, identity, ids, ranks
from graphmem.model.items import Item, Link
from graphmem.model.reduction import Observation
from graphmem.writing import merging, restoring, schema_changes
from graphmem.writing.draft import Draft
from graphmem.writing.requests import Receipt, StoredItem, StoredLink, WriteRequest
from graphmem.writing.state import State
from graphmem.writing.things import Thing


def decide(state: State, request: WriteRequest, clock: int) -> Receipt:
    """Return the answer of one request and, unless it is a plan, make what it writes part of ``state``.

    Args:
        clock: microseconds; the transaction is recorded then, or later if the owner's order demands it.

    Raises:
        IdempotencyMismatch: its key was used for other content.
        StoreRefused: an item, a relationship, a merge or a schema cannot be stored; nothing of it is.
    """
    if request.restoring is not None:
        return restoring.decide(state, request)
    before = _written_before(state, request)
    if before is not None:
        return before
    recorded_at = max(clock, state.recorded_at + 1) + len(state.rows)
    draft = Draft.of(state, request, recorded_at)
    items = [_item(draft, item) for item in request.items]
    links = [_link(draft, link) for link in request.links]
    more = {**merging.decide(draft), **schema_changes.decide(draft)}
    if draft.issues:
        raise StoreRefused(issues=draft.issues)
    after = [draft.shown(item.entity_id) for item in request.items]
    related = [draft.relationships.view(link.key) for link in links if link]
    receipt = Receipt(
        transaction_id=request.transaction_id,
        recorded_at=recorded_at,
        items=[item for item in items if item],
        links=[link for link in links if link],
        folds=[thing.fold for thing in after if thing],
        names=[thing.name for thing in after if thing],
        link_folds=[thing.fold for thing in related if thing],
        warnings=draft.warnings,
        more=more,
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
    known = draft.entities.get(item.entity_id)
    entity_type = known.kind if known else item.entity_type
    if entity_type is None or (known is None and item.basis == "target_id"):
        named = "entity_id" if item.path == "$" else "target_id"
        _refuse(draft, item, named, "ERR_TARGET_NOT_FOUND", f"there is no entity {item.entity_id}")
        return None
    if item.entity_type not in (None, entity_type):
        message = f"{item.entity_id} is of type {entity_type}, not {item.entity_type}"
        _refuse(draft, item, "entity_type", "ERR_TARGET_TYPE", message)
        return None
    said = draft.request.item_observation(item, entity_type, draft.recorded_at)
    before = draft.shown(item.entity_id)
    if _cannot_be(draft, item, before):
        return None
    repeated = draft.is_known(said)
    if not repeated:
        draft.observe_entity(said)
    root = draft.entities.root(item.entity_id)
    after = draft.shown(item.entity_id)
    assert after is not None
    if not repeated:
        _warn(draft, item, before, after, said)
    action = "created" if known is None else "extended" if item.basis == "target_id" else "matched_existing"
    subject_id = "" if root == item.entity_id else item.entity_id
    return StoredItem(root, after.kind, said.id, action, item.basis, after.version, repeated, subject_id)


def _cannot_be(draft: Draft, item: Item, shown: Thing | None) -> bool:
    """Refuse what the state of its entity, or the schema of its type, does not allow."""
    count = len(draft.issues)
    if item.kind in facts.LIFECYCLE_KINDS and shown is not None:
        if shown.subject_id != item.entity_id:
            message = (
                f"{item.entity_id} is merged into {shown.subject_id}: act on that one, or unmerge it first"
            )
            _refuse(draft, item, "entity_id", "ERR_ENTITY_MERGED", message)
        elif _cannot_turn(item.kind, shown):
            is_so = "deleted already" if item.kind == "delete" else "not deleted"
            _refuse(draft, item, "entity_id", "ERR_NOTHING_TO_TURN", f"{item.entity_id} is {is_so}")
    schema_changes.check(draft, item)
    return len(draft.issues) > count


def _warn(draft: Draft, item: Item, before: Thing | None, after: Thing, said: Observation) -> None:
    for name, value in item.fields.items():
        held = before.fold.get(name) if before else None
        holder = after.fold.get(name)
        if value != "null" or held is None or held.value == "null" or holder is None:
            continue
        if holder.value == "null" and holder.observation_id == said.id:
            draft.warnings.append({
                "code": "NULL_CLEARED_FIELD",
                "index": item.index,
                "field": name,
                "message": f"null is now the value of {name}: the snapshot no longer shows it",
            })  # fmt: skip
    if not after.live and item.kind in facts.VALUE_KINDS:
        draft.warnings.append({
            "code": "ENTITY_DELETED",
            "index": item.index,
            "entity_id": after.subject_id,
            "message": "the entity is deleted: this is kept and stays hidden until POST /restore_entity "
            f"with entity_id {after.subject_id}",
        })  # fmt: skip
    if item.basis == identity.CONTENT and before is None:
        alternatives = item.alternatives or identity.rule(said.entity_type)[:-1]
        rules = " or ".join(" + ".join(names) for names in alternatives)
        draft.warnings.append({
            "code": "CONTENT_IDENTITY",
            "index": item.index,
            "message": "nothing here identifies the entity, so other content will be another entity: "
            f"give {rules}, or target_id to add to this one",
        })  # fmt: skip


def _link(draft: Draft, link: Link) -> StoredLink | None:
    request = draft.request
    key = request.link_key(link)
    if link.kind == "create" and not _ends_live(draft, link):
        return None
    shown_key = draft.shown_key(key)
    if link.kind != "create":
        return _turn_link(draft, link, key, shown_key)
    source, target = ids.ends(shown_key)
    if source == target:
        _refuse(draft, link, "target", "ERR_RELATIONSHIP_TO_ITSELF", "both ends are the same entity")
        return None
    said = request.link_observation(link, key, draft.recorded_at)
    known = draft.relationships.view(shown_key)
    repeated = draft.is_known(said)
    if not repeated:
        draft.observe_relationship(said)
    shown = draft.relationships.view(shown_key)
    assert shown is not None
    action = "matched_existing" if known and known.observation_count else "created"
    return StoredLink(shown_key, said.id, action, repeated, shown.version, shown.live)


def _turn_link(draft: Draft, link: Link, key: str, shown_key: str) -> StoredLink | None:
    """Delete all that a shown relationship stands for and that lives, or restore all that does not."""
    known = None if ids.is_loop(shown_key) else draft.relationships.view(shown_key)
    if known is None or not known.observation_count or _cannot_turn(link.kind, known):
        is_so = "no such live relationship" if link.kind == "delete" else "no such deleted relationship"
        _refuse(draft, link, "relationship_key", "ERR_NOTHING_TO_TURN", f"there is {is_so}: {key}")
        return None
    deletes = link.kind == "delete"
    members = draft.relationships.members(shown_key)
    turning = [one for one in members if one.observation_count and one.live is deletes]
    # A creation may have been observed a little ahead of the clock: what ends it must lie after it.
    observed = [
        draft.request.link_observation(link, one.subject_id, draft.recorded_at, place, _turned_at(one))
        for place, one in enumerate(sorted(turning, key=lambda one: one.subject_id))
    ]
    for said in observed:
        draft.observe_relationship(said)
    shown = draft.relationships.view(shown_key)
    assert shown is not None
    return StoredLink(shown_key, observed[0].id, "matched_existing", False, shown.version, shown.live)


def _turned_at(thing: Thing) -> int | None:
    return ranks.time_of(thing.lifecycle.rank) if thing.lifecycle else None


def _ends_live(draft: Draft, link: Link) -> bool:
    for side, end in (("source", link.source), ("target", link.target)):
        entity_id = end.resolve(draft.request.items)
        entity = draft.shown(entity_id)
        if entity is None and end.index is not None:
            # Its item was refused: that is said once.
            return False
        if entity is None or not entity.live:
            what = "ERR_RELATIONSHIP_ENTITY_DELETED" if entity else "ERR_RELATIONSHIP_ENTITY_NOT_FOUND"
            message = f"{entity.subject_id} is deleted" if entity else f"there is no entity {entity_id}"
            _refuse(draft, link, f"{side}_entity_id", what, message)
            return False
    return True


def _cannot_turn(kind: str, thing: Thing) -> bool:
    """Whether there is nothing to delete, or nothing to restore."""
    return (kind == "delete" and not thing.live) or (kind == "restore" and thing.live)


def _refuse(draft: Draft, part: Item | Link, name: str, code: str, message: str) -> None:
    draft.refuse(code, f"{part.path}.{name}", message, part.index)
