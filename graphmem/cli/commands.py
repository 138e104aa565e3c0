"""Commands that are operations, made from the list of them in ``listed.json``.

A required plain argument is positional, and so is one that names what the command works on; every other
argument is an option. Values reach the operation as text, so its validation answers as on the other faces.
Lists take commas or repeated options; objects take JSON, ``@FILE`` or ``-`` for stdin. An option that takes
any JSON value takes bare text too.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from graphmem.cli import people_times
from graphmem.cli.entity_names import with_ids
from graphmem.cli.error_text import Place
from graphmem.cli.session import Session, console, current, is_terminal, telling_errors
from graphmem.errors import InvalidInput, InvalidJson

LISTED = Path(__file__).parent / "listed.json"
"""The list of commands that are operations; `make snapshots` writes it from the registry."""

AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]

TEXT_HELP = 'What cannot be JSON is taken as text: CEO is "CEO", while 7, true, null, [ and { are JSON.'
_LOOKS_LIKE_JSON = re.compile(r'\s*(?:[\[{"]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$)')
"""What begins as a list, an object or a quoted string, or is a number: never taken as bare text."""
_FILE = "from_file"
_OWN_NAME = "_own_name"
_BESIDE = "_beside"


class ValueKind(enum.StrEnum):
    """How the words of the command line become the value of an argument."""

    TEXT = "text"
    BOOLEAN = "boolean"
    LIST = "list"
    JSON = "json"
    ANY = "any"
    """Any JSON value, and therefore a text without quotes too."""
    ENTITY = "entity"
    """The id of an entity, or what names it."""
    WORDS = "words"
    """A text, as one word or as several."""
    SINCE, UNTIL = "since", "until"
    """A time, also in words, of which the first or the last moment counts."""


LISTED_DIFFERENCES = 200


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str  # the name of the argument
    shown: str  # the name under which REST and the command line describe the argument; it is sent under this
    value: ValueKind
    option: str = ""  # the option; empty for a positional argument
    is_required: bool = False
    metavar: str | None = None
    help: str = ""
    # Whether it is the hidden option of another spelling, such as the argument's own name.
    is_own_name: bool = False
    is_beside: bool = False  # whether it is an option beside the positional argument

    @property
    def keyword(self) -> str:
        suffix = _OWN_NAME if self.is_own_name else _BESIDE if self.is_beside else ""
        return f"{self.name}{suffix}"

    @property
    def is_argument(self) -> bool:
        """Whether it stands for an argument of the operation under the shown name."""
        return not self.is_own_name and not self.is_beside


@dataclass(frozen=True, slots=True)
class Listed:
    name: str  # the name of the operation
    command: tuple[str, ...]  # the words of the command
    routes: tuple[tuple[str, str], ...]  # the methods and paths of REST; the first is that of the interface
    reads: bool  # whether it only reads
    summary: str = ""
    help: str = ""
    # Arguments that the command adds when it prints a table for people.
    people: dict[str, Any] = field(default_factory=dict)
    # What to do instead, by the name of an option that other programs or earlier versions take.
    instead: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()


@cache
def listed() -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Return the list, as in its file, by the words of each command."""
    return {tuple(entry["command"]): entry for entry in json.loads(LISTED.read_text("utf-8"))}


def entry_of(name: str) -> Listed:
    return next(_listed_from(entry) for entry in listed().values() if entry["name"] == name)


def operation_command(name: str, listed_entry: Mapping[str, Any]) -> Any:
    entry = _listed_from(listed_entry)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    single.command(name, help=entry.help, short_help=entry.summary)(_function(entry))
    made = typer.main.get_command(single)
    vars(made)["instead"] = entry.instead
    return made


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _listed_from(entry: Mapping[str, Any]) -> Listed:
    parameters = (
        Parameter(**{**parameter, "value": ValueKind(parameter["value"])})
        for parameter in entry["parameters"]
    )
    words = {name: tuple(map(tuple, value)) for name, value in entry.items() if name == "routes"}
    return Listed(**{**entry, **words, "command": tuple(entry["command"]), "parameters": tuple(parameters)})


