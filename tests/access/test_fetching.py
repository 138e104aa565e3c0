"""The guarded fetch: no URL of a stranger reaches the internal network, or costs much (attack 17)."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem.auth import guarded_fetch
from graphmem.auth.guarded_fetch import (
    DOCUMENT_BYTES_LIMIT,
    KEPT_SECONDS_DEFAULT,
    KEPT_SECONDS_LIMIT,
    FetchedDocument,
    Fetcher,
    FetchRefused,
    default_tls,
    kept_seconds,
)
from tests.support.fetches import Resolver
from tests.support.tls_server import Authority, Reply, TlsServer, answer, tls_server

HOST = "documents.example.org"
URL = f"https://{HOST}/client.json"
PUBLIC = "93.184.216.34"
DOCUMENT = {"client_id": URL}
BODY = json.dumps(DOCUMENT).encode()
ANSWER = answer(BODY)
TEST_SECONDS = 8.0
"""How long a fetch of a test may take. A fetch without a limit of its own ends as an error."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority that the fetches of this module trust."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a connection take as long as a fetch: the machine of the tests may be busy."""
    monkeypatch.setattr(guarded_fetch, "CONNECT_SECONDS", 3.0)


def fetch(
    authority: Authority,
    reply: Reply = ANSWER,
    *,
    url: str = URL,
    resolver: Callable[[str], Awaitable[list[str]]] | None = None,
    served: Authority | None = None,
    certificate: str = HOST,
    seconds: float = 3.0,
) -> tuple[FetchedDocument | FetchRefused, TlsServer]:
    """Fetch a URL from a local server; return the document or the refusal, and what the server saw."""

    async def run() -> tuple[FetchedDocument | FetchRefused, TlsServer]:
        context = (served or authority).server_context(certificate)
        async with tls_server(context, reply) as server:
            fetcher = Fetcher(
                resolve=resolver or Resolver([PUBLIC]),
                connections=server.connections(authority.client_context()),
                seconds=seconds,
            )
            try:
                async with asyncio.timeout(TEST_SECONDS):
                    return await fetcher.fetch_json(url), server
            except FetchRefused as refused:
                return refused, server

    return asyncio.run(run())


def reason(result: tuple[FetchedDocument | FetchRefused, TlsServer]) -> str:
    """Return why a fetch was refused."""
    refused = result[0]
    assert isinstance(refused, FetchRefused), refused
    return refused.reason


def test_a_document_is_fetched_from_the_resolved_address_under_the_name_of_its_host(
    authority: Authority,
) -> None:
    resolver = Resolver([PUBLIC])
    document, server = fetch(authority, url=f"{URL}?a=%20b", resolver=resolver)
    assert isinstance(document, FetchedDocument)
    assert document.members == DOCUMENT
    assert server.addresses == [(PUBLIC, None)]  # None is the port of https: 443.
    assert server.server_names == [HOST]
    assert resolver.hosts == [HOST]
    request = server.requests[0].lower()
    assert request.startswith("get /client.json?a=%20b http/1.1\r\n")
    for line in (f"host: {HOST}", "accept-encoding: identity", "accept: application/json"):
        assert f"\r\n{line}\r\n" in request
    assert "cookie" not in request


def test_a_name_that_resolves_to_loopback_the_second_time_is_resolved_once(authority: Authority) -> None:
    rebinding = Resolver([PUBLIC], ["127.0.0.1"])
    document, server = fetch(authority, resolver=rebinding)
    assert isinstance(document, FetchedDocument)
    assert rebinding.hosts == [HOST]
    assert server.addresses == [(PUBLIC, None)]


def test_the_connection_is_made_without_another_look_at_the_name(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo
    names: list[Any] = []

    def noted(host: Any, *rest: Any, **named: Any) -> Any:
        names.append(host)
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    document, _ = fetch(authority)
    assert isinstance(document, FetchedDocument)
    assert HOST not in names
    assert HOST.encode() not in names


def test_a_certificate_for_another_host_is_refused(authority: Authority) -> None:
    result = fetch(authority, certificate="other.example.org", resolver=Resolver([PUBLIC, "8.8.8.8"]))
    assert reason(result) == "certificate"
    assert result[1].requests == []
    assert len(result[1].addresses) == 1


def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    result = fetch(authority, served=Authority(tmp_path))
    assert reason(result) == "certificate"
    assert result[1].requests == []


def test_certificates_are_checked_without_being_asked_for() -> None:
    tls = default_tls()
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls.cert_store_stats()["x509_ca"] > 0


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Moved", "308 Moved"])
def test_a_redirect_is_not_followed(authority: Authority, status: str) -> None:
    result = fetch(authority, answer(b"", f"Location: https://{HOST}/other.json", status=status))
    assert reason(result) == "redirect"
    assert len(result[1].requests) == 1


@pytest.mark.parametrize(
    "status", ["201 Created", "204 No Content", "206 Partial", "404 Not Found", "500 Oh"]
)
def test_another_status_than_200_is_refused(authority: Authority, status: str) -> None:
    assert reason(fetch(authority, answer(b"" if "204" in status else BODY, status=status))) == "status"


def test_a_compressed_body_is_refused(authority: Authority) -> None:
    bomb = answer(gzip.compress(b" " * 10**6), "Content-Encoding: gzip")
    assert reason(fetch(authority, bomb)) == "encoding"


def test_a_body_of_the_limit_is_read_and_one_byte_more_is_refused(authority: Authority) -> None:
    body = BODY + b" " * (DOCUMENT_BYTES_LIMIT - len(BODY))
    assert isinstance(fetch(authority, answer(body))[0], FetchedDocument)
    assert reason(fetch(authority, answer(body + b" "))) == "size"


def test_a_body_without_end_is_refused_at_the_limit(authority: Authority) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        while True:
            writer.write(b"400\r\n" + b" " * 1024 + b"\r\n")
            await writer.drain()

    assert reason(fetch(authority, endless)) == "size"


async def hang(writer: asyncio.StreamWriter) -> None:
    """Answer nothing."""
    await asyncio.sleep(60)


async def drip_head(writer: asyncio.StreamWriter) -> None:
    """Answer one byte of a header after another."""
    writer.write(b"HTTP/1.1 200 OK\r\nX-Padding: ")
    while not writer.is_closing():
        writer.write(b"x")
        await asyncio.sleep(0.05)


async def drip_body(writer: asyncio.StreamWriter) -> None:
    """Answer one byte of the body after another."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("reply", [hang, drip_head, drip_body])
