"""The database: the only module that speaks to the Neo4j driver.

A read is one auto-commit statement and one round trip. It is tried again while the database fails, for at
most ``Settings.retry_seconds`` after the first failure. A write statement is tried again only after a
deadlock, which wrote nothing: after any other failure only its writer knows whether to repeat it.
Every query is bound to an owner here, and every driver error becomes one of :mod:`graphmem.errors`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, LiteralString, cast

import neo4j
import neo4j.exceptions
import structlog
from neo4j import AsyncGraphDatabase, Query

from graphmem import cypher, errors
from graphmem.database import driver_errors, left_out, pool
from graphmem.database.admission import Admission
from graphmem.database.first_runs import FIRST_RUN_SECONDS, TRANSACTION, FirstRuns
from graphmem.database.planning import Planning
from graphmem.database.queries import Queries, fetch_rows
from graphmem.database.typed_rows import Row
from graphmem.observability.tracing import NO_TRACES, Tracer
from graphmem.settings import Settings

if TYPE_CHECKING:
    # These import libraries that take longer to load than all else that `graphmem --help` needs.
    from prometheus_client import Counter

    from graphmem.neo4j_local import InstanceLogin
    from graphmem.observability.metrics import Metrics
    from graphmem.sealing.sealed_rows import RowSealer

SLOW_PLAN_SHARE = 0.1
"""The share of a read's limit from which on its planning is slow. A text with a plan takes milliseconds."""
PLANNING_SECONDS = 600.0
"""Seconds that the server may take to plan a text, as long as it answers pings meanwhile."""
NOBODY = "00000000-0000-4000-8000-000000000000"  # an owner that has nothing, for plans and practice
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 1.0
"""Seconds between two attempts of a statement: twice as long each time, and up to as much again at random."""
PAGE_OWNERS = 1_000  # owners that one query reads
ANSWER_GRACE_SECONDS = 2.0
"""Seconds that an answer may arrive after its statement's limit: the server itself ends what takes longer."""
OnNotification = Callable[[str, str], None]
"""Called with the query's name and the server's notification; tests turn notifications into failures."""

round_trips: ContextVar[list[int]] = ContextVar("round_trips")
"""A list of one number: the statements that were sent for the current request."""

_log = structlog.get_logger("graphmem.graph")


