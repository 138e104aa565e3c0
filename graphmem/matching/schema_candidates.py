"""What a schema could say, from a sample of what was observed: fields to declare, to retype, to require.

The analysis is pure and deterministic: the same sample gives the same answer, in the same order. Of each
value it needs the beginning alone (:data:`CUT` characters of canonical JSON).

The confidence in a recommended type is 0.5 for how many values are of it, 0.25 for how many have the most
common format (e-mail, uuid, integer, …), 0.15 if the name suggests the type, half of that if it does not,
and 0.1 for how many values there are, all of it from ten values on (contract, section 1, Schemas).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from typing_extensions import TypedDict

from graphmem.model import canonical, identity
from graphmem.model.discovery import shape_of
from graphmem.model.rules import FieldType
from graphmem.model.schema import Document

CUT: Final = 64
"""Characters of a value that the sample holds."""
ENOUGH: Final = 5
"""Values below which nothing is recommended."""
_MISFITS: Final = 0.2
_IDENTITIES: Final = 3

_FORMATS: Final = (
    ("email", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")),
    ("url", re.compile(r"https?://\S+", re.IGNORECASE)),
    ("uuid", re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)),
    ("numeric", re.compile(r"-?[0-9]+(?:\.[0-9]+)?")),
)
_SUGGESTED: Final[Mapping[str, re.Pattern[str]]] = {
    "date": re.compile(r"(?:^|_)(?:date|at|time|on|day|deadline|birthday)$|(?:^|_)date(?:_|$)"),
    "boolean": re.compile(r"^(?:is|has|can|was|should)_"),
    "number": re.compile(
        r"(?:^|_)(?:count|amount|total|price|cost|qty|quantity|number|year|age|size|score|rate|percent|tax)$"
    ),
    "array": re.compile(r"(?:^|_)(?:tags|list|items|ids|names)$|[^s]s$"),
    "string": re.compile(
        r"(?:^|_)(?:name|title|email|url|phone|id|uuid|code|status|type|description|notes?|address|city|country)$"
    ),
    "object": re.compile(r"(?:^|_)(?:metadata|details|settings|config|data|address)$"),
}
_KEYLIKE = re.compile(r"(?:^|_)(?:id|uuid|code|key|number|no|sku|isbn|iban|slug|email)$")


class Said(NamedTuple):
    """One observation of the sample; ``values`` are the beginnings of canonical JSON texts."""

    entity_id: str
    kind: str
    basis: str | None
    fields: list[str]
    values: list[str]


class Candidate(TypedDict):
    """A field that was seen and is not declared.

    ``frequency`` is in how many observations of the sample it has a value, ``types`` how many values of
    each type there are, ``format`` the most common one.
    """

    entity_type: str
    field_name: str
    frequency: int
    entity_count: int
    confidence: float
    recommended_type: str
    types: dict[str, int]
    format: str


class Recommendation(TypedDict):
    """A change that what was observed suggests; ``change`` is what POST /update_schema_incremental takes.

    ``kind`` is add_field, change_type, require_field or identity.
    """

    entity_type: str
    kind: str
    field_name: str
    recommended_type: str
    confidence: float
    frequency: int
    message: str
    change: dict[str, Any]
    source: str
    status: str


@dataclass(slots=True)
class Profile:
    """What was seen under one name."""

    shapes: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    entities: set[str] = field(default_factory=set)
    stored: int = 0
    """Observations of kind value that have it."""
    texts: dict[str, set[str]] = field(default_factory=dict)
    """Its whole values by entity, as far as they can identify one."""
    identifies: bool = True

    @property
    def frequency(self) -> int:
        """In how many observations it has a value."""
        return sum(self.shapes.values())

    def add(self, said: Said, text: str) -> None:
        """Take in one value that is not null."""
        shape, form = looks(text)
        self.shapes[shape] += 1
        self.formats[form] += 1
        self.entities.add(said.entity_id)
        self.stored += said.kind == "value"
        if shape in ("string", "number", "date") and len(text) < CUT and text not in ('""',):
            self.texts.setdefault(said.entity_id, set()).add(text)
        else:
            self.identifies = False

    def recommended(self) -> FieldType:
        """Return the type that fits best: strings among other scalars, as all of those convert to them."""
        shapes = {"string" if name == "date" and "string" in self.shapes else name for name in self.shapes}
        if len(shapes) == 1:
            return shapes.pop()  # pyright: ignore[reportReturnType]
        if not shapes & {"array", "object"}:
            return "string"
        return max(sorted(self.shapes), key=self.shapes.__getitem__)  # pyright: ignore[reportReturnType]

    def of_type(self, kind: str) -> int:
        """Return how many values are of a type as they are; a date is a string as well."""
        return self.shapes[kind] + (self.shapes["date"] if kind == "string" else 0)

    def confidence(self, name: str, kind: str) -> float:
        """Return how sure it is that a field is of a type, 0 to 1; see the head of this module."""
        count = self.frequency
        suggested = _SUGGESTED[kind].search(name.lower()) is not None
        parts = (
            0.5 * self.of_type(kind) / count,
            0.25 * max(self.formats.values()) / count,
            0.15 * (1.0 if suggested else 0.5),
            0.1 * min(count / 10, 1.0),
        )
        return round(sum(parts), 4)


def looks(text: str) -> tuple[str, str]:
    """Return type and format of a value by the beginning of its canonical JSON; not of null."""
    match text[0]:
        case "[":
            return "array", "array"
        case "{":
            return "object", "object"
        case "t" | "f":
            return "boolean", "boolean"
        case '"':
            pass
        case _:
            return "number", "decimal" if re.search(r"[.eE]", text) else "integer"
    if len(text) >= CUT:
        return "string", "text"
    value = canonical.decode(text)
    if shape_of(value) == "date":
        return "date", "date" if len(value) == 10 else "time"
    return "string", next((name for name, shape in _FORMATS if shape.fullmatch(value)), "text")


def profiles(sample: Iterable[Said]) -> dict[str, Profile]:
    """Return what was seen under each name but the canonical one, nulls aside, in canonical order."""
    found: dict[str, Profile] = {}
    for said in sample:
        for name, text in zip(said.fields, said.values, strict=True):
            if name != identity.CANONICAL_NAME and text != "null":
                found.setdefault(name, Profile()).add(said, text)
    return {name: found[name] for name in sorted(found, key=canonical.name_order)}


def candidates(
    entity_type: str,
    document: Document | None,
    sample: list[Said],
    *,
    min_frequency: int = ENOUGH,
    min_confidence: float = 0.8,
) -> list[Candidate]:
    """Return the fields that could be declared, the surest first.

    Args:
        document: what is declared, registered or shipped; ``None`` where nothing is.
    """
    declared = document.fields if document else {}
    found: list[Candidate] = []
    for name, seen in profiles(sample).items():
        if name in declared or seen.frequency < min_frequency:
            continue
        kind = seen.recommended()
        confidence = seen.confidence(name, kind)
        if confidence >= min_confidence:
            found.append({
                "entity_type": entity_type,
                "field_name": name,
                "frequency": seen.frequency,
                "entity_count": len(seen.entities),
                "confidence": confidence,
                "recommended_type": kind,
                "types": dict(sorted(seen.shapes.items())),
                "format": max(sorted(seen.formats), key=seen.formats.__getitem__),
            })  # fmt: skip
    return sorted(found, key=lambda one: (-one["confidence"], -one["frequency"]))


def recommendations(entity_type: str, document: Document | None, sample: list[Said]) -> list[Recommendation]:
    """Return the changes that a sample suggests: additions first, then types, requirements and identity.

    Args:
        document: what is declared, registered or shipped; ``None`` where nothing is.
    """
    seen = profiles(sample)
    stored = [said for said in sample if said.kind == "value"]
    found: list[Recommendation] = []
    for one in candidates(entity_type, document, sample):
        name, kind, count = one["field_name"], one["recommended_type"], one["frequency"]
        message = f"{name} is not declared and stands in {count} of {len(sample)} observations"
        found.append(_recommended(entity_type, "add_field", name, kind, one["confidence"], count, message))
    for name, one in seen.items():
        declared = document.fields.get(name) if document else None
        if declared is None or declared.is_union or one.frequency < ENOUGH:
            continue
        kind, fitting = one.recommended(), one.of_type(declared.type)
        if kind != declared.type and fitting < (1 - _MISFITS) * one.frequency:
            message = f"{name} is declared as {declared.type}, and {fitting} of {one.frequency} values are"
            sure = one.confidence(name, kind)
            found.append(_recommended(entity_type, "change_type", name, kind, sure, one.frequency, message))
    for name, one in seen.items():
        declared = document.fields.get(name) if document else None
        if len(stored) < ENOUGH or one.stored < len(stored) or (declared and declared.required):
            continue
        kind = declared.type if declared else one.recommended()
        message = f"{name} stands in all of the {len(stored)} observations that were stored"
        sure = round(len(stored) / (len(stored) + 1), 4)
        change = {"new_fields": {name: {"type": kind, "required": True}}}
        found.append(
            _recommended(entity_type, "require_field", name, kind, sure, one.frequency, message, change)
        )
    return found + _identities(entity_type, document, seen, stored)


def _identities(
    entity_type: str, document: Document | None, seen: Mapping[str, Profile], stored: list[Said]
) -> list[Recommendation]:
    """Return the fields that could identify entities which only their whole content identifies now."""
    unnamed = [said for said in stored if said.basis == identity.CONTENT]
    entities = {said.entity_id for said in stored}
    if not unnamed or len(entities) < _IDENTITIES or (document and document.alternatives() is not None):
        return []
    found: list[Recommendation] = []
    for name, one in seen.items():
        texts = [next(iter(values)) for values in one.texts.values() if len(values) == 1]
        if not one.identifies or one.stored < len(stored) or len(set(texts)) != len(entities):
            continue
        kind = one.recommended()
        message = (
            f"{len(unnamed)} of {len(stored)} observations have no lasting identity, and every entity has a "
            f"{name} of its own. Another identity rule is for what is stored later"
        )
        change: dict[str, Any] = {"canonical_name_fields": [name]}
        if document is None or name not in document.fields:
            change["new_fields"] = {name: {"type": kind}}
        sure = round((1.0 if _KEYLIKE.search(name.lower()) else 0.5) * len(entities) / (len(entities) + 1), 4)
        found.append(_recommended(entity_type, "identity", name, kind, sure, one.frequency, message, change))
    return sorted(found, key=lambda one: -one["confidence"])[:3]


def _recommended(
    entity_type: str, what: str, name: str, kind: str, confidence: float, frequency: int, message: str,
    change: dict[str, Any] | None = None,
) -> Recommendation:  # fmt: skip
    return {
        "entity_type": entity_type,
        "kind": what,
        "field_name": name,
        "recommended_type": kind,
        "confidence": confidence,
        "frequency": frequency,
        "message": message,
        "change": {"entity_type": entity_type, **(change or {"new_fields": {name: {"type": kind}}})},
        "source": "observations",
        "status": "pending",
    }  # fmt: skip
