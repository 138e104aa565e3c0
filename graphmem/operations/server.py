"""The server itself: its health, its description, its contents, and the check of its snapshots."""

import base64
import hmac
import json
import zlib
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem import __version__
from graphmem.arguments import Nothing
from graphmem.auth.shared_account import ACCOUNT_NAME, SandboxState
from graphmem.budgets import Budgeted, Sized
from graphmem.checking.stretch import Report
from graphmem.context import Context, Services
from graphmem.database.left_out import Json
from graphmem.errors import DatabaseUnavailable
from graphmem.model import times
from graphmem.model.attribution import described
from graphmem.model.state_hash import EMPTY
from graphmem.reading import answers
from graphmem.reading.cursors import refused
from graphmem.reading.pages import Indexed
from graphmem.reading.snapshot_check import audit_within
from graphmem.registry import Scope, operation
from graphmem.sandbox import terms
from graphmem.sandbox.reports import keyed_hash
from graphmem.search.search_copies import SearchCopies


class Health(TypedDict):
    """The process answers. ``database`` says whether its database did, at most a second ago.

    ``search_ready`` is false while it reads entities into memory, for which searches of their owner wait.
    """

    ok: bool
    version: str
    database: Literal["up", "down"]
    search_ready: bool


@operation("server.health", Scope.READ)
async def health(context: Context, arguments: Nothing) -> Health:
    """Say that the process lives, and whether its database answers.

    The answer is 200 while the process lives, with or without a database. `/health/ready` answers whether
    the service can serve requests.
    """
    return _health(context, "down" if await context.services.availability.error() else "up")


@operation("server.ready", Scope.READ)
async def ready(context: Context, arguments: Nothing) -> Health:
    """Say whether the service can answer requests; 503 while its database does not answer or is starting.

    A database that has just started plans the first statements for some seconds. A request is answered then
    as well, but it waits for that. A public sandbox is ready once its world is stored.
    """
    error = await context.services.availability.error()
    if error:
        raise type(error)(str(error), **error.details)
    if not context.services.database.planning.planned.is_set():
        raise DatabaseUnavailable("the database has just started and plans its first statements")
    if context.services.settings.sandbox:
        reads = context.services.database.reads(None)
        state = await reads.one("sandbox.state", SandboxState, name=ACCOUNT_NAME)
        if state is None or not state.is_seeded:
            raise DatabaseUnavailable("the example world of the sandbox is being stored")
    return _health(context, "up")


def _health(context: Context, database: Literal["up", "down"]) -> Health:
    unread = context.services.of(SearchCopies).unread()
    return {"ok": True, "version": __version__, "database": database, "search_ready": not unread}


class ServerInfo(TypedDict):
    """The server's name, version, mode and addresses.

    ``neo4j_browser_url`` is the address of the Neo4j Browser of the embedded database, for callers of a
    service that only this machine reaches; otherwise null. The login is in `graphmem db info`.

    A sealed instance says what it encrypts. A public sandbox says when all its data is wiped next, and in the
    last day before that a notice of it.
    """

    name: str
    version: str
    environment: str
    api_base: str
    mcp_url: str
    openapi_url: str
    authentication: str
    sandbox: bool
    neo4j_browser_url: str | None
    sealed: NotRequired[list[str]]
    sandbox_next_reset_at: NotRequired[str]
    sandbox_notice: NotRequired[str | None]


