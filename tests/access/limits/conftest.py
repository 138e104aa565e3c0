"""Applications with rate limits, and callers of them.

Limits are of an hour: within a minute, what a first statement waits for comes back.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.auth import Actor, Method, authenticator
from graphmem.context import Services
from graphmem.errors import AuthInvalid, AuthRequired
from graphmem.settings import LOCAL_ACCOUNT
from tests.faces.test_http_edges import envelope
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.lifespans import lifespan

MCP = {"Accept": "application/json, text/event-stream"}


class Caller:
    """Sends requests to one application, from an address, with a credential: the owner of what it stores."""

    def __init__(self, loop: Loop, app: Any, token: str | None = None, address: str = "192.0.2.1") -> None:
        self.loop = loop
        self.app = app
        self.token = token
        self.address = address

    def __call__(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= kwargs.pop("headers", {})
        return self.loop.run(self._send(method, path, headers=headers, **kwargs))

    async def _send(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(self.address, 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            return await http.request(method, path, **kwargs)

    def message(self, method: str, path: str = "/mcp", **params: Any) -> httpx.Response:
        """Send a message of MCP."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self("POST", path, json=body, headers=MCP)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        return self.message("tools/call", name=name, arguments=arguments).json()["result"]


class Looked:
    """Counts the credentials that were looked up. A good one is ``good-OWNER`` or ``good-OWNER/KEY``."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, caller: authenticator.Caller) -> Actor:
        authorization = caller.headers.get("authorization")
        if authorization is None:
            raise AuthRequired
        self.count += 1
        token = authorization.removeprefix("Bearer ")
        if not token.startswith("good"):
            raise AuthInvalid
        owner, _, credential = token.removeprefix("good-").partition("/")
        # The local account: none of these owners has an account in the database.
        return replace(full_actor(owner), account=LOCAL_ACCOUNT, method=Method.KEY, credential=credential)


@pytest.fixture
def lookups() -> Looked:
    """What looks credentials up."""
    return Looked()


Make = Callable[..., Any]


@pytest.fixture
def app_with(loop: Loop, services: Services, lookups: Looked) -> Iterator[Make]:
    """Make an application with some limits; its other classes have none."""
    with contextlib.ExitStack() as running:

        def make(**limits: Any) -> Any:
            settings = services.settings.model_copy(update=limits)
            app = create_app(replace(services, settings=settings), lookups)
            running.enter_context(lifespan(loop, app))
            return app

        yield make


@pytest.fixture
def other_owner() -> str:
    """Another owner that nobody else has."""
    return str(uuid.uuid4())


def refused(answer: httpx.Response) -> dict[str, Any]:
    """Return the details of a refusal, after checking the whole of it."""
    body = envelope(answer)
    assert (answer.status_code, body["error_code"]) == (429, "RATE_LIMITED")
    details = body["details"]
    assert details["retryable"] is True
    assert answer.headers["retry-after"] == str(details["retry_after"])
    assert 1 <= details["retry_after"] <= 3600
    assert f";r=0;t={details['retry_after']}" in answer.headers["ratelimit"]
    return details
