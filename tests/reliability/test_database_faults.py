"""The database goes away, hangs, or does not acknowledge: nothing is lost or doubled, and it is told."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from neo4j.exceptions import Neo4jError

from graphmem import __version__, cypher
from graphmem.api.app import create_app
from graphmem.database import failpoints
from graphmem.database.availability import STATE_SECONDS
from graphmem.database.planning import PLANNED_FIRST
from graphmem.errors import GraphmemError, InternalError, ServiceBusy, Unavailable
from graphmem.model import canonical, ids
from graphmem.model.items import Reader
from graphmem.registry import REGISTRY, Services
from graphmem.runtime import open_services
from graphmem.settings import Settings
from graphmem.writing import Receipt, StoreRequest, TurnLimits, Writers
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.tcp_proxy import Proxy, proxied

RETRY = 2.0
BOUND = 15.0
"""Seconds in which every call must have ended, whatever the database does."""
COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""The message of the Bolt protocol that commits an explicit transaction."""
WRITE = b"write.turn"
ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}
Outcome = dict[str, Any] | GraphmemError


@dataclass
class Faulty:
    """Services whose database is behind a proxy, for one owner."""

    loop: Loop
    proxy: Proxy
    services: Services
    owner: str

    async def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        actor = full_actor(self.owner)
        async with asyncio.timeout(BOUND):
            return canonical.decode(await REGISTRY[name].run(self.services, actor, arguments))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.loop.run(self.ask(name, **arguments))

    def told(self, name: str, /, **arguments: Any) -> Unavailable:
        """Return the 503 that a call ends with, in time."""
        with pytest.raises(Unavailable) as failed:
            self.call(name, **arguments)
        assert (failed.value.status, failed.value.envelope("")["details"]["retryable"]) == (503, True)
        return failed.value

    def do(self, act: Callable[[], None]) -> None:
        """Have the proxy do something, on its own loop."""

        async def doing() -> None:
            act()

        self.loop.run(doing())


@pytest.fixture
def patient(settings: Settings, planned: None) -> Settings:
    return settings.model_copy(
        update={
            "retry_seconds": RETRY,
            "acquisition_timeout": 1.0,
            "connection_timeout": 1.0,
            "read_timeout": 2.0,
            "write_timeout": 2.0,
        }
    )


@pytest.fixture
def faulty(loop: Loop, patient: Settings, owner: str) -> Iterator[Faulty]:
    stack = contextlib.AsyncExitStack()

    async def start() -> Faulty:
        assert patient.neo4j_uri
        proxy = await stack.enter_async_context(proxied(patient.neo4j_uri))
        behind = patient.model_copy(update={"neo4j_uri": proxy.uri})
        return Faulty(loop, proxy, await stack.enter_async_context(open_services(behind)), owner)

    found = loop.run(start())
    yield found
    found.do(found.proxy.resume)
    loop.run(stack.aclose())


def after(seconds: float, work: Callable[[], None]) -> Coroutine[Any, Any, None]:
    async def waiting() -> None:
        await asyncio.sleep(seconds)
        work()

    return waiting()


# Down, and up again


