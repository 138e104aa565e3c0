"""Who a caller is: keys over REST and MCP, when authentication is on, passwords and one-time codes."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import uvicorn
from cachetools import TTLCache
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr
from rich.console import Console
from starlette.datastructures import Headers

from graphmem.auth import Actor, Scope, credentials, guard, passwords, tokens
from graphmem.auth.accounts import CODE_SECONDS, Accounts
from graphmem.auth.authenticator import Authenticator, Caller
from graphmem.cli import serve
from graphmem.database.availability import Availability
from graphmem.database.driver import round_trips
from graphmem.doctor import examine
from graphmem.errors import AccountConflict, AuthInvalid, DatabaseUnavailable, NotFound
from graphmem.model import times
from tests.access.conftest import HOUR, Application, Instance
from tests.faces.conftest import TOKEN
from tests.faces.test_http_edges import envelope
from tests.support.actors import full_actor
from tests.support.service import free_port

ADA = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}
PASSWORD = "correct horse battery staple"
WITHIN_SECONDS = 5.0
"""A change of who may call holds in all processes within so many seconds."""


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Put the clock of credentials that authenticators remember forward by seconds."""
    ahead = [0.0]
    cache = partial(TTLCache, timer=lambda: time.monotonic() + ahead[0])
    for module in (credentials, guard):
        monkeypatch.setattr(module, "TTLCache", cache)

    def put(seconds: float) -> None:
        ahead[0] += seconds

    return put


def seconds_until(application: Application, status: int, *request: Any) -> float:
    """Return the seconds until a request has a status; it is sent for twice as long as allowed."""
    begin = time.monotonic()
    while application(*request).status_code != status:
        assert time.monotonic() - begin < 2 * WITHIN_SECONDS
        time.sleep(0.1)
    return time.monotonic() - begin


def of_key(key: str) -> Caller:
    """Return what a request with a key says of its caller."""

    async def digest(algorithm: str) -> bytes:
        return b""

    return Caller("GET", b"/stats", b"", Headers({"authorization": f"Bearer {key}"}), digest)


# Keys


def test_a_key_opens_the_data_of_its_account_and_of_no_other_over_rest_and_mcp(instance: Instance) -> None:
    ada, bob = (instance.key(instance.account(name)) for name in ("ada", "bob"))
    http = instance.application()
    stored = http("POST", "/store", ada, json=ADA)
    (entity,) = stored.json()["entities"]
    path = f"/entities/{entity['entity_id']}"
    assert (http("GET", path, ada).status_code, http("GET", path, bob).status_code) == (200, 404)
    assert [http("GET", "/stats", key).json()["total_entities"] for key in (ada, bob)] == [1, 0]
    totals = [
        http.tool(key, "get_stats").json()["result"]["structuredContent"]["total_entities"]
        for key in (ada, bob)
    ]
    assert totals == [1, 0]
    me = http("GET", "/me", ada).json()
    (key,) = instance.loop.run(instance.accounts.keys(me["user_id"]))
    assert (me["account"], me["authentication"], me["credential"]) == ("ada", "key", key.id)
    assert (me["owner"], me["scopes"]) == (me["user_id"], ["read", "write"])


def test_the_scopes_of_a_key_narrow_those_of_its_account_over_rest_and_mcp(instance: Instance) -> None:
    account = instance.account("ada")
    reader, admin = instance.key(account, ["read"]), instance.key(account, ["read", "write", "admin"])
    http = instance.application()
    assert http("GET", "/stats", reader).status_code == 200
    refused = http("POST", "/store", reader, json=ADA)
    assert (refused.status_code, envelope(refused)["details"]["needs"]) == (403, "write")
    refused_tool = http.tool(reader, "store", **ADA)
    assert (refused_tool.status_code, envelope(refused_tool)["details"]["needs"]) == (403, "write")
    assert 'error="insufficient_scope"' in refused_tool.headers["WWW-Authenticate"]
    # A key has no scope that its account lacks, whatever is stored with it.
    assert http("GET", "/me", admin).json()["scopes"] == ["read", "write"]
    assert http("GET", "/metrics", admin).status_code == 403


