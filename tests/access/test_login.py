"""The command line's own login: `graphmem auth login`, `status` and `logout`, and what they keep."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import urlopen

import httpx
import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringError
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.client import Client, oauth, redirects
from graphmem.client.logins import Login, Logins, Secrets, canonical_address
from graphmem.errors import CredentialsRefused, LoginFailed
from graphmem.settings import Settings
from tests.access.conftest import Instance
from tests.support.authorization_server import AuthorizationServer, authorization_server
from tests.support.service import Service, running

SECRET = "gm_sk_" + "k" * 43
WITHIN_SECONDS = 6.0
"""A logout holds in all processes within 5 s."""
WHO_AM_I = ("auth", "whoami", "--json")


class MemoryKeyring(KeyringBackend):
    """A keyring that keeps passwords in memory."""

    priority = 5  # pyright: ignore[reportAssignmentType]

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}
        self.locked = locked

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringError("locked")
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise KeyringError("there is none")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the logins of this test are. It has no keyring, and no browser unless a test gives it one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    use_keyring(monkeypatch, fail.Keyring())
    return Logins().folder


@pytest.fixture
def service() -> Iterator[AuthorizationServer]:
    with authorization_server() as state:
        yield state


def use_keyring(monkeypatch: pytest.MonkeyPatch, backend: KeyringBackend) -> None:
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)


def run(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [*words], input=text, env={"COLUMNS": "400"})


def login(service: AuthorizationServer, *words: str, text: str | None = None) -> Result:
    return login_at(service.url, *words, text=text)


def login_at(address: str, *words: str, text: str | None = None) -> Result:
    return run("auth", "login", "--base-url", address, *words, text=text)


def answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def message(result: Result) -> str:
    """Return the error that a command printed with ``--json``."""
    assert result.exit_code != 0, result.output
    # A prompt may stand on the same line: nobody pressed a key.
    return json.loads(result.stderr[result.stderr.rindex('{"error_code"') :])["message"]


def visit(url: str) -> bool:
    """Do what a browser does: open the page, and follow its redirect."""
    threading.Thread(target=lambda: urlopen(url).close()).start()
    return True


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], bool]], None]:
    """Give this machine a browser that does something with the address that it opens."""

    def give(opened: Callable[[str], bool]) -> None:
        monkeypatch.setenv("BROWSER", "test")
        monkeypatch.setattr(webbrowser, "open", opened)

    return give


@pytest.fixture
def logged_in(service: AuthorizationServer, browser: Callable[..., None]) -> AuthorizationServer:
    """A service at which the command line has logged in."""
    browser(visit)
    answer(login(service, "--json"))
    return service


def accounts_of_processes(address: str) -> list[str]:
    """Return who three commands are that run at once."""
    words = [sys.executable, "-m", "graphmem", "--base-url", address, *WHO_AM_I]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(3)]
    return [json.loads(process.communicate(timeout=60)[0])["account"] for process in processes]


def kept(folder: Path) -> list[Path]:
    return list(folder.glob("*.json"))


def change(folder: Path, **members: Any) -> None:
    """Change the one login that is kept."""
    (path,) = kept(folder)
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def redirect_of(url: str) -> str:
    """Allow a login at its page, and return where the browser ends."""
    return httpx.get(url).headers["location"]


def page_of(result_or_text: str) -> str:
    (url,) = re.findall(r"http://\S+/authorize\?\S+", result_or_text)
    return url


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
    with oauth.http_client() as http:
        server = oauth.discover(http, service.url)
    request = oauth.begin(server, "client", 1, ("read",))
    parameters = {"state": request.state, "code": "code"}
    with pytest.raises(LoginFailed, match="iss differs"):
        oauth.code_of(server, request, parameters)
    assert oauth.code_of(replace(server, sends_issuer=False), request, parameters) == "code"


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

    def begin(*values: Any) -> oauth.Authorization:
        request = real(*values)
        pasted.append(redirect_of(request.url))
        return request

    def prompt(*_: Any, **__: Any) -> str:
        return pasted[0] if whole else dict(parse_qsl(urlsplit(pasted[0]).query))["code"]

    pasted: list[str] = []
    real = oauth.begin
    monkeypatch.setattr(oauth, "begin", begin)
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
    assert oauth._covers(resource, address) is covered


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


# graphmem's own authorization server


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
    found = Logins().get(address)
    assert found is not None
    return found


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
    with oauth.http_client() as http, pytest.raises(oauth.GrantEnded):
        oauth.renew(http, first)
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
    with oauth.http_client() as http:
        oauth.renew(http, stored(own_login))
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
def own_service(
    instance: Instance, instance_settings: Settings, tmp_path: Path, owner: str
) -> Iterator[Service]:
    """A service of graphmem on a database whose accounts tests may change."""
    with running(instance_settings, tmp_path / "service", owner) as service:
        yield service


def test_a_key_from_stdin_serves_the_commands_that_follow_until_the_logout(
    instance: Instance, own_service: Service, folder: Path
) -> None:
    key = instance.key(instance.account("ada"), ["read"])
    url = own_service.url
    results = [run("auth", "login", "--base-url", url, "--key", "--json", text=f"{key}\n")]
    assert (answer(results[0])["account"], answer(results[0])["by"]) == ("ada", "API key")
    results.append(run("--base-url", url, *WHO_AM_I))
    assert (answer(results[1])["account"], answer(results[1])["scopes"]) == ("ada", ["read"])
    results.append(run("auth", "status", "--json"))
    (row,) = answer(results[2])["logins"]
    assert (row["state"], row["scopes"], row["token_expires_at"]) == ("accepted", ["read"], None)
    results.append(run("auth", "logout", "--json"))
    assert answer(results[3])["revoked"] is False
    assert kept(folder) == []
    assert "graphmem auth login" in run("--base-url", url, "auth", "whoami").stderr
    assert key not in "".join(result.output for result in results) + own_service.console


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


# Where secrets are


def test_no_secret_is_printed_or_logged(
    logged_in: AuthorizationServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    change(Logins().folder, expires_at=0)
    commands = [login(logged_in), run("auth", "status"), run("auth", "status", "--json"),
                run("--verbose", "--base-url", logged_in.url, "auth", "whoami"),
                run("auth", "logout", "--json")]  # fmt: skip
    printed = caplog.text + "".join(result.output + result.stderr for result in commands)
    assert printed
    assert logged_in.secrets
    assert [secret for secret in logged_in.secrets if secret in printed] == []
    assert SECRET not in repr(Login("http://a", "key", Secrets(SECRET, SECRET)))


def test_a_login_is_readable_by_its_user_only(logged_in: AuthorizationServer, folder: Path) -> None:
    (path,) = kept(folder)
    assert [stat.S_IMODE(where.stat().st_mode) for where in (folder, path)] == [0o700, 0o600]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_login_that_others_can_open_is_refused(
    logged_in: AuthorizationServer, folder: Path, mode: int
) -> None:
    (path,) = kept(folder)
    path.chmod(mode)
    assert f"chmod 600 {path}" in message(
        run(
            "--base-url",
            logged_in.url,
            *WHO_AM_I,
        )
    )
    path.chmod(0o600)
    assert run("--base-url", logged_in.url, *WHO_AM_I).exit_code == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"address": 1}', '{"address": "a", "kept_in": "file"}'])
def test_a_damaged_login_is_refused(folder: Path, content: str) -> None:
    logins = Logins()
    logins.save(Login("http://a", "key", Secrets(SECRET)))
    (path,) = kept(folder)
    path.write_text(content)
    with pytest.raises(CredentialsRefused, match="is damaged"):
        logins.get("http://a")


def test_the_keyring_has_the_secrets_where_there_is_one_and_the_file_has_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    saved = Logins().save(Login("http://a", "key", Secrets(SECRET)))
    assert saved.kept_in == "keyring"
    (path,) = kept(folder)
    assert SECRET not in path.read_text()
    assert "http://a" in path.read_text()
    assert Logins().get("http://a") == saved
    Logins().forget("http://a")
    assert (backend.passwords, kept(folder)) == ({}, [])


def test_a_login_moves_to_the_file_where_the_keyring_is_locked_and_is_never_in_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    Logins().save(Login("http://a", "key", Secrets("gm_sk_old")))
    backend.locked = True
    assert Logins().save(Login("http://a", "key", Secrets(SECRET))).kept_in == "file"
    assert backend.passwords == {}
    loaded = Logins().get("http://a")
    assert loaded is not None
    assert loaded.secrets.token == SECRET


def test_a_keyring_that_keeps_plain_text_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryKeyring()
    backend.priority = 0.5
    use_keyring(monkeypatch, backend)
    assert Logins().save(Login("http://a", "key", Secrets(SECRET))).kept_in == "file"
    assert backend.passwords == {}


def test_the_token_of_the_environment_wins_over_a_login(
    logged_in: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_BEARER_TOKEN", "t" * 32)
    assert run("--base-url", logged_in.url, *WHO_AM_I).exit_code == 3
    assert "SERVICE_BEARER_TOKEN is set" in run("auth", "status").stderr


def test_a_client_without_a_login_sends_no_credential(service: AuthorizationServer) -> None:
    with Client(service.url, None) as client:
        assert "authorization" not in client._http.headers
        assert client._http.auth is None


def test_the_receiver_waits_no_longer_than_it_is_told() -> None:
    with redirects.Receiver() as receiver, pytest.raises(LoginFailed, match="nobody allowed"):
        receiver.wait(0.01)
