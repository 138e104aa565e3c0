"""Errors of the OAuth routes: a page for a person, the members of RFC 6749 for a program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from graphmem.api import oauth_routes
from graphmem.api.app import create_app
from graphmem.api.refusals import OAuthEnvelope
from graphmem.api.rest_routes import FORM, ROUTES
from graphmem.auth.client_rules import refused
from graphmem.auth.grants import Grants
from graphmem.context import Services
from graphmem.errors import CATALOGUE, DatabaseUnavailable
from tests.faces.test_http_edges import sender
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
DOCUMENT = "https://client.example/metadata"
REDIRECT = "http://localhost:7777/callback"
POSTS = sorted(route.path for route in ROUTES if route.method == "POST" and route.is_oauth)
Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(loop: Loop, services: Services) -> Ask:
    """Send a request to an application with a client that is named ``known``."""
    http = sender(loop, create_app(services, limited=False))
    body = {"client_name": "Test client", "redirect_uris": [REDIRECT]}
    known = http("POST", "/mcp/oauth/register", json=body).json()["client_id"]

    def send(method: str, path: str, **kwargs: Any) -> httpx.Response:
        params = {name: known if value == "known" else value for name, value in kwargs.pop("params", [])}
        return http(method, path, params=params, **kwargs)

    return send


def check_members(answer: httpx.Response, error: str) -> dict[str, Any]:
    body = answer.json()
    assert set(body) == set(OAuthEnvelope.__annotations__), body
    assert (body["error"], answer.headers["content-type"]) == (error, "application/json")
    assert answer.status_code == CATALOGUE[body["error_code"]].status
    assert answer.headers["cache-control"] == "no-store"
    assert not set('"\\') & set(body["error_description"])
    return body


# Pages


BEFORE_THE_REDIRECT = [
    ([], 400, "invalid_request", "not complete"),
    ([("client_id", "client_unknown")], 401, "invalid_client", "does not know the program"),
    ([("client_id", DOCUMENT)], 401, "invalid_client", "cannot read what the program publishes"),
    ([("client_id", "http://client.example/x")], 401, "invalid_client", "does not know the program"),
    ([("client_id", "known")], 400, "invalid_request", "not complete"),
    ([("client_id", "known"), ("redirect_uri", "https://evil.example/cb")], 400, "invalid_redirect_uri",
     "did not register"),
    ([("code", "x"), ("state", "y")], 400, "invalid_request", "began in another browser"),
]  # fmt: skip


@pytest.fixture
def no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    async def document_client_at(*_: Any) -> Any:
        raise refused("invalid_client", "the metadata document cannot be fetched")

    monkeypatch.setattr(oauth_routes.client_rules, "document_client_at", document_client_at)


@pytest.mark.parametrize("prefix", ["", "/api"])
@pytest.mark.parametrize(("query", "status", "error", "words"), BEFORE_THE_REDIRECT)
def test_a_person_gets_a_page_where_no_redirect_is_possible(
    ask: Ask, no_document: None, query: Any, status: int, error: str, words: str, prefix: str
) -> None:
    answer = ask("GET", f"{prefix}/mcp/oauth/authorize", params=query, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "location" not in answer.headers
    for text in (words, "Nothing was granted", "go back to the program", f"<code>{error}</code>",
                 answer.headers["x-trace-id"]):  # fmt: skip
        assert text in answer.text, text
    policy = answer.headers["content-security-policy"]
    for directive in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'none'"):
        assert directive in policy
    assert "unsafe" not in policy
    assert (answer.headers["x-frame-options"], answer.headers["cache-control"]) == ("DENY", "no-store")
    assert ("resource_metadata" in answer.headers.get("www-authenticate", "")) == (status == 401)


@walk_over(
    "accept",
    ["*/*", "application/json", "", "text/html;q=0", "text/html; level=1; q=0.0", "text/htmlx", "text/*"],
)
@walk_over("query, status, error, words", BEFORE_THE_REDIRECT)
def test_a_program_gets_the_envelope(
    ask: Ask, no_document: None, query: Any, status: int, error: str, words: str, accept: str
) -> None:
    answer = ask("GET", "/mcp/oauth/authorize", params=query, headers={"Accept": accept})
    assert answer.status_code == status
    check_members(answer, error)


def test_what_a_stranger_writes_into_the_address_is_text_on_the_page(loop: Loop, services: Services) -> None:
    http = sender(loop, create_app(services, limited=False))
    name = "<script>alert(1)</script>"
    answer = http("GET", f"/mcp/oauth/authorize?{name}=1&{name}=2", headers=BROWSER)
    assert answer.status_code == 400
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "kwargs"),
    [("GET", "/mcp/oauth/authorize", {}), ("GET", "/mcp/oauth/consent", {}),
     ("POST", "/mcp/oauth/consent", {"content": b"request=x", "headers": {"Content-Type": FORM}})],
)  # fmt: skip
def test_a_person_who_is_over_a_limit_reads_how_long_to_wait(
    loop: Loop, services: Services, method: str, path: str, kwargs: dict[str, Any]
) -> None:
    settings = services.settings.model_copy(update={"limit_auth": "1/minute"})
    http = sender(loop, create_app(replace(services, settings=settings)))
    headers = BROWSER | kwargs.pop("headers", {})
    assert http(method, path, headers=headers, **kwargs).status_code in (400, 403)
    answer = http(method, path, headers=headers, **kwargs)
    assert (answer.status_code, answer.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert "Too many requests" in answer.text
    assert f"Wait {answer.headers['retry-after']} seconds" in answer.text
    assert int(answer.headers["retry-after"]) > 1
    assert http(method, path, headers=headers | {"Accept": "*/*"}, **kwargs).json()["details"]["allowed"]


def test_a_fault_of_ours_is_a_page_without_what_is_inside(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Awaitable[Any]:
        raise ValueError("the secret of the house")

    monkeypatch.setattr(Grants, "client", broken)
    http = sender(loop, create_app(services, limited=False))
    answer = http("GET", "/mcp/oauth/authorize?client_id=x", headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "whoever runs this graphmem" in answer.text
    assert answer.headers["x-trace-id"] in answer.text
    assert "secret of the house" not in answer.text


# The members of RFC 6749


def test_the_routes_that_a_program_posts_to_are_those_of_oauth() -> None:
    names = {"/mcp/oauth/initiate", "/mcp/oauth/token", "/mcp/oauth/register", "/mcp/oauth/revoke"}
    assert set(POSTS) == names


@walk_over("path", POSTS)
@walk_over(
    "content_type, content",
    [("application/json", b"{"), ("application/json", b"[]"), ("text/plain", b"grant_type=x"),
     ("application/json", b'{"a": NaN}'), ("multipart/form-data; boundary=x", b"--x--"), ("", b"x")],
)  # fmt: skip
def test_a_body_that_is_no_json_and_no_form_is_refused_in_the_words_of_oauth(
    ask: Ask, path: str, content_type: str, content: bytes
) -> None:
    answer = ask("POST", path, content=content, headers={"Content-Type": content_type})
    assert answer.status_code == 400
    # RFC 7591, 3.2.2, names a code of its own.
    is_registration = path == "/mcp/oauth/register"
    check_members(answer, "invalid_client_metadata" if is_registration else "invalid_request")


@pytest.mark.parametrize("path", POSTS)
def test_a_program_that_is_over_a_limit_hears_it_in_the_words_of_oauth(
    loop: Loop, services: Services, path: str
) -> None:
    update = {"limit_auth": "1/minute", "limit_registrations": "1/minute"}
    settings = services.settings.model_copy(update=update)
    http = sender(loop, create_app(replace(services, settings=settings)))
    assert http("POST", path, json={}).status_code == 400
    answer = http("POST", path, json={})
    assert (answer.status_code, answer.headers["retry-after"].isdigit()) == (429, True)
    assert check_members(answer, "temporarily_unavailable")["error_code"] == "RATE_LIMITED"


@pytest.mark.parametrize(
    ("raised", "status", "error"),
    [(DatabaseUnavailable(), 503, "temporarily_unavailable"), (ValueError("inside"), 500, "server_error")],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [("initiate", {"auth_provider": "local", "redirect_uri": REDIRECT}),
     ("token", {"code": "x", "code_verifier": "v" * 43, "client_id": "client_x"}),
     ("register", {"redirect_uris": [REDIRECT]}), ("revoke", {"token": "gm_rt_x"})],
)  # fmt: skip
def test_a_service_that_cannot_answer_says_so_in_the_words_of_oauth(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, str],
    raised: Exception, status: int, error: str,
) -> None:  # fmt: skip
    async def broken(*_: Any, **__: Any) -> Any:
        raise raised

    for name in ("client", "create_request", "register", "revoke_token"):
        monkeypatch.setattr(Grants, name, broken)
    http = sender(loop, create_app(services, limited=False))
    answer = http("POST", f"/mcp/oauth/{path}", json=body)
    assert answer.status_code == status
    assert "inside" not in check_members(answer, error)["error_description"]


def test_a_body_that_is_too_large_and_a_foreign_host_are_refused_in_the_words_of_oauth(
    loop: Loop, services: Services
) -> None:
    settings = services.settings.model_copy(update={"max_body_bytes": 10})
    http = sender(loop, create_app(replace(services, settings=settings), limited=False))
    for path in POSTS:
        answer = http("POST", path, json={"a": "x" * 10})
        assert check_members(answer, "invalid_request")["error_code"] == "PAYLOAD_TOO_LARGE"
        answer = http("POST", path, json={}, headers={"Host": "evil.example"})
        assert check_members(answer, "invalid_request")["error_code"] == "HOST_NOT_ALLOWED"


def test_other_routes_have_the_envelope_alone(ask: Ask) -> None:
    for path in ("/store", "/mcp/oauth/nowhere"):
        assert "error" not in ask("POST", path, content=b"{", headers=BROWSER).json()
