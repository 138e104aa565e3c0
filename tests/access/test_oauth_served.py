"""OAuth over sockets: the official SDK's own client, and two processes that take turns."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright
from pydantic import AnyUrl

from graphmem.settings import Settings
from tests.access.conftest import WITHIN_SECONDS, Person
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long
from tests.support.oauth_clients import Storage
from tests.support.oauth_flow import REDIRECT, Flow, parameters
from tests.support.refusals import seconds_until_refused
from tests.support.service import Service, free_port, start, until_end

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def services_of_two(
    instance_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """Two services on one database, which tell callers one address: that of the first.

    A refresh token has no grace, so that a token that one of them has taken is a replay at the other at once.
    """
    port, folder, owner = free_port(), tmp_path_factory.mktemp("served"), str(uuid.uuid4())
    public: dict[str, Any] = {
        "GRAPHMEM_PUBLIC_URL": f"http://127.0.0.1:{port}", "GRAPHMEM_OAUTH_REFRESH_GRACE": "0",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(until_end(start(instance_settings, folder / "a", owner, port, **public)))
        second = stack.enter_context(until_end(start(instance_settings, folder / "b", owner, **public)))
        yield first, second


class Alternating(httpx.AsyncBaseTransport):
    """Send each request to the next one of some services, whatever its address says."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = itertools.cycle(httpx.URL(url) for url in urls)
        self.inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self.urls).port)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def wait_until_guarded(service: Service) -> None:
    """Wait until a service knows of the first password: it looks again after some seconds."""
    deadline = time.monotonic() + 60
    while httpx.get(f"{service.url}/stats", timeout=60).status_code != 401:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_client_of_the_sdk_discovers_registers_and_calls_and_refreshes(
    loop: Loop, services_of_two: tuple[Service, Service], alice: Person
) -> None:
    base, storage, redirects = services_of_two[0].url, Storage(), list[dict[str, str]]()
    for service in services_of_two:
        wait_until_guarded(service)

    async def visit(url: str) -> None:
        async with httpx.AsyncClient(base_url=base, timeout=60) as http:
            flow = Flow(http, base)
            await flow.open((await http.get(url)).headers["location"])
            decided = await flow.decide("allow", alice.name, alice.password)
            back = await http.get(decided.headers["location"], headers={"Cookie": flow.cookie})
            redirects.append(parameters(back))

    async def callback() -> AuthorizationCodeResult:
        sent = redirects[-1]
        return AuthorizationCodeResult(code=sent["code"], state=sent["state"], iss=sent["iss"])

    async def call(mode: Any) -> Any:
        metadata = OAuthClientMetadata(
            client_name="SDK", redirect_uris=[AnyUrl(REDIRECT)], token_endpoint_auth_method="none"
        )
        provider = OAuthClientProvider(f"{base}/mcp", metadata, storage, visit, callback)
        async with (
            httpx2.AsyncClient(auth=provider, timeout=60) as http,
            Client(streamable_http_client(f"{base}/mcp", http_client=http), mode=mode) as client,
        ):
            return await client.call_tool("get_authenticated_user", {})

    answer = loop.run(call("auto"))
    assert alice.name in answer.content[0].text
    assert len(redirects) == 1
    old = storage.tokens
    storage.tokens = old.model_copy(update={"access_token": "gm_at_expired"})
    answer = loop.run(call("legacy"))
    assert alice.name in answer.content[0].text
    assert storage.tokens.access_token != old.access_token


def test_each_step_may_be_on_the_other_process(
    loop: Loop, services_of_two: tuple[Service, Service], alice: Person
) -> None:
    base = services_of_two[0].url

    async def scenario() -> None:
        transport = Alternating([service.url for service in services_of_two])
        async with httpx.AsyncClient(transport=transport, base_url=base, timeout=60) as http:
            for skipped in range(2):
                if skipped:
                    await http.get("/health")
                flow = Flow(http, base)
                assert (await flow.register()).status_code == 201
                sent = await flow.allow(alice.name, alice.password, resource=base)
                first = (await flow.token(code=sent["code"])).json()
                for token in (first["access_token"], first["access_token"]):
                    answer = await http.get("/me", headers={"Authorization": f"Bearer {token}"})
                    assert answer.json()["account"] == alice.name
                second = (await flow.refresh(first["refresh_token"])).json()
                replayed = await flow.refresh(first["refresh_token"])
                assert replayed.json()["error"] == "invalid_grant"
                ended = await flow.refresh(second["refresh_token"])
                assert ended.json()["error"] == "invalid_grant"
                bearer = {"Authorization": f"Bearer {second['access_token']}"}
                assert (await http.get("/me", headers=bearer)).status_code == 401

    loop.run(scenario())


