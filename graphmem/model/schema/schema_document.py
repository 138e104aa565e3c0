"""The schema document of an entity type, in its normal form.

A document decides how observations of its type are reduced (:meth:`Document.rules`), which fields identify
an entity (:meth:`Document.alternatives`) and which findings an observation gets (:meth:`Document.findings`).
It never changes a stored observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, NamedTuple

from graphmem.model import canonical, identity, relationship, timeline_fields
from graphmem.model.rules import NULL, Converter, FieldType, Policy, Rules
from graphmem.model.schema.fields import Constraints, Field, SchemaFinding, Visibility

OPT_OUT: Final = "heuristic_canonical_name"
"""The only value of ``identity_opt_out``: use the general identity order instead of the type's own rule."""
DETECTION_FIELDS: Final = "duplicate_detection_fields"
DETECTION_THRESHOLD: Final = "duplicate_detection_threshold"
REFERENCE_FIELDS: Final = "reference_fields"
LEAST_THRESHOLD: Final = 0.5  # least score that a schema may ask for
_PRIORITISED: Final = frozenset({"highest_priority", "most_specific"})


@dataclass(frozen=True, slots=True)
class Temporal:
    """A field whose values are events on the timeline; the default ``event_type`` derives from its name."""

    field: str
    event_type: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"field": self.field} | ({"event_type": self.event_type} if self.event_type else {})


class Detection(NamedTuple):
    """How a schema wants duplicates of its type to be proposed.

    ``fields`` are the compared ones with their types, in order; empty for the usual ones. ``threshold`` is
    the least score of a proposed pair, ``None`` for the usual one.
    """

    fields: tuple[tuple[str, FieldType], ...] = ()
    threshold: float | None = None


class Reference(NamedTuple):
    """A field whose values name entities of a type, and the relationship to them that it makes."""

    field: str
    entity_type: str
    meaning: relationship.Meaning

    @property
    def is_symmetric(self) -> bool:
        """Whether the relationship is the same in both directions."""
        return relationship.is_symmetric(relationship.BUILTIN, self.meaning.name)


