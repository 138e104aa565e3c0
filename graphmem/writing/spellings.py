"""New types and fields whose names are near to names in use: a store warns that they may be misspelled."""

from __future__ import annotations

from typing import Final

from graphmem.model import identity, schema
from graphmem.model.items import Item
from graphmem.text import identifiers, spelling
from graphmem.writing import schema_changes
from graphmem.writing.draft import Draft

FIELDS_COMPARED: Final = 50  # new fields of one item that are compared with those in use
FIELDS_IN_USE_LIMIT: Final = 2_000  # fields in use of a type beyond which new ones are not compared

_CONTACTS: Final = ("email", "phone", "url")  # kinds of identifiers that have fields of several names


def warn(draft: Draft, item: Item, entity_type: str) -> None:
    """Warn of a type and of fields that are new and near to a name in use, before the item is observed."""
    if item.kind == "correction":
        _warn_of_second_field(draft, item)
    head = draft.head(entity_type)
    document = schema_changes.document_of(draft, entity_type)
    if document is None and entity_type not in draft.heads and entity_type not in draft.state.heads:
        _warn_of_type(draft, item, entity_type)
        return
    declared = document.fields if document else {}
    new = [name for name in item.shapes if not (name in head.seen or name in declared or _is_usual(name))]
    if not new or len(head.seen) > FIELDS_IN_USE_LIMIT:
        return
    in_use = head.seen.keys() | declared.keys()
    for name in new[:FIELDS_COMPARED]:
        if near := spelling.nearest(name, in_use):
            _warn_of_field(draft, item, name, near, f"the type {entity_type}")


def _warn_of_field(draft: Draft, item: Item, name: str, near: str, subject: str) -> None:
    message = f"{name} is a new field of {subject}: did you mean {near}?"
    draft.warn("NEW_FIELD", message, item.index, field=name, nearest=near)


def _warn_of_second_field(draft: Draft, item: Item) -> None:
    """Warn where a correction sets an identifier that its entity has under another name."""
    entity = draft.survivor_view(item.entity_id)
    known = {name for name, winner in entity.fold.items() if winner.value != "null"} if entity else set[str]()
    for name in item.fields.keys() & identifiers.FIELDS.keys() - known:
        kind = identifiers.FIELDS[name]
        alike = sorted(
            other for other in known if kind in _CONTACTS and identifiers.FIELDS.get(other) == kind
        )
        if alike:
            _warn_of_field(draft, item, name, alike[0], f"the entity {item.entity_id}")


def _warn_of_type(draft: Draft, item: Item, entity_type: str) -> None:
    state = draft.state
    near = spelling.nearest(
        entity_type, {*schema.shipped_types(), *state.read.types_in_use, *state.heads, *draft.heads}
    )
    if near:
        message = f"{entity_type} is a new type: did you mean {near}?"
        draft.warn("NEW_TYPE", message, item.index, nearest=near)


def _is_usual(name: str) -> bool:
    return name in identity.NAMING or name in identifiers.FIELDS
