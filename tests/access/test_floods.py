"""What the flood of one caller does to others: accounts take turns, and refusals of a flood wait."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.api import limits
from graphmem.api.limits import PROMPT_REFUSALS, REFUSALS_SECONDS, RateLimits
from graphmem.api.middleware import PLACES, PLACES_MIN, PRESENCE_SECONDS, Gate, Turns
from graphmem.auth import Actor, public_actor
from graphmem.auth.authenticator import Caller
from graphmem.auth.rates import RateClass, meter
from graphmem.errors import RateLimited
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import NO_TRACES
from graphmem.settings import load
from tests.support.actors import full_actor

pytestmark = pytest.mark.anyio
SHARE = PLACES // 2
"""Requests of each of two accounts that run at once."""


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that runs the tests."""
    return "asyncio"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Requests:
    """Requests that run until the test ends them, in the order in which they began."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.running: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def send(self, account: str, *names: str) -> None:
        """Send requests of an account, and let all that may run begin."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._run(account, name))
            await self.settle()

    async def end(self, *names: str) -> None:
        """End requests that run."""
        for name in names:
            self._ends[name].set()
            await self.settle()

    async def cancel(self, name: str) -> None:
        """Cancel a request."""
        self._tasks[name].cancel()
        await self.settle()

    async def settle(self) -> None:
        """Let every request go as far as it can."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def _run(self, account: str, name: str) -> None:
        async with self.turns.turn(account):
            self.running.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.running.remove(name)


def numbered(letter: str, count: int) -> list[str]:
    """Return the names of requests: a0, a1 …"""
    return [f"{letter}{number}" for number in range(count)]


def gate(app: ASGIApp, **settings: str) -> Gate:
    """Return a gate before an application. The owner of a request is in its header ``X-Owner``."""

    async def authenticate(caller: Caller) -> Actor:
        return full_actor(caller.headers["x-owner"])

    loaded = load(env="test", **settings)
    limits_of = RateLimits(loaded)
    return Gate(app, loaded, authenticate, Metrics(), NO_TRACES, methods=lambda path: (), limits=limits_of)


@pytest.fixture
def clock() -> Clock:
    """The clock of the turns and limits of a test."""
    return Clock()


@pytest.fixture
def requests(clock: Clock) -> Requests:
    """Requests that take turns."""
    return Requests(Turns(clock=clock))


async def test_an_account_that_is_alone_has_the_whole_process(requests: Requests) -> None:
    await requests.send("ada", *numbered("a", 40))
    assert requests.running == numbered("a", 40)


async def test_beside_another_account_a_flood_has_its_share(requests: Requests) -> None:
    await requests.send("bob", "b0")
    await requests.send("ada", *numbered("a", 40))
    assert requests.running == ["b0", *numbered("a", SHARE)]
    await requests.send("bob", "b1", "b2")
    assert requests.running[-2:] == ["b1", "b2"]


async def test_the_requests_of_an_account_run_in_their_order(requests: Requests) -> None:
    await requests.send("bob", "b0")
    await requests.send("ada", *numbered("a", SHARE + 3))
    await requests.end("a1", "a0")
    assert requests.running == ["b0", *numbered("a", SHARE + 2)[2:]]
    await requests.end("a2")
    assert requests.running[-1] == f"a{SHARE + 2}"


async def test_a_flood_that_began_alone_shrinks_to_its_share(requests: Requests) -> None:
    await requests.send("ada", *numbered("a", 20))
    await requests.send("bob", "b0")
    await requests.send("ada", "late")
    await requests.end(*numbered("a", 20 - SHARE))
    assert "late" not in requests.running
    await requests.end(f"a{19}")
    assert "late" in requests.running


async def test_when_the_other_account_is_gone_all_that_wait_run(requests: Requests, clock: Clock) -> None:
    await requests.send("bob", "b0")
    await requests.send("ada", *numbered("a", 20))
    await requests.end("b0")
    clock.now += PRESENCE_SECONDS + 0.1
    await requests.send("ada", "last")
    await requests.end("a0")
    assert len(requests.running) == 20


async def test_a_request_that_runs_long_keeps_its_account_present(requests: Requests, clock: Clock) -> None:
    await requests.send("bob", "b0")
    clock.now += PRESENCE_SECONDS + 0.1
    await requests.send("ada", *numbered("a", 20))
    assert requests.running == ["b0", *numbered("a", SHARE)]


async def test_every_account_has_some_places_among_many(requests: Requests) -> None:
    for number in range(PLACES):
        await requests.send(f"other{number}", f"o{number}")
    await requests.send("ada", *numbered("a", 20))
    assert requests.running[PLACES:] == numbered("a", PLACES_MIN)


async def test_a_request_that_is_cancelled_while_it_waits_takes_no_place(requests: Requests) -> None:
    await requests.send("bob", "b0")
    await requests.send("ada", *numbered("a", SHARE), "gone", "next")
    await requests.cancel("gone")
    await requests.end("a0")
    assert "next" in requests.running
    await requests.cancel("a1")
    await requests.send("ada", "last")
    assert "last" in requests.running


async def test_a_request_that_is_cancelled_as_its_turn_comes_gives_it_on(requests: Requests) -> None:
    await requests.send("bob", "b0")
    await requests.send("ada", *numbered("a", SHARE), "gone", "next")
    requests._ends["a0"].set()
    requests._tasks["gone"].cancel()
    await requests.settle()
    assert "next" in requests.running


async def test_accounts_that_are_gone_are_forgotten(requests: Requests, clock: Clock) -> None:
    for number in range(100):
        await requests.send(f"account{number}", f"r{number}")
        await requests.end(f"r{number}")
        clock.now += 0.5
    assert len(requests.turns._seen) <= 2 + PRESENCE_SECONDS / 0.5


async def test_requests_without_an_account_never_wait() -> None:
    running: list[None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        running.append(None)
        await asyncio.Event().wait()

    async def drop(message: Message) -> None:
        """Take an answer that nobody reads."""

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(count: int, path: str, owner: str = "") -> list[asyncio.Task[None]]:
        headers = [(b"host", b"localhost"), (b"x-owner", owner.encode())]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        tasks = [asyncio.create_task(passed({**scope}, receive, drop)) for _ in range(count)]
        await asyncio.sleep(0.05)
        return tasks

    passed = gate(app)
    tasks = await send(1, "/stats", "bob") + await send(20, "/stats", "ada")
    assert len(running) == 1 + SHARE
    tasks += await send(20, "/health")
    assert len(running) == 1 + SHARE + 20
    for task in tasks:
        task.cancel()


def test_the_refusals_of_a_flood_wait_and_those_of_others_do_not(clock: Clock) -> None:
    counted = RateLimits(load(env="test"), clock)
    delays = [counted.refusal_delay("192.0.2.1") for _ in range(300)]
    assert not any(delays[:PROMPT_REFUSALS])
    assert delays == sorted(delays)
    assert delays[PROMPT_REFUSALS] == pytest.approx(limits.REFUSAL_STEP_SECONDS)
    assert delays[-1] == limits.REFUSAL_DELAY_SECONDS_MAX
    assert counted.refusal_delay("192.0.2.2") == 0
    clock.now += REFUSALS_SECONDS + 0.1
    assert counted.refusal_delay("192.0.2.1") == 0


async def test_an_answer_to_a_flood_waits_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            meter().count(RateClass.READ, public_actor())
            status = 200
        except RateLimited:
            status = 429
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    monkeypatch.setattr(limits.asyncio, "sleep", sleep)
    monkeypatch.setattr(limits, "PROMPT_REFUSALS", 2)
    limited = gate(app, limit_reads="3/minute")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(limited), base_url="http://localhost") as http:
        statuses = [(await http.get("/")).status_code for _ in range(7)]
    assert statuses == [200] * 3 + [429] * 4
    assert waits == pytest.approx([0, 0, 0.01, 0.02])
