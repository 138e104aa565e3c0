"""Commands, made from the operations of the registry.

A required plain argument is positional, every other argument is an option. Values reach the operation as
text, so its validation answers as on the other faces. Lists take commas or repeated options; objects take
JSON, ``@FILE`` or ``-`` for stdin. An option that takes any JSON value takes bare text too.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from graphmem.arguments import Spelled, nested_filters, shown_names
from graphmem.cli.error_text import Place
from graphmem.cli.layouts import show
from graphmem.cli.session import console, current, telling_errors
from graphmem.errors import InvalidInput, InvalidJson
from graphmem.ingest.requests import read_request
from graphmem.model import canonical
from graphmem.registry import REGISTRY, Face, Operation

TEXT_HELP = 'What cannot be JSON is taken as text: CEO is "CEO", while 7, true, null, [ and { are JSON.'
_LOOKS_LIKE_JSON = re.compile(r'\s*(?:[\[{"]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$)')
"""What begins as a list, an object or a quoted string, or is a number: never taken as bare text."""
_FILE = "from_file"
_HIDDEN = "_hidden"


def add_commands(app: typer.Typer) -> None:
    """Add a command for each operation that has one, in groups by noun."""
    groups: dict[str, typer.Typer] = {}
    for operation in REGISTRY.values():
        if Face.CLI not in operation.faces:
            continue
        *group, name = operation.command
        place = app
        if group:
            (noun,) = group
            if noun not in groups:
                groups[noun] = typer.Typer(no_args_is_help=True)
                app.add_typer(groups[noun], name=noun, help=f"Work with {noun}.")
            place = groups[noun]
        place.command(name, help=_help(operation), short_help=operation.summary)(_command(operation))


def show_whole_summaries(app: typer.Typer) -> None:
    """Let a list of commands show the whole first line of each help: typer cuts it after 45 characters."""
    for command in app.registered_commands:
        first_line = (inspect.getdoc(command.callback) or "").partition("\n")[0]
        command.short_help = command.short_help or first_line
    for group in app.registered_groups:
        group.short_help = group.help
        if group.typer_instance is not None:
            show_whole_summaries(group.typer_instance)


def _help(operation: Operation[Any]) -> str:
    return f"{operation.description}\n\n\b\nExample:\n  {example_line(operation)}"


def example_line(operation: Operation[Any]) -> str:
    """Return the operation's example as a command line, quoted for a shell."""
    fields = _fields(operation)
    positional: list[str] = []
    options: list[str] = []
    shown = shown_names(operation.arguments)
    for name, value in operation.example.items():
        option = _flag(shown.get(name, name))
        if isinstance(value, bool):
            options.append(option if value else f"--no-{option[2:]}")
        elif _is_json(fields[name]):
            bare = _takes_text(fields[name]) and isinstance(value, str) and _is_bare_text(value)
            options += [option, value if bare else canonical.encode(value)]
        elif isinstance(value, list):
            options += [word for element in value for word in (option, element)]
        elif fields[name].is_required():
            positional.append(str(value))
        else:
            options += [option, str(value)]
    return shlex.join(["graphmem", *operation.command, *positional, *options])


def _command(operation: Operation[Any]) -> Any:
    fields = _fields(operation)
    options = {_option(info): name for name, info in fields.items() if _option(info)}
    shown = shown_names(operation.arguments)

    def command(context: typer.Context, as_json: bool, **values: Any) -> None:
        session = current(context)
        as_json = as_json or session.as_json
        with telling_errors(as_json, _place(operation, shown, values)):
            hidden = {name: values.pop(f"{name}{_HIDDEN}") for name in shown}
            raw = _arguments({**fields, **{option: fields[name] for option, name in options.items()}}, values)
            raw = {shown.get(name, name): value for name, value in raw.items()}
            raw |= {name: value for name, value in hidden.items() if value is not None}
            if not as_json:
                raw = {**operation.people, **raw}
            body = session.run(operation, raw)
            answer = canonical.decode(body)
            if as_json:
                sys.stdout.write(body.decode() + "\n")
            else:
                show(console, operation.name, answer)
            if answer.get("healthy") is False:
                # A script reads the result of a check from the exit code.
                raise typer.Exit(1)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [_parameter(name, shown.get(name, name), info) for name, info in fields.items()]
    parameters += [_hidden_option(name) for name in shown]
    parameters += [_keyword(option, _spelled_option(name, option), None) for option, name in options.items()]
    if any(_is_json(info) for info in fields.values()):
        file = typer.Option(
            "--file", "-f", metavar="FILE", help="Read the arguments from a JSON file; - reads stdin."
        )
        parameters.append(_keyword(_FILE, Annotated[str | None, file], None))
    flag = typer.Option("--json", help="Print JSON.")
    parameters.append(_keyword("as_json", Annotated[bool, flag], False))
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010
    return command


def _fields(operation: Operation[Any]) -> dict[str, FieldInfo]:
    """Return the arguments, those of ``filters`` beside the others."""
    inner = nested_filters(operation.arguments)
    fields = dict(operation.arguments.model_fields)
    if inner is not None:
        fields = {**inner.model_fields, **{n: i for n, i in fields.items() if n != "filters"}}
    return fields


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _hidden_option(name: str) -> inspect.Parameter:
    """Return the option of an argument's own name, which is taken beside the shown one."""
    option = typer.Option(_flag(name), hidden=True)
    return _keyword(f"{name}{_HIDDEN}", Annotated[str | None, option], None)


