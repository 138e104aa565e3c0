"""The commands of README, docs/ and --help, as lines that a shell would run."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from graphmem.registry import REGISTRY, Face
from tests.contract.command_list import example_line
from tests.contract.snapshots import ROOT
from tests.contract.test_docs import ASSIGNMENT, PAGES, blocks, commands

EXAMPLES: Final = re.compile(r"^Examples?[^\n]*:\n(.*)", re.DOTALL | re.MULTILINE)


class Line(NamedTuple):
    """A command, with the variables before it, and what a shell would do with its input and output."""

    where: str
    words: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()
    stdin: str = ""
    stdin_file: str = ""

    @property
    def text(self) -> str:
        return shlex.join(self.words)


def lines() -> list[Line]:
    """Return each line once, in the order of the pages, then of the commands."""
    return list({(line.words, line.environ, line.stdin_file): line for line in map(_line, _words())}.values())


def _words() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "sh":
                for words in commands(block.text):
                    yield page.name, words
    helps = tomllib.loads((ROOT / "graphmem/cli/command_help.toml").read_text("utf-8"))
    for name, entry in helps.items():
        shown = EXAMPLES.search(entry.get("help", "")) if isinstance(entry, dict) else None
        for line in shown[1].splitlines() if shown else ():
            if "graphmem" in line and not line.strip().startswith("{"):
                yield f"{name} --help", shlex.split(line)
    for operation in REGISTRY.values():
        if Face.CLI in operation.faces:
            yield f"{operation.name} --help", shlex.split(example_line(operation))


def _line(place: tuple[str, list[str]]) -> Line:
    where, words = place
    stdin = stdin_file = ""
    if words[0] == "echo":
        stdin, words = words[1], words[3:]
    if "<" in words:
        stdin_file, words = words[words.index("<") + 1], words[: words.index("<")]
    words = list(takewhile(lambda word: word not in ("|", ">>"), words))
    assigned = list(takewhile(ASSIGNMENT.fullmatch, words))
    environ = tuple((name, value) for name, _, value in (word.partition("=") for word in assigned))
    return Line(where, tuple(words[len(assigned) :]), environ, stdin, stdin_file)
