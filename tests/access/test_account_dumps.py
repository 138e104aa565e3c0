"""Accounts in dumps of a whole instance: they come back with their passwords, and with no other secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from graphmem import dump
from graphmem.auth import accounts as account_rules
from graphmem.auth import passwords, tokens
from graphmem.auth.accounts import Account
from graphmem.dump import records, verifying
from graphmem.model.fact_records import line
from graphmem.settings import LOCAL_ACCOUNT
from tests.access.conftest import Command, Instance
from tests.support.dumps import wipe

PASSWORD = "correct horse battery staple"
SCRYPT = "scrypt$32768$8$1$" + "0" * 32 + "$" + "0" * 128
Backup = Callable[..., Result]


@pytest.fixture
def backed_up(instance: Instance, command: Command, monkeypatch: pytest.MonkeyPatch) -> Backup:
    """Run `graphmem backup` on the instance."""
    return lambda *words: command("backup", *map(str, words))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the dump is written."""
    return tmp_path / "instance.dump"


def with_password(instance: Instance, name: str, *scopes: str) -> Account:
    """Create an account with a password, and store a person as its owner."""
    account = instance.loop.run(instance.accounts.create(name, scopes or ("read", "write"), PASSWORD))
    instance.by_owner(account.owner)("store", entities=[{"entity_type": "person", "name": f"Of {name}"}])
    return account


