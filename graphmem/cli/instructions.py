"""``graphmem instructions``: the lines that tell an agent when to look and when to store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graphmem.cli.agents.agent_table import TEXT, AgentFile
from graphmem.cli.agents.config_files import MarkdownBlock
from graphmem.cli.agents.file_changes import change_file, chosen_agents, print_files
from graphmem.cli.session import Draw, Session
from graphmem.cli.setup import Agents, DryRun, Word


def instructions(
    session: Session,
    action: Annotated[Literal["check", "install", "print"], typer.Argument(help="What to do.")],
    agents: Agents = None,
    scope: Annotated[
        Word, typer.Option(help="The files of the project in this directory, or your own for all projects.")
    ] = "project",
    dry_run: DryRun = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the lines out again.")] = False,
) -> tuple[dict[str, Any], Draw] | None:
    """Tell agents when to look and when to store, in CLAUDE.md, AGENTS.md, .cursor/rules and the like.

    install writes the lines between two markers. What else is in a file stays. Lines that an earlier version
    wrote are replaced where they stand. check says which agents have the lines of this version; the exit code
    is 1 if one has others or none. print prints them, for an agent whose file graphmem does not know.

    \b
    Examples:
      graphmem instructions check
      graphmem instructions install claude-code codex --scope user
      graphmem instructions install --undo
      graphmem instructions print >> AGENTS.md
    """
    if action == "print":
        block = MarkdownBlock(TEXT.read_text("utf-8")).value
        return {"instructions": block}, lambda: print(block, end="")
    files = _files(agents or (), scope)
    if action == "check":
        rows = [{"agent": name, "file": str(file.path), "result": _state(file)} for name, file in files]
    else:
        rows = [change_file(name, file, dry_run, undo) for name, file in files]
    print_files(session, rows)
    if any(row["result"] in ("refused", "outdated", "missing") for row in rows):
        raise typer.Exit(1)
    return None


def _state(file: AgentFile) -> str:
    text = file.path.read_bytes().decode(errors="replace") if file.path.is_file() else ""
    block = file.edits[0].value_in(text)
    return "as asked" if block == file.edits[0].value else "outdated" if block else "missing"


def _files(names: Sequence[str], scope: Word) -> Iterator[tuple[str, AgentFile]]:
    """Yield the files of the agents, each once: several agents read AGENTS.md."""
    seen = set()
    for agent in chosen_agents(names):
        file = agent.instructions(scope, Path.home() if scope == "user" else Path.cwd())
        if file is not None and file.path not in seen:
            seen.add(file.path)
            yield agent.name, file
