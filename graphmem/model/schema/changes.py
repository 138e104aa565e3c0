"""Changes to schemas, decided on the state that they are written to.

A change holds what was asked for and no more: what comes of it is decided by the owner's writer on the
schema of that moment (:func:`decide`), so that of two changes at once neither loses what the other added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from graphmem.model import canonical
from graphmem.model.discovery import Seen, describe
from graphmem.model.schema.document import Document, field_of_json, of_json
from graphmem.model.schema.fields import FIELD_TYPES, Field
from graphmem.model.schema.parsing import check, field_name, fields_of, settings_of
from graphmem.model.schema.shapes import FIELDS_LIMIT, Issues, members
from graphmem.model.schema.shipped import VERSION, shipped

_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)
FIRST: Final = "1.0"
"""The version of what is registered first."""


class UnknownType(ValueError):
    """A type is neither registered, shipped nor stored, so there is nothing to change."""

    def __init__(self, entity_type: str) -> None:
        super().__init__(
            f"nothing is known of the type {entity_type}: register it by POST /register_schema, or store one"
        )
        self.entity_type = entity_type


@dataclass(frozen=True, slots=True)
class Active:
    """The registered schema of a type that counts.

    Attributes:
        version: ``major.minor``.
        added, removed: the fields that its change declared, and those that it took out.
    """

    version: str
    document: Document
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What was asked for, in its normal form: plain JSON.

    Attributes:
        document: the whole document that is registered.
        fields: what an update says of the fields that it adds or declares anew.
        remove: the fields that an update takes out.
        settings: the other keys of the document that an update sets.
        version: the version asked for; else it is counted.
    """

    kind: Literal["register", "update"]
    entity_type: str
    document: Mapping[str, Any] | None = None
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names that it asks for."""
        asked = self.document if self.document is not None else self.settings
        return tuple(asked.get("aliases", ()))

    def said(self) -> dict[str, Any]:
        """Return the change as an idempotency key stands for it: canonical JSON can be made of it."""
        found = {
            "kind": self.kind,
            "entity_type": self.entity_type,
            "document": self.document,
            "fields": self.fields,
            "remove": list(self.remove),
            "settings": self.settings,
            "version": self.version,
        }
        return {name: value for name, value in found.items() if value}


def registration(document: Document, version: str | None = None) -> Change:
    """Return the change that registers a whole document.

    Raises:
        SchemaInvalid: the version is none.
    """
    issues = Issues()
    _check_version(version, issues)
    issues.settle()
    return Change("register", document.entity_type, document=document.as_json(), version=version)


def update(
    entity_type: str,
    *,
    new_fields: object = None,
    remove: object = None,
    settings: Mapping[str, Any] | None = None,
    version: str | None = None,
) -> Change:
    """Return the change that adds to a document, takes from it, or sets other keys of it.

    Args:
        entity_type: in its canonical spelling.
        new_fields: see :func:`graphmem.model.schema.parsing.fields_of`.
        remove: a list of field names.
        settings: keys of a document, as clients write them.

    Raises:
        SchemaInvalid: it is not valid, or asks for nothing.
    """
    issues = Issues()
    _check_version(version, issues)
    fields = fields_of({} if new_fields is None else new_fields, "$.new_fields", issues)
    names = _names([] if remove is None else remove, issues)
    for name in names:
        if name in fields:
            issues.add("$.fields_to_remove", f"{name[:64]} stands in new_fields as well", "ERR_GIVEN_TWICE")
    asked = settings_of(entity_type, members(settings or {}, "$", issues), "$", issues)
    if not (fields or names or asked or issues):
        issues.add("$", "nothing is asked for: give new_fields or fields_to_remove", "ERR_SCHEMA_UNCHANGED")
    issues.settle()
    return Change("update", entity_type, fields=fields, remove=names, settings=asked, version=version)


def base(entity_type: str, seen: Mapping[str, Seen] | None) -> Document | None:
    """Return the document of a type of which none is registered: the shipped one, else what was discovered.

    A field that was seen as several types, or as null alone, is not declared; it is shown like any other.

    Args:
        seen: what was seen under each field; ``None`` where nothing was stored.
    """
    known = shipped(entity_type)
    if known is not None or seen is None:
        return known
    declared = {name: describe(shapes) for name, shapes in seen.items()}
    fields: dict[str, Any] = {n: Field(kind) for n, kind in declared.items() if kind in FIELD_TYPES}  # pyright: ignore[reportArgumentType]
    return Document(entity_type, fields, additional_fields="show", mismatch="show")


def effective(entity_type: str, active: Active | None, seen: Mapping[str, Seen] | None) -> Document | None:
    """Return the document that a type has: registered, shipped or discovered; ``None`` where it has none."""
    return active.document if active is not None else base(entity_type, seen)


def decide(active: Active | None, seen: Mapping[str, Seen] | None, change: Change) -> Active:
    """Return what counts once a change is made on the state given.

    Args:
        active: what counts now, ``None`` where nothing is registered.
        seen: what was seen under each field of the type; ``None`` where nothing was stored.

    Raises:
        SchemaInvalid: the outcome is no valid document, it is the one that counts already, or the version
            asked for is not after the present one.
        UnknownType: there is nothing to update.
    """
    if change.kind == "register":
        assert change.document is not None
        before, document = active, of_json(change.document)
    else:
        known = effective(change.entity_type, active, seen)
        if known is None:
            raise UnknownType(change.entity_type)
        counted = VERSION if shipped(change.entity_type) else None
        before = active or Active(counted or "0.0", known)
        document = _updated(known, seen or {}, change)
    issues = Issues()
    if before is not None and document.text == before.document.text:
        issues.add("$", "this is how the schema is already", "ERR_SCHEMA_UNCHANGED")
        issues.settle()
    version = change.version or _next(before, document)
    if before is not None and version_order(version) <= version_order(before.version):
        message = f"{before.version} counts already: give a greater one, or none"
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


def _updated(known: Document, seen: Mapping[str, Seen], change: Change) -> Document:
    """Return a document with a change made to it."""
    issues = Issues()
    given = known.as_json()
    settings = change.settings
    if "canonical_name_fields" in settings:
        given.pop("identity_opt_out", None)
    if "identity_opt_out" in settings:
        given.pop("canonical_name_fields", None)
    given |= settings
    fields: dict[str, Any] = dict(given["fields"])
    hidden = [name for name in given.get("hidden_fields", ()) if name not in change.fields]
    for name in change.remove:
        if name not in fields and (name not in seen or not known.shows(name)):
            issues.add("$.fields_to_remove", f"there is no field {name}", "ERR_NO_SUCH_FIELD")
        fields.pop(name, None)
    for name, said in change.fields.items():
        fields[name] = _redeclared(fields.get(name), said, hides=given["mismatch"] == "hide")
    issues.settle()
    if "temporal_fields" not in settings:
        kept = [one for one in given.get("temporal_fields", ()) if one["field"] not in change.remove]
        given["temporal_fields"] = kept
    hidden = _sorted({*hidden, *change.remove})
    document = of_json({**given, "fields": fields, "hidden_fields": hidden})
    check(document, "$", issues)
    issues.settle()
    return document


def _redeclared(known: Mapping[str, Any] | None, said: Mapping[str, Any], *, hides: bool) -> dict[str, Any]:
    """Return a field as it is declared anew: what is not said of it stays, unless it is of another type."""
    stays = dict(known or {})
    if known and known["type"] != said["type"]:
        stays = {name: known[name] for name in ("required", "description") if name in known}
    declared = {**stays, **said}
    if not hides:
        declared.setdefault("mismatch", "hide")
    return field_of_json(declared).as_json()


def _next(before: Active | None, document: Document) -> str:
    if before is None:
        return FIRST
    major, minor = version_order(before.version)
    if major == 0:
        return FIRST
    return f"{major + 1}.0" if _is_major(before.document, document) else f"{major}.{minor + 1}"


def _is_major(old: Document, new: Document) -> bool:
    """Return whether a change may hide what was shown, or identifies entities in another way."""
    retyped = any(
        name not in new.fields or new.fields[name].type != old.fields[name].type for name in old.fields
    )
    identity_of = [(one.canonical_name_fields, one.opted_out, one.strict) for one in (old, new)]
    closed = (old.additional_fields, new.additional_fields) == ("show", "hide")
    newly_hidden = set(new.hidden_fields) - set(old.hidden_fields)
    return retyped or closed or bool(newly_hidden) or identity_of[0] != identity_of[1]


def version_order(version: str) -> tuple[int, int]:
    """Return the place of a version among others of its type."""
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
    found = [name for index, name in enumerate(raw) if field_name(name, f"{path}[{index}]", issues)]
    return _sorted(dict.fromkeys(found))


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(names, key=canonical.name_order))
