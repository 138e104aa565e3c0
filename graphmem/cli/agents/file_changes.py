"""What `graphmem setup` and `graphmem instructions` do with each file, and how they tell it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphmem.cli.agents.agent_table import Agent, AgentFile, agents
from graphmem.cli.agents.config_files import FileChange, apply, plan, plan_undo
from graphmem.cli.session import Session, console, show, tell, tell_progress
from graphmem.cli.tables import List, plain
from graphmem.errors import ConfigurationInvalid, GraphmemError, InvalidInput


def chosen_agents(names: Sequence[str]) -> list[Agent]:
    """Return the agents of these names, by default those that are installed.

    Raises InvalidInput: no agent has one of the names. Raises ConfigurationInvalid: no agent is installed.
    """

    known = agents()
    if unknown := [name for name in names if name not in known]:
        message = f"{', '.join(unknown)}: no agent has this name; there are {', '.join(known)}"
        raise InvalidInput(message, issues=[{"path": "$.agents", "message": message}])
    chosen = [known[name] for name in dict.fromkeys(names)]
    chosen = chosen or [agent for agent in known.values() if agent.is_installed(Path.home())]
    if not chosen:
        raise ConfigurationInvalid(
            f"no agent was found in {Path.home()}: name one, such as `graphmem setup cursor`. There are "
            f"{', '.join(known)}"
        )
    return chosen


def change_file(name: str, file: AgentFile, dry_run: bool, undo: bool) -> dict[str, Any]:
    row = {"agent": name, "file": str(file.path)}
    try:
        change = (plan_undo if undo else plan)(file.path, file.edits)
        if not dry_run and (change.is_change or undo):
            apply(change, is_undo=undo)
    except GraphmemError as exc:
        return {**row, "result": "refused", "why": str(exc)}
    return {**row, **_result(change, dry_run, undo)}


def _result(change: FileChange, dry_run: bool, undo: bool) -> dict[str, Any]:
    if not change.is_change:
        return {"result": "not there" if undo else "as asked"}
    before, after = change.before or "", change.after or ""
    done = "taken out" if undo else "added" if len(after) > len(before) else "changed"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    diff = {"diff": "\n".join(lines)} if dry_run else {}
    return {"result": f"would be {done}" if dry_run else done, **diff}


def print_files(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    show({"agents": rows}, session.as_json, lambda: _draw(rows))


def _draw(rows: Sequence[Mapping[str, Any]]) -> None:
    more = [name for name in ("answers", "client") if any(name in row for row in rows)]
    columns = ["agent", "result", "file", *more]
    console.print(List(columns, ([str(row.get(column, "")) for column in columns] for row in rows)))
    for row in rows:
        if row.get("diff"):
            console.print(plain(f"\n{row['file']}", "bold"))
            for line in row["diff"].splitlines():
                console.print(plain(line), highlight=False)
        if row.get("why"):
            tell(f"{row['agent']}: {row['why']}", "yellow")
    if any(row["result"] in ("added", "changed", "taken out") for row in rows):
        tell_progress("Start the agents again: they read their configuration at the start.")
