"""Proposals for a schema from a sample of observations: fields to declare, to retype, to require.

The analysis is pure and deterministic: the same sample gives the same answer, in the same order. It needs
only the beginning of each value (:data:`VALUE_CHARACTERS` characters of canonical JSON).

The confidence in a recommended type is a sum: 0.5 times the share of values of the type, 0.25 times the
share of the most common format (e-mail, uuid, integer, …), 0.15 if the field's name suggests the type (else
half of that), and 0.1 times the number of values divided by ten, at most 0.1.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.errors import NotFound
from graphmem.model import canonical, identity, schema
from graphmem.model.discovery import shape_of
from graphmem.model.rules import FieldType
from graphmem.model.schema import SchemaDocument
from graphmem.reading.schema_rows import unknown_type

VALUE_CHARACTERS: Final = 64  # characters of each value in the sample; longer values are cut
MIN_OBSERVATIONS: Final = 5  # least number of values for a recommendation
_MISFITS_SHARE: Final = 0.2
_MIN_ENTITIES: Final = 3

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


class SampledObservation(NamedTuple):
    """One observation of the sample; ``values`` are canonical JSON, cut to ``VALUE_CHARACTERS``."""

    entity_id: str
    kind: str
    basis: str | None
    fields: list[str]
    values: list[str]


class ProposedField(TypedDict):
    """A field, the type that its observed values recommend, how sure that is, and how many values it has."""

    entity_type: str
    field_name: str
    recommended_type: str
    confidence: float
    frequency: int


class Candidate(ProposedField):
    """An observed field that is not declared.

    ``frequency`` counts the observations of the sample with a value of the field, ``types`` the values by
    type; ``format`` is the most common format.
    """

    entity_count: int
    types: dict[str, int]
    format: str


class Recommendation(ProposedField):
    """A change that the observations suggest.

    ``change`` has the arguments of `update_schema_incremental`. ``kind`` is add_field, change_type,
    require_field or identity.
    """

    kind: str
    message: str
    change: dict[str, Any]
    source: str
    status: str


@dataclass(slots=True)
class FieldProfile:
    """Statistics of the observed values of one field."""

    shapes: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    entities: set[str] = field(default_factory=set)
    stored: int = 0
    """Number of observations of kind value that have the field."""
    texts: dict[str, set[str]] = field(default_factory=dict)
    """Uncut scalar values by entity."""
    identifies: bool = True

    @property
    def frequency(self) -> int:
        return sum(self.shapes.values())

    def add(self, observation: SampledObservation, text: str) -> None:
        shape, form = type_and_format(text)
        self.shapes[shape] += 1
        self.formats[form] += 1
        self.entities.add(observation.entity_id)
        self.stored += observation.kind == "value"
        if shape in ("string", "number", "date") and len(text) < VALUE_CHARACTERS and text not in ('""',):
            self.texts.setdefault(observation.entity_id, set()).add(text)
        else:
            self.identifies = False

    def best_type(self) -> FieldType:
        """Return the best type. For mixed scalars this is string, because all scalars convert to strings."""
        shapes = {"string" if name == "date" and "string" in self.shapes else name for name in self.shapes}
        if len(shapes) == 1:
            return shapes.pop()  # pyright: ignore[reportReturnType]
        if not shapes & {"array", "object"}:
            return "string"
        return max(sorted(self.shapes), key=self.shapes.__getitem__)  # pyright: ignore[reportReturnType]

    def count_of_type(self, kind: str) -> int:
        """Count the values of a type without conversion; a date is a string too."""
        return self.shapes[kind] + (self.shapes["date"] if kind == "string" else 0)

    def confidence(self, name: str, kind: str) -> float:
        """Return the confidence that a field is of a type, 0 to 1; the module docstring has the formula."""
        count = self.frequency
        suggested = _SUGGESTED[kind].search(name.lower()) is not None
        parts = (
            0.5 * self.count_of_type(kind) / count,
            0.25 * max(self.formats.values()) / count,
            0.15 * (1.0 if suggested else 0.5),
            0.1 * min(count / 10, 1.0),
        )
        return round(sum(parts), 4)


def type_and_format(text: str) -> tuple[str, str]:
    """Return the type and the format of a value that is not null, from the start of its canonical JSON."""
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
    if len(text) >= VALUE_CHARACTERS:
        return "string", "text"
    value = canonical.decode(text)
    if shape_of(value) == "date":
        return "date", "date" if len(value) == 10 else "time"
    return "string", next((name for name, shape in _FORMATS if shape.fullmatch(value)), "text")


def profiles(sample: Iterable[SampledObservation]) -> dict[str, FieldProfile]:
    """Return the statistics of each field except ``canonical_name``, without nulls, in canonical order."""
    profiles_by_name: dict[str, FieldProfile] = {}
    for observation in sample:
        for name, text in zip(observation.fields, observation.values, strict=True):
            if name != identity.CANONICAL_NAME and text != "null":
                profiles_by_name.setdefault(name, FieldProfile()).add(observation, text)
    return {name: profiles_by_name[name] for name in sorted(profiles_by_name, key=canonical.name_order)}


def candidates(
    entity_type: str, document: SchemaDocument | None, sample: list[SampledObservation], *,
    min_frequency: int = MIN_OBSERVATIONS, min_confidence: float = 0.8,
) -> list[Candidate]:  # fmt: skip
    """Return the fields that could be declared, highest confidence first."""
    declared = document.fields if document else {}
    result: list[Candidate] = []
    for name, profile in profiles(sample).items():
        if name in declared or profile.frequency < min_frequency:
            continue
        kind = profile.best_type()
        confidence = profile.confidence(name, kind)
        if confidence >= min_confidence:
            result.append({
                "entity_type": entity_type,
                "field_name": name,
                "frequency": profile.frequency,
                "entity_count": len(profile.entities),
                "confidence": confidence,
                "recommended_type": kind,
                "types": dict(sorted(profile.shapes.items())),
                "format": max(sorted(profile.formats), key=profile.formats.__getitem__),
            })  # fmt: skip
    return sorted(result, key=lambda candidate: (-candidate["confidence"], -candidate["frequency"]))


def recommendations(
    entity_type: str, document: SchemaDocument | None, sample: list[SampledObservation]
) -> list[Recommendation]:
    """Return the changes that a sample suggests: additions first, then types, requirements and identity."""
    seen = profiles(sample)
    stored = [observation for observation in sample if observation.kind == "value"]
    result: list[Recommendation] = []
    propose = partial(_recommendation, entity_type)
    for candidate in candidates(entity_type, document, sample):
        name, kind, count = candidate["field_name"], candidate["recommended_type"], candidate["frequency"]
        message = f"{name} is not declared, and {count} of {len(sample)} observations have it"
        result.append(propose("add_field", name, kind, candidate["confidence"], count, message))
    for name, profile in seen.items():
        declared = document.fields.get(name) if document else None
        if declared is None or declared.is_union or profile.frequency < MIN_OBSERVATIONS:
            continue
        kind, fitting = profile.best_type(), profile.count_of_type(declared.type)
        if kind != declared.type and fitting < (1 - _MISFITS_SHARE) * profile.frequency:
            message = (
                f"{name} is declared as {declared.type}, "
                f"and {fitting} of {profile.frequency} values have this type"
            )
            sure = profile.confidence(name, kind)
            result.append(propose("change_type", name, kind, sure, profile.frequency, message))
    for name, profile in seen.items():
        declared = document.fields.get(name) if document else None
        if len(stored) < MIN_OBSERVATIONS or profile.stored < len(stored) or (declared and declared.required):
            continue
        kind = declared.type if declared else profile.best_type()
        message = f"all {len(stored)} stored observations have {name}"
        sure = round(len(stored) / (len(stored) + 1), 4)
        change = {"new_fields": {name: {"type": kind, "required": True}}}
        result.append(propose("require_field", name, kind, sure, profile.frequency, message, change))
    return result + _identities(entity_type, document, seen, stored)


def _identities(
    entity_type: str,
    document: SchemaDocument | None,
    seen: Mapping[str, FieldProfile],
    stored: list[SampledObservation],
) -> list[Recommendation]:
    """Return the fields that could identify entities that only their whole content identifies now."""
    unnamed = [observation for observation in stored if observation.basis == identity.CONTENT]
    entities = {observation.entity_id for observation in stored}
    if not unnamed or len(entities) < _MIN_ENTITIES or (document and document.alternatives() is not None):
        return []
    result: list[Recommendation] = []
    for name, profile in seen.items():
        texts = [next(iter(values)) for values in profile.texts.values() if len(values) == 1]
        if not profile.identifies or profile.stored < len(stored) or len(set(texts)) != len(entities):
            continue
        kind = profile.best_type()
        message = (
            f"{len(unnamed)} of {len(stored)} observations are identified by their whole content "
            f"alone, and {name} is different in every entity. A new rule applies to later observations"
        )
        change: dict[str, Any] = {"canonical_name_fields": [name]}
        if document is None or name not in document.fields:
            change["new_fields"] = {name: {"type": kind}}
        sure = round((1.0 if _KEYLIKE.search(name.lower()) else 0.5) * len(entities) / (len(entities) + 1), 4)
        result.append(
            _recommendation(entity_type, "identity", name, kind, sure, profile.frequency, message, change)
        )
    return sorted(result, key=lambda item: -item["confidence"])[:3]


def _recommendation(
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


SAMPLE_LIMIT = 2_000  # observations that an analysis reads, the newest ones
SAMPLED_TYPES_LIMIT = 20
"""Types that an analysis of all types reads; each type has an equal share of the sample."""


Sampled = tuple[str, SchemaDocument | None, list[SampledObservation]]
"""A type, its schema document if it has one, and a sample of its newest observations."""


_Sample = tuple[str, Json | None, list[SampledObservation]]
"""A type, its registered document, and a sample of its newest observations, or of those of an entity."""


async def samples_of_types(context: Context, entity_type: str | None) -> list[Sampled]:
    """Return a sample of a type, or of the first types by name; raises NotFound: the type is unknown."""
    all_types = entity_type is None
    samples = await context.graph.only(
        "schema.sample", list[_Sample], entity_type=entity_type,
        types=SAMPLED_TYPES_LIMIT if all_types else 1,
        limit=SAMPLE_LIMIT // SAMPLED_TYPES_LIMIT if all_types else SAMPLE_LIMIT, cut=VALUE_CHARACTERS,
    )  # fmt: skip
    if samples or all_types:
        return [(name, _declared(name, document), sample) for name, document, sample in samples]
    if schema.shipped(entity_type) is None:
        raise unknown_type(entity_type)
    return [(entity_type, schema.shipped(entity_type), [])]


async def sample_of_entity(context: Context, entity_id: str, entity_type: str | None) -> Sampled:
    """Return a sample of the observations of one entity. Raises NotFound: none of this id, or of another
    type."""
    row = await context.graph.one(
        "schema.sample_of_entity", _Sample, entity_id=entity_id, limit=SAMPLE_LIMIT, cut=VALUE_CHARACTERS,
    )  # fmt: skip
    if row is None or entity_type not in (None, row[0]):
        what = "entity" if entity_type is None else entity_type
        raise NotFound(f"there is no {what} {entity_id}", entity_id=entity_id)
    name, document, sample = row
    return name, _declared(name, document), sample


def _declared(entity_type: str, document: str | None) -> SchemaDocument | None:
    return schema.shipped(entity_type) if document is None else SchemaDocument.read(document)
