"""Decide the items of a store: which observation each makes, of which entity, and what is warned of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from graphmem.model import canonical, dates, facts, identity, merged_arrays, shared_addresses, times
from graphmem.model.items import Item
from graphmem.model.reduction import Observation, Winner
from graphmem.text.identifiers import address_of
from graphmem.writing import parting, schema_changes
from graphmem.writing.draft import Draft
from graphmem.writing.state import NameKey
from graphmem.writing.things import Thing
from graphmem.writing.write_requests import StoredItem

if TYPE_CHECKING:
    from graphmem.writing.store_request import StoreRequest

_SHARED_LIMIT: Final = 20  # people at one address that a warning names


def apply(draft: Draft, request: StoreRequest, item: Item) -> StoredItem | None:
    """Add the observation of an item to a draft; ``None``, and issues, where it is refused."""
    known = draft.entities.get(item.entity_id)
    entity_type = known.kind if known else item.entity_type
    exists = draft.exists(item.entity_id)
    if entity_type is None or (not exists and item.basis == "target_id"):
        key = "entity_id" if item.path == "$" else "target_id"
        draft.refuse_part(item, key, "ERR_TARGET_NOT_FOUND", f"there is no entity {item.entity_id}")
        return None
    if item.entity_type not in (None, entity_type, identity.SHIPPED_ALIASES.get(entity_type)):
        message = f"{item.entity_id} is of type {entity_type}, not {item.entity_type}"
        draft.refuse_part(item, "entity_type", "ERR_TARGET_TYPE", message)
        return None
    observation = request.item_observation(item, entity_type, draft.recorded_at)
    before = draft.survivor_view(item.entity_id) if exists else None
    if not _is_allowed(draft, item, before):
        return None
    repeated = draft.is_known(observation)
    if repeated:
        draft.repeat(observation.id, request.transaction_id)
    else:
        schema_changes.warn_of_new_names(draft, item, entity_type)
        draft.observe_entity(observation)
    survivor_id = draft.entities.root(item.entity_id)
    after = draft.survivor_view(item.entity_id)
    assert after is not None
    if not repeated:
        _warn(draft, item, before, after, observation)
    _warn_of_sharing(draft, item)
    is_known = known is not None and exists
    action = (
        "extended"
        if is_known and item.basis == "target_id"
        else "matched_existing"
        if is_known
        else "created"
    )
    return StoredItem(
        entity_id=survivor_id, entity_type=after.kind, observation_id=observation.id, action=action,
        identity_basis=item.basis, version=after.version, deduplicated=repeated,
        home_entity_id="" if survivor_id == item.entity_id else item.entity_id,
    )  # fmt: skip


def _warn_of_sharing(draft: Draft, item: Item) -> None:
    home = item.home or item.entity_id
    shared = draft.state.addresses.partings.get(home)
    if shared is None or not shared.is_shared or shared.whole:
        return
    others = [each for each in shared.ids if each != item.entity_id]
    is_number = item.basis == shared_addresses.NUMBER
    identifier = "the number" if is_number else "the e-mail address"
    what, why = ("things", "days, partners or currencies") if is_number else ("people", "names or birthdays")
    names = [] if is_number else sorted({str(form[0]) for form in shared.parts if form[0]})
    what += f" ({', '.join(names[:_SHARED_LIMIT])})" if names else ""
    message = (
        f"{len(shared.ids)} {what} share {identifier} of {home}, as their {why} contradict each other, "
        f"and the observation is about {'one' if item.home else 'none'} of them: if they are one, merge them"
    )
    draft.warn(
        "SHARED_IDENTIFIER", message, item.index, entity_id=item.entity_id, shared_with=others[:_SHARED_LIMIT]
    )


def settled(draft: Draft, index: int, item: StoredItem) -> StoredItem:
    """Return what became of an item after the merges by rule of its request."""
    subject_id = item.home_entity_id or item.entity_id
    survivor_id = draft.entities.root(subject_id)
    after = draft.survivor_view(subject_id)
    assert after is not None
    is_merged = survivor_id != subject_id
    by_rule = is_merged and draft.entities[subject_id].merged_by is not None
    action = "matched_existing" if by_rule and item.action == "created" else item.action
    if by_rule and not after.live and item.entity_id != survivor_id:
        _warn_of_deleted(draft, index, after)
    return item._replace(
        entity_id=survivor_id, action=action, version=after.version,
        home_entity_id=subject_id if is_merged else "", resolved_by="rule" if by_rule else "",
    )  # fmt: skip


def _warn_of_deleted(draft: Draft, index: int, entity: Thing) -> None:
    entity_id = entity.subject_id
    message = (
        "the entity is deleted: the observation is stored and stays hidden until "
        f"POST /restore_entity with entity_id {entity_id}"
    )
    draft.warn("ENTITY_DELETED", message, index, entity_id=entity_id)


def _is_allowed(draft: Draft, item: Item, survivor: Thing | None) -> bool:
    """Refuse an item that the state of its entity, or the schema of its type, does not allow."""
    count = len(draft.issues)
    if item.kind in facts.LIFECYCLE_KINDS and survivor is not None:
        if survivor.subject_id != item.entity_id:
            merged = f"{item.entity_id} is merged into {survivor.subject_id}"
            message = f"{merged}: act on {survivor.subject_id}, or unmerge {item.entity_id} first"
            draft.refuse_part(item, "entity_id", "ERR_ENTITY_MERGED", message)
        elif survivor.live is not (item.kind == "delete"):
            state = "is deleted already" if item.kind == "delete" else "is not deleted"
            draft.refuse_part(item, "entity_id", "ERR_NOTHING_TO_TURN", f"{item.entity_id} {state}")
    schema_changes.check(draft, item)
    return len(draft.issues) == count


def _warn(draft: Draft, item: Item, before: Thing | None, after: Thing, observation: Observation) -> None:
    for name, value in item.fields.items():
        old = before.fold.get(name) if before else None
        winner = after.fold.get(name)
        if winner is None:
            continue
        if (lost := _lost(draft, item, observation, name, after)) is not None:
            draft.warn(*lost, item.index, field=name, observation_id=winner.observation_id)
        is_cleared = value == "null" and old is not None and old.value != "null"
        if is_cleared and winner.value == "null" and winner.observation_id == observation.id:
            message = (
                f"null is now the value of {name}: the snapshot no longer shows it; to take back what was "
                "stored by mistake, POST /undo or POST /withdraw"
            )
            draft.warn("NULL_CLEARED_FIELD", message, item.index, field=name)
    if not after.live and item.kind in facts.VALUE_KINDS:
        _warn_of_deleted(draft, item.index, after)
    if item.basis == identity.CONTENT and before is None:
        alternatives = item.alternatives or identity.rule(observation.entity_type)[:-1]
        # The rule of a shipped type repeats names of the general rule.
        rules = " or ".join(dict.fromkeys(" + ".join(names) for names in alternatives))
        message = (
            "no field of the item identifies the entity, so other content will be another entity: "
            f"give {rules}, or target_id to add to this entity"
        )
        draft.warn("CONTENT_IDENTITY", message, item.index)
    if before is None:
        _warn_of_mailbox(draft, item)
        _warn_of_namesake(draft, item, after)
        _note_names(draft, after)
    elif identified := parting.of_item(item):
        _warn_of_family_name(draft, item, before, identified.form)


def _warn_of_mailbox(draft: Draft, item: Item) -> None:
    """Warn of an e-mail address with a name or as a link: the address alone identifies another entity."""
    for name, text in item.fields.items():
        is_mailbox = "<" in text or "mailto:" in text.lower()
        if not is_mailbox or "email" not in item.basis or identity.spelled(name) != "email":
            continue
        mailbox = identity.identity_value(canonical.decode(text)) or ""
        if (address := address_of(mailbox)) != mailbox:
            message = (
                f"the entity is identified by {mailbox!r}, and is another one than that of {address}: store "
                "the address alone, and merge the two if they are one"
            )
            draft.warn("EMAIL_WITH_NAME", message, item.index, field="email", entity_id=item.entity_id)


def _warn_of_family_name(draft: Draft, item: Item, before: Thing, form: shared_addresses.AnyForm) -> None:
    """Warn where the person at an e-mail address has another family name than in all that was stored."""
    names = (value for name, value in before.evidence if name == "name")
    if isinstance(form, shared_addresses.Form) and shared_addresses.is_other_family(form.name or "", names):
        message = (
            f"the person of {item.entity_id} had another family name at this e-mail address until now: if "
            "they are two people, POST /entities/split"
        )
        draft.warn("OTHER_FAMILY_NAME", message, item.index, entity_id=item.entity_id)


def _lost(
    draft: Draft, item: Item, observation: Observation, name: str, after: Thing
) -> tuple[str, str] | None:
    """Return code and message of the warning of a value whose field shows another one."""
    winner = after.fold[name]
    if observation.kind not in facts.VALUE_KINDS or winner.observation_id == observation.id:
        return None
    rules = draft.rules(observation.subject_id, observation.entity_type)
    value = rules.value(name, observation.fields[name]) if rules.shows(name) else None
    claim = None if value is None else observation.claim(name, value, rules)
    if claim is None or claim.value == winner.value:
        return None
    own = draft.entities[observation.subject_id].fold.get(name)
    is_newer = own is not None and own > winner and not merged_arrays.is_union(winner.rank)
    # An item says the name by which its entity is found whether or not the name is shown.
    if is_newer and name not in item.basis.split("+"):
        return "OTHER_MEMBER_SHOWN", (
            f"the observation is stored, and {after.subject_id} shows the value of {winner.observation_id}, "
            "which another merged entity has: a null clears only the value of its own entity, and a merge "
            "keeps the name of its target: act on the entity that has it"
        )
    if _is_held(observation, winner):
        return "HELD_BY_CORRECTION", (
            f"the observation is stored, and the snapshot keeps the value of the correction "
            f"{winner.observation_id}: another correction of {name} ends that, an item with "
            '"supersedes_correction": true, or POST /correct with release'
        )
    if claim.rank == winner.rank and not merged_arrays.is_union(claim.rank):
        # Only the greater id decided.
        return "EQUAL_TIME_LOST", (
            f"the observation is stored, and {name} keeps the value of {winner.observation_id}, which has "
            "the same observed_at and the greater id: store it with a later observed_at, or POST /correct"
        )
    return None


def _is_held(observation: Observation, winner: Winner) -> bool:
    """Return whether a winner is an older correction. A time without its hour may be after one of its day."""
    corrected_at = winner.corrected_at
    if corrected_at is None:
        return False
    day_end = observation.observed_at + (times.DAY if observation.observed_at % times.DAY == 0 else 0)
    return observation.observed_at >= corrected_at or day_end > corrected_at


# Namesakes: live entities of its type that have the name of a new entity. Nothing is joined: the caller
# decides. ``write.look`` reads those that are stored; those that the turn itself creates come from the turn.

_NAMED_KIND: Final = "name"  # the kind of identifier that is compared
DATE_FIELD: Final = "date_start"
"""The field that tells apart events of one name; also in ``write/look.cypher``."""
NEAR_DATES_MICROSECONDS: Final = 48 * 3_600 * 1_000_000
"""The greatest distance of the dates of two events that are warned of."""
CREATED_LIMIT: Final = 3
"""Entities of one name that a turn creates and remembers, the newest; as many as ``write.look`` reads."""
CODES: Final = frozenset({"SAME_NAME", "SAME_NAME_NEAR_DATE"})
SERIES_LEAST: Final = 3  # dated events of one name that are a series: another one is no surprise


def names_of(item: Item) -> set[NameKey]:
    """Return the names of the entity that an item may create; none if it names its entity by an id."""
    if item.entity_type is None or item.basis in ("target_id", identity.NEW):
        return set()
    values = identity.naming_values(item.fields)
    if not values:
        return set()
    display_name = identity.display_name(item.entity_type, item.entity_id, values)
    return set(_keys(item.entity_type, identity.identifiers(values, display_name)))


def _note_names(draft: Draft, entity: Thing) -> None:
    for key in _keys(entity.kind, entity.identifiers):
        created = draft.new.names.setdefault(key, [])
        created.append(entity.subject_id)
        del created[:-CREATED_LIMIT]


def _warn_of_namesake(draft: Draft, item: Item, entity: Thing) -> None:
    """Warn of a namesake of the entity that an item created; ``intent: create_new`` asks for a second one."""
    if item.basis == identity.NEW:
        return
    date = _date(entity)
    gaps = [(entity_id, _distance(date, other)) for entity_id, other in _namesakes(draft, entity)]
    certain = [entity_id for entity_id, gap in gaps if gap is None]
    near = [entity_id for entity_id, gap in gaps if gap is not None and gap <= NEAR_DATES_MICROSECONDS]
    if certain:
        code, target, reason = "SAME_NAME", certain[0], "has the same name"
    elif near and len(gaps) < SERIES_LEAST:
        code, target = "SAME_NAME_NEAR_DATE", near[0]
        reason = f"has the same name, and a {DATE_FIELD} at most two days away"
    else:
        return
    message = (
        f"this is a new {entity.kind}, and {target} {reason}: if they are the same, store with "
        f"target_id {target}, and merge {entity.subject_id} into it"
    )
    draft.warn(code, message, item.index, entity_id=entity.subject_id, target_id=target)


def forget_merged(draft: Draft) -> None:
    """Withdraw the warnings of namesakes that the rule has merged with the new entity."""
    roots = draft.entities.root
    draft.warnings[:] = [
        each
        for each in draft.warnings
        if each["code"] not in CODES or roots(each["entity_id"]) != roots(each["target_id"])
    ]


def _namesakes(draft: Draft, entity: Thing) -> Iterator[tuple[str, str | None]]:
    """Yield the live entities that have a name of an entity, each with its date (canonical JSON)."""
    yielded = {entity.subject_id}
    for key in sorted(_keys(entity.kind, entity.identifiers)):
        stored = {row.entity_id: row for row in draft.state.read.namesakes.get(key, ())}
        earlier, created = draft.state.new.names.get(key, []), draft.new.names.get(key, [])
        for entity_id in (*stored, *earlier[-CREATED_LIMIT:], *created):
            if entity_id in yielded:
                continue
            yielded.add(entity_id)
            if draft.entities.get(entity_id) is None:
                yield entity_id, stored[entity_id].date
            elif (known := _unmerged(draft, entity_id)) is not None and key in _keys(
                known.kind, known.identifiers
            ):
                yield entity_id, _date(known)


def _unmerged(draft: Draft, entity_id: str) -> Thing | None:
    known = draft.survivor_view(entity_id)
    return known if known is not None and known.live and known.subject_id == entity_id else None


def _keys(entity_type: str, identifiers: Iterable[tuple[str, str]]) -> Iterator[NameKey]:
    return ((kind, key, entity_type) for kind, key in identifiers if kind == _NAMED_KIND)


def _date(entity: Thing) -> str | None:
    winner = entity.fold.get(DATE_FIELD)
    return winner.value if winner else None


def _distance(date: str | None, other: str | None) -> int | None:
    """Return the microseconds between two dates in canonical JSON, ``None`` if one of them is no date."""
    texts = [text for text in (date, other) if text is not None and len(text) <= 2 * dates.LENGTH_LIMIT]
    values = [value for value in map(canonical.decode, texts) if isinstance(value, str)]
    moments = [written.at for written in map(dates.parse, values) if written]
    return abs(moments[0] - moments[1]) if len(moments) == 2 else None
