"""The service behind docker/Caddyfile: a real Caddy with TLS, where there is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem.settings import Settings
from tests.support.event_loop import Loop
from tests.support.service import READY_SECONDS, free_port, running

CADDY = shutil.which("caddy")
CADDYFILE = Path(__file__).parents[2] / "docker" / "Caddyfile"
DOMAIN = "memory.test"
TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
FAILURES_LIMIT = 3
MEGABYTE = 1_000_000

pytestmark = pytest.mark.skipif(CADDY is None, reason="there is no caddy on this machine")


@dataclass(frozen=True)
class Proxy:
    """A running Caddy: its port, and the authority of its certificate."""

    port: int
    root: Path

    def request(self, method: str, path: str, *, address: str = "127.0.0.1", **kwargs: Any) -> httpx.Response:
        """Send a request to the domain from an address of loopback."""
        transport = httpx.HTTPTransport(verify=self.tls(), local_address=address)
        with httpx.Client(transport=transport, timeout=60) as http:
            headers = {"Host": self.host} | kwargs.pop("headers", {})
            url, names = f"https://127.0.0.1:{self.port}{path}", {"sni_hostname": DOMAIN}
            return http.request(method, url, headers=headers, extensions=names, **kwargs)

    @property
    def host(self) -> str:
        """The authority that callers name."""
        return f"{DOMAIN}:{self.port}"

    def tls(self) -> ssl.SSLContext:
        """Return the settings of a client that trusts the proxy's certificate."""
        return ssl.create_default_context(cafile=str(self.root))


@contextlib.contextmanager
def proxying(upstream: int, port: int, folder: Path) -> Iterator[Proxy]:
    """Run Caddy before a port of loopback, with docker/Caddyfile and an authority of its own."""
    options = "admin off\nlocal_certs\nskip_install_trust\nauto_https disable_redirects\n"
    storage = folder / "storage"
    config = folder / "Caddyfile"
    config.write_text(
        f"{{\n{options}default_bind 127.0.0.1\nstorage file_system {storage}\n}}\nimport {CADDYFILE}\n"
    )
    environment = {
        "DOMAIN": f"{DOMAIN}:{port}", "UPSTREAM": f"127.0.0.1:{upstream}",
        "PATH": os.environ["PATH"], "HOME": str(folder),
    }  # fmt: skip
    words = [str(CADDY), "run", "--adapter", "caddyfile", "--config", str(config)]
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(words, env=environment, stdout=console, stderr=console)
    try:
        proxy = Proxy(port, storage / "pki" / "authorities" / "local" / "root.crt")
        end = time.monotonic() + READY_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as plain:
                proxy.tls().wrap_socket(plain, server_hostname=DOMAIN).close()
                break
            assert process.poll() is None, (folder / "console").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        yield proxy
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def proxy(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A service behind Caddy, as the guide sets it up."""
    port = free_port()
    variables = {
        "SERVICE_BEARER_TOKEN": TOKEN,
        "GRAPHMEM_PUBLIC_URL": f"https://{DOMAIN}:{port}",
        "GRAPHMEM_ALLOWED_HOSTS": DOMAIN,
        "GRAPHMEM_TRUSTED_PROXIES": "127.0.0.1",
        "GRAPHMEM_LIMIT_FAILURES": f"{FAILURES_LIMIT}/minute",
    }
    folder = tmp_path_factory.mktemp("behind_caddy")
    with (
        running(settings, folder, str(uuid.uuid4()), **variables) as service,
        proxying(httpx.URL(service.url).port or 0, port, tmp_path_factory.mktemp("caddy")) as started,
    ):
        yield started


def test_a_caller_reaches_the_service_by_the_domain_and_needs_a_credential(proxy: Proxy) -> None:
    assert proxy.request("GET", "/me").status_code == 401
    me = proxy.request("GET", "/me", headers=AUTHORIZED)
    assert me.json()["authentication"] == "token"
    assert me.headers["strict-transport-security"] == "max-age=31536000"
    assert me.headers["cache-control"] == "no-store"


def test_the_service_says_the_address_of_the_proxy_for_its_own(proxy: Proxy) -> None:
    info = proxy.request("GET", "/server-info").json()
    assert f"https://{DOMAIN}:{proxy.port}" in str(info)
    assert proxy.request("GET", "/server-info", headers={"Origin": "https://evil.example"}).status_code == 403


def test_mcp_answers_through_the_proxy(proxy: Proxy) -> None:
    headers = {**AUTHORIZED, "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    tools = proxy.request("POST", "/mcp", headers=headers, json=body).json()["result"]["tools"]
    assert "store" in {tool["name"] for tool in tools}


def test_failures_count_for_the_caller_behind_the_proxy_whatever_it_forwards(proxy: Proxy) -> None:
    def attempt(address: str, number: int) -> int:
        forged = {"Authorization": f"Bearer wrong-{number}", "X-Forwarded-For": f"192.0.2.{number}"}
        return proxy.request("GET", "/me", address=address, headers=forged).status_code

    statuses = [attempt("127.0.0.2", number) for number in range(FAILURES_LIMIT + 1)]
    assert statuses == [401] * FAILURES_LIMIT + [429]
    assert attempt("127.0.0.3", 9) == 401
    assert proxy.request("GET", "/me", address="127.0.0.2", headers=AUTHORIZED).status_code == 200


@pytest.mark.parametrize("megabytes", [12, 40])
def test_a_large_body_is_refused_with_the_error_of_the_service(proxy: Proxy, megabytes: int) -> None:
    headers = {**AUTHORIZED, "Content-Type": "application/json"}
    refused = proxy.request("POST", "/store", headers=headers, content=b" " * (megabytes * MEGABYTE))
    assert (refused.status_code, refused.json()["error_code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_what_is_streamed_arrives_at_once(loop: Loop, tmp_path: Path) -> None:
    requests: list[str] = []
    begun = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"9\r\ndata: 1\n\n\r\n")
        # The end comes only after the client has the beginning.
        await begun.wait()
        writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        writer.close()

    async def received(proxy: Proxy) -> list[bytes]:
        async with httpx.AsyncClient(verify=proxy.tls(), timeout=30) as http:
            url, names = f"https://127.0.0.1:{proxy.port}/mcp", {"sni_hostname": DOMAIN}
            headers = {"Host": proxy.host, "X-Forwarded-For": "192.0.2.1"}
            async with http.stream("POST", url, headers=headers, extensions=names) as answer:
                parts = answer.aiter_raw()
                first = await anext(parts)
                begun.set()
                return [first, *[part async for part in parts]]

    async def conversation() -> tuple[list[bytes], str]:
        async with await asyncio.start_server(stream, "127.0.0.1", 0) as server:
            upstream = server.sockets[0].getsockname()[1]
            with proxying(upstream, free_port(), tmp_path) as proxy:
                return await received(proxy), proxy.host

    parts, host = loop.run(conversation())
    assert parts == [b"data: 1\n\n", b"data: 2\n\n"]
    # Caddy asks whether the service lives as well.
    (request,) = (each for each in requests if each.startswith("post /mcp "))
    assert f"host: {host}\r\n" in request
    assert "x-forwarded-for: 127.0.0.1\r\n" in request
