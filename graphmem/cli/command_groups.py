"""The commands. Of each, a line of help is known; its module is imported when somebody calls it."""

from __future__ import annotations

import contextlib
import inspect
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from graphmem import tables
from graphmem.cli.commands import AS_JSON, flag, listed, operation_command
from graphmem.cli.session import current, show, tell_error, telling_errors
from graphmem.errors import InvalidInput, validation_message

# Typer exports no name of it: the class of all faults of a command line, above that of a wrong value.
UsageError: type[Exception] = cast("type[Exception]", typer.BadParameter.__mro__[1])
SIMILARITY: Final = 0.8  # least similarity of a word with one of the table, from 0 to 1
PROPOSALS_LIMIT: Final = 3


def proposals(word: str, group: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the command lines that a word may mean which is no command.

    Args:
        group: the words of the group in which it was looked for; none for ``graphmem`` itself.
        known: the commands of the group.
    """
    table, word = tables.read("cli/synonyms"), word.lower()
    commands: dict[str, list[str]] = table["commands"]
    if len(group) == 1 and any(group[0] in words for words in commands.values()):
        # The group has a word that stands for another command too: `update Ada` means an entity.
        group, word = (), group[0]
    lines = [line for line in table["verbs"]["lines"] if word in line] if group else []
    inner = [" ".join(("graphmem", *group, name)) for line in lines for name in line if name in known]
    if inner or group not in ((), ("entities",)):
        return inner
    if not any(word in words for words in commands.values()):
        every = [known_word for words in commands.values() for known_word in words]
        # A sentence is a question; of a slip of the pen typer says which command is near.
        near = ["ask"] if " " in word else get_close_matches(word, every, 1, SIMILARITY)
        word = "" if get_close_matches(word, known) else next(iter(near), "")
    return [line for line, words in commands.items() if word in words][:PROPOSALS_LIMIT]


def _instead(exc: Any, root: TyperGroup, line: Sequence[str]) -> str:
    """Return what to do in place of a line of another service, or of an option that a command lacks."""
    table = tables.read("cli/synonyms")
    written = f" {' '.join(line)} "
    if not hasattr(exc, "option_name"):
        texts = [text for words, text in table["lines"].items() if f" {words} " in written]
        return f" (use {texts[0]})" if texts else ""
    name: str = exc.option_name
    known = getattr(exc.ctx.command, "instead", {}) if exc.ctx else {}
    text = known.get(name.lstrip("-").removeprefix("no-").replace("-", "_")) or table["options"].get(name)
    if text:
        return f" ({text})"
    is_of_root = any(name in parameter.opts for parameter in root.params)
    return f" (it stands before the command: graphmem {name} …)" if is_of_root else ""


class OwnCommand(NamedTuple):
    """A command that is no operation, as ``command_table.toml`` has it."""

    place: str
    summary: str
    has_json: bool = True

    def made(self, words: Sequence[str]) -> Any:
        """Import the module of the command that ``words`` call, and return the command."""
        module, _, name = self.place.partition(".")
        function = getattr(import_module(f"graphmem.cli.{module}"), name)
        row = command_help(" ".join(words))
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        # Typer cuts the first line of a help after 45 characters.
        register = single.command(words[-1], help=_help(self.summary, row), short_help=self.summary)
        register(_running(function, row, has_json=self.has_json))
        return typer.main.get_command(single)


def command_help(words: str) -> Mapping[str, Any]:
    """Return the row of a command in ``command_help.toml``."""
    return tables.read("cli/command_help").get(words, {})


def _help(summary: str, row: Mapping[str, Any]) -> str:
    """Return the help of a command. Lists in it, such as examples, are marked so that no line is wrapped."""
    paragraphs = [summary, *row.get("help", "").strip().split("\n\n")]
    return "\n\n".join(f"\b\n{text}" if "\n  " in text else text for text in paragraphs)


def _running(function: Callable[..., Any], row: Mapping[str, Any], *, has_json: bool) -> Callable[..., None]:
    """Return a command that prints the answer or the error of ``function``; see :func:`session.show`.

    ``has_json``: whether it has the option ``--json``, which the session takes over.
    """

    def run(context: typer.Context, as_json: bool = False, **values: Any) -> None:
        session = current(context)
        session.as_json = session.as_json or as_json
        with telling_errors(session.as_json):
            answer = function(session, **values)
            if answer is not None:
                answer, draw = answer if isinstance(answer, tuple) else (answer, None)
                show(answer, session.as_json, draw)

    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    parameters = [inspect.Parameter("context", keyword, annotation=typer.Context)]
    parameters += [each.replace(kind=keyword, annotation=_described(each, row)) for each in own]
    if has_json:
        parameters.append(inspect.Parameter("as_json", keyword, annotation=AS_JSON, default=False))
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010
    return run


def _described(parameter: inspect.Parameter, row: Mapping[str, Any]) -> Any:
    """Return the annotation of a parameter with the texts of its row. A flag has no `--no-` form."""
    for kind, info in (("arguments", typer.Argument), ("options", typer.Option)):
        if (text := row.get(kind, {}).get(parameter.name)) is not None:
            about = dict(text) if isinstance(text, dict) else {"help": text}
            names = about.pop("flags", [flag(parameter.name)] if parameter.default is False else [])
            # A path is not checked here: to open the file reports what is wrong with it.
            return Annotated[parameter.annotation, info(*names, readable=False, **about)]
    return parameter.annotation


def own_commands() -> Mapping[str, OwnCommand]:
    """Return the commands that are no operations, by their words."""
    return {words: OwnCommand(**row) for words, row in tables.read("cli/command_table")["commands"].items()}


def groups() -> Mapping[str, str]:
    """Return what the commands of each group do, by the words of the group."""
    return tables.read("cli/command_table")["groups"]


SHORT: Mapping[str, tuple[str, ...]] = {
    "ask": ("context",), "search": ("entities", "search"), "receipts": ("receipts", "list"),
}  # fmt: skip
"""Short words for commands. What follows ``search`` may also be a command of the group of that name."""
_BARE: Final = frozenset({"receipts"})  # those that need nothing behind them


class _Commands(dict[str, Any]):
    """The commands of a group; each is made when it is asked for. Until then a group is its summary."""

    def __init__(self, group: tuple[str, ...]) -> None:
        entries = {words[-1]: entry for words, entry in listed().items() if words[:-1] == group}
        own, inner = (_within(group, rows) for rows in (own_commands(), groups()))
        short = {name: listed()[words] for name, words in SHORT.items() if not group and name not in inner}
        super().__init__({**own, **entries, **short, **inner})
        self._group = group

    def __getitem__(self, name: str) -> Any:
        value, words = super().__getitem__(name), (*self._group, name)
        if isinstance(value, dict):
            value = self[name] = operation_command(name, value)
        elif isinstance(value, OwnCommand):
            value = self[name] = value.made(words)
        elif isinstance(value, str):
            texts: dict[str, Any] = {"name": name, "help": value, "short_help": value}
            value = self[name] = group_of(*words)(**texts, no_args_is_help=True, rich_markup_mode=None)
        return value

    def summary(self, name: str) -> str:
        """Return the first line of the help of a command, which need not be made for it."""
        value = super().__getitem__(name)
        if isinstance(value, dict):
            return value["summary"]
        return value.summary if isinstance(value, OwnCommand) else value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def _within(group: tuple[str, ...], rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a group's own members, by their last words."""
    words_of = {tuple(words.split()): row for words, row in rows.items()}
    return {words[-1]: row for words, row in words_of.items() if words[:-1] == group}


def group_of(*words: str) -> type[TyperGroup]:
    """Return the class of a group whose commands begin with ``words``."""

    class Group(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands: Any = _Commands(words)
            self._lists = False

        def list_commands(self, ctx: Any) -> list[str]:
            return [*self.commands]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if self._lists and cmd_name in self.commands:
                return TyperCommand(cmd_name, short_help=self.commands.summary(cmd_name))
            return self.commands.get(cmd_name)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with self._listing():
                super().format_commands(ctx, formatter)

        def shell_complete(self, ctx: Any, incomplete: str) -> Any:
            with self._listing():
                return super().shell_complete(ctx, incomplete)

        @contextlib.contextmanager
        def _listing(self) -> Iterator[None]:
            """Tell names and summaries of the commands, and make none."""
            self._lists = True
            try:
                yield
            finally:
                self._lists = False

        def make_context(self, info_name: str | None, args: list[str], *values: Any, **options: Any) -> Any:
            self._line = list(args)
            with self._refusals():
                return super().make_context(info_name, args, *values, **options)

        def invoke(self, ctx: Any) -> Any:
            with self._refusals():
                return super().invoke(ctx)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            inner = self.commands.get(args[0]) if args[0] in SHORT and not words else None
            follows = args[1:2] or ["--help"] * (args[0] not in _BARE)
            if isinstance(inner, TyperGroup) and not {*follows} & {*inner.commands, "--help"}:
                return args[0], operation_command(args[0], listed()[SHORT[args[0]]]), args[1:]
            try:
                return super().resolve_command(ctx, args)
            except UsageError as exc:
                # Typer names those that are spelled like it.
                if lines := " or ".join(f"`{line}`" for line in proposals(args[0], words, [*self.commands])):
                    vars(exc)["message"] = f"No such command {args[0]!r}: {lines}"
                raise

        @contextlib.contextmanager
        def _refusals(self) -> Iterator[None]:
            """Tell what is wrong with the command line; the outermost group tells it of every group."""
            try:
                yield
            except UsageError as exc:
                error: Any = exc
                if isinstance(exc, typer.BadParameter):
                    error.message = validation_message(error.message)
                if not words:
                    error.message += _instead(error, self, self._line)
                    if "--json" in self._line and type(exc).__name__ != "NoArgsIsHelpError":
                        tell_error(InvalidInput(error.format_message()), secrets.token_hex(16), as_json=True)
                raise

    return Group
