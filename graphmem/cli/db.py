"""``graphmem db``: the embedded Neo4j."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console

from graphmem.cli.session import Session, console, current, fetching, run_async, telling_errors
from graphmem.cli.tables import pairs
from graphmem.errors import ConfigurationInvalid
from graphmem.settings import Settings

app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def _embedded(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.neo4j_uri is not None:
        raise ConfigurationInvalid(
            f"NEO4J_URI is set to {chosen.neo4j_uri}: that server is not started or stopped here",
            setting="NEO4J_URI",
        )
    return chosen


def show(answer: dict[str, Any], as_json: bool, to: Console = console) -> None:
    """Print an answer: JSON for programs, a table for people."""
    if as_json:
        sys.stdout.write(orjson.dumps(answer, default=str).decode() + "\n")
    else:
        to.print(pairs({name: str(v) if v is not None else None for name, v in answer.items()}))


@app.command()
def start(context: typer.Context, as_json: Json = False) -> None:
    """Start the embedded Neo4j if it is not up, migrate it, and say where it is.

    \b
    Example:
      graphmem db start
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import neo4j_local
        from graphmem.runtime import open_services

        chosen = _embedded(session)
        session.log_to_file(chosen)

        async def ready() -> None:
            async with open_services(chosen, fetching()):
                pass

        run_async(ready())
        show(asdict(neo4j_local.status(chosen)), as_json or session.as_json)


@app.command()
def stop(context: typer.Context, as_json: Json = False) -> None:
    """Stop the embedded Neo4j; the data stays.

    A service that is up answers 503 and leaves it stopped, until `graphmem db start` or any other command
    that needs the database here starts it.

    \b
    Example:
      graphmem db stop
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import neo4j_local

        stopped = neo4j_local.stop(_embedded(session), on_purpose=True)
        said = "stopped" if stopped else "it was not running"
        show({"stopped": stopped, "message": said}, as_json or session.as_json)


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Say whether the embedded Neo4j is up, where, and how much memory and disk it takes.

    \b
    Example:
      graphmem db status --json
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import neo4j_local

        show(asdict(neo4j_local.status(_embedded(session))), as_json or session.as_json)


@app.command()
def info(context: typer.Context, as_json: Json = False) -> None:
    """Show the login of the Neo4j Browser and of other clients.

    \b
    Example:
      graphmem db info
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import neo4j_local

        show(asdict(neo4j_local.info(_embedded(session))), as_json or session.as_json)


@app.command()
def logs(
    context: typer.Context,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=1, max=10_000, help="How many of the last lines.")
    ] = 50,
) -> None:
    """Print the last lines of the embedded Neo4j's own log.

    \b
    Example:
      graphmem db logs -n 20
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem import neo4j_local

        for line in neo4j_local.logs(_embedded(session), lines):
            sys.stdout.write(line + "\n")