def test_a_read_while_the_database_is_down_is_503_in_time(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(faulty.proxy.refuse)
    begin = time.monotonic()
    assert faulty.told("entities.query").code == "DB_CONNECTION_FAILED"
    assert time.monotonic() - begin < RETRY + 3
    faulty.do(faulty.proxy.resume)
    assert len(faulty.call("entities.query")["entities"]) == 1


def test_a_write_while_the_database_is_down_is_503_in_time_and_leaves_no_doubt(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(faulty.proxy.refuse)
    begin = time.monotonic()
    error = faulty.told("store", entities=[ADA])
    assert time.monotonic() - begin < 2 * RETRY + 3
    assert error.details == {"in_doubt": False}
    faulty.do(faulty.proxy.resume)
    assert faulty.call("store", entities=[ADA])["entities"][0]["version"] == 2


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_call_outlives_connections_that_are_cut(faulty: Faulty, name: str) -> None:
    arguments = {"entities": [ADA]} if name == "store" else {}
    for _ in range(3):
        faulty.call(name, **arguments)
        faulty.do(faulty.proxy.cut)
    assert faulty.call("server.stats")["sequence"] == (3 if name == "store" else 0)


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_call_waits_for_a_database_that_comes_back_in_time(faulty: Faulty, name: str) -> None:
    arguments = {"entities": [ADA]} if name == "store" else {}

    async def meanwhile() -> dict[str, Any]:
        faulty.proxy.refuse()
        answer, _ = await asyncio.gather(faulty.ask(name, **arguments), after(0.5, faulty.proxy.resume))
        return answer

    assert faulty.loop.run(meanwhile())
    assert faulty.call("server.stats")["sequence"] == (1 if name == "store" else 0)


def getter(faulty: Faulty) -> Callable[[str], httpx.Response]:
    """Return a function that gets a path of a service over the faulty database."""
    app = create_app(faulty.services)

    async def get(path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.get(path)

    return lambda path: faulty.loop.run(get(path))


def test_health_without_a_database_is_200_and_says_so_and_ready_is_503(faulty: Faulty) -> None:
    get = getter(faulty)
    assert get("/health").json() == {"ok": True, "version": __version__, "database": "up"}
    assert get("/health/ready").json() == get("/health").json()
    faulty.do(faulty.proxy.refuse)
    time.sleep(STATE_SECONDS)
    answer = get("/health")
    assert (answer.status_code, answer.json()["database"]) == (200, "down")
    answer = get("/api/health/ready")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DB_CONNECTION_FAILED")
    assert answer.json()["details"]["retryable"] is True
    faulty.do(faulty.proxy.resume)
    time.sleep(STATE_SECONDS)
    assert get("/health/ready").status_code == 200
    assert get("/health").json()["database"] == "up"


@pytest.mark.parametrize(
    ("operation", "query", "slow_plan_seconds", "outcome"),
    [
        ("server.stats", "owner.stats", math.inf, "ok"),
        ("search.explain", "search.find", 0.0, "ok"),
        ("search.explain", "search.find", math.inf, "DB_TIMEOUT"),
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
    arguments = {"search": "Ada"} if operation == "search.explain" else {}
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
    assert all(database.planning.has_plan(name) for names in PLANNED_FIRST for name in names)
    database.planning.planned.clear()
    answer = get("/health/ready")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DB_CONNECTION_FAILED")
    assert "plans" in answer.json()["message"]
    assert get("/health").json()["database"] == "up"
    database.planning.planned.set()


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
        assert time.monotonic() - begin < 2 * STATE_SECONDS
    finally:
        faulty.do(faulty.proxy.cut)
        faulty.do(faulty.proxy.resume)


def test_health_asks_the_database_once_a_second_at_most(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, pings = getter(faulty), []
    verify = faulty.services.database.verify

    async def counted() -> None:
        pings.append(time.monotonic())
        await verify()

    monkeypatch.setattr(faulty.services.database, "verify", counted)
    end = time.monotonic() + 1.5 * STATE_SECONDS
    calls = 0
    while time.monotonic() < end:
        assert get("/health").status_code == get("/health/ready").status_code == 200
        calls += 2
    assert calls > 4 >= len(pings) + 2


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_database_that_hangs_is_503_in_time(faulty: Faulty, name: str) -> None:
    arguments = {"entities": [ADA]} if name == "store" else {}
    faulty.call(name, **arguments)
    faulty.do(faulty.proxy.stall)
    try:
        faulty.told(name, **arguments)
    finally:
        faulty.do(faulty.proxy.cut)
        faulty.do(faulty.proxy.resume)
    assert faulty.call(name, **arguments)


# Planned first


SLOW_PLAN = 5.0
"""Seconds: longer than a read may take (2 s) with the grace of its answer (2 s)."""


def test_a_first_run_may_take_longer_than_a_read(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.answer_late(b"entity.page", SLOW_PLAN))
    assert faulty.call("entities.query")["entities"] == []
    assert faulty.told("entities.query").code == "DB_TIMEOUT"


def test_a_first_write_may_take_longer_than_a_write(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.answer_late(WRITE, SLOW_PLAN))
    assert faulty.call("store", entities=[ADA])["entities_created"] == 1


def test_a_first_run_after_a_restart_of_the_database_may_take_long_again(faulty: Faulty) -> None:
    """A restarted server knows no plan. The service notices the restart: it sends statements all the time."""
    faulty.call("entities.query")
    faulty.do(faulty.proxy.refuse)
    faulty.told("server.stats")
    faulty.do(faulty.proxy.resume)
    faulty.do(lambda: faulty.proxy.answer_late(b"entity.page", SLOW_PLAN))
    assert faulty.call("entities.query")["entities"] == []


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_first_run_on_a_server_that_hangs_ends_in_time(faulty: Faulty, name: str) -> None:
    faulty.do(faulty.proxy.stall)
    begin = time.monotonic()
    assert faulty.told(name, **({"entities": [ADA]} if name == "store" else {})).code.startswith("DB_")
    assert time.monotonic() - begin < BOUND


# Not acknowledged


@pytest.mark.parametrize("key", [None, "k"])
def test_a_write_that_was_not_acknowledged_is_answered_as_if_it_had_been(
    faulty: Faulty, key: str | None
) -> None:
    faulty.call("store", entities=[{**ADA, "born": 0}])
    request = {"entities": [ADA, {**ADA, "more": 1}], "idempotency_key": key}
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE))
    stored = faulty.call("store", **request)
    assert (faulty.proxy.lost, stored["replayed"]) == (1, False)
    assert (stored["entities_created"], stored["observations_created"]) == (0, 2)
    assert [item["deduplicated"] for item in stored["entities"]] == [False, False]
    assert stored["entities"][1]["entity_snapshot_after"] == {
        **{k: ADA[k] for k in ("name", "born")},
        "more": 1,
    }
    stats = faulty.call("server.stats")
    assert (stats["sequence"], stats["total_observations"]) == (2, 3)
    if key is not None:
        again = faulty.call("store", **request)
        assert (again["replayed"], again["transaction_id"]) == (True, stored["transaction_id"])


def test_the_warnings_of_a_write_that_was_not_acknowledged_are_told(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE))
    stored = faulty.call("store", entities=[{**ADA, "born": None}])
    assert faulty.proxy.lost == 1
    assert [warning["code"] for warning in stored["store_warnings"]] == ["NULL_CLEARED_FIELD"]


def test_the_first_write_of_an_owner_may_be_the_one(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(b"owner.create"))
    assert not faulty.call("store", entities=[ADA])["replayed"]
    assert faulty.proxy.lost == 1
    assert faulty.call("server.stats")["sequence"] == 1


def test_what_stays_in_doubt_is_said_and_settled_by_the_same_key(faulty: Faulty) -> None:
    request = {"entities": [ADA], "idempotency_key": "k"}
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE, and_refuse=True))
    error = faulty.told("store", **request)
    assert (error.details, "idempotency_key" in str(error)) == ({"in_doubt": True}, True)
    faulty.do(faulty.proxy.resume)
    assert faulty.call("store", **request)["replayed"]
    stats = faulty.call("server.stats")
    assert (stats["sequence"], stats["total_observations"]) == (1, 1)


def test_requests_that_share_a_lost_acknowledgement_are_each_answered(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE))

    async def many() -> list[dict[str, Any]]:
        names = [f"n{i}" for i in range(10)]
        return await asyncio.gather(
            *(faulty.ask("store", entities=[{"entity_type": "thing", "name": name}]) for name in names)
        )

    answers = faulty.loop.run(many())
    assert [answer["entities_created"] for answer in answers] == [1] * 10
    assert len({answer["transaction_id"] for answer in answers}) == 10
    assert (faulty.proxy.lost, faulty.call("server.stats")["sequence"]) == (1, 11)


