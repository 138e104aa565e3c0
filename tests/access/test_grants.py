"""What OAuth keeps: requests, codes, grants and tokens, whose every step is one statement."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from graphmem.auth import grants as grants_module
from graphmem.auth import tokens
from graphmem.auth.accounts import Account, Accounts, Proof
from graphmem.auth.client_rules import ClientMetadata, code_challenge_of
from graphmem.auth.grants import Grants, IssuedTokens, NewRequest, Presented, granted_scopes
from graphmem.context import Services
from graphmem.errors import NotFound, OAuthRefused, ServiceBusy
from graphmem.model import times
from tests.support.event_loop import Loop

VERIFIER = "v" * 43
CHALLENGE = code_challenge_of(VERIFIER)
BASE = "http://127.0.0.1:7373"
REDIRECT = "http://localhost:7777/callback"
NOTHING = Presented("client-a", None, None)


@pytest.fixture
def grants(services: Services) -> Grants:
    return Grants(services.database)


@pytest.fixture
def account(loop: Loop, services: Services) -> Account:
    name = f"a{uuid.uuid4().hex[:12]}"
    return loop.run(Accounts(services.database).create(name, ["read", "write"], None))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the clock of grants by seconds."""

    def move(seconds: int) -> None:
        now = times.now
        monkeypatch.setattr(grants_module.times, "now", lambda: now() + seconds * 1_000_000)

    return move


async def waiting(grants: Grants, **changes: Any) -> str:
    """Return the secret of a request that waits for a person."""
    members: dict[str, Any] = {
        "client_id": "client-a", "client_name": "Client A", "redirect_uri": REDIRECT, "state": "s",
        "code_challenge": CHALLENGE, "resource": f"{BASE}/mcp", "scopes": ["read", "write"],
        "can_refresh": True,
    } | changes  # fmt: skip
    return (await grants.create_request(NewRequest(**members)))[0]


async def code_of(grants: Grants, account: Account, **changes: Any) -> str:
    secret = await waiting(grants, **changes)
    code = await grants.allow(secret, Proof(account), ["read", "write"], "browser")
    assert code is not None
    return code


async def issued(grants: Grants, account: Account, **changes: Any) -> IssuedTokens:
    code = await code_of(grants, account, **changes)
    return await grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)


async def refusal(redemption: Any) -> str:
    with pytest.raises(OAuthRefused) as error:
        await redemption
    return error.value.details["error"]


async def is_valid(grants: Grants, access_token: str) -> bool:
    row = await grants.of_token(tokens.digest(access_token))
    return row is not None and row.is_valid(times.now())


def test_a_code_gives_tokens_of_the_grant(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        new = await issued(grants, account)
        assert new.access_token.startswith("gm_at_")
        assert new.refresh_token is not None
        assert new.refresh_token.startswith("gm_rt_")
        row = await grants.of_token(tokens.digest(new.access_token))
        assert row is not None
        assert row.is_valid(times.now())
        assert (row.account, row.scopes, row.resource) == (account, ["read", "write"], f"{BASE}/mcp")
        [grant] = await grants.connections(account.id)
        assert (grant.connection_id, grant.client_name) == (row.grant_id, "Client A")

    loop.run(run())


def test_only_digests_are_stored(loop: Loop, services: Services, grants: Grants, account: Account) -> None:
    async def run() -> None:
        secret = await waiting(grants)
        code = await grants.allow(secret, Proof(account), ["read"], "browser-secret")
        assert code is not None
        new = await grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)
        query = (
            "MATCH (:Account {id: $id})-[:granted]->(g)-[:issued]->(n) "
            "MATCH (r:OAuthRequest {digest: $digest}) "
            "RETURN [x IN collect(n) + collect(g) + collect(r) | properties(x)] AS nodes"
        )
        rows = await services.database.script(query, id=account.id, digest=tokens.digest(secret))
        stored = repr(rows)
        for text in (secret, code, new.access_token, str(new.refresh_token), "browser-secret", VERIFIER):
            assert text not in stored
        assert tokens.digest(code) in stored

    loop.run(run())


def test_code_with_a_wrong_verifier_is_burnt(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        code = await code_of(grants, account)
        assert await refusal(grants.redeem(code, code_challenge_of("x" * 43), REDIRECT, NOTHING)) == (
            "invalid_grant"
        )
        assert await refusal(grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)) == "invalid_grant"
        assert await grants.connections(account.id) == []

    loop.run(run())