def test_a_slow_server_is_given_up_when_the_whole_time_is_over(authority: Authority, reply: Reply) -> None:
    assert reason(fetch(authority, reply, seconds=0.4)) == "time"


def test_a_broken_answer_is_refused(authority: Authority) -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")

    async def garbage(writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.0\r\n\r\n")

    async def plain(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n")
        await writer.drain()
        transport = writer.transport.get_extra_info("socket")
        transport._sock.send(b"no record of TLS at all" * 10)
        await asyncio.sleep(0.2)

    for reply in (cut, garbage, plain):
        assert reason(fetch(authority, reply)) == "connection"


@pytest.mark.parametrize("media_type", ["", "text/html", "text/plain", "application/jsonx", "text/json"])
def test_a_document_of_another_media_type_is_refused(authority: Authority, media_type: str) -> None:
    assert reason(fetch(authority, answer(BODY, media_type=media_type))) == "media_type"


@pytest.mark.parametrize(
    "media_type",
    ["application/json; charset=utf-8", "Application/JSON", "application/oauth-client+json"],
)
def test_a_document_of_a_media_type_of_json_is_read(authority: Authority, media_type: str) -> None:
    assert isinstance(fetch(authority, answer(BODY, media_type=media_type))[0], FetchedDocument)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"text"',
        b"1",
        b"null",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b"{",
        b"[" * 5000,
        b'{"a":' * 1000,
    ],
)
def test_a_document_that_is_no_json_object_is_refused(authority: Authority, body: bytes) -> None:
    assert reason(fetch(authority, answer(body))) == "json"


def test_a_proxy_of_the_environment_is_not_used(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    document, server = fetch(authority)
    assert isinstance(document, FetchedDocument)
    assert server.addresses == [(PUBLIC, None)]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, KEPT_SECONDS_DEFAULT),
        ({"Cache-Control": "public"}, KEPT_SECONDS_DEFAULT),
        ({"Cache-Control": "public, max-age=3600"}, 3600),
        ({"Cache-Control": 'Public, Max-Age="60"'}, 60),
        ({"Cache-Control": "max-age=3600", "Age": "600"}, 3000),
        ({"Cache-Control": "max-age=3600", "Age": "7200"}, 0),
        ({"Cache-Control": "max-age=99999999999999999999"}, KEPT_SECONDS_LIMIT),
        ({"Cache-Control": "max-age=86401"}, KEPT_SECONDS_LIMIT),
        ({"Cache-Control": "no-store"}, 0),
        ({"Cache-Control": "max-age=60, no-cache"}, 0),
        ({"Cache-Control": "max-age=-1"}, 0),
        ({"Cache-Control": "max-age=1e9"}, 0),
        ({"Cache-Control": "max-age=٣"}, 0),
        ({"Cache-Control": "max-age=60, max-age=6000"}, 60),
    ],
)
def test_a_document_is_kept_as_its_server_says_and_at_most_a_day(
    headers: dict[str, str], seconds: float
) -> None:
    assert kept_seconds(httpx.Headers([(k.encode(), v.encode()) for k, v in headers.items()])) == seconds
