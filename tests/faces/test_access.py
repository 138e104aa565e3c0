"""Who may call: tokens, hosts and origins, and when a service refuses to start."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from pydantic import SecretStr
from typer.testing import CliRunner

from graphmem.api.app import create_app
from graphmem.api.middleware import Gate
from graphmem.auth import ALL_SCOPES, Actor, Scope
from graphmem.cli.main import app as command_line
from graphmem.context import Services
from graphmem.errors import ConfigurationInvalid
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY, Operation
from graphmem.settings import DEFAULT_OWNER, Settings, load
from tests.faces.conftest import TOKEN
from tests.faces.test_http_edges import Http, envelope, sender, url
from tests.support.commands import environment
from tests.support.event_loop import Loop
from tests.support.service import Service, free_port
from tests.support.walks import walk_over

GUARDED = sorted(
    {(method, prefix + url(path)) for operation in REGISTRY.values() if not operation.public
     for method, path in operation.routes for prefix in ("", "/api")}
    | {("GET", "/metrics"), ("GET", "/api/metrics"), ("POST", "/backup"), ("GET", "/doctor")}
    | {("GET", "/openapi.yaml"), ("GET", "/api/openapi.yaml"), ("POST", "/mcp"), ("POST", "/api/mcp")}
    | {("POST", f"{prefix}/mcp/{name}") for name in TOOLSETS for prefix in ("", "/api")}
    | {("GET", "/nowhere"), ("GET", "/health/"), ("GET", "/healthx"), ("GET", "/api/api/health")}
    | {("GET", "/mcp"), ("GET", "/.well-known"), ("OPTIONS", "/nowhere"), ("DELETE", "/stats")}
)  # fmt: skip
PUBLIC = sorted(
    prefix + path
    for operation in REGISTRY.values()
    if operation.public
    for _, path in operation.routes
    for prefix in ("", "/api")
)


@pytest.fixture
def guarded_http(loop: Loop, services: Services) -> Http:
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    return sender(loop, create_app(replace(services, settings=settings)))


@pytest.fixture
def open_http(loop: Loop, services: Services) -> Http:
    settings = services.settings.model_copy(update={"bearer_token": None})
    return sender(loop, create_app(replace(services, settings=settings)))


def challenge(path: str, error: str = "") -> str:
    """Return the challenge of a 401: under ``/mcp`` it says where a client asks for a token, and what for."""
    metadata = 'resource_metadata="http://127.0.0.1:3080/.well-known/oauth-protected-resource/mcp"'
    is_mcp = path.removeprefix("/api").startswith("/mcp")
    parts = [metadata, 'scope="read write"'] if is_mcp else []
    return f"Bearer {', '.join([*parts, *([error] if error else [])])}".strip()


def test_the_public_routes_are_those_of_the_interface() -> None:
    assert PUBLIC == [
        "/api/health", "/api/health/ready", "/api/sandbox/terms", "/api/server-info",
        "/health", "/health/ready", "/sandbox/terms", "/server-info",
    ]  # fmt: skip


@pytest.mark.parametrize("prefix", ["", "/api"])
def test_the_root_says_without_a_token_where_the_faces_are(guarded_http: Http, prefix: str) -> None:
    answer = guarded_http("GET", f"{prefix}/")
    assert answer.status_code == 200
    assert answer.json() == {
        "name": "graphmem",
        "rest": f"{prefix}/",
        "mcp": f"{prefix}/mcp",
        "docs": f"{prefix}/openapi.yaml",
        "ready": f"{prefix}/health/ready",
    }


@walk_over("method, path", GUARDED)
def test_without_a_token_nothing_but_the_public_is_answered(
    guarded_http: Http, method: str, path: str
) -> None:
    answer = guarded_http(method, path)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, challenge(path))
    assert envelope(answer)["error_code"] == "AUTH_REQUIRED"


@walk_over(
    "authorization",
    [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN.upper()}", "Bearer", "Bearer ", "", TOKEN,
     f"Basic {TOKEN}", f"Token {TOKEN}", f"Bearer Bearer {TOKEN}", f"Bearer\t{TOKEN}", f"Bearer {TOKEN},x",
     "Bearer \xe9" * 20, "Bearer " + "x" * 10_000, "Bearer \x00", f"Bearer {TOKEN}\x00"],
)  # fmt: skip
@walk_over("path", ["/stats", "/mcp", "/api/openapi.yaml", "/nowhere"])
def test_a_wrong_token_is_refused(guarded_http: Http, path: str, authorization: str) -> None:
    method = "POST" if path == "/mcp" else "GET"
    answer = guarded_http(method, path, headers={"Authorization": authorization.encode("latin-1")})
    expected = (401, challenge(path, 'error="invalid_token"'))
    assert (answer.status_code, answer.headers["www-authenticate"]) == expected
    assert envelope(answer)["error_code"] == "AUTH_INVALID"
    assert TOKEN not in answer.text


def test_the_token_opens_every_route(guarded_http: Http) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    # MCP answers where the service runs: see test_mcp_wants_the_token_too.
    for method, path in (route for route in GUARDED if "/mcp" not in route[1]):
        assert guarded_http(method, path, headers=headers).status_code != 401


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_may_be_spelled_in_any_case(guarded_http: Http, scheme: str) -> None:
    assert guarded_http("GET", "/stats", headers={"Authorization": f"{scheme} {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("path", PUBLIC)
@pytest.mark.parametrize("authorization", [None, "Bearer wrong"])
def test_a_public_route_needs_no_token(guarded_http: Http, path: str, authorization: str | None) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    # An ordinary service has no terms of a sandbox.
    expected = 404 if path.endswith("/sandbox/terms") else 200
    assert guarded_http("GET", path, headers=headers).status_code == expected


@pytest.mark.parametrize(
    "path", ["/.well-known/x", "/.well-known/oauth-protected-resource/mcp/x", "/api/.well-known/x"]
)
def test_a_discovery_route_is_404_without_a_token(guarded_http: Http, path: str) -> None:
    assert envelope(guarded_http("GET", path))["error_code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "path",
    ["/.well-known/../stats", "/.well-known/..%2fstats", "/.well-known/%2e%2e/stats", "/health/../stats"],
)
def test_no_detour_leads_past_the_token(guarded_http: Http, path: str) -> None:
    assert guarded_http("GET", path).status_code in (401, 404)


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host", "X-Original-URL"]
)
@pytest.mark.parametrize("value", ["127.0.0.1", "for=127.0.0.1", "localhost", "/health"])
def test_no_right_comes_from_an_address(guarded_http: Http, name: str, value: str) -> None:
    assert guarded_http("GET", "/stats", headers={name: value}).status_code == 401


@pytest.mark.parametrize(
    "query", [f"access_token={TOKEN}", f"token={TOKEN}", f"authorization=Bearer%20{TOKEN}"]
)
def test_a_token_in_the_address_is_no_token(guarded_http: Http, query: str) -> None:
    assert guarded_http("GET", f"/stats?{query}").status_code == 401


def test_a_token_is_wrong_where_none_is_set(open_http: Http) -> None:
    body = envelope(open_http("GET", "/stats", headers={"Authorization": f"Bearer {TOKEN}"}))
    assert body["error_code"] == "AUTH_INVALID"


def test_a_running_service_wants_its_token(guarded: Service) -> None:
    with httpx.Client(base_url=guarded.url) as http:
        assert http.get("/stats").status_code == 401
        assert http.get("/health").status_code == 200
        assert http.get("/stats", headers=guarded.headers).status_code == 200
        assert http.get("/server-info").json()["authentication"] == "bearer"


def test_mcp_answers_with_the_token(guarded: Service) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_stats", "arguments": {}},
    }
    with guarded.http() as http:
        answer = http.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
    assert answer.json()["result"]["structuredContent"]["total_entities"] == 0


def test_mcp_wants_the_token_too(guarded: Service, loop: Loop) -> None:
    async def connect() -> Any:
        async with Client(f"{guarded.url}/mcp") as client:
            return await client.list_tools()

    with pytest.raises(BaseException) as refused:
        loop.run(connect())
    error = refused.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError | httpx.HTTPStatusError) or "401" in repr(error)


# Actors


def test_an_actor_without_owner_or_scopes_cannot_be_made() -> None:
    incomplete: list[dict[str, Any]] = [{}, {"owner": DEFAULT_OWNER}, {"scopes": ALL_SCOPES}]
    for arguments in incomplete:
        with pytest.raises(TypeError):
            Actor(**arguments)


@pytest.mark.parametrize(("method", "path"), [("GET", "/stats"), ("GET", "/metrics"), ("POST", "/mcp")])
def test_a_request_without_an_actor_is_refused(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    async def let_through(self: Any, scope: Any, headers: Any, body: Any, answer: Any, meter: Any) -> None:
        await self._app(scope, body.receive, answer.send)

    monkeypatch.setattr(Gate, "_pass", let_through)
    answer = sender(loop, create_app(services))(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, envelope(answer)["error_code"]) == (500, "INTERNAL_ERROR")


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 200), ({"host": "0.0.0.0"}, 401), ({"env": "production"}, 401), ({"host": "192.0.2.1"}, 401)],
)
def test_without_a_token_only_loopback_in_development_has_an_actor(
    loop: Loop, services: Services, changes: dict[str, str], status: int
) -> None:
    settings = services.settings.model_copy(update={"bearer_token": None, **changes})
    http = sender(loop, create_app(replace(services, settings=settings)))
    assert http("GET", "/stats").status_code == status


def test_a_public_route_acts_for_no_owner(loop: Loop, services: Services) -> None:
    actors: list[Actor] = []

    async def run(services: Services, actor: Actor, raw: Any, face: Any) -> bytes:
        actors.append(actor)
        return b"{}"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Operation, "run", lambda self, *arguments: run(*arguments))
        assert sender(loop, create_app(services))("GET", "/server-info").status_code == 200
    assert [(actor.owner, actor.scopes) for actor in actors] == [("", frozenset({Scope.READ}))]


# Starting


@pytest.mark.parametrize(
    ("host", "env", "token", "starts"),
    [
        ("127.0.0.1", "development", None, True),
        ("::1", "development", None, True),
        ("localhost", "development", None, True),
        ("127.0.0.1", "production", None, False),
        ("0.0.0.0", "development", None, False),
        ("::", "development", None, False),
        ("192.0.2.1", "development", None, False),
        ("", "development", None, False),
        ("127.0.0.2", "development", None, False),
        ("localhost.evil.com", "development", None, False),
        ("0.0.0.0", "production", TOKEN, True),
    ],
)
def test_strangers_are_not_served_without_a_token(
    host: str, env: str, token: str | None, starts: bool
) -> None:
    settings = load(host=host, env=env, bearer_token=token)
    if starts:
        settings.check_bind()
    else:
        with pytest.raises(ConfigurationInvalid, match="SERVICE_BEARER_TOKEN"):
            settings.check_bind()


@pytest.mark.parametrize("token", ["x", "x" * 31, " " * 5])
def test_a_short_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="32") as refused:
        load(bearer_token=token)
    assert token.strip() == "" or token not in str(refused.value.details)


@pytest.mark.parametrize(
    ("words", "variables", "setting"),
    [
        (["--host", "0.0.0.0"], {}, "SERVICE_BEARER_TOKEN"),
        (["--env", "production"], {}, "SERVICE_BEARER_TOKEN"),
        ([], {"SERVICE_BEARER_TOKEN": "short"}, "SERVICE_BEARER_TOKEN"),
        ([], {"GRAPHMEM_POOL_SIZE": "many"}, "GRAPHMEM_POOL_SIZE"),
    ],
)
def test_a_service_that_may_not_start_says_what_to_set(
    settings: Settings, tmp_path: Path, words: list[str], variables: dict[str, str], setting: str
) -> None:
    environ = environment(settings, tmp_path, **variables)
    result = CliRunner().invoke(command_line, ["serve", "--port", str(free_port()), *words], env=environ)
    assert (result.exit_code, result.stdout) == (ConfigurationInvalid.exit_code, "")
    assert setting in re.sub(r"\s", "", result.stderr)
    assert "Traceback" not in result.stderr


# Hosts and origins

OURS = [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "localhost:3080",
    "127.0.0.1:65535",
    "[::1]:1",
    "LOCALHOST:80",
    "localhost:",
]
FOREIGN = [
    "evil.com", "evil.com:3080", "localhost.evil.com", "127.0.0.1.evil.com", "localhost:1@evil",
    "localhost@evil.com", "evil.com:80@localhost", "localhost:1.evil", "localhost:x", "localhost:99999", "",
    "127.0.0.1.", "127.1", "0.0.0.0", "[::]", "::1", "[::1", "localhost evil.com", "localhost,evil.com",
    "localhost#", "localhost?", "localhost/", "\xe9", "2130706433", "192.168.0.1", "[::ffff:127.0.0.1]",
]  # fmt: skip


@walk_over("host", OURS)
@walk_over("path", ["/stats", "/health", "/openapi.yaml"])
def test_our_own_hosts_are_answered_for(open_http: Http, host: str, path: str) -> None:
    assert open_http("GET", path, headers={"Host": host}).status_code == 200


@walk_over("host", FOREIGN)
@walk_over("method, path", [("GET", "/stats"), ("GET", "/health"), ("POST", "/mcp"), ("GET", "/x")])
def test_a_foreign_host_is_refused(open_http: Http, method: str, path: str, host: str) -> None:
    answer = open_http(method, path, headers={"Host": host.encode("latin-1")})
    assert (answer.status_code, envelope(answer)["error_code"]) == (403, "HOST_NOT_ALLOWED")


@walk_over("host", OURS)
def test_our_own_pages_may_ask(open_http: Http, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert open_http("GET", "/stats", headers=headers).status_code == 200


@walk_over(
    "origin", ["http://localhost:5173", "http://127.0.0.1:8000", "https://localhost", "http://[::1]:9"]
)
@walk_over("method, path", [("POST", "/store"), ("POST", "/mcp"), ("GET", "/stats")])
def test_a_page_of_another_port_of_this_machine_is_refused(
    open_http: Http, method: str, path: str, origin: str
) -> None:
    answer = open_http(method, path, headers={"Host": "localhost:3080", "Origin": origin})
    assert (answer.status_code, envelope(answer)["error_code"]) == (403, "HOST_NOT_ALLOWED")


@walk_over("name", ["Host", "Origin"])
@walk_over(
    "first, second", [("localhost", "evil.com"), ("evil.com", "localhost"), ("localhost", "localhost")]
)
def test_a_host_or_an_origin_that_is_sent_twice_is_refused(
    open_http: Http, name: str, first: str, second: str
) -> None:
    prefix = "http://" if name == "Origin" else ""
    twice = [(name, f"{prefix}{value}") for value in (first, second)]
    headers = [("Host", "localhost"), *twice] if name == "Origin" else twice
    assert open_http("GET", "/stats", headers=headers).status_code == 403


def test_a_page_of_the_public_address_on_loopback_may_ask(loop: Loop, services: Services) -> None:
    settings = load(public_url="https://localhost:8443")
    http = sender(loop, create_app(replace(services, settings=settings)))
    headers = {"Host": "127.0.0.1:3080", "Origin": "https://localhost:8443"}
    assert http("GET", "/server-info", headers=headers).status_code == 200


@walk_over("origin", [*(f"http://{host}" for host in FOREIGN), "null", "localhost", "file://"])
@walk_over("method, path", [("POST", "/store"), ("POST", "/mcp"), ("GET", "/stats")])
def test_a_foreign_page_is_refused(open_http: Http, method: str, path: str, origin: str) -> None:
    answer = open_http(method, path, headers={"Origin": origin.encode("latin-1")})
    assert (answer.status_code, envelope(answer)["error_code"]) == (403, "HOST_NOT_ALLOWED")


def test_a_token_opens_every_host_beyond_loopback_and_no_foreign_page(loop: Loop, services: Services) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}

    def statuses(**changes: str) -> list[int]:
        settings = load(bearer_token=TOKEN, **changes)
        http = sender(loop, create_app(replace(services, settings=settings)))
        hosts = ("localhost", "memory.example.org", "evil.com", "10.1.2.3:3080", "[fd00::1]")
        return [http("GET", "/stats", headers={**headers, "Host": host}).status_code for host in hosts]

    assert statuses(host="0.0.0.0") == [200, 200, 200, 200, 200]
    # Who says by which name it is reached, or serves loopback alone, is reached by no other name.
    # A probe reaches it by its address.
    assert statuses(host="0.0.0.0", public_url="https://memory.example.org") == [200, 200, 403, 200, 200]
    assert statuses() == [200, 403, 403, 403, 403]


@pytest.mark.parametrize(
    ("headers", "setting"),
    [({"Origin": "https://evil.com"}, "GRAPHMEM_CORS_ORIGINS"),
     ({"Host": "evil.com"}, "GRAPHMEM_ALLOWED_HOSTS")],
)  # fmt: skip
def test_a_refused_host_or_page_names_its_setting(
    guarded_http: Http, headers: dict[str, str], setting: str
) -> None:
    answer = guarded_http("GET", "/stats", headers={"Authorization": f"Bearer {TOKEN}", **headers})
    body = envelope(answer)
    assert (body["error_code"], setting in body["message"]) == ("HOST_NOT_ALLOWED", True)
    assert len(re.findall("GRAPHMEM_", body["message"])) == 1


def test_hosts_that_were_named_are_the_only_ones(loop: Loop, services: Services) -> None:
    settings = load(allowed_hosts="memory.example.org, other.example.org", bearer_token=TOKEN)
    http = sender(loop, create_app(replace(services, settings=settings)))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for host, status in (("memory.example.org", 200), ("other.example.org:443", 200), ("evil.com", 403)):
        assert http("GET", "/stats", headers={**headers, "Host": host}).status_code == status
        assert http("GET", "/stats", headers={**headers, "Origin": f"https://{host}"}).status_code == status