def lock_first(faulty: Faulty) -> Faulty:
    """Every turn of the services takes the lock first."""
    services = faulty.services
    limits = TurnLimits(losses_before_lock=0)
    writers = Writers(services.database, services.settings, services.embedder, limits)
    return replace(faulty, services=replace(services, writers=writers))


@pytest.fixture
def locking(faulty: Faulty) -> Faulty:
    """Services whose turns take the lock first."""
    faulty.call("store", entities=[ADA])
    return lock_first(faulty)


def test_a_commit_that_was_not_acknowledged_is_answered_as_if_it_had_been(locking: Faulty) -> None:
    locking.do(lambda: locking.proxy.lose_the_answer_to(COMMIT))
    stored = locking.call("store", entities=[{**ADA, "born": 1}])
    assert (locking.proxy.lost, stored["replayed"], stored["observations_created"]) == (1, False, 1)
    assert locking.call("server.stats")["sequence"] == 2


def test_a_commit_that_stays_in_doubt_is_said_to(locking: Faulty) -> None:
    locking.do(lambda: locking.proxy.lose_the_answer_to(COMMIT, and_refuse=True))
    error = locking.told("store", entities=[{**ADA, "born": 1}], idempotency_key="k")
    assert locking.proxy.lost == 1
    locking.do(locking.proxy.resume)
    assert locking.call("store", entities=[{**ADA, "born": 1}], idempotency_key="k")["replayed"]
    assert error.details == {"in_doubt": True}


