"""OAuth over HTTP: both dialects, documents, challenges, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth import tokens
from graphmem.context import Services
from tests.access.conftest import MCP_HEADERS, Person
from tests.support.event_loop import Loop
from tests.support.oauth_flow import REDIRECT, VERIFIER, Flow, parameters

BASE = "http://localhost:7373"
Scenario = Callable[[Flow], Awaitable[None]]
Play = Callable[..., None]


@pytest.fixture
def play(loop: Loop, instance_services: Services) -> Play:
    """Run a scenario against an application with some settings, with a client that registered."""

    def run(scenario: Scenario, **changes: Any) -> None:
        async def running() -> None:
            settings = instance_services.settings.model_copy(update={"public_url": BASE, **changes})
            app = create_app(replace(instance_services, settings=settings), limited=False)
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=transport, base_url=BASE, headers=MCP_HEADERS) as http,
            ):
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


def call_of(tool: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


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
        assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")
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


def test_a_401_at_mcp_says_where_to_ask_and_a_403_what_for(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        challenge = (await flow.http.post("/mcp")).headers["www-authenticate"]
        metadata = f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
        assert challenge == f'Bearer {metadata}, scope="read write"'
        wrong = await flow.http.post("/mcp", headers=bearer("gm_at_wrong"))
        assert wrong.headers["www-authenticate"].endswith('error="invalid_token"')
        narrow = bearer((await issued(flow, alice, resource=BASE, scope="read"))["access_token"])
        answer = await flow.http.post("/store", json={"entities": []}, headers=narrow)
        expected = 'Bearer error="insufficient_scope", scope="read write"'
        assert (answer.status_code, answer.headers["www-authenticate"]) == (403, expected)
        answer = await flow.http.post("/mcp", json=call_of("store"), headers=narrow)
        assert answer.status_code == 403
        assert answer.headers["www-authenticate"] == f"{expected}, {metadata}"

    play(scenario)


@pytest.mark.parametrize("tool", ["store", "register_relationship_type"])
def test_a_tool_whose_scope_nobody_can_grant_answers_an_error_of_the_tool(
    play: Play, bob: Person, alice: Person, tool: str
) -> None:
    async def scenario(flow: Flow) -> None:
        # Bob may read only, and no client asks for the scope admin because of a challenge.
        person, needs = (bob, "write") if tool == "store" else (alice, "admin")
        token = bearer((await issued(flow, person, resource=BASE))["access_token"])
        answer = await flow.http.post("/mcp", json=call_of(tool), headers=token)
        error = json.loads(answer.json()["result"]["content"][0]["text"])
        assert (answer.status_code, error["error_code"], error["details"]["needs"]) == (
            200,
            "FORBIDDEN",
            needs,
        )
        path = "/store" if tool == "store" else "/metrics"
        answer = await flow.http.request("POST" if tool == "store" else "GET", path, json={}, headers=token)
        assert (answer.status_code, answer.headers.get("www-authenticate")) == (403, None)

    play(scenario)


@pytest.mark.parametrize(
    ("scope", "granted"),
    [("claudeai", "read write"), ("openid profile email", "read write"), ("offline_access read", "read"),
     ("nothing", "read write"), ("", "read write")],
)  # fmt: skip
def test_unknown_scopes_are_dropped(play: Play, alice: Person, scope: str, granted: str) -> None:
    async def scenario(flow: Flow) -> None:
        body = await issued(flow, alice, scope=scope)
        assert body["scope"] == granted
        again = await flow.refresh(body["refresh_token"], scope="offline_access")
        assert (again.status_code, again.json()["scope"]) == (200, granted)

    play(scenario)


def test_http_basic_at_the_token_endpoint_names_the_client(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        def basic(text: str) -> dict[str, str]:
            return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}

        sent = await flow.allow(alice.name, alice.password)
        data = {
            "grant_type": "authorization_code", "code": sent["code"], "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        }  # fmt: skip
        own, url = basic(f"{flow.client_id}:"), "/mcp/oauth/token"
        # The client must be that of the form and of the code, and be known.
        two = await flow.http.post(url, data={**data, "client_id": "client_other"}, headers=own)
        assert error_of(two) == "invalid_request"
        unknown = await flow.http.post(url, data=data, headers=basic("client_other:secret"))
        assert (unknown.status_code, unknown.json()["error"]) == (401, "invalid_client")
        odd = await flow.http.post(url, data=data, headers={"Authorization": "Basic %%%"})
        assert (odd.status_code, odd.json()["error"]) == (401, "invalid_client")
        good = await flow.http.post(url, data=data, headers=own)
        assert good.status_code == 200
        data = {"token": good.json()["refresh_token"]}
        assert (await flow.http.post("/mcp/oauth/revoke", data=data, headers=own)).status_code == 200
        assert error_of(await flow.refresh(data["token"])) == "invalid_grant"

    play(scenario)


def test_mcp_answers_with_a_slash_at_the_end_too(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        token = bearer((await issued(flow, alice))["access_token"])
        listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        for path in ("/mcp", "/mcp/memory"):
            answers = [await flow.http.post(f"{path}{end}", json=listed, headers=token) for end in ("", "/")]
            assert [answer.status_code for answer in answers] == [200, 200]
            assert answers[0].json() == answers[1].json()
        assert (await flow.http.post("/mcp/", json=listed)).status_code == 401

    play(scenario)


def test_metadata_documents_can_be_turned_off(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        for end in ("", "/mcp"):
            document = (await flow.http.get(f"/.well-known/oauth-authorization-server{end}")).json()
            assert document["client_id_metadata_document_supported"] is False
        answer = await flow.authorize(client_id="https://client.example/document.json")
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert "register" in answer.json()["error_description"]

    play(scenario, oauth_client_documents=False)


async def makes(flow: Flow, token: str) -> httpx.Response:
    """Make a key by a token."""
    return await flow.http.post("/keys", json={"name": "of a program"}, headers=bearer(token))


def test_a_program_makes_keys_for_5_minutes_once_a_person_allowed_it(
    play: Play, alice: Person, forward: Callable[[int], None]
) -> None:
    async def scenario(flow: Flow) -> None:
        plain = (await issued(flow, alice, resource=BASE))["access_token"]
        for path in ("/keys", "/keys/x/rotate", "/agents/grants", "/agents/grants/x/suspend"):
            refused = await flow.http.post(path, headers=bearer(plain))
            assert (refused.status_code, refused.json()["details"]["needs"]) == (403, "keys"), path
            # No challenge: a client would ask for the scope unasked.
            assert "www-authenticate" not in refused.headers
        body = await issued(flow, alice, resource=BASE, scope="read write keys")
        assert ({*body["scope"].split()}, body["expires_in"]) == ({"read", "write", "keys"}, 300)
        made = (await makes(flow, body["access_token"])).json()
        (connection,) = (
            await flow.http.get("/mcp/oauth/connections", headers=bearer(body["access_token"]))
        ).json()["connections"][:1]
        assert (made["key"]["made_by"], made["key"]["scopes"]) == (
            connection["connection_id"],
            ["read", "write"],
        )
        assert connection["scopes"] == ["read", "write"]
        forward(301_000_000)
        assert (await makes(flow, body["access_token"])).status_code == 401
        assert error_of(await flow.refresh(body["refresh_token"], scope="keys")) == "invalid_scope"
        renewed = (await flow.refresh(body["refresh_token"])).json()
        assert (renewed["scope"], renewed["expires_in"]) == ("read write", 900)
        assert (await makes(flow, renewed["access_token"])).status_code == 403
        # A token for keys alone makes none, because a key has the scopes of its maker, and is not renewed.
        bare = await issued(flow, alice, resource=BASE, scope="keys")
        assert (bare["scope"], "refresh_token" in bare) == ("keys", False)
        assert (await makes(flow, bare["access_token"])).status_code == 403

    play(scenario)


def test_a_key_of_the_page_says_so_and_outlives_the_connection(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        made: dict[str, str] = {}
        for page in (f"{BASE}/", "http://localhost:9999/"):
            body = {
                "auth_provider": "local", "redirect_uri": page, "resource": BASE, "scope": "read write keys",
                "client_name": "Inspector of this service",
            }  # fmt: skip
            request = (await flow.http.post("/mcp/oauth/initiate", json=body)).json()
            await flow.open(request["authorization_url"])
            decided = await flow.decide("allow", alice.name, alice.password)
            back = await flow.http.get(decided.headers["location"], headers={"Cookie": flow.cookie})
            sent = {"code": parameters(back)["code"], "code_verifier": request["code_verifier"]}
            token = (await flow.http.post("/mcp/oauth/token", json=sent)).json()["access_token"]
            made[page] = (await makes(flow, token)).json()["secret"]
            me = (await flow.http.get("/me", headers=bearer(token))).json()
            assert "keys" in me["scopes"]
            path = f"/mcp/oauth/connections/{me['credential']}"
            assert (await flow.http.delete(path, headers=bearer(token))).status_code == 200
            assert (await makes(flow, token)).status_code == 401
        other, own = (await flow.http.get("/keys", headers=bearer(made[f"{BASE}/"]))).json()["keys"]
        assert (own["made_by"], own["state"], own["expires_at"]) == ("page", "active", None)
        # A name proves nothing: a program at another address is no page.
        assert other["made_by"].startswith("con_")
        secret = made[f"{BASE}/"]
        rotated = await flow.http.post(f"/keys/{own['key_id']}/rotate", headers=bearer(secret))
        assert rotated.json()["key"]["made_by"] == "page"

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
