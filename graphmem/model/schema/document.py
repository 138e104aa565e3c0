"""The schema document of an entity type, in its normal form.

A document decides how observations of its type reduce (:meth:`Document.rules`), what identifies an entity
(:meth:`Document.alternatives`) and what is told about an observation that is not as declared
(:meth:`Document.findings`). It never changes what was observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from graphmem.model import canonical, identity, timeline
from graphmem.model.rules import NULL, Converter, FieldType, Policy, Rules
from graphmem.model.schema.fields import Constraints, Field, Finding, Visibility

OPT_OUT: Final = "heuristic_canonical_name"
"""The one value of ``identity_opt_out``: the general order, whatever the type's own rule is."""
_PRIORITISED: Final = frozenset({"highest_priority", "most_specific"})


@dataclass(frozen=True, slots=True)
class Temporal:
    """A field that is a time on the timeline; without a type, its events are named after the field."""

    field: str
    event_type: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a document holds it."""
        return {"field": self.field} | ({"event_type": self.event_type} if self.event_type else {})


@dataclass(frozen=True)
class Document:
    """The schema of one entity type.

    Attributes:
        entity_type: in its canonical spelling.
        additional_fields: whether fields that are not declared are part of snapshots.
        mismatch: what becomes of a value that is not of its field's type; a field may say its own.
        hidden_fields: removed fields, hidden even where additional ones are shown.
        canonical_name_fields: alternatives, in order, that identify an entity; empty where none is declared.
        opted_out: whether the general order identifies, whatever the type's own rule is.
        strict: whether an item that lacks the fields of every alternative is refused.
        constraint_violation_policy: whether a broken constraint warns or refuses the item.
        aliases: other names of the type, in their canonical spelling.
        observation_source_priority: kinds of writers, greatest first; empty for the usual order.
        kept: keys of other clients, kept without effect.
    """

    entity_type: str
    fields: Mapping[str, Field] = field(default_factory=dict)
    additional_fields: Visibility = "hide"
    mismatch: Visibility = "hide"
    hidden_fields: tuple[str, ...] = ()
    canonical_name_fields: identity.Alternatives = ()
    opted_out: bool = False
    strict: bool = False
    constraint_violation_policy: Literal["warn", "reject"] = "warn"
    temporal_fields: tuple[Temporal, ...] = ()
    aliases: tuple[str, ...] = ()
    observation_source_priority: tuple[str, ...] = ()
    description: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The document as canonical JSON: one text for one document."""
        return canonical.encode(self.as_json())

    @staticmethod
    def read(text: str) -> Document:
        """Return the document that :attr:`text` says."""
        return _read(text)

    def as_json(self) -> dict[str, Any]:
        """Return the document as it is stored and shown; what is as usual is left out."""
        found: dict[str, Any] = {
            "entity_type": self.entity_type,
            "fields": {name: one.as_json() for name, one in self.fields.items()},
            "additional_fields": self.additional_fields,
            "mismatch": self.mismatch,
            "hidden_fields": list(self.hidden_fields),
            "canonical_name_fields": [{"composite": list(names)} for names in self.canonical_name_fields],
            "identity_opt_out": OPT_OUT if self.opted_out else None,
            "canonical_name_strict": self.strict,
            "constraint_violation_policy": "reject" if self.constraint_violation_policy == "reject" else None,
            "temporal_fields": [one.as_json() for one in self.temporal_fields],
            "aliases": list(self.aliases),
            "observation_source_priority": list(self.observation_source_priority),
            "description": self.description,
        }
        always = ("entity_type", "fields", "additional_fields", "mismatch")
        return {**{n: v for n, v in found.items() if v or n in always}, **self.kept}

    def mismatch_of(self, name: str) -> Visibility:
        """Return what becomes of a value of a declared field that is not of its type."""
        return self.fields[name].mismatch or self.mismatch

    def shows(self, name: str) -> bool:
        """Return whether a field is part of snapshots."""
        return name in self.fields or (self.additional_fields == "show" and name not in self.hidden_fields)

    def rules(self) -> Rules:
        """Return how observations of the type reduce; plain where nothing is other than usual."""
        policies: dict[str, Policy] = {}
        types: dict[str, FieldType] = {}
        converters: dict[str, tuple[Converter, ...]] = {}
        for name, one in self.fields.items():
            if one.merge != "last_write":
                policies[name] = one.merge
            # A union takes any value as an element, and is a list whatever it is made of.
            if self.mismatch_of(name) == "hide" and not one.is_union:
                types[name] = one.type
                if one.converters:
                    converters[name] = one.converters
        sources = self.observation_source_priority
        listed = {name: len(sources) - place for place, name in enumerate(sources)}
        closed = self.additional_fields == "hide"
        return Rules(
            policies=policies,
            types=types,
            converters=converters,
            only=frozenset(self.fields) if closed else None,
            hidden=frozenset() if closed else frozenset(self.hidden_fields),
            sources=listed if listed and _PRIORITISED & set(policies.values()) else None,
            filterable=frozenset(name for name, one in self.fields.items() if one.filterable),
            temporal={} if self._has_usual_times() else self._temporal(),
        )

    def _temporal(self) -> dict[str, str]:
        kinds = {one.field: one.event_type for one in self.temporal_fields}
        return {name: kind or timeline.event_type(self.entity_type, name) for name, kind in kinds.items()}

    def _has_usual_times(self) -> bool:
        """Return whether the times are those that the type is shipped with.

        They came along where other fields of a shipped type were declared, and nobody chose them: its times
        are those that go by their names, as before.
        """
        from graphmem.model.schema.shipped import shipped

        usual = shipped(self.entity_type)
        return usual is not None and self.temporal_fields == usual.temporal_fields

    def alternatives(self) -> identity.Alternatives | None:
        """Return the fields that identify an entity, in order; ``None`` where the type's usual rule holds.

        The whole content, to which an item falls unless :attr:`strict`, is not among them.
        """
        if self.opted_out:
            return tuple(names for names in identity.GENERAL if names != (identity.CONTENT,))
        return self.canonical_name_fields or None

    def findings(self, fields: Mapping[str, str]) -> list[Finding]:
        """Return what is not as declared in one observation of kind value, by field.

        Args:
            fields: canonical JSON by name. Missing ones are told of as well: whether an observation should
                have all of them is for the caller to say.
        """
        found: list[Finding] = []
        reject = self.constraint_violation_policy == "reject"
        for name in sorted({*fields, *self.fields}, key=canonical.name_order):
            declared, text = self.fields.get(name), fields.get(name, NULL)
            if declared is None:
                if name != identity.CANONICAL_NAME and not self.shows(name):
                    found.append(self._unknown(name))
                continue
            if declared.required and text == NULL:
                found.append(_missing(self.entity_type, name))
            found += declared.findings(name, text, mismatch=self.mismatch_of(name), reject=reject)
        return found

    def _unknown(self, name: str) -> Finding:
        why = "was removed from" if name in self.hidden_fields else "is not declared in"
        message = (
            f"{name} {why} the schema of {self.entity_type}: it is kept on the observation and hidden from "
            "snapshots until it is declared by POST /update_schema_incremental with new_fields"
        )
        return Finding("UNKNOWN_FIELD", name, message)


