"""One field of a schema: its type, its merge policy, its constraints, and the findings about a value."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from pydantic_core import SchemaValidator, core_schema

from graphmem.model import canonical
from graphmem.model.discovery import shape_of
from graphmem.model.rules import NULL, Converter, FieldType, Policy, convert, fits

Visibility = Literal["hide", "show"]
"""Whether snapshots hide a value that does not fit its declaration, or show it unchanged."""
SHOWN: Final = "snapshots show it"
"""Words of a warning of a value that does not fit its declaration and is not hidden."""
Code = Literal["UNKNOWN_FIELD", "MISSING_REQUIRED_FIELD", "TYPE_MISMATCH", "CONSTRAINT_VIOLATION"]
Scalar = str | int | float | bool

FIELD_TYPES: Final = get_args(FieldType)
PATTERN_LIMIT: Final = 200  # longest pattern, in characters
MATCHED_LIMIT: Final = 1_000
"""Longest value that is matched against a pattern, in characters; a longer value does not match."""


@dataclass(frozen=True, slots=True)
class SchemaFinding:
    """One deviation of an observation from its schema."""

    code: Code
    field: str
    message: str  # the effect of the deviation and what to do next
    refused: bool = False  # whether the schema refuses such an observation


@dataclass(frozen=True, slots=True)
class Constraints:
    """Constraints on the values of a field; ``None`` does not constrain. 1 and 1.0 are equal."""

    min: float | None = None  # included
    max: float | None = None  # included
    enum: tuple[Scalar, ...] | None = None
    pattern: str | None = (
        None  # of linear time (no look-around, no back-references), found somewhere in a string
    )
    banned: tuple[Scalar, ...] | None = None

    def violation(self, value: Any) -> str | None:
        """Return how a value violates the constraints, in words."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self.min is not None and value < self.min:
            return f"less than the minimum, {canonical.encode(self.min)}"
        if is_number and self.max is not None and value > self.max:
            return f"more than the maximum, {canonical.encode(self.max)}"
        if isinstance(value, str) and self.pattern is not None and not matches(self.pattern, value):
            return f"not matched by the pattern {self.pattern}"
        if self.enum is not None and not _is_listed(value, self.enum):
            return f"not one of the allowed values: {_listing(self.enum)}"
        if self.banned is not None and _is_listed(value, self.banned):
            return f"one of the banned values: {_listing(self.banned)}"
        return None

    def as_json(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in ("min", "max", "enum", "pattern", "banned")}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in parts.items() if v is not None}


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field."""

    type: FieldType
    required: bool = False
    filterable: bool = False  # indexed, so that filters and sorts read only matching rows
    description: str | None = None
    merge: Policy = "last_write"
    converters: tuple[Converter, ...] = ()
    constraints: Constraints | None = None
    mismatch: Visibility | None = (
        None  # "hide" converts, or else hides, another type; ``None``: as the document says
    )
    kept: str | None = None  # keys without effect that earlier versions stored, as canonical JSON

    @property
    def is_union(self) -> bool:
        """Whether the value is the union of all observed values. Any value fits, so none has a wrong type."""
        return self.merge == "merge_array"

    def as_json(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "type": self.type,
            "required": self.required or None,
            "filterable": self.filterable or None,
            "merge": None if self.merge == "last_write" else self.merge,
            "converters": list(self.converters) or None,
            "constraints": self.constraints and self.constraints.as_json(),
            "description": self.description,
            "mismatch": self.mismatch,
        }
        declared = {name: value for name, value in parts.items() if value is not None}
        return {**declared, **(canonical.decode(self.kept) if self.kept else {})}

    def findings(
        self, name: str, text: str, *, mismatch: Visibility, reject: bool
    ) -> Iterator[SchemaFinding]:
        """Compare one value (canonical JSON; null always fits) with the declaration; yield the deviations.
        ``reject``: a violated constraint refuses the observation."""
        if text == NULL:
            return
        value = canonical.decode(text)
        if not fits(value, self.type):
            converted = convert(text, self.type, self.converters) if mismatch == "hide" else None
            if not self.is_union or converted is not None:
                yield self._mistyped(name, value, mismatch, converted)
            if converted is None:
                return
            value = canonical.decode(converted)
        violation = self.constraints.violation(value) if self.constraints else None
        if violation is not None:
            outcome = "the observation is refused" if reject else "the observation is stored with this value"
            yield SchemaFinding(
                "CONSTRAINT_VIOLATION", name, f"the value of {name} is {violation}; {outcome}", reject
            )

    def _mistyped(self, name: str, value: Any, mismatch: Visibility, converted: str | None) -> SchemaFinding:
        problem = f"{name} is declared as {self.type} and the value is of type {shape_of(value)}"
        if converted is not None:
            advice = f"{SHOWN} converted, and the observation keeps it unchanged"
        elif mismatch == "hide":
            advice = (
                "it cannot be converted, so the observation keeps it and snapshots hide it: "
                f"send it as {self.type}, or declare another type by POST /update_schema_incremental"
            )
        else:
            advice = (
                f"{SHOWN} unchanged: send it as declared, or declare another type by "
                "POST /update_schema_incremental"
            )
        return SchemaFinding("TYPE_MISMATCH", name, f"{problem}; {advice}")


@lru_cache(maxsize=32)
def compiled(pattern: str) -> SchemaValidator:
    """Compile a pattern with the Rust engine, whose time is linear, or raise SchemaError. A compiled pattern
    may take 10 MB, so that only a few are cached."""
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))


def matches(pattern: str, value: str) -> bool:
    """Return whether a pattern matches somewhere in a value, if that is not too long."""
    return len(value) <= MATCHED_LIMIT and compiled(pattern).isinstance_python(value)


def _is_listed(value: Any, listed: tuple[Scalar, ...]) -> bool:
    return any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in listed)


def _listing(listed: tuple[Scalar, ...]) -> str:
    text = ", ".join(canonical.encode(item)[:50] for item in listed[:10])
    return f"{text} and {len(listed) - 10} more" if len(listed) > 10 else text
