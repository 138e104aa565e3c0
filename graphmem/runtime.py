"""Where things are wired together: from settings to the services that operations share."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator

import structlog

from graphmem import neo4j_local, operations
from graphmem.database import failpoints, migrations
from graphmem.database.availability import Availability
from graphmem.database.driver import Database, OnNotification, has_fallen, wait_until_up
from graphmem.database.type_aliases import TypeAliases
from graphmem.database.vocabulary import Vocabulary
from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.remote import RemoteEmbedder
from graphmem.errors import DatabaseUnavailable, GraphmemError, SetupError
from graphmem.neo4j_local import Connection, Progress
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.registry import REGISTRY, Services
from graphmem.settings import Settings
from graphmem.writing import Writers

_log = structlog.get_logger("graphmem.runtime")

assert REGISTRY, operations

WATCH_SECONDS = 1.0
"""How often a service looks whether its embedded database is up."""

ROOM = 64_000_000
"""Bytes that must be free before a database that fell is started again."""

REMOTE_PATIENCE = 30.0
"""Seconds that a database at ``NEO4J_URI`` may take to answer when graphmem starts."""


@contextlib.asynccontextmanager
async def open_services(
    settings: Settings,
    progress: Progress | None = None,
    on_notification: OnNotification | None = None,
    tracer: Tracer = NO_TRACES,
) -> AsyncIterator[Services]:
    """Open what operations need: the database (started if it is the embedded one), migrated and online.

    Raises:
        SetupError: a setting, the data directory, the engine or the database's schema does not fit.
        DatabaseUnavailable: the database at ``NEO4J_URI`` does not answer.
    """
    failpoints.arm(settings)
    where = await connection(settings, progress)
    database = Database(where, settings, Metrics(), tracer, on_notification)
    try:
        if settings.neo4j_uri is not None:
            await wait_until_up(database, REMOTE_PATIENCE)
        await migrations.apply(database)
        async with services_over(database, settings) as services:
            yield services
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def services_over(database: Database, settings: Settings) -> AsyncIterator[Services]:
    """Open what operations need over a database as it is: nothing is started, migrated or written."""
    vocabulary = Vocabulary(database, settings)
    embedder = RemoteEmbedder(settings, database.tracer) if settings.embedding_url else LocalEmbedder()
    writers = Writers(database, settings, embedder)
    database.metrics.waiting.set_function(writers.waiting)
    availability = Availability(database)
    try:
        yield Services(database, availability, vocabulary, TypeAliases(database), writers, settings, embedder)
    finally:
        await availability.close()
        await writers.close()
        if isinstance(embedder, RemoteEmbedder):
            await embedder.close()


async def connection(
    settings: Settings, progress: Progress | None = None, *, asked: bool = True
) -> Connection:
    """Return where the database is; the embedded one is started if it is not up.

    One that was stopped on purpose is started only where somebody ``asked`` for it.

    Raises:
        SetupError: it cannot be started.
    """
    if settings.neo4j_uri is not None:
        return Connection(
            uri=settings.neo4j_uri,
            username=settings.neo4j_username,
            password=settings.neo4j_password.get_secret_value(),
            browser_url="",
            database=settings.neo4j_database,
        )
    return await asyncio.to_thread(neo4j_local.ensure, settings, _probe(settings), progress, asked=asked)


async def warm(services: Services) -> None:
    """Have the model loaded and every query planned, with the relationship types that there are."""
    if isinstance(services.embedder, LocalEmbedder):
        await asyncio.to_thread(services.embedder.warm)
    with contextlib.suppress(GraphmemError):
        await services.database.warm((await services.vocabulary.current()).names)


async def keep_up(services: Services) -> None:
    """Start the embedded database again whenever it is found down; for as long as a service runs.

    It keeps its ports, so the connections come back by themselves. One that answers that its database has
    fallen, as that of a full disk does, never mends by itself: it is stopped first. One that was stopped on
    purpose is left so until somebody starts it. A database at ``NEO4J_URI`` is somebody else's to start.
    """
    settings = services.settings
    fallen: int | None = None
    left = False
    while settings.neo4j_uri is None:
        await asyncio.sleep(WATCH_SECONDS)
        was, left = left, neo4j_local.stopped(settings)
        if left:
            if not was:
                _log.warning("the embedded Neo4j was stopped on purpose: `graphmem db start` starts it")
            continue
        try:
            fallen = await _looked_after(services, fallen)
        except Exception:
            _log.exception("unexpected fault in keeping the embedded Neo4j up: it is tried again")


async def _looked_after(services: Services, fallen: int | None) -> int | None:
    """Start the embedded database again if it is down.

    ``fallen`` is the process of one that is to be stopped first; that of one that is still to be is returned.
    """
    settings = services.settings
    try:
        await services.database.verify()
        return None
    except GraphmemError as exc:
        if has_fallen(exc):
            fallen = neo4j_local.running(settings)
    if fallen and shutil.disk_usage(settings.data_path).free < ROOM:
        _log.warning("the embedded Neo4j has fallen, and needs space on its disk to be started again")
        return fallen
    _log.warning("the embedded Neo4j does not answer: starting it again", fallen=fallen)
    try:
        if fallen:
            await asyncio.to_thread(neo4j_local.stop, settings, only=fallen)
        await connection(settings, asked=False)
    except SetupError as failed:
        _log.error("the embedded Neo4j cannot be started", reason=str(failed)[:500])
        # The one that does not come up after a fall is stopped as well.
        return fallen and neo4j_local.running(settings)
    return fallen


def _probe(settings: Settings) -> neo4j_local.Probe:
    """Return a function that raises while an embedded server does not answer."""

    def probe(where: Connection) -> None:
        async def ask() -> None:
            database = Database(where, settings, Metrics())
            try:
                await database.verify()
            except SetupError as exc:
                # Until its system database is up, a starting server refuses every password.
                raise DatabaseUnavailable from exc
            finally:
                await database.close()

        asyncio.run(ask())

    return probe
