"""Headers for browsers: what every answer carries, which pages may call, and OPTIONS without a credential."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from graphmem.api.app import create_app
from graphmem.api.headers import EXPOSED_HEADERS, SECURITY_HEADERS, BrowserHeaders
from graphmem.auth import Actor
from graphmem.auth.authenticator import Caller
from graphmem.context import Services
from graphmem.errors import ConfigurationInvalid
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY
from graphmem.settings import load
from tests.faces.test_http_edges import Http, envelope, sender, url
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PAGE = "https://app.example.org"
LISTED = (PAGE, "http://localhost:5173", "vscode-webview://1a2b3c")
CORS = ("access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers")
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_stats", "arguments": {}}}
MCP = {"Accept": "application/json, text/event-stream"}


def guarded(loop: Loop, services: Services, **changes: Any) -> Http:
    """Return what sends requests to a service with a token and some other settings."""
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN), **changes})
    return sender(loop, create_app(replace(services, settings=settings)))


@pytest.fixture
def closed(loop: Loop, services: Services) -> Http:
    """A service with a token and no listed origin."""
    return guarded(loop, services)


@pytest.fixture
def opened(loop: Loop, services: Services) -> Http:
    """A service with a token that the pages of some origins may call."""
    return guarded(loop, services, cors_origins=LISTED)


def check(answer: httpx.Response, status: int) -> None:
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS


# Security headers


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", "/stats", {"headers": BEARER}, 200),
        ("GET", "/stats", {}, 401),
        ("GET", "/stats", {"headers": {"Authorization": "Bearer wrong"}}, 401),
        ("GET", "/stats", {"headers": {"Origin": "https://evil.com"}}, 403),
        ("GET", "/entities/x", {"headers": BEARER}, 404),
        ("GET", "/nowhere", {"headers": BEARER}, 404),
        ("GET", "/mcp", {"headers": BEARER}, 405),
        ("POST", "/store", {"headers": BEARER, "content": b"{"}, 400),
        ("GET", "/health", {}, 200),
        ("GET", "/", {}, 200),
        ("GET", "/openapi.yaml", {"headers": BEARER}, 200),
        ("GET", "/metrics", {"headers": BEARER}, 200),
        ("OPTIONS", "/stats", {}, 204),
    ],
)
def test_every_answer_carries_the_security_headers(
    closed: Http, method: str, path: str, sent: dict[str, Any], status: int
) -> None:
    check(closed(method, path, **sent), status)


def test_an_answer_over_mcp_carries_them_too(loop: Loop, services: Services) -> None:
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    app = create_app(replace(services, settings=settings))

    async def call() -> httpx.Response:
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                return await http.post("/mcp", json=CALL, headers=BEARER | MCP)

    check(loop.run(call()), 200)


def test_an_unexpected_fault_carries_them_too(loop: Loop, services: Services) -> None:
    async def authenticate(caller: Caller) -> Actor:
        raise RuntimeError

    answer = sender(loop, create_app(services, authenticate))("GET", "/stats")
    check(answer, 500)
    assert envelope(answer)["error_code"] == "INTERNAL_ERROR"


def test_a_page_may_have_a_policy_of_its_own() -> None:
    own = [(b"content-security-policy", b"default-src 'self'")]
    headers = dict(BrowserHeaders(load()).completed(own, None))
    assert headers[b"content-security-policy"] == b"default-src 'self'"
    assert headers[b"x-content-type-options"] == b"nosniff"


# Cross-origin requests


@pytest.mark.parametrize("origin", [PAGE, "null", "https://evil.com"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/stats"), ("POST", "/mcp"), ("OPTIONS", "/store")])
def test_without_listed_origins_no_page_may_call(closed: Http, method: str, path: str, origin: str) -> None:
    headers = {"Access-Control-Request-Method": "POST"} if method == "OPTIONS" else BEARER
    answer = closed(method, path, headers={"Origin": origin, **headers})
    assert envelope(answer)["error_code"] == "HOST_NOT_ALLOWED"
    assert not set(CORS) & set(answer.headers)


@pytest.mark.parametrize("origin", LISTED)
def test_a_listed_page_may_call_and_read_the_headers_that_clients_need(opened: Http, origin: str) -> None:
    answer = opened("GET", "/stats", headers={"Origin": origin, **BEARER})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    exposed = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert exposed == set(EXPOSED_HEADERS)
    assert exposed >= {"WWW-Authenticate", "Mcp-Session-Id", "X-Trace-Id", "Retry-After"}
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("path", ["/stats", "/nowhere", "/mcp"])
def test_a_listed_page_may_read_why_it_is_refused(opened: Http, path: str) -> None:
    answer = opened("GET", path, headers={"Origin": PAGE})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, PAGE)


@walk_over("origin", ["https://app.example.org.evil.com", "https://evil.com", "http://app.example.org",
     "HTTPS://app.example.org",
     "https://app.example.org:8443", "https://app.example.org/", "https://sub.app.example.org", "null", "*",
     ""])  # fmt: skip
@walk_over("method", ["GET", "OPTIONS"])
def test_an_origin_is_compared_as_a_whole_and_never_reflected(opened: Http, method: str, origin: str) -> None:
    headers = {"Access-Control-Request-Method": "GET"} if method == "OPTIONS" else BEARER
    answer = opened(method, "/stats", headers={"Origin": origin, **headers})
    assert (answer.status_code, envelope(answer)["error_code"]) == (403, "HOST_NOT_ALLOWED")
    assert not set(CORS) & set(answer.headers)
    assert answer.headers["vary"] == "Origin"


def test_a_page_of_an_own_host_is_answered_and_may_not_read(opened: Http) -> None:
    answer = opened("GET", "/stats", headers={"Origin": "http://localhost", **BEARER})
    assert answer.status_code == 200
    assert not set(CORS) & set(answer.headers)


@pytest.mark.parametrize("origins", ["*", "null", "https://app.example.org/path", "app.example.org", "https://*.org",
                                     "https://APP.example.org", "https://me@app.example.org"])  # fmt: skip
def test_what_is_no_origin_is_refused_at_the_start(origins: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="GRAPHMEM_CORS_ORIGINS"):
        load(cors_origins=origins)


def test_origins_are_separated_by_commas() -> None:
    assert load(cors_origins=", ".join(LISTED)).cors_origins == LISTED


# OPTIONS


PATHS = sorted(
    {url(path) for operation in REGISTRY.values() for _, path in operation.routes}
    | {"/", "/openapi.yaml", "/openapi.json", "/metrics", "/mcp"}
    | {f"/mcp/{name}" for name in TOOLSETS}
)


@walk_over("prefix", ["", "/api"])
@walk_over("path", PATHS)
def test_a_preflight_request_needs_no_credential(opened: Http, path: str, prefix: str) -> None:
    headers = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,x-new",
    }
    answer = opened("OPTIONS", prefix + path, headers={"Origin": PAGE, **headers})
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-headers"] == "authorization,x-new"
    methods = set(answer.headers["access-control-allow-methods"].split(", "))
    assert methods <= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    for method in methods:
        # What the preflight allows is a route: it asks for the credential. Only a sandbox has terms.
        status = 404 if path == "/sandbox/terms" else 401
        assert opened(method, prefix + path).status_code in (200, status)


@walk_over("path", PATHS)
def test_options_names_the_methods_of_a_path_without_a_credential(closed: Http, path: str) -> None:
    answer = closed("OPTIONS", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "OPTIONS" in answer.headers["allow"].split(", ")
    assert not set(CORS) & set(answer.headers)
    assert answer.headers["x-trace-id"]


def test_options_on_an_unknown_path_is_refused_as_any_request(closed: Http) -> None:
    assert envelope(closed("OPTIONS", "/nowhere"))["error_code"] == "AUTH_REQUIRED"
    assert envelope(closed("OPTIONS", "/nowhere", headers=BEARER))["error_code"] == "NOT_FOUND"


def test_options_for_a_foreign_host_is_refused(loop: Loop, services: Services) -> None:
    http = sender(loop, create_app(services))
    answer = http("OPTIONS", "/stats", headers={"Host": "evil.com"})
    assert envelope(answer)["error_code"] == "HOST_NOT_ALLOWED"


def test_the_host_of_the_public_url_is_an_own_host(loop: Loop, services: Services) -> None:
    url = "https://memory.example.org:8443/graphmem"
    update = {"public_url": url, "allowed_hosts": ("other.example.org",)}
    http = guarded(loop, services, **update)
    for host in ("memory.example.org:8443", "other.example.org"):
        assert http("GET", "/stats", headers={"Host": host, **BEARER}).status_code == 200
        answer = http("GET", "/stats", headers={"Host": host, "Origin": f"https://{host}", **BEARER})
        assert answer.status_code == 200
    for foreign in ({"Host": "evil.com"}, {"Host": "other.example.org", "Origin": "https://evil.com"}):
        answer = http("GET", "/stats", headers={**foreign, **BEARER})
        assert envelope(answer)["error_code"] == "HOST_NOT_ALLOWED"
