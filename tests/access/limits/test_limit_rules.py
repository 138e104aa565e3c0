"""The class of each operation, the settings of rate limits, and what is kept of callers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem.api.limits import RateLimits, Windows, network
from graphmem.auth import Scope, public_actor
from graphmem.auth.rates import RateClass
from graphmem.context import Services
from graphmem.database.admission import Admission
from graphmem.errors import ConfigurationInvalid, NotFound, RateLimited
from graphmem.registry import REGISTRY, Face
from graphmem.settings import load
from tests.access.limits.conftest import Caller, Make
from tests.faces.test_http_edges import STATUSES
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

HEAVY = {
    "changes.list", "copies.conflicts", "copies.facts", "entities.contested",
    "context.retrieve", "entities.duplicates", "entities.find", "entities.history", "entities.query",
    "entities.related", "files.parse", "graph.neighborhood", "interpretations.list", "observations.query",
    "receipts.get", "receipts.list", "receipts.replay", "relationships.list", "schemas.analyze",
    "schemas.recommend", "search.explain", "server.check_snapshots", "sources.list", "sources.search",
    "sources.url",
}  # fmt: skip
"""Operations that run a query of ``cost heavy``, with some arguments at least.

``entities.history`` answers a part of ``observations.query``. It has the same limit: it must be no way
around that one.
"""


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


@walk_over("name", sorted(REGISTRY))
def test_the_class_of_an_operation_follows_from_its_scope_and_its_queries(name: str) -> None:
    operation = REGISTRY[name]
    assert operation.heavy == (name in HEAVY)
    expected = RateClass.READ if operation.scope is Scope.READ else RateClass.WRITE
    expected = RateClass.HEAVY if operation.heavy else expected
    assert operation.rate_class == {"sandbox.report": RateClass.REPORT}.get(name, expected)


LIGHT = sorted(
    name for name, each in REGISTRY.items() if each.scope is Scope.READ and not each.heavy
)  # fmt: skip


@walk_over("name", LIGHT, one_of=4)
def test_an_operation_that_runs_a_heavy_query_is_heavy(
    loop: Loop, services: Services, name: str, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = REGISTRY[name]
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

    def take(key: str) -> bool:
        return windows.take(("read", key), 1, 60)

    for key in ("a", "b", "c"):
        assert take(key)
    assert not take("a")
    assert take("d")
    # The longest idle one was forgotten; who floods is not.
    assert len(windows) == 3
    assert not take("a")
    assert take("b")


def test_two_windows_of_one_length_hold_each(owner: str) -> None:
    limits = RateLimits(load(limit_reads="2/minute;9/minute"), clock=lambda: 0.0)
    taken = [limits.take(RateClass.READ, full_actor(owner), "") for _ in range(3)]
    assert [each and each[0] for each in taken] == [True, True, False]
    assert taken[-1] is not None
    assert taken[-1][1].left == [(0, 60), (7, 60)]


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
