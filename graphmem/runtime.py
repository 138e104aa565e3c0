"""Where things are wired together: from settings to the services that operations share."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable

import structlog
from pydantic import SecretStr

from graphmem import neo4j_local, operations
from graphmem.auth import take_over
from graphmem.auth.agent_grants import AgentGrants
from graphmem.auth.credentials import CredentialCache, Guard
from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Services
from graphmem.database import instance_kind, migrations
from graphmem.database.availability import Availability, wait_until_up
from graphmem.database.driver import Database, OnNotification
from graphmem.database.owner_cache import PendingRefolds, TypeAliases
from graphmem.database.relationship_vocabulary import Vocabulary
from graphmem.embedding import new_embedder
from graphmem.errors import DatabaseUnavailable, GraphmemError, SetupError
from graphmem.neo4j_local import InstanceLogin, Progress
from graphmem.objects import new_object_store
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.receipts.recording import Receipts
from graphmem.registry import REGISTRY
from graphmem.sealing import InstanceKeys, keys_of
from graphmem.sealing.sealed_rows import RowSealer
from graphmem.search.copy_files import CopyFiles
from graphmem.search.passage_copies import PassageCopies
from graphmem.search.search_copies import SearchCopies
from graphmem.settings import LOCAL_ACCOUNT, Settings
from graphmem.writing import Writers
from graphmem.writing.supposing import practise
from graphmem.writing.things import NEAR_KIND

_log = structlog.get_logger("graphmem.runtime")

assert REGISTRY, operations

YOUNG_OBJECTS = 10_000
"""New objects after which the garbage collector looks at the young ones. Requests leave few cycles behind."""
REMOTE_SECONDS = 10.0  # seconds that a database at ``NEO4J_URI`` may take to answer a command

REMOTE_START_SECONDS = 30.0
"""Seconds that it may take to answer a service, which may be started together with it."""


@contextlib.asynccontextmanager
async def open_services(
    settings: Settings, progress: Progress | None = None, on_notification: OnNotification | None = None,
    tracer: Tracer = NO_TRACES, *, remote_seconds: float = REMOTE_SECONDS,
    waiting: Callable[[str], None] | None = None,
) -> AsyncIterator[Services]:  # fmt: skip
    """Open what operations need: the database (started if it is the embedded one), migrated and online.

    Args:
        remote_seconds: how long a database at ``NEO4J_URI`` may take to answer.
        waiting: called with a line of progress while it does not answer or a model is loaded; else logged.

    Raises:
        SetupError: a setting, the data directory, the engine or the database's schema does not fit; or the
            instance is sealed, and its root key is not here.
        SandboxMismatch: the database is that of a sandbox and should not be, or the other way round.
        DatabaseUnavailable: the database at ``NEO4J_URI`` does not answer.
    """
    keys = await asyncio.to_thread(keys_of, settings)
    settings = _with_token(settings, keys)
    database = Database(await connection(settings, progress), settings, Metrics(), tracer, on_notification)
    try:
        if settings.neo4j_uri is not None:
            await wait_until_up(database, remote_seconds, settings.neo4j_address, waiting or _log.warning)
        await migrations.apply(database, is_sandbox=settings.sandbox, sealed=keys and keys.record().instance)
        await seal(database, keys)
        owner = await database.reads(None).only("copy.local_owner", str, account_id=LOCAL_ACCOUNT)
        if owner != LOCAL_ACCOUNT:
            take_over(owner)
        if settings.embedder is not None:
            (waiting or _log.warning)(f"loading {settings.embedder}; what is not here is fetched first")
        async with services_over(database, settings, keys) as services:
            yield services
    finally:
        await database.close()


async def seal(database: Database, keys: InstanceKeys | None) -> None:
    """Have the values in the database of a sealed instance sealed, unless it was marked before they were."""
    if keys is None:
        return
    _, seals_rows, seals_accounts = await instance_kind.sealed_as(database)
    if seals_rows:
        database.sealer = RowSealer(keys, NEAR_KIND)
        database.sealer.has_sealed_accounts = seals_accounts
    else:
        _log.warning(
            "the database of this sealed instance is in clear, as it was made by an earlier version: run "
            "`graphmem encryption enable`"
        )


def _with_token(settings: Settings, keys: InstanceKeys | None) -> Settings:
    """Return the settings with the token of a sealed instance, which is derived from its root key."""
    if keys is None:
        return settings
    settings.check_token()
    return settings.model_copy(update={"bearer_token": SecretStr(keys.token())})


@contextlib.asynccontextmanager
async def services_over(
    database: Database, settings: Settings, keys: InstanceKeys | None = None
) -> AsyncIterator[Services]:
    """Open the services over a database: nothing is started, migrated or written. ``keys``: those of a sealed
    instance."""
    vocabulary = Vocabulary(database, settings)
    embedder = await asyncio.to_thread(new_embedder, settings, database.tracer)
    writers = Writers(database, settings, embedder)
    database.metrics.waiting.set_function(writers.waiting)
    availability = Availability(database)
    objects = new_object_store(settings, keys)
    above = (
        ChangeFeed(database, writers),
        SearchCopies(
            database,
            settings.search_memory * 1_000_000,
            CopyFiles(settings.search_path, settings.search_disk * 1_000_000),
        ),
        PassageCopies(database, settings.search_memory * 500_000, embedder.model),
    )
    aliases, receipts = TypeAliases(database), Receipts(database, settings)
    try:
        yield Services(
            database, availability, vocabulary, aliases, PendingRefolds(database), writers, settings,
            embedder, Guard(database), CredentialCache(), objects, AgentGrants(database, aliases), receipts,
            {type(each): each for each in above}, keys,
        )  # fmt: skip
    finally:
        await availability.close()
        await receipts.close()
        for each in above:
            await each.close()
        await writers.close()
        await objects.close()
        await embedder.close()


async def connection(
    settings: Settings, progress: Progress | None = None, *, requested: bool = True
) -> InstanceLogin:
    """Return how to reach the database. The embedded database is started if it does not run.

    ``requested``: a person asks for it now, so it is started even if it was stopped on purpose.

    Raises SetupError: it cannot be started.
    """
    if settings.neo4j_uri is not None:
        return InstanceLogin(
            uri=settings.neo4j_uri,
            username=settings.neo4j_username,
            password=settings.neo4j_password.get_secret_value(),
            browser_url="",
            database=settings.neo4j_database,
        )
    return await asyncio.to_thread(
        neo4j_local.ensure, settings, _probe(settings), progress, requested=requested
    )


async def warm(services: Services) -> None:
    """Plan the first queries and load the embedding model; then plan every other query.

    Before the others, the files of owners who were erased elsewhere are removed. The others are planned with
    the relationship types of that moment. At last stores are practised.
    """
    loading = asyncio.to_thread(services.embedder.warm)
    await asyncio.gather(services.database.planning.plan_first(), loading)
    # What the start made lasts as long as the process: each full collection looked at all modules, models and
    # routes, which was a fifth of the Python time of stores.
    gc.set_threshold(YOUNG_OBJECTS)
    gc.freeze()
    with contextlib.suppress(GraphmemError):
        await services.of(SearchCopies).erase_unowned()
        await services.database.planning.plan_rest((await services.vocabulary.current()).names)
        if services.settings.practice:
            await practise(services.database)


def _probe(settings: Settings) -> neo4j_local.Probe:
    """Return a function that raises while an embedded server does not answer."""

    def probe(where: InstanceLogin) -> None:
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
