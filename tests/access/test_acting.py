"""``--account``: at this machine, commands act as an account, over the Unix socket and in process."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from graphmem.auth import ACCOUNT_HEADER
from graphmem.cli import main, session
from graphmem.mcp import thin
from graphmem.service import calling
from graphmem.service.calling import account_headers
from graphmem.service.front import create_local_app
from tests.access.conftest import Application, Instance
from tests.support.commands import environment
from tests.support.faces import share_services
from tests.support.mcp_conversation import opening
from tests.support.walks import walk_over

ADA = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}


def run(instance: Instance, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    """Return the answer of a command in process, or its error."""
    share_services(monkeypatch, instance.loop, instance.services)
    settings = instance.services.settings
    result = CliRunner().invoke(main.app, ["--json", *words], env=environment(settings, settings.data_path))
    return json.loads(result.stdout if result.exit_code == 0 else result.stderr.splitlines()[-1])


def test_a_command_in_process_acts_as_an_account(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    account = instance.account("ada")
    me = run(instance, monkeypatch, "--account", "Ada", "auth", "whoami")
    assert (me["account"], me["owner"], me["authentication"]) == ("ada", account.owner, "process")
    assert me["scopes"] == ["copy", "read", "write"]
    key = run(instance, monkeypatch, "--account", "ada", "auth", "keys", "create", "laptop")
    assert instance.application()("GET", "/me", key["secret"]).json()["account"] == "ada"
    code = run(instance, monkeypatch, "--account", "ada", "auth", "code")
    proved = instance.loop.run(instance.accounts.prove("", code["code"]))
    assert proved is not None
    assert proved.account.name == "ada"
    missing = run(instance, monkeypatch, "--account", "nobody", "stats")
    assert missing["error_code"] == "RESOURCE_NOT_FOUND"


def test_a_request_over_the_socket_acts_as_the_account_that_its_header_names(instance: Instance) -> None:
    account = instance.account("ada+1@example.org")
    socket = Application(instance.loop, create_local_app(instance.services))
    headers = account_headers("ada+1@example.org")
    assert socket("POST", "/store", headers=headers, json=ADA).status_code == 200
    me = socket("GET", "/me", headers=headers).json()
    assert (me["account"], me["owner"], me["authentication"]) == (account.name, account.owner, "socket")
    data_dir = str(instance.services.settings.data_path)
    assert me["storage"] == {"storage_backend": "neo4j", "data_dir": data_dir}
    assert socket("GET", "/metrics", headers=headers).status_code == 403
    assert socket("GET", "/metrics").status_code == 200
    assert socket("GET", "/stats", headers=account_headers("nobody")).status_code == 404
    assert socket("GET", "/me").json()["account"] == "local"


@pytest.mark.parametrize("guarded", [False, True])
def test_an_account_that_a_request_over_tcp_names_is_refused(instance: Instance, guarded: bool) -> None:
    key = instance.key(instance.account("ada")) if guarded else None
    for name in ("ada", "local", "nobody", ""):
        answer = instance.application()("GET", "/me", key, headers={ACCOUNT_HEADER: name})
        assert answer.status_code == 401


def test_the_command_line_acts_as_no_account_over_tcp(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is sent")

    monkeypatch.setattr(httpx.Client, "request", send)
    refused = run(
        instance, monkeypatch, "--account", "ada", "--base-url", "http://127.0.0.1:9", "auth", "whoami"
    )
    assert refused["error_code"] == "CONFIGURATION_INVALID"


@walk_over("word", sorted(main.WITHOUT_ACCOUNT))
def test_a_command_that_acts_as_no_account_refuses_one(word: str) -> None:
    result = CliRunner().invoke(main.app, ["--account", "ada", word, "list"])
    assert result.exit_code == 2
    assert "acts as no account" in " ".join(result.stderr.split())


def test_mcp_over_stdio_acts_as_an_account(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def send(settings: Any, request: Any, headers: Any, *_: Any, **__: Any) -> tuple[int, bytes]:
        sent.append(headers)
        return 200, b"{}"

    monkeypatch.setattr(calling, "send", send)
    reading, writing = os.pipe()
    for account in ("ada", None):
        client = thin.StdioClient(instance.services.settings, writing, account)
        params = {"name": "get_stats", "arguments": {}}
        for message in (opening("2025-06-18"), {"method": "tools/call", "params": params}):
            client.take(json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode())
        client.end()
    os.close(reading)
    os.close(writing)
    assert [headers.get(ACCOUNT_HEADER) for headers in sent] == ["ada", None]


def test_a_session_without_an_account_sends_no_header() -> None:
    assert account_headers(None) == {}
    assert session.Session().account is None
