"""Where arguments are, by the HTTP method: server, client and API description follow one rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from typing_extensions import TypedDict

from graphmem import tables
from graphmem.api import openapi
from graphmem.api.app import create_app
from graphmem.arguments import Arguments
from graphmem.client import Client
from graphmem.context import Context, Services
from graphmem.observability.metrics import Metrics
from graphmem.registry import REGISTRY, Operation, Scope, operation
from tests.faces.test_http_edges import Http, sender
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long

METHODS = {"GET": "query", "DELETE": "query", "POST": "body", "PUT": "body", "PATCH": "body"}


class Echoed(Arguments):
    """What the echo takes."""

    color: str


class Echo(TypedDict):
    """What the echo answers."""

    color: str


@pytest.fixture(params=mostly_long(METHODS, "GET", "POST"))
def echo(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operation[Any]]:
    """An operation that answers its argument, with a route of one method."""

    async def answer(context: Context, arguments: Echoed) -> Echo:
        """Answer the argument."""
        return {"color": arguments.color}

    answer.__annotations__ = {"arguments": Echoed, "return": Echo}
    row = {
        "routes": [f"{request.param} /echo"], "command": "", "reason": "a test", "example": {"color": "red"},
        "statements": 0,
    }  # fmt: skip
    monkeypatch.setitem(tables.read("operations/faces"), "test.echo", row)
    operation("test.echo", Scope.READ)(answer)
    openapi.document.cache_clear()
    yield REGISTRY["test.echo"]
    del REGISTRY["test.echo"]
    openapi.document.cache_clear()


@pytest.fixture
def http(
    loop: Loop, services: Services, owner: str, echo: Operation[Any], monkeypatch: pytest.MonkeyPatch
) -> Http:
    # The metrics of the run know the operations of the product alone.
    monkeypatch.setattr(services.database, "metrics", Metrics())
    return sender(loop, create_app(services, always(full_actor(owner))))


def test_server_client_and_description_put_arguments_in_the_same_place(
    echo: Operation[Any], http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = echo.routes[0][0]
    described = openapi.document()["paths"]["/echo"][method.lower()]
    place = "body" if "requestBody" in described else "query"
    assert (place, bool(described.get("parameters"))) == (METHODS[method], METHODS[method] == "query")
    assert ("413" in described["responses"]) == (place == "body")

    def forward(self: httpx.Client, method: str, url: str, **sent: Any) -> httpx.Response:
        return http(method, url, **sent)

    monkeypatch.setattr(httpx.Client, "request", forward)
    with Client("http://localhost", None) as client:
        assert json.loads(client.call(echo.routes[0], {"color": "red"})) == {"color": "red"}