def _function(entry: Listed) -> Callable[..., None]:
    def command(context: typer.Context, as_json: bool, **values: Any) -> None:
        session = current(context)
        as_json = as_json or session.as_json
        with telling_errors(as_json, _place(entry, values)):
            raw = with_ids(session, entry, _arguments(entry, values))
            if not as_json:
                raw = {**entry.people, **raw}
            if entry.name == "keys.create":
                # The first credential ends that everybody is let in.
                from graphmem.cli.account import tell_first_credential

                tell_first_credential(session.ask("server.info", {})["authentication"] == "none")
            if entry.name == "undo" and not as_json and is_terminal() and sys.stdin.isatty():
                _print(entry, session.run(entry, {**raw, "dry_run": True}), False, ())
                if not raw.get("dry_run"):
                    typer.confirm("Undo this?", abort=True, err=True)
            if entry.name == "server.check_snapshots":
                # One call answers a part of its work after some seconds.
                body = _whole(session, entry, raw, as_json)
            else:
                body = session.run(entry, raw)
            if as_json:
                sys.stdout.write(body.decode() + "\n")
            requested = raw.get("fields")
            answer = _print(entry, body, as_json, requested if isinstance(requested, list) else ())
            if answer.get("healthy") is False:
                # A script reads the result of a check from the exit code.
                raise typer.Exit(1)

    parameters = list(_signature(entry))
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010
    return command


def _whole(session: Session, entry: Listed, raw: dict[str, Any], as_json: bool) -> bytes:
    """Run a check to its end, with a progress bar on a terminal; return its answer with all that it lists."""
    from graphmem.cli.progress import counted_items
    from graphmem.model import canonical

    answer = canonical.decode(session.run(entry, raw))
    listed = answer["stale_snapshots"]
    total = answer["total"] if "next_cursor" in answer else 0
    with counted_items("checking entities and relationships", total, as_json) as advance:
        advance(checked := answer["checked"])
        while "next_cursor" in answer:
            answer = canonical.decode(session.run(entry, {**raw, "cursor": answer["next_cursor"]}))
            advance(answer["checked"] - checked)
            checked = answer["checked"]
            listed += answer["stale_snapshots"]
    return canonical.encode({**answer, "stale_snapshots": listed[:LISTED_DIFFERENCES]}).encode()


def _print(entry: Listed, body: bytes, as_json: bool, fields: Sequence[str]) -> Mapping[str, Any]:
    """Print an answer, as a table with a column for each of ``fields`` or as JSON, and return it."""
    from graphmem.model import canonical

    answer = canonical.decode(body)
    if not as_json:
        from graphmem.cli.layouts import render

        console.print(render(entry.name, answer, fields))
    return answer


def _signature(entry: Listed) -> Iterator[inspect.Parameter]:
    yield inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    for parameter in entry.parameters:
        yield _keyword(parameter)
    if any(parameter.value in (ValueKind.JSON, ValueKind.ANY) for parameter in entry.parameters):
        text = "Read the arguments from a JSON file; - reads stdin."
        if any(parameter.name == "file_path" for parameter in entry.parameters):
            text += " A file that is no JSON is stored as it is."
        file = typer.Option("--file", "-f", metavar="FILE", help=text)
        yield inspect.Parameter(
            _FILE, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str | None, file], default=None
        )
    if not any("user_id" in (parameter.name, parameter.shown) for parameter in entry.parameters):
        own = Annotated[str | None, typer.Option("--user-id", hidden=True)]
        yield inspect.Parameter("user_id", inspect.Parameter.KEYWORD_ONLY, annotation=own, default=None)
    yield inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, annotation=AS_JSON, default=False)


def _keyword(parameter: Parameter) -> inspect.Parameter:
    text = parameter.help or None
    if not parameter.option:
        info: Any = typer.Argument(help=text)
    elif parameter.value is ValueKind.BOOLEAN:
        info = typer.Option(parameter.option, help=text)
    else:
        hidden, metavar = parameter.is_own_name, parameter.metavar
        info = typer.Option(parameter.option, metavar=metavar, help=text, hidden=hidden)
    several = list[str] | None
    kinds: dict[ValueKind, Any] = {
        ValueKind.BOOLEAN: bool | None, ValueKind.LIST: several, ValueKind.WORDS: several
    }  # fmt: skip
    plain = kinds.get(parameter.value, str | None)
    if parameter.is_beside or parameter.is_own_name:
        plain = str | None
    kind = (list[str] if plain == several else str) if parameter.is_required else plain
    return inspect.Parameter(
        parameter.keyword,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, info],
        default=inspect.Parameter.empty if parameter.is_required else None,
    )


