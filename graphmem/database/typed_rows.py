"""Rows of queries as row classes: a field for each column that the query's ``returns`` header names.

A row class is a NamedTuple or a dataclass. A column that holds lists, such as ``page: LIST<LIST>``, becomes
row classes as well where the field is annotated so::

    class EntityPage(NamedTuple):
        page: list[EntityRow]  # each list by position: EntityRow(*item)
        origin: EntityRow | None
        total: int

A row class that is made by position may hold row classes itself. For a query with one column, the type of
that column stands in place of a row class, such as ``str``, ``EntityRow`` or ``list[EntityRow]``. For a row
that is unpacked where it is read, a tuple of the types of its columns does, in the order of the header; for a
list in a column, a tuple of the types of its values::

    page, total = await context.graph.only("event.page", tuple[list[EventRow], int])
    for key, turns in await context.graph.only("relationship.at_all", list[tuple[str, list[Tally]]]): ...

Values are checked only where a read met damage: a test compares every row class with its query's header.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from graphmem.database.left_out import checking, each_sound, kept, sound

Row = dict[str, Any]  # one row as the driver returns it, by column

R = TypeVar("R")
Convert = Callable[[Any], Any]
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "STRING": (str,),
    "INTEGER": (int,),
    "FLOAT": (float,),
    "BOOLEAN": (bool,),
    "MAP": (dict,),
}
"""The Python types of the values that a header declares."""


def typed(row_class: type[R], row: Row) -> R:
    """Return a row as an instance of its row class, or the value of its only column. Raises KeyError,
    TypeError: it lacks a column, or has a list of another length than its row class."""
    make, (part,) = maker(row_class, [row])
    return make(part)


def maker(row_class: type[R], rows: Sequence[Row]) -> tuple[Callable[[Any], R], Sequence[Any]]:
    """Return what makes rows as :func:`typed`, and from what: the rows or the values of their only column."""
    if not rows or len(rows[0]) == 1:
        return _from_value(row_class), list(chain.from_iterable(map(dict.values, rows)))
    return _from_columns(row_class), rows


@cache
def _from_value(annotation: Any) -> Convert:
    if _is_row_class(annotation):
        make = _by_position(annotation)
        return lambda value: None if value is None else make(value)
    convert = _conversion(annotation)
    return lambda value: sound(annotation, value if convert is None else convert(value))


@cache
def _from_columns(row_class: type) -> Convert:
    if get_origin(row_class) is tuple:
        converted = tuple(map(_conversion, get_args(row_class)))
        return lambda row: sound(row_class, tuple([
            value if convert is None else convert(value)
            for convert, value in zip(converted, row.values(), strict=True)
        ]))  # fmt: skip
    conversions = _columns(row_class)
    return lambda row: row_class(*[
        row[column] if convert is None else convert(row[column]) for column, convert in conversions
    ])  # fmt: skip


@cache
def columns(row_class: type) -> Mapping[str, Any]:
    """Return the columns of a row class with their annotations, in order; raises TypeError: it is none."""
    if not _is_row_class(row_class):
        raise TypeError(f"{row_class} is no row class: make it a NamedTuple or a dataclass")
    names: tuple[str, ...] = getattr(row_class, "_fields", ()) or tuple(
        field.name for field in dataclasses.fields(row_class)
    )
    hints = get_type_hints(row_class)
    return {name: hints[name] for name in names}


@cache
def _columns(row_class: type) -> tuple[tuple[str, Convert | None], ...]:
    return tuple((name, _conversion(annotation)) for name, annotation in columns(row_class).items())


@cache
def _conversion(annotation: Any) -> Convert | None:
    """Return what makes the value of a column, ``None`` where the value stays as it is."""
    annotation = without_none(annotation)
    is_list = get_origin(annotation) is list
    item = get_args(annotation)[0] if is_list else annotation
    row_class = _as_row_class(item)
    if not _is_row_class(row_class):
        return None
    make, convert = _by_position(row_class), each_sound if is_list else kept
    if row_class is not item and not _holds_rows(item):
        # A list is unpacked as well as a tuple: it is a row only where rows are checked.
        return lambda value: value if value is None or checking() is None else convert(make, value)
    return lambda value: None if value is None else convert(make, value)


def _holds_rows(annotation: Any) -> bool:
    return any(_is_row_class(part) or _holds_rows(part) for part in get_args(annotation))


@cache
def _as_row_class(annotation: Any) -> Any:
    """Return a row class without names for a tuple of types; another annotation as it is."""
    if get_origin(annotation) is not tuple:
        return annotation
    fields = [(f"value_{i}", each) for i, each in enumerate(get_args(annotation), 1)]
    return cast("Any", NamedTuple)("Values", fields)


@cache
def _by_position(row_class: type) -> Convert:
    """Return what makes a row class from a list of values. Trailing values with a default may be absent."""
    conversions = [convert for _, convert in _columns(row_class)]
    if not any(conversions):
        return lambda values: row_class(*values)

    def make(values: list[Any]) -> Any:
        converted = (
            value if convert is None else convert(value)
            for value, convert in zip(values, conversions, strict=False)
        )
        return row_class(*converted, *values[len(conversions) :])

    return make


def without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        others = [each for each in get_args(annotation) if each is not type(None)]
        return others[0] if len(others) == 1 else annotation
    return annotation


def fits(annotation: Any, declared: str) -> bool:
    """Return whether a column of this type, as a header declares it, fits the annotation; null always may."""
    annotation = without_none(annotation)
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if annotation is Any or declared == "ANY":
        return True
    base = get_origin(annotation) or annotation
    if not declared.startswith("LIST"):
        return base in _PLAIN[declared]
    if declared == "LIST":
        return base in (list, tuple) or _is_row_class(annotation)
    item = (get_args(annotation) or (Any,))[0]
    return base is list and fits(item, declared.removeprefix("LIST<").removesuffix(">"))


def _is_row_class(annotation: Any) -> bool:
    if not isinstance(annotation, type):
        return False
    return hasattr(annotation, "_fields") or dataclasses.is_dataclass(annotation)
