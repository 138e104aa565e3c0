"""The network between service and database is slow, silent in one direction, or forgets its connections."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from graphmem.database.availability import STATE_SECONDS
from graphmem.errors import GraphmemError
from graphmem.settings import Settings
from tests.reliability.test_database_faults import COMMIT, lock_first
from tests.support.long_cases import mostly_long
from tests.support.proxied_services import ADA, BOUND, WRITE, Faulty

RECOVERY = 5.0
"""Seconds within which a call is answered once the network is well again."""


@pytest.fixture
def patient(settings: Settings, planned: None) -> Settings:
    """Settings that wait for little."""
    waits = ("acquisition_timeout", "connection_timeout", "read_timeout", "write_timeout", "retry_seconds")
    return settings.model_copy(update=dict.fromkeys(waits, 2.0))


@pytest.fixture
def faulty(faulty: Faulty) -> Faulty:
    """Services that give up soon after the limit of a statement."""
    faulty.services.database.answer_grace_seconds = 0.3
    return faulty


def do(faulty: Faulty, act: str, *arguments: Any, **how: Any) -> None:
    faulty.do(lambda: getattr(faulty.proxy, act)(*arguments, **how))


def outcomes_at_once(
    faulty: Faulty, count: int, name: str = "entities.query"
) -> list[dict[str, Any] | GraphmemError]:
    """Ask so often at the same time; every answer, or error."""

    async def ask(i: int) -> dict[str, Any] | GraphmemError:
        arguments = {"entities": [{**ADA, "n": i}]} if name == "store" else {}
        try:
            return await faulty.ask(name, **arguments)
        except GraphmemError as exc:
            return exc

    async def every() -> list[dict[str, Any] | GraphmemError]:
        return await asyncio.gather(*map(ask, range(count)))

    return faulty.loop.run(every())


PING_SECONDS = 7.0
"""Seconds after which a ping that is not answered is given up."""


def quickly(faulty: Faulty, name: str, **arguments: Any) -> dict[str, Any]:
    begin = time.monotonic()
    answer = faulty.call(name, **arguments)
    assert time.monotonic() - begin < RECOVERY
    return answer


# Slow


@pytest.mark.parametrize(("delay", "sip"), [(0.03, 65536), (0.001, 150)])
def test_a_slow_network_is_slow_and_no_more(faulty: Faulty, delay: float, sip: int) -> None:
    do(faulty, "slow", delay, sip)
    for _ in range(2):
        assert faulty.call("store", entities=[ADA])["success"]
    assert len(faulty.call("entities.query")["entities"]) == 1
    assert [
        outcome for outcome in outcomes_at_once(faulty, 8, "store") if isinstance(outcome, GraphmemError)
    ] == []
    do(faulty, "resume")
    assert faulty.call("server.stats")["sequence"] == 10


def test_a_network_that_is_too_slow_is_told_in_time(faulty: Faulty) -> None:
    faulty.call("store", entities=[ADA])
    do(faulty, "slow", 0.2, 20)
    begin = time.monotonic()
    assert faulty.refused("store", entities=[ADA], idempotency_key="k").details["in_doubt"] is False
    assert faulty.refused("entities.query").code in ("DB_TIMEOUT", "DB_CONNECTION_FAILED")
    assert time.monotonic() - begin < 2 * BOUND
    do(faulty, "resume")
    assert not quickly(faulty, "store", entities=[ADA], idempotency_key="k")["replayed"]
    assert faulty.call("server.stats")["sequence"] == 2


# One direction


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("store", "deafen"),
        ("entities.query", "mute"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("store", "mute"),
                ("entities.query", "deafen"),
            )
        ),
    ],
)
def test_a_connection_that_is_silent_in_one_direction_is_503_in_time(
    faulty: Faulty, name: str, act: str
) -> None:
    arguments = {"entities": [ADA]} if name == "store" else {}
    faulty.call(name, **arguments)
    do(faulty, act)
    assert faulty.refused(name, **arguments).code in ("DB_TIMEOUT", "DB_CONNECTION_FAILED")
    do(faulty, "resume")
    assert quickly(faulty, name, **arguments)
    assert faulty.call("server.stats")["sequence"] == (2 if name == "store" else 0)


@pytest.mark.parametrize("act", ["mute", pytest.param("deafen", marks=pytest.mark.long)])
def test_a_service_whose_database_is_silent_is_not_ready_until_it_answers_again(
    faulty: Faulty, act: str
) -> None:
    assert faulty.call("server.ready")["database"] == "up"
    do(faulty, act)
    time.sleep(STATE_SECONDS)
    assert faulty.refused("server.ready").code in ("DB_TIMEOUT", "DB_CONNECTION_FAILED")
    do(faulty, "resume")
    end = time.monotonic() + PING_SECONDS + RECOVERY
    while faulty.call("server.health")["database"] != "up":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert faulty.call("server.ready")["database"] == "up"


@pytest.mark.parametrize("locked", [False, True])
def test_a_write_whose_answer_never_comes_is_in_doubt_and_settled_by_its_key(
    faulty: Faulty, locked: bool
) -> None:
    faulty.call("store", entities=[ADA])
    if locked:
        faulty = lock_first(faulty)
        # The first transaction on a server may take a minute to plan: what is lost here is not the first one.
        faulty.call("store", entities=[{**ADA, "first": 1}])
    request = {"entities": [{**ADA, "more": 1}], "idempotency_key": "k"}
    do(faulty, "lose_the_answer_to", COMMIT if locked else WRITE, in_silence=True)
    assert faulty.refused("store", **request).details["in_doubt"] is True
    assert faulty.proxy.lost == 1
    assert quickly(faulty, "store", **request)["replayed"]
    assert faulty.call("server.stats")["sequence"] == 2 + locked


@pytest.mark.parametrize("mark", mostly_long([b"owner.lock", WRITE, COMMIT], COMMIT))
def test_a_lock_that_is_never_answered_holds_up_nobody_for_ever(faulty: Faulty, mark: bytes) -> None:
    faulty.call("store", entities=[ADA])
    faulty = lock_first(faulty)
    faulty.call("store", entities=[{**ADA, "first": 1}])
    mark = mark if mark == COMMIT else {b"owner.lock": b"SET owner.locked", WRITE: b"state_hash"}[mark]
    do(faulty, "lose_the_answer_to", mark, in_silence=True)
    faulty.refused("store", entities=[{**ADA, "more": 1}], idempotency_key="k")
    assert faulty.proxy.lost == 1
    assert faulty.call("store", entities=[{**ADA, "more": 1}], idempotency_key="k")
    assert faulty.call("server.stats")["sequence"] == 3


# Half of an answer


@pytest.mark.parametrize(
    ("locked", "keep"), mostly_long([(False, 1), (False, 9), (True, 1), (True, 9)], (False, 9), (True, 1))
)
def test_a_connection_that_breaks_in_the_midst_of_an_answer(faulty: Faulty, keep: int, locked: bool) -> None:
    faulty.call("store", entities=[ADA])
    if locked:
        faulty = lock_first(faulty)
    do(faulty, "lose_the_answer_to", COMMIT if locked else WRITE, keep=keep)
    stored = quickly(faulty, "store", entities=[{**ADA, "more": 1}])
    assert (faulty.proxy.lost, stored["replayed"]) == (1, False)
    assert faulty.call("server.stats")["sequence"] == 2


# Forgotten


@pytest.mark.parametrize("name", ["store", "entities.query"])
def test_connections_that_were_forgotten_are_given_up_after_the_first(faulty: Faulty, name: str) -> None:
    assert not any(isinstance(outcome, GraphmemError) for outcome in outcomes_at_once(faulty, 10))
    assert faulty.proxy.connections >= 10
    do(faulty, "forget")
    arguments = {"entities": [ADA]} if name == "store" else {}
    faulty.refused(name, **arguments)
    # Not one timeout for each of the connections that there were.
    for _ in range(3):
        assert quickly(faulty, name, **arguments)