@pytest.mark.parametrize("way", mostly_long(["revoked", "deleted"], "revoked"))
def test_a_connection_that_ends_in_one_process_is_over_in_the_other_within_5_s(
    loop: Loop, services_of_two: tuple[Service, Service], alice: Person, way: str
) -> None:
    base = services_of_two[0].url

    async def scenario() -> None:
        async with (
            httpx.AsyncClient(base_url=base, timeout=60) as here,
            httpx.AsyncClient(base_url=services_of_two[1].url, timeout=60) as there,
        ):
            flow = Flow(here, base)
            await flow.register()
            kept, ended = [await allowed(flow, alice) for _ in range(2)]
            assert [await status_of(http, ended) for http in (here, there)] == [200, 200]
            me = (await here.get("/me", headers=bearer(ended))).json()
            path, headers = f"/mcp/oauth/connections/{me['credential']}", bearer(kept)
            data = {"token": ended["refresh_token"], "client_id": flow.client_id}
            if way == "deleted":
                answer = await here.delete(path, headers=headers)
            else:
                answer = await here.post("/mcp/oauth/revoke", data=data)
            assert answer.status_code == 200
            assert await status_of(here, ended) == 401
            await seconds_until_refused(lambda: status_of(there, ended), WITHIN_SECONDS)
            refused = await Flow(there, base, flow.client_id).refresh(ended["refresh_token"])
            assert refused.json()["error"] == "invalid_grant"
            assert (await there.delete(path, headers=headers)).status_code == 404
            assert [await status_of(http, kept) for http in (here, there)] == [200, 200]

    loop.run(scenario())


async def allowed(flow: Flow, person: Person) -> dict[str, Any]:
    """Return tokens that a person allowed, for all of the service."""
    sent = await flow.allow(person.name, person.password, resource=flow.base)
    return (await flow.token(code=sent["code"])).json()


def bearer(issued: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {issued['access_token']}"}


async def status_of(http: httpx.AsyncClient, issued: dict[str, Any]) -> int:
    return (await http.get("/me", headers=bearer(issued))).status_code


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")
@pytest.mark.parametrize("width", mostly_long([1000, 375], 375))
def test_a_person_allows_in_a_browser_by_keyboard_without_scripts(
    loop: Loop, services_of_two: tuple[Service, Service], alice: Person, width: int
) -> None:
    base, visited = services_of_two[0].url, list[str]()

    async def scenario() -> httpx.Response:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        async with httpx.AsyncClient(base_url=base, timeout=60) as http, async_playwright() as playwright:
            flow = Flow(http, base)
            await flow.register()
            url = (await flow.authorize()).headers["location"]
            chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=options)
            viewport: Any = {"width": width, "height": 800}
            context = await chromium.new_context(java_script_enabled=False, viewport=viewport)
            page = await context.new_page()
            page.on("request", lambda request: visited.append(request.url))
            await page.goto(url)
            for text in (alice.name, "wrong"):
                await page.keyboard.press("Tab")
                await page.keyboard.type(text)
            await page.keyboard.press("Enter")
            await page.get_by_role("alert").wait_for()
            await page.locator("#secret").fill(alice.password)
            # Nobody listens at the client's address.
            with contextlib.suppress(PlaywrightError):
                async with page.expect_request(lambda request: request.url.startswith(REDIRECT)):
                    await page.keyboard.press("Enter")
            await chromium.close()
            back = httpx.Response(302, headers={"location": visited[-1]})
            return await flow.token(code=parameters(back)["code"])

    answer = loop.run(scenario())
    assert visited[-1].startswith(REDIRECT)
    assert answer.json()["scope"] == "read write"


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")
def test_a_person_logs_in_at_the_page_of_the_service_and_out_again(
    loop: Loop, services_of_two: tuple[Service, Service], alice: Person
) -> None:
    service = services_of_two[0]

    async def scenario() -> tuple[str, str, str]:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        async with async_playwright() as playwright:
            chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=options)
            page = await (await chromium.new_context()).new_page()
            sent: list[str] = []
            page.on("request", lambda request: sent.append(request.headers.get("authorization", "")))
            await page.goto(f"{service.url}/#/timeline")
            await page.get_by_role("button", name="Log in").click()
            await page.locator("#name").fill(alice.name)
            await page.locator("#secret").fill(alice.password)
            await page.get_by_role("button", name="Allow").click()
            await page.get_by_role("heading", name="Timeline").wait_for()
            address = page.url
            await page.get_by_text(alice.name).wait_for()
            kept = await page.evaluate("JSON.stringify([localStorage, sessionStorage])")
            await page.get_by_role("button", name="Log out").click()
            await page.get_by_role("heading", name="Log in").wait_for()
            token = next(each for each in reversed(sent) if each)
            await chromium.close()
        return address, kept, token

    wait_until_guarded(service)
    address, kept, token = loop.run(scenario())
    assert address == f"{service.url}/#/timeline"
    assert json.loads(kept) == [{"graphmem-theme": "auto"}, {}]

    async def tried() -> int:
        async with httpx.AsyncClient(timeout=60) as http:
            return (await http.get(f"{service.url}/me", headers={"Authorization": token})).status_code

    assert loop.run(seconds_until_refused(tried, WITHIN_SECONDS)) < WITHIN_SECONDS


def test_the_folder_of_a_service_has_no_token(services_of_two: tuple[Service, Service]) -> None:
    for service in services_of_two:
        text = (Path(service.folder) / "console").read_text("utf-8", errors="replace")
        for secret in ("gm_at_", "gm_rt_", "code=", "correct horse"):
            assert secret not in text
