"""Decide the links of a store: which observations each makes, of which relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphmem.model import ending, ids, ranks
from graphmem.model.identity import squeezed
from graphmem.model.links import Link
from graphmem.writing.draft import Draft
from graphmem.writing.things import Thing
from graphmem.writing.write_requests import StoredLink

if TYPE_CHECKING:
    from graphmem.writing.store_request import StoreRequest


def apply(draft: Draft, request: StoreRequest, link: Link) -> StoredLink | None:
    """Add the observations of a link to a draft; ``None``, and issues, where it is refused."""
    link = _as_stored(draft, request, link)
    key = request.link_key(link)
    if link.kind == "create" and not _ends_are_live(draft, request, link):
        return None
    survivor_key = draft.survivor_key(key)
    if link.kind != "create":
        return _change_state(draft, request, link, key, survivor_key)
    source, target = ids.ends(survivor_key)
    if source == target:
        message = "both ends are the same entity"
        draft.refuse_part(link, "target", "ERR_RELATIONSHIP_TO_ITSELF", message)
        return None
    observation = request.link_observation(link, key, draft.recorded_at)
    known = draft.relationships.view(survivor_key)
    repeated = draft.is_known(observation)
    if repeated:
        draft.repeat(observation.id, request.transaction_id)
    else:
        draft.observe_relationship(observation)
    survivor = draft.relationships.view(survivor_key)
    assert survivor is not None
    _warn_of_role(draft, link, known, survivor)
    action = "matched_existing" if known and known.made else "created"
    return StoredLink(survivor_key, observation.id, action, repeated, survivor.version, survivor.live)


def _warn_of_role(draft: Draft, link: Link, known: Thing | None, survivor: Thing) -> None:
    """Warn of roles that another one replaces."""
    for value, name in sorted(_roles(known).items() - _roles(survivor).items()) if known else ():
        message = (
            f"{name} {value[:80]} is shown no more, and stays in the history: if both hold at once, store "
            "each with a since of its own"
        )
        draft.warn("ROLE_REPLACED", message, link.index, field=name)


def _roles(relationship: Thing) -> dict[str, str]:
    """Return the roles (canonical JSON) in the periods of a relationship, each with its field."""
    texts = {name: text for name, text in relationship.texts.items() if text != "null"}
    every = [*texts.items(), *(pair for period in ending.periods(texts.items()) for pair in period)]
    return {value: name for name, value in every if squeezed(name) in ending.ROLES}


def _as_stored(draft: Draft, request: StoreRequest, link: Link) -> Link:
    """Return a link as its relationship is stored, and warn if it has another name, or swapped ends."""
    stored = link
    if link.is_symmetric and not _is_made(draft, request, link) and _is_made(draft, request, link.swapped):
        stored = link.swapped
    name = link.given_type or link.relationship_type
    if link.given_type is not None or stored.is_swapped:
        kind, swapped = (
            stored.relationship_type,
            " with source and target swapped" if stored.is_swapped else "",
        )
        message = f"{name[:80]} is stored as {kind}{swapped}"
        draft.warn("RELATIONSHIP_STORED_AS", message, link.index, once=True, relationship_type=kind)
    return stored


def _is_made(draft: Draft, request: StoreRequest, link: Link) -> bool:
    known = draft.relationships.view(draft.survivor_key(request.link_key(link)))
    return known is not None and known.made


def _change_state(
    draft: Draft, request: StoreRequest, link: Link, key: str, survivor_key: str
) -> StoredLink | None:
    deletes = link.kind == "delete"
    known = None if ids.is_loop(survivor_key) else draft.relationships.view(survivor_key)
    if known is None or not known.made or known.live is not deletes:
        state = "live" if deletes else "deleted"
        message = f"there is no such {state} relationship: {key}"
        draft.refuse_part(link, "relationship_key", "ERR_NOTHING_TO_TURN", message)
        return None
    members = draft.relationships.members(survivor_key)
    changed = [member for member in members if member.made and member.live is deletes]
    # A creation may have been observed a little ahead of the clock: what ends it must lie after it.
    observations = [
        request.link_observation(link, member.subject_id, draft.recorded_at, place, lifecycle_time(member))
        for place, member in enumerate(sorted(changed, key=lambda member: member.subject_id))
    ]
    for observation in observations:
        draft.observe_relationship(observation)
    survivor = draft.relationships.view(survivor_key)
    assert survivor is not None
    return StoredLink(
        survivor_key, observations[0].id, "matched_existing", False, survivor.version, survivor.live
    )


def lifecycle_time(thing: Thing) -> int | None:
    """Return when the newest lifecycle observation of a thing was made, in microseconds."""
    return ranks.time_of(thing.lifecycle.rank) if thing.lifecycle else None


def _ends_are_live(draft: Draft, request: StoreRequest, link: Link) -> bool:
    for side, end in link.given_ends.items():
        entity_id = end.resolve(request.items)
        entity = draft.survivor_view(entity_id)
        if entity is None and end.index is not None:
            # The item was refused, and has an issue of its own.
            return False
        if entity is not None and entity.unmade and end.index is None and not entity.is_shared:
            entity = None
        if entity is None or not entity.live:
            code = "ERR_RELATIONSHIP_ENTITY_DELETED" if entity else "ERR_RELATIONSHIP_ENTITY_NOT_FOUND"
            message = f"{entity.subject_id} is deleted" if entity else f"there is no entity {entity_id}"
            draft.refuse_part(link, f"{side}_entity_id", code, message)
            return False
    return True
