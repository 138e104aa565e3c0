"""Whatever JSON or form comes, no route and no tool answers with a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.api.app import MCP_PATHS
from graphmem.api.rest_routes import FORM, ROUTES
from graphmem.arguments import nested_filters
from graphmem.context import Services
from graphmem.mcp.toolsets import all_tools
from graphmem.registry import REGISTRY
from tests.access.conftest import Application, Instance
from tests.support import surface
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.surface import OPERATIONS, WITH_BODY
from tests.support.walks import walk_over

NUMBERS = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "-0.0", str(2**63), str(-(2**63) - 1), "9" * 400,
    "1e-400", "0.1e1", "5e-324",
]  # fmt: skip
TEXTS = [
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\uffff"', '"e\\u0301"', '"\\u202e"', f'"{"x" * 3_000}"',
    '"2026-13-45"', '"9999-12-31T23:59:60Z"', '"__proto__"', '"$owner"', '"\\u0060) DETACH DELETE n //"',
    '"(((\\"~*?:\\\\/"',
]  # fmt: skip
SCALARS = st.sampled_from([*NUMBERS, *TEXTS, "null", "true", "false", "{}", "[]"]) | st.one_of(
    st.integers(), st.floats(), st.text(max_size=20)
).map(json.dumps)


def listed(texts: list[str]) -> str:
    return f"[{','.join(texts)}]"


def membered(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"


NAMES = st.sampled_from(
    [
        '"entity_type"',
        '"name"',
        '"id"',
        '"target_id"',
        '"fields"',
        '"op"',
        '"value"',
        '"type"',
        '"from"',
        '"to"',
        '""',
    ]
) | st.text(max_size=8).map(json.dumps)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4).map(listed) | st.lists(st.tuples(NAMES, inner), max_size=4).map(membered)
    ),
    max_leaves=12,
)
"""Texts of JSON, and of what lax parsers take for it: with members twice, and with numbers of any size."""
DEEP = [b"[" * 5_000, b'{"a":' * 5_000, b"[" * 250 + b"]" * 250, b'{"a":' * 250 + b"1" + b"}" * 250]


def members_of(method: str, path: str) -> list[str]:
    """Return the names of what the body of a route may have."""
    for other, template, name in OPERATIONS:
        if (other, template) == (method, path):
            model = REGISTRY[name].arguments
            inner = nested_filters(model)
            return sorted({*model.model_fields, *(inner.model_fields if inner else ())})
    bodies = (route.bodies for route in ROUTES if (route.method, route.path) == (method, path))
    schemas: list[Mapping[str, Any]] = [schema for body in bodies for schema in body.values()]
    named = {name for schema in schemas for name in schema.get("properties", {})}
    return sorted(named | {"redirect_uris", "client_name", "jsonrpc", "id", "method", "params"})


def bodies(method: str, path: str) -> st.SearchStrategy[bytes]:
    """Return odd bodies of a route: some of its members with odd values, and odd JSON as a whole."""
    named = st.sampled_from([json.dumps(name) for name in members_of(method, path)] or ['""'])
    likely = st.lists(st.tuples(named, VALUES), max_size=5).map(membered)
    return (likely | VALUES).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60)


@pytest.fixture(scope="module")
def http(loop: Loop, services: Services) -> Iterator[Application]:
    """An application that takes every caller for the owner of this module."""
    instance = Instance(loop, services)
    unlimited = dict.fromkeys(
        ("limit_registrations", "limit_auth", "limit_reads", "limit_writes", "limit_heavy"), ""
    )
    yield instance.application(always(full_actor("00000000-0000-4000-8000-0000000000dd")), **unlimited)
    instance.end()


def check(answer: httpx.Response, sent: object) -> None:
    assert answer.status_code < 500, (sent, answer.text)
    assert "Traceback" not in answer.text, sent
    assert "INTERNAL_ERROR" not in answer.text, (sent, answer.text)


@walk_over("method, path, media_type", WITH_BODY, one_of=10)
def test_odd_json_on_any_route_makes_no_fault(
    http: Application, method: str, path: str, media_type: str
) -> None:
    headers = surface.MCP_HEADERS | {"Content-Type": media_type}

    @examples(5)
    @given(bodies(method, path))
    @example(DEEP[0])
    @example(DEEP[1])
    @example(DEEP[2])
    @example(DEEP[3])
    @example(b'{"a": "\xed\xa0\x80"}')
    def send(body: bytes) -> None:
        check(http(method, surface.url(path), content=body, headers=headers), body)

    send()


FORMS = sorted({path for _, path, media_type in WITH_BODY if media_type == FORM})


@walk_over("path", FORMS)
def test_odd_form_makes_no_fault(http: Application, path: str) -> None:
    names = st.sampled_from(members_of("POST", path)) | st.text(max_size=8)
    pairs = st.lists(st.tuples(names, st.text(max_size=60) | st.binary(max_size=60)), max_size=6)

    @examples(5)
    @given(pairs, st.sampled_from(["&", ";", "&&", "%26", ""]))
    @example([("grant_type", "authorization_code"), ("code", b"\xff"), ("client_id", "\x00")], "&")
    @example(
        [("grant_type", "refresh_token"), ("refresh_token", "\u0000"), ("client_id", "client_\u0000")], "&"
    )
    @example([(f"f{number}", "x") for number in range(100)], "&")
    def send(fields: list[tuple[str, str | bytes]], joint: str) -> None:
        body = joint.join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields)
        check(http("POST", path, content=body.encode(), headers={"Content-Type": FORM}), body)

    send()


@walk_over("tool", sorted(all_tools()), one_of=10)
def test_odd_arguments_of_a_tool_make_no_fault(http: Application, tool: str) -> None:
    model = all_tools()[tool].arguments
    names = sorted({info.alias or name for name, info in model.model_fields.items()}) or ["x"]
    arguments = st.lists(st.tuples(st.sampled_from([json.dumps(name) for name in names]), VALUES), max_size=4)
    paths = [path for path in MCP_PATHS if path in ("/mcp/full", "/mcp/memory")]

    @examples(4)
    @given(arguments.map(membered) | VALUES)
    def send(text: str) -> None:
        params = f'{{"name":"{tool}","arguments":{text}}}'
        body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
        headers = surface.MCP_HEADERS | {"Content-Type": "application/json"}
        for path in paths:
            content = body.encode("utf-8", "surrogatepass")
            check(http("POST", path, content=content, headers=headers), body)

    send()