def test_a_key_ends_when_it_expires(instance: Instance, forward: Callable[[int], None]) -> None:
    account = instance.account("ada")
    key = instance.key(account, expires_at=times.now() + HOUR)
    assert instance.application()("GET", "/stats", key).status_code == 200
    forward(HOUR)
    refused = instance.application()("GET", "/stats", key)
    assert (refused.status_code, envelope(refused)["error_code"]) == (401, "AUTH_INVALID")


def test_a_revoked_key_ends_in_another_process_within_5_s(instance: Instance) -> None:
    account = instance.account("ada")
    keys = [instance.key(account) for _ in range(2)]
    here, there = instance.application(), instance.application()
    assert [each("GET", "/stats", keys[0]).status_code for each in (here, there)] == [200, 200]
    revoked = instance.loop.run(instance.accounts.keys(account.id))[1]
    again = [
        instance.loop.run(instance.accounts.revoke_key(account.id, revoked.id)).revoked_at for _ in range(2)
    ]
    assert again[0] == again[1]
    assert seconds_until(there, 401, "GET", "/stats", keys[0]) < WITHIN_SECONDS
    assert there("GET", "/stats", keys[1]).status_code == 200


def test_a_key_of_another_account_is_not_revoked(instance: Instance) -> None:
    ada, bob = instance.account("ada"), instance.account("bob")
    key = instance.key(ada)
    (record,) = instance.loop.run(instance.accounts.keys(ada.id))
    with pytest.raises(NotFound):
        instance.loop.run(instance.accounts.revoke_key(bob.id, record.id))
    assert instance.application()("GET", "/stats", key).status_code == 200


def test_the_keys_of_a_disabled_account_end_and_those_of_an_enabled_one_work_again(
    instance: Instance, later: Callable[[float], None]
) -> None:
    key = instance.key(instance.account("ada"))
    other_key = instance.key(instance.account("bob"))
    http = instance.application()
    for disabled, status in ((False, 200), (True, 401), (False, 200)):
        instance.loop.run(instance.accounts.set_disabled("ada", disabled))
        later(WITHIN_SECONDS)
        assert http("GET", "/stats", key).status_code == status
        assert http("GET", "/stats", other_key).status_code == 200


def test_the_keys_of_a_deleted_account_end_and_its_data_stays(
    instance: Instance, later: Callable[[float], None]
) -> None:
    account = instance.account("ada")
    key = instance.key(account)
    http = instance.application()
    assert http("POST", "/store", key, json=ADA).status_code == 200
    assert instance.loop.run(instance.accounts.delete("ada")) == (1, 0)
    later(WITHIN_SECONDS)
    assert http("GET", "/stats", key).status_code == 401
    assert instance.by_owner(account.owner)("server.stats")["total_entities"] == 1


def test_the_last_use_of_a_key_is_noted_to_the_minute(
    instance: Instance, forward: Callable[[int], None]
) -> None:
    account = instance.account("ada")
    key = instance.key(account)

    def last_use() -> int | None:
        (record,) = instance.loop.run(instance.accounts.keys(account.id))
        return record.last_used_at

    def noted(before: int | None) -> int:
        begin = time.monotonic()
        while (used := last_use()) == before:
            assert time.monotonic() - begin < WITHIN_SECONDS
            time.sleep(0.02)
        assert used is not None
        return used

    assert last_use() is None
    start = times.now()
    instance.application()("GET", "/stats", key)
    first = noted(None)
    assert first % 60_000_000 == 0
    assert start - 60_000_000 < first <= times.now()
    forward(120_000_000)
    instance.application()("GET", "/stats", key)
    assert noted(first) == first + 120_000_000


