"""A fault answers the envelope alone, and its trace id leads to the log.

Every operation, every endpoint and every layer is made to fail with a message that nobody may read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from neo4j.exceptions import ClientError, ServiceUnavailable

from graphmem.api import middleware
from graphmem.api.app import create_app
from graphmem.api.refusals import OAuthEnvelope
from graphmem.api.rest_routes import ROUTES, RestRoute, route_of
from graphmem.context import Services
from graphmem.errors import CATALOGUE, Envelope
from graphmem.mcp import memory_tools
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY, Operation
from tests.support import surface
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.lifespans import lifespan
from tests.support.surface import EVERY, OPERATIONS, TOOLS

HIDDEN = "/srv/graphmem/secret-place/model.py"
FAULTS: dict[str, Callable[[], Exception]] = {
    "value": lambda: ValueError(f"{HIDDEN} at 10.1.2.3:7687"),
    "key": lambda: KeyError(HIDDEN),
    "file": lambda: FileNotFoundError(2, "No such file", HIDDEN),
    "group": lambda: ExceptionGroup(HIDDEN, [RuntimeError(HIDDEN)]),
    "driver": lambda: ServiceUnavailable(f"Couldn't connect to 10.1.2.3:7687 {HIDDEN}"),
    "statement": lambda: ClientError(f"MATCH (n) {HIDDEN}"),
}
INSIDE = (
    HIDDEN, "secret-place", "10.1.2.3", "Traceback", ".py", "File \\", "Error:", "ValueError", "KeyError",
    "FileNotFound", "ExceptionGroup", "ServiceUnavailable", "ClientError", "MATCH", "neo4j", "site-packages",
)  # fmt: skip


def part(cases: list[Any], fault: str) -> list[Any]:
    """Return the cases that are tried with a fault: an ordinary run tries each with one of the faults."""
    return cases if LONG else cases[[*FAULTS].index(fault) :: len(FAULTS)]


@contextmanager
def serving(loop: Loop, app: Any) -> Iterator[Any]:
    """Have what sends requests to an application, whose MCP runs."""

    async def send(method: str, path: str, **kwargs: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            return await http.request(method, path, **kwargs)

    with lifespan(loop, app):
        yield lambda method, path, **kwargs: loop.run(send(method, path, **kwargs))


def broken_by(fault: Callable[[], Exception]) -> Any:
    async def broken(*_: Any, **__: Any) -> Any:
        raise fault()

    return broken


def check(body: dict[str, Any], text: str, caplog: pytest.LogCaptureFixture, wanted: type) -> None:
    """Check an envelope that hides the fault, and that the log has the fault under its trace id."""
    assert set(body) == set(wanted.__annotations__), body
    assert CATALOGUE[body["error_code"]].status in (500, 503)
    assert not {"operation", "exception", "stack"} & body["details"].keys()
    assert [word for word in INSIDE if word in text] == []
    lines = [str(record.msg) for record in caplog.records if body["trace_id"] in str(record.msg)]
    assert [line for line in lines if "secret-place" in line], lines
    assert [line for line in lines if "Traceback" in line or "exception" in line], lines


def check_answer(method: str, path: str, answer: httpx.Response, caplog: pytest.LogCaptureFixture) -> None:
    assert answer.status_code == 500, (path, answer.text)
    body = answer.json()
    route = route_of(method, path)
    check(body, answer.text, caplog, OAuthEnvelope if route is not None and route.is_oauth else Envelope)
    assert answer.headers["x-trace-id"] == body["trace_id"]
    assert [word for word in INSIDE if word in str(answer.headers)] == []


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO):
        yield caplog


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_any_operation_answers_the_envelope_alone(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture, fault: str,
) -> None:  # fmt: skip
    for name, operation in REGISTRY.items():
        monkeypatch.setitem(REGISTRY, name, replace(operation, function=broken_by(FAULTS[fault])))
    with serving(loop, create_app(services, always(full_actor(owner)), limited=False)) as http:
        for method, path, name in part(OPERATIONS, fault):
            address, kwargs = surface.request_of(method, path, REGISTRY[name].example)
            check_answer(method, path, http(method, address, **kwargs), log)
            log.clear()


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_any_other_endpoint_answers_the_envelope_alone(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture, fault: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(RestRoute, "load", lambda _: broken_by(FAULTS[fault]))
    with serving(loop, create_app(services, always(full_actor(owner)), limited=False)) as http:
        for route in ROUTES:
            answer = http(route.method, route.path, headers={"Accept": "application/json"})
            check_answer(route.method, route.path, answer, log)
            log.clear()
            if route.is_page:
                answer = http(route.method, route.path, headers={"Accept": "text/html"})
                assert answer.status_code == 500
                assert answer.headers["x-trace-id"] in answer.text
                assert [word for word in INSIDE if word in answer.text] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_any_tool_answers_the_envelope_alone(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture, fault: str,
) -> None:  # fmt: skip
    every = {
        operation.tool: operation for toolset in TOOLSETS.values() for operation in toolset.tools().values()
    }
    examples = {tool: example_of(operation) for tool, operation in every.items()}
    for registry in (REGISTRY, memory_tools.OPERATIONS):
        for name, operation in registry.items():
            monkeypatch.setitem(registry, name, replace(operation, function=broken_by(FAULTS[fault])))
    with serving(loop, create_app(services, always(full_actor(owner)), limited=False)) as http:
        for toolset, tool in part(TOOLS, fault):
            message = surface.call_of(tool, examples[tool])
            answer = http("POST", f"/mcp/{toolset}", json=message, headers=surface.MCP_HEADERS)
            result = answer.json()["result"]
            assert result["isError"], (tool, answer.text)
            (content,) = result["content"]
            check(json.loads(content["text"]), answer.text, log, Envelope)
            assert answer.headers["x-trace-id"] in content["text"]
            log.clear()


def example_of(operation: Operation[Any]) -> dict[str, Any]:
    """Return arguments that the operation takes: its example, or empty values for the toolset memory."""
    if operation.example or not operation.name.startswith(memory_tools.PREFIX):
        return dict(operation.example)
    schema = operation.arguments.model_json_schema()
    empty: dict[str, Any] = {"array": [], "string": "x"}
    return {name: empty[schema["properties"][name]["type"]] for name in schema.get("required", ())}


@pytest.mark.parametrize("fault", ["file", "group"])
def test_fault_before_any_endpoint_answers_the_envelope_alone(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture,
    fault: str,
) -> None:  # fmt: skip
    def failing(*_: Any) -> Any:
        raise FAULTS[fault]()

    with serving(loop, create_app(services, broken_by(FAULTS[fault]), limited=False)) as http:
        for method, path in surface.GUARDED:
            check_answer(method, path, http(method, surface.url(path)), log)
            log.clear()
    monkeypatch.setattr(middleware, "is_public", failing)
    with serving(loop, create_app(services)) as http:
        for method, path in EVERY:
            check_answer(method, path, http(method, surface.url(path)), log)
            log.clear()


def test_a_path_that_no_operation_has_is_not_logged(
    loop: Loop, services: Services, owner: str, log: pytest.LogCaptureFixture
) -> None:
    with serving(loop, create_app(services, always(full_actor(owner)), limited=False)) as http:
        for path in ("/gm_sk_hunter2", "/hunter2/x", "/entities/hunter2/hunter2", "/api/hunter2"):
            assert http("GET", path).status_code == 404
        assert http("GET", "/entities/hunter2").status_code == 404
    lines = [str(record.msg) for record in log.records]
    assert len([line for line in lines if "404" in line and "…" in line]) == 5
    assert [line for line in lines if "hunter2" in line] == []
