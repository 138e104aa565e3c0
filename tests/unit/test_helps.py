"""The ``--help`` of every command, at the width of a plain terminal."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from graphmem import tables
from graphmem.cli.command_groups import SHORT, command_help, groups, own_commands
from graphmem.cli.commands import listed
from graphmem.cli.main import app
from tests.support.walks import walk_over


def every_command(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command and group with the words that call it."""
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, (*words, name))


COMMANDS = dict(every_command(typer.main.get_command(app)))


@functools.cache
def shown_help(words: tuple[str, ...]) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def letters(text: str) -> str:
    """Return a text without white space: where lines end is the terminal's affair."""
    return re.sub(r"[\s\x08]+", "", text)


@walk_over("words", COMMANDS)
def test_each_example_stands_on_a_line_of_its_own(words: tuple[str, ...]) -> None:
    _, _, examples = inspect.cleandoc(COMMANDS[words].help or "").partition("\b\n")
    printed = [line.strip() for line in shown_help(words).splitlines()]
    for line in examples.splitlines():
        assert line.strip() in printed


@walk_over("words", COMMANDS)
def test_a_help_loses_no_words(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    shown = letters(shown_help(words))
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    options = [option for option in command.params if not getattr(option, "hidden", False)]
    summaries = [inner.short_help or "" for inner in getattr(command, "commands", {}).values()]
    for text in [*paragraphs, *(option.help or "" for option in options), *summaries]:
        assert letters(text) in shown
    for name in [name for option in options if option.opts[0].startswith("-") for name in option.opts]:
        assert name in shown


def test_each_group_says_in_a_sentence_what_its_commands_do() -> None:
    nouns = {" ".join(words[:count]) for words in listed() for count in range(1, len(words))}
    with_own = {" ".join(words.split()[:-1]) for words in own_commands()}
    assert set(groups()) == nouns | with_own - {""}
    for noun in nouns:
        words, sentence = tuple(noun.split()), groups()[noun]
        assert letters(sentence) in letters(shown_help(words[:-1]))
        assert letters(sentence) in letters(shown_help(words))


@walk_over("words", own_commands())
def test_the_table_describes_each_parameter_of_a_command(words: str) -> None:
    row, params = command_help(words), COMMANDS[tuple(words.split())].params
    described = row.get("arguments", {}) | row.get("options", {})
    names = {each.name for each in params} - {"help", "as_json"}
    # The command has the option of `graphmem` itself too.
    assert names - {"account" if words == "mcp" else ""} == set(described)
    assert all(
        text if isinstance(text, str) else text.get("help", text.get("hidden")) for text in described.values()
    )


@walk_over("words", COMMANDS)
def test_a_command_whose_help_names_json_has_the_option(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    has_option = any("--json" in option.opts for option in command.params)
    assert has_option or not re.search(r"graphmem .*--json", command.help or ""), command.help


@walk_over("words", COMMANDS)
def test_no_line_of_a_help_is_broken_after_one_word(words: tuple[str, ...]) -> None:
    for paragraph in inspect.cleandoc(COMMANDS[words].help or "").partition("\b\n")[0].split("\n\n"):
        assert not re.search(r"^\w+$(?=\n)", paragraph, re.MULTILINE), paragraph


def test_what_replaces_a_line_of_another_service_is_a_command() -> None:
    table = tables.read("cli/synonyms")
    known = dict(every_command(typer.main.get_command(app)))
    for said in (*table["lines"].values(), *table["options"].values()):
        for line in re.findall(r"`graphmem ([^`]*)`", said):
            words = [word for word in line.split() if word.islower() and not word.startswith("-")]
            longest = next(words[:count] for count in (3, 2, 1, 0) if tuple(words[:count]) in known)
            is_group = hasattr(known[tuple(longest)], "commands")
            assert not words or words[0] in SHORT or not is_group, line
    # A line that is a command is never refused.
    assert {tuple(line.split()) for line in table["lines"]} & known.keys() == {("watch",)}
