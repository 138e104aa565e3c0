"""``graphmem db``: the embedded Neo4j."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphmem.cli.session import Session, console, current, fetching, run_async, telling_errors
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from graphmem.settings import Settings

app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _embedded(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.neo4j_uri is not None:
        raise ConfigurationInvalid(
            f"NEO4J_URI is set to {chosen.neo4j_address}: `graphmem db` manages the embedded Neo4j only",
            setting="NEO4J_URI",
        )
    return chosen


def show(answer: dict[str, Any], as_json: bool, to: Console = console) -> None:
    """Print an answer: JSON for programs, a table for people."""
    if as_json:
        text = json.dumps(answer, default=str, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.write(text + "\n")
    else:
        from graphmem.cli.tables import pairs

        to.print(pairs({name: str(v) if v is not None else None for name, v in answer.items()}))


@app.command()
def start(context: typer.Context, as_json: Json = False) -> None:
    """Start the embedded Neo4j, migrate its schema, and print its addresses.

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
    """Stop the embedded Neo4j. The data stays.

    The local service is stopped first. A running `graphmem serve` answers 503 until `graphmem db start`, or
    another command that needs the database, starts it again.

    \b
    Example:
      graphmem db stop
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import neo4j_local
        from graphmem.service.calling import stop as stop_service

        chosen = _embedded(session)
        stop_service(chosen)
        pid = neo4j_local.running(chosen)
        stopped = neo4j_local.stop(chosen, on_purpose=True)
        process = f" (process {pid})" if pid else ""
        message = (
            f"stopped the Neo4j{process} of {chosen.data_path}; its data stays"
            if stopped
            else f"no Neo4j was running for {chosen.data_path}"
        )
        show({"stopped": stopped, "message": message}, as_json or session.as_json)


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show whether the embedded Neo4j runs, its addresses, and its memory and disk.

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
    """Show the address, user and password for the Neo4j Browser and other clients.

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
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="Number of lines.")] = 50,
) -> None:
    """Print the last lines of the log of the embedded Neo4j.

    \b
    Example:
      graphmem db logs -n 20
    """
    session = current(context)
    with telling_errors(session.as_json):
        from graphmem import neo4j_local

        for line in neo4j_local.logs(_embedded(session), lines):
            sys.stdout.write(line + "\n")