@pytest.mark.parametrize(
    ("redirect_uri", "presented", "error"),
    [
        ("http://localhost:7778/callback", NOTHING, "invalid_grant"),
        (REDIRECT, Presented("client-b", None, None), "invalid_grant"),
        (REDIRECT, Presented("client-a", BASE, None), "invalid_target"),
        (REDIRECT, Presented("client-a", f"{BASE}/mcpx", None), "invalid_target"),
        (REDIRECT, Presented("client-a", None, ["admin"]), "invalid_scope"),
    ],
)
def test_a_code_is_good_only_for_what_was_asked(
    loop: Loop, grants: Grants, account: Account, redirect_uri: str, presented: Presented, error: str
) -> None:
    async def run() -> None:
        code = await code_of(grants, account)
        assert await refusal(grants.redeem(code, CHALLENGE, redirect_uri, presented)) == error
        assert await refusal(grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)) == "invalid_grant"

    loop.run(run())


def test_code_redeemed_twenty_times_at_once_gives_one_pair_of_tokens(
    loop: Loop, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        for _ in range(3):
            code = await code_of(grants, account)
            attempts = (grants.redeem(code, CHALLENGE, REDIRECT, NOTHING) for _ in range(20))
            outcomes = await asyncio.gather(*attempts, return_exceptions=True)
            assert sum(isinstance(outcome, IssuedTokens) for outcome in outcomes) == 1
            assert all(isinstance(outcome, IssuedTokens | OAuthRefused) for outcome in outcomes)

    loop.run(run())


def test_code_that_is_replayed_ends_its_tokens(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        code = await code_of(grants, account)
        new = await grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)
        assert await refusal(grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)) == "invalid_grant"
        assert not await is_valid(grants, new.access_token)
        assert await refusal(grants.rotate(str(new.refresh_token), NOTHING)) == "invalid_grant"

    loop.run(run())


