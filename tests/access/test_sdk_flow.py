"""The whole of OAuth as a program of the official SDK and a person with a browser go through it.

The program is known by its metadata document, or it registers itself. The service is one process, or two that
answer in turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from playwright.async_api import Browser, async_playwright
from playwright.async_api import Error as PlaywrightError
from pydantic import AnyUrl

from graphmem.settings import Settings
from tests.access.conftest import WITHIN_SECONDS, Person
from tests.support.alternating_proxy import AlternatingProxy, alternating_proxy
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long
from tests.support.oauth_clients import Storage
from tests.support.oauth_flow import REDIRECT, parameters
from tests.support.refusals import seconds_until_refused
from tests.support.service import Service, free_port, start, until_end
from tests.support.tls_server import Authority, TlsServer, answer, tls_server

CHROMIUM = Path("/usr/bin/chromium")
HOST = "documents.example.org"
DOCUMENT_URL = f"https://{HOST}/client.json"
DOCUMENT = {
    "client_id": DOCUMENT_URL,
    "client_name": "Program of the SDK",
    "redirect_uris": ["http://localhost/callback"],
    "token_endpoint_auth_method": "none",
}
ACCESS_SECONDS = 6
"""How long access tokens of these services are valid."""
FLOW_SECONDS = 280.0


@dataclass
class Program:
    """A program that uses the client of the SDK, and the person who allows it in a browser.

    ``pages`` has the text of each consent page, ``redirects`` what came back to the program.
    """

    base: str
    person: Person
    browser: Browser
    document_url: str | None
    storage: Storage = field(default_factory=Storage)
    pages: list[str] = field(default_factory=list)
    redirects: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        metadata = OAuthClientMetadata(
            client_name="Program of the SDK",
            redirect_uris=[AnyUrl(REDIRECT)],
            token_endpoint_auth_method="none",
        )
        self.provider = OAuthClientProvider(
            f"{self.base}/mcp", metadata, self.storage, self.visit, self.callback, self.document_url
        )

    async def visit(self, url: str) -> None:
        """Allow the program on the page that it opens."""
        context = await self.browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        page.set_default_timeout(FLOW_SECONDS * 1_000)
        await page.goto(url)
        self.pages.append(await page.locator("main").inner_text())
        await page.locator("#name").fill(self.person.name)
        await page.locator("#secret").fill(self.person.password)
        back: list[str] = []
        # Nobody listens at the address of the program.
        with contextlib.suppress(PlaywrightError):
            async with page.expect_request(lambda request: request.url.startswith(REDIRECT)) as request:
                await page.keyboard.press("Enter")
            back.append((await request.value).url)
        await context.close()
        self.redirects.append(parameters(httpx.Response(302, headers={"location": back[0]})))

    async def callback(self) -> AuthorizationCodeResult:
        sent = self.redirects[-1]
        return AuthorizationCodeResult(code=sent["code"], state=sent["state"], iss=sent["iss"])

    async def who_am_i(self, mode: Any) -> dict[str, Any]:
        """Call the tool that answers who calls."""
        async with (
            httpx2.AsyncClient(auth=self.provider, timeout=60) as http,
            Client(streamable_http_client(f"{self.base}/mcp", http_client=http), mode=mode) as client,
        ):
            called: Any = await client.call_tool("get_authenticated_user", {})
        assert not called.is_error
        return json.loads(called.content[0].text)

    async def until_expired(self) -> None:
        """Wait until the program knows by its clock that the access token has expired."""
        expires_at = self.provider.context.token_expiry_time
        assert expires_at is not None
        await asyncio.sleep(max(0.0, expires_at - time.time()) + 0.1)

    @property
    def access_token(self) -> str:
        return self.storage.tokens.access_token

    @property
    def refresh_token(self) -> str:
        return self.storage.tokens.refresh_token

    @property
    def client_id(self) -> str:
        return self.storage.client.client_id


@dataclass
class World:
    """Services behind a proxy, the server of documents, and a stranger's HTTP client."""

    services: list[Service]
    proxy: AlternatingProxy
    documents: TlsServer
    http: httpx.AsyncClient

    async def until_refused(self, access_token: str, seconds: float) -> None:
        """Wait until every process refuses an access token, at most some seconds."""
        await asyncio.gather(
            *(
                seconds_until_refused(partial(self._status, service, access_token), seconds)
                for service in self.services
            )
        )

    async def _status(self, service: Service, access_token: str) -> int:
        headers = {"Authorization": f"Bearer {access_token}"}
        return (await self.http.get(f"{service.url}/mcp", headers=headers)).status_code

    async def refresh(self, program: Program, refresh_token: str) -> httpx.Response:
        """Send a refresh token as the program would."""
        data = {
            "grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": program.client_id,
        }  # fmt: skip
        return await self.http.post(f"{program.base}/mcp/oauth/token", data=data)

    async def assert_ended(self, program: Program, *refresh_tokens: str) -> None:
        for token in refresh_tokens:
            refused = await self.refresh(program, token)
            assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


