"""Logins of the command line: where they are kept, the service that they are for, and the browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx
import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringError
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.client.logins import Logins
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


@pytest.fixture
def own_service(
    instance: Instance, instance_settings: Settings, tmp_path: Path, owner: str
) -> Iterator[Service]:
    """A service of graphmem on a database whose accounts tests may change; refresh tokens have no grace."""
    without_grace = {"GRAPHMEM_OAUTH_REFRESH_GRACE": "0"}
    with running(instance_settings, tmp_path / "service", owner, **without_grace) as service:
        yield service
