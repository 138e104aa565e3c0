"""Schemas in a turn: what the schema of a type finds in an item, names near to others, and changes."""

from dataclasses import dataclass, replace
from typing import Any, Final

from graphmem.model import canonical, dates, facts, identity, ids, schema, timeline_fields
from graphmem.model.fact_records import Renaming
from graphmem.model.items import Item
from graphmem.text import identifiers, spelling
from graphmem.writing.draft import Draft
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Receipt, Touched

UNKNOWN_TYPE: Final = "ERR_UNKNOWN_TYPE"
UNCHANGED: Final = "ERR_SCHEMA_UNCHANGED"
WARNED_VALUE_CHARACTERS: Final = 200
"""A warning cuts the JSON of a longer value: it is kept with the answer of the transaction."""
_VISIBILITY_CODES: Final = frozenset({"TYPE_MISMATCH", "UNKNOWN_FIELD"})
"""Findings that say how a snapshot shows a value, or that it hides it."""
FIELDS_COMPARED: Final = 50  # new fields of one item that are compared with those in use
FIELDS_IN_USE_LIMIT: Final = 2_000  # fields in use of a type beyond which new ones are not compared
_CONTACTS: Final = ("email", "phone", "url")  # kinds of identifiers that have fields of several names


def check(draft: Draft, item: Item) -> None:
    """Compare an item with its schema; violations become issues or, unless the schema rejects, warnings. The
    own type says what the item must have, that of the survivor what the snapshot hides."""
    if item.kind not in facts.VALUE_KINDS or (item.entity_type is None and item.basis != "target_id"):
        return
    known = draft.entities.get(item.entity_id)
    entity_type = known.kind if known else item.entity_type
    assert entity_type is not None
    survivor_type = draft.entities.survivor(item.entity_id).kind if known else entity_type
    document = document_of(draft, entity_type)
    if document is not None:
        if item.basis == identity.CONTENT and document.strict and item.alternatives is not None:
            needed = " or ".join(" + ".join(names) for names in item.alternatives)
            message = f"no field of the item identifies a {entity_type}: give {needed}, or target_id"
            draft.refuse("ERR_IDENTITY_FIELDS_MISSING", item.path, message, item.index)
        for finding in document.findings(item.fields):
            lacks_field = finding.code == "MISSING_REQUIRED_FIELD"
            if lacks_field and (item.kind == "correction" or known is not None):
                continue
            if finding.refused:
                path = f"{item.path}.{finding.field}"
                draft.refuse("ERR_CONSTRAINT_VIOLATION", path, finding.message, item.index)
            elif survivor_type == entity_type or finding.code not in _VISIBILITY_CODES:
                _warn(draft, item, finding, document)
        if draft.head(entity_type).active is None:
            _warn_of_undated(draft, item, entity_type, document)
    if survivor_type != entity_type and (survivor_document := document_of(draft, survivor_type)) is not None:
        for finding in survivor_document.findings(item.fields):
            if finding.code in _VISIBILITY_CODES:
                _warn(draft, item, finding, survivor_document)


def _warn_of_undated(draft: Draft, item: Item, entity_type: str, document: schema.SchemaDocument) -> None:
    """Warn of each text that is no date, in a date of a shipped type by another usual name."""
    for name in item.fields.keys() - document.fields.keys():
        text = item.fields[name]
        is_text = text[:1] == '"' and len(text) <= WARNED_VALUE_CHARACTERS
        if not is_text or (entity_type, timeline_fields.folded(name)) not in timeline_fields.BY_TYPE:
            continue
        value = canonical.decode(text)
        if value and dates.parse(value) is None:
            message = f"{value!r} is no date, so it makes no event: give a date such as 2026-01-31"
            draft.warn("TYPE_MISMATCH", message, item.index, field=name, value=value, expected_type="date")


def document_of(draft: Draft, entity_type: str) -> schema.SchemaDocument | None:
    """Return the registered document of a type, else the shipped one."""
    active = draft.head(entity_type).active
    return active.document if active else schema.shipped(entity_type)


