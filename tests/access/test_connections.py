"""Connections over HTTP: what their account sees of them, and that an ended one is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth import local_actor
from graphmem.auth.accounts import Accounts
from graphmem.auth.credentials import Credential, CredentialCache
from graphmem.context import Services
from tests.access.conftest import WITHIN_SECONDS, Person, person
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long
from tests.support.oauth_flow import Flow
from tests.support.refusals import seconds_until_refused

BASE = "http://localhost:7373"
Scenario = Callable[[Flow, httpx.AsyncClient], Awaitable[None]]
Play = Callable[[Scenario], None]


@pytest.fixture
def play(loop: Loop, instance_services: Services) -> Play:
    """Run a scenario against two applications that remember credentials each for itself, as processes do."""

    async def running(scenario: Scenario) -> None:
        settings = instance_services.settings.model_copy(update={"public_url": BASE})
        async with AsyncExitStack() as stack:
            clients: list[httpx.AsyncClient] = []
            for _ in range(2):
                services = replace(instance_services, settings=settings, credentials=CredentialCache())
                app = create_app(services, limited=False)
                transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
                clients.append(
                    await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=BASE))
                )
            here, there = clients
            flow = Flow(here, BASE)
            assert (await flow.register()).status_code == 201
            await scenario(flow, there)

    return lambda scenario: loop.run(running(scenario))


@pytest.fixture
def carol(instance_services: Services, loop: Loop) -> Iterator[Person]:
    """A third person, who may read and write."""
    with person(loop, instance_services, "carol", ["read", "write"]) as carol:
        yield carol


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def connected(flow: Flow, person: Person) -> dict[str, Any]:
    """Return new tokens of a person, for all of the service, with the id of their connection."""
    sent = await flow.allow(person.name, person.password, resource=BASE)
    issued = (await flow.token(code=sent["code"])).json()
    me = (await flow.http.get("/me", headers=bearer(issued["access_token"]))).json()
    return issued | {"id": me["credential"]}


async def status_of(http: httpx.AsyncClient, issued: dict[str, Any]) -> int:
    return (await http.get("/me", headers=bearer(issued["access_token"]))).status_code


async def seconds_until_401(http: httpx.AsyncClient, issued: dict[str, Any]) -> float:
    """Return for how many seconds an access token was still taken."""
    return await seconds_until_refused(lambda: status_of(http, issued), 2 * WITHIN_SECONDS)


@pytest.mark.parametrize("prefix", mostly_long(["", "/api"], "/api"))
def test_a_connection_that_is_deleted_is_over_at_once_here_and_within_5_s_elsewhere(
    play: Play, alice: Person, prefix: str
) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        here, kept, ended = flow.http, await connected(flow, alice), await connected(flow, alice)
        path, headers = f"{prefix}/mcp/oauth/connections/{ended['id']}", bearer(kept["access_token"])
        assert [await status_of(http, ended) for http in (here, there)] == [200, 200]
        answer = await here.delete(path, headers=headers)
        assert (answer.status_code, answer.json()) == (200, {
            "success": True, "connection_id": ended["id"], "connectionId": ended["id"],
        })  # fmt: skip
        assert await status_of(here, ended) == 401
        assert await seconds_until_401(there, ended) < WITHIN_SECONDS
        refused = await flow.refresh(ended["refresh_token"])
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
        for http in (here, there):
            again = await http.delete(path, headers=headers)
            assert (again.status_code, again.json()["error_code"]) == (404, "RESOURCE_NOT_FOUND")
            assert again.json()["details"] == {"connection_id": ended["id"]}
            listed = (await http.get("/mcp/oauth/connections", headers=headers)).json()["connections"]
            assert [each["connectionId"] for each in listed] == [kept["id"]]
            assert await status_of(http, kept) == 200

    play(scenario)


def test_a_connection_may_end_itself(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        own = await connected(flow, alice)
        path, headers = f"/mcp/oauth/connections/{own['id']}", bearer(own["access_token"])
        assert (await flow.http.delete(path, headers=headers)).status_code == 200
        assert (await flow.http.delete(path, headers=headers)).status_code == 401

    play(scenario)


def test_a_connection_of_another_account_is_404_as_an_unknown_one_is(
    play: Play, alice: Person, carol: Person
) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        hers, own = await connected(flow, alice), await connected(flow, carol)
        headers, texts = bearer(own["access_token"]), set[str]()
        for connection_id in (hers["id"], "con_0123456789abcdef"):
            path = f"/mcp/oauth/connections/{connection_id}"
            answer = await flow.http.delete(path, headers=headers)
            assert (answer.status_code, answer.json()["error_code"]) == (404, "RESOURCE_NOT_FOUND")
            texts.add(answer.json()["message"].replace(connection_id, "…"))
            params = {"connection_id": connection_id}
            status = await flow.http.get("/mcp/oauth/status", params=params, headers=headers)
            assert status.status_code == 404
        assert len(texts) == 1
        assert await status_of(flow.http, hers) == 200
        assert (await flow.refresh(hers["refresh_token"])).status_code == 200

    play(scenario)


def test_to_delete_a_connection_needs_a_credential_and_the_scope_write(
    play: Play, alice: Person, bob: Person
) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        hers, reading = await connected(flow, alice), await connected(flow, bob)
        path = f"/mcp/oauth/connections/{hers['id']}"
        assert (await flow.http.delete(path)).status_code == 401
        for connection_id in (hers["id"], reading["id"]):
            path = f"/mcp/oauth/connections/{connection_id}"
            answer = await flow.http.delete(path, headers=bearer(reading["access_token"]))
            assert answer.status_code == 403
        assert [await status_of(flow.http, each) for each in (hers, reading)] == [200, 200]

    play(scenario)


def test_a_token_that_its_client_revokes_is_over_at_once(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        for name in ("access_token", "refresh_token"):
            issued = await connected(flow, alice)
            assert await status_of(flow.http, issued) == 200
            data = {"token": issued[name], "client_id": flow.client_id}
            assert (await flow.http.post("/mcp/oauth/revoke", data=data)).status_code == 200
            assert await status_of(flow.http, issued) == 401

    play(scenario)


def test_two_windows_that_refresh_at_once_both_go_on(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        first = await connected(flow, alice)
        here = await flow.refresh(first["refresh_token"])
        flow.http, own = there, flow.http
        other = await flow.refresh(first["refresh_token"])
        flow.http = own
        assert [here.status_code, other.status_code] == [200, 200]
        for answer in (here, other):
            assert await status_of(flow.http, answer.json()) == 200
            assert (await flow.refresh(answer.json()["refresh_token"])).status_code == 200

    play(scenario)


def test_a_refresh_token_that_is_used_again_ends_its_family_at_once(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        first = await connected(flow, alice)
        second = (await flow.refresh(first["refresh_token"])).json()
        third = (await flow.refresh(second["refresh_token"])).json()
        assert [await status_of(flow.http, each) for each in (first, second, third)] == [200, 200, 200]
        # Who has its successor received the answer: nothing was lost, and the grace has ended.
        assert (await flow.refresh(first["refresh_token"])).json()["error"] == "invalid_grant"
        assert [await status_of(flow.http, each) for each in (first, second, third)] == [401, 401, 401]

    play(scenario)


def test_the_shapes_of_the_caller_and_of_connections(
    play: Play, loop: Loop, instance_services: Services, alice: Person
) -> None:
    async def scenario(flow: Flow, there: httpx.AsyncClient) -> None:
        key, _ = await Accounts(instance_services.database).create_key(
            alice.account.id, alice.account.owner, "shapes", ["read"], None
        )

        async def get(path: str, **params: str) -> dict[str, Any]:
            return (await there.get(f"/mcp/oauth/{path}", headers=bearer(key), params=params)).json()

        async def put(**values: int | None) -> None:
            query = "MATCH (grant:OAuthGrant {id: $id}) SET grant += $values"
            await instance_services.database.script(query, id=issued["id"], values=values)

        assert await get("status") == {"status": "none", "connections": 0}
        assert await get("connections") == {"connections": [], "limit": 100, "offset": 0}
        issued = await connected(flow, alice)
        me = (await flow.http.get("/me", headers=bearer(issued["access_token"]))).json()
        assert me == {
            "user_id": alice.account.id, "account": alice.name, "owner": alice.account.owner,
            "scopes": ["read", "write"], "authentication": "oauth", "credential": issued["id"],
            "client": me["client"], "sandbox_mode": False, "next_write": me["next_write"],
        }  # fmt: skip
        assert me["next_write"]["written_by"].startswith(f"client `Test client` of {alice.name}")
        (connection,) = (await get("connections"))["connections"]
        assert connection == {
            "connection_id": issued["id"], "client_name": "Test client", "client_id": flow.client_id,
            "created_at": connection["createdAt"], "last_used_at": connection["lastUsedAt"],
            "expires_at": connection["expiresAt"],
            "connectionId": issued["id"], "clientName": "Test client", "clientId": flow.client_id,
            "scopes": ["read", "write"], "resource": BASE, "createdAt": connection["createdAt"],
            "lastUsedAt": connection["lastUsedAt"], "expiresAt": connection["expiresAt"],
        }  # fmt: skip
        named = {"connection_id": issued["id"]}
        assert await get("status") == {
            "status": "active", "connections": 1, **named, "connection": connection,
        }  # fmt: skip
        await put(redeemed_at=None)
        status = await get("status", **named)
        assert (status["status"], status["connection_id"]) == ("pending", issued["id"])
        await put(redeemed_at=1, expires_at=1)
        status = await get("status", **named)
        assert (status["status"], status["connections"]) == ("expired", 0)
        assert await get("connections") == {"connections": [], "limit": 100, "offset": 0}

    play(scenario)


def test_a_lookup_that_began_before_a_credential_ended_is_not_kept() -> None:
    credentials, before, after = CredentialCache(), *(Credential(local_actor(name)) for name in "ab")

    async def overtaken(_: str) -> Credential:
        credentials.end("another")
        return before

    async def looked_up(_: str) -> Credential:
        return after

    async def scenario() -> None:
        assert await credentials.get("digest", overtaken) is before
        assert await credentials.get("digest", looked_up) is after
        assert await credentials.get("digest", overtaken) is after

    asyncio.run(scenario())