def is_bare_text(text: str) -> bool:
    """Return whether a text cannot be meant as JSON, so that it stands for itself."""
    if not text.strip() or text == "-" or text.startswith("@") or _LOOKS_LIKE_JSON.match(text):
        return False
    from graphmem.model import canonical

    try:
        canonical.decode(text.encode(errors="surrogatepass"))
    except ValueError:
        return True
    return False


def _place(entry: Listed, values: Mapping[str, Any]) -> Place:
    """Return what names the option or argument of a path; what stands in ``--file`` keeps its name."""
    arguments = {parameter.shown: parameter for parameter in entry.parameters if parameter.is_argument}
    own_names = {parameter.name: parameter for parameter in arguments.values()}
    in_options = {name for name, value in values.items() if value not in (None, [])}
    beside = {part.shown for part in entry.parameters if part.is_beside and part.keyword in in_options}
    has_file = values.get(_FILE) is not None

    def place(path: str) -> str:
        match = re.match(r"\$\.(?:filters\.)?(\w+)", path)
        if match is None:
            return path.removeprefix("$")
        name, rest = match[1], path[match.end() :]
        parameter = arguments.get(name) or own_names.get(name)
        is_from_file = has_file and parameter is not None and parameter.name not in in_options
        if name not in beside and (parameter is None or not parameter.option or is_from_file):
            return f"{name}{rest}"
        return f"{flag(parameter.shown if parameter else name)}{rest}"

    return place


def _arguments(entry: Listed, values: dict[str, Any]) -> dict[str, Any]:
    file = values.pop(_FILE, None)
    for parameter in entry.parameters:
        words = values[parameter.keyword]
        if parameter.value is ValueKind.WORDS and not isinstance(words, str):
            values[parameter.keyword] = " ".join(words) if words else None
    raw = {} if file is None else _from_file(entry, file)
    # Clients of another service give that of the caller itself, which asks for nothing.
    if (user_id := values.pop("user_id", None)) is not None:
        raw["user_id"] = user_id
    parameters = sorted(entry.parameters, key=lambda parameter: parameter.is_own_name)
    names = {parameter.name: parameter.shown for parameter in parameters if parameter.is_argument}
    raw = {names.get(name, name): value for name, value in raw.items()}
    for parameter in parameters:
        value = values[parameter.keyword]
        is_twice = parameter.is_beside and values.get(parameter.name) not in (None, value)
        # An option replaces what a file of arguments has, but not a file that is to be stored.
        is_twice |= parameter.name == "file_path" and file is not None and raw == {"file_path": file}
        if value is not None and is_twice:
            message = f"{parameter.shown} is given twice, with different values"
            raise InvalidInput.at(f"$.{parameter.shown}", message)
        if value is not None and value != []:
            raw[parameter.shown] = _read(parameter, value)
    return raw


def _from_file(entry: Listed, file: str) -> dict[str, Any]:
    """Return the arguments that a file holds; for an operation that takes files, a file that is no JSON."""
    from graphmem.ingest.own_files import OPERATIONS, is_request

    if entry.name in OPERATIONS and file != "-" and not is_request(file):
        return {"file_path": file}
    from graphmem.ingest.own_files import read_request

    return read_request(_bytes(file), file)


def _read(parameter: Parameter, value: Any) -> Any:
    if parameter.value in (ValueKind.JSON, ValueKind.ANY):
        return _json(parameter, value)
    if parameter.value in (ValueKind.SINCE, ValueKind.UNTIL):
        return people_times.iso(value, f"$.{parameter.shown}", is_end=parameter.value is ValueKind.UNTIL)
    if parameter.value is ValueKind.LIST:
        return [part.strip() for text in value for part in text.split(",") if part.strip()]
    return value


def _json(parameter: Parameter, text: str) -> Any:
    takes_text = parameter.value is ValueKind.ANY
    if takes_text and is_bare_text(text):
        return text
    from graphmem.model import canonical

    from_file = text.startswith("@") or text == "-"
    data = _bytes(text.removeprefix("@")) if from_file else text.encode(errors="surrogatepass")
    try:
        return canonical.decode(data)
    except ValueError as exc:
        begins = "begins as JSON and is" if takes_text and text.strip() and not from_file else "is"
        message = f"{flag(parameter.name)} {begins} not valid JSON: {exc}"
        if takes_text:
            message += "; a text that begins like this goes into quotes: '\"[like this\"'"
        raise InvalidJson(message, reason=str(exc)[:200]) from None


def _bytes(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be read: {exc.strerror}", file=file) from None
