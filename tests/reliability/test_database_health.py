"""What health and readiness say of a database that goes away, and how long a read waits for its plan."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from neo4j.exceptions import Neo4jError

from graphmem import __version__, cypher
from graphmem.api.app import create_app
from graphmem.database import availability
from graphmem.database.availability import STATE_SECONDS
from graphmem.database.driver_errors import FirstRunTimeout
from graphmem.database.planning import PLANNED_FIRST
from graphmem.errors import GraphmemError
from graphmem.model import relationship
from tests.support.proxied_services import ADA, BOUND, RETRY, WRITE, Faulty
from tests.support.sealed_database import bearing, token_of


def getter(faulty: Faulty) -> Callable[[str], httpx.Response]:
    """Return a function that gets a path of a service over the faulty database."""
    app = create_app(faulty.services)

    async def get(path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        headers = bearing(token_of(faulty.services.settings))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            return await http.get(path)

    return lambda path: faulty.loop.run(get(path))


def test_health_without_a_database_is_200_and_says_so_and_ready_is_503(faulty: Faulty) -> None:
    get = getter(faulty)
    health = {"ok": True, "version": __version__, "database": "up", "search_ready": True}
    assert get("/health").json() == health
    assert get("/health/ready").json() == get("/health").json()
    faulty.do(faulty.proxy.refuse)
    time.sleep(STATE_SECONDS)
    answer = get("/health")
    assert (answer.status_code, answer.json()["database"]) == (200, "down")
    answer = get("/api/health/ready")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DB_CONNECTION_FAILED")
    assert answer.json()["details"]["retryable"] is True
    # Everybody may ask for health, so only other callers read the address.
    assert faulty.proxy.uri not in answer.json()["message"]
    answer = get("/stats")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DB_CONNECTION_FAILED")
    assert f"the database at {faulty.proxy.uri} (NEO4J_URI) cannot be reached" in answer.json()["message"]
    faulty.do(faulty.proxy.resume)
    time.sleep(STATE_SECONDS)
    assert get("/health/ready").status_code == 200
    assert get("/health").json()["database"] == "up"


@pytest.mark.parametrize(
    ("operation", "query", "slow_plan_seconds", "outcome"),
    [
        ("server.stats", "owner.stats", math.inf, "ok"),
        ("entities.query", "entity.candidates", 0.0, "ok"),
        ("entities.query", "entity.candidates", math.inf, "DB_TIMEOUT"),
    ],
    ids=["light", "heavy-planned-anew", "heavy-with-a-plan"],
)
def test_a_read_that_the_database_plans_anew_does_not_fail(
    faulty: Faulty,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    query: str,
    slow_plan_seconds: float,
    outcome: str,
) -> None:
    """The database plans a known statement anew once the data has grown, for longer than a read may take."""
    arguments = {"filters": {"created_since": "2020-01-01"}} if operation == "entities.query" else {}
    database, statements = faulty.services.database, list[str]()
    faulty.call(operation, **arguments)
    database.slow_plan_seconds = slow_plan_seconds
    run = database._run

    async def late(name: str, text: Any, timeout: float, params: dict[str, Any]) -> Any:
        statements.append(name)
        if statements == [query]:
            code = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
            raise Neo4jError._hydrate_neo4j(code=code, message="")
        return await run(name, text, timeout, params)

    monkeypatch.setattr(database, "_run", late)
    if outcome == "ok":
        faulty.call(operation, **arguments)
        assert statements[:3] == [query, "explain", query]
    else:
        with pytest.raises(GraphmemError) as raised:
            faulty.call(operation, **arguments)
        assert raised.value.code == outcome
        assert statements == [query, "explain"]


@pytest.mark.parametrize("form", ["single", "locked"])
def test_a_write_that_is_planned_for_longer_than_it_is_tried_again_does_not_fail(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The server ends a statement that it plans for longer than the limit of the statement."""
    database = faulty.services.database
    faulty.call("store", entities=[ADA])
    database.slow_plan_seconds = 0.0
    explain, sent = database.explain, list[str]()

    async def slow(text: Any, params: dict[str, Any]) -> None:
        sent.append("explain")
        await asyncio.sleep(RETRY / 2)
        await explain(text, params)

    def ended_once(name: str) -> None:
        sent.append(name)
        if name.startswith("write.turn") and sent.count(name) == 1:
            code = "Neo.ClientError.Transaction.TransactionTimedOut"
            raise FirstRunTimeout from Neo4jError._hydrate_neo4j(code=code, message="")

    real = database.statement

    @contextlib.contextmanager
    def statement(name: str) -> Iterator[None]:
        with real(name):
            if not name.startswith("explain"):
                ended_once(name)
            yield

    monkeypatch.setattr(database, "explain", slow)
    monkeypatch.setattr(database, "statement", statement)
    if form == "locked":
        # Another process has written since: the turn holds the lock of the owner.
        faulty.services.writers.known.revisions.clear()
    stored = faulty.call("store", entities=[{**ADA, "more": 1}])
    turn = next(name for name in sent if name.startswith("write.turn"))
    assert sent.count(turn) == 2
    assert "explain" in sent[sent.index(turn) :]
    assert ("owner.lock" in sent) == (form == "locked")
    assert stored["entities"][0]["version"] == 2