class Database:
    """A pool of connections to one database; one for each process and event loop."""

    def __init__(
        self, address: InstanceLogin, settings: Settings, metrics: Metrics, tracer: Tracer = NO_TRACES,
        on_notification: OnNotification | None = None,
    ) -> None:  # fmt: skip
        """Make the pool, and send nothing yet; raises ConfigurationInvalid: the address cannot be used."""
        self._settings = settings
        self._database_name = address.database
        self.browser_url = address.browser_url
        """Address of the Neo4j Browser of an embedded database; empty if the database is another one."""
        self._on_notification = on_notification
        self.sealer: RowSealer | None = None
        """What seals all that is written, and opens all that is read, in a sealed instance."""
        self.heavy = Admission(settings.heavy_queries, settings.heavy_wait)
        self.first_runs = FirstRuns()
        self.planning = Planning(self)
        self.slow_plan_seconds = SLOW_PLAN_SHARE * settings.read_timeout
        """From so many seconds on, planning a text explains that a read of it exceeded its limit."""
        self.answer_grace_seconds = ANSWER_GRACE_SECONDS
        self.metrics = metrics
        self.tracer = tracer
        metrics.connections_max.set(settings.pool_size)
        metrics.connections.set_function(lambda: len(pool.connections(self._driver)))
        metrics.connections_in_use.set_function(lambda: pool.connections(self._driver).count(True))
        level = "WARNING" if on_notification else "OFF"
        try:
            self._driver = AsyncGraphDatabase.driver(
                address.uri,
                auth=(address.username, address.password),
                max_connection_pool_size=settings.pool_size,
                connection_acquisition_timeout=settings.acquisition_timeout,
                connection_timeout=settings.connection_timeout,
                max_transaction_retry_time=0,
                keep_alive=True,
                user_agent="graphmem",
                notifications_min_severity=level,
                # The driver would tell the server with each statement by which of its methods it was run.
                telemetry_disabled=True,
            )
            pool.without_read_timers(self._driver)
            # On a cluster, reads go to the leader as writes do: it surely has every commit.
            self._session = pool.sessions(
                self._driver, database=address.database, default_access_mode="WRITE", fetch_size=-1
            )
        except (neo4j.exceptions.ConfigurationError, ValueError) as exc:
            raise driver_errors.setting_error(exc, settings) or driver_errors.translate(exc) from exc

    async def close(self) -> None:
        await self._driver.close()

    async def read(
        self, name: str, owner: str | None, /, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a read by name for one owner, or for none; return its rows.

        While the database fails it is tried again. ``edge_types`` fill the place for relationship types.

        Raises:
            DatabaseUnavailable, DatabaseTimeout: it failed for ``Settings.retry_seconds``.
            ServiceBusy: it is a heavy query, and other queries held all places for ``Settings.heavy_wait``.
        """
        text, bound = self.query_text(name, edge_types), self.bound(name, params, owner)
        is_light = cypher.is_light(name, params)

        async def attempt() -> list[Row]:
            place = (
                contextlib.nullcontext()
                if is_light
                else self.heavy.place(owner or "", first_run=self.first_runs.expects(text))
            )
            async with place:
                return await self._run_planned(name, text, bound, is_short=is_light)

        with self._translated(name):
            await self.planning.wait_for(text)
            rows = await self._tried(attempt, _is_worth_a_retry, self.metrics.read_retries)
            return self.opened(name, rows, owner)

    async def _run_planned(
        self, name: str, text: LiteralString, params: dict[str, Any], timeout: float | None = None, *,
        is_short: bool = False,
    ) -> list[Row]:  # fmt: skip
        """Run a statement, a read by default. If planning made it exceed its limit, run it once more.

        Neo4j plans a text at its first run, and anew when the data has grown, which counts into the limit of
        the statement. The server has rolled the statement back. So the text is planned apart; after a first
        run, or if that took long, the statement has its limit once more. One that ``is_short`` takes
        milliseconds: it has its limit once more in any case.
        """
        timeout, start = timeout or self._settings.read_timeout, time.monotonic()
        try:
            return await self._run(name, text, timeout, params)
        except (neo4j.exceptions.Neo4jError, driver_errors.FirstRunTimeout) as exc:
            if not await self._planned_slowly(exc, start, {text: params}) and not (
                is_short and driver_errors.is_time_limit(exc)
            ):
                raise
        return await self._run(name, text, timeout, params)

    async def _planned_slowly(
        self, exc: BaseException, start: float, statements: Mapping[LiteralString, dict[str, Any]]
    ) -> bool:
        """Plan statements that exceeded their limit; return whether planning may be what took long."""
        if not driver_errors.is_time_limit(exc):
            return False
        runs, was_slow = self.first_runs, False
        for text, params in statements.items():
            was_slow |= runs.expects(text)
            await self.explain(text, params)
            was_slow |= runs.was_planned_since(start, text)
            runs.finished(text, runs.server_life)
        runs.lost_seconds += time.monotonic() - start if was_slow else 0.0
        return was_slow

    async def explain(self, text: LiteralString, params: dict[str, Any]) -> None:
        """Plan a text unless the server has a plan for it that it still uses, however long that takes.

        Neo4j keeps the plan of ``EXPLAIN`` apart from that of the text itself (measured on 5.26). So a
        statement of an owner is run for nobody, without arguments, and rolled back.
        """
        explained, start = cast("LiteralString", f"EXPLAIN {text}"), time.monotonic()
        if "owner" in params:
            await self._run("explain", text, PLANNING_SECONDS, {"args": {}, "owner": NOBODY})
            # The first run for somebody still takes longer than later ones.
            self.first_runs.forget(text)
            self.first_runs.finished(explained, self.first_runs.server_life)
        else:
            self.first_runs.forget(explained)
            await self._run("explain", explained, PLANNING_SECONDS, params)
        end = time.monotonic()
        if end - start >= self.slow_plan_seconds:
            self.first_runs.planned_slowly(text, end)

    async def write(
        self, name: str, owner: str | None, /, edge_types: frozenset[str] | None = None, **params: Any
    ) -> list[Row]:
        """Run a write by name for one owner, or for none; return its rows.

        It runs again only after a deadlock, which rolled it back. Raises DatabaseUnavailable,
        DatabaseTimeout: it failed, and whether it was written is unknown.
        """
        text, bound = self.query_text(name, edge_types), self.bound(name, params, owner)

        async def attempt() -> list[Row]:
            return await self._run_planned(name, text, bound, self._settings.write_timeout)

        with self._translated(name):
            await self.planning.wait_for(text)
            rows = await self._tried(
                attempt, partial(_has_code, (driver_errors.DEADLOCK_CODE,)), self.metrics.write_retries
            )
            return self.opened(name, rows, owner)

    async def _tried(
        self, attempt: Callable[[], Awaitable[list[Row]]], may_help: Callable[[Exception], bool],
        retries: Counter | None = None,
    ) -> list[Row]:  # fmt: skip
        """Attempt a statement until it succeeds, at most ``Settings.retry_seconds`` after its first failure.

        ``may_help`` tells whether another attempt may; ``retries`` counts the attempts after the first one.
        """
        end, pause = math.inf, FIRST_PAUSE_SECONDS
        while True:
            try:
                return await attempt()
            except Exception as exc:
                now = time.monotonic()
                end = min(end, now + self._settings.retry_seconds)
                if now >= end or not may_help(exc):
                    raise
            await asyncio.sleep(pause * random.uniform(1.0, 2.0))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            if retries is not None:
                retries.inc()

    def reads(self, owner: str | None) -> Queries:
        """Return the reads of one owner, or of no owner."""
        return Queries(self.read, owner)

    def writes(self, owner: str | None) -> Queries:
        """Return the write statements of one owner, or of no owner."""
        return Queries(self.write, owner)

    @contextlib.asynccontextmanager
    async def transaction(self, owner: str, *, commit: bool = True) -> AsyncIterator[Queries]:
        """Hold an explicit transaction, which commits at the end of the block, or rolls back. Raises
        DatabaseUnavailable, DatabaseTimeout: it failed, and whether it was written is unknown."""
        start, statements = time.monotonic(), dict[LiteralString, dict[str, Any]]()
        try:
            async with (
                self._limited(TRANSACTION, self._settings.write_timeout) as (seconds, wait),
                self._driver.session(database=self._database_name) as session,
                await session.begin_transaction(timeout=seconds) as tx,
            ):

                async def run(
                    name: str, of: str, /, edge_types: frozenset[str] | None = None, **params: Any
                ) -> list[Row]:
                    bound, text = self.bound(name, params, of), self.query_text(name, edge_types)
                    statements[text] = bound
                    if self.first_runs.expects(text):
                        # While the server plans it ends no transaction.
                        until = asyncio.get_running_loop().time() + 2 * FIRST_RUN_SECONDS
                        wait.reschedule(max(until, wait.when() or until))
                    with self.statement(name):
                        rows = await fetch_rows(await tx.run(text, bound))
                    self.first_runs.finished(text, self.first_runs.server_life)
                    return self.opened(name, rows, of)

                yield Queries(run, owner)
                if commit:
                    with self.statement("commit"):
                        await tx.commit()
                else:
                    # Else the driver would commit at the end of its block.
                    await tx.rollback()
        except driver_errors.DRIVER_ERRORS as exc:
            with contextlib.suppress(*driver_errors.DRIVER_ERRORS):
                await self._planned_slowly(exc, start, statements)
            raise self._failed("transaction", exc) from exc

    async def owners(self) -> AsyncIterator[str]:
        """Yield the owners who have written something, by id; none whose data is being erased."""
        last: str | None = ""
        while last is not None:
            owners, last = await self.reads(None).only(
                "dump.owners", tuple[list[str], str | None], after=last, limit=PAGE_OWNERS
            )
            for owner in owners:
                yield owner

    async def script(self, text: LiteralString, /, **params: Any) -> list[Row]:
        """Run a statement of a migration or of administration, which may be repeated. It belongs to no owner.

        It is tried again, for at most ``Settings.retry_seconds``, where another process runs it at the same
        moment: ``IF NOT EXISTS`` does not keep two of them from making one index.
        """

        async def attempt() -> list[Row]:
            return await self._run_planned("script", text, params, self._settings.write_timeout)

        with self._translated("script"):
            return await self._tried(attempt, partial(_has_code, driver_errors.RACE_CODES))

    async def stream(self, text: LiteralString, /, size: int, **params: Any) -> AsyncIterator[Row]:
        """Yield the rows of a read of administration, which may take long: as stored, ``size`` at a time."""
        with self._translated("script"):
            async with self._driver.session(database=self._database_name, fetch_size=size) as session:
                async for record in await session.run(Query(text), params):
                    yield record.data()

    async def verify(self, *, with_address: bool = True) -> None:
        """Ask the database once whether it answers; a failure names its address only ``with_address``.

        Raises:
            ConfigurationInvalid: the address, the user or the database name is wrong.
            DatabaseUnavailable: it does not answer.
        """
        try:
            await self._run("server.ping", self.query_text("server.ping"), 5.0, {})
        except driver_errors.DRIVER_ERRORS as exc:
            failure = driver_errors.setting_error(exc, self._settings)
            raise failure or self._failed("server.ping", exc, with_address=with_address) from exc

    @property
    def is_sealed(self) -> bool:
        """Whether values are sealed: then no statement compares, orders or searches them."""
        return self.sealer is not None

    def bound(self, name: str, params: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
        """Return the parameters of a query as its text expects them, sealed in a sealed instance."""
        if self.sealer is not None:
            params = self.sealer.seal(name, params, owner)
        return cypher.bind(name, params, owner)

    def opened(self, name: str, rows: list[Row], owner: str | None) -> list[Row]:
        """Return the rows of a query, opened in a sealed instance."""
        if self.sealer is None:
            return rows
        try:
            query, damage = cypher.query(name), left_out.current()
            return self.sealer.open(
                rows, owner, names_nodes=query.names_nodes, columns=query.sealing.opened,
                is_lenient=damage is not None and (damage.is_checking or damage.keeps_unopened),
            )  # fmt: skip
        except errors.DecryptionFailed as exc:
            _log.error("a sealed value does not open", query=name, reason=str(exc))
            raise

    def query_text(self, name: str, types: frozenset[str] | None = None) -> LiteralString:
        """Return the text of a query. ``types`` fills the place for relationship types, if it has one."""
        query = cypher.query(name)
        return cypher.with_types(name, types or frozenset()) if query.takes_types else query.text

    async def _run(self, name: str, text: LiteralString, timeout: float, params: dict[str, Any]) -> list[Row]:
        with self.statement(name):
            async with self._limited(text, timeout) as (seconds, _), self._session() as session:
                if params.get("owner") == NOBODY:
                    return await _planned(session, text, params, seconds)
                result = await session.run(Query(text, timeout=seconds, metadata={"query": name}), params)
                rows = await fetch_rows(result)
                if self._on_notification:
                    for status in (await result.consume()).gql_status_objects:
                        if status.is_notification:
                            what = f"{status.raw_classification}: {status.status_description}"
                            self._on_notification(name, what)
                return rows

    @contextlib.asynccontextmanager
    async def _limited(self, text: str, seconds: float) -> AsyncIterator[tuple[float, asyncio.Timeout]]:
        """Limit a statement to ``seconds``, its first run on a server to more; yield its limit and its wait.

        If the server does not answer in time, all pooled connections are replaced: other requests would wait
        for them one by one. FirstRunTimeout: not even the limit of a first run was enough.
        """
        server_life = self.first_runs.server_life
        first = self.first_runs.expects(text)
        limit = max(seconds, FIRST_RUN_SECONDS) if first else seconds
        watch: asyncio.Task[None] | None = None
        grace = FIRST_RUN_SECONDS if first else self.answer_grace_seconds
        try:
            async with asyncio.timeout(limit + grace) as wait:
                if first:
                    watch = asyncio.create_task(self._end_if_silent(wait))
                yield limit, wait
        except driver_errors.DRIVER_ERRORS as exc:
            if isinstance(exc, TimeoutError):
                await pool.close_soon(self._driver)
            self.first_runs.failed(exc)
            if first and getattr(exc, "code", None) in driver_errors.TIMEOUT_CODES:
                raise driver_errors.FirstRunTimeout from exc
            raise
        finally:
            if watch:
                watch.cancel()
        self.first_runs.finished(text, server_life)

    async def _end_if_silent(self, wait: asyncio.Timeout) -> None:
        """End a long wait once the server leaves two pings in turn unanswered: the network has lost it."""
        seconds, unanswered = self._settings.read_timeout, 0
        ping = Query(self.query_text("server.ping"), timeout=seconds)
        while True:
            if not unanswered:
                await asyncio.sleep(seconds + self.answer_grace_seconds)
            try:
                async with (
                    asyncio.timeout(seconds),
                    self._driver.session(database=self._database_name) as session,
                ):
                    await (await session.run(ping)).consume()
                unanswered = 0
            except neo4j.exceptions.ConnectionAcquisitionTimeoutError:
                # Every connection is in use: nothing is known of the server.
                continue
            except driver_errors.DRIVER_ERRORS:
                unanswered += 1
                if unanswered == 2:
                    wait.reschedule(asyncio.get_running_loop().time())
                    return

    @contextlib.contextmanager
    def statement(self, name: str) -> Iterator[None]:
        """Count and time one statement, for its request and the process."""
        cell = round_trips.get(None)
        if cell is not None:
            cell[0] += 1
            self.planning.last_request_at = time.monotonic()
        start = time.perf_counter()
        try:
            with self.tracer.statement(name, self._database_name):
                yield
        finally:
            self.metrics.statements(name).observe(time.perf_counter() - start)

    @contextlib.contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        """Raise what callers are told in place of an error of the driver."""
        try:
            yield
        except driver_errors.DRIVER_ERRORS as exc:
            raise self._failed(name, exc) from exc

    def _failed(self, name: str, exc: BaseException, *, with_address: bool = True) -> errors.GraphmemError:
        error = driver_errors.caller_error(exc, self._settings, with_address=with_address)
        self.metrics.database_errors(error.code).inc()
        log = _log.error if isinstance(error, errors.InternalError) else _log.warning
        log(
            "database error", query=name, error=type(exc).__name__, code=getattr(exc, "code", None),
            text=str(exc)[:500],
        )  # fmt: skip
        return error


def _has_code(beginnings: tuple[str, ...], exc: Exception) -> bool:
    code = exc.code if isinstance(exc, neo4j.exceptions.Neo4jError) else None
    return code is not None and code.startswith(beginnings)


def _is_worth_a_retry(exc: Exception) -> bool:
    if isinstance(exc, neo4j.exceptions.AuthError):
        return False
    return isinstance(driver_errors.translate(exc), errors.DatabaseUnavailable | errors.DatabaseCrowded)


async def _planned(
    session: neo4j.AsyncSession, text: LiteralString, params: dict[str, Any], seconds: float
) -> list[Row]:
    """Have a statement planned, whose run fails perhaps, and is rolled back."""
    async with await session.begin_transaction(timeout=seconds) as tx:
        try:
            await (await tx.run(text, params)).consume()
        except neo4j.exceptions.Neo4jError as exc:
            # Faults of what it is given are found after planning.
            if not str(exc.code).startswith("Neo.ClientError.Statement."):
                raise
        await tx.rollback()
    return []
