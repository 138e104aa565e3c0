"""The command line logs in at a service of graphmem: by its consent page, or with an API key."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from graphmem.client import oauth_login
from graphmem.client.logins import Login, Logins
from tests.access.conftest import Instance
from tests.access.login.conftest import (
    SECRET,
    WHO_AM_I,
    WITHIN_SECONDS,
    accounts_of_processes,
    answer,
    change,
    kept,
    login_at,
    message,
    run,
)
from tests.support.service import Service

# The consent page


def decide(url: str, secret: str, decision: str = "allow") -> httpx.Response:
    """Do what a person does on the consent page, and follow the redirects to the command line."""
    with httpx.Client(follow_redirects=True, timeout=60) as http:
        page = http.get(url)
        hidden = dict(re.findall(r'name="(request|csrf)" value="([^"]*)"', page.text))
        (action,) = re.findall(r'<form method="post" action="([^"]*)"', page.text)
        return http.post(action, data={**hidden, "decision": decision, "secret": secret})


def decides(secret: str, decision: str = "allow") -> Callable[[str], bool]:
    """Return a browser in which a person decides so."""

    def open_page(url: str) -> bool:
        threading.Thread(target=decide, args=(url, secret, decision)).start()
        return True

    return open_page


def stored(address: str) -> Login:
    login = Logins().get(address)
    assert login is not None
    return login


@pytest.fixture
def ada(instance: Instance) -> str:
    """An API key of an account: with it a person proves on the consent page who they are."""
    return instance.key(instance.account("ada"))


@pytest.fixture
def own_login(own_service: Service, ada: str, browser: Callable[..., None]) -> str:
    """The address of graphmem's own service, at which the command line has logged in by the consent page."""
    browser(decides(ada))
    assert answer(login_at(own_service.url, "--json"))["account"] == "ada"
    return own_service.url


def test_the_consent_page_logs_the_command_line_in_and_a_logout_ends_its_tokens(
    own_login: str, own_service: Service
) -> None:
    first = stored(own_login)
    assert (first.scopes, first.resource, first.issuer) == (("read", "write"), own_login, own_login)
    me = answer(run("--base-url", own_login, *WHO_AM_I))
    assert (me["account"], me["authentication"], me["scopes"]) == ("ada", "oauth", ["read", "write"])
    (row,) = answer(run("auth", "status", "--json"))["logins"]
    assert row["state"] == "accepted"
    assert answer(run("auth", "logout", "--json"))["revoked"] is True
    headers = {"Authorization": f"Bearer {first.secrets.token}"}
    end = time.monotonic() + WITHIN_SECONDS
    while httpx.get(f"{own_login}/me", headers=headers).status_code != 401:
        assert time.monotonic() < end
        time.sleep(0.1)
    with oauth_login.http_client() as http, pytest.raises(oauth_login.GrantEnded):
        oauth_login.renew(http, first)
    assert re.findall(r"gm_[a-z]{2}_\w+", own_service.console) == []


def test_processes_that_renew_at_once_keep_a_login_at_graphmem(own_login: str, folder: Path) -> None:
    first = stored(own_login)
    change(folder, expires_at=0)
    assert accounts_of_processes(own_login) == ["ada"] * 3
    second = stored(own_login)
    assert second.secrets.refresh_token not in (None, first.secrets.refresh_token)
    change(folder, expires_at=0)
    assert answer(run("--base-url", own_login, *WHO_AM_I))["account"] == "ada"


def test_a_stolen_refresh_token_that_is_used_again_ends_the_login(own_login: str, folder: Path) -> None:
    with oauth_login.http_client() as http:
        oauth_login.renew(http, stored(own_login))
    change(folder, expires_at=0)
    assert "has ended: run `graphmem auth login" in message(run("--base-url", own_login, *WHO_AM_I))
    assert kept(folder) == []


def test_a_login_that_a_person_denies_on_the_consent_page_keeps_nothing(
    own_service: Service, ada: str, browser: Callable[..., None], folder: Path
) -> None:
    browser(decides(ada, "deny"))
    assert "did not allow it" in message(login_at(own_service.url, "--json"))
    assert kept(folder) == []


def test_a_login_with_the_scope_read_cannot_write(
    own_service: Service, ada: str, browser: Callable[..., None]
) -> None:
    browser(decides(ada))
    assert answer(login_at(own_service.url, "--json", "--scope", "read"))["scopes"] == ["read"]
    entity = '{"entity_type": "person", "name": "Ada Lovelace"}'
    refused = run("--base-url", own_service.url, "--json", "store", "--entities", f"[{entity}]")
    assert json.loads(refused.stderr)["error_code"] == "FORBIDDEN"


# API keys


@pytest.fixture
def reader(instance: Instance) -> str:
    """An API key that may read. A service that starts after it has never been open."""
    return instance.key(instance.account("ada"), ["read"])


def test_a_key_from_stdin_serves_the_commands_that_follow_until_the_logout(
    reader: str, own_service: Service, folder: Path
) -> None:
    url = own_service.url
    results = [run("auth", "login", "--base-url", url, "--key", "--json", text=f"{reader}\n")]
    login = answer(results[0])
    assert (login["account"], login["by"], login["scopes"]) == ("ada", "API key", ["read"])
    results.append(run("--base-url", url, *WHO_AM_I))
    assert (answer(results[1])["account"], answer(results[1])["scopes"]) == ("ada", ["read"])
    results.append(run("auth", "status", "--json"))
    (row,) = answer(results[2])["logins"]
    assert (row["state"], row["scopes"], row["token_expires_at"]) == ("accepted", ["read"], None)
    results.append(run("auth", "logout", "--json"))
    assert answer(results[3])["revoked"] is False
    assert kept(folder) == []
    assert "graphmem auth login" in run("--base-url", url, "auth", "whoami").stderr
    assert reader not in "".join(result.output for result in results) + own_service.console


def test_a_key_that_the_service_refuses_is_not_kept(
    instance: Instance, own_service: Service, folder: Path
) -> None:
    instance.key(instance.account("ada"))
    result = run("auth", "login", "--base-url", own_service.url, "--key", text=SECRET)
    assert result.exit_code == 3
    assert "refuses the credential" in result.stderr
    assert SECRET not in result.output
    assert kept(folder) == []


@pytest.mark.parametrize("text", ["", "\n", "password", "gm_at_" + "x" * 43, f"{SECRET}é", f"{SECRET} x"])
def test_what_is_no_key_is_not_sent(text: str, folder: Path) -> None:
    result = run("auth", "login", "--base-url", "http://127.0.0.1:1", "--key", "--json", text=text)
    assert "this is no API key" in message(result)
    assert kept(folder) == []
