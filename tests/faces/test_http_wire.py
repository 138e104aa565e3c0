"""REST and MCP on the wire: sizes, times, headers, raw requests, faults, and what Hypothesis thinks of."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.registry import REGISTRY, Operation
from tests.faces.test_http_edges import JSON, ROUTES, Http, envelope, http, sender, url
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.sealed_database import bearing, token_of
from tests.support.service import Service
from tests.support.walks import walk_over

__all__ = ["http"]


@pytest.fixture
def small(loop: Loop, services: Services, owner: str) -> Http:
    """A service that takes bodies of 1024 bytes and waits half a second for them."""
    settings = services.settings.model_copy(update={"max_body_bytes": 1024, "body_timeout": 0.5})
    app = create_app(replace(services, settings=settings), always(full_actor(owner)))
    return sender(loop, app)


# Sizes and times


def padded(size: int) -> bytes:
    return b"{" + b" " * (size - 2) + b"}"


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(small: Http) -> None:
    assert small("POST", "/entities/query", content=padded(1024), headers=JSON).status_code == 200
    body = envelope(small("POST", "/entities/query", content=padded(1025), headers=JSON))
    assert (body["error_code"], body["details"]) == ("PAYLOAD_TOO_LARGE", {"size": 1025, "max_size": 1024})


def test_a_body_in_chunks_is_counted(small: Http) -> None:
    async def chunks(count: int) -> AsyncIterator[bytes]:
        yield b"{"
        for _ in range(count):
            yield b" " * 100
        yield b"}"

    assert small("POST", "/entities/query", content=chunks(10), headers=JSON).status_code == 200
    body = envelope(small("POST", "/entities/query", content=chunks(20), headers=JSON))
    assert (body["error_code"], body["details"]["max_size"]) == ("PAYLOAD_TOO_LARGE", 1024)


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "0", "٣", "9" * 21, "1" * 5000])
def test_a_length_that_lies_is_no_fault_of_ours(small: Http, length: str) -> None:
    headers = {**JSON, "Content-Length": length.encode()}
    answer = small("POST", "/entities/query", content=b"{}", headers=headers)
    assert answer.status_code == 200 or envelope(answer)["error_code"] == "PAYLOAD_TOO_LARGE"


def test_a_body_that_does_not_come_is_refused_in_time(small: Http) -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(30)
        yield b"}"

    body = envelope(small("POST", "/entities/query", content=stalled(), headers=JSON))
    assert body["error_code"] == "INVALID_JSON"
    assert "0.5 seconds" in body["message"]


@walk_over("name", ["X-Client-Name", "Authorization", "Accept", "X-Odd", "Cookie", "X-Forwarded-For"])
@walk_over("value", [b"x" * 10_000, b"\xff\xfe", b"\x00" * 3, "é".encode()])
def test_odd_headers_harm_nothing(http: Http, name: str, value: bytes) -> None:
    answer = http("GET", "/stats", headers={name: value})
    assert answer.status_code == 200


def test_the_name_of_a_client_is_cut(http: Http) -> None:
    entities = [{"entity_type": "thing", "name": "x"}]
    http("POST", "/store", json={"entities": entities}, headers={"X-Client-Name": "n" * 10_000})
    (observation,) = http("GET", "/observations").json()["observations"]
    assert observation["provenance"]["client"] == "n" * 100


# MCP over HTTP


def tool(params: bytes) -> bytes:
    return b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ' + params + b"}}"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0"}',
     b'{"jsonrpc": "2.0", "method": "x", "id": NaN}', b'{"jsonrpc":"1.0","id":{},"method":[]}',
     b'{"jsonrpc":"2.0","id":1,"method":"nothing/known"}', tool(b'7, "x": 1'), tool(b'"nothing"'),
     tool(b'"get_stats", "arguments": {"x": 1e999}'), tool(b'"store", "arguments": {"a": "\\ud800"}'),
     tool(b'"store", "arguments": {"entities": ' + b"[" * 300 + b"]" * 300 + b"}")],
    ids=lambda body: ascii(body[:30]),
)  # fmt: skip
@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_mcp_never_fails_for_what_is_sent(service: Service, body: bytes, content_type: str) -> None:
    headers = {"Content-Type": content_type, "Accept": "application/json, text/event-stream"}
    with service.http() as client:
        answer = client.post("/mcp", content=body, headers=headers)
    assert answer.status_code < 500
    assert "Traceback" not in answer.text
    if content_type == "application/json" and answer.status_code != 202:
        # A fault of the protocol, or an answer that says what is wrong; 202 where nobody waits for one.
        reply = answer.json()
        assert "error" in reply or reply["result"]["isError"]


def test_a_body_too_large_for_mcp_is_413_in_the_envelope(small: Http) -> None:
    body = envelope(small("POST", "/mcp", content=padded(1025), headers=JSON))
    assert (body["error_code"], body["details"]) == ("PAYLOAD_TOO_LARGE", {"size": 1025, "max_size": 1024})


# Raw requests


def raw(service: Service, data: bytes, *, is_whole: bool = False) -> tuple[int, bytes]:
    """Send bytes as they are; return the status and the body of the first answer.

    ``is_whole``: they are a request that asks to close the connection, so it is left to the service to end
    it. A service that sees the end of what it reads before it has answered does not answer.
    """
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(data)
        if not is_whole:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head else 0, body


POST = b"POST /entities/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "data",
    [
        POST + b"Content-Length: 999999999999999999999\r\n\r\n{}",
        POST + b"Content-Length: 18446744073709551614\r\n\r\n{}",
        POST + b"Content-Length: -1\r\n\r\n{}",
        POST + b"Content-Length: 100\r\n\r\n{}",
        POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
        b"GET /stats HTTP/1.0\r\n\r\n",
        b"GET /stats HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
        b"GET /st\xffats HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://evil/stats HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET stats HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /stats HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\r\n\r\n",
        b"GET /stats",
    ],
    ids=lambda data: ascii(data[-50:]),
)
def test_a_raw_request_never_breaks_the_service(service: Service, data: bytes) -> None:
    status, body = raw(service, data)
    assert status < 500, body
    with service.http() as client:
        assert client.get("/health").is_success


@pytest.mark.parametrize("length", [65_535, 65_536, 200_000])
def test_an_address_that_is_too_long_is_refused_in_the_envelope(service: Service, length: int) -> None:
    path = b"/stats?x=".ljust(length, b"a")
    head = f"Host: localhost\r\nConnection: close\r\n{service.head}\r\n".encode()
    request = b"GET " + path + b" HTTP/1.1\r\n" + head
    status, body = raw(service, request, is_whole=True)
    error = json.loads(body)
    assert status == 400
    assert {"error_code", "message", "details", "trace_id", "timestamp"} <= error.keys()
    assert ("body of a POST" in error["message"]) is (length > 65_535)


@pytest.mark.parametrize(
    ("path", "methods", "wrong"),
    [("/stats", "GET, HEAD, OPTIONS", "POST"), ("/correct", "OPTIONS, POST", "GET"),
     ("/relationships", "GET, HEAD, OPTIONS", "PUT"), ("/mcp", "OPTIONS, POST", "GET"),
     ("/mcp/core/", "OPTIONS, POST", "HEAD"), ("/mcp/oauth/consent", "GET, HEAD, OPTIONS, POST", "DELETE")],
)  # fmt: skip
def test_allow_names_the_methods_that_are_answered(http: Http, path: str, methods: str, wrong: str) -> None:
    assert http("OPTIONS", path).headers["allow"] == methods
    answer = http(wrong, path)
    assert (answer.status_code in (404, 405), answer.headers["allow"]) == (True, methods)
    assert "HEAD" not in methods or http("HEAD", path).status_code < 404


@pytest.mark.parametrize("path", ["/stats", "/nowhere", "/mcp"])
def test_head_answers_as_get_does_without_a_body(service: Service, path: str) -> None:
    with service.http() as client:
        head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


# Faults of our own


def test_an_unexpected_fault_says_nothing_internal_and_is_in_the_log(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        raise ValueError("the secret of the house")

    monkeypatch.setitem(REGISTRY, "server.stats", replace(REGISTRY["server.stats"], function=broken))
    http = sender(loop, create_app(services))
    with caplog.at_level(logging.INFO):
        answer = http("GET", "/stats", headers=bearing(token_of(services.settings)))
    body = envelope(answer)
    assert (answer.status_code, body["error_code"], body["details"]) == (500, "INTERNAL_ERROR", {})
    assert not [word for word in ("secret", "ValueError", "Traceback", ".py") if word in answer.text]
    log_lines = [str(record.msg) for record in caplog.records if body["trace_id"] in str(record.msg)]
    assert any("the secret of the house" in line for line in log_lines)


# Whatever comes


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ENTITY = st.fixed_dictionaries(
    {"entity_type": st.sampled_from(["person", "thing"]) | VALUES},
    optional=dict.fromkeys(("name", "target_id", "intent", "observed_at", "source_priority", "x"), VALUES),
)
LIKELY = {
    "entities": st.lists(ENTITY | VALUES, max_size=3),
    "entity_id": st.just("ent_" + "0" * 24) | st.text(),
}


def arguments(operation: Operation[Any]) -> st.SearchStrategy[Any]:
    known = {name: LIKELY.get(name, VALUES) for name in operation.arguments.model_fields}
    return st.fixed_dictionaries({}, optional=known) | st.fixed_dictionaries(known) | VALUES


@walk_over("name", [name for name, operation in REGISTRY.items() if operation.routes[0][0] == "POST"])
def test_no_body_makes_a_fault(loop: Loop, services: Services, owner: str, name: str) -> None:
    app = create_app(services, always(full_actor(owner)))
    operation = REGISTRY[name]
    paths = [path for method, path in operation.routes if method == "POST"]

    @examples(5)
    @given(arguments(operation))
    def tried(body: Any) -> None:
        for path in paths:
            check_answer(sender(loop, app)("POST", path, content=json.dumps(body), headers=JSON))

    tried()


@walk_over("path", sorted({path for method, path in ROUTES if method == "GET"}))
def test_no_query_makes_a_fault(loop: Loop, services: Services, owner: str, path: str) -> None:
    app = create_app(services, always(full_actor(owner)))
    names = st.sampled_from(
        ["limit", "offset", "entity_type", "entity_id", "keyword", "include_total_count", "at"]
    )
    pairs = st.lists(st.tuples(names | st.text(), st.text() | st.integers().map(str)), max_size=4)

    @examples(5)
    @given(pairs, st.binary(max_size=20))
    def tried(query: list[tuple[str, str]], odd: bytes) -> None:
        check_answer(sender(loop, app)("GET", url(path), params=query))
        check_answer(
            sender(loop, app)("GET", httpx.URL("http://localhost" + url(path)).copy_with(query=quoted(odd)))
        )

    tried()


def quoted(data: bytes) -> bytes:
    return b"".join(b"%%%02x" % byte if byte % 3 else bytes([byte % 94 + 33]) for byte in data).replace(
        b"#", b""
    )


def check_answer(answer: httpx.Response) -> None:
    if answer.status_code != 200:
        assert envelope(answer)["error_code"] != "INTERNAL_ERROR"
