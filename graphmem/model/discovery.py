"""Discovered schemas: what has been seen under each field of a type.

The discovered type of a field is the join of all types seen. A join does not depend on order and never
converts or hides a value: after a number and a string it is ``number|string``.
"""

from collections.abc import Iterable, Mapping

from graphmem.model import times

Shapes = frozenset[str]


def shape_of(value: object) -> str | None:
    """Return the type of one value: string, number, date, boolean, array or object; ``None`` for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "date" if times.is_time(value) else "string"
    return "array" if isinstance(value, list | tuple) else "object"


def join(known: Mapping[str, Shapes], fields: Mapping[str, str | None]) -> dict[str, Shapes]:
    joined = dict(known)
    for name, shape in fields.items():
        joined[name] = joined.get(name, frozenset()) | ({shape} if shape else frozenset())
    return joined


def describe(seen: Iterable[str]) -> str:
    """Return the name of a discovered type: dates among strings are strings, null alone is ``null``."""
    shapes = set(seen)
    if {"date", "string"} <= shapes:
        shapes.remove("date")
    return "|".join(sorted(shapes)) or "null"
