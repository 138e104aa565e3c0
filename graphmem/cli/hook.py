"""``graphmem hook``: what agents call by themselves, at a start, at a prompt and at the end of a turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graphmem.cli.agents.hook_events import run
from graphmem.cli.agents.hook_folders import FILE, approve, nearest
from graphmem.cli.agents.hook_transport import Reach
from graphmem.cli.session import Session
from graphmem.errors import FileMissing


def hook(
    session: Session,
    event: Annotated[
        Literal["session-start", "prompt", "stop", "approve"], typer.Argument(help="What happens.")
    ],
    agent: Annotated[
        str, typer.Option(help="The agent that calls: it decides the form of input and output.")
    ] = "claude-code",
    errors: Annotated[bool, typer.Option("--errors", help="Print on stderr why nothing came.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve without a question.")] = False,
) -> dict[str, Any] | None:
    """Let an agent look and store by itself: its hooks call this, as `graphmem setup --hooks` writes them.

    session-start tells it what is due, what is known of what the folder is about, and what changed lately.
    prompt tells it what is known of those whom a prompt names, and nothing where it names nobody. stop stores
    the prompt and the answer as messages, each once, and without what looks like a secret. They read on stdin
    what the agent gives, and call a service that runs. If something fails or takes too long, they print
    nothing, and the exit code is 0.

    approve lets .graphmem.toml of this folder, as it is now, say which account and address are used here and
    what the folder is about. A repository may bring such a file, so it asks. What only takes something away
    holds without an approval.

    \b
    Examples:
      echo '{"prompt": "Write to Ada Lovelace"}' | graphmem hook prompt --errors
      graphmem hook approve
    """
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
    if not yes:
        sys.stderr.write(f"{path}\n\n{path.read_text(errors='replace')}\n")
        typer.confirm("Approve this?", abort=True, err=True)
    approve(path)
    return {"approved": str(path)}
