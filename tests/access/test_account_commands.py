"""``graphmem account`` and ``graphmem auth code`` on the command line, and two of them at once."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
import typer
from typer.testing import Result

from graphmem.cli import account as account_commands
from graphmem.errors import AccountConflict
from graphmem.settings import LOCAL_ACCOUNT
from tests.access.conftest import Command, Instance
from tests.support.blocked import until_blocked

PASSWORD = "correct horse battery staple"


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(result: Result) -> str:
    assert not result.stdout
    return json.loads(result.stderr.splitlines()[-1])["error_code"]


def proved(instance: Instance, name: str, secret: str) -> str | None:
    proof = instance.loop.run(instance.accounts.prove(name, secret))
    return proof and proof.account.name


def test_an_account_has_an_owner_of_its_own_and_no_password(instance: Instance, command: Command) -> None:
    ada = answer(command("account", "create", "Ada@Example.org", "--json"))
    root = answer(command("account", "create", "root", "--admin", "--json"))
    assert (ada["name"], ada["scopes"], ada["password"]) == ("ada@example.org", ["read", "write"], False)
    assert ada["owner"] not in (root["owner"], LOCAL_ACCOUNT)
    assert sorted(root["scopes"]) == ["admin", "read", "write"]
    listed = answer(command("account", "list", "--json"))["accounts"]
    assert [row["name"] for row in listed if row["name"] in instance.names] == instance.names
    assert instance.names == ["ada@example.org", "local", "root"]
    assert refusal(command("--json", "account", "create", "root")) == "ACCOUNT_CONFLICT"
    assert "ada@example.org" in command("account", "list").stdout


@pytest.mark.parametrize("name", ["", " ", "a b", "é", "-ada", "a" * 65, "a/b", "ada\n"])
def test_a_name_that_no_account_can_have_is_refused(instance: Instance, command: Command, name: str) -> None:
    result = command("--json", "account", "create", "--", name)
    if name.strip() == "ada":
        assert answer(result)["name"] == "ada"
    else:
        assert refusal(result) == "VALIDATION_INVALID_FORMAT"


def test_a_password_is_read_and_never_a_word_of_the_command(instance: Instance, command: Command) -> None:
    created = command("account", "create", "ada", "--password", "--json", stdin=f"{PASSWORD}\n")
    assert answer(created)["password"] is True
    assert PASSWORD not in created.output
    assert proved(instance, "ada", PASSWORD) == "ada"
    changed = command("account", "set-password", "ada", "--json", stdin="another long password\n")
    assert answer(changed)["password"] is True
    assert [proved(instance, "ada", text) for text in (PASSWORD, "another long password")] == [None, "ada"]
    assert answer(command("account", "set-password", "ada", "--none", "--json"))["password"] is False
    assert proved(instance, "ada", "another long password") is None
    assert command("account", "create", "bob", "--password", PASSWORD).exit_code == 2


@pytest.mark.parametrize("password", ["", "short", "x" * 11, "x" * 1025])
def test_a_password_of_a_wrong_length_is_refused(instance: Instance, command: Command, password: str) -> None:
    result = command("--json", "account", "create", "ada", "--password", stdin=f"{password}\n")
    assert refusal(result) == "VALIDATION_INVALID_FORMAT"
    assert instance.names == ["local"]


def test_at_a_terminal_a_password_is_asked_for_twice_and_hidden(
    instance: Instance, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def prompt(text: str, **options: Any) -> str:
        asked.append(options)
        return PASSWORD

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(account_commands, "_is_terminal", lambda: True)
    answer(command("account", "create", "ada", "--password", "--json"))
    assert [(each["hide_input"], each["confirmation_prompt"]) for each in asked] == [(True, True)]


def test_the_first_password_is_announced_on_stderr_before_it_is_set(
    instance: Instance, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    tell = account_commands.tell_first_credential

    def note(was_open: bool) -> None:
        told.append(was_open)
        tell(was_open)

    monkeypatch.setattr(account_commands, "tell_first_credential", note)
    answer(command("account", "create", "without", "--json"))
    first = command("account", "set-password", "without", "--json", stdin=f"{PASSWORD}\n")
    second = command("account", "create", "ada", "--password", "--json", stdin=f"{PASSWORD}\n")
    assert told == [True, False]
    assert "callers over TCP need a credential" in " ".join(first.stderr.split())
    assert second.stderr == ""


def test_the_first_key_is_announced_on_stderr_before_it_is_made(instance: Instance, command: Command) -> None:
    first = command("auth", "keys", "create", "laptop", "--json")
    assert answer(first)["key"]["scopes"] == ["read", "write"]
    assert "callers over TCP need a credential" in " ".join(first.stderr.split())
    shown = command("auth", "keys", "create", "x")
    assert shown.stderr == ""
    assert re.search(r"^name +x *$", shown.stdout, re.MULTILINE)
    assert re.search(r"^scopes +read, write *$", shown.stdout, re.MULTILINE)
    assert re.search(r"^secret +gm_sk_[\w-]{43} *$", shown.stdout, re.MULTILINE)
    key_id = answer(first)["key"]["key_id"]
    assert answer(command("auth", "keys", "list", "--json"))["keys"][1]["key_id"] == key_id
    assert answer(command("auth", "keys", "revoke", key_id, "--json"))["key"]["state"] == "revoked"


def test_an_account_is_disabled_and_enabled(instance: Instance, command: Command) -> None:
    key = instance.key(instance.account("ada"))
    for word, status in (("disable", 401), ("enable", 200)):
        assert answer(command("account", word, "ada", "--json"))["disabled"] is (word == "disable")
        assert instance.application()("GET", "/stats", key).status_code == status


@pytest.mark.parametrize("word", ["disable", "delete"])
def test_the_local_account_stays(instance: Instance, command: Command, word: str) -> None:
    assert refusal(command("--json", "account", word, "Local")) == "ACCOUNT_CONFLICT"
    local = instance.loop.run(instance.accounts.by_name("local"))
    assert not local.disabled


def test_a_deletion_is_asked_for_first_and_leaves_the_data(instance: Instance, command: Command) -> None:
    account = instance.account("ada")
    key = instance.key(account)
    instance.by_owner(account.owner)("store", entities=[{"entity_type": "person", "name": "Ada"}])
    aborted = command("account", "delete", "ada", stdin="n\n")
    assert aborted.exit_code == 1
    assert "Its data stays" in " ".join(aborted.stderr.split())
    assert instance.application()("GET", "/stats", key).status_code == 200
    deleted = command("account", "delete", "ada", "--json", stdin="y\n")
    assert json.loads(deleted.stdout.splitlines()[-1]) == {
        "deleted": "ada",
        "keys": 1,
        "grants": 0,
        "owner": account.owner,
    }
    assert instance.by_owner(account.owner)("server.stats")["total_entities"] == 1
    assert refusal(command("--json", "account", "delete", "ada", "--yes")) == "RESOURCE_NOT_FOUND"


@pytest.mark.parametrize("word", ["disable", "enable", "set-password", "delete"])
def test_an_account_that_is_not_there_is_404(instance: Instance, command: Command, word: str) -> None:
    words = [*(["--none"] if word == "set-password" else []), *(["--yes"] if word == "delete" else [])]
    assert refusal(command("--json", "account", word, "nobody", *words)) == "RESOURCE_NOT_FOUND"


@pytest.mark.parametrize("words", [["account", "list"], ["account", "create", "ada"], ["auth", "code"]])
def test_accounts_are_not_managed_over_tcp(command: Command, words: list[str]) -> None:
    result = command("--json", "--base-url", "http://127.0.0.1:9", *words)
    assert refusal(result) == "CONFIGURATION_INVALID"


def test_a_one_time_code_proves_the_local_account_once(instance: Instance, command: Command) -> None:
    code = answer(command("auth", "code", "--json"))
    assert code["account"] == "local"
    assert [proved(instance, "", code["code"]) for _ in range(2)] == ["local", None]


@pytest.mark.parametrize("change", ["enable", "password"])
def test_what_changes_an_account_while_its_deletion_begins_finds_it_deleted(
    instance: Instance, change: str
) -> None:
    instance.account("ada")

    async def late() -> None:
        async with (
            instance.services.database._driver.session() as session,
            await session.begin_transaction() as deletion,
        ):
            await deletion.run("MATCH (n:Account {name: 'ada'}) SET n.erased_at = 1, n.disabled = true")
            if change == "enable":
                changed = asyncio.ensure_future(instance.accounts.set_disabled("ada", False))
            else:
                changed = asyncio.ensure_future(instance.accounts.set_password("ada", PASSWORD))
            name = "account.set_disabled" if change == "enable" else "account.set_password"
            await until_blocked(instance.services.database, name)
            await deletion.commit()
        await changed

    with pytest.raises(AccountConflict):
        instance.loop.run(late())
    (account,) = instance.rows("MATCH (n:Account {name: 'ada'}) RETURN n.disabled AS off, n.password AS hash")
    assert account == {"off": True, "hash": None}


def test_of_two_codes_that_are_made_at_once_one_is_left(instance: Instance) -> None:
    account = instance.account("ada")

    async def both() -> None:
        async with (
            instance.services.database._driver.session() as session,
            await session.begin_transaction() as other,
        ):
            await other.run("MATCH (n:Account {name: 'ada'}) SET n.locked = true")
            made = [asyncio.ensure_future(instance.accounts.create_code(account.id)) for _ in range(3)]
            await until_blocked(instance.services.database, "account.create_code", len(made))
            await other.commit()
        await asyncio.gather(*made)

    instance.loop.run(both())
    codes = "MATCH (:Account {id: $id})-[:has_code]->(code:OneTimeCode) RETURN count(code) AS codes"
    assert instance.rows(codes, id=account.id) == [{"codes": 1}]
