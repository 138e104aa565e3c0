"""Connections over TCP: headers that do not come, and an address with too many of them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn

from graphmem.service import listening
from graphmem.settings import load

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
Connect = Callable[[], socket.socket]


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.fixture
def proxies() -> str:
    return ""


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, proxies: str) -> Iterator[Connect]:
    """Connect to a server that waits one second for headers, and lets an address have two connections."""
    monkeypatch.setattr(listening, "HEADER_SECONDS", 1.0)
    monkeypatch.setattr(listening, "CONNECTIONS_LIMIT", 2)
    listener = socket.create_server(("127.0.0.1", 0))
    config = listening.server_config(load(env="test", trusted_proxies=proxies), answer, lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = lambda: _Nothing()  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    opened: list[socket.socket] = []

    def connected() -> socket.socket:
        opened.append(socket.create_connection(listener.getsockname(), timeout=60))
        return opened[-1]

    yield connected
    for each in opened:
        each.close()
    server.should_exit = True
    thread.join()
    assert not listening.BoundedProtocol._open


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def received(connection: socket.socket) -> tuple[int, str]:
    """Return the status and the error code of an answer, read until the connection ends."""
    data = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error_code"]


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: loc"])
def test_headers_that_do_not_come_end_the_connection(connect: Connect, first: bytes) -> None:
    slow = connect()
    slow.sendall(first)
    assert received(slow) == (408, "VALIDATION_INVALID_FORMAT")


def test_headers_of_a_later_request_are_waited_for_as_those_of_the_first(connect: Connect) -> None:
    kept = connect()
    for _ in range(2):
        kept.sendall(REQUEST)
        assert kept.recv(65_536).startswith(b"HTTP/1.1 204")
    kept.sendall(REQUEST[:20])
    assert received(kept) == (408, "VALIDATION_INVALID_FORMAT")


def test_an_address_has_so_many_connections(connect: Connect) -> None:
    kept = [connect() for _ in range(2)]
    assert received(connect()) == (503, "SERVICE_BUSY")
    kept[0].sendall(REQUEST)
    assert kept[0].recv(65_536).startswith(b"HTTP/1.1 204")


@pytest.mark.parametrize("proxies", ["127.0.0.1"])
def test_a_proxy_has_as_many_as_it_wants(connect: Connect) -> None:
    for each in [connect() for _ in range(4)]:
        each.sendall(REQUEST)
        assert each.recv(65_536).startswith(b"HTTP/1.1 204")
