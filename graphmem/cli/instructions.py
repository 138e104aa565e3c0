"""``graphmem instructions``: the lines that tell an agent when to look and when to store."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmem.cli.agents.told_changes import changed, chosen_agents, told
from graphmem.cli.session import Session, command
from graphmem.cli.setup import Word

if TYPE_CHECKING:
    from graphmem.cli.agents.agent_table import AgentFile

app = typer.Typer(no_args_is_help=True)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[AGENT]...", help="Agents by name. Default: those that are installed."),
]
Where = Annotated[
    Word, typer.Option(help="The files of the project in this directory, or your own for all projects.")
]


@command(app)
def check(session: Session, agents: Names = None, scope: Where = "project") -> None:
    """Say which agents have the lines in their files, and whether they are those of this version.

    The exit code is 1 if one lacks them or has others.

    \b
    Example:
      graphmem instructions check
    """
    rows = []
    for name, file in _files(agents, scope):
        text = file.path.read_bytes().decode(errors="replace") if file.path.is_file() else ""
        found = file.edits[0].found(text)
        state = "as asked" if found == file.edits[0].value else "outdated" if found else "not there"
        rows.append({"agent": name, "file": str(file.path), "result": state})
    told(session, rows)
    if any(row["result"] != "as asked" for row in rows):
        raise typer.Exit(1)


@command(app)
def install(
    session: Session,
    agents: Names = None,
    scope: Where = "project",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the lines out again.")] = False,
) -> None:
    """Write the lines into CLAUDE.md, AGENTS.md, .cursor/rules and the like, between two markers.

    What else is in a file stays. Lines that an earlier version wrote are replaced where they stand.

    \b
    Examples:
      graphmem instructions install
      graphmem instructions install claude-code codex --scope user
      graphmem instructions install --undo
    """
    rows = [changed(name, file, dry_run, undo) for name, file in _files(agents, scope)]
    told(session, rows)
    if any(row["result"] == "refused" for row in rows):
        raise typer.Exit(1)


@command(app, "print")
def print_lines(session: Session) -> dict[str, Any] | None:
    """Print the lines, for an agent whose file graphmem does not know.

    \b
    Example:
      graphmem instructions print >> AGENTS.md
    """
    from graphmem.cli.agents.agent_table import TEXT
    from graphmem.cli.agents.markdown_block import MarkdownBlock

    block = MarkdownBlock(TEXT.read_text("utf-8")).value
    if session.as_json:
        return {"instructions": block}
    sys.stdout.write(block)
    return None


def _files(names: Sequence[str] | None, scope: Word) -> Iterator[tuple[str, AgentFile]]:
    """Yield the files of the agents, each once: several agents read AGENTS.md."""
    seen = set()
    for agent in chosen_agents(names or ()):
        file = agent.instructions(scope, Path.home() if scope == "user" else Path.cwd())
        if file is not None and file.path not in seen:
            seen.add(file.path)
            yield agent.name, file
