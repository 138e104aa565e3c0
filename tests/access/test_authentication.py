"""Keys over REST and MCP, and what an authenticator sees of a request."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable

import pytest

from graphmem.auth import Actor, Scope, tokens
from graphmem.auth.authenticator import Authenticator, Caller
from graphmem.database.driver import round_trips
from graphmem.errors import AgentSignatureInvalid, AuthInvalid, NotFound
from graphmem.model import times
from tests.access.conftest import HOUR, WITHIN_SECONDS, Instance, seconds_until_401
from tests.faces.test_http_edges import envelope
from tests.support.actors import full_actor
from tests.support.agents import Request

ADA = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}


def of_key(key: str) -> Caller:
    """Return what a request with a key says of its caller."""
    return Request("GET", "/stats", body=b"", headers=[("authorization", f"Bearer {key}")]).caller


# Keys


def test_a_key_opens_the_data_of_its_account_and_of_no_other_over_rest_and_mcp(instance: Instance) -> None:
    ada, bob = (instance.key(instance.account(name)) for name in ("ada", "bob"))
    http = instance.application()
    stored = http("POST", "/store", ada, json=ADA)
    (entity,) = stored.json()["entities"]
    path = f"/entities/{entity['entity_id']}"
    assert (http("GET", path, ada).status_code, http("GET", path, bob).status_code) == (200, 404)
    assert [http("GET", "/stats", key).json()["total_entities"] for key in (ada, bob)] == [1, 0]
    totals = [
        http.tool(key, "get_stats").json()["result"]["structuredContent"]["total_entities"]
        for key in (ada, bob)
    ]
    assert totals == [1, 0]
    me = http("GET", "/me", ada).json()
    (key,) = instance.loop.run(instance.accounts.keys(me["user_id"]))
    assert (me["account"], me["authentication"], me["credential"]) == ("ada", "key", key.key_id)
    assert (me["owner"], me["scopes"]) == (me["user_id"], ["read", "write"])


def test_the_scopes_of_a_key_narrow_those_of_its_account_over_rest_and_mcp(instance: Instance) -> None:
    account = instance.account("ada")
    reader, admin = instance.key(account, ["read"]), instance.key(account, ["read", "write", "admin"])
    http = instance.application()
    assert http("GET", "/stats", reader).status_code == 200
    refused = http("POST", "/store", reader, json=ADA)
    assert (refused.status_code, envelope(refused)["details"]["needs"]) == (403, "write")
    # Nobody can widen a key by asking, so a client is not told to ask.
    refused_tool = http.tool(reader, "store", **ADA)
    result = refused_tool.json()["result"]
    assert (refused_tool.status_code, result["isError"]) == (200, True)
    error = json.loads(result["content"][0]["text"])
    assert (error["error_code"], error["details"]["needs"]) == ("FORBIDDEN", "write")
    assert not {"WWW-Authenticate"} & {*refused.headers, *refused_tool.headers}
    # A key has no scope that its account lacks, whatever is stored with it.
    assert http("GET", "/me", admin).json()["scopes"] == ["read", "write"]
    assert http("GET", "/metrics", admin).status_code == 403


def test_a_key_ends_when_it_expires(instance: Instance, forward: Callable[[int], None]) -> None:
    account = instance.account("ada")
    key = instance.key(account, expires_at=times.now() + HOUR)
    assert instance.application()("GET", "/stats", key).status_code == 200
    forward(HOUR)
    refused = instance.application()("GET", "/stats", key)
    assert (refused.status_code, envelope(refused)["error_code"]) == (401, "AUTH_INVALID")


def test_a_revoked_key_ends_in_another_process_within_5_s(instance: Instance) -> None:
    account = instance.account("ada")
    keys = [instance.key(account) for _ in range(2)]
    here, there = instance.application(), instance.application()
    assert [each("GET", "/stats", keys[0]).status_code for each in (here, there)] == [200, 200]
    revoked = instance.loop.run(instance.accounts.keys(account.id))[1]
    again = [
        instance.loop.run(instance.accounts.revoke_key(account.id, revoked.key_id)).revoked_at
        for _ in range(2)
    ]
    assert again[0] == again[1]
    assert seconds_until_401(there, "GET", "/stats", keys[0]) < WITHIN_SECONDS
    assert there("GET", "/stats", keys[1]).status_code == 200


def test_a_key_of_another_account_is_not_revoked(instance: Instance) -> None:
    ada, bob = instance.account("ada"), instance.account("bob")
    key = instance.key(ada)
    (record,) = instance.loop.run(instance.accounts.keys(ada.id))
    with pytest.raises(NotFound):
        instance.loop.run(instance.accounts.revoke_key(bob.id, record.key_id))
    assert instance.application()("GET", "/stats", key).status_code == 200


def test_the_keys_of_a_disabled_account_end_and_those_of_an_enabled_one_work_again(
    instance: Instance, later: Callable[[float], None]
) -> None:
    key = instance.key(instance.account("ada"))
    other_key = instance.key(instance.account("bob"))
    http = instance.application()
    for disabled, status in ((False, 200), (True, 401), (False, 200)):
        instance.loop.run(instance.accounts.set_disabled("ada", disabled))
        later(WITHIN_SECONDS)
        assert http("GET", "/stats", key).status_code == status
        assert http("GET", "/stats", other_key).status_code == 200


def test_the_keys_of_a_deleted_account_end_and_its_data_stays(
    instance: Instance, later: Callable[[float], None]
) -> None:
    account = instance.account("ada")
    key = instance.key(account)
    http = instance.application()
    assert http("POST", "/store", key, json=ADA).status_code == 200
    assert instance.loop.run(instance.accounts.delete("ada")) == (1, 0)
    later(WITHIN_SECONDS)
    assert http("GET", "/stats", key).status_code == 401
    assert instance.by_owner(account.owner)("server.stats")["total_entities"] == 1


def test_the_last_use_of_a_key_is_noted_to_the_minute(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now)
    account = instance.account("ada")
    key = instance.key(account)

    def last_use() -> int | None:
        (record,) = instance.loop.run(instance.accounts.keys(account.id))
        return record.last_used_at

    def noted(before: int | None) -> int:
        begin = time.monotonic()
        while (used := last_use()) == before:
            assert time.monotonic() - begin < 60
            time.sleep(0.02)
        assert used is not None
        return used

    assert last_use() is None
    instance.application()("GET", "/stats", key)
    first = noted(None)
    assert first == now - now % 60_000_000
    now += 120_000_000
    instance.application()("GET", "/stats", key)
    assert noted(first) == first + 120_000_000


def test_a_credential_that_was_seen_within_4_s_costs_no_round_trip(
    instance: Instance, later: Callable[[float], None]
) -> None:
    keys = [instance.key(instance.account(name)) for name in ("ada", "bob")]
    finder = Authenticator(instance.services.database, instance.services.settings, instance.services.guard)

    async def trips(key: str) -> int:
        cell = [0]
        round_trips.set(cell)
        await finder.actor(of_key(key))
        return cell[0]

    assert [instance.loop.run(trips(key)) for key in (*keys, *keys, *keys)] == [1, 1, 0, 0, 0, 0]
    later(3.9)
    assert instance.loop.run(trips(keys[0])) == 0
    later(0.2)
    assert instance.loop.run(trips(keys[0])) == 1


def test_a_key_that_is_wrong_is_not_remembered(instance: Instance) -> None:
    finder = Authenticator(instance.services.database, instance.services.settings, instance.services.guard)
    for _ in range(2):
        with pytest.raises(AuthInvalid):
            instance.loop.run(finder.actor(of_key(tokens.make(tokens.KEY_PREFIX))))
    assert not finder._credentials._credentials


# What an authenticator sees of a request


def test_an_authenticator_sees_the_request_as_it_was_sent_and_the_application_reads_the_body(
    instance: Instance, owner: str
) -> None:
    callers: list[Caller] = []
    body = json.dumps(ADA).encode()

    async def authenticate(caller: Caller) -> Actor:
        callers.append(caller)
        assert not await caller.body.is_empty()
        expected = {"sha256": hashlib.sha256(body).digest(), "sha512": hashlib.sha512(body).digest()}
        await caller.body.expect(expected)
        with pytest.raises(AgentSignatureInvalid):
            await caller.body.expect({"sha256": hashlib.sha256(b"another").digest()})
        await caller.body.expect({})
        return full_actor(owner)

    headers = {"Content-Type": "application/json", "X-Thing": "é".encode()}
    http = instance.application(authenticate)
    answer = http("POST", "/api/%73tore?a=%2F&b=%c3%a9+", content=body, headers=headers)
    assert answer.json()["entities_created"] == 1
    (caller,) = callers
    assert (caller.method, caller.path, caller.query) == ("POST", b"/api/%73tore", b"a=%2F&b=%c3%a9+")
    assert caller.headers["x-THING"]
    assert Scope.WRITE in full_actor(owner).scopes


def test_an_authenticator_that_reads_a_body_keeps_to_its_limit(instance: Instance, owner: str) -> None:
    async def authenticate(caller: Caller) -> Actor:
        with pytest.raises(AgentSignatureInvalid):
            await caller.body.expect({"sha256": b""})
        await caller.body.expect({})
        return full_actor(owner)

    http = instance.application(authenticate, max_body_bytes=2000)
    assert http("POST", "/store", json={"x": "y" * 3000}).status_code == 413
    assert http("POST", "/store", json=ADA).status_code == 200
