"""Rate limits: for each credential and each address, by class of operation, over REST and MCP."""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from graphmem.api.addresses import caller_address, network
from graphmem.api.app import create_app
from graphmem.api.limits import RateLimits, Usage, Windows
from graphmem.auth import Actor, Method, Scope, authenticator, public_actor
from graphmem.auth.rates import RateClass
from graphmem.database.admission import Admission
from graphmem.errors import (
    AuthInvalid,
    AuthRequired,
    ConfigurationInvalid,
    DatabaseUnavailable,
    NotFound,
    RateLimited,
)
from graphmem.registry import REGISTRY, Face, Services
from graphmem.service.front import create_local_app
from graphmem.settings import load
from tests.faces.test_http_edges import STATUSES, envelope
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop

TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
MCP = {"Accept": "application/json, text/event-stream"}
STORE = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}
HEAVY = {
    "context.retrieve", "entities.duplicates", "entities.find", "entities.query", "entities.related",
    "graph.neighborhood", "observations.query", "relationships.list", "schemas.analyze",
    "schemas.recommend", "search.explain", "server.check_snapshots",
}  # fmt: skip
"""Operations that run a query of ``cost heavy``, with some arguments at least."""


class Caller:
    """Sends requests to one application, from an address, with a credential: the owner of what it stores."""

    def __init__(self, loop: Loop, app: Any, token: str | None = None, address: str = "192.0.2.1") -> None:
        self.loop = loop
        self.app = app
        self.token = token
        self.address = address

    def __call__(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= kwargs.pop("headers", {})
        return self.loop.run(self._send(method, path, headers=headers, **kwargs))

    async def _send(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(self.address, 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            return await http.request(method, path, **kwargs)

    def message(self, method: str, path: str = "/mcp", **params: Any) -> httpx.Response:
        """Send a message of MCP."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self("POST", path, json=body, headers=MCP)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        return self.message("tools/call", name=name, arguments=arguments).json()["result"]


class Looked:
    """Counts the credentials that were looked up. A good one is ``good-OWNER`` or ``good-OWNER/KEY``."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, caller: authenticator.Caller) -> Actor:
        authorization = caller.headers.get("authorization")
        if authorization is None:
            raise AuthRequired
        self.count += 1
        token = authorization.removeprefix("Bearer ")
        if not token.startswith("good"):
            raise AuthInvalid
        owner, _, credential = token.removeprefix("good-").partition("/")
        return replace(full_actor(owner), method=Method.KEY, credential=credential)


@pytest.fixture
def lookups() -> Looked:
    """What looks credentials up."""
    return Looked()


Make = Callable[..., Any]


@pytest.fixture
def app_with(loop: Loop, services: Services, lookups: Looked) -> Iterator[Make]:
    """Make an application with some limits; its other classes have none."""
    ended = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def start(app: Any) -> None:
        started = asyncio.Event()

        async def live() -> None:
            async with app.router.lifespan_context(app):
                started.set()
                await ended.wait()

        tasks.append(asyncio.create_task(live()))
        await started.wait()

    def make(**limits: Any) -> Any:
        settings = services.settings.model_copy(update=limits)
        app = create_app(replace(services, settings=settings), lookups)
        loop.run(start(app))
        return app

    async def end() -> None:
        ended.set()
        await asyncio.gather(*tasks)

    yield make
    loop.run(end())


@pytest.fixture
def other_owner() -> str:
    """Another owner that nobody else has."""
    return str(uuid.uuid4())


def refused(answer: httpx.Response) -> dict[str, Any]:
    """Return the details of a refusal, after checking the whole of it."""
    body = envelope(answer)
    assert (answer.status_code, body["error_code"]) == (429, "RATE_LIMITED")
    details = body["details"]
    assert details["retryable"] is True
    assert answer.headers["retry-after"] == str(details["retry_after"])
    assert 1 <= details["retry_after"] <= 60
    assert f";r=0;t={details['retry_after']}" in answer.headers["ratelimit"]
    return details


# Limits of a credential


@pytest.mark.parametrize(
    ("limit", "method", "path", "body"),
    [
        ("limit_reads", "GET", "/stats", None),
        ("limit_writes", "POST", "/store", STORE),
        ("limit_heavy", "POST", "/entities/query", {}),
        ("limit_reads", "GET", "/openapi.yaml", None),
        ("limit_reads", "GET", "/metrics", None),
    ],
)
def test_the_request_beyond_the_limit_is_refused_and_other_callers_are_not(
    loop: Loop, app_with: Make, owner: str, other_owner: str, limit: str, method: str, path: str, body: Any
) -> None:
    app = app_with(**{limit: "3/minute"})
    caller = Caller(loop, app, f"good-{owner}")
    for left in (2, 1, 0):
        answer = caller(method, path, json=body)
        assert answer.status_code == 200
        name = limit.removeprefix("limit_").removesuffix("s")
        assert answer.headers["ratelimit-policy"] == f'"{name}";q=3;w=60'
        assert answer.headers["ratelimit"].startswith(f'"{name}";r={left};t=')
    assert refused(caller(method, path, json=body))["limit"] == name
    # The same address with another credential is another caller.
    assert Caller(loop, app, f"good-{other_owner}")(method, path, json=body).status_code == 200
    # Another address with the same credential is the same caller.
    refused(Caller(loop, app, f"good-{owner}", "198.51.100.7")(method, path, json=body))


def test_each_class_has_a_limit_of_its_own(loop: Loop, app_with: Make, owner: str) -> None:
    limits = {"limit_reads": "1/minute", "limit_writes": "2/minute", "limit_heavy": "1/minute"}
    caller = Caller(loop, app_with(**limits), f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    refused(caller("GET", "/stats"))
    assert caller("POST", "/entities/query", json={}).status_code == 200
    refused(caller("POST", "/entities/query", json={}))
    for _ in range(2):
        assert caller("POST", "/store", json=STORE).status_code == 200
    refused(caller("POST", "/store", json=STORE))


def test_two_keys_of_an_account_are_two_callers(loop: Loop, app_with: Make, owner: str) -> None:
    app = app_with(limit_reads="1/minute")
    for key in ("first", "second"):
        caller = Caller(loop, app, f"good-{owner}/{key}")
        assert caller("GET", "/stats").status_code == 200
        refused(caller("GET", "/stats"))


def test_a_refused_request_is_refused_before_its_body_is_read(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_writes="1/minute"), f"good-{owner}")
    assert caller("POST", "/store", json=STORE).status_code == 200

    async def never() -> Any:
        raise AssertionError("the body was read")
        yield b""

    refused(caller("POST", "/store", content=never(), headers={"Content-Type": "application/json"}))


def test_a_malformed_request_counts(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_writes="1/minute"), f"good-{owner}")
    assert caller("POST", "/store", content=b"{").status_code == 400
    refused(caller("POST", "/store", content=b"{"))


def test_what_the_scopes_do_not_allow_counts(loop: Loop, services: Services, owner: str) -> None:
    reader = Actor(owner=owner, scopes=frozenset({Scope.READ}))
    settings = services.settings.model_copy(update={"limit_writes": "1/minute"})
    app = create_app(replace(services, settings=settings), always(reader))
    caller = Caller(loop, app)
    assert caller("POST", "/store", json=STORE).status_code == 403
    refused(caller("POST", "/store", json=STORE))


def test_after_retry_after_a_request_is_answered(owner: str) -> None:
    now = [1000.0]
    limits = RateLimits(load(limit_reads="2/minute"), clock=lambda: now[0])

    def take() -> tuple[bool, Usage]:
        taken = limits.take(RateClass.READ, full_actor(owner), "")
        assert taken is not None
        return taken

    assert take()[0]
    now[0] += 20.4
    assert take()[0]
    now[0] += 1
    is_left, usage = take()
    wait = usage.refusal().details["retry_after"]
    assert (is_left, wait) == (False, math.ceil(60 - 21.4))
    now[0] += wait - 1
    assert not take()[0]
    now[0] += 1
    assert take()[0]


# MCP


def test_a_tool_beyond_the_limit_fails_with_the_envelope(
    loop: Loop, app_with: Make, owner: str, other_owner: str
) -> None:
    app = app_with(limit_reads="1/minute")
    caller = Caller(loop, app, f"good-{owner}")
    assert not caller.tool("get_stats")["isError"]
    result = caller.tool("get_stats")
    assert result["isError"]
    assert result["structuredContent"]["error_code"] == "RATE_LIMITED"
    assert 1 <= result["structuredContent"]["details"]["retry_after"] <= 60
    assert not Caller(loop, app, f"good-{other_owner}").tool("get_stats")["isError"]


def test_rest_and_mcp_share_what_is_left(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_reads="2/minute"), f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    assert not caller.tool("get_stats")["isError"]
    assert caller.tool("get_stats")["isError"]
    refused(caller("GET", "/stats"))


def test_a_tool_counts_once_and_shows_what_is_left(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_reads="9/minute", limit_heavy="9/minute"), f"good-{owner}")
    answer = caller.message("tools/call", name="retrieve_entities", arguments={})
    assert answer.headers["ratelimit"].startswith('"heavy";r=8;')
    assert caller("GET", "/stats").headers["ratelimit"].startswith('"read";r=8;')


@pytest.mark.parametrize("method", ["tools/list", "ping"])
def test_other_messages_count_as_reads(loop: Loop, app_with: Make, owner: str, method: str) -> None:
    caller = Caller(loop, app_with(limit_reads="1/minute"), f"good-{owner}")
    assert "result" in caller.message(method).json()
    error = caller.message(method).json()["error"]
    assert error["data"]["error_code"] == "RATE_LIMITED"


def test_a_batch_of_messages_is_refused(loop: Loop, app_with: Make, owner: str) -> None:
    """A request counts once. It must therefore hold one message."""
    caller = Caller(loop, app_with(), f"good-{owner}")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_stats"}}
    answer = caller("POST", "/mcp", json=[call, call], headers=MCP)
    assert answer.status_code == 400
    assert "result" not in answer.text


# Limits of an address


def test_a_public_route_counts_for_the_address(loop: Loop, app_with: Make) -> None:
    app = app_with(limit_reads="2/minute")
    for path in ("/server-info", "/"):
        assert Caller(loop, app)("GET", path).status_code == 200
    refused(Caller(loop, app)("GET", "/server-info"))
    assert Caller(loop, app, address="192.0.2.2")("GET", "/server-info").status_code == 200


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_probes_are_not_limited(loop: Loop, app_with: Make, path: str) -> None:
    caller = Caller(loop, app_with(limit_reads="1/minute"))
    for _ in range(3):
        answer = caller("GET", path)
        assert answer.status_code in (200, 503)
        assert "ratelimit" not in answer.headers


@pytest.mark.parametrize(
    ("address", "other", "is_same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
    ],
)
def test_an_ipv6_caller_is_its_network(
    loop: Loop, app_with: Make, address: str, other: str, is_same: bool
) -> None:
    app = app_with(limit_reads="1/minute")
    assert Caller(loop, app, address=address)("GET", "/server-info").status_code == 200
    answer = Caller(loop, app, address=other)("GET", "/server-info")
    assert answer.status_code == (429 if is_same else 200)


PROXY, INNER = "10.0.0.2", "10.0.0.3"


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        (PROXY, ["203.0.113.9"], "203.0.113.9"),
        (PROXY, ["203.0.113.9:4711"], "203.0.113.9"),
        (PROXY, ["[2001:db8::1]:4711"], "2001:db8::1"),
        (PROXY, ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        (PROXY, ["1.1.1.1", "203.0.113.9"], "203.0.113.9"),
        (PROXY, [f"203.0.113.9, {INNER}"], "203.0.113.9"),
        (f"::ffff:{PROXY}", ["203.0.113.9"], "203.0.113.9"),
        (PROXY, [f"1.1.1.1, unknown, {INNER}"], INNER),
        (PROXY, ["unknown"], PROXY),
        (PROXY, [], PROXY),
        (PROXY, [INNER], INNER),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        ("127.0.0.1", ["203.0.113.9"], "127.0.0.1"),
    ],
)
def test_behind_trusted_proxies_the_last_untrusted_hop_counts(
    peer: str, forwarded: list[str], address: str
) -> None:
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    scope = {"type": "http", "client": (peer, 1), "headers": headers}
    assert caller_address(scope, frozenset({PROXY, INNER})) == address


