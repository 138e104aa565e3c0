"""Rate limits: for each credential and each address, by class of operation, over REST and MCP."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from graphmem.api.app import create_app
from graphmem.api.limits import RateLimits, Usage
from graphmem.auth import Actor, Scope
from graphmem.auth.rates import RateClass
from graphmem.context import Services
from graphmem.registry import REGISTRY
from graphmem.service.front import create_local_app
from graphmem.settings import load
from tests.access.limits.conftest import MCP, Caller, Make, refused
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop

STORE = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}


# Limits of a credential


@pytest.mark.parametrize(
    ("limit", "method", "path", "body"),
    [
        ("limit_reads", "GET", "/stats", None),
        ("limit_writes", "POST", "/store", STORE),
        ("limit_heavy", "POST", "/entities/query", {}),
        ("limit_reads", "GET", "/openapi.yaml", None),
        ("limit_reads", "GET", "/metrics", None),
    ],
)
def test_the_request_beyond_the_limit_is_refused_and_other_callers_are_not(
    loop: Loop, app_with: Make, owner: str, other_owner: str, limit: str, method: str, path: str, body: Any
) -> None:
    app = app_with(**{limit: "3/hour"})
    caller = Caller(loop, app, f"good-{owner}")
    for left in (2, 1, 0):
        answer = caller(method, path, json=body)
        assert answer.status_code == 200
        name = limit.removeprefix("limit_").removesuffix("s")
        assert answer.headers["ratelimit-policy"] == f'"{name}";q=3;w=3600'
        assert answer.headers["ratelimit"].startswith(f'"{name}";r={left};t=')
    assert refused(caller(method, path, json=body))["limit"] == name
    # The same address with another credential is another caller.
    assert Caller(loop, app, f"good-{other_owner}")(method, path, json=body).status_code == 200
    # Another address with the same credential is the same caller.
    refused(Caller(loop, app, f"good-{owner}", "198.51.100.7")(method, path, json=body))


def test_each_class_has_a_limit_of_its_own(loop: Loop, app_with: Make, owner: str) -> None:
    limits = {"limit_reads": "1/hour", "limit_writes": "2/minute", "limit_heavy": "1/minute"}
    caller = Caller(loop, app_with(**limits), f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    refused(caller("GET", "/stats"))
    assert caller("POST", "/entities/query", json={}).status_code == 200
    refused(caller("POST", "/entities/query", json={}))
    for _ in range(2):
        assert caller("POST", "/store", json=STORE).status_code == 200
    refused(caller("POST", "/store", json=STORE))


def test_two_keys_of_an_account_are_two_callers(loop: Loop, app_with: Make, owner: str) -> None:
    app = app_with(limit_reads="1/hour")
    for key in ("first", "second"):
        caller = Caller(loop, app, f"good-{owner}/{key}")
        assert caller("GET", "/stats").status_code == 200
        refused(caller("GET", "/stats"))


def test_a_refused_request_is_refused_before_its_body_is_read(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_writes="1/hour"), f"good-{owner}")
    assert caller("POST", "/store", json=STORE).status_code == 200

    async def never() -> Any:
        raise AssertionError("the body was read")
        yield b""

    refused(caller("POST", "/store", content=never(), headers={"Content-Type": "application/json"}))


def test_a_malformed_request_counts(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_writes="1/hour"), f"good-{owner}")
    assert caller("POST", "/store", content=b"{").status_code == 400
    refused(caller("POST", "/store", content=b"{"))


def test_what_the_scopes_do_not_allow_counts(loop: Loop, services: Services, owner: str) -> None:
    reader = Actor(owner=owner, scopes=frozenset({Scope.READ}))
    settings = services.settings.model_copy(update={"limit_writes": "1/hour"})
    app = create_app(replace(services, settings=settings), always(reader))
    caller = Caller(loop, app)
    assert caller("POST", "/store", json=STORE).status_code == 403
    refused(caller("POST", "/store", json=STORE))


def test_after_retry_after_a_request_is_answered(owner: str) -> None:
    now = [1000.0]
    limits = RateLimits(load(limit_reads="2/minute"), clock=lambda: now[0])

    def take() -> tuple[bool, Usage]:
        taken = limits.take(RateClass.READ, full_actor(owner), "")
        assert taken is not None
        return taken

    assert take()[0]
    now[0] += 20.4
    assert take()[0]
    now[0] += 1
    is_left, usage = take()
    wait = usage.refusal().details["retry_after"]
    assert (is_left, wait) == (False, math.ceil(60 - 21.4))
    now[0] += wait - 1
    assert not take()[0]
    now[0] += 1
    assert take()[0]


# MCP


def test_a_tool_beyond_the_limit_fails_with_the_envelope(
    loop: Loop, app_with: Make, owner: str, other_owner: str
) -> None:
    app = app_with(limit_reads="1/hour")
    caller = Caller(loop, app, f"good-{owner}")
    assert not caller.tool("get_stats")["isError"]
    result = caller.tool("get_stats")
    assert result["isError"]
    assert result["structuredContent"]["error_code"] == "RATE_LIMITED"
    assert 1 <= result["structuredContent"]["details"]["retry_after"] <= 3600
    assert not Caller(loop, app, f"good-{other_owner}").tool("get_stats")["isError"]


def test_rest_and_mcp_share_what_is_left(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_reads="2/hour"), f"good-{owner}")
    assert caller("GET", "/stats").status_code == 200
    assert not caller.tool("get_stats")["isError"]
    assert caller.tool("get_stats")["isError"]
    refused(caller("GET", "/stats"))


def test_a_tool_counts_once_and_shows_what_is_left(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_reads="9/hour", limit_heavy="9/minute"), f"good-{owner}")
    answer = caller.message("tools/call", name="retrieve_entities", arguments={})
    assert answer.headers["ratelimit"].startswith('"heavy";r=8;')
    assert caller("GET", "/stats").headers["ratelimit"].startswith('"read";r=8;')


@pytest.mark.parametrize("method", ["tools/list", "ping"])
def test_other_messages_count_as_reads(loop: Loop, app_with: Make, owner: str, method: str) -> None:
    caller = Caller(loop, app_with(limit_reads="1/hour"), f"good-{owner}")
    assert "result" in caller.message(method).json()
    error = caller.message(method).json()["error"]
    assert error["data"]["error_code"] == "RATE_LIMITED"


def test_prompts_and_completion_count_as_searches_and_resources_as_reads(
    loop: Loop, app_with: Make, owner: str
) -> None:
    caller = Caller(loop, app_with(limit_reads="9/hour", limit_heavy="9/minute"), f"good-{owner}")
    typed = {
        "ref": {"type": "ref/prompt", "name": "what_do_we_know"},
        "argument": {"name": "about", "value": "A"},
    }
    messages: Any = (
        ("prompts/get", {"name": "what_do_we_know", "arguments": {"about": "Ada"}}, '"heavy";r=8;'),
        ("completion/complete", typed, '"heavy";r=7;'),
        ("resources/list", {}, '"read";r=8;'),
    )
    for method, params, left in messages:
        answer = caller.message(method, **params)
        assert "result" in answer.json(), answer.text
        assert answer.headers["ratelimit"].startswith(left)


def test_each_message_of_a_batch_counts_as_a_request(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(limit_reads="2/hour"), f"good-{owner}")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_stats"}}
    answers = caller("POST", "/mcp", json=[call] * 4, headers=MCP).json()
    assert [each["result"].get("isError", False) for each in answers] == [False, False, True, True]
    assert "RATE_LIMITED" in str(answers[2])
    refused(caller("GET", "/stats"))


def test_a_batch_of_too_many_messages_is_refused(loop: Loop, app_with: Make, owner: str) -> None:
    caller = Caller(loop, app_with(), f"good-{owner}")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_stats"}}
    answer = caller("POST", "/mcp", json=[call] * 101, headers=MCP)
    assert answer.status_code == 400
    assert "result" not in answer.text


# Who is not limited


def test_the_socket_of_a_local_service_is_not_limited(loop: Loop, services: Services) -> None:
    settings = services.settings.model_copy(update={"limit_reads": "1/hour", "limit_failures": "1/minute"})
    caller = Caller(loop, create_local_app(replace(services, settings=settings)))
    for _ in range(3):
        answer = caller("GET", "/server-info")
        assert answer.status_code == 200
        assert "ratelimit" not in answer.headers


def test_a_call_in_process_is_not_limited(loop: Loop, services: Services, owner: str) -> None:
    settings = services.settings.model_copy(update={"limit_reads": "1/hour"})
    for _ in range(3):
        run = REGISTRY["server.stats"].run(replace(services, settings=settings), full_actor(owner), {})
        assert loop.run(run)
