"""``graphmem hook``: what agents call by themselves, at a start, at a prompt and at the end of a turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import typer

from graphmem.cli.agents.hook_call import FILE
from graphmem.cli.agents.hook_events import run
from graphmem.cli.agents.hook_folders import approve, nearest, rules_of
from graphmem.cli.agents.hook_transport import Reach
from graphmem.cli.session import Session
from graphmem.errors import FileMissing, InvalidInput


def hook(
    session: Session, event: Literal["session-start", "prompt", "stop", "approve"],
    agent: str = "claude-code", errors: bool = False, yes: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    if event != "approve":
        options: dict[str, Any] = {
            name: str(value) for name, value in session.overrides.items() if name != "offline"
        }
        reach = Reach(agent, account=session.account, **options)
        sys.stdout.write(run(event, reach, sys.stdin.buffer.read(), tell_errors=errors))
        return None

    path = nearest(Path.cwd())
    if path is None:
        raise FileMissing(f"there is no {FILE} in {Path.cwd()} or above it")
    if fault := rules_of(path.parent).fault:
        raise InvalidInput(fault)
    if not yes:
        sys.stderr.write(f"{path}\n\n{path.read_text(errors='replace')}\n")
        typer.confirm("Approve this?", abort=True, err=True)
    approve(path)
    return {"approved": str(path)}
