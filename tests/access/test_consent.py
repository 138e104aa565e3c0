"""The consent page: what it shows, and that only the person's own form grants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth.accounts import Accounts
from graphmem.auth.grants import ATTEMPTS_LIMIT
from graphmem.context import Services
from tests.access.conftest import Person
from tests.support.event_loop import Loop
from tests.support.oauth_flow import REDIRECT, Flow, parameters

BASE = "https://graph.example"
Scenario = Callable[[Flow], Awaitable[None]]
Play = Callable[[Scenario], None]


@pytest.fixture
def play(loop: Loop, instance_services: Services) -> Play:
    """Run a scenario against an application behind https, with a client that registered."""

    def run(scenario: Scenario) -> None:
        async def running() -> None:
            changes = {"public_url": BASE, "allowed_hosts": ("graph.example",)}
            settings = instance_services.settings.model_copy(update=changes)
            app = create_app(replace(instance_services, settings=settings), limited=False)
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
                flow = Flow(http, BASE)
                await flow.register()
                await scenario(flow)

        loop.run(running())

    return run


async def opened(flow: Flow, **changes: str | None) -> httpx.Response:
    """Open the page of a new request, in a browser without cookies."""
    url = (await flow.authorize(**changes)).headers["location"]
    page = await flow.open(url)
    flow.http.cookies.clear()
    return page


def test_the_page_says_who_asks_for_what_where_and_how_long(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        text = (await opened(flow, scope="read")).text
        for words in ("Test client", "localhost:7777", "computer of this browser", "Read everything",
                      f"{BASE}/mcp", "30 days"):  # fmt: skip
            assert words in text
        assert "Store, correct" not in text
        assert "<script" not in text

    play(scenario)


def test_grant_without_the_form_of_the_page_is_refused(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        await opened(flow)
        name, secret = alice.name, alice.password
        for decided in (
            await flow.decide("allow", name, secret, headers={"Cookie": ""}),
            await flow.decide("allow", name, secret, headers={"Cookie": flow.cookie[:-1] + "x"}),
            await flow.decide("allow", name, secret, csrf="0" * 64),
            await flow.decide("allow", name, secret, csrf=""),
            await flow.decide("allow", name, secret, headers={"Origin": "https://evil.example"}),
            await flow.decide("allow", name, secret, headers={"Origin": "null"}),
            await flow.decide("allow", name, secret, headers={"Origin": "https://localhost"}),
            await flow.decide("deny", csrf="0" * 64),
        ):
            assert decided.status_code == 403
            assert "location" not in decided.headers
        other = Flow(flow.http, flow.base, flow.client_id)
        await opened(other)
        assert (await flow.decide("allow", name, secret, csrf=other.fields["csrf"])).status_code == 403
        assert (await flow.decide("allow", name, secret)).status_code == 303

    play(scenario)


def test_consent_by_get_grants_nothing(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        await opened(flow)
        params = flow.fields | {
            "approve": "1", "decision": "allow", "name": alice.name, "secret": alice.password,
        }  # fmt: skip
        answer = await flow.http.get("/mcp/oauth/consent", params=params, headers={"Cookie": flow.cookie})
        assert answer.status_code == 200
        assert "location" not in answer.headers
        ends = {"code": "x", "state": flow.fields["request"]}
        answer = await flow.http.get("/mcp/oauth/authorize", params=ends, headers={"Cookie": flow.cookie})
        assert (answer.status_code, answer.json()["error_code"]) == (400, "OAUTH_STATE_INVALID")

    play(scenario)


def test_an_allowed_request_ends_once_in_the_browser_that_allowed_it(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        await opened(flow)
        decided = await flow.decide("allow", alice.name, alice.password)
        url = decided.headers["location"]
        for cookie in ("", flow.cookie[:-1] + "x"):
            headers = {"Cookie": cookie} if cookie else {}
            assert (await flow.http.get(url, headers=headers)).status_code == 400
        back = await flow.http.get(url, headers={"Cookie": flow.cookie})
        assert back.headers["location"].startswith(REDIRECT)
        assert (await flow.http.get(url, headers={"Cookie": flow.cookie})).status_code == 400

    play(scenario)


def test_page_for_consent_cannot_be_framed(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        page = await opened(flow)
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self' http://localhost:7777;" in policy
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        cookie = page.headers["set-cookie"]
        assert cookie.startswith("__Host-graphmem-")
        for part in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
            assert part in cookie

    play(scenario)


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "&lt;b&gt;", "a' b"],
)
def test_name_of_a_client_with_markup_is_shown_as_text(play: Play, name: str) -> None:
    async def scenario(flow: Flow) -> None:
        await flow.register(client_name=name)
        text = (await opened(flow)).text
        assert "<script" not in text
        assert "<img" not in text
        assert "49" not in text.partition("<h1>")[2].partition("</h1>")[0]
        await flow.decide("allow", '"><script>x', "wrong")

    play(scenario)


def test_what_a_person_enters_is_text(play: Play) -> None:
    async def scenario(flow: Flow) -> None:
        await opened(flow)
        answer = await flow.decide("allow", '"><script>x', "wrong")
        assert answer.status_code == 403
        assert "<script" not in answer.text
        assert 'role="alert"' in answer.text

    play(scenario)


def test_a_wrong_secret_may_be_corrected_a_few_times(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        await opened(flow)
        answer = await flow.decide("allow", alice.name, "wrong")
        assert answer.status_code == 403
        assert "do not fit" in answer.text
        assert f'value="{alice.name}"' in answer.text
        for _ in range(ATTEMPTS_LIMIT - 1):
            await flow.decide("allow", "nobody", "wrong")
        answer = await flow.decide("allow", alice.name, alice.password)
        assert answer.status_code == 400
        assert "has ended" in answer.text

    play(scenario)


def test_an_account_is_proved_by_a_key_or_by_a_code_once(
    play: Play, loop: Loop, instance_services: Services, alice: Person
) -> None:
    accounts = Accounts(instance_services.database)
    key, _ = loop.run(accounts.create_key(alice.account.id, alice.account.owner, "page", ["read"], None))
    code, _ = loop.run(accounts.create_code(alice.account.id))

    async def scenario(flow: Flow) -> None:
        for secret, status in ((key, 303), (code, 303), (code, 403), ("gm_sk_wrong", 403)):
            await opened(flow)
            assert (await flow.decide("allow", "", secret)).status_code == status

    play(scenario)


def test_a_program_that_would_make_keys_is_allowed_in_words_and_by_no_key(
    play: Play, loop: Loop, instance_services: Services, alice: Person
) -> None:
    accounts = Accounts(instance_services.database)
    key, _ = loop.run(
        accounts.create_key(alice.account.id, alice.account.owner, "page", ["read", "write"], None)
    )
    code, _ = loop.run(accounts.create_code(alice.account.id))

    async def scenario(flow: Flow) -> None:
        text = (await opened(flow, scope="read write keys")).text
        for words in ("Make API keys", "goes on working when this connection", "for\n5 minutes"):
            assert words in text
        assert "Password or one-time code" in text
        refused = await flow.decide("allow", "", key)
        assert (refused.status_code, "enter your password" in refused.text) == (403, True)
        assert (await flow.decide("allow", "", code)).status_code == 303
        assert "Make API keys" not in (await opened(flow, scope="read write")).text

    play(scenario)


def test_an_account_allows_no_more_than_it_may(play: Play, bob: Person) -> None:
    async def scenario(flow: Flow) -> None:
        sent = await flow.allow(bob.name, bob.password, scope="read write admin")
        assert (await flow.token(code=sent["code"])).json()["scope"] == "read"
        await opened(flow, scope="admin")
        assert "all other people" in str(flow.page and flow.page.text)
        answer = await flow.decide("allow", bob.name, bob.password)
        assert answer.status_code == 403
        assert "may do nothing" in answer.text

    play(scenario)


def test_two_pages_of_one_browser_do_not_disturb_each_other(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        other = Flow(flow.http, flow.base, flow.client_id)
        await opened(flow)
        await opened(other)
        assert flow.cookie.partition("=")[0] != other.cookie.partition("=")[0]
        for each in (flow, other):
            headers = {"Cookie": f"{flow.cookie}; {other.cookie}"}
            assert (
                await each.decide("allow", alice.name, alice.password, headers=headers)
            ).status_code == 303

    play(scenario)


def test_a_request_that_is_unknown_or_denied_has_ended(play: Play, alice: Person) -> None:
    async def scenario(flow: Flow) -> None:
        for query in ("", "?request=", "?request=unknown"):
            answer = await flow.http.get(f"/mcp/oauth/consent{query}")
            assert answer.status_code == 400
            assert "has ended" in answer.text
        await opened(flow)
        denied = await flow.decide("deny")
        assert parameters(denied)["error"] == "access_denied"
        assert (await flow.decide("allow", alice.name, alice.password)).status_code == 400
        query = parse_qs(urlsplit(denied.headers["location"]).query)
        assert "code" not in query

    play(scenario)
