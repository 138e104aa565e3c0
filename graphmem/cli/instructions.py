"""``graphmem instructions``: the lines that tell an agent when to look and when to store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import typer

from graphmem.cli.agents.agent_table import TEXT, AgentFile, SetupScope
from graphmem.cli.agents.config_files import MarkdownBlock
from graphmem.cli.agents.file_changes import change_file, chosen_agents, print_files
from graphmem.cli.session import Draw, Session


def instructions(
    session: Session, action: Literal["check", "install", "print"], agents: list[str] | None = None,
    scope: SetupScope = "project", dry_run: bool = False, undo: bool = False,
) -> tuple[dict[str, Any], Draw] | None:  # fmt: skip
    if action == "print":
        block = MarkdownBlock(TEXT.read_text("utf-8")).value
        return {"instructions": block}, lambda: print(block, end="")
    files = list(_files(agents or (), scope))
    if action == "check":
        # An agent reads its file of the user in every project as well.
        own = dict(_files(agents or (), "user"))
        kept = {name: own.get(name) for name, file in files if _state(file) == "missing"}
        files = [
            (name, each if (each := kept.get(name)) and _state(each) != "missing" else file)
            for name, file in files
        ]
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


def _files(names: Sequence[str], scope: SetupScope) -> Iterator[tuple[str, AgentFile]]:
    """Yield the files of the agents, each once: several agents read AGENTS.md."""
    seen = set()
    for agent in chosen_agents(names):
        file = agent.instructions(scope, Path.home() if scope == "user" else Path.cwd())
        if file is not None and file.path not in seen:
            seen.add(file.path)
            yield agent.name, file