def _missing(entity_type: str, name: str) -> Finding:
    message = f"{name} is required of every {entity_type} and was not given: store it when it is known"
    return Finding("MISSING_REQUIRED_FIELD", name, message)


@lru_cache(maxsize=64)
def _read(text: str) -> Document:
    return of_json(canonical.decode(text))


def of_json(given: Mapping[str, Any]) -> Document:
    """Return the document of its normal form, which is not checked again."""
    known = Document.__dataclass_fields__.keys() | {"identity_opt_out", "canonical_name_strict"}
    return Document(
        entity_type=given["entity_type"],
        fields={name: field_of_json(one) for name, one in given["fields"].items()},
        additional_fields=given["additional_fields"],
        mismatch=given["mismatch"],
        hidden_fields=tuple(given.get("hidden_fields", ())),
        canonical_name_fields=tuple(tuple(a["composite"]) for a in given.get("canonical_name_fields", ())),
        opted_out="identity_opt_out" in given,
        strict=given.get("canonical_name_strict", False),
        constraint_violation_policy=given.get("constraint_violation_policy", "warn"),
        temporal_fields=tuple(Temporal(**one) for one in given.get("temporal_fields", ())),
        aliases=tuple(given.get("aliases", ())),
        observation_source_priority=tuple(given.get("observation_source_priority", ())),
        description=given.get("description"),
        kept={name: value for name, value in given.items() if name not in known},
    )


def field_of_json(given: Mapping[str, Any]) -> Field:
    """Return the field of its normal form, which is not checked again."""
    constraints = given.get("constraints")
    kept = {name: value for name, value in given.items() if name not in Field.__dataclass_fields__}
    return Field(
        type=given["type"],
        required=given.get("required", False),
        filterable=given.get("filterable", False),
        description=given.get("description"),
        merge=given.get("merge", "last_write"),
        converters=tuple(given.get("converters", ())),
        constraints=_constraints_of_json(constraints) if constraints else None,
        mismatch=given.get("mismatch"),
        kept=canonical.encode(kept) if kept else None,
    )


def _constraints_of_json(given: Mapping[str, Any]) -> Constraints:
    enum, banned = given.get("enum"), given.get("banned")
    return Constraints(
        min=given.get("min"),
        max=given.get("max"),
        enum=tuple(enum) if enum else None,
        pattern=given.get("pattern"),
        banned=tuple(banned) if banned else None,
    )