def test_a_forwarded_address_counts_from_a_trusted_proxy_only(loop: Loop, app_with: Make) -> None:
    app = app_with(limit_reads="1/minute", trusted_proxies=(PROXY,))
    for hop in ("203.0.113.1", "203.0.113.2"):
        caller = Caller(loop, app, address=PROXY)
        assert caller("GET", "/server-info", headers={"X-Forwarded-For": hop}).status_code == 200
        refused(caller("GET", "/server-info", headers={"X-Forwarded-For": f"9.9.9.9, {hop}"}))
    stranger = Caller(loop, app, address="192.0.2.1")
    assert stranger("GET", "/server-info", headers={"X-Forwarded-For": "203.0.113.3"}).status_code == 200
    refused(stranger("GET", "/server-info", headers={"X-Forwarded-For": "203.0.113.4"}))


def test_a_forwarded_address_gives_no_right(loop: Loop, app_with: Make) -> None:
    caller = Caller(loop, app_with(trusted_proxies=(PROXY,)), address=PROXY)
    assert caller("GET", "/stats", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 401


# Failed attempts


def test_after_too_many_failures_an_unknown_credential_is_not_looked_up(
    loop: Loop, app_with: Make, lookups: Looked, owner: str
) -> None:
    app = app_with(limit_failures="3/minute")
    assert Caller(loop, app, f"good-{owner}")("GET", "/stats").status_code == 200
    for guess in range(3):
        assert Caller(loop, app, f"bad-{guess}")("GET", "/stats").status_code == 401
    looked_up = lookups.count
    for path in ("/stats", "/mcp", "/nowhere"):
        details = refused(Caller(loop, app, "bad-4")("POST", path))
        assert details["limit"] == "failures"
    refused(Caller(loop, app, f"good-{uuid.uuid4()}")("GET", "/stats"))
    assert lookups.count == looked_up
    # A credential that was good before is tried, and another address may try any.
    assert Caller(loop, app, f"good-{owner}")("GET", "/stats").status_code == 200
    assert Caller(loop, app, "bad-5", "192.0.2.2")("GET", "/stats").status_code == 401
    # Without a credential nothing is attempted.
    assert Caller(loop, app)("GET", "/stats").status_code == 401
    assert Caller(loop, app)("GET", "/health").status_code == 200


def test_a_revoked_credential_is_known_no_more(
    loop: Loop, app_with: Make, lookups: Looked, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_with(limit_failures="1/minute")
    caller = Caller(loop, app, f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    monkeypatch.setattr(lookups, "__class__", type("Revoked", (Looked,), {"__call__": _refuse}))
    assert caller("GET", "/stats").status_code == 401
    assert refused(caller("GET", "/stats"))["limit"] == "failures"


async def _refuse(self: Looked, caller: Any) -> Actor:
    raise AuthInvalid


def test_successes_and_missing_credentials_are_no_failures(loop: Loop, app_with: Make, owner: str) -> None:
    app = app_with(limit_failures="1/minute")
    for _ in range(3):
        assert Caller(loop, app, f"good-{owner}")("GET", "/stats").status_code == 200
        assert Caller(loop, app)("GET", "/stats").status_code == 401
    assert Caller(loop, app, "bad")("GET", "/stats").status_code == 401


def test_a_look_up_that_fails_is_no_failure_of_the_caller(loop: Loop, services: Services) -> None:
    async def fail(caller: Any) -> Actor:
        raise DatabaseUnavailable

    settings = services.settings.model_copy(update={"limit_failures": "1/minute"})
    caller = Caller(loop, create_app(replace(services, settings=settings), fail), "any")
    for _ in range(3):
        assert caller("GET", "/stats").status_code == 503


def test_a_wrong_static_token_runs_into_the_limit_and_the_right_one_does_not(
    loop: Loop, services: Services
) -> None:
    update = {"bearer_token": SecretStr(TOKEN), "limit_failures": "1/minute"}
    app = create_app(replace(services, settings=services.settings.model_copy(update=update)))
    # The right one is known before it is sent: no look-up is needed to know it.
    assert Caller(loop, app, "x" * 40)("GET", "/stats").status_code == 401
    refused(Caller(loop, app, "y" * 40)("GET", "/stats"))
    assert Caller(loop, app, TOKEN)("GET", "/stats").status_code == 200


# Who is not limited


def test_the_socket_of_a_local_service_is_not_limited(loop: Loop, services: Services) -> None:
    settings = services.settings.model_copy(update={"limit_reads": "1/minute", "limit_failures": "1/minute"})
    caller = Caller(loop, create_local_app(replace(services, settings=settings)))
    for _ in range(3):
        answer = caller("GET", "/server-info")
        assert answer.status_code == 200
        assert "ratelimit" not in answer.headers


def test_a_call_in_process_is_not_limited(loop: Loop, services: Services, owner: str) -> None:
    settings = services.settings.model_copy(update={"limit_reads": "1/minute"})
    for _ in range(3):
        run = REGISTRY["server.stats"].run(replace(services, settings=settings), full_actor(owner), {})
        assert loop.run(run)


# Classes


@contextlib.contextmanager
def heavy_queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Note each place that a heavy query takes."""
    places: list[bool] = []
    place = Admission.place

    def noted(self: Admission, **arguments: Any) -> Any:
        places.append(True)
        return place(self, **arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Admission, "place", noted)
        yield places


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_an_operation_that_runs_a_heavy_query_is_heavy(
    loop: Loop, services: Services, name: str, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = REGISTRY[name]
    assert operation.heavy == (name in HEAVY)
    expected = RateClass.READ if operation.scope is Scope.READ else RateClass.WRITE
    assert operation.rate_class == (RateClass.HEAVY if operation.heavy else expected)
    if operation.scope is not Scope.READ or operation.heavy:
        return
    with heavy_queries(monkeypatch) as places, contextlib.suppress(NotFound):
        loop.run(operation.run(services, full_actor(owner), operation.example, Face.REST))
    assert not places


def test_every_route_that_may_be_limited_describes_429() -> None:
    from graphmem.api import openapi

    paths = openapi.document()["paths"]
    unlimited = {
        path
        for path, methods in paths.items()
        for described in methods.values()
        if "429" not in described["responses"]
    }
    assert unlimited == {"/health", "/health/ready"}
    assert set(paths["/stats"]["get"]["responses"]["429"]["headers"]) == {
        "Retry-After", "RateLimit", "RateLimit-Policy",
    }  # fmt: skip
    assert 429 in STATUSES


# Settings and storage


@pytest.mark.parametrize("text", ["many", "10", "10/fortnight", "0/minute", "-1/minute", "600/minute;x", "*"])
def test_what_is_no_limit_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="GRAPHMEM_LIMIT_READS"):
        load(limit_reads=text)


@pytest.mark.parametrize("address", ["10.0.0.0/8", "proxy", "10.0.0.256", "*"])
def test_what_is_no_address_of_a_proxy_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="GRAPHMEM_TRUSTED_PROXIES"):
        load(trusted_proxies=address)


def test_by_default_each_class_has_a_limit() -> None:
    limits = RateLimits(load())
    for rate_class in RateClass:
        taken = limits.take(rate_class, public_actor(), "192.0.2.1")
        assert taken is not None
        assert taken[0]
    assert limits.failures("192.0.2.1") is not None


def test_a_class_without_a_limit_has_no_headers(loop: Loop, app_with: Make, owner: str) -> None:
    for off in ("off", ""):
        answer = Caller(loop, app_with(limit_reads=off), f"good-{owner}")("GET", "/stats")
        assert "ratelimit" not in answer.headers


def test_several_windows_hold_each(loop: Loop, owner: str) -> None:
    now = [0.0]
    limits = RateLimits(load(limit_reads="2/second;3/minute"), clock=lambda: now[0])

    def take() -> tuple[bool, str]:
        is_left, usage = limits.take(RateClass.READ, full_actor(owner), "") or (True, None)
        assert usage is not None
        return is_left, usage.header

    assert take() == (True, '"read-1s";r=1;t=1, "read-60s";r=2;t=60')
    assert take()[0]
    assert not take()[0]
    now[0] += 1
    assert take() == (True, '"read-1s";r=1;t=1, "read-60s";r=0;t=59')
    now[0] += 1
    is_left, header = take()
    assert (is_left, header.partition(", ")[2]) == (False, '"read-60s";r=0;t=58')


def test_the_number_of_callers_that_are_counted_is_bounded() -> None:
    windows = Windows(keys_limit=3)
    for key in ("a", "b", "c"):
        assert windows.acquire_entry(key, 1, 60)
    assert not windows.acquire_entry("a", 1, 60)
    assert windows.acquire_entry("d", 1, 60)
    # The longest idle one was forgotten; who floods is not.
    assert len(windows) == 3
    assert not windows.acquire_entry("a", 1, 60)
    assert windows.acquire_entry("b", 1, 60)


def test_known_credentials_are_bounded_and_kept_as_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.api.limits.KNOWN_LIMIT", 2)
    limits = RateLimits(load())
    for digest in ("1", "2", "3"):
        limits.succeeded(digest)
    assert [limits.is_known(digest) for digest in ("1", "2", "3")] == [False, True, True]


def test_an_error_of_a_limit_keeps_its_seconds_through_an_envelope() -> None:
    error = RateLimited("wait", retry_after=7)
    assert RateLimited.of(error.envelope("0" * 32)).answer_headers() == {"Retry-After": "7"}
    assert network("192.0.2.1") == "192.0.2.1"