def _parameter(name: str, shown: str, info: FieldInfo) -> inspect.Parameter:
    option = _flag(shown)
    text = info.description or _inner_description(info)
    if info.annotation is bool:
        return _keyword(
            name, Annotated[bool | None, typer.Option(f"{option}/--no-{option[2:]}", help=text)], None
        )
    if info.is_required() and not _is_json(info):
        if _option(info):
            return _keyword(name, Annotated[str | None, typer.Argument(help=text)], None)
        return _keyword(name, Annotated[str, typer.Argument(help=text)], inspect.Parameter.empty)
    if _is_list(info):
        return _keyword(name, Annotated[list[str] | None, typer.Option(option, help=text)], None)
    metavar = "JSON" if _is_json(info) else None
    if _takes_text(info):
        text, metavar = f"{text} {TEXT_HELP}", "TEXT|JSON"
    return _keyword(name, Annotated[str | None, typer.Option(option, metavar=metavar, help=text)], None)


def _option(info: FieldInfo) -> str:
    """Return the option that the command line takes beside a positional argument, or an empty text."""
    return next((mark.option for mark in info.metadata if isinstance(mark, Spelled)), "")


def _spelled_option(name: str, option: str) -> Any:
    return Annotated[str | None, typer.Option(f"--{option}", help=f"The same as {name.upper()}.")]


def _inner_description(info: FieldInfo) -> str | None:
    """Return the description of a type inside a union, such as ``EntityType | None``."""
    marks = (mark for kind in get_args(info.annotation) for mark in getattr(kind, "__metadata__", ()))
    texts = (mark.description for mark in marks if isinstance(mark, FieldInfo) and mark.description)
    return next(texts, None)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _is_list(info: FieldInfo) -> bool:
    """Whether an argument is a list of texts."""
    return get_origin(info.annotation) is list and not _is_json(info)


def _is_json(info: FieldInfo) -> bool:
    """Whether an argument takes objects or any JSON value."""
    kinds = [info.annotation, *get_args(info.annotation)]
    return any(
        kind is Any or get_origin(kind) is dict or (isinstance(kind, type) and hasattr(kind, "model_fields"))
        for kind in kinds
    )


def _takes_text(info: FieldInfo) -> bool:
    """Whether an argument takes any JSON value, and therefore a text without quotes too."""
    return info.annotation is Any


def _is_bare_text(text: str) -> bool:
    """Whether a text cannot be meant as JSON, so that it stands for itself."""
    if not text.strip() or text == "-" or text.startswith("@") or _LOOKS_LIKE_JSON.match(text):
        return False
    try:
        canonical.decode(text.encode(errors="surrogatepass"))
    except ValueError:
        return True
    return False


def _place(operation: Operation[Any], shown: Mapping[str, str], values: Mapping[str, Any]) -> Place:
    """Return a function that names the option or the argument of a path such as ``$.filters.limit``.

    What stands in ``--file`` keeps its name: it has no option on this command line.
    """
    fields = _fields(operation)
    positional = {name for name, info in fields.items() if info.is_required() and not _is_json(info)}
    in_options = {name for name, value in values.items() if value not in (None, [])}
    has_file = values.get(_FILE) is not None

    def place(path: str) -> str:
        match = re.match(r"\$\.(?:filters\.)?(\w+)", path)
        if match is None:
            return path.removeprefix("$")
        name, rest = match[1], path[match.end() :]
        own = next((field for field, other in shown.items() if other == name), name)
        if own in positional or own not in fields or (has_file and own not in in_options):
            return f"{name}{rest}"
        return f"{_flag(shown.get(own, own))}{rest}"

    return place


def _arguments(fields: dict[str, FieldInfo], values: dict[str, Any]) -> dict[str, Any]:
    file = values.pop(_FILE, None)
    raw: dict[str, Any] = {} if file is None else read_request(_bytes(file), file)
    for name, value in values.items():
        if value is None or value == []:
            continue
        if _is_json(fields[name]):
            raw[name] = _json(name, value, fields[name])
        elif _is_list(fields[name]):
            raw[name] = [part.strip() for text in value for part in text.split(",") if part.strip()]
        else:
            raw[name] = value
    return raw


def _json(name: str, text: str, info: FieldInfo) -> Any:
    """Return the value of an option that takes JSON.

    Raises:
        InvalidJson: it is not JSON, and the option takes no text or the text begins as JSON does.
    """
    if _takes_text(info) and _is_bare_text(text):
        return text
    from_file = text.startswith("@") or text == "-"
    data = _bytes(text.removeprefix("@")) if from_file else text.encode(errors="surrogatepass")
    try:
        return canonical.decode(data)
    except ValueError as exc:
        begins = "begins as JSON and is" if _takes_text(info) and text.strip() and not from_file else "is"
        message = f"{_flag(name)} {begins} not valid JSON: {exc}"
        if _takes_text(info):
            message += "; a text that begins like this goes into quotes: '\"[like this\"'"
        raise InvalidJson(message, reason=str(exc)[:200]) from None


def _bytes(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be read: {exc.strerror}", file=file) from None
