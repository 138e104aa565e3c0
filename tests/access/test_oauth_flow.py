"""OAuth over HTTP: both dialects, documents, challenges, and what is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth import tokens
from graphmem.registry import Services
from tests.access.conftest import Person
from tests.support.event_loop import Loop
from tests.support.oauth_flow import REDIRECT, VERIFIER, Flow, parameters

BASE = "http://localhost:7373"
Scenario = Callable[[Flow], Awaitable[None]]
Play = Callable[[Scenario], None]


@pytest.fixture
def play(loop: Loop, instance_services: Services) -> Play:
    """Run a scenario against an application, with a client that registered."""

    def run(scenario: Scenario) -> None:
        async def running() -> None:
            settings = instance_services.settings.model_copy(update={"public_url": BASE})
            app = create_app(replace(instance_services, settings=settings), limited=False)
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
                flow = Flow(http, BASE)
                assert (await flow.register()).status_code == 201
                http.cookies.clear()
                await scenario(flow)

        loop.run(running())

    return run


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def issued(flow: Flow, person: Person, **changes: str | None) -> dict[str, Any]:
    sent = await flow.allow(person.name, person.password, **changes)
    answer = await flow.token(code=sent["code"])
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_of(answer: httpx.Response, status: int = 400) -> str:
    body = answer.json()
    assert answer.status_code == status, body
    assert {"error", "error_description", "error_code", "message", "details", "trace_id"} <= body.keys()
    assert answer.headers["cache-control"] == "no-store"
    return body["error"]


def test_a_client_gets_tokens_and_uses_them(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        sent = await flow.allow(alice.name, alice.password)
        assert (sent["state"], sent["iss"]) == ("st&te", BASE)
        answer = await flow.token(code=sent["code"])
        body = answer.json()
        assert answer.headers["cache-control"] == "no-store"
        assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 900, "read write")
        me = await flow.http.get(
            "/me", headers=bearer((await issued(flow, alice, resource=BASE))["access_token"])
        )
        assert me.json()["account"] == alice.name
        assert (me.json()["authentication"], me.json()["owner"]) == ("oauth", alice.account.owner)
        again = await flow.refresh(body["refresh_token"])
        assert again.json()["refresh_token"] != body["refresh_token"]

    play(scenario)


def test_token_at_another_resource_is_refused(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        narrow = (await issued(flow, alice))["access_token"]
        wide = (await issued(flow, alice, resource=BASE))["access_token"]
        for path in ("/me", "/api/me", "/stats", "/mcpx", "/"):
            status = (await flow.http.get(path, headers=bearer(narrow))).status_code
            assert status == (200 if path == "/" else 401), path
        for path in ("/mcp", "/api/mcp", "/mcp/core"):
            assert (await flow.http.get(path, headers=bearer(narrow))).status_code == 405, path
        for path, status in (("/me", 200), ("/mcp", 405), ("/api/me", 200)):
            assert (await flow.http.get(path, headers=bearer(wide))).status_code == status, path
        answer = await flow.authorize(resource="https://other.example/mcp")
        assert parameters(answer)["error"] == "invalid_target"
        sent = await flow.allow(alice.name, alice.password)
        refused = await flow.token(code=sent["code"], resource=BASE)
        assert error_of(refused) == "invalid_target"

    play(scenario)


@pytest.mark.parametrize("verifier", [None, "", "v" * 42, "w" * 43, "v" * 129, "\u00e9" * 43])
def test_code_without_its_verifier_is_burnt(play: Play, alice: Person, verifier: str | None) -> None:
    async def scenario(flow: Flow) -> None:
        sent = await flow.allow(alice.name, alice.password)
        assert error_of(await flow.token(code=sent["code"], code_verifier=verifier)) == "invalid_grant"
        assert error_of(await flow.token(code=sent["code"])) == "invalid_grant"

    play(scenario)


def test_code_that_is_replayed_ends_its_tokens(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        sent = await flow.allow(alice.name, alice.password)
        body = (await flow.token(code=sent["code"])).json()
        assert error_of(await flow.token(code=sent["code"])) == "invalid_grant"
        answer = await flow.http.get("/mcp", headers=bearer(body["access_token"]))
        assert answer.status_code == 401

    play(scenario)


def test_refresh_token_that_is_replayed_ends_the_family(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        first = await issued(flow, alice)
        second = (await flow.refresh(first["refresh_token"])).json()
        second = (await flow.refresh(second["refresh_token"])).json()
        assert error_of(await flow.refresh(first["refresh_token"])) == "invalid_grant"
        assert error_of(await flow.refresh(second["refresh_token"])) == "invalid_grant"
        answer = await flow.http.get("/mcp", headers=bearer(second["access_token"]))
        assert answer.status_code == 401

    play(scenario)


def test_every_redirect_to_a_client_names_the_issuer(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        assert (await flow.allow(alice.name, alice.password))["iss"] == BASE
        refusals: list[tuple[dict[str, str | None], str]] = [
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge": "abc"}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"scope": "nothing"}, "invalid_scope"),
            ({"resource": "https://evil.example"}, "invalid_target"),
        ]
        for changes, error in refusals:
            answer = await flow.authorize(**changes)
            assert answer.headers["location"].startswith(REDIRECT), changes
            sent = parameters(answer)
            assert (sent["error"], sent["iss"], sent["state"]) == (error, BASE, "st&te"), changes
        await flow.open((await flow.authorize()).headers["location"])
        sent = parameters(await flow.decide("deny"))
        assert (sent["error"], sent["iss"], sent["state"]) == ("access_denied", BASE, "st&te")

    play(scenario)


@pytest.mark.parametrize(
    "headers",
    [{"X-Forwarded-Host": "evil.example"}, {"X-Forwarded-Proto": "https"}, {"Host": "127.0.0.1:99"},
     {"Forwarded": "host=evil.example;proto=https"}],
    ids=lambda headers: next(iter(headers)),
)  # fmt: skip
def test_addresses_in_documents_do_not_follow_the_request(
    play: Play, alice: Person, headers: dict[str, str]
) -> None:
    async def scenario(flow: Flow) -> None:
        for path in (
            "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
            "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
        ):  # fmt: skip
            plain = (await flow.http.get(path)).json()
            assert (await flow.http.get(path, headers=headers)).json() == plain
            addresses = [plain.get("issuer"), *plain.get("authorization_servers", [])]
            assert {address for address in addresses if address} == {BASE}
        answer = await flow.http.post("/mcp", headers=headers)
        assert f'resource_metadata="{BASE}/.well-known' in answer.headers["www-authenticate"]

    play(scenario)


def test_request_to_mcp_with_a_token_begins_no_session(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        token = (await issued(flow, alice))["access_token"]
        answer = await flow.http.get("/mcp", headers=bearer(token))
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert "mcp-session-id" not in answer.headers

    play(scenario)


def test_a_redirect_uri_that_is_not_the_clients_gets_no_redirect(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        for redirect_uri in ("https://evil.example/cb", f"{REDIRECT}/x", "http://127.0.0.1:7777/callback"):
            answer = await flow.authorize(redirect_uri=redirect_uri)
            assert error_of(answer) == "invalid_redirect_uri"
        other_port = await flow.authorize(redirect_uri="http://localhost:9999/callback")
        assert other_port.status_code == 302
        assert error_of(await flow.authorize(client_id="client_unknown"), 401) == "invalid_client"
        assert error_of(await flow.token(code="x", client_id="client_unknown"), 401) == "invalid_client"

    play(scenario)


@pytest.mark.parametrize(
    ("uri", "status"),
    [("javascript:alert(1)", 400), ("data:text/html,x", 400), ("http://evil.example/cb", 400),
     ("file:///etc/passwd", 400), ("https://ok.example/cb#frag", 400),
     ("cursor://anysphere.cursor-mcp/oauth/callback", 201), ("https://claude.ai/api/mcp/auth_callback", 201)],
)  # fmt: skip
def test_registration_with_an_unsafe_redirect_uri_is_refused(play: Play, uri: str, status: int) -> None:
    async def scenario(flow: Flow) -> None:
        answer = await flow.register(redirect_uris=[uri])
        assert answer.status_code == status
        if status == 400:
            assert error_of(answer) == "invalid_redirect_uri"
        else:
            assert answer.json()["token_endpoint_auth_method"] == "none"
            assert "client_secret" not in answer.json()

    play(scenario)


def test_a_program_without_an_id_asks_by_json(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        body = {"auth_provider": "local", "redirect_uri": REDIRECT}
        begun = (await flow.http.post("/mcp/oauth/initiate", json=body)).json()
        assert begun.keys() == {"authorization_url", "state", "expires_at", "code_verifier"}
        await flow.open(begun["authorization_url"])
        decided = await flow.decide("allow", alice.name, alice.password)
        back = await flow.http.get(decided.headers["location"], headers={"Cookie": flow.cookie})
        sent = parameters(back)
        assert sent["state"] == begun["state"]
        code = {"code": sent["code"], "code_verifier": begun["code_verifier"]}
        answer = (await flow.http.post("/mcp/oauth/token", json=code)).json()
        assert (await flow.http.get("/me", headers=bearer(answer["access_token"]))).status_code == 200
        more = {"grant_type": "refresh_token", "refresh_token": answer["refresh_token"]}
        assert (await flow.http.post("/mcp/oauth/token", json=more)).status_code == 200
        own = body | {"code_challenge": "A" * 43, "state": "mine"}
        begun = (await flow.http.post("/mcp/oauth/initiate", json=own)).json()
        assert (begun["state"], "code_verifier" in begun) == ("mine", False)

    play(scenario)


def test_initiate_lists_the_providers_and_refuses_unknown_fields(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        body = {"auth_provider": "google", "redirect_uri": REDIRECT}
        answer = await flow.http.post("/mcp/oauth/initiate", json=body)
        assert (answer.status_code, answer.json()["details"]["providers"]) == (400, ["local"])
        body = {"auth_provider": "local", "redirect_uri": REDIRECT, "user_id": "x"}
        answer = await flow.http.post("/mcp/oauth/initiate", json=body)
        assert (answer.status_code, answer.json()["error_code"]) == (400, "ERR_UNKNOWN_FIELD")

    play(scenario)


def test_a_token_is_revoked_by_its_client(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        body = await issued(flow, alice)
        data = {"token": body["refresh_token"], "client_id": flow.client_id}
        assert (await flow.http.post("/mcp/oauth/revoke", data=data)).status_code == 200
        assert error_of(await flow.refresh(body["refresh_token"])) == "invalid_grant"
        assert (await flow.http.get("/mcp", headers=bearer(body["access_token"]))).status_code == 401
        unknown = {"token": "gm_rt_x", "client_id": flow.client_id}
        assert (await flow.http.post("/mcp/oauth/revoke", data=unknown)).status_code == 200

    play(scenario)


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"grant_type": "password"}, "unsupported_grant_type"), ({"grant_type": ""}, "unsupported_grant_type"),
     ({}, "invalid_request"), ({"client_id": None}, "invalid_request")],
)  # fmt: skip
def test_a_token_request_that_is_not_whole_is_refused(
    play: Play, fields: dict[str, str | None], error: str
) -> None:
    async def scenario(flow: Flow) -> None:
        assert error_of(await flow.token(**fields)) == error
        twice = f"grant_type=refresh_token&client_id={flow.client_id}&refresh_token=a&refresh_token=b"
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await flow.http.post("/mcp/oauth/token", content=twice, headers=form)
        assert error_of(answer) == "invalid_request"

    play(scenario)


def test_a_401_at_mcp_says_where_to_ask_and_a_403_what_for(play: Play, bob: Person) -> None:
    async def scenario(flow: Flow) -> None:
        challenge = (await flow.http.post("/mcp")).headers["www-authenticate"]
        metadata = f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
        assert challenge == f'Bearer {metadata}, scope="read write"'
        wrong = await flow.http.post("/mcp", headers=bearer("gm_at_wrong"))
        assert wrong.headers["www-authenticate"].endswith('error="invalid_token"')
        wide = (await issued(flow, bob, resource=BASE))["access_token"]
        answer = await flow.http.post("/store", json={"entities": []}, headers=bearer(wide))
        expected = 'Bearer error="insufficient_scope", scope="read write"'
        assert (answer.status_code, answer.headers["www-authenticate"]) == (403, expected)
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "store", "arguments": {}},
        }
        answer = await flow.http.post("/mcp", json=call, headers=bearer(wide))
        assert answer.status_code == 403
        assert answer.headers["www-authenticate"] == f"{expected}, {metadata}"

    play(scenario)


def test_a_token_in_the_address_is_none(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        token = (await issued(flow, alice, resource=BASE))["access_token"]
        assert (await flow.http.get("/me", params={"access_token": token})).status_code == 401

    play(scenario)


def test_tokens_have_their_prefixes(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        body = await issued(flow, alice)
        assert body["access_token"].startswith(tokens.ACCESS_PREFIX)
        assert body["refresh_token"].startswith(tokens.REFRESH_PREFIX)
        assert VERIFIER not in str(body)

    play(scenario)
