"""Where the command line keeps the secrets of its logins, and who may read them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from graphmem.client import Client, redirects
from graphmem.client.logins import Login, Logins, Secrets
from graphmem.errors import CredentialsRefused, LoginFailed
from tests.access.login.conftest import (
    SECRET,
    WHO_AM_I,
    MemoryKeyring,
    change,
    kept,
    login,
    message,
    run,
    use_keyring,
)
from tests.support.authorization_server import AuthorizationServer


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