def test_a_service_is_ready_once_the_first_statements_are_planned(faulty: Faulty) -> None:
    get, database = getter(faulty), faulty.services.database

    async def plan() -> bool:
        planning = asyncio.create_task(database.planning.plan_first())
        await asyncio.sleep(0)
        planned = database.planning.planned.is_set()
        await planning
        return planned

    assert not faulty.loop.run(plan())
    assert get("/health/ready").status_code == 200
    planned = (
        database.query_text(name, frozenset(relationship.BUILTIN))
        for names in PLANNED_FIRST
        for name in names
    )
    assert not any(database.first_runs.expects(f"EXPLAIN {text}") for text in planned)
    database.planning.planned.clear()
    answer = get("/health/ready")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DB_CONNECTION_FAILED")
    assert "plans" in answer.json()["message"]
    assert get("/health").json()["database"] == "up"
    database.planning.planned.set()


@pytest.mark.parametrize(
    ("code", "failures", "outcome", "statements"),
    [
        ("Neo.TransientError.Transaction.DeadlockDetected", 3, "ok", 4),
        ("Neo.TransientError.Transaction.DeadlockDetected", sys.maxsize, "DB_CONNECTION_FAILED", None),
        ("Neo.TransientError.General.DatabaseUnavailable", 1, "DB_CONNECTION_FAILED", 1),
        ("Neo.TransientError.Transaction.LockAcquisitionTimeout", 1, "DB_TIMEOUT", 1),
    ],
    ids=["deadlock", "deadlock-every-time", "unavailable", "lock-timeout"],
)
def test_only_a_write_that_ended_in_a_deadlock_is_tried_again(
    faulty: Faulty,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    failures: int,
    outcome: str,
    statements: int | None,
) -> None:
    """A deadlock wrote nothing. After another failure the statement may have been written."""
    database, sent = faulty.services.database, list[str]()
    run = database._run

    async def failing(name: str, text: Any, timeout: float, params: dict[str, Any]) -> Any:
        sent.append(name)
        if len(sent) <= failures:
            raise Neo4jError._hydrate_neo4j(code=code, message="")
        return await run(name, text, timeout, params)

    async def write() -> str:
        try:
            await database.write("owner.create", faulty.owner, state_hash="", account_id="")
        except GraphmemError as exc:
            return exc.code
        return "ok"

    monkeypatch.setattr(database, "_run", failing)
    assert faulty.loop.run(write()) == outcome
    assert set(sent) == {"owner.create"}
    assert statements is None or len(sent) == statements
    counter = "graphmem_database_write_retries_total"
    assert f"{counter} {len(sent) - 1:.1f}" in database.metrics.text().decode().splitlines()