def test_a_credential_that_was_seen_within_4_s_costs_no_round_trip(
    instance: Instance, later: Callable[[float], None]
) -> None:
    keys = [instance.key(instance.account(name)) for name in ("ada", "bob")]
    finder = Authenticator(instance.services.database, instance.services.settings, instance.services.guard)

    async def trips(key: str) -> int:
        cell = [0]
        round_trips.set(cell)
        await finder.actor(of_key(key))
        return cell[0]

    assert [instance.loop.run(trips(key)) for key in (*keys, *keys, *keys)] == [1, 1, 0, 0, 0, 0]
    later(3.9)
    assert instance.loop.run(trips(keys[0])) == 0
    later(0.2)
    assert instance.loop.run(trips(keys[0])) == 1


def test_a_key_that_is_wrong_is_not_remembered(instance: Instance) -> None:
    finder = Authenticator(instance.services.database, instance.services.settings, instance.services.guard)
    for _ in range(2):
        with pytest.raises(AuthInvalid):
            instance.loop.run(finder.actor(of_key(tokens.make(tokens.KEY_PREFIX))))
    assert not finder._credentials


# Whether callers need a credential


def test_the_first_key_turns_authentication_on_in_another_process_within_5_s(instance: Instance) -> None:
    account = instance.account("ada")
    http = instance.application()
    assert http("GET", "/me").json()["authentication"] == "none"
    key = instance.key(account)
    assert seconds_until(http, 401, "GET", "/stats") < WITHIN_SECONDS
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
        instance.loop.run(instance.accounts.revoke_key(account.id, record.id))
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
    """Row 5 of the threat table: short, long, binary and not ASCII."""
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


# Passwords


def test_a_password_proves_its_account_and_nothing_else_does(instance: Instance) -> None:
    ada = instance.account("ada")
    instance.account("bob")
    instance.loop.run(instance.accounts.set_password("ada", PASSWORD))

    def proved(name: str, secret: str) -> Any:
        return instance.loop.run(instance.accounts.prove(name, secret))

    assert proved("ada", PASSWORD).id == ada.id
    assert proved(" Ada ", PASSWORD).id == ada.id
    for name, secret in (
        ("ada", PASSWORD.upper()), ("ada", ""), ("ada", f"{PASSWORD} "), ("bob", PASSWORD), ("bob", ""),
        ("nobody", PASSWORD), ("", PASSWORD), ("local", ""), ("ada", "\udcff"),
    ):  # fmt: skip
        assert proved(name, secret) is None, (name, secret)
    instance.loop.run(instance.accounts.set_disabled("ada", True))
    assert proved("ada", PASSWORD) is None


