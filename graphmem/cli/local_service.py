"""``graphmem server``: the local service, which holds the database for commands and MCP clients."""

from __future__ import annotations

from typing import Any

import typer

from graphmem.cli.session import Session, command, tell_progress

app = typer.Typer(no_args_is_help=True)

_SHOWN = (
    "pid", "version", "state", "doing", "database", "socket", "started_at", "idle_seconds",
    "requests", "serves",
)  # fmt: skip


def row(greeting: Any) -> dict[str, Any]:
    """Return what is shown of a service, by its greeting; None: there is none."""
    if greeting is None:
        return {"running": False}
    return {"running": True} | {name: greeting.get(name) for name in _SHOWN}


@command(app)
def start(session: Session) -> dict[str, Any]:
    """Start the local service of the data directory, detached, and wait until it is ready.

    Commands and `graphmem mcp` start it by themselves. It ends after `GRAPHMEM_SERVICE_IDLE_SECONDS` without
    a request.

    \b
    Example:
      graphmem server start
    """
    from graphmem.service.calling import ensure

    return row(ensure(session.settings(), tell_progress))


@command(app)
def stop(session: Session) -> dict[str, Any]:
    """Stop the local service, or `serve --detach`, after its running requests. The database stays up.

    \b
    Example:
      graphmem server stop
    """
    from graphmem.service.calling import stop as stop_service
    from graphmem.service.place import is_locked, place

    settings = session.settings()
    where = place(settings)
    record = where.record()
    stopped = stop_service(settings)
    process = f"(process {record.get('pid')}) of {settings.data_path}"
    kind = "`graphmem serve`" if "serves" in record else "the local service"
    if stopped:
        message = f"stopped {kind} {process}; its database stays up"
    elif "serves" in record and is_locked(where):
        message = f"`graphmem serve` {process} runs on: stop it where it was started"
    else:
        message = f"no local service was running for {settings.data_path}"
    return {"stopped": stopped, "message": message}


@command(app)
def status(session: Session) -> dict[str, Any]:
    """Show whether the local service runs, its version, database and socket.

    \b
    Example:
      graphmem server status --json
    """
    from graphmem.service.calling import greet
    from graphmem.service.place import place

    return row(greet(place(session.settings())))
