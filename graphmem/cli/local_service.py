"""``graphmem server``: the local service, which holds the database for commands and MCP clients."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from graphmem.cli.db import show
from graphmem.cli.session import current, tell_progress, telling_errors

app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_SHOWN = (
    "pid", "version", "state", "doing", "database", "socket", "started_at", "idle_seconds",
    "requests", "serves",
)  # fmt: skip


def _row(greeting: Any) -> dict[str, Any]:
    if greeting is None:
        return {"running": False}
    return {"running": True} | {name: greeting.get(name) for name in _SHOWN}


@app.command()
def start(context: typer.Context, as_json: Json = False) -> None:
    """Start the local service of the data directory, detached, and wait until it is ready.

    Commands and `graphmem mcp` start it by themselves. It ends after `GRAPHMEM_SERVICE_IDLE_SECONDS` without
    a request.

    \b
    Example:
      graphmem server start
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem.service.calling import ensure

        show(_row(ensure(session.settings(), tell_progress)), as_json or session.as_json)


@app.command()
def stop(context: typer.Context, as_json: Json = False) -> None:
    """Stop the local service after its running requests. The database stays up.

    \b
    Example:
      graphmem server stop
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem.service.calling import stop as stop_service
        from graphmem.service.place import is_locked, place

        settings = session.settings()
        where = place(settings)
        record = where.record()
        stopped = stop_service(settings)
        process = f"(process {record.get('pid')}) of {settings.data_path}"
        if stopped:
            message = f"stopped the local service {process}; its database stays up"
        elif "serves" in record and is_locked(where):
            message = f"`graphmem serve` {process} runs on: stop it where it was started"
        else:
            message = f"no local service was running for {settings.data_path}"
        show({"stopped": stopped, "message": message}, as_json or session.as_json)


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show whether the local service runs, its version, database and socket.

    \b
    Example:
      graphmem server status --json
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem.service.calling import greet
        from graphmem.service.place import place

        show(_row(greet(place(session.settings()))), as_json or session.as_json)


@app.command()
def logs(
    context: typer.Context,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="Number of lines.")] = 50,
) -> None:
    """Print the last lines of the log, then those that the local service wrote to its console.

    \b
    Example:
      graphmem server logs -n 20
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem.neo4j_local.private_files import tail, used_as_data
        from graphmem.observability.logs import FILE
        from graphmem.service.place import place

        settings = session.settings()
        with used_as_data(settings.data_path):
            log_lines = tail(settings.data_path / "logs" / FILE, lines)
            console_lines = tail(place(settings).console, lines)
        for line in [*log_lines, *console_lines][-lines:]:
            sys.stdout.write(line + "\n")