def _warn(draft: Draft, item: Item, finding: schema.SchemaFinding, document: schema.SchemaDocument) -> None:
    more: dict[str, Any] = {}
    if finding.code == "TYPE_MISMATCH":
        text = item.fields[finding.field]
        is_long = len(text) > WARNED_VALUE_CHARACTERS
        more["value"] = f"{text[:WARNED_VALUE_CHARACTERS]}…" if is_long else canonical.decode(text)
        more["expected_type"] = document.fields[finding.field].type
    draft.warn(finding.code, finding.message, item.index, field=finding.field, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRequest(TransactionRequest):
    shares_turn = False

    change: schema.Change

    @property
    def content(self) -> dict[str, Any]:
        return {"change": self.change.as_json()}

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        touched.types.update((self.change.entity_type, *self.change.aliases))

    def apply(self, draft: Draft) -> Receipt:
        return Receipt(self.transaction_id, draft.recorded_at, result=self._change(draft))

    def _change(self, draft: Draft) -> dict[str, Any]:
        change = self.change
        if named := draft.state.read.aliases.get(change.entity_type):
            message = f"{change.entity_type} is another name of {named}: change the schema of {named}"
            draft.refuse("ERR_TYPE_ALIAS", "$.entity_type", message)
            return {}
        head = draft.state.heads.get(change.entity_type)
        known = head.active if head else None
        try:
            active = schema.decide(known, head.seen if head else None, change)
        except schema.UnknownType as exc:
            draft.refuse(UNKNOWN_TYPE, "$.entity_type", str(exc))
            return {}
        except schema.SchemaInvalid as exc:
            codes = [issue["code"] for issue in exc.issues]
            if known is not None and change.kind == "register" and codes == [UNCHANGED]:
                # A program may register its schema each time that it starts: that is no error.
                return _answer(change.entity_type, replace(known, added=(), removed=()))
            for issue in exc.issues:
                draft.refuse(**issue)
            return {}
        _rename(draft, change, set(known.document.aliases if known else ()), set(active.document.aliases))
        if draft.issues:
            return {}
        draft.activate(change.entity_type, active, change.kind)
        return _answer(change.entity_type, active)


def _rename(draft: Draft, change: schema.Change, old: set[str], new: set[str]) -> None:
    """Give a type other names and take some away; refuse one that has another meaning already."""
    path = "$.schema.aliases" if change.kind == "register" else "$.aliases"
    for name in sorted(new - old):
        if other := draft.state.read.aliases.get(name):
            reason = f"is another name of {other}: take it away from {other} first"
        elif schema.shipped(name) is not None:
            reason = "is a type of its own that everybody has"
        elif name in draft.state.heads:
            reason = "is a type of its own: its entities would no longer be found by it"
        else:
            continue
        draft.refuse("ERR_TYPE_ALIAS", path, f"{name} {reason}")
    draft.new.aliases = {**dict.fromkeys(new - old, change.entity_type), **dict.fromkeys(old - new, None)}


def _answer(entity_type: str, active: schema.Active) -> dict[str, Any]:
    return {
        "entity_type": entity_type,
        "version": active.version,
        "document": active.document.text,
        "added": list(active.added),
        "removed": list(active.removed),
    }


def warn_of_new_names(draft: Draft, item: Item, entity_type: str) -> None:
    """Warn of a type and of fields that are new and near to a name in use, before the item is observed."""
    if item.kind == "correction":
        _warn_of_second_field(draft, item)
    head = draft.head(entity_type)
    document = document_of(draft, entity_type)
    if document is None and entity_type not in draft.heads and entity_type not in draft.state.heads:
        _warn_of_type(draft, item, entity_type)
        return
    declared = document.fields if document else {}
    usual = {*head.seen, *declared, *identity.NAMING, *identifiers.FIELDS}
    new = [name for name in item.shapes if name not in usual]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamingRequest(TransactionRequest):
    """A relationship type of the owner's own has another name as well; nothing stored changes."""

    relationship_type: str
    name: str

    @property
    def content(self) -> dict[str, Any]:
        return {"renaming": [self.relationship_type, self.name]}

    def apply(self, draft: Draft) -> Receipt:
        fact = Renaming.model_construct(
            id=ids.renaming_id(self.transaction_id), relationship_type=self.relationship_type, name=self.name
        )
        draft.add(fact, self.transaction_id)
        return Receipt(self.transaction_id, draft.recorded_at)
