"""Rate limits of an address: for callers without a credential, and for failed attempts to authenticate."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from graphmem.api.app import create_app
from graphmem.api.limits import caller_address
from graphmem.auth import Actor
from graphmem.context import Services
from graphmem.errors import AgentSignatureInvalid, AuthInvalid, DatabaseUnavailable
from tests.access.limits.conftest import Caller, Looked, Make, refused
from tests.support.event_loop import Loop

TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"


# Limits of an address


def test_a_public_route_counts_for_the_address(loop: Loop, app_with: Make) -> None:
    app = app_with(limit_reads="2/hour")
    for path in ("/server-info", "/"):
        assert Caller(loop, app)("GET", path).status_code == 200
    refused(Caller(loop, app)("GET", "/server-info"))
    assert Caller(loop, app, address="192.0.2.2")("GET", "/server-info").status_code == 200


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_probes_are_not_limited(loop: Loop, app_with: Make, path: str) -> None:
    caller = Caller(loop, app_with(limit_reads="1/hour"))
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
    app = app_with(limit_reads="1/hour")
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
    app = app_with(limit_reads="1/hour", trusted_proxies=(PROXY,))
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
    app = app_with(limit_failures="3/hour")
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
    app = app_with(limit_failures="1/hour")
    caller = Caller(loop, app, f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    monkeypatch.setattr(lookups, "__class__", type("Revoked", (Looked,), {"__call__": _refuse}))
    assert caller("GET", "/stats").status_code == 401
    assert refused(caller("GET", "/stats"))["limit"] == "failures"


def test_signatures_that_fail_leave_good_credentials_as_they_are(
    loop: Loop, app_with: Make, lookups: Looked, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_with(limit_failures="1/hour")
    caller = Caller(loop, app, f"good-{owner}")
    with monkeypatch.context() as patch:
        patch.setattr(lookups, "__class__", type("Skewed", (Looked,), {"__call__": _refuse_signature}))
        for _ in range(3):
            assert caller("GET", "/stats").json()["error_code"] == "AAUTH_SIGNATURE_INVALID"
    assert caller("GET", "/stats").status_code == 200
    # They count for the address.
    assert refused(Caller(loop, app, f"good-{uuid.uuid4()}")("GET", "/stats"))["limit"] == "failures"


async def _refuse_signature(self: Looked, caller: Any) -> Actor:
    raise AgentSignatureInvalid


async def _refuse(self: Looked, caller: Any) -> Actor:
    raise AuthInvalid


def test_successes_and_missing_credentials_are_no_failures(loop: Loop, app_with: Make, owner: str) -> None:
    app = app_with(limit_failures="1/hour")
    for _ in range(3):
        assert Caller(loop, app, f"good-{owner}")("GET", "/stats").status_code == 200
        assert Caller(loop, app)("GET", "/stats").status_code == 401
    assert Caller(loop, app, "bad")("GET", "/stats").status_code == 401


def test_a_look_up_that_fails_is_no_failure_of_the_caller(loop: Loop, services: Services) -> None:
    async def fail(caller: Any) -> Actor:
        raise DatabaseUnavailable

    settings = services.settings.model_copy(update={"limit_failures": "1/hour"})
    caller = Caller(loop, create_app(replace(services, settings=settings), fail), "any")
    for _ in range(3):
        assert caller("GET", "/stats").status_code == 503


def test_a_wrong_static_token_runs_into_the_limit_and_the_right_one_does_not(
    loop: Loop, services: Services
) -> None:
    update = {"bearer_token": SecretStr(TOKEN), "limit_failures": "1/hour"}
    app = create_app(replace(services, settings=services.settings.model_copy(update=update)))
    # The right one is known before it is sent: no look-up is needed to know it.
    assert Caller(loop, app, "x" * 40)("GET", "/stats").status_code == 401
    refused(Caller(loop, app, "y" * 40)("GET", "/stats"))
    assert Caller(loop, app, TOKEN)("GET", "/stats").status_code == 200
