"""``graphmem hook``: what agents call by themselves, at a start, at a prompt and at the end of a turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from graphmem.cli.session import Session, command
from graphmem.errors import FileMissing

app = typer.Typer(no_args_is_help=True)

Agent = Annotated[str, typer.Option(help="The agent that calls: it decides the form of input and output.")]
Errors = Annotated[bool, typer.Option("--errors", help="Print on stderr why nothing came.")]


def _run(session: Session, kind: str, agent: str, errors: bool) -> None:
    from graphmem.cli.agents.hook_events import run
    from graphmem.cli.agents.hook_transport import Reach

    options = {name: str(value) for name, value in session.overrides.items() if name != "offline"}
    reach = Reach(agent, account=session.account, **options)
    sys.stdout.write(run(kind, reach, sys.stdin.buffer.read(), tell_errors=errors))


@command(app, "session-start", has_json=False)
def session_start(session: Session, agent: Agent = "claude-code", errors: Errors = False) -> None:
    """Tell an agent what is due, and what is known of what the folder is about.

    Reads what the agent's hook gives on stdin. Like the other hooks it calls a service that runs, starts
    none, and prints nothing where something fails or takes too long; the exit code is 0 then too.

    \b
    Example:
      echo '{"cwd": "."}' | graphmem hook session-start
    """
    _run(session, "session-start", agent, errors)


@command(app, "prompt", has_json=False)
def prompt(session: Session, agent: Agent = "claude-code", errors: Errors = False) -> None:
    """Tell an agent what is known of those whom a prompt names; nothing where it names nobody.

    \b
    Example:
      echo '{"prompt": "Write to Ada Lovelace"}' | graphmem hook prompt
    """
    _run(session, "prompt", agent, errors)


@command(app, "stop", has_json=False)
def stop(session: Session, agent: Agent = "claude-code", errors: Errors = False) -> None:
    """Store the prompt and the answer of a turn as messages, each once and without what looks like a secret.

    \b
    Example:
      graphmem hook stop --agent codex < input.json
    """
    _run(session, "stop", agent, errors)


@command(app)
def approve(
    session: Session,
    folder: Annotated[Path, typer.Argument(help="A folder.")] = Path("."),
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> dict[str, Any]:
    """Approve the .graphmem.toml of a folder, as it is now: its account, its address and what it is about.

    A repository may bring such a file. What only takes something away, off, types and redact, holds without
    an approval. After a change the file has to be approved again.

    \b
    Example:
      graphmem hook approve
    """
    from graphmem.cli.agents.hook_folders import FILE, approve, nearest

    path = nearest(folder)
    if path is None:
        raise FileMissing(f"there is no {FILE} in {folder.resolve()} or above it")
    if not yes:
        sys.stderr.write(f"{path}\n\n{path.read_text(errors='replace')}\n")
        typer.confirm("Approve this?", abort=True, err=True)
    approve(path)
    return {"approved": str(path)}