def test_a_wrong_password_an_unknown_name_and_no_password_take_the_same_work(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance.account("without")
    instance.loop.run(instance.accounts.create("ada", ["read"], PASSWORD))
    instance.loop.run(instance.accounts.prove("nobody", "x"))  # makes the hash of nobody
    computed: list[tuple[int, ...]] = []
    scrypt = passwords._scrypt

    def counted(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
        computed.append((n, r, p))
        return scrypt(password, salt, n, r, p)

    monkeypatch.setattr(passwords, "_scrypt", counted)
    for name in ("ada", "nobody", "without"):
        assert instance.loop.run(instance.accounts.prove(name, "wrong password")) is None
    assert computed == [(2**15, 8, 1)] * 3


def test_no_password_key_or_code_is_stored(instance: Instance) -> None:
    ada = instance.loop.run(instance.accounts.create("ada", ["read"], PASSWORD))
    bob = instance.loop.run(instance.accounts.create("bob", ["read"], PASSWORD))
    key, (code, _) = instance.key(ada), instance.loop.run(instance.accounts.create_code(bob.id))
    stored = json.dumps(instance.rows("MATCH (n) RETURN properties(n) AS properties"), default=str)
    secrets = [PASSWORD, key, key.removeprefix(tokens.KEY_PREFIX), code, code.replace("-", "")]
    assert [secret for secret in secrets if secret in stored] == []
    hashes = re.findall(r"scrypt\$[^\"]+", stored)
    assert (len(hashes), len(set(hashes))) == (2, 2)
    assert all(each.startswith("scrypt$32768$8$1$") for each in hashes)


def test_a_name_is_taken_once(instance: Instance) -> None:
    instance.account("ada")
    with pytest.raises(AccountConflict):
        instance.account("ada")
    assert [each.name for each in instance.loop.run(instance.accounts.all())] == ["ada", "local"]


# One-time codes


def test_a_code_is_valid_for_10_minutes(instance: Instance, forward: Callable[[int], None]) -> None:
    account = instance.account("ada")
    for ahead, valid in ((CODE_SECONDS - 5, True), (CODE_SECONDS, False)):
        code, expires_at = instance.loop.run(instance.accounts.create_code(account.id))
        assert CODE_SECONDS == 600
        assert abs(expires_at - times.now() - CODE_SECONDS * 1_000_000) < 5_000_000
        forward(ahead * 1_000_000)
        assert (instance.loop.run(instance.accounts.prove("", code)) is not None) is valid


def test_a_code_is_redeemed_once_by_20_callers_at_once(instance: Instance) -> None:
    account = instance.account("ada")
    code, _ = instance.loop.run(instance.accounts.create_code(account.id))

    async def redeem() -> list[Any]:
        return await asyncio.gather(*(instance.accounts.prove("", f" {code.lower()} ") for _ in range(20)))

    proved = [each for each in instance.loop.run(redeem()) if each is not None]
    assert [each.id for each in proved] == [account.id]


def test_a_new_code_ends_the_earlier_one_of_its_account_alone(instance: Instance) -> None:
    ada, bob = instance.account("ada"), instance.account("bob")
    first, other, second = (
        instance.loop.run(instance.accounts.create_code(each.id))[0] for each in (ada, bob, ada)
    )
    assert first != second
    proved = [instance.loop.run(instance.accounts.prove("", code)) for code in (first, other, second)]
    assert [each and each.id for each in proved] == [None, bob.id, ada.id]


def test_a_code_of_a_disabled_account_proves_nothing_and_is_no_bearer(instance: Instance) -> None:
    account = instance.account("ada")
    code, _ = instance.loop.run(instance.accounts.create_code(account.id))
    assert instance.application()("GET", "/stats", code).status_code == 401
    instance.loop.run(instance.accounts.set_disabled("ada", True))
    assert instance.loop.run(instance.accounts.prove("", code)) is None


# What an authenticator sees of a request


def test_an_authenticator_sees_the_request_as_it_was_sent_and_the_application_reads_the_body(
    instance: Instance, owner: str
) -> None:
    callers: list[Caller] = []
    digests: list[bytes] = []

    async def authenticate(caller: Caller) -> Actor:
        callers.append(caller)
        digests.extend([await caller.body_digest("sha256"), await caller.body_digest("sha512")])
        return full_actor(owner)

    body = json.dumps(ADA).encode()
    headers = {"Content-Type": "application/json", "X-Thing": "é".encode()}
    http = instance.application(authenticate)
    answer = http("POST", "/api/%73tore?a=%2F&b=%c3%a9+", content=body, headers=headers)
    assert answer.json()["entities_created"] == 1
    (caller,) = callers
    assert (caller.method, caller.path, caller.query) == ("POST", b"/api/%73tore", b"a=%2F&b=%c3%a9+")
    assert caller.headers["x-THING"]
    assert digests == [hashlib.sha256(body).digest(), hashlib.sha512(body).digest()]
    assert Scope.WRITE in full_actor(owner).scopes


def test_an_authenticator_that_reads_a_body_keeps_to_its_limit(instance: Instance, owner: str) -> None:
    async def authenticate(caller: Caller) -> Actor:
        await caller.body_digest("sha256")
        return full_actor(owner)

    http = instance.application(authenticate, max_body_bytes=2000)
    assert http("POST", "/store", json={"x": "y" * 3000}).status_code == 413
    assert http("POST", "/store", json=ADA).status_code == 200


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
    server = serve._Server(uvicorn.Config("x:y"), settings, planned, guarding)
    instance.loop.run(server._announce(1234))
    (line,) = [line for line in printed.getvalue().splitlines() if line.strip().startswith("Token")]
    assert ("Bearer" in line, "none" in line) == (not is_open, is_open)
