"""Namesakes: live entities of its type that have the name of a new entity. A store warns of them.

Nothing is joined: the caller decides. ``write.look`` reads the namesakes that are stored. Those that the turn
itself creates come from the turn.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from graphmem.model import canonical, dates, identity
from graphmem.model.items import Item
from graphmem.writing.draft import Draft
from graphmem.writing.state import NameKey
from graphmem.writing.things import Thing

KIND: Final = "name"  # the kind of identifier that is compared
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


def add(draft: Draft, entity: Thing) -> None:
    for key in _keys(entity.kind, entity.identifiers):
        created = draft.new.names.setdefault(key, [])
        created.append(entity.subject_id)
        del created[:-CREATED_LIMIT]


def warn(draft: Draft, item: Item, entity: Thing) -> None:
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
    return ((kind, key, entity_type) for kind, key in identifiers if kind == KIND)


def _date(entity: Thing) -> str | None:
    winner = entity.fold.get(DATE_FIELD)
    return winner.value if winner else None


def _distance(date: str | None, other: str | None) -> int | None:
    """Return the microseconds between two dates in canonical JSON, ``None`` if one of them is no date."""
    texts = [text for text in (date, other) if text is not None and len(text) <= 2 * dates.LENGTH_LIMIT]
    values = [value for value in map(canonical.decode, texts) if isinstance(value, str)]
    moments = [written.at for written in map(dates.parse, values) if written]
    return abs(moments[0] - moments[1]) if len(moments) == 2 else None
