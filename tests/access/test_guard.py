"""Whether callers need a credential, and who says so."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr
from rich.console import Console

from graphmem.auth.accounts import Accounts
from graphmem.cli import serve
from graphmem.database.availability import Availability
from graphmem.doctor import examine
from graphmem.errors import DatabaseUnavailable
from tests.access.conftest import WITHIN_SECONDS, Instance, seconds_until_401
from tests.faces.conftest import TOKEN
from tests.faces.test_http_edges import envelope
from tests.support import open_services
from tests.support.service import free_port, running

PASSWORD = "correct horse battery staple"


def test_the_first_key_turns_authentication_on_in_another_process_within_5_s(instance: Instance) -> None:
    account = instance.account("ada")
    http = instance.application()
    assert http("GET", "/me").json()["authentication"] == "none"
    key = instance.key(account)
    assert seconds_until_401(http, "GET", "/stats") < WITHIN_SECONDS
    assert http("GET", "/stats", key).status_code == 200
    assert http("GET", "/health").status_code == 200


@pytest.mark.parametrize("what", ["key", "password", "key of a disabled account", "revoked key", "account"])
def test_what_turns_authentication_on(instance: Instance, later: Callable[[float], None], what: str) -> None:
    account = instance.account("ada")
    http = instance.application()
    assert http("GET", "/stats").status_code == 200
    if what == "password":
        instance.loop.run(instance.accounts.set_password("ada", PASSWORD))
    elif what != "account":
        instance.key(account)
    if what == "key of a disabled account":
        instance.loop.run(instance.accounts.set_disabled("ada", True))
    if what == "revoked key":
        (record,) = instance.loop.run(instance.accounts.keys(account.id))
        instance.loop.run(instance.accounts.revoke_key(account.id, record.key_id))
    later(WITHIN_SECONDS)
    expected = 401 if what in ("key", "password") else 200
    assert http("GET", "/stats").status_code == expected
    assert http.tool(None, "get_stats").status_code == expected


def test_an_address_of_loopback_gives_no_right_once_a_key_guards_the_instance(instance: Instance) -> None:
    instance.key(instance.account("ada"))
    http = instance.application()
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        assert http("GET", "/stats", headers={header: "127.0.0.1"}).status_code == 401


@pytest.mark.parametrize(
    "credential",
    [
        "gm_sk_",
        "gm_sk_" + "A" * 43,
        # Not random: each process of a run must collect the same tests.
        "gm_sk_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
        "gm_at_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "nobody",
        "admin:admin",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/stats"), ("GET", "/nowhere"), ("POST", "/mcp")])
def test_a_bad_credential_is_401_even_where_none_is_needed(
    instance: Instance, method: str, path: str, credential: str
) -> None:
    http = instance.application()
    assert http(method, path).status_code != 401
    refused = http(method, path, credential)
    assert (refused.status_code, envelope(refused)["error_code"]) == (401, "AUTH_INVALID")
    assert credential not in envelope(refused)["message"]


def test_a_credential_in_the_url_is_none(instance: Instance) -> None:
    key = instance.key(instance.account("ada"))
    http = instance.application()
    for name in ("access_token", "token", "key", "authorization"):
        assert http("GET", f"/stats?{name}={key}").status_code == 401


def test_an_authorization_header_is_never_a_fault(instance: Instance) -> None:
    """Headers are short, long, binary and not ASCII."""
    key = instance.key(instance.account("ada"))
    http = instance.application(bearer_token=SecretStr(TOKEN))
    parts = st.sampled_from([b"Bearer ", b"bearer", b" ", b"\t", b",", b"gm_sk_", b"gm_at_", key.encode()])
    texts = st.lists(parts | st.binary(max_size=40) | st.text(max_size=20).map(str.encode)).map(b"".join)

    @given(texts)
    @example(b"Bearer " + b"\xff" * 50)
    @example(b"Bearer gm_sk_" + "é".encode() * 50)
    @example(b"Bearer gm_sk_" + b"x" * 20_000)
    @example(b"Bearer \x00")
    def send(authorization: bytes) -> None:
        answer = http("GET", "/stats", headers={"Authorization": authorization})
        expected = {200} if re.fullmatch(rb"(?i:bearer) +%b\s*" % key.encode(), authorization) else {401}
        assert answer.status_code in expected, authorization

    send()


def test_the_description_of_the_server_says_whether_callers_need_a_credential(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(**settings: Any) -> str:
        return instance.application(**settings)("GET", "/server-info").json()["authentication"]

    assert told() == "none"
    assert [told(bearer_token=SecretStr(TOKEN)), told(env="production")] == ["bearer", "bearer"]
    instance.key(instance.account("ada"))
    assert told() == "bearer"


def test_the_description_of_the_server_asks_the_database_at_most_every_4_s(
    instance: Instance, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    are_guarded = Accounts.are_guarded

    async def counted(self: Accounts) -> bool:
        looked.append(1)
        return await are_guarded(self)

    monkeypatch.setattr(Accounts, "are_guarded", counted)
    http = instance.application()
    for ahead, lookups in ((0, 1), (3.9, 1), (0.2, 2)):
        later(ahead)
        assert http("GET", "/server-info").status_code == 200
        assert len(looked) == lookups


def test_the_description_of_the_server_is_answered_while_the_database_is_down(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(self: object) -> Exception:
        return DatabaseUnavailable()

    monkeypatch.setattr(Availability, "error", down)
    http = instance.application()
    assert http("GET", "/server-info").json()["authentication"] == "none"


def test_the_doctor_knows_that_keys_and_passwords_guard_an_instance(instance: Instance) -> None:
    settings = instance.services.settings

    def status(**changed: Any) -> str:
        options = {"neo4j_uri": settings.neo4j_uri, "neo4j_password": settings.neo4j_password, "env": "test"}
        options |= {"data_dir": settings.data_path, "port": free_port(), **changed}
        findings = [each for each in instance.loop.run(examine(options, False, {})) if each.check == "access"]
        assert len(findings) == 1
        return findings[0].status

    assert [status(), status(host="0.0.0.0")] == ["ok", "fail"]
    instance.key(instance.account("ada"))
    assert [status(), status(host="0.0.0.0")] == ["ok", "ok"]
    assert status(host="0.0.0.0", public_url="http://mem.example") == "warn"


def test_services_of_tests_that_have_no_accounts_stay_open(
    instance: Instance, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance.key(instance.account("ada"))
    assert instance.loop.run(instance.accounts.are_guarded())
    monkeypatch.setenv(open_services.VARIABLE, "1")
    assert not instance.loop.run(instance.accounts.are_guarded())
    with running(instance.services.settings, tmp_path, owner) as service, service.http() as http:
        assert http.get("/stats").status_code == 200


@pytest.mark.parametrize("is_open", [False, True])
def test_a_service_announces_whether_callers_need_a_credential(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(serve, "stderr", Console(file=printed))
    if not is_open:
        instance.key(instance.account("ada"))
    planned = asyncio.Event()
    planned.set()
    settings, guarding = instance.services.settings, instance.services.guard
    server = serve._RestServer(uvicorn.Config("x:y"), settings, planned, guarding, lambda: None)
    instance.loop.run(server._announce(1234))
    (line,) = [line for line in printed.getvalue().splitlines() if line.strip().startswith("Token")]
    assert ("Bearer" in line, "none" in line) == (not is_open, is_open)