def lose(instance: Instance, *accounts: Account) -> None:
    """Delete accounts and their data, as in a new instance."""
    for account in accounts:
        wipe(instance.loop, instance.services, account.owner)
        instance.rows("MATCH (n:Account {id: $id}) DETACH DELETE n", id=account.id)


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def conflicts(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 5, result.output
    return json.loads(result.stderr.splitlines()[-1])["details"]["conflicts"]


def proved(instance: Instance, name: str, secret: str = PASSWORD) -> Account | None:
    proof = instance.loop.run(instance.accounts.prove(name, secret))
    return proof and proof.account


def stored_accounts(path: Path) -> list[records.AccountRecord]:
    with verifying.open_file(path) as file:
        return [record for record in verifying.read(file) if isinstance(record, records.AccountRecord)]


def test_accounts_of_a_dump_log_in_again_and_have_their_data(
    instance: Instance, backed_up: Backup, path: Path
) -> None:
    ada, bob = with_password(instance, "ada"), with_password(instance, "bob@example.org", "read")
    instance.loop.run(instance.accounts.set_disabled("bob@example.org", True))
    instance.loop.run(instance.accounts.set_password("local", PASSWORD))
    made = answer(backed_up("create", path, "--json"))
    assert made["accounts"] == 3
    assert answer(backed_up("verify", path, "--json"))["accounts"] == 3
    lose(instance, ada, bob)
    instance.rows("MATCH (n:Account {name: 'local'}) REMOVE n.password")
    planned = answer(backed_up("restore", path, "--dry-run", "--json"))
    assert (planned["accounts"], planned["known_accounts"]) == (3, 0)
    assert [account.name for account in instance.loop.run(instance.accounts.all())] == ["local"]
    restored = answer(backed_up("restore", path, "--json"))
    assert (restored["accounts"], restored["known_accounts"], restored["conflicts"]) == (3, 0, 0)
    again = proved(instance, "ada")
    assert again is not None
    assert again[:6] == ada[:6]
    (person,) = instance.by_owner(again.owner)("entities.query")["entities"]
    assert person["canonical_name"] == "Of ada"
    assert proved(instance, "ada", f"{PASSWORD}r") is None
    assert proved(instance, "bob@example.org") is None, "it is disabled"
    enabled = instance.loop.run(instance.accounts.set_disabled("bob@example.org", False))
    assert (enabled.owner, enabled.scopes) == (bob.owner, ["read"])
    instance.loop.run(instance.accounts.set_disabled("bob@example.org", True))
    local = proved(instance, "local")
    assert local is not None
    assert local.id == LOCAL_ACCOUNT
    restored = answer(backed_up("restore", path, "--json"))
    assert (restored["accounts"], restored["known_accounts"], restored["conflicts"]) == (0, 3, 0)
    assert answer(backed_up("create", path, "--force", "--json"))["root"] == made["root"]


def test_people_learn_that_keys_are_in_no_dump(instance: Instance, backed_up: Backup, path: Path) -> None:
    ada = with_password(instance, "ada")
    assert backed_up("create", path).exit_code == 0
    lose(instance, ada)
    shown = backed_up("restore", path)
    assert "A dump has no keys" in " ".join(shown.stderr.split())


def test_an_account_of_the_instance_stays_as_it_is(instance: Instance, backed_up: Backup, path: Path) -> None:
    ada, _, eve = (with_password(instance, name) for name in ("ada", "bob", "eve"))
    instance.loop.run(instance.accounts.set_password("local", PASSWORD))
    assert answer(backed_up("create", path, "--json"))["accounts"] == 4
    lose(instance, ada, eve)
    other = instance.loop.run(instance.accounts.create("ada", ["read"], None))
    instance.rows("MATCH (n:Account {name: 'bob'}) SET n.name = 'robert', n.disabled = true")
    instance.loop.run(instance.accounts.set_password("local", f"another {PASSWORD}"))
    listed = instance.loop.run(instance.accounts.all())
    result = backed_up("restore", path, "--json")
    by_name = {conflict["id"]: conflict for conflict in conflicts(result)}
    assert by_name.keys() == {"ada", "bob", "local"}
    assert {conflict["what"] for conflict in by_name.values()} == {"account"}
    assert f"graphmem account create ANOTHER_NAME --owner {ada.owner}" in by_name["ada"]["message"]
    assert (by_name["ada"]["here"]["owner"], by_name["ada"]["dump"]["owner"]) == (other.owner, ada.owner)
    assert "robert" in by_name["bob"]["message"]
    assert by_name["local"]["here"] == by_name["local"]["dump"] == {"password": "not shown"}
    assert "scrypt" not in result.output
    after = instance.loop.run(instance.accounts.all())
    assert [account for account in after if account.name != "eve"] == listed
    assert proved(instance, "eve") is not None
    assert proved(instance, "local", f"another {PASSWORD}") is not None
    # What the message says gives the restored data an account.
    instance.loop.run(instance.accounts.create("ada.lovelace", ["read"], None, ada.owner))


def test_of_two_accounts_that_want_an_owner_at_once_one_has_it(instance: Instance) -> None:
    erased = instance.account("left")
    instance.by_owner(erased.owner)("store", entities=[{"entity_type": "note", "title": "of nobody"}])
    instance.loop.run(instance.accounts.delete("left"))

    async def both() -> list[Any]:
        made = (instance.accounts.create(name, ["read"], None, erased.owner) for name in ("first", "second"))
        return await asyncio.gather(*made, return_exceptions=True)

    made = instance.loop.run(both())
    assert sorted(type(each).__name__ for each in made) in (
        ["Account", "AccountConflict"], ["Account", "ServiceBusy"],
    )  # fmt: skip


def test_the_local_account_with_a_key_takes_no_password(
    instance: Instance, backed_up: Backup, path: Path
) -> None:
    local = instance.loop.run(instance.accounts.set_password("local", PASSWORD))
    assert answer(backed_up("create", path, "--json"))["accounts"] == 1
    instance.loop.run(instance.accounts.set_password("local", None))
    instance.key(local)
    (conflict,) = conflicts(backed_up("restore", path, "--json"))
    assert (conflict["here"], conflict["dump"]) == ({"password": "none"}, {"password": "not shown"})
    assert proved(instance, "local") is None


def test_a_dump_has_the_hash_of_a_password_and_no_other_secret(
    instance: Instance, backed_up: Backup, path: Path
) -> None:
    ada = with_password(instance, "ada")
    key = instance.key(ada)
    code, _ = instance.loop.run(instance.accounts.create_code(ada.id))
    canary = "secret-that-nobody-may-see-in-dumps"
    instance.rows(
        "MATCH (a:Account {id: $id}) CREATE (a)-[:granted]->(g:OAuthGrant {id: $canary, scopes: [$canary]}) "
        "CREATE (g)-[:issued]->(:OAuthToken {digest: $canary}) "
        "CREATE (g)-[:issued]->(:OAuthCode {digest: $canary}) "
        "CREATE (:OAuthClient {id: $canary, metadata: $canary}), (:OAuthRequest {digest: $canary})",
        id=ada.id,
        canary=canary,
    )
    try:
        assert answer(backed_up("create", path, "--json"))["accounts"] == 2
    finally:
        instance.rows(
            "MATCH (n:OAuthGrant|OAuthToken|OAuthCode|OAuthClient|OAuthRequest) "
            "WHERE $canary IN [n.id, n.digest] DETACH DELETE n",
            canary=canary,
        )
    with verifying.open_file(path) as file:
        lines = b"\n".join(record.line() for record in verifying.read(file)).decode()
    (key_id,) = [row.key_id for row in instance.loop.run(instance.accounts.keys(ada.id))]
    secrets = instance.rows(
        "MATCH (n:InstanceSecret) UNWIND keys(n) AS name RETURN toString(n[name]) AS text"
    )
    others = [key, tokens.digest(key), key_id, code, tokens.digest(code), canary, PASSWORD]
    for secret in [*others, *(row["text"] for row in secrets if len(row["text"]) > 20)]:
        assert secret not in lines
    (dumped,) = [account for account in stored_accounts(path) if account.name == "ada"]
    assert dumped.model_dump().keys() == {"record", "id", "name", "owner", "scopes", "password", "disabled"}
    assert instance.loop.run(passwords.matches(PASSWORD, dumped.password))
    assert lines.count("scrypt$") == 1


def test_a_dump_of_chosen_owners_has_no_account(instance: Instance, backed_up: Backup, path: Path) -> None:
    ada = with_password(instance, "ada")
    made = answer(backed_up("create", path, "--owner", ada.owner, "--json"))
    assert (made["owners"], made["accounts"]) == (1, 0)
    assert stored_accounts(path) == []
    assert "accounts" not in dump.verify(path).manifest.contents


def test_an_account_that_is_being_erased_is_in_no_dump(
    instance: Instance, backed_up: Backup, path: Path
) -> None:
    with_password(instance, "ada")
    instance.loop.run(instance.accounts.close("ada"))
    answer(backed_up("create", path, "--json"))
    assert [account.name for account in stored_accounts(path)] == ["local"]


ACCOUNT = {
    "record": "account", "id": "a", "name": "ada", "owner": "a", "scopes": ["read"], "password": SCRYPT,
    "disabled": False,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Ada"},
        {"name": "ada\n"},
        {"scopes": ["write", "read"]},
        {"scopes": ["root"]},
        {"password": PASSWORD},
        {"password": SCRYPT.replace("32768", "4194304")},
        {"password": SCRYPT.replace("32768", "32767")},
        {"password": SCRYPT.replace("32768", "65536")},
        {"password": SCRYPT[:-1]},
        {"key": "k"},
        {"disabled": None},
    ],
)
def test_a_record_that_is_no_account_is_refused(change: dict[str, Any]) -> None:
    assert records.read(line(ACCOUNT)).line() == line(ACCOUNT)
    with pytest.raises(ValueError, match=r".+"):
        records.read(line(ACCOUNT | change))


def test_names_of_accounts_have_one_pattern() -> None:
    assert f"^{account_rules.NAME.pattern}$" == records._ACCOUNT_NAME
