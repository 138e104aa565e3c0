"""The server itself: is it there, what is it, how much does it hold."""

from __future__ import annotations

from typing_extensions import TypedDict

from graphmem import __version__
from graphmem.arguments import Arguments
from graphmem.model import state_hash
from graphmem.reading import answers
from graphmem.registry import Context, Face, Scope, operation


class Nothing(Arguments):
    """What operations without arguments take."""


class Health(TypedDict):
    """A sign of life: the process answers, and so does its database."""

    ok: bool
    version: str


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
    """Say whether the service and its database answer; 503 where the database does not."""
    await context.services.graph.verify()
    return {"ok": True, "version": __version__}


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
    base = settings.told_url()
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