def test_refresh_token_that_is_replayed_ends_the_family(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        second = await grants.rotate(str(first.refresh_token), NOTHING)
        assert await is_valid(grants, first.access_token)
        assert await is_valid(grants, second.access_token)
        assert await refusal(grants.rotate(str(first.refresh_token), NOTHING)) == "invalid_grant"
        assert not await is_valid(grants, second.access_token)
        assert await refusal(grants.rotate(str(second.refresh_token), NOTHING)) == "invalid_grant"
        assert await grants.connections(account.id) == []

    loop.run(run())


def test_refresh_token_rotated_twenty_times_at_once_gives_one_pair_of_tokens(
    loop: Loop, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        attempts = (grants.rotate(str(first.refresh_token), NOTHING) for _ in range(20))
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(outcome, IssuedTokens) for outcome in outcomes) == 1
        assert all(isinstance(outcome, IssuedTokens | OAuthRefused) for outcome in outcomes)

    loop.run(run())


def test_a_refresh_token_in_its_grace_gives_tokens_of_the_same_family(
    loop: Loop, services: Services, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        other_process = Grants(services.database)
        windows = await asyncio.gather(
            *(each.rotate(str(first.refresh_token), NOTHING, 10.0) for each in [grants, other_process] * 3)
        )
        assert len({window.refresh_token for window in windows}) == 6
        assert all([await is_valid(grants, window.access_token) for window in windows])
        assert len(await grants.connections(account.id)) == 1
        stored = repr(await services.database.script("MATCH (n:OAuthToken) RETURN properties(n) AS stored"))
        assert all(str(window.refresh_token) not in stored for window in windows)
        # Its client and its scopes are checked as at the first use, and do not end the family.
        for presented in (Presented("client-b", None, None), Presented("client-a", None, ["admin"])):
            await refusal(grants.rotate(str(first.refresh_token), presented, 10.0))
        again = await other_process.rotate(str(windows[-1].refresh_token), NOTHING, 10.0)
        assert await is_valid(grants, again.access_token)

    loop.run(run())


def test_a_refresh_token_after_its_grace_ends_the_family(
    loop: Loop, grants: Grants, account: Account, later: Callable[[int], None]
) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        second = await grants.rotate(str(first.refresh_token), NOTHING, 10.0)
        later(9)
        third = await grants.rotate(str(first.refresh_token), NOTHING, 10.0)
        # A use in the grace does not begin it anew.
        later(2)
        assert await refusal(grants.rotate(str(first.refresh_token), NOTHING, 10.0)) == "invalid_grant"
        for each in (second, third):
            assert not await is_valid(grants, each.access_token)
            assert await refusal(grants.rotate(str(each.refresh_token), NOTHING, 10.0)) == "invalid_grant"

    loop.run(run())


def test_a_refresh_token_whose_successor_was_used_ends_the_family_in_its_grace(
    loop: Loop, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        second = await grants.rotate(str(first.refresh_token), NOTHING, 10.0)
        third = await grants.rotate(str(second.refresh_token), NOTHING, 10.0)
        assert await refusal(grants.rotate(str(first.refresh_token), NOTHING, 10.0)) == "invalid_grant"
        assert not await is_valid(grants, third.access_token)

    loop.run(run())


def test_a_refresh_token_is_of_its_client_and_not_more_than_was_allowed(
    loop: Loop, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        token = str(first.refresh_token)
        assert await refusal(grants.rotate(token, Presented("client-b", None, None))) == "invalid_grant"
        assert await refusal(grants.rotate(token, Presented("client-a", BASE, None))) == "invalid_target"
        assert await refusal(grants.rotate(token, Presented("client-a", None, ["admin"]))) == "invalid_scope"
        assert await refusal(grants.rotate(first.access_token, NOTHING)) == "invalid_grant"
        assert await refusal(grants.rotate("gm_rt_unknown", NOTHING)) == "invalid_grant"
        narrow = await grants.rotate(token, Presented("client-a", f"{BASE}/mcp/core", ["read"]))
        row = await grants.of_token(tokens.digest(narrow.access_token))
        assert row is not None
        assert (row.scopes, row.resource) == (["read"], f"{BASE}/mcp/core")
        wide = await grants.rotate(str(narrow.refresh_token), NOTHING)
        assert wide.scopes == ["read", "write"]

    loop.run(run())


def test_codes_and_tokens_expire(
    loop: Loop, grants: Grants, account: Account, later: Callable[[int], None]
) -> None:
    code = loop.run(code_of(grants, account))
    new = loop.run(issued(grants, account))
    row = loop.run(grants.of_token(tokens.digest(new.access_token)))
    assert row is not None
    assert row.is_valid(times.now() + 890 * 1_000_000)
    assert not row.is_valid(times.now() + 900 * 1_000_000)
    later(61)
    assert loop.run(refusal(grants.redeem(code, CHALLENGE, REDIRECT, NOTHING))) == "invalid_grant"
    later(30 * 24 * 3600)
    assert loop.run(refusal(grants.rotate(str(new.refresh_token), NOTHING))) == "invalid_grant"
    assert loop.run(grants.connections(account.id)) == []


def test_a_client_that_does_not_refresh_gets_no_refresh_token(
    loop: Loop, grants: Grants, account: Account
) -> None:
    assert loop.run(issued(grants, account, can_refresh=False)).refresh_token is None


def test_a_request_is_decided_on_once(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        secret = await waiting(grants)
        decisions = (grants.allow(secret, Proof(account), ["read"], "browser") for _ in range(10))
        codes = [code for code in await asyncio.gather(*decisions) if code is not None]
        assert len(codes) == 1
        assert await grants.request(secret) is None
        assert await grants.deny(secret) is None
        other = await waiting(grants)
        denied = await grants.deny(other)
        assert denied is not None
        assert denied.redirect_uri == REDIRECT
        assert await grants.allow(other, Proof(account), ["read"], "browser") is None

    loop.run(run())


def test_a_request_has_ten_attempts_and_ten_minutes(
    loop: Loop, grants: Grants, later: Callable[[int], None]
) -> None:
    async def attempts(secret: str) -> int:
        made = await asyncio.gather(*(grants.count_attempt(secret) for _ in range(15)))
        return sum(attempt is not None for attempt in made)

    secret = loop.run(waiting(grants))
    assert loop.run(attempts(secret)) == 10
    other = loop.run(waiting(grants))
    later(601)
    assert loop.run(grants.request(other)) is None
    assert loop.run(grants.count_attempt(other)) is None


def test_an_allowed_request_ends_once_in_the_browser_of_the_person(
    loop: Loop, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        secret = await waiting(grants)
        code = await grants.allow(secret, Proof(account), ["read"], "browser")
        assert code is not None
        assert await grants.finish(secret, code, "another") is None
        assert await grants.finish(secret, "another", "browser") is None
        assert await grants.finish(secret, code, "browser") is not None
        assert await grants.finish(secret, code, "browser") is None

    loop.run(run())


def test_a_connection_is_that_of_its_account_alone(
    loop: Loop, services: Services, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        stranger = await Accounts(services.database).create(f"s{secrets.token_hex(6)}", ["read"], None)
        new = await issued(grants, account)
        [grant] = await grants.connections(account.id)
        assert await grants.connections(stranger.id) == []
        for look in (grants.connection, grants.revoke):
            with pytest.raises(NotFound):
                await look(stranger.id, grant.connection_id)
        assert (await grants.connection(account.id, grant.connection_id)).connection_id == grant.connection_id
        await grants.revoke(account.id, grant.connection_id)
        assert not await is_valid(grants, new.access_token)
        assert await refusal(grants.rotate(str(new.refresh_token), NOTHING)) == "invalid_grant"
        with pytest.raises(NotFound):
            await grants.revoke(account.id, grant.connection_id)
        assert await grants.connections(account.id) == []

    loop.run(run())


def test_a_disabled_account_has_no_valid_token(
    loop: Loop, services: Services, grants: Grants, account: Account
) -> None:
    async def run() -> None:
        new, code = await issued(grants, account), await code_of(grants, account)
        secret = await waiting(grants)
        await Accounts(services.database).set_disabled(account.name, True)
        assert not await is_valid(grants, new.access_token)
        assert await refusal(grants.rotate(str(new.refresh_token), NOTHING)) == "invalid_grant"
        assert await refusal(grants.redeem(code, CHALLENGE, REDIRECT, NOTHING)) == "invalid_grant"
        assert await grants.allow(secret, Proof(account), ["read"], "browser") is None

    loop.run(run())


def test_a_token_is_revoked_by_its_client(loop: Loop, grants: Grants, account: Account) -> None:
    async def run() -> None:
        first = await issued(grants, account)
        second = await grants.rotate(str(first.refresh_token), NOTHING)
        await grants.revoke_token(second.access_token, "client-b")
        assert await is_valid(grants, second.access_token)
        await grants.revoke_token(second.access_token, "client-a")
        assert not await is_valid(grants, second.access_token)
        assert await is_valid(grants, first.access_token)
        await grants.revoke_token(str(second.refresh_token), "client-a")
        assert not await is_valid(grants, first.access_token)
        await grants.revoke_token("gm_at_unknown", "client-a")

    loop.run(run())


def test_what_has_expired_is_removed_and_nothing_else(
    loop: Loop, services: Services, grants: Grants, account: Account, later: Callable[[int], None]
) -> None:
    async def left() -> list[int]:
        query = (
            "MATCH (a:Account {id: $id})-[:granted]->(g) OPTIONAL MATCH (g)-[:issued]->(n) "
            "RETURN count(DISTINCT g) AS grants, count(n) AS issued"
        )
        [row] = await services.database.script(query, id=account.id)
        return [row["grants"], row["issued"]]

    async def remove() -> None:
        for _ in range(5):
            await grants.remove_expired()

    loop.run(issued(grants, account))
    loop.run(remove())
    assert loop.run(left()) == [1, 3]
    later(2 * 24 * 3600)
    loop.run(remove())
    assert loop.run(left()) == [1, 2]
    later(30 * 24 * 3600)
    loop.run(remove())
    assert loop.run(left()) == [0, 0]


def test_clients_are_kept_up_to_a_limit(loop: Loop, grants: Grants, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = ClientMetadata(redirect_uris=(REDIRECT,), client_name="Client A", scope=None)
    client_id, _ = loop.run(grants.register(metadata))
    assert loop.run(grants.client(client_id)) == metadata
    assert loop.run(grants.client("unknown")) is None
    monkeypatch.setattr(grants_module, "CLIENTS_LIMIT", 0)
    with pytest.raises(ServiceBusy):
        loop.run(grants.register(metadata))


def test_an_account_allows_only_what_it_has(account: Account) -> None:
    assert granted_scopes(["admin", "write", "read"], Proof(account)) == ["read", "write"]
    assert granted_scopes(["admin"], Proof(account)) == []