@operation("server.info", Scope.READ)
async def info(context: Context, arguments: Nothing) -> ServerInfo:
    """Return the server's version and mode, and the addresses of its REST API, MCP and OpenAPI document."""
    settings = context.services.settings
    base = settings.advertised_url()
    # Whether only this machine reaches the service: the Browser listens to this machine alone.
    is_reached_elsewhere = settings.public_url or settings.base_url or settings.sandbox
    is_local = settings.is_local_only and not is_reached_elsewhere
    answer: ServerInfo = {
        "name": "graphmem",
        "version": __version__,
        "environment": settings.env,
        "api_base": base,
        "mcp_url": f"{base}/mcp",
        "openapi_url": f"{base}/openapi.yaml",
        "authentication": "none" if await _is_open(context.services) else "bearer",
        "sandbox": settings.sandbox,
        "neo4j_browser_url": context.services.database.browser_url or None if is_local else None,
    }
    if context.services.keys is not None:
        values = ["values"] if context.services.database.is_sealed else []
        answer["sealed"] = ["files", "backups", *values]
    if settings.sandbox:
        now = times.now()
        answer["sandbox_next_reset_at"] = times.render(terms.next_wipe_time(now))
        answer["sandbox_notice"] = terms.notice(now)
    return answer


async def _is_open(services: Services) -> bool:
    """Return whether callers over TCP need no credential, by the last answer of the database."""
    if services.settings.may_be_open and await services.availability.error() is None:
        return await services.guard.is_open(services.settings)
    return services.settings.may_be_open and not services.guard.was_guarded


class CountStats(Sized):
    pass


class WriterTotal(answers.Writer):
    """Who wrote, as provenance names it, as a person reads it, and how many transactions."""

    written_by: str
    transactions: int


class Stats(Indexed, Budgeted):
    """Counts of the owner's data. ``sequence`` counts the transactions of this database.

    ``state_hash`` is a hash of the state of all entities and relationships: equal states have equal hashes,
    in whatever order or batches they were stored. It is null for data that is older than the hash. It
    includes a change of schema once ``types_pending`` no longer names the type. ``semantic_pending`` counts
    entities that a search by meaning does not find yet, ``search_pending`` those that are still to be read
    into memory, for which searches wait. ``writers`` are the 100 with the most transactions.
    """

    total_entities: int
    total_observations: int
    total_relationships: int
    total_events: int
    total_interpretations: int
    sources_count: int
    entities_by_type: dict[str, int]
    observations_by_type: dict[str, int]
    relationships_by_type: dict[str, int]
    sequence: int
    state_hash: str | None
    types_pending: list[str]
    semantic_pending: int
    search_pending: int
    last_updated: str | None
    writers: list[WriterTotal]


_OwnerStats = tuple[
    list[tuple[str, str, int, int]], int, int, str | None, list[str], int, int, int, int,
    list[tuple[str, str | None, Json | None, int]],
]  # fmt: skip
"""The row of ``owner/stats.cypher``.

The first column has of each kind (entity or relationship) and type the number of subjects and that of their
observations, the last one of each writer the agent, the client, the attribution and the transactions.
"""


@operation("server.stats", Scope.READ)
async def stats(context: Context, arguments: CountStats) -> Stats:
    """Count entities, observations and relationships by type, the events of the timeline, and who wrote."""
    (
        counts, sequence, recorded_at, state_hash, pending, semantic_pending, events, sources,
        interpretations, writers,
    ) = await context.graph.only(
        "owner.stats", _OwnerStats, empty=EMPTY, model=context.services.embedder.model
    )  # fmt: skip
    entities = [(name, total, known) for kind, name, total, known in counts if kind == "entity"]
    relationships = {str(name): total for kind, name, total, _ in counts if kind == "relationship"}
    return {
        "total_entities": sum(total for _, total, _ in entities),
        "total_observations": sum(observations for *_, observations in entities),
        "total_relationships": sum(relationships.values()),
        "total_events": events,
        "total_interpretations": interpretations,
        "sources_count": sources,
        "entities_by_type": {str(name): total for name, total, _ in entities},
        "observations_by_type": {str(name): observations for name, _, observations in entities},
        "relationships_by_type": relationships,
        "sequence": sequence,
        "state_hash": state_hash,
        "types_pending": pending,
        "semantic_pending": semantic_pending,
        "search_pending": context.services.of(SearchCopies).unread(context.actor.owner),
        "last_updated": answers.when(recorded_at or None),
        "writers": [
            {
                **answers.writer(agent, client, by),
                "written_by": described(by, client),
                "transactions": transactions,
            }
            for agent, client, by, transactions in writers
        ],
    }