def test_a_statement_that_is_being_planned_waits_for_its_plan(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, steps = faulty.services.database, list[str]()
    faulty.call("server.stats")
    run = database._run

    async def watched(name: str, text: Any, timeout: float, params: dict[str, Any]) -> Any:
        steps.append(f"{name} begins")
        try:
            return await run(name, text, timeout, params)
        finally:
            steps.append(f"{name} ends")

    async def both() -> None:
        planning = asyncio.create_task(database.planning._plan("owner.stats", frozenset()))
        await asyncio.sleep(0)
        params: dict[str, Any] = dict.fromkeys(cypher.query("owner.stats").params, "")
        await database.read("owner.stats", faulty.owner, **params)
        await planning

    monkeypatch.setattr(database, "_run", watched)
    faulty.loop.run(both())
    assert steps == ["explain begins", "explain ends", "owner.stats begins", "owner.stats ends"]


def test_health_of_a_silent_database_is_answered_in_time(faulty: Faulty) -> None:
    get = getter(faulty)
    assert get("/health/ready").status_code == 200
    faulty.do(faulty.proxy.stall)
    time.sleep(STATE_SECONDS)
    try:
        begin = time.monotonic()
        answer = get("/health")
        assert (answer.status_code, answer.json()["database"]) == (200, "down")
        assert get("/health/ready").json()["error_code"] == "DB_TIMEOUT"
        # The ping itself is given up after 7 seconds.
        assert time.monotonic() - begin < 6 * STATE_SECONDS
    finally:
        faulty.do(faulty.proxy.cut)
        faulty.do(faulty.proxy.resume)


def test_health_asks_the_database_once_a_second_at_most(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, pings = getter(faulty), []
    verify = faulty.services.database.verify
    now = time.monotonic() + 1_000

    async def counted(**options: bool) -> None:
        pings.append(now)
        await verify(**options)

    # The clock stands still while a call is answered. A ping may take long: a minute stands for the second.
    monkeypatch.setattr(availability, "STATE_SECONDS", 60.0)
    monkeypatch.setattr(availability, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(faulty.services.database, "verify", counted)
    begin = now
    for _ in range(10):
        assert get("/health").status_code == get("/health/ready").status_code == 200
        now += 0.4 * 60.0
    assert [ping - begin for ping in pings] == pytest.approx([0, 72, 144, 216])


# Planned first


SLOW_PLAN = 5.0
"""Seconds: longer than a read may take (2 s) with the grace of its answer (2 s)."""


def test_a_first_run_may_take_longer_than_a_read(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.answer_late(b"entity.page", SLOW_PLAN))
    assert faulty.call("entities.query")["entities"] == []
    assert faulty.refused("entities.query").code == "DB_TIMEOUT"


def test_a_first_write_may_take_longer_than_a_write(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.answer_late(WRITE, SLOW_PLAN))
    assert faulty.call("store", entities=[ADA])["entities_created"] == 1


def test_a_first_run_after_a_restart_of_the_database_may_take_long_again(faulty: Faulty) -> None:
    """A restarted server knows no plan. The service notices the restart: it sends statements all the time."""
    faulty.call("entities.query")
    faulty.do(faulty.proxy.refuse)
    faulty.refused("server.stats")
    faulty.do(faulty.proxy.resume)
    faulty.do(lambda: faulty.proxy.answer_late(b"entity.page", SLOW_PLAN))
    assert faulty.call("entities.query")["entities"] == []


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_first_run_on_a_server_that_hangs_ends_in_time(faulty: Faulty, name: str) -> None:
    faulty.do(faulty.proxy.stall)
    begin = time.monotonic()
    assert faulty.refused(name, **({"entities": [ADA]} if name == "store" else {})).code.startswith("DB_")
    assert time.monotonic() - begin < BOUND
