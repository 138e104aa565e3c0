"""The database goes away, hangs, or does not acknowledge: nothing is lost or doubled, and it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth import Actor
from graphmem.auth.authenticator import Caller
from graphmem.errors import GraphmemError, InternalError, ServiceBusy
from graphmem.model import ids
from graphmem.model.items import ItemReader
from graphmem.registry import REGISTRY
from graphmem.settings import Settings
from graphmem.writing import Receipt, StoreRequest, TurnLimits, Writers
from tests.support import failpoints
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import by_rest
from tests.support.proxied_services import ADA, BOUND, RETRY, WRITE, Faulty, behind_proxy
from tests.support.tcp_proxy import Proxy

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""The message of the Bolt protocol that commits an explicit transaction."""
Outcome = dict[str, Any] | GraphmemError


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
    assert faulty.refused("entities.query").code == "DB_CONNECTION_FAILED"
    assert time.monotonic() - begin < RETRY + 10
    faulty.do(faulty.proxy.resume)
    assert len(faulty.call("entities.query")["entities"]) == 1


def test_a_write_while_the_database_is_down_is_503_in_time_and_leaves_no_doubt(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(faulty.proxy.refuse)
    begin = time.monotonic()
    error = faulty.refused("store", entities=[ADA])
    assert time.monotonic() - begin < 2 * RETRY + 10
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


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_a_database_that_hangs_is_503_in_time(faulty: Faulty, name: str) -> None:
    arguments = {"entities": [ADA]} if name == "store" else {}
    faulty.call(name, **arguments)
    faulty.do(faulty.proxy.stall)
    try:
        faulty.refused(name, **arguments)
    finally:
        faulty.do(faulty.proxy.cut)
        faulty.do(faulty.proxy.resume)
    assert faulty.call(name, **arguments)


# Over REST


def write_arguments(entity_ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return the arguments of each write, about two stored entities."""
    source_id, target_id = entity_ids
    ends = {"source_entity_id": source_id, "target_entity_id": target_id}
    return {
        "store": {"entities": [ADA]},
        "entities.correct": {"entity_id": source_id, "field": "born", "value": 1816},
        "relationships.create": {"relationship_type": "REFERS_TO", **ends},
        "entities.merge": ends,
        "entities.delete": {"entity_id": target_id},
    }


@pytest.fixture
def impatient(loop: Loop, patient: Settings, owner: str) -> Iterator[Faulty]:
    """Services that give up a statement soon, behind a proxy. A connection may take long to open."""
    waits: dict[str, float] = dict.fromkeys(("read_timeout", "write_timeout", "retry_seconds"), 1.0)
    waits |= dict.fromkeys(("acquisition_timeout", "connection_timeout"), 60.0)
    with behind_proxy(loop, patient.model_copy(update=waits), owner) as services:
        services.services.database.answer_grace_seconds = 0.1
        yield services


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (lambda proxy: proxy.refuse(), "DB_CONNECTION_FAILED"),
        # Each statement about an owner has the parameter "owner".
        (lambda proxy: proxy.answer_late(b"owner", BOUND), "DB_TIMEOUT"),
    ],
    ids=["down", "silent"],
)
def test_each_write_over_rest_while_the_database_is_away_is_503(
    impatient: Faulty, fault: Callable[[Proxy], None], code: str
) -> None:
    async def name_owner(caller: Caller) -> Actor:
        return full_actor(caller.headers.get("authorization", "").removeprefix("Bearer "))

    app = create_app(impatient.services, name_owner)
    ready = by_rest(impatient.loop, app, impatient.owner)
    stored = ready("store", entities=[ADA, {**ADA, "name": "Charles Babbage"}])["entities"]
    arguments = write_arguments([item["entity_id"] for item in stored])
    for name in arguments:
        ready(name, **arguments[name])

    async def write(name: str) -> str:
        # Each by an owner of its own: writes of one owner wait for each other.
        headers = {"Authorization": f"Bearer {impatient.owner}-{name}"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://localhost", headers=headers
        ) as http:
            answer = await http.post(REGISTRY[name].routes[0][1], json=arguments[name])
        assert answer.status_code == 503
        return answer.json()["error_code"]

    async def write_all() -> list[str]:
        return await asyncio.gather(*map(write, arguments))

    impatient.do(lambda: fault(impatient.proxy))
    assert impatient.loop.run(write_all()) == [code] * len(arguments)


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


def test_the_first_write_of_an_owner_may_be_the_unacknowledged_one(faulty: Faulty) -> None:
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(b"owner.create"))
    assert not faulty.call("store", entities=[ADA])["replayed"]
    assert faulty.proxy.lost == 1
    assert faulty.call("server.stats")["sequence"] == 1


def test_what_stays_in_doubt_is_said_and_settled_by_the_same_key(faulty: Faulty) -> None:
    request = {"entities": [ADA], "idempotency_key": "k"}
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE, and_refuse=True))
    error = faulty.refused("store", **request)
    assert (error.details, "idempotency_key" in str(error)) == ({"in_doubt": True}, True)
    faulty.do(faulty.proxy.resume)
    assert faulty.call("store", **request)["replayed"]
    stats = faulty.call("server.stats")
    assert (stats["sequence"], stats["total_observations"]) == (1, 1)


def test_requests_that_share_a_lost_acknowledgement_are_each_answered(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    faulty.do(lambda: faulty.proxy.lose_the_answer_to(WRITE))

    async def store_at_once() -> list[dict[str, Any]]:
        names = [f"n{i}" for i in range(10)]
        return await asyncio.gather(
            *(faulty.ask("store", entities=[{"entity_type": "thing", "name": name}]) for name in names)
        )

    answers = faulty.loop.run(store_at_once())
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


def test_a_commit_that_stays_in_doubt_is_reported_as_in_doubt(locking: Faulty) -> None:
    locking.do(lambda: locking.proxy.lose_the_answer_to(COMMIT, and_refuse=True))
    error = locking.refused("store", entities=[{**ADA, "born": 1}], idempotency_key="k")
    assert locking.proxy.lost == 1
    locking.do(locking.proxy.resume)
    assert locking.call("store", entities=[{**ADA, "born": 1}], idempotency_key="k")["replayed"]
    assert error.details == {"in_doubt": True}


# Faults of our own, and callers that leave


def at_once(faulty: Faulty, count: int) -> list[Outcome]:
    async def store(i: int) -> Outcome:
        try:
            return await faulty.ask("store", entities=[{"entity_type": "thing", "name": f"n{i}"}])
        except GraphmemError as exc:
            return exc

    async def every() -> list[Outcome]:
        return await asyncio.gather(*(store(i) for i in range(count)))

    return faulty.loop.run(every())


@pytest.mark.parametrize("count", [1, 5])
def test_an_unexpected_fault_of_a_write_is_answered(faulty: Faulty, count: int) -> None:
    every_write = ",".join(f"before:write.turn=raise@{number}" for number in range(1, 20))
    failpoints.arm(every_write)
    try:
        assert [type(outcome) for outcome in at_once(faulty, count)] == [InternalError] * count
    finally:
        failpoints.arm()
    assert isinstance(at_once(faulty, 1)[0], dict)


class UndecidableRequest(StoreRequest):
    """A store request with a fault of our own."""

    def decide(self, state: Any, clock: int) -> Any:
        raise ValueError("an unforeseen fault")


def test_one_request_that_cannot_be_decided_does_not_fail_the_others(faulty: Faulty) -> None:
    def request(kind: type[StoreRequest], number: int) -> StoreRequest:
        transaction_id = ids.transaction_id()
        item = ItemReader(faulty.owner, transaction_id).item(
            0, {"entity_type": "thing", "name": f"n{number}"}
        )
        assert item is not None
        return kind(
            owner=faulty.owner, transaction_id=transaction_id, operation="store", agent="anonymous",
            client="test", by="{}", items=[item],
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
        tasks = [
            asyncio.create_task(faulty.ask("store", entities=[{"entity_type": "thing", "name": f"n{i}"}]))
            for i in range(6)
        ]
        await asyncio.sleep(0)
        tasks[2].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = faulty.loop.run(leaving())
    assert [i for i, outcome in enumerate(outcomes) if not isinstance(outcome, dict)] == [2]
    assert faulty.call("store", entities=[ADA])["entities_created"] == 1


def test_more_than_may_wait_is_refused_as_busy(faulty: Faulty) -> None:
    settings = faulty.services.settings.model_copy(update={"max_waiting": 2})
    services = faulty.services
    writers = Writers(services.database, settings, services.embedder)
    outcomes = at_once(replace(faulty, services=replace(faulty.services, writers=writers)), 10)
    busy = [outcome for outcome in outcomes if isinstance(outcome, ServiceBusy)]
    assert (len(busy), len(outcomes) - len(busy)) == (8, 2)
    assert faulty.call("server.stats")["sequence"] == 2
