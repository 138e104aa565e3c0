"""The list of commands that are operations, as a file: `make snapshots` writes it from the registry.

The command line reads the file, so that it imports operations only to run one in its own process.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from graphmem import operations
from graphmem.arguments import ReadAs, Spelled, nested_filters, shown_names
from graphmem.auth import Scope
from graphmem.cli.commands import TEXT_HELP, Listed, Parameter, ValueKind, flag, is_bare_text
from graphmem.cli.people_times import HELP as TIME_HELP
from graphmem.model import canonical
from graphmem.registry import REGISTRY, Face, Operation

PLAIN = (ValueKind.TEXT, ValueKind.ENTITY, ValueKind.SINCE, ValueKind.UNTIL)
"""Kinds of which one word of the command line is the value."""

# The import of the operations fills the registry.
assert operations.__path__


def listing() -> str:
    """Return the list as the text of its file: one command a line. ``cli.txt`` is for reading."""
    listed = [_entry(_listed(operation)) for operation in REGISTRY.values() if Face.CLI in operation.faces]
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in listed) + "\n]\n"


def example_line(operation: Operation[Any]) -> str:
    """Return the operation's example as a command line, quoted for a shell."""
    fields = _fields(operation)
    positional: list[str] = []
    options: list[str] = []
    shown = shown_names(operation.arguments)
    for name, value in operation.example.items():
        option = flag(shown.get(name, name))
        kind = _value(fields[name])
        if isinstance(value, bool):
            options.append(option if value else f"--no-{option[2:]}")
        elif kind in (ValueKind.JSON, ValueKind.ANY):
            bare = kind is ValueKind.ANY and isinstance(value, str) and is_bare_text(value)
            options += [option, value if bare else canonical.encode(value)]
        elif isinstance(value, list):
            options += [word for element in value for word in (option, element)]
        elif _is_positional(fields[name], kind):
            positional += str(value).split() if kind is ValueKind.WORDS else [str(value)]
        else:
            options += [option, str(value)]
    return shlex.join(["graphmem", *operation.command, *positional, *options])


def _entry(listed: Listed) -> dict[str, Any]:
    """Return an operation as an object of the file. Of a parameter it has what is not the default."""
    defaults = {part.name: part.default for part in dataclasses.fields(Parameter)}
    parameters = (asdict(parameter) for parameter in listed.parameters)
    return asdict(listed) | {
        "parameters": [
            {name: value for name, value in parameter.items() if value != defaults[name]}
            for parameter in parameters
        ]
    }


def _listed(operation: Operation[Any]) -> Listed:
    return Listed(
        name=operation.name,
        command=operation.command,
        routes=operation.routes,
        reads=operation.scope is Scope.READ,
        summary=operation.summary,
        help=f"{operation.description}\n\n\b\nExample:\n  {example_line(operation)}",
        people=dict(operation.people),
        instead=dict(operation.arguments.instead),
        parameters=tuple(_parameters(operation)),
    )


def _parameters(operation: Operation[Any]) -> Iterator[Parameter]:
    fields = _fields(operation)
    shown = shown_names(operation.arguments)
    for name, info in fields.items():
        yield _parameter(name, shown.get(name, name), info)
    for name in shown:
        value = _value(fields[name])
        value = value if value in PLAIN else ValueKind.TEXT
        yield Parameter(name, name, value, flag(name), is_own_name=True)
    for info in fields.values():
        value = _value(info)
        if value in PLAIN and not _is_positional(info, value):
            marks = (mark for mark in info.metadata if isinstance(mark, Spelled))
            # Those beside its own name and the one that is described.
            for spelling in (name for mark in marks for name in mark.names if name != mark.shown):
                yield Parameter(spelling, spelling, value, flag(spelling), is_own_name=True)
    for name, info in fields.items():
        if option := _option(info):
            help_text = f"The same as {name.upper()}."
            yield Parameter(option, option, _value(info), flag(option), help=help_text, is_beside=True)


def _fields(operation: Operation[Any]) -> dict[str, FieldInfo]:
    """Return the arguments, those of ``filters`` beside the others."""
    inner = nested_filters(operation.arguments)
    fields = dict(operation.arguments.model_fields)
    if inner is not None:
        fields = {
            **inner.model_fields,
            **{n: i for n, i in fields.items() if n != operation.arguments.filters_in},
        }
    return fields


def _parameter(name: str, shown: str, info: FieldInfo) -> Parameter:
    option = flag(shown)
    texts = (mark.description for mark in _marks(info) if isinstance(mark, FieldInfo) and mark.description)
    text = info.description or next(texts, "")
    value = _value(info)
    if value in (ValueKind.SINCE, ValueKind.UNTIL):
        moment = "last" if value is ValueKind.UNTIL else "first"
        return Parameter(
            name, shown, value, option, metavar="TIME", help=f"{text} {TIME_HELP.format(moment=moment)}"
        )
    if value is ValueKind.BOOLEAN:
        return Parameter(name, shown, value, f"{option}/--no-{option[2:]}", help=text)
    if _is_positional(info, value):
        return Parameter(name, shown, value, help=text, is_required=not _option(info))
    if value is ValueKind.ANY:
        return Parameter(name, shown, value, option, metavar="TEXT|JSON", help=f"{text} {TEXT_HELP}")
    return Parameter(
        name, shown, value, option, metavar="JSON" if value is ValueKind.JSON else None, help=text
    )


def _is_positional(info: FieldInfo, value: ValueKind) -> bool:
    """Return whether an argument is positional on the command line."""
    return value not in (ValueKind.JSON, ValueKind.ANY) and (info.is_required() or bool(_option(info)))


def _option(info: FieldInfo) -> str:
    """Return the option that the command line takes beside a positional argument, or an empty text."""
    return next((mark.option for mark in info.metadata if isinstance(mark, Spelled)), "")


def _marks(info: FieldInfo) -> Iterator[Any]:
    """Yield what an argument is annotated with, also a type in a union, such as ``EntityType | None``."""
    yield from info.metadata
    # A list of ids is no id.
    for kind in get_args(info.annotation) if get_origin(info.annotation) is not list else ():
        yield from getattr(kind, "__metadata__", ())


def _value(info: FieldInfo) -> ValueKind:
    """Return how the words of the command line become the value of an argument."""
    if kinds := [mark.kind for mark in _marks(info) if isinstance(mark, ReadAs)]:
        return ValueKind(kinds[0])
    if info.annotation is bool:
        return ValueKind.BOOLEAN
    if info.annotation is Any:
        return ValueKind.ANY
    kinds = [info.annotation, *get_args(info.annotation)]
    if any(
        kind is Any or get_origin(kind) is dict or (isinstance(kind, type) and hasattr(kind, "model_fields"))
        for kind in kinds
    ):
        return ValueKind.JSON
    return ValueKind.LIST if get_origin(info.annotation) is list else ValueKind.TEXT
