"""Passwords and one-time codes: what they prove, and what is stored of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graphmem.auth import passwords, tokens
from graphmem.auth.accounts import CODE_SECONDS
from graphmem.errors import AccountConflict
from graphmem.model import times
from tests.access.conftest import Instance
from tests.support.quick_passwords import QUICK_COST, REAL_COST, hash_with

PASSWORD = "correct horse battery staple"


@pytest.fixture
def real_cost() -> Iterator[None]:
    """Hash passwords with the numbers of the product."""
    hash_with(REAL_COST)
    yield
    hash_with(QUICK_COST)


# Passwords


def test_a_password_proves_its_account_and_nothing_else_does(instance: Instance) -> None:
    ada = instance.account("ada")
    instance.account("bob")
    instance.loop.run(instance.accounts.set_password("ada", PASSWORD))

    def proved(name: str, secret: str) -> Any:
        return instance.loop.run(instance.accounts.prove(name, secret))

    assert proved("ada", PASSWORD).account.id == ada.id
    assert proved(" Ada ", PASSWORD).account.id == ada.id
    for name, secret in (
        ("ada", PASSWORD.upper()), ("ada", ""), ("ada", f"{PASSWORD} "), ("bob", PASSWORD), ("bob", ""),
        ("nobody", PASSWORD), ("", PASSWORD), ("local", ""), ("ada", "\udcff"),
    ):  # fmt: skip
        assert proved(name, secret) is None, (name, secret)
    instance.loop.run(instance.accounts.set_disabled("ada", True))
    assert proved("ada", PASSWORD) is None


def test_a_wrong_password_an_unknown_name_and_no_password_take_the_same_work(
    instance: Instance, real_cost: None, monkeypatch: pytest.MonkeyPatch
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


def test_no_password_key_or_code_is_stored(instance: Instance, real_cost: None) -> None:
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
    assert instance.names == ["ada", "local"]


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
    assert [each.account.id for each in proved] == [account.id]


def test_a_new_code_ends_the_earlier_one_of_its_account_alone(instance: Instance) -> None:
    ada, bob = instance.account("ada"), instance.account("bob")
    first, other, second = (
        instance.loop.run(instance.accounts.create_code(each.id))[0] for each in (ada, bob, ada)
    )
    assert first != second
    proved = [instance.loop.run(instance.accounts.prove("", code)) for code in (first, other, second)]
    assert [each and each.account.id for each in proved] == [None, bob.id, ada.id]


def test_a_code_of_a_disabled_account_proves_nothing_and_is_no_bearer(instance: Instance) -> None:
    account = instance.account("ada")
    code, _ = instance.loop.run(instance.accounts.create_code(account.id))
    assert instance.application()("GET", "/stats", code).status_code == 401
    instance.loop.run(instance.accounts.set_disabled("ada", True))
    assert instance.loop.run(instance.accounts.prove("", code)) is None
