"""Merging entities, and undoing it: one fact each way, from which everything that is shown follows.

No observation moves. A merge makes the source shown as the target; what is stored of either stays its own,
so that an unmerge gives each back what it had and what was stored under it meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from graphmem.model.reduction import Observation
from graphmem.writing.draft import Draft
from graphmem.writing.requests import Merging
from graphmem.writing.things import Thing

MEMBERS: Final = 200
"""Most entities that one may show, itself among them."""


def decide(draft: Draft) -> dict[str, Any]:
    """Decide a request's merge, if it has one; return what its answer says of it."""
    merging = draft.request.merging
    if merging is None:
        return {}
    source = draft.entities.get(merging.source)
    if source is None:
        return _refuse(
            draft, "source_entity_id", "ERR_TARGET_NOT_FOUND", f"there is no entity {merging.source}"
        )
    return _merge(draft, merging, source) if merging.kind == "merge" else _unmerge(draft, merging, source)


def _merge(draft: Draft, merging: Merging, source: Thing) -> dict[str, Any]:
    target = draft.entities.get(merging.target or "")
    if target is None:
        return _refuse(
            draft, "target_entity_id", "ERR_TARGET_NOT_FOUND", f"there is no entity {merging.target}"
        )
    if source.subject_id == target.subject_id:
        return _refuse(draft, "target_entity_id", "ERR_MERGE_REFUSED", "an entity is not merged into itself")
    for name, entity in (("source_entity_id", source), ("target_entity_id", target)):
        if entity.into:
            merged = f"{entity.subject_id} is merged into {entity.into} already"
            message = f"{merged}: act on that one, or unmerge it first"
            return _refuse(draft, name, "ERR_MERGE_REFUSED", message)
        if not entity.live:
            return _refuse(
                draft, name, "ERR_MERGE_REFUSED", f"{entity.subject_id} is deleted: restore it first"
            )
    moved = draft.entities.members(source.subject_id)
    if len(moved) + len(draft.entities.members(target.subject_id)) > MEMBERS:
        return _refuse(draft, "target_entity_id", "ERR_MERGE_REFUSED", f"more than {MEMBERS} entities in one")
    _observe(draft, source, target.subject_id)
    draft.bump(draft.entities, target.subject_id)
    return _regrouped(draft, moved, source.subject_id, target.subject_id)


def _unmerge(draft: Draft, merging: Merging, source: Thing) -> dict[str, Any]:
    into = source.into
    if not into:
        message = f"{source.subject_id} is not merged into another"
        return _refuse(draft, "source_entity_id", "ERR_NOTHING_TO_TURN", message)
    if merging.target is not None and merging.target not in (into, draft.entities.root(source.subject_id)):
        message = f"{source.subject_id} is merged into {into}, not into {merging.target}"
        return _refuse(draft, "target_entity_id", "ERR_NOTHING_TO_TURN", message)
    root = draft.entities.root(source.subject_id)
    moved = draft.entities.members(source.subject_id)
    _observe(draft, source, None)
    draft.bump(draft.entities, root)
    return _regrouped(draft, moved, source.subject_id, into)


def observed(draft: Draft, said: Observation, into: str | None, *, moves: bool) -> None:
    """Take in a merge, or its end, that was accepted elsewhere.

    Args:
        into: what it merges into; ``None`` ends a merge.
        moves: whether it is the newest fact of what it moves: an older one changes nothing that is shown.
    """
    subject_id = said.subject_id
    root = draft.entities.root(subject_id)
    known = into is None or (
        draft.entities.get(into) is not None and subject_id not in draft.entities.chain(into)
    )
    was = draft.entities[subject_id].into if draft.entities.get(subject_id) else None
    if not moves or not known or was == into:
        draft.observe_entity(said)
        return
    moved = draft.entities.members(subject_id)
    draft.observe_entity(said)
    draft.entities.put(replace(draft.entities[subject_id], into=into))
    draft.bump(draft.entities, into or root)
    _regrouped(draft, moved, subject_id, into or root)


def _observe(draft: Draft, source: Thing, into: str | None) -> None:
    said = draft.request.merge_observation(source.kind, draft.recorded_at)
    draft.observe_entity(said)
    draft.entities.put(replace(draft.entities[source.subject_id], into=into))


def _regrouped(draft: Draft, moved: list[Thing], source: str, target: str) -> dict[str, Any]:
    """Show the relationships of what was moved where it is shown now."""
    subject_ids = {one.subject_id for one in moved}
    keys = [key for key in draft.relationships if subject_ids & set(key.split(":")[1:])]
    said = [key for key in sorted(keys) if draft.relationships[key].observation_count]
    draft.regroup(said)
    return {
        "source_entity_id": source,
        "target_entity_id": target,
        "entities": len(moved),
        "observations": sum(one.observation_count for one in moved),
        "relationships": len(said),
    }


def _refuse(draft: Draft, name: str, code: str, message: str) -> dict[str, Any]:
    draft.refuse(code, f"$.{name}", message)
    return {}