@dataclass(frozen=True)
class SchemaDocument:
    """The schema of one entity type. ``kept`` has what :attr:`detection` and :attr:`references` read, and
    keys without effect that earlier versions stored."""

    entity_type: str  # in its canonical spelling
    fields: Mapping[str, Field] = field(default_factory=dict)
    additional_fields: Visibility = "hide"  # whether snapshots show undeclared fields
    mismatch: Visibility = "hide"  # of values of another type than declared; a field may override it
    hidden_fields: tuple[str, ...] = ()  # removed fields, hidden even if ``additional_fields`` is "show"
    canonical_name_fields: identity.Alternatives = ()  # the identity alternatives in order, if declared
    opted_out: bool = False  # whether the general identity order replaces the type's own rule
    strict: bool = False  # whether an item is refused that lacks the fields of every alternative
    constraint_violation_policy: Literal["warn", "reject"] = "warn"
    temporal_fields: tuple[Temporal, ...] = ()
    aliases: tuple[str, ...] = ()  # other names of the type, in their canonical spelling
    observation_source_priority: tuple[str, ...] = ()  # highest first; empty for the default order
    description: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The document as canonical JSON: equal documents have equal texts."""
        return canonical.encode(self.as_json())

    @staticmethod
    @lru_cache(maxsize=256)
    def read(text: str) -> SchemaDocument:
        """Return the document of its normal form; one that was read before is not read again."""
        return of_json(canonical.decode(text))

    def as_json(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "entity_type": self.entity_type,
            "fields": {name: declared.as_json() for name, declared in self.fields.items()},
            "additional_fields": self.additional_fields,
            "mismatch": self.mismatch,
            "hidden_fields": list(self.hidden_fields),
            "canonical_name_fields": [{"composite": list(names)} for names in self.canonical_name_fields],
            "identity_opt_out": OPT_OUT if self.opted_out else None,
            "canonical_name_strict": self.strict,
            "constraint_violation_policy": "reject" if self.constraint_violation_policy == "reject" else None,
            "temporal_fields": [temporal.as_json() for temporal in self.temporal_fields],
            "aliases": list(self.aliases),
            "observation_source_priority": list(self.observation_source_priority),
            "description": self.description,
        }
        always = ("entity_type", "fields", "additional_fields", "mismatch")
        return {**{n: v for n, v in parts.items() if v or n in always}, **self.kept}

    def mismatch_of(self, name: str) -> Visibility:
        return self.fields[name].mismatch or self.mismatch

    def shows(self, name: str) -> bool:
        return name in self.fields or (self.additional_fields == "show" and name not in self.hidden_fields)

    @cached_property
    def rules(self) -> Rules:
        policies: dict[str, Policy] = {}
        types: dict[str, FieldType] = {}
        converters: dict[str, tuple[Converter, ...]] = {}
        for name, declared in self.fields.items():
            if declared.merge != "last_write":
                policies[name] = declared.merge
            # A union is a list and takes any value as an element, so no value has a wrong type.
            if self.mismatch_of(name) == "hide" and not declared.is_union:
                types[name] = declared.type
                if declared.converters:
                    converters[name] = declared.converters
        own_kinds = {temporal.field: temporal.event_type for temporal in self.temporal_fields}
        kinds = {n: kind or timeline_fields.event_type(self.entity_type, n) for n, kind in own_kinds.items()}
        sources = self.observation_source_priority
        listed = {name: len(sources) - place for place, name in enumerate(sources)}
        closed = self.additional_fields == "hide"
        return Rules(
            policies=policies, types=types, converters=converters,
            only=frozenset(self.fields) if closed else None,
            hidden=frozenset() if closed else frozenset(self.hidden_fields),
            sources=listed if listed and _PRIORITISED & set(policies.values()) else None,
            filterable=frozenset(name for name, declared in self.fields.items() if declared.filterable),
            temporal={} if self._has_usual_times() else kinds, identity=self._identity(),
        )  # fmt: skip

    def _identity(self) -> identity.Alternatives:
        """Return the registered alternatives where they change by what entities are merged; else none."""
        registered = self.alternatives() or ()
        is_overruled = len(identity.own_rule(self.entity_type)) > 1
        return registered if is_overruled or (len(registered) > 1 and not self.opted_out) else ()

    def _has_usual_times(self) -> bool:
        """Return whether the temporal fields are those of the shipped document, which another one may extend.
        Such a type keeps the default rule, which recognises times by field names."""
        from graphmem.model.schema.shipped import shipped

        usual = shipped(self.entity_type)
        return usual is not None and self.temporal_fields == usual.temporal_fields

    def alternatives(self) -> identity.Alternatives | None:
        """Return the identity alternatives in order; ``None`` if the type's default rule applies. The whole
        content, by which other items are identified, is not among them."""
        if self.opted_out:
            return tuple(names for names in identity.GENERAL if names != (identity.CONTENT,))
        return self.canonical_name_fields or None

    @cached_property
    def detection(self) -> Detection:
        """How duplicates are proposed, without what an earlier version stored and this one would refuse."""
        named, least = self.kept.get(DETECTION_FIELDS), self.kept.get(DETECTION_THRESHOLD)
        names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        threshold = least if isinstance(least, int | float) and not isinstance(least, bool) else 0.0
        return Detection(
            tuple((name, self.fields[name].type) for name in names if name in self.fields),
            threshold if LEAST_THRESHOLD <= threshold <= 1 else None,
        )

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The reference fields, without what an earlier version stored and this one would refuse."""
        listed = self.kept.get(REFERENCE_FIELDS)
        references: list[Reference] = []
        for each in listed if isinstance(listed, list | tuple) else ():
            try:
                entity_type = identity.normalise_type(each["target_entity_type"])
                meaning = meaning_of(each["relationship_type"])
            except (ValueError, LookupError, TypeError, AttributeError):
                continue
            if each.get("field") in self.fields and meaning is not None:
                references.append(Reference(each["field"], entity_type, meaning))
        return tuple(references)

    def findings(self, fields: Mapping[str, str]) -> list[SchemaFinding]:
        """Compare one observation of kind value (canonical JSON by name) with the schema. Returns the
        deviations, sorted by field. Missing required fields are among them; the caller decides."""
        findings: list[SchemaFinding] = []
        reject = self.constraint_violation_policy == "reject"
        for name in sorted({*fields, *self.fields}, key=canonical.name_order):
            declared, text = self.fields.get(name), fields.get(name, NULL)
            if declared is None:
                if name != identity.CANONICAL_NAME and not self.shows(name):
                    findings.append(self._unknown(name))
                continue
            if declared.required and text == NULL:
                missing = f"{name} is required for every {self.entity_type} and is missing"
                message = f"{missing}: store it when it is known"
                findings.append(SchemaFinding("MISSING_REQUIRED_FIELD", name, message))
            findings += declared.findings(name, text, mismatch=self.mismatch_of(name), reject=reject)
        return findings

    def _unknown(self, name: str) -> SchemaFinding:
        why = "was removed from" if name in self.hidden_fields else "is not declared in"
        message = (
            f"{name} {why} the schema of {self.entity_type}: the observation keeps it and snapshots hide it. "
            "To show it, declare it by POST /update_schema_incremental with new_fields"
        )
        return SchemaFinding("UNKNOWN_FIELD", name, message)


def meaning_of(relationship_type: str) -> relationship.Meaning | None:
    """Return what a name says of a relationship type, if it is a name: a built-in or an own one."""
    try:
        return relationship.meaning_of(relationship_type, relationship.BUILTIN)
    except relationship.UnknownRelationshipType:
        return relationship.own_meaning(relationship_type)


def of_json(raw: Mapping[str, Any]) -> SchemaDocument:
    parts = {
        name: _listed(value) for name, value in raw.items() if name in SchemaDocument.__dataclass_fields__
    }
    known = {*parts, "identity_opt_out", "canonical_name_strict"}
    parts |= {
        "fields": {name: field_of_json(spec) for name, spec in raw["fields"].items()},
        "canonical_name_fields": tuple(tuple(a["composite"]) for a in raw.get("canonical_name_fields", ())),
        "temporal_fields": tuple(Temporal(**temporal) for temporal in raw.get("temporal_fields", ())),
        "opted_out": "identity_opt_out" in raw, "strict": raw.get("canonical_name_strict", False),
        "kept": {name: value for name, value in raw.items() if name not in known},
    }  # fmt: skip
    return SchemaDocument(**parts)


def field_of_json(raw: Mapping[str, Any]) -> Field:
    known = {name: value for name, value in raw.items() if name in Field.__dataclass_fields__}
    kept = {name: value for name, value in raw.items() if name not in known}
    limits = {name: _listed(value) for name, value in (raw.get("constraints") or {}).items() if value != []}
    return Field(
        **{
            **{name: _listed(value) for name, value in known.items()},
            "constraints": Constraints(**limits) if limits else None,
            "kept": canonical.encode(kept) if kept else None,
        }
    )


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
