"""``graphmem db``: the embedded Neo4j."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphmem.cli.session import Session
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from graphmem.settings import Settings


def _embedded(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.neo4j_uri is not None:
        raise ConfigurationInvalid(
            f"NEO4J_URI is set to {chosen.neo4j_address}: `graphmem db` manages the embedded Neo4j only",
            setting="NEO4J_URI",
        )
    return chosen


def start(session: Session) -> dict[str, Any]:
    from graphmem import neo4j_local
    from graphmem.cli.in_process import open_database

    chosen = _embedded(session)
    session.log_to_file(chosen)
    open_database(chosen)
    return neo4j_local.status(chosen)._asdict()


def stop(session: Session) -> dict[str, Any]:
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


def status(session: Session) -> dict[str, Any]:
    from graphmem import neo4j_local

    return neo4j_local.status(_embedded(session))._asdict()


def info(session: Session) -> dict[str, Any]:
    from graphmem import neo4j_local

    return asdict(neo4j_local.info(_embedded(session)))
