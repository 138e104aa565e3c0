"""Bodies that are too large, that lie about their size or that never end, on every route that reads one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.registry import REGISTRY
from tests.faces.test_http_edges import url
from tests.support import surface
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

LIMIT = 2_048
"""Bytes that a body may have."""
TAKING_FILES = {
    path for operation in REGISTRY.values() if operation.takes_file for _, path in operation.routes
}
WITH_BODY = [(method, url(path), media_type) for method, path, media_type in surface.WITH_BODY]

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def send(loop: Loop, services: Services, owner: str) -> Send:
    """Send a request whose body comes from a function; return the status and the answer."""
    settings = services.settings.model_copy(update={"max_body_bytes": LIMIT, "body_timeout": 0.1})
    app = create_app(replace(services, settings=settings), always(full_actor(owner)))

    async def request(
        method: str, path: str, media_type: str, receive: Receive, length: int | None
    ) -> tuple[int, dict[str, Any]]:
        headers = [(b"host", b"localhost"), (b"content-type", media_type.encode())]
        headers += [(b"accept", b"application/json, text/event-stream")]
        headers += [] if length is None else [(b"content-length", str(length).encode())]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http",
        }  # fmt: skip
        messages: list[dict[str, Any]] = []

        async def take(message: dict[str, Any]) -> None:
            messages.append(message)

        async with asyncio.timeout(20):
            await app(scope, receive, take)  # pyright: ignore[reportArgumentType]
        return messages[0]["status"], orjson.loads(b"".join(part.get("body", b"") for part in messages[1:]))

    return lambda *arguments: loop.run(request(*arguments))


@walk_over("method, path, media_type", WITH_BODY, one_of=5)
def test_a_body_that_is_declared_as_huge_is_refused_unread(
    send: Send, method: str, path: str, media_type: str
) -> None:
    async def never() -> dict[str, Any]:
        raise AssertionError("the body was read")

    status, answer = send(method, path, media_type, never, 10_000_000_000)
    assert (status, answer["error_code"]) == (413, "PAYLOAD_TOO_LARGE")


@walk_over("length", [None, 10])
@walk_over("method, path, media_type", WITH_BODY, one_of=5)
def test_a_body_is_counted_whatever_length_it_declares(
    send: Send, method: str, path: str, media_type: str, length: int | None
) -> None:
    left = [4 * LIMIT]

    async def parts() -> dict[str, Any]:
        left[0] -= 1_000
        return {"type": "http.request", "body": b"x" * 1_000, "more_body": left[0] > 0}

    status, answer = send(method, path, media_type, parts, length)
    assert (status, answer["error_code"]) == (413, "PAYLOAD_TOO_LARGE")


@walk_over("method, path, media_type", WITH_BODY, one_of=5)
def test_a_body_that_never_ends_is_refused_in_time(
    send: Send, method: str, path: str, media_type: str
) -> None:
    sent: list[bytes] = []

    async def stalled() -> dict[str, Any]:
        if sent:
            await asyncio.Event().wait()
        sent.append(b"{")
        return {"type": "http.request", "body": b"{", "more_body": True}

    status, answer = send(method, path, media_type, stalled, 100)
    # A registration is refused in the words of RFC 7591.
    code = "OAUTH_REFUSED" if path == "/mcp/oauth/register" else "INVALID_JSON"
    assert (status, answer["error_code"]) == (400, code)
    assert "0.1 seconds" in answer["message"]
