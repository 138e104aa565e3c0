"""API keys as callers make, list and revoke them, over REST and on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from graphmem.auth import tokens
from graphmem.auth.client_rules import code_challenge_of
from graphmem.auth.grants import Grants, NewRequest, Presented, granted_scopes
from graphmem.model import times
from graphmem.registry import REGISTRY, Face
from graphmem.settings import LOCAL_ACCOUNT
from tests.access.conftest import Instance
from tests.faces.test_http_edges import envelope
from tests.support.actors import always, full_actor

VERIFIER, REDIRECT = "v" * 43, "http://localhost:7777/callback"


@pytest.fixture
def ada(instance: Instance) -> str:
    """The key of an account, with the scopes read and write."""
    return instance.key(instance.account("ada"))


def created(instance: Instance, maker: str, **arguments: Any) -> Any:
    """Make a key over REST, and return the answer."""
    answer = instance.application()("POST", "/keys", maker, json={"name": "laptop", **arguments})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_key_that_was_made_over_rest_opens_the_account_of_its_maker(instance: Instance, ada: str) -> None:
    answer = created(instance, ada)
    assert re.fullmatch(r"gm_sk_[A-Za-z0-9_-]{43}", answer["secret"])
    assert (answer["key"]["state"], answer["key"]["scopes"]) == ("active", ["read", "write"])
    assert "no later answer has it" in answer["hint"]
    me = instance.application()("GET", "/me", answer["secret"]).json()
    assert (me["account"], me["credential"]) == ("ada", answer["key"]["key_id"])


def test_the_secret_is_in_the_answer_of_its_making_alone(instance: Instance, ada: str) -> None:
    secret = created(instance, ada)["secret"]
    http = instance.application()
    listed = http("GET", "/keys", ada)
    assert [key["name"] for key in listed.json()["keys"]] == ["laptop", "of a test"]
    revoked = http("DELETE", f"/keys/{listed.json()['keys'][0]['key_id']}", ada)
    assert revoked.json()["key"]["state"] == "revoked"
    assert secret not in listed.text + revoked.text


def test_a_key_has_at_most_the_scopes_of_its_maker(instance: Instance) -> None:
    account = instance.account("ada", ["read", "write", "admin"])
    keys = {scope: instance.key(account, scopes) for scope, scopes in {
        "read": ["read"], "write": ["read", "write"], "admin": ["read", "write", "admin"],
    }.items()}  # fmt: skip
    http = instance.application()

    def status(maker: str, *scopes: str) -> int:
        return http("POST", "/keys", keys[maker], json={"name": "x", "scopes": scopes}).status_code

    assert [status("read", "read"), status("read", "write")] == [403, 403]
    assert [status("write", "read"), status("write", "write"), status("write", "admin")] == [200, 200, 403]
    assert [status("admin", "admin"), status("admin", "owner")] == [200, 400]
    refused = http("POST", "/keys", keys["write"], json={"name": "x", "scopes": ["read", "admin"]})
    assert envelope(refused)["details"]["needs"] == "admin"
    # Without scopes, a key has those for the data, whoever makes it.
    assert created(instance, keys["admin"])["key"]["scopes"] == ["read", "write"]


def test_a_key_expires_after_its_days(instance: Instance, ada: str, forward: Callable[[int], None]) -> None:
    answer = created(instance, ada, expires_in_days=30)
    times = (datetime.fromisoformat(answer["key"][name]) for name in ("expires_at", "created_at"))
    assert abs(next(times) - next(times) - timedelta(days=30)) < timedelta(seconds=5)
    assert created(instance, ada)["key"]["expires_at"] is None
    forward(30 * 86_400_000_000)
    http = instance.application()
    assert http("GET", "/stats", answer["secret"]).status_code == 401
    assert [key["state"] for key in http("GET", "/keys", ada).json()["keys"]] == [
        "active",
        "expired",
        "active",
    ]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"name": ""}, {"name": "  "}, {"name": "x" * 101}, {"name": "x", "expires_in_days": 0},
     {"name": "x", "expires_in_days": 3651}, {"name": "x", "expires_in_days": True},
     {"name": "x", "scopes": ["all"]}, {"name": "x", "account_id": LOCAL_ACCOUNT},
     # The ids of another key and of an account find what these wrote.
     {"name": "key_0123456789abcdef"}, {"name": LOCAL_ACCOUNT}],
)  # fmt: skip
def test_a_key_with_wrong_arguments_is_refused(instance: Instance, ada: str, arguments: Any) -> None:
    assert instance.application()("POST", "/keys", ada, json=arguments).status_code == 400


def test_a_key_is_revoked_without_a_body_and_once_more_without_an_effect(
    instance: Instance, ada: str
) -> None:
    answer = created(instance, ada)
    path = f"/keys/{answer['key']['key_id']}"
    http = instance.application()
    assert http("GET", "/stats", answer["secret"]).status_code == 200
    first, second = (http("DELETE", prefix + path, ada).json() for prefix in ("", "/api"))
    assert first == second
    assert http("GET", "/stats", answer["secret"]).status_code == 401
    assert http("DELETE", f"{path}?force=true", ada).status_code == 400
    assert http("DELETE", "/keys/key_0000000000000000", ada).status_code == 404
    assert http("DELETE", path).status_code == 401


def test_the_keys_of_one_account_are_invisible_to_others(instance: Instance, ada: str) -> None:
    bob = instance.key(instance.account("bob"))
    key = created(instance, ada, name="of ada")["key"]
    http = instance.application()
    assert [each["name"] for each in http("GET", "/keys", bob).json()["keys"]] == ["of a test"]
    unknown = http("DELETE", "/keys/key_0000000000000000", bob)
    foreign = http("DELETE", f"/keys/{key['key_id']}", bob)
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.json()["message"].replace(key["key_id"], "") == unknown.json()["message"].replace(
        "key_0000000000000000", ""
    )
    assert http("GET", "/keys", ada).json()["keys"][0]["state"] == "active"


def test_keys_are_listed_in_pages(instance: Instance, ada: str) -> None:
    for name in ("a", "b"):
        created(instance, ada, name=name)
    http = instance.application()
    whole = http("GET", "/keys?include_total_count=true", ada).json()
    assert (whole["total"], len(whole["keys"]), "next_cursor" in whole) == (3, 3, False)
    first = http("GET", "/keys?limit=2", ada).json()
    rest = http("GET", f"/keys?limit=2&cursor={first['next_cursor']}", ada).json()
    rest_by_offset = http("GET", "/keys?offset=2", ada).json()
    for answer in (whole, first, rest, rest_by_offset):
        for key in answer["keys"]:
            # Each request may note another minute of the last use.
            assert "last_used_at" in key
            del key["last_used_at"]
    assert first["keys"] + rest["keys"] == whole["keys"]
    assert rest_by_offset["keys"] == rest["keys"]


def test_the_first_key_of_an_open_instance_warns_that_callers_need_a_credential(instance: Instance) -> None:
    http = instance.application()
    first = http("POST", "/keys", json={"name": "laptop"})
    (warning,) = first.json()["warnings"]
    assert warning["code"] == "AUTHENTICATION_ON"
    assert "within 5 seconds" in warning["message"]
    second = http("POST", "/keys", first.json()["secret"], json={"name": "server"})
    assert second.status_code == 200
    assert "warnings" not in second.json()


def test_the_first_key_guards_the_process_that_makes_it_at_once(instance: Instance) -> None:
    http = instance.application()
    assert http("GET", "/stats").status_code == 200
    assert http("POST", "/keys", json={"name": "laptop"}).status_code == 200
    assert http("GET", "/stats").status_code == 401


def test_a_caller_without_an_account_makes_no_key(instance: Instance, owner: str) -> None:
    http = instance.application(always(full_actor(owner)))
    assert http("POST", "/keys", json={"name": "x"}).status_code == 404
    assert http("GET", "/keys").json() == {"keys": [], "limit": 100, "offset": 0}


def test_keys_are_not_made_over_mcp_and_not_in_the_sandbox(instance: Instance, ada: str) -> None:
    for name in ("keys.create", "keys.list", "keys.revoke", "keys.rotate"):
        assert REGISTRY[name].faces == Face.REST | Face.CLI
    http = instance.application(sandbox=True)
    for method, path in (("POST", "/keys"), ("GET", "/keys"), ("DELETE", "/keys/x")):
        refused = http(method, path, ada)
        assert (refused.status_code, envelope(refused)["error_code"]) == (403, "SANDBOX_DISABLED")


# Keys that keys made


def test_a_key_ends_with_the_key_that_made_it(instance: Instance, ada: str) -> None:
    http = instance.application()
    first = created(instance, ada, name="first", expires_in_days=2)
    second = created(instance, first["secret"], name="second", expires_in_days=30)
    third = created(instance, second["secret"], name="third")
    listed = {key["name"]: key for key in http("GET", "/keys", ada).json()["keys"]}
    assert [listed[name]["made_by"] for name in ("third", "second", "of a test")] == [
        second["key"]["key_id"], first["key"]["key_id"], None,
    ]  # fmt: skip
    assert {listed[name]["expires_at"] for name in ("first", "second", "third")} == {
        first["key"]["expires_at"]
    }
    path = f"/keys/{first['key']['key_id']}"
    refused = http("DELETE", path, ada)
    assert (refused.status_code, envelope(refused)["error_code"]) == (409, "KEY_HAS_CHILDREN")
    assert envelope(refused)["details"]["keys"] == [{"key_id": second["key"]["key_id"], "name": "second"}]
    assert http("GET", "/stats", third["secret"]).status_code == 200
    ended = http("DELETE", path, ada, params={"children": "end"})
    assert (ended.status_code, ended.json()["key"]["state"]) == (200, "revoked")
    other_process = instance.application()
    assert [other_process("GET", "/stats", key["secret"]).status_code for key in (first, second, third)] == [
        401, 401, 401,
    ]  # fmt: skip
    states = {key["name"]: key["state"] for key in http("GET", "/keys", ada).json()["keys"]}
    assert states == {"first": "revoked", "second": "revoked", "third": "revoked", "of a test": "active"}


def test_keys_that_are_kept_have_the_maker_of_their_maker(instance: Instance, ada: str) -> None:
    http = instance.application()
    first = created(instance, ada, name="first")
    second = created(instance, first["secret"], name="second")
    third = created(instance, second["secret"], name="third")
    kept = http("DELETE", f"/keys/{second['key']['key_id']}", ada, params={"children": "keep"})
    assert kept.status_code == 200
    made_by = {key["name"]: key["made_by"] for key in http("GET", "/keys", ada).json()["keys"]}
    assert made_by["third"] == first["key"]["key_id"]
    assert instance.application()("GET", "/stats", third["secret"]).status_code == 200


def test_a_key_that_is_rotated_has_a_new_secret_in_the_same_place(instance: Instance, ada: str) -> None:
    http = instance.application()
    first = created(instance, ada, name="first", expires_in_days=2)
    child = created(instance, first["secret"], name="child")
    path = f"/keys/{first['key']['key_id']}/rotate"
    assert http("POST", path, child["secret"], json={}).status_code == 403
    rotated = http("POST", path, first["secret"], json={}).json()
    assert {**rotated["key"], "key_id": "", "created_at": "", "last_used_at": None} == {
        **first["key"], "key_id": "", "created_at": "", "last_used_at": None,
    }  # fmt: skip
    other_process = instance.application()
    assert [
        other_process("GET", "/stats", secret).status_code
        for secret in (first["secret"], rotated["secret"], child["secret"])
    ] == [401, 200, 200]
    listed = {
        key["name"]: key for key in http("GET", "/keys", ada).json()["keys"] if key["state"] == "active"
    }
    assert listed["child"]["made_by"] == rotated["key"]["key_id"]
    assert http("POST", path, ada, json={}).status_code == 404


def test_a_key_is_rotated_by_nobody_with_fewer_scopes(instance: Instance) -> None:
    account = instance.account("ada", ["read", "write", "admin"])
    admin, writer = instance.key(account, ["read", "write", "admin"]), instance.key(account)
    http = instance.application()
    made = created(instance, admin, scopes=["admin"])
    refused = http("POST", f"/keys/{made['key']['key_id']}/rotate", writer, json={})
    assert (refused.status_code, envelope(refused)["details"]["needs"]) == (403, "admin")


def test_the_last_key_of_an_administrator_is_not_revoked_over_the_network(instance: Instance) -> None:
    account = instance.account("ada", ["read", "write", "admin"])
    admin = instance.key(account, ["read", "write", "admin"])
    http = instance.application()
    child = created(instance, admin, scopes=["read", "write", "admin"])
    (own,) = [key["key_id"] for key in http("GET", "/keys", admin).json()["keys"] if key["made_by"] is None]
    refused = http("DELETE", f"/keys/{own}", admin, params={"children": "end"})
    assert (refused.status_code, envelope(refused)["error_code"]) == (409, "ACCOUNT_CONFLICT")
    assert http("DELETE", f"/keys/{child['key']['key_id']}", admin).status_code == 200
    assert http("GET", "/stats", admin).status_code == 200


def test_a_chain_of_keys_has_an_end(instance: Instance, ada: str) -> None:
    secret = ada
    for _ in range(7):
        secret = created(instance, secret)["secret"]
    refused = instance.application()("POST", "/keys", secret, json={"name": "laptop"})
    assert refused.status_code == 403


def test_what_a_person_allows_by_a_key_is_no_wider_than_the_key_and_ends_with_it(instance: Instance) -> None:
    account, accounts = instance.account("ada"), instance.accounts
    grants = Grants(instance.services.database)
    request = NewRequest(
        "client-a", "Client A", REDIRECT, "s", code_challenge_of(VERIFIER), "http://localhost/mcp",
        ["read", "write"], True,
    )  # fmt: skip

    async def steps() -> list[bool]:
        _, root = await accounts.create_key(account.id, account.owner, "root", ["read", "write"], None)
        secret, child = await accounts.create_key(
            account.id, account.owner, "child", ["read"], None, root.key_id
        )
        proof = await accounts.prove("", secret)
        assert proof is not None
        assert granted_scopes(["read", "write"], proof) == ["read"]
        waiting, _ = await grants.create_request(request)
        code = await grants.allow(waiting, proof, ["read"], "browser")
        assert code is not None
        presented = Presented("client-a", None, None)
        issued = await grants.redeem(code, request.code_challenge, REDIRECT, presented)
        (connection,) = await grants.connections(account.id)
        assert connection.made_by == child.key_id
        valid: list[bool] = []
        for _ in range(2):
            row = await grants.of_token(tokens.digest(issued.access_token))
            assert row is not None
            valid.append(row.is_valid(times.now()))
            await accounts.revoke_key(account.id, root.key_id, "end")
        assert await grants.connections(account.id) == []
        return valid

    assert instance.loop.run(steps()) == [True, False]
