"""What belongs to an account is sealed for its owner, and no copy of the disk opens it after an erasure."""

from __future__ import annotations

import base64
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from graphmem.auth import erasing
from graphmem.auth.accounts import Account, Accounts, Proof
from graphmem.auth.client_rules import code_challenge_of, make_code_verifier
from graphmem.auth.grants import Grants, NewRequest, Presented
from graphmem.checking import resealing
from graphmem.checking.resealing import reseal_accounts
from graphmem.context import Services
from graphmem.database import instance_kind
from graphmem.database.driver import Database
from graphmem.errors import GraphmemError, KeyDestroyed
from graphmem.model.facts import SEALED_MARK
from graphmem.runtime import seal
from graphmem.sealing.instance_keys import INSTANCE, KEY_ID_BYTES
from graphmem.sealing.sealed_rows import RowSealer
from graphmem.writing.things import NEAR_KIND
from tests.support.dumps import store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

CANARY: Final = "zephyrquartz"
OF_ACCOUNT: Final = "MATCH (:Account {id: $id})-[]->(n) RETURN labels(n)[0] AS label, properties(n) AS kept"
NODES: Final = "MATCH (:Account {id: $id})-[]->(n) RETURN elementId(n) AS id, properties(n) AS kept"
SET: Final = "MATCH (n) WHERE elementId(n) = $id SET n = $kept"
OF_OWNER: Final = (
    "MATCH (n) WHERE n.owner = $id AND NOT n:Account RETURN labels(n)[0] AS label, properties(n) AS kept"
)
STORED_REQUESTS: Final = (
    "MATCH (n) WHERE n:OAuthRequest AND n.client_id = 'gm_client' RETURN properties(n) AS kept UNION "
    "MATCH (:Account {id: $id})-[:granted]->(grant)-[:issued]->(n:OAuthCode) RETURN properties(n) AS kept"
)
EDGES: Final = "MATCH (n)-[r]->() WHERE n.owner = $id RETURN type(r) AS label, properties(r) AS kept"


@pytest.fixture
def account(loop: Loop, sealed_services: Services) -> Iterator[Account]:
    accounts = Accounts(sealed_services.database)
    made = loop.run(accounts.create(f"sealed-{secrets.token_hex(6)}", ["read", "write"], None))
    yield made
    loop.run(
        sealed_services.database.script("MATCH (a:Account {id: $id})-[]->(n) DETACH DELETE n", id=made.id)
    )


@pytest.fixture
def call(loop: Loop, sealed_services: Services, account: Account) -> Call:
    # The keys of an account that is not disabled would guard the services of other tests in this database.
    disable = "MATCH (a:Account {id: $id}) SET a.disabled = true"
    loop.run(sealed_services.database.script(disable, id=account.id))
    return by_runner(loop, sealed_services, account.owner, client=f"program {CANARY}")


def write(call: Call) -> None:
    """Write what an account may have beside the facts of its owner."""
    call("keys.create", name=f"key {CANARY}")
    call(
        "agents.grant", label=f"label {CANARY}", issuer=f"https://{CANARY}.example.org",
        subject=f"aauth:{CANARY}", capabilities=[{"op": "store", "entity_types": []}],
    )  # fmt: skip
    url = f"https://{CANARY}.example.org/{CANARY}"
    made = call("subscriptions.add", fields=[CANARY], webhook_url=url)
    call("subscriptions.add", subscription_id=made["subscription_id"])
    call("subscriptions.add", delivery_method="sse", query={"search": CANARY})


def answers(call: Call) -> list[Any]:
    return [call("keys.list"), call("agents.grants"), call("subscriptions.list")]


def kept(loop: Loop, services: Services, account: Account) -> list[tuple[str, Any]]:
    """Return each text of what the database has of an account, with its place."""
    texts: list[tuple[str, Any]] = []
    for statement in (OF_ACCOUNT, OF_OWNER, EDGES):
        for row in loop.run(services.database.script(statement, id=account.id)):
            for name, value in row["kept"].items():
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, str | bytes):
                        texts.append((f"{row['label']}.{name}", each))
    return texts


def key_ids(value: Any) -> list[str]:
    """Return the ids of the keys that sealed a value, as whoever has the disk reads them."""
    if isinstance(value, bytes):
        mark = len(SEALED_MARK.encode()) + 6
        return [value[mark:][:KEY_ID_BYTES].hex()] if value.startswith(SEALED_MARK.encode()) else []
    bodies = [each[7:].rstrip("|") for each in value.split(SEALED_MARK)[1:]]
    return [base64.b64decode(each)[:KEY_ID_BYTES].hex() for each in bodies]


