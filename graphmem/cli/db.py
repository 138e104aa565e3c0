"""``graphmem db``: the embedded Neo4j."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from graphmem.cli.session import Session, command
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from graphmem.settings import Settings

app = typer.Typer(no_args_is_help=True)


def _embedded(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.neo4j_uri is not None:
        raise ConfigurationInvalid(
            f"NEO4J_URI is set to {chosen.neo4j_address}: `graphmem db` manages the embedded Neo4j only",
            setting="NEO4J_URI",
        )
    return chosen


@command(app)
def start(session: Session) -> dict[str, Any]:
    """Start the embedded Neo4j, migrate its schema, and print its addresses.

    \b
    Example:
      graphmem db start
    """
    from graphmem import neo4j_local
    from graphmem.cli.in_process import nothing, on_services

    chosen = _embedded(session)
    session.log_to_file(chosen)
    on_services(chosen, nothing)
    return neo4j_local.status(chosen)._asdict()


@command(app)
def stop(session: Session) -> dict[str, Any]:
    """Stop the embedded Neo4j. The data stays.

    The local service, or `serve --detach`, is stopped first. Another `graphmem serve` answers 503 until
    `graphmem db start`, or another command that needs the database, starts it again.

    \b
    Example:
      graphmem db stop
    """
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
    return {"stopped": stopped, "message": message}


@command(app)
def status(session: Session) -> dict[str, Any]:
    """Show whether the embedded Neo4j runs, its addresses, and its memory and disk.

    \b
    Example:
      graphmem db status --json
    """
    from graphmem import neo4j_local

    return neo4j_local.status(_embedded(session))._asdict()


@command(app)
def info(session: Session) -> dict[str, Any]:
    """Show the address, user and password for the Neo4j Browser and other clients.

    \b
    Example:
      graphmem db info
    """
    from graphmem import neo4j_local

    return asdict(neo4j_local.info(_embedded(session)))
