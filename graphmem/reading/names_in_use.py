"""Filters that name an unknown type or field: a list proposes what was probably meant."""

from collections.abc import Collection, Iterable
from typing import NotRequired

from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.model import schema
from graphmem.text import spelling


class NameWarning(TypedDict):
    """A type or a field of a filter that nothing has; ``nearest``: the known name probably meant, if any."""

    code: str
    message: str
    nearest: NotRequired[str]
    field: NotRequired[str]


class Warned(TypedDict):
    """What a list adds to its answer where a filter names something unknown."""

    warnings: NotRequired[list[NameWarning]]


_HEADS = list[tuple[str, list[str]]]  # types, each with its fields where they are wanted


async def types_of(context: Context) -> list[str]:
    heads = await context.graph.only("schema.names", _HEADS, types=[], with_fields=False)
    return sorted({entity_type for entity_type, _ in heads} | set(schema.shipped_types()))


async def warned(
    context: Context,
    items: Collection[object],
    types: Iterable[str | None],
    fields: Collection[str] = (),
    item_types: Collection[str] = (),
) -> Warned:
    """Return the warnings of a list: a name of its filters is unknown, and near to one in use. A list with
    items has only warnings of types, and only if its filters name several: those without an item."""
    named = sorted({name for name in types if name is not None})
    if items:
        fields = ()
    absent = [] if items and len(named) == 1 else [name for name in named if name not in item_types]
    unknown = [name for name in absent if schema.shipped(name) is None]
    if not (fields or unknown):
        return {}
    heads = await context.graph.only("schema.names", _HEADS, types=named, with_fields=bool(fields))
    in_use = {entity_type for entity_type, _ in heads} | set(schema.shipped_types())
    known = {name for _, of_type in heads for name in of_type}
    for name in named or in_use:
        shipped = schema.shipped(name)
        known.update(shipped.fields if shipped else ())
    warnings: list[NameWarning] = []
    for name in unknown:
        if near := spelling.nearest(name, in_use):
            message = f"no entity is of the type {name}: did you mean {near}?"
            warnings.append({"code": "UNKNOWN_TYPE", "message": message, "nearest": near})
        elif name not in in_use:
            message = f"no entity is of the type {name}, and no known type has a similar name"
            warnings.append({"code": "UNKNOWN_TYPE", "message": message})
    for name in sorted(fields):
        if near := spelling.nearest(name, known):
            message = f"no such entity has the field {name}: did you mean {near}?"
            warnings.append({"code": "UNKNOWN_FIELD", "message": message, "nearest": near, "field": name})
    return {"warnings": warnings} if warnings else {}