def test_nothing_of_an_erased_account_opens_with_a_copy_of_the_disk(
    call: Call, loop: Loop, sealed_services: Services, account: Account
) -> None:
    keys = sealed_services.keys
    assert keys is not None
    store_rich_example(call)
    write(call)
    copy = kept(loop, sealed_services, account)
    assert {name for name, value in copy if CANARY in str(value)} == set()
    sealed = {name: key for name, value in copy for key in key_ids(value)}
    assert {
        "ApiKey.name", "AgentGrant.label", "AgentGrant.issuer", "AgentGrant.subject", "Subscription.wanted",
        "Subscription.webhook_url", "Subscription.secret", "Subscription.query", "Subscription.signer",
        "Entity.values", "Observation.values", "Transaction.answer", "stored.name",
        "Agent.writers", "Agent.client", "Transaction.client",
    } <= sealed.keys()  # fmt: skip
    for name, key in sealed.items():
        assert keys.find(key).owner == account.owner, name

    loop.run(erasing.delete_with_data(
        sealed_services.database, account.name, objects=sealed_services.objects, keys=keys,
    ))  # fmt: skip
    assert kept(loop, sealed_services, account) == []
    for name, key in sealed.items():
        with pytest.raises(KeyDestroyed):
            pytest.fail(f"{name} opens with {keys.find(key)}")


def test_what_earlier_versions_wrote_of_an_account_is_read_and_then_sealed_for_its_owner(
    call: Call, loop: Loop, sealed_services: Services, account: Account
) -> None:
    keys, database = sealed_services.keys, sealed_services.database
    assert keys is not None
    assert database.sealer is not None
    write(call)
    before, copy = answers(call), kept(loop, sealed_services, account)
    instance = RowSealer(keys, NEAR_KIND)._sealing(INSTANCE)
    rows = loop.run(database.script(NODES, id=account.id))
    for row in rows:
        (opened,) = (each["kept"] for each in database.sealer.open([row], account.owner))
        for name in ("name", "label"):
            opened[name] = instance._looked_up(opened.get(name), "client")
        for name in ("webhook_url", "secret", "query"):
            opened[name] = instance.placed(opened.get(name), opened["id"])
        loop.run(database.script(SET, id=row["id"], kept=opened))
    old = kept(loop, sealed_services, account)
    in_clear = {name for name, value in old if CANARY in str(value)}
    assert in_clear == {"AgentGrant.issuer", "AgentGrant.subject", "Subscription.wanted"}
    assert {keys.find(key).owner for _, value in old for key in key_ids(value)} == {INSTANCE}
    assert answers(call) == before

    assert loop.run(reseal_accounts(database, database.sealer)) >= len(rows)
    assert answers(call) == before
    assert Counter(kept(loop, sealed_services, account)) == Counter(copy)
    assert loop.run(reseal_accounts(database, database.sealer)) == 0


def test_a_service_looks_through_the_accounts_of_a_database_once(
    loop: Loop, sealed_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, database, walks = sealed_services.keys, sealed_services.database, list[Database]()
    assert keys is not None

    async def walk(database: Database, sealer: RowSealer) -> int:
        walks.append(database)
        return 0

    async def sealed_as(database: Database) -> tuple[str | None, bool, bool]:
        # Others use the database, whose values are in clear.
        return None, True, (await is_noted(database))[2]

    is_noted = instance_kind.sealed_as
    monkeypatch.setattr(database, "sealer", None)
    monkeypatch.setattr(instance_kind, "sealed_as", sealed_as)
    monkeypatch.setattr(resealing, "reseal_accounts", walk)
    loop.run(database.script("MATCH (n:Migration {version: 0}) SET n.seals_accounts = null"))
    for _ in range(3):
        loop.run(seal(database, keys))
        loop.run(resealing.reseal(database, sealed_services.objects, keys, write_seconds=600.0))
    assert walks == [database]


def test_what_a_client_asks_for_by_oauth_is_sealed_and_its_code_is_redeemed(
    loop: Loop, sealed_services: Services, account: Account
) -> None:
    database = sealed_services.database
    redirect, state, verifier = (
        f"https://{CANARY}.example.org/callback",
        f"state {CANARY}",
        make_code_verifier(),
    )
    challenge = code_challenge_of(verifier)
    new = NewRequest("gm_client", CANARY, redirect, state, challenge, "https://example.org", ["read"], True)

    async def redeem(redirect_uri: str) -> list[str]:
        grants = Grants(database)
        secret, _ = await grants.create_request(new)
        code = await grants.allow(secret, Proof(account), ["read"], "browser")
        assert code is not None
        stored = await database.script(STORED_REQUESTS, id=account.id)
        assert stored
        assert CANARY not in str(stored)
        finished = await grants.finish(secret, code, "browser")
        assert finished is not None
        assert (finished.redirect_uri, finished.state, finished.client_name) == (redirect, state, CANARY)
        issued = await grants.redeem(code, challenge, redirect_uri, Presented("gm_client", None, None))
        return issued.scopes

    assert loop.run(redeem(redirect)) == ["read"]
    (connection,) = loop.run(Grants(database).connections(account.id))
    assert connection.client_name == CANARY
    with pytest.raises(GraphmemError, match="redirect_uri"):
        loop.run(redeem(f"{redirect}/elsewhere"))
