"""Command lines that are none: which command a word may mean, and the envelope of such a fault."""

from __future__ import annotations

import contextlib
import secrets
import tomllib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from graphmem.cli.session import tell_error
from graphmem.errors import InvalidInput

# Typer exports no name of it: the class of all faults of a command line, above that of a wrong value.
UsageError: type[Exception] = cast("type[Exception]", typer.BadParameter.__mro__[1])
SYNONYMS = Path(__file__).parent / "synonyms.toml"
"""Words that people type in place of a command."""
SIMILARITY: Final = 0.8
"""Least similarity of a word with one of the table, from 0 to 1."""
PROPOSALS_LIMIT: Final = 3


def proposals(word: str, group: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the command lines that a word may mean which is no command.

    Args:
        group: the words of the group in which it was looked for; none for ``graphmem`` itself.
        known: the commands of the group.
    """
    table, word = tomllib.loads(SYNONYMS.read_text("utf-8")), word.lower()
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


@contextlib.contextmanager
def proposing(word: str, group: Sequence[str], known: Sequence[str]) -> Iterator[None]:
    """Name the commands that a word may mean which is none. Typer names those that are spelled like it."""
    try:
        yield
    except UsageError as exc:
        if lines := proposals(word, group, known):
            vars(exc)["message"] = f"No such command {word!r}: {' or '.join(f'`{line}`' for line in lines)}"
        raise


@contextlib.contextmanager
def telling_usage(root: TyperGroup, words: Sequence[str]) -> Iterator[None]:
    """Say what to do in place of an option that a command lacks; with ``--json``, answer in the envelope."""
    try:
        yield
    except UsageError as exc:
        error: Any = exc
        if text := _instead(error, root):
            error.message += text
        if "--json" in words and type(exc).__name__ != "NoArgsIsHelpError":
            tell_error(InvalidInput(error.format_message()), secrets.token_hex(16), as_json=True)
        raise


def _instead(exc: Any, root: TyperGroup) -> str:
    """Return what to do in place of an option that a command lacks, or an empty text."""
    if not hasattr(exc, "possibilities"):
        return ""
    name: str = exc.option_name
    known = getattr(exc.ctx.command, "instead", {}) if exc.ctx else {}
    if text := known.get(name.lstrip("-").removeprefix("no-").replace("-", "_")):
        return f" ({text})"
    is_of_root = any(name in parameter.opts for parameter in root.params)
    return f" (it stands before the command: graphmem {name} …)" if is_of_root else ""
