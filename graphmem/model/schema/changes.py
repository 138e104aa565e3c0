"""Changes to schemas.

A :class:`Change` holds the request alone. The owner's writer applies it to the schema at the moment of
writing (:func:`decide`), so that two concurrent changes keep the additions of both.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from graphmem.model import canonical
from graphmem.model.discovery import Shapes, describe
from graphmem.model.schema.fields import FIELD_TYPES, Field
from graphmem.model.schema.schema_document import REFERENCE_FIELDS, SchemaDocument, field_of_json, of_json
from graphmem.model.schema.schema_parsing import check, field_name, fields_of, settings_of
from graphmem.model.schema.shapes import FIELDS_LIMIT, Issues, members
from graphmem.model.schema.shipped import VERSION, shipped

_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)
FIRST_VERSION: Final = "1.0"  # the version of the first registration of a type


class UnknownType(ValueError):
    """The type is not registered, not shipped and has no observations, so it has no schema to change."""

    def __init__(self, entity_type: str) -> None:
        super().__init__(
            f"the type {entity_type} is unknown: register it by POST /register_schema or store one"
        )
        self.entity_type = entity_type


@dataclass(frozen=True, slots=True)
class Active:
    """The current registered schema of a type."""

    version: str  # ``major.minor``
    document: SchemaDocument
    added: tuple[str, ...] = ()  # fields that the change to this version declared
    removed: tuple[str, ...] = ()  # and those that it removed


@dataclass(frozen=True, slots=True)
class Change:
    """A requested change in its normal form: plain JSON."""

    kind: Literal["register", "update"]
    entity_type: str
    document: Mapping[str, Any] | None = None  # of a registration
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # declared by an update
    remove: tuple[str, ...] = ()  # the fields that an update removes
    settings: Mapping[str, Any] = field(default_factory=dict)  # the other keys that it sets
    version: str | None = None  # the requested version; without one, the next version is computed

    @property
    def aliases(self) -> tuple[str, ...]:
        keys = self.document if self.document is not None else self.settings
        return tuple(keys.get("aliases", ()))

    def as_json(self) -> dict[str, Any]:
        """Return the change as JSON, without empty parts: idempotency keys are compared by it."""
        parts = {**asdict(self), "remove": list(self.remove)}
        return {name: value for name, value in parts.items() if value}


def registration(document: SchemaDocument, version: str | None = None) -> Change:
    """Return the change that registers a whole document."""
    issues = Issues()
    _check_version(version, issues)
    issues.settle()
    return Change("register", document.entity_type, document=document.as_json(), version=version)


def update(
    entity_type: str, *, new_fields: object = None, remove: object = None,
    settings: Mapping[str, Any] | None = None, version: str | None = None,
) -> Change:  # fmt: skip
    """Return the change that adds fields to a document, removes fields, or sets its other keys; may raise
    SchemaInvalid.

    ``new_fields`` are as ``fields_of`` reads them, ``settings`` keys of a document, as clients write them.
    """
    issues = Issues()
    _check_version(version, issues)
    fields = fields_of({} if new_fields is None else new_fields, "$.new_fields", issues)
    names = _names([] if remove is None else remove, issues)
    for name in names:
        if name in fields:
            issues.add(
                "$.fields_to_remove",
                f"{name[:64]} is in new_fields too: give it in one of the two",
                "ERR_GIVEN_TWICE",
            )
    keys = settings_of(entity_type, members(settings or {}, "$", issues), "$", issues)
    if not (fields or names or keys or issues):
        issues.add("$", "the change is empty: give new_fields or fields_to_remove", "ERR_SCHEMA_UNCHANGED")
    issues.settle()
    return Change("update", entity_type, fields=fields, remove=names, settings=keys, version=version)


def unregistered_document(entity_type: str, observed: Mapping[str, Shapes] | None) -> SchemaDocument | None:
    """Return the document of a type without a registered schema: the shipped one, else the discovered one.

    ``observed`` are the types of each field. One with several types, or only null, is not declared, but
    shown.
    """
    known = shipped(entity_type)
    if known is not None or observed is None:
        return known
    declared = {name: describe(shapes) for name, shapes in observed.items()}
    fields: dict[str, Any] = {n: Field(kind) for n, kind in declared.items() if kind in FIELD_TYPES}  # pyright: ignore[reportArgumentType]
    return SchemaDocument(entity_type, fields, additional_fields="show", mismatch="show")


def effective(
    entity_type: str, active: Active | None, observed: Mapping[str, Shapes] | None
) -> SchemaDocument | None:
    return active.document if active is not None else unregistered_document(entity_type, observed)


def decide(active: Active | None, observed: Mapping[str, Shapes] | None, change: Change) -> Active:
    """Return the registered schema after a change, from the ``active`` one and the ``observed`` types of each
    field.

    Raises:
        SchemaInvalid: the document is not valid or equals the current one, or its version is not greater.
        UnknownType: the type has no schema to update.
    """
    if change.kind == "register":
        assert change.document is not None
        before, document = active, of_json(change.document)
    else:
        known = effective(change.entity_type, active, observed)
        if known is None:
            raise UnknownType(change.entity_type)
        counted = VERSION if shipped(change.entity_type) else None
        before = active or Active(counted or "0.0", known)
        document = _updated(known, observed or {}, change)
    issues = Issues()
    if before is not None and document.text == before.document.text:
        issues.add("$", "the schema is already as requested", "ERR_SCHEMA_UNCHANGED")
        issues.settle()
    version = change.version or _next(before, document)
    if before is not None and version_order(version) <= version_order(before.version):
        message = f"the current version is {before.version}: give a greater one, or leave it out"
        issues.add("$.schema_version", message, "ERR_SCHEMA_VERSION")
        issues.settle()
    old = before.document.fields if before else {}
    removed = [name for name in (*old, *change.remove) if name not in document.fields]
    return Active(
        version,
        document,
        added=_sorted({*change.fields, *(name for name in document.fields if name not in old)}),
        removed=_sorted(dict.fromkeys(removed)),
    )


def _updated(known: SchemaDocument, observed: Mapping[str, Shapes], change: Change) -> SchemaDocument:
    issues = Issues()
    known_json = known.as_json()
    settings = change.settings
    for name, other in (pair := ("canonical_name_fields", "identity_opt_out")), pair[::-1]:
        if name in settings:
            known_json.pop(other, None)
    known_json |= settings
    fields: dict[str, Any] = dict(known_json["fields"])
    hidden = [name for name in known_json.get("hidden_fields", ()) if name not in change.fields]
    for name in change.remove:
        if name not in fields and (name not in observed or not known.shows(name)):
            issues.add("$.fields_to_remove", f"the type has no field {name}", "ERR_NO_SUCH_FIELD")
        fields.pop(name, None)
    for name, declaration in change.fields.items():
        fields[name] = _redeclared(fields.get(name), declaration, hides=known_json["mismatch"] == "hide")
    issues.settle()
    for listed in {"temporal_fields", REFERENCE_FIELDS} - settings.keys():
        if listed in known_json:
            known_json[listed] = [each for each in known_json[listed] if each["field"] not in change.remove]
    hidden = _sorted({*hidden, *change.remove})
    document = of_json({**known_json, "fields": fields, "hidden_fields": hidden})
    check(document, "$", issues)
    issues.settle()
    return document


def _redeclared(
    known: Mapping[str, Any] | None, declaration: Mapping[str, Any], *, hides: bool
) -> dict[str, Any]:
    """Merge a new declaration into the known one. If the type changes, only ``required`` and ``description``
    of the known one stay."""
    kept = dict(known or {})
    if known and known["type"] != declaration["type"]:
        kept = {name: known[name] for name in ("required", "description") if name in known}
    declared = {**kept, **declaration}
    if not hides:
        declared.setdefault("mismatch", "hide")
    return field_of_json(declared).as_json()


def _next(before: Active | None, document: SchemaDocument) -> str:
    if before is None:
        return FIRST_VERSION
    major, minor = version_order(before.version)
    if major == 0:
        return FIRST_VERSION
    return f"{major + 1}.0" if _is_major(before.document, document) else f"{major}.{minor + 1}"


def _is_major(old: SchemaDocument, new: SchemaDocument) -> bool:
    retyped = any(
        name not in new.fields or new.fields[name].type != old.fields[name].type for name in old.fields
    )
    identity_of = [
        (document.canonical_name_fields, document.opted_out, document.strict) for document in (old, new)
    ]
    closed = (old.additional_fields, new.additional_fields) == ("show", "hide")
    newly_hidden = set(new.hidden_fields) - set(old.hidden_fields)
    return retyped or closed or bool(newly_hidden) or identity_of[0] != identity_of[1]


def version_order(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


def _check_version(version: str | None, issues: Issues) -> None:
    if version is not None and (_VERSION.fullmatch(version) is None or version.startswith("0.")):
        issues.add("$.schema_version", "a version is major.minor, such as 1.0", "ERR_SCHEMA_VERSION")


def _names(raw: object, issues: Issues) -> tuple[str, ...]:
    path = "$.fields_to_remove"
    if not isinstance(raw, list) or len(raw) > FIELDS_LIMIT:
        issues.add(path, f"a list of {FIELDS_LIMIT} field names at most")
        return ()
    names = [name for index, name in enumerate(raw) if field_name(name, f"{path}[{index}]", issues)]
    return _sorted(dict.fromkeys(names))


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(names, key=canonical.name_order))
