"""The groups of commands: those of operations beside the others, and what is said of words that are none."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from graphmem.cli.commands import groups, listed, operation_command
from graphmem.cli.session import plain_refusals
from graphmem.cli.usage import proposing, telling_usage

GROUP_HELPS: Mapping[str, str] = {
    "agents": "Say what agents that sign may do for the account; keep what a writer writes apart.",
    "auth": "Log in at a service; say who the caller is; make API keys, and keys with which agents sign.",
    "auth connections": "List and end what programs were allowed by OAuth.",
    "auth keys": "Make, list and revoke API keys, with which programs call the service.",
    "entities": "Find, list and read entities; correct, delete, restore and merge them.",
    "interpretations": "Store what was read in a file, and list what interpreters made of files.",
    "observations": "Add an observation to an entity, and list observations.",
    "relationship-types": "List the types that a relationship may have, and register new ones.",
    "relationships": "Create, list and read relationships between entities; delete and restore them.",
    "schemas": "Read and change the schemas of entity types: their fields, and what identifies an entity.",
    "search": "`graphmem search WORDS...` is `graphmem entities search`; or explain how a search found and "
    "ordered its entities.",
    "snapshots": "Check the stored snapshots against their observations, and repair them.",
    "sources": "List and read the files that were stored.",
    "subscriptions": "Be told of what changes by webhooks; list and remove subscriptions.",
    "timeline": "List and read events: the dates in the fields of entities.",
}
"""The help of each group of commands that are operations, by the words that its commands begin with."""

SHORT: Mapping[str, tuple[str, ...]] = {"ask": ("context",), "search": ("entities", "search")}
"""Short words for commands. What follows ``search`` may also be a command of the group of that name."""


class _Commands(dict[str, Any]):
    """The commands of a group; those that are operations are made when they are asked for."""

    def __init__(self, before: Mapping[str, Any], group: tuple[str, ...], after: Mapping[str, Any]) -> None:
        entries = {words[-1]: entry for words, entry in listed().items() if words[:-1] == group}
        short = {name: listed()[words] for name, words in SHORT.items() if not group and name not in after}
        super().__init__({**before, **entries, **short, **after})

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, dict):
            value = self[name] = operation_command(name, value)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def group_of(*words: str) -> type[TyperGroup]:
    """Return the class of a group whose commands begin with ``words``."""

    class Group(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            groups = {
                name: command for name, command in self.commands.items() if isinstance(command, TyperGroup)
            }
            commands = {name: command for name, command in self.commands.items() if name not in groups}
            self.commands = _Commands(commands, words, groups)

        def make_context(self, info_name: str | None, args: list[str], *values: Any, **options: Any) -> Any:
            self._line = list(args)
            with self._refusals():
                return super().make_context(info_name, args, *values, **options)

        def invoke(self, ctx: Any) -> Any:
            with self._refusals():
                return super().invoke(ctx)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            inner = self.commands.get(args[0]) if args[0] in SHORT and not words else None
            if isinstance(inner, TyperGroup) and args[1:] and args[1] not in (*inner.commands, "--help"):
                return args[0], operation_command(args[0], listed()[SHORT[args[0]]]), args[1:]
            with proposing(args[0], words, [*self.commands]):
                return super().resolve_command(ctx, args)

        @contextlib.contextmanager
        def _refusals(self) -> Iterator[None]:
            """Tell what is wrong with the command line; the outermost group tells it of every group."""
            with telling_usage(self, self._line) if not words else contextlib.nullcontext(), plain_refusals():
                yield

    return Group


def add_commands(app: typer.Typer, own: Mapping[str, typer.Typer] | None = None) -> None:
    """Add a group for each noun of operations. ``own``: those with other commands too, by their words."""
    parents: dict[tuple[str, ...], typer.Typer] = {(): app}
    for words in groups():
        group = (own or {}).get(" ".join(words)) or typer.Typer(no_args_is_help=True)
        parents[words] = group
        name, text = words[-1], GROUP_HELPS[" ".join(words)]
        parents[words[:-1]].add_typer(group, name=name, help=text, cls=group_of(*words))


def show_whole_summaries(app: typer.Typer) -> None:
    """Let a list of commands show the whole first line of each help: typer cuts it after 45 characters."""
    for command in app.registered_commands:
        first_line = (inspect.getdoc(command.callback) or "").partition("\n")[0]
        command.short_help = command.short_help or first_line
    for group in app.registered_groups:
        group.short_help = group.help
        if group.typer_instance is not None:
            show_whole_summaries(group.typer_instance)
