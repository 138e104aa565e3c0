"""The server itself: is it there, what is it, how much does it hold."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from graphmem import __version__
from graphmem.arguments import Arguments
from graphmem.checking.audit import Report
from graphmem.model import state_hash
from graphmem.reading import answers
from graphmem.reading.snapshot_check import audit
from graphmem.registry import Context, Face, Scope, operation


class Nothing(Arguments):
    """What operations without arguments take."""


class Health(TypedDict):
    """The process answers. ``database`` says whether its database did, at most a second ago."""

    ok: bool
    version: str
    database: Literal["up", "down"]


@operation(
    "server.health",
    "GET /health",
    command="health",
    scope=Scope.READ,
    faces=Face.REST | Face.CLI,
    reason="an MCP client has ping",
    public=True,
)
async def health(context: Context, arguments: Nothing) -> Health:
    """Say that the process lives, and whether its database answers.

    The answer is 200 while the process lives, with or without a database. Whether the service can answer
    requests is said by `/health/ready`.
    """
    error = await context.services.availability.error()
    return {"ok": True, "version": __version__, "database": "down" if error else "up"}


@operation(
    "server.ready",
    "GET /health/ready",
    command="ready",
    scope=Scope.READ,
    faces=Face.REST | Face.CLI,
    reason="an MCP client has ping",
    public=True,
)
async def ready(context: Context, arguments: Nothing) -> Health:
    """Say whether the service can answer requests; 503 while its database does not answer."""
    error = await context.services.availability.error()
    if error:
        raise type(error)(str(error), **error.details)
    return {"ok": True, "version": __version__, "database": "up"}


class ServerInfo(TypedDict):
    """What this server is and where its faces are."""

    name: str
    version: str
    environment: str
    api_base: str
    mcp_url: str
    openapi_url: str
    authentication: str
    sandbox: bool


@operation(
    "server.info",
    "GET /server-info",
    tool="get_server_info",
    command="info",
    scope=Scope.READ,
    public=True,
)
async def info(context: Context, arguments: Nothing) -> ServerInfo:
    """Say what this server is, its version and where its faces are."""
    settings = context.services.settings
    base = settings.advertised_url()
    return {
        "name": "graphmem",
        "version": __version__,
        "environment": settings.env,
        "api_base": base,
        "mcp_url": f"{base}/mcp",
        "openapi_url": f"{base}/openapi.yaml",
        "authentication": "bearer" if settings.bearer_token else "none",
        "sandbox": settings.sandbox,
    }


class Stats(TypedDict):
    """How much of what the owner has. ``sequence`` counts the transactions of this database.

    ``state_hash`` stands for what all entities and relationships come to: equal hashes, equal state,
    whatever order, batches or merges that were undone led to it. It is null for data of before there was
    one, and takes in a change of schema once ``types_pending`` no longer names the type.
    ``semantic_pending`` counts entities that are not yet found by meaning.
    """

    total_entities: int
    total_observations: int
    total_relationships: int
    total_events: int
    entities_by_type: dict[str, int]
    observations_by_type: dict[str, int]
    relationships_by_type: dict[str, int]
    sequence: int
    state_hash: str | None
    types_pending: list[str]
    semantic_pending: int
    last_updated: str | None


@operation("server.stats", "GET /stats", tool="get_stats", command="stats", scope=Scope.READ)
async def stats(context: Context, arguments: Nothing) -> Stats:
    """Count entities, observations and relationships, by type, and the events of the timeline."""
    row = await context.graph.one(
        "owner.stats", empty=state_hash.EMPTY, model=context.services.embedder.model
    )
    assert row is not None
    entities = [count for count in row["counts"] if count[0] == "entity"]
    edges = [count for count in row["counts"] if count[0] == "relationship"]
    return {
        "total_entities": sum(count[2] for count in entities),
        "total_observations": sum(count[3] for count in entities),
        "total_relationships": sum(count[2] for count in edges),
        "total_events": row["events"],
        "entities_by_type": {count[1]: count[2] for count in entities},
        "observations_by_type": {count[1]: count[3] for count in entities},
        "relationships_by_type": {count[1]: count[2] for count in edges},
        "sequence": row["sequence"],
        "state_hash": row["state_hash"],
        "types_pending": row["pending"],
        "semantic_pending": row["semantic_pending"],
        "last_updated": answers.when(row["recorded_at"] or None),
    }


class CheckSnapshots(Arguments):
    """What ``server.check_snapshots`` takes."""

    auto_fix: bool = Field(default=False, description="Whether to set right what is not as observed.")


class Difference(TypedDict):
    """One part that is kept otherwise than the observations say."""

    what: str
    stored: Any
    derived: Any


class StaleSnapshot(TypedDict):
    """What is not right of one entity, relationship or counter, named by ``id``."""

    id: str
    differences: list[Difference]


class SnapshotHealth(TypedDict):
    """What a check found.

    ``checked`` counts entities and relationships, ``stale`` those that are not as observed; the first 200
    of them are told. ``counts_compared`` is false where something was written during the check: counters
    and the state hash are then left for another time.
    """

    healthy: bool
    message: str
    checked: int
    unchecked: int
    stale: int
    fixed: int
    counts_compared: bool
    stale_snapshots: list[StaleSnapshot]


@operation(
    "server.check_snapshots",
    "POST /health_check_snapshots",
    tool="health_check_snapshots",
    command="snapshots check",
    scope=Scope.WRITE,
    sandbox=False,
)
async def check_snapshots(context: Context, arguments: CheckSnapshots) -> SnapshotHealth:
    """Derive every snapshot again from its observations, and compare it with the one that is kept.

    Names, identifiers, liveness, edges, counters and the state hash are compared as well. `auto_fix` sets
    right what differs; nothing that was observed is ever changed. Writes may go on meanwhile.
    """
    report = await audit(context, fix=arguments.auto_fix)
    return told(report)


def told(report: Report) -> SnapshotHealth:
    """Return the answer for a report."""
    left = report.stale_count - report.fixed
    if report.unchecked:
        message = f"{report.unchecked} changed whenever they were looked at: check again when less is written"
    elif not report.stale_count:
        message = "everything is as observed"
    elif left:
        message = f"{left} of {report.checked} are not as observed: auto_fix sets them right"
    else:
        message = f"{report.fixed} were not as observed and have been set right"
    return {
        "healthy": not left and not report.unchecked,
        "message": message,
        "checked": report.checked,
        "unchecked": report.unchecked,
        "stale": report.stale_count,
        "fixed": report.fixed,
        "counts_compared": report.settled,
        "stale_snapshots": [
            {
                "id": subject_id,
                "differences": [
                    {"what": one.what, "stored": one.stored, "derived": one.derived} for one in differences
                ],
            }
            for subject_id, differences in report.stale.items()
        ],
    }
