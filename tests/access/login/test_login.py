"""The command line's own login: `graphmem auth login`, `status` and `logout`, and what they keep."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from graphmem.client import oauth_login
from graphmem.client.logins import Login, Logins, Secrets, canonical_address
from graphmem.errors import LoginFailed
from tests.access.login.conftest import (
    WHO_AM_I,
    accounts_of_processes,
    answer,
    change,
    kept,
    login,
    message,
    page_of,
    redirect_of,
    run,
    visit,
)
from tests.support.authorization_server import AuthorizationServer, authorization_server

# The flow


def test_a_login_in_the_browser_serves_the_commands_that_follow(
    service: AuthorizationServer, browser: Callable[..., None]
) -> None:
    browser(visit)
    shown = answer(login(service, "--json"))
    assert (shown["base_url"], shown["account"], shown["scopes"]) == (service.url, "ada", ["read", "write"])
    assert answer(run("--base-url", service.url, *WHO_AM_I))["account"] == "ada"
    (client,) = service.clients.values()
    assert client["client_name"] == "graphmem command line"
    assert client["redirect_uris"] == ["http://127.0.0.1/callback"]


def test_a_redirect_that_answers_another_login_is_refused_and_not_taken(
    service: AuthorizationServer, browser: Callable[..., None]
) -> None:
    pages: list[httpx.Response] = []

    def forge_then_visit(url: str) -> bool:
        callback = dict(parse_qsl(urlsplit(url).query))["redirect_uri"]
        for forged in ({}, {"state": "forged"}, {"state": ""}):
            query = urlencode({"code": "stolen", "iss": service.url, **forged})
            pages.append(httpx.get(f"{callback}?{query}"))
        pages.append(httpx.get(callback.replace("/callback", "/other")))
        return visit(url)

    browser(forge_then_visit)
    answer(login(service, "--json"))
    assert [page.status_code for page in pages] == [400, 400, 400, 404]


def test_a_redirect_of_another_issuer_is_refused(
    service: AuthorizationServer, browser: Callable[..., None], folder: Path
) -> None:
    browser(visit)
    service.issuer_in_redirect = "https://attacker.example"
    assert "iss differs" in message(login(service, "--json"))
    assert (service.grants, kept(folder)) == ([], [])


def test_a_redirect_without_an_issuer_is_refused_where_the_server_announces_it(
    service: AuthorizationServer,
) -> None:
    with oauth_login.http_client() as http:
        server = oauth_login.discover(http, service.url)
    request = oauth_login.begin(server, "client", 1, ("read",))
    parameters = {"state": request.state, "code": "code"}
    with pytest.raises(LoginFailed, match="iss differs"):
        oauth_login.code_of(server, request, parameters)
    assert oauth_login.code_of(replace(server, sends_issuer=False), request, parameters) == "code"


def test_a_refusal_on_the_page_ends_the_login(
    service: AuthorizationServer, browser: Callable[..., None], folder: Path
) -> None:
    browser(visit)
    service.decision = "deny"
    assert "the person said no" in message(login(service, "--json"))
    assert kept(folder) == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_person_pastes_the_address_or_the_code_where_there_is_no_browser(
    service: AuthorizationServer, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def begin(*values: Any) -> oauth_login.Authorization:
        request = real(*values)
        pasted.append(redirect_of(request.url))
        return request

    def prompt(*_: Any, **__: Any) -> str:
        return pasted[0] if whole else dict(parse_qsl(urlsplit(pasted[0]).query))["code"]

    pasted: list[str] = []
    real = oauth_login.begin
    monkeypatch.setattr(oauth_login, "begin", begin)
    monkeypatch.setattr("typer.prompt", prompt)
    result = login(service, "--json")
    assert answer(result)["account"] == "ada"
    assert page_of(result.stderr)
    assert opened == []


def test_a_pasted_address_of_another_login_is_refused(service: AuthorizationServer, folder: Path) -> None:
    query = urlencode({"code": "stolen", "state": "forged", "iss": service.url})
    pasted = f"http://127.0.0.1:1/callback?{query}\n"
    assert "its state differs" in message(login(service, "--json", "--code", text=pasted))
    assert kept(folder) == []


def test_a_wrong_code_keeps_nothing(service: AuthorizationServer, folder: Path) -> None:
    assert "the code is not good" in message(login(service, "--json", "--code", text="guessed\n"))
    assert kept(folder) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"resource": "https://other.example"}, "says that its address is"),
     ({"metadata": {"issuer": "https://other.example"}}, "does not describe itself"),
     ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
     ({"metadata": {"token_endpoint": "http://192.0.2.1/token"}}, "is not https")],
    ids=["resource", "issuer", "pkce", "endpoint"],
)  # fmt: skip
def test_a_service_whose_documents_do_not_fit_gets_no_login(
    service: AuthorizationServer, change: dict[str, Any], reason: str
) -> None:
    for name, value in change.items():
        setattr(service, name, value)
    assert reason in message(login(service, "--json", "--code", text="code\n"))
    assert service.clients == {}


def test_a_login_over_plain_http_to_another_machine_is_refused() -> None:
    result = run("auth", "login", "--base-url", "http://192.0.2.1:3080", "--json")
    assert "is not https" in message(result)


@pytest.mark.parametrize(
    ("resource", "address", "covered"),
    [("https://a.example", "https://a.example", True), ("https://a.example/", "https://a.example/api", True),
     ("https://a.example/g", "https://a.example/gr", False), ("https://a.example", "http://a.example", False),
     ("https://a.example", "https://b.example", False), ("https://a.example", "https://a.example:84", False)],
)  # fmt: skip
def test_a_resource_covers_the_addresses_below_it(resource: str, address: str, covered: bool) -> None:
    assert oauth_login._covers(resource, address) is covered


def test_spellings_of_one_address_have_one_login() -> None:
    spellings = [
        "https://A.example",
        "https://a.example/",
        "https://a.example:443",
        "https://u:p@a.example?x#y",
    ]
    assert {canonical_address(text) for text in spellings} == {"https://a.example"}


# Renewal


def test_an_expired_token_is_renewed_before_it_is_sent(logged_in: AuthorizationServer, folder: Path) -> None:
    before = Logins().get(logged_in.url)
    change(folder, expires_at=0)
    logged_in.expire()
    assert answer(run("--base-url", logged_in.url, *WHO_AM_I))["account"] == "ada"
    after = Logins().get(logged_in.url)
    assert before is not None
    assert after is not None
    assert after.secrets != before.secrets
    assert after.expires_at is not None
    assert (list(logged_in.refreshes.values()), logged_in.refused) == ([1], 0)


def test_a_token_that_the_service_refuses_is_renewed_once(logged_in: AuthorizationServer) -> None:
    logged_in.expire()
    assert answer(run("--base-url", logged_in.url, *WHO_AM_I))["account"] == "ada"
    assert list(logged_in.refreshes.values()) == [1]


def test_processes_that_renew_at_once_use_the_refresh_token_once(
    logged_in: AuthorizationServer, folder: Path
) -> None:
    change(folder, expires_at=0)
    logged_in.expire()
    logged_in.delay = 0.5
    assert accounts_of_processes(logged_in.url) == ["ada"] * 3
    assert list(logged_in.refreshes.values()) == [1]


def test_a_login_that_the_service_ended_is_forgotten(logged_in: AuthorizationServer, folder: Path) -> None:
    logged_in.grants[0].ended = True
    text = message(run("--base-url", logged_in.url, *WHO_AM_I))
    assert f"graphmem auth login --base-url {logged_in.url}" in text
    assert kept(folder) == []


def test_a_login_is_kept_while_its_server_does_not_answer(folder: Path) -> None:
    with authorization_server() as service:
        Logins().save(
            Login(service.url, "oauth", Secrets("gm_at_x", "gm_rt_x"), expires_at=0,
                  token_endpoint=f"{service.url}/token")
        )  # fmt: skip
    assert "nobody answers" in message(run("--base-url", service.url, *WHO_AM_I))
    assert len(kept(folder)) == 1


# Status and logout


def test_the_status_names_each_service_and_asks_it(logged_in: AuthorizationServer, folder: Path) -> None:
    (row,) = answer(run("auth", "status", "--json"))["logins"]
    assert (row["base_url"], row["state"], row["kept_in"]) == (logged_in.url, "accepted", "file")
    assert row["token_expires_at"].endswith("Z")
    logged_in.grants[0].ended = True
    (row,) = answer(run("auth", "status", "--json"))["logins"]
    assert row["state"].startswith("refused: ")


def test_a_logout_ends_the_tokens_and_forgets_them(logged_in: AuthorizationServer, folder: Path) -> None:
    assert answer(run("auth", "logout", "--json"))["revoked"] is True
    assert logged_in.grants[0].ended
    assert kept(folder) == []
    assert run("--base-url", logged_in.url, *WHO_AM_I).exit_code == 3
    assert "no login is kept" in message(run("auth", "logout", "--json"))


def test_a_logout_forgets_the_tokens_of_a_service_that_does_not_answer(folder: Path) -> None:
    url = "http://127.0.0.1:1"
    Logins().save(Login(url, "oauth", Secrets("gm_at_x"), revocation_endpoint=f"{url}/revoke"))
    shown = answer(run("auth", "logout", "--json"))
    assert shown["revoked"] is False
    assert "not revoked" in shown["message"]
    assert kept(folder) == []


def test_a_second_login_ends_the_first_one(logged_in: AuthorizationServer) -> None:
    answer(login(logged_in, "--json", "--scope", "read"))
    assert [grant.ended for grant in logged_in.grants] == [True, False]
    assert len(logged_in.clients) == 1
