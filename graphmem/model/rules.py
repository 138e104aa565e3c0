"""The part of a schema that decides snapshots: which fields they have, how values convert, what wins.

The rules of a type come from its registered document (:mod:`graphmem.model.schema`). Without one they are
:data:`PLAIN`: every field is shown as it was stored, and the last write wins. Each entity stores the ``key``
of the rules that it was folded under. An entity with another key than its type is stale and folded again.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Literal, NamedTuple

from graphmem.model import canonical, times
from graphmem.model.discovery import shape_of
from graphmem.model.identity import CANONICAL_NAME

Policy = Literal["last_write", "highest_priority", "most_specific", "merge_array"]
FieldType = Literal["string", "number", "date", "boolean", "array", "object"]
Converter = Literal[
    "number_to_string", "string_to_number", "boolean_to_string", "string_to_boolean", "string_to_array",
    "timestamp_s_to_iso", "timestamp_ms_to_iso", "timestamp_nanos_to_iso",
]  # fmt: skip
NULL: Final = "null"

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SETS: Final = ("only", "hidden", "filterable")  # the members of :class:`Rules` that are sets


@dataclass(frozen=True)
class Rules:
    """The rules of one type. ``identity`` has the registered alternatives where they change what merges."""

    policies: Mapping[str, Policy] = field(default_factory=dict)  # of fields not by ``last_write``
    types: Mapping[str, FieldType] = field(default_factory=dict)  # of fields that convert
    converters: Mapping[str, tuple[Converter, ...]] = field(default_factory=dict)  # before those of the type
    only: frozenset[str] | None = None  # the fields that are shown; ``None`` shows all but ``hidden``
    hidden: frozenset[str] = frozenset()  # fields that are not shown
    sources: Mapping[str, int] | None = None  # the rank of each; ``None`` for the default ranks
    filterable: frozenset[str] = frozenset()  # the fields whose values are indexed
    temporal: Mapping[str, str] = field(default_factory=dict)  # the types of events by field; empty: by names
    identity: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def text(self) -> str:
        """The rules as canonical JSON; empty for plain rules."""
        declared: dict[str, Any] = {name: value for name, value in asdict(self).items() if value}
        for name in _SETS:
            if name in declared:
                declared[name] = sorted(declared[name], key=canonical.name_order)
        if self.only is not None:
            declared.setdefault("only", [])
        return canonical.encode(declared) if declared else ""

    @cached_property
    def key(self) -> str:
        """The first 16 hexadecimal digits of the digest of the rules; empty for plain rules."""
        return canonical.digest(self.text)[:16] if self.text else ""

    def policy(self, name: str) -> Policy:
        return self.policies.get(name, "last_write")

    def shows(self, name: str) -> bool:
        if name == CANONICAL_NAME:
            return True
        return name not in self.hidden and (self.only is None or name in self.only)

    def value(self, name: str, text: str) -> str | None:
        """Return a value (canonical JSON) as a snapshot shows it, if it converts."""
        field_type = self.types.get(name)
        if field_type is None or text == NULL or name == CANONICAL_NAME:
            return text
        return convert(text, field_type, self.converters.get(name, ()))


PLAIN: Final = Rules()  # the rules of a type without a registered schema


def convert(text: str, field_type: FieldType, further: tuple[Converter, ...] = ()) -> str | None:
    """Return a value (canonical JSON, not null) as one of a type, by ``further`` converters first."""
    value = canonical.decode(text)
    if fits(value, field_type):
        return text
    lossless = [name for name, each in CONVERSIONS.items() if each.is_lossless and field_type in each.gives]
    for name in (*further, *lossless):
        conversion = CONVERSIONS[name]
        converted = conversion.convert(value) if fits(value, conversion.takes) else None
        if converted is not None and fits(converted, field_type):
            return canonical.encode(converted)
    return None


def fits(value: Any, field_type: str) -> bool:
    """Return whether a value is of a field type; a date is a string as well."""
    shape = shape_of(value)
    return shape == field_type or (field_type == "string" and shape == "date")


def _number(text: str) -> int | float | None:
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        number = canonical.decode(text)
        canonical.encode(number)
    except ValueError:
        return None
    return number


def _array(text: str) -> list[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        elements = canonical.decode(text)
        canonical.encode(elements, levels=canonical.VALUE_DEPTH)
    except ValueError:
        return None
    return elements if isinstance(elements, list) else None


def _iso(value: float, factor: int | None) -> str | None:
    """Return the time of a count since 1970 of ``factor`` microseconds each, or of nanoseconds."""
    try:
        micros = int(value) // 1000 if factor is None else round(value * factor)
        return times.render(micros) if times.EARLIEST <= micros <= times.LATEST else None
    except (OverflowError, ValueError):
        return None


class Conversion(NamedTuple):
    """What a converter takes and gives. One that ``is_lossless`` serves every field of a type that it gives.
    ``convert`` returns ``None`` where it does not apply."""

    takes: FieldType
    gives: tuple[FieldType, ...]
    convert: Callable[[Any], Any]
    is_lossless: bool = True


CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "number_to_string": Conversion("number", ("string",), canonical.encode),
    "string_to_number": Conversion("string", ("number",), _number),
    "boolean_to_string": Conversion("boolean", ("string",), canonical.encode),
    "string_to_boolean": Conversion(
        "string", ("boolean",), lambda text: {"true": True, "false": False}.get(text.strip().lower())
    ),
    "string_to_array": Conversion("string", ("array",), _array),
    "timestamp_s_to_iso": Conversion("number", ("date", "string"), partial(_iso, factor=1_000_000), False),
    "timestamp_ms_to_iso": Conversion("number", ("date", "string"), partial(_iso, factor=1_000), False),
    "timestamp_nanos_to_iso": Conversion("number", ("date", "string"), partial(_iso, factor=None), False),
}
"""The converters by name."""