@asynccontextmanager
async def served(settings: Settings, folder: Path, processes: int) -> AsyncIterator[World]:
    """Serve by some processes whose metadata documents come from a local server."""
    authority, port, owner = Authority(folder), free_port(), str(uuid.uuid4())
    public: dict[str, Any] = {
        "GRAPHMEM_PUBLIC_URL": f"http://127.0.0.1:{port}", "GRAPHMEM_OAUTH_REFRESH_GRACE": "0",
    }  # fmt: skip
    async with contextlib.AsyncExitStack() as stack:
        reply = answer(json.dumps(DOCUMENT).encode(), "Cache-Control: max-age=3600")
        documents = await stack.enter_async_context(tls_server(authority.server_context(HOST), reply))
        oauth = {
            "access_seconds": ACCESS_SECONDS,
            "document_port": documents.port,
            "authority": str(authority.file),
        }
        started = [
            start(settings, folder / str(number), owner, oauth=oauth, **public) for number in range(processes)
        ]
        services: list[Service] = []
        for service in started:
            ready = until_end(service)
            services.append(await asyncio.to_thread(ready.__enter__))
            stack.callback(ready.__exit__, None, None, None)
        ports = [httpx.URL(service.url).port or 0 for service in services]
        proxy = await stack.enter_async_context(alternating_proxy(ports, port))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=60))
        yield World(services, proxy, documents, http)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        await browser.close()


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")
@pytest.mark.parametrize(
    ("by_document", "processes", "mode"),
    mostly_long([(True, 1, "auto"), (True, 2, "auto"), (False, 2, "legacy")], (True, 2, "auto")),
)
def test_a_program_of_the_sdk_and_a_person_go_through_all_of_oauth(
    loop: Loop,
    instance_settings: Settings,
    tmp_path: Path,
    alice: Person,
    by_document: bool,
    processes: int,
    mode: str,
) -> None:
    async def scenario() -> None:
        async with served(instance_settings, tmp_path, processes) as world, chromium() as browser:
            base = f"http://127.0.0.1:{world.proxy.port}"
            program = Program(base, alice, browser, DOCUMENT_URL if by_document else None)

            # Discovery, the document or the registration, PKCE, consent, and a tool.
            me = await program.who_am_i(mode)
            assert (me["account"], me["authentication"]) == (alice.name, "oauth")
            assert program.redirects[0]["iss"] == base
            check_client(world, program, by_document)
            check_processes(world.proxy, processes)

            # The access token expires, and the program refreshes it without the person.
            first = program.storage.tokens
            assert first.expires_in == ACCESS_SECONDS
            await program.until_expired()
            await world.until_refused(first.access_token, 0)
            assert (await program.who_am_i(mode))["credential"] == me["credential"]
            assert program.access_token != first.access_token
            assert program.refresh_token != first.refresh_token
            assert len(program.redirects) == 1

            # Somebody uses the first refresh token again, so the person is asked once more.
            second = program.storage.tokens
            await world.assert_ended(program, first.refresh_token, second.refresh_token)
            await world.until_refused(second.access_token, WITHIN_SECONDS)
            again = await program.who_am_i(mode)
            assert (again["account"], len(program.redirects)) == (alice.name, 2)
            assert again["credential"] != me["credential"]

            # The program gives its token back.
            data = {"token": program.refresh_token, "client_id": program.client_id}
            assert (await world.http.post(f"{base}/mcp/oauth/revoke", data=data)).status_code == 200
            await world.until_refused(program.access_token, WITHIN_SECONDS)
            await world.assert_ended(program, program.refresh_token)

    loop.run(scenario(), FLOW_SECONDS)


def check_client(world: World, program: Program, by_document: bool) -> None:
    """Check how the service knows the program, and that the page of the person says it."""
    registered = [path for _, _, path in world.proxy.requests if path == "/mcp/oauth/register"]
    assert "Program of the SDK" in program.pages[0]
    assert (f"described at {HOST}" in program.pages[0]) is by_document
    if by_document:
        assert (program.client_id, registered) == (DOCUMENT_URL, [])
        assert set(world.documents.server_names) == {HOST}
        # Each process fetches the document once.
        assert 1 <= len(world.documents.requests) <= len(world.services)
        assert world.documents.requests[0].startswith("GET /client.json HTTP/1.1\r\n")
    else:
        assert program.client_id.startswith("client_")
        assert (len(registered), world.documents.requests) == (1, [])


def check_processes(proxy: AlternatingProxy, processes: int) -> None:
    """Check that each step of a person and of the program was answered by another process than the last."""
    steps = proxy.services_of("/mcp/oauth/authorize", "/mcp/oauth/consent", "/mcp/oauth/token")
    # The request, the page, its form, the way back, and the tokens.
    assert len(steps) == 5
    assert len(set(steps)) == processes
    if processes == 2:
        assert all(former != later for former, later in itertools.pairwise(steps))