# Faults of our own, and callers that leave


def at_once(faulty: Faulty, count: int) -> list[Outcome]:
    async def one(i: int) -> Outcome:
        try:
            return await faulty.ask("store", entities=[{"entity_type": "thing", "name": f"n{i}"}])
        except GraphmemError as exc:
            return exc

    async def every() -> list[Outcome]:
        return await asyncio.gather(*(one(i) for i in range(count)))

    return faulty.loop.run(every())


@pytest.mark.parametrize("count", [1, 5])
def test_an_unexpected_fault_of_a_write_is_answered(faulty: Faulty, count: int) -> None:
    settings = faulty.services.settings
    every_write = ",".join(f"before:write.turn=raise@{number}" for number in range(1, 20))
    failpoints.arm(settings.model_copy(update={"failpoints": every_write}))
    try:
        assert [type(outcome) for outcome in at_once(faulty, count)] == [InternalError] * count
    finally:
        failpoints.arm(settings)
    assert isinstance(at_once(faulty, 1)[0], dict)


class UndecidableRequest(StoreRequest):
    """A store request with a fault of our own."""

    def decide(self, state: Any, clock: int) -> Any:
        raise ValueError("an unforeseen fault")


def test_one_request_that_cannot_be_decided_does_not_fail_the_others(faulty: Faulty) -> None:
    def request(kind: type[StoreRequest], number: int) -> StoreRequest:
        transaction_id = ids.transaction_id()
        item = Reader(faulty.owner, transaction_id).item(0, {"entity_type": "thing", "name": f"n{number}"})
        assert item is not None
        return kind(
            owner=faulty.owner, transaction_id=transaction_id, operation="store", agent="anonymous",
            client="test", items=[item],
        )  # fmt: skip

    async def every() -> list[Any]:
        kinds = [StoreRequest] * 3 + [UndecidableRequest] + [StoreRequest] * 2
        submits = (faulty.services.writers.submit(request(kind, i)) for i, kind in enumerate(kinds))
        return await asyncio.gather(*submits, return_exceptions=True)

    outcomes = [type(outcome) for outcome in faulty.loop.run(every())]
    assert outcomes == [Receipt] * 3 + [InternalError] + [Receipt] * 2
    assert faulty.call("server.stats")["sequence"] == 5


def test_a_caller_that_leaves_does_not_take_the_others_along(faulty: Faulty) -> None:
    async def leaving() -> list[Any]:
        asked = [
            asyncio.create_task(faulty.ask("store", entities=[{"entity_type": "thing", "name": f"n{i}"}]))
            for i in range(6)
        ]
        await asyncio.sleep(0)
        asked[2].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    outcomes = faulty.loop.run(leaving())
    assert [i for i, one in enumerate(outcomes) if not isinstance(one, dict)] == [2]
    assert faulty.call("store", entities=[ADA])["entities_created"] == 1


def test_more_than_may_wait_is_refused_as_busy(faulty: Faulty) -> None:
    settings = faulty.services.settings.model_copy(update={"max_waiting": 2})
    services = faulty.services
    writers = Writers(services.database, settings, services.embedder)
    outcomes = at_once(replace(faulty, services=replace(faulty.services, writers=writers)), 10)
    busy = [one for one in outcomes if isinstance(one, ServiceBusy)]
    assert (len(busy), len(outcomes) - len(busy)) == (8, 2)
    assert faulty.call("server.stats")["sequence"] == 2
