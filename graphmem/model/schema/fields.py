"""One field of a schema: its type, how it reduces, what its values must be, what is found wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from pydantic_core import SchemaValidator, core_schema

from graphmem.model import canonical
from graphmem.model.discovery import shape_of
from graphmem.model.rules import NULL, Converter, FieldType, Policy, convert, fits

Visibility = Literal["hide", "show"]
"""What becomes of what is not as it was declared: it is left out of snapshots, or shown as it was given."""
Code = Literal["UNKNOWN_FIELD", "MISSING_REQUIRED_FIELD", "TYPE_MISMATCH", "CONSTRAINT_VIOLATION"]
Scalar = str | int | float | bool

FIELD_TYPES: Final = get_args(FieldType)
PATTERN_LIMIT: Final = 200
"""Characters of a pattern."""
MATCHED_LIMIT: Final = 1_000
"""Characters of a value that a pattern is held against; what is longer does not fit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is not as the schema declares it, in one observation.

    Attributes:
        message: says what became of it and what to do next.
        refused: whether the schema wants such an observation to be refused.
    """

    code: Code
    field: str
    message: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the values of a field must be; each part is ``None`` where it is not asked for.

    Attributes:
        min, max: bounds of a number, both included.
        enum, banned: the values that are allowed, and those that are not; 1 and 1.0 are one.
        pattern: a regular expression of linear time (no look-around, no back-references) that must be
            found somewhere in a string.
    """

    min: float | None = None
    max: float | None = None
    enum: tuple[Scalar, ...] | None = None
    pattern: str | None = None
    banned: tuple[Scalar, ...] | None = None

    def broken(self, value: Any) -> str | None:
        """Return which of them a value breaks, in words; ``None`` if none."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self.min is not None and value < self.min:
            return f"less than the least allowed, {canonical.encode(self.min)}"
        if is_number and self.max is not None and value > self.max:
            return f"more than the most allowed, {canonical.encode(self.max)}"
        if isinstance(value, str) and self.pattern is not None and not matches(self.pattern, value):
            return f"not of the pattern {self.pattern}"
        if self.enum is not None and not _among(value, self.enum):
            return f"none of the values allowed: {_told(self.enum)}"
        if self.banned is not None and _among(value, self.banned):
            return f"one of the values not allowed: {_told(self.banned)}"
        return None

    def as_json(self) -> dict[str, Any]:
        """Return the parts that are asked for."""
        found = {name: getattr(self, name) for name in ("min", "max", "enum", "pattern", "banned")}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in found.items() if v is not None}


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field.

    Attributes:
        mismatch: whether a value of another type is converted, and hidden where it cannot be, or shown as
            it was given; ``None`` leaves it to the document.
        filterable: whether its values stand in an index, so that filters and sorts by it read no others.
        kept: keys of other clients, as canonical JSON, kept without effect.
    """

    type: FieldType
    required: bool = False
    filterable: bool = False
    description: str | None = None
    merge: Policy = "last_write"
    converters: tuple[Converter, ...] = ()
    constraints: Constraints | None = None
    mismatch: Visibility | None = None
    kept: str | None = None

    @property
    def is_union(self) -> bool:
        """Whether its value is the union of what was said; any value is part of one, so none is mistyped."""
        return self.merge == "merge_array"

    def as_json(self) -> dict[str, Any]:
        """Return the field as a document holds it; what is as usual is left out."""
        found: dict[str, Any] = {"type": self.type}
        if self.required:
            found["required"] = True
        if self.filterable:
            found["filterable"] = True
        if self.merge != "last_write":
            found["merge"] = self.merge
        if self.converters:
            found["converters"] = list(self.converters)
        if self.constraints:
            found["constraints"] = self.constraints.as_json()
        for name in ("description", "mismatch"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return {**found, **(canonical.decode(self.kept) if self.kept else {})}

    def findings(self, name: str, text: str, *, mismatch: Visibility, reject: bool) -> Iterator[Finding]:
        """Yield what is not as declared in one value.

        Args:
            text: canonical JSON; null is never wrong.
            mismatch: that of the field, else of its document.
            reject: whether a broken constraint refuses the observation.
        """
        if text == NULL:
            return
        value = canonical.decode(text)
        if not fits(value, self.type):
            shown = convert(text, self.type, self.converters) if mismatch == "hide" else None
            if not self.is_union or shown is not None:
                yield self._mistyped(name, value, mismatch, shown)
            if shown is None:
                return
            value = canonical.decode(shown)
        broken = self.constraints.broken(value) if self.constraints else None
        if broken is not None:
            done = "nothing of it was stored" if reject else "it was stored all the same"
            yield Finding("CONSTRAINT_VIOLATION", name, f"the value of {name} is {broken}; {done}", reject)

    def _mistyped(self, name: str, value: Any, mismatch: Visibility, shown: str | None) -> Finding:
        given = f"{name} is declared as {self.type} and was given as {shape_of(value)}"
        if shown is not None:
            said = "it is converted in snapshots and kept as given on the observation"
        elif mismatch == "hide":
            said = (
                "it cannot be converted, so it is kept on the observation and hidden from snapshots: "
                f"send it as {self.type}, or declare another type by POST /update_schema_incremental"
            )
        else:
            said = (
                "it is shown as given: send it as declared, or declare another type by "
                "POST /update_schema_incremental"
            )
        return Finding("TYPE_MISMATCH", name, f"{given}; {said}")


@lru_cache(maxsize=32)
def compiled(pattern: str) -> SchemaValidator:
    """Return a matcher of a pattern: that of Rust, whose time is linear in the length of what it reads.

    One may take 10 MB, so that only a few are kept.

    Raises:
        SchemaError: it is no pattern.
    """
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))


def matches(pattern: str, value: str) -> bool:
    """Return whether a pattern is found in a value of at most :data:`MATCHED_LIMIT` characters."""
    return len(value) <= MATCHED_LIMIT and compiled(pattern).isinstance_python(value)


def _among(value: Any, listed: tuple[Scalar, ...]) -> bool:
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in listed)


def _told(listed: tuple[Scalar, ...]) -> str:
    shown = ", ".join(canonical.encode(one)[:50] for one in listed[:10])
    return f"{shown} and {len(listed) - 10} more" if len(listed) > 10 else shown