OF_FACTS: Final = """\
auto_fix repairs what is derived, and no damaged fact. Restore a backup from before the damage into an empty \
database; or delete the nodes of the damaged facts in Neo4j, and check once more with auto_fix"""
CHECK_SECONDS: Final = 10.0  # seconds after which a check answers what it found so far


class CheckSnapshots(Sized):
    auto_fix: bool = False
    cursor: Annotated[str, Field(max_length=200_000)] | None = None


class Difference(TypedDict):
    """One part of a snapshot whose stored value differs from the value that the observations give."""

    what: str
    stored: Any
    derived: Any


class StaleSnapshot(TypedDict):
    """The differences of one entity, relationship or counter; ``id`` names it."""

    id: str
    differences: list[Difference]


class SnapshotHealth(Budgeted):
    """The result of a check, or of its beginning.

    ``checked`` counts entities and relationships, ``stale`` those that differ from their observations; the
    first 200 of them are listed. ``counts_compared`` is false if something was written during the check:
    counters and the state hash were then not compared. After 10 seconds ``next_cursor`` stands where the
    check goes on, and ``total`` says how much there is. Numbers then count from the beginning of the check;
    the list is of this answer alone, and ``healthy`` is false until all is checked.
    """

    healthy: bool
    message: str
    checked: int
    unchecked: int
    stale: int
    fixed: int
    counts_compared: bool
    stale_snapshots: list[StaleSnapshot]
    total: NotRequired[int]
    next_cursor: NotRequired[str]


@operation("server.check_snapshots", Scope.WRITE)
async def check_snapshots(context: Context, arguments: CheckSnapshots) -> SnapshotHealth:
    """Derive every snapshot again from its observations, and compare it with the stored one.

    Names, identifiers, liveness, edges, counters and the state hash are compared too. `auto_fix` repairs what
    differs and changes no observation. Writes may go on during the check. One check of an owner runs at a
    time. After 10 seconds it answers what it found so far, with a `next_cursor`.
    """
    state = await _state(context, arguments, arguments.cursor) if arguments.cursor else None
    report, total, state = await audit_within(context, CHECK_SECONDS, state, fix=arguments.auto_fix)
    health = health_of(report)
    if state is not None:
        health["healthy"], health["counts_compared"] = False, False
        health["message"] = f"{report.checked} of {total} are checked so far: next_cursor goes on"
        health["total"] = total
        # Repairs rely on what the state counts, so it is signed.
        packed = base64.urlsafe_b64encode(zlib.compress(json.dumps(state).encode())).decode()
        health["next_cursor"] = f"{packed}.{await _signature(context, arguments, packed)}"
    return health


async def _state(context: Context, arguments: CheckSnapshots, cursor: str) -> dict[str, Any]:
    packed, _, signature = cursor.partition(".")
    expected = await _signature(context, arguments, packed)
    if not hmac.compare_digest(signature.encode(errors="surrogatepass"), expected.encode()):
        raise refused()
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(packed)))


async def _signature(context: Context, arguments: CheckSnapshots, packed: str) -> str:
    text = f"check {arguments.auto_fix} {context.actor.owner} {packed}"
    return await keyed_hash(context.services.database.writes(None), text)


def health_of(report: Report) -> SnapshotHealth:
    left = report.stale_count - report.fixed
    if report.unchecked:
        message = (
            f"{report.unchecked} changed during every attempt to check them: check again when less is written"
        )
    elif not report.stale_count:
        message = "all snapshots match their observations"
    elif left:
        message = f"{left} of {report.checked} differ from their observations: auto_fix repairs them"
        if any(each.is_fact for differences in report.stale.values() for each in differences):
            message = f"{left} differ or are damaged: {OF_FACTS}"
    else:
        message = f"{report.fixed} differed from their observations and were repaired"
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
                    {"what": each.what, "stored": each.stored, "derived": each.derived}
                    for each in differences
                ],
            }
            for subject_id, differences in report.stale.items()
        ],
    }
