"""``graphmem account delete --with-data``: nothing of the owner is left, and nothing of others is touched."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from typer.testing import Result

import graphmem
from graphmem import cypher, dump
from graphmem.auth import Actor, Method, Scope, erasing
from graphmem.auth.accounts import Account
from graphmem.database import jobs
from graphmem.database.driver import Database
from graphmem.doctor import database as doctor_of_database
from graphmem.dump import settling
from graphmem.errors import AccountConflict, AuthInvalid, DatabaseFull, DumpRefused, ObjectStoreUnavailable
from graphmem.model import times
from graphmem.model.display_labels import DISPLAY_LABELS
from graphmem.objects import ObjectStore
from graphmem.registry import REGISTRY
from tests.access.conftest import Command, Instance
from tests.cypher.test_queries import SCANS
from tests.faces.example_data import told
from tests.support import failpoints
from tests.support.dumps import store_rich_example
from tests.support.faces import Call
from tests.support.forked_services import forks
from tests.support.long_cases import mostly_long
from tests.support.object_places import listing, parts
from tests.support.owned_labels import OWNED

INSTANCE_LABELS = {
    "Account", "AgentGrant", "ApiKey", "OneTimeCode", "OAuthClient", "OAuthRequest", "OAuthCode",
    "OAuthGrant", "OAuthToken", "RelationshipType", "Model", "InstanceSecret", "Subscription", "Copy",
    "SandboxReport",
}  # fmt: skip
"""The labels of nodes that belong to the instance and to no owner."""
QUERIES = Path(graphmem.__file__).parent / "cypher"


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


def refusal(result: Result) -> str:
    assert result.exit_code != 0
    return json.loads(result.stderr.splitlines()[-1])["error_code"]


def contents(instance: Instance) -> dict[str, int]:
    """Return how many nodes of each label there are, and edges of each type."""
    nodes = instance.rows("MATCH (n) UNWIND labels(n) AS name RETURN name, count(*) AS count")
    edges = instance.rows("MATCH ()-[e]->() RETURN type(e) AS name, count(*) AS count")
    return {row["name"]: row["count"] for row in (*nodes, *edges)}


def store_everything(instance: Instance, call: Call) -> None:
    """Store a state in which every label occurs that an owner may have."""
    store_rich_example(call)
    fields = {"row": {"type": "string", "filterable": True}, "born_on": {"type": "date"}}
    call("schemas.register", schema={"entity_type": "shelf", "fields": fields})
    for day in ("2001-01-01", "2002-01-01"):
        call("store", entities=[{"entity_type": "shelf", "name": "a", "row": "b", "born_on": day}])
    call("writings.withdraw", by_client="test", until="2026-01-01")
    lost = call("auth.whoami")["owner"], "type_alias", "bottle", (1, "txn_of_another_copy"), "wine", "flask"
    instance.loop.run(settling.lose(instance.services.database, *lost))
    ask = functools.partial(call, "entities.query", entity_type="shelf")
    assert told(instance.loop, instance.services, ask, lambda name, each: call(name, **each))


def state_hash(call: Call) -> Any:
    stats = call("server.stats")
    return stats["state_hash"], stats["sequence"], stats["total_observations"]


@pytest.fixture
def other(instance: Instance) -> Call:
    """Another owner, with data of every kind."""
    account = instance.account("other")
    call = instance.by_owner(account.owner)
    if not call("server.stats")["sequence"]:
        store_everything(instance, call)
    return call


def erase(instance: Instance, account: Account) -> erasing.Erased:
    return instance.loop.run(erasing.delete_with_data(instance.services.database, account.name))


def test_nothing_of_an_erased_owner_is_left_and_others_keep_their_data(
    instance: Instance, command: Command, other: Call
) -> None:
    others_state, before = state_hash(other), contents(instance)
    account = instance.account("ada")
    call = instance.by_owner(account.owner)
    store_everything(instance, call)
    key = instance.key(account)
    written = {label for label in contents(instance) if contents(instance)[label] > before.get(label, 0)}
    owned = {label for labels in OWNED.values() for label in labels}
    assert owned <= written
    stats = call("server.stats")
    erased = answer(command("account", "delete", "ada", "--with-data", "--yes", "--json"))
    assert erased["deleted"] == "ada"
    assert erased["owner"] == account.owner
    assert (erased["keys"], erased["transactions"]) == (1, stats["sequence"])
    assert erased["observations"] >= stats["total_observations"] > 0
    assert erased["entities"] > 0
    assert erased["relationships"] > 0
    assert contents(instance) == before
    assert state_hash(other) == others_state
    assert other("server.check_snapshots")["healthy"]
    assert instance.application()("GET", "/stats", key).status_code == 401


def test_the_files_of_an_erased_owner_are_erased_and_others_keep_theirs(
    instance: Instance, command: Command, other: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, objects = instance.account("ada"), instance.services.objects
    owners = (account.owner, instance.account("third").owner)
    for owner in owners:
        instance.loop.run(objects.put(owner, parts(b"a file")))
    down = AsyncMock(side_effect=ObjectStoreUnavailable)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "erase", down)
        assert (
            refusal(command("--json", "account", "delete", "ada", "--with-data", "--yes"))
            == down.side_effect.code
        )
    assert instance.loop.run(instance.accounts.by_name("ada")).is_erased
    assert answer(command("account", "delete", "ada", "--with-data", "--yes", "--json"))["files"] == 1
    assert [len(instance.loop.run(listing(objects, owner))) for owner in owners] == [0, 1]


def test_every_label_of_the_queries_and_migrations_belongs_to_the_instance_or_is_erased() -> None:
    texts = [file.read_text() for file in QUERIES.rglob("*.cypher")]
    code = "\n".join(line for text in texts for line in text.splitlines() if not line.startswith("//"))
    written = set(re.findall(r"\((?:\w+)?:(\w+)[ {)]", code)) | set(re.findall(r"SET \w+:(\w+)", code))
    owned = {label for labels in OWNED.values() for label in labels}
    # Entities of earlier versions have it on their vectors; nothing writes it any more.
    former = {"Vector"}
    assert written - {*DISPLAY_LABELS.values()} == owned | INSTANCE_LABELS | former


ITEMS = [{"entity_type": "person", "name": f"person {i}", "born_on": "2001-02-03"} for i in range(40)]
LINKS = [
    {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": target} for target in range(1, 40)
]
STEPS = ("account.close", "owner.close", *OWNED, "account.delete")


def store_some(call: Call) -> None:
    call("store", entities=ITEMS[:20], relationships=LINKS[:19])
    call("store", entities=ITEMS, relationships=LINKS)


@pytest.mark.parametrize(
    ("step", "side"),
    mostly_long(
        itertools.product(STEPS, ["before", "after"]),
        *((step, "after") for step in ("owner.close", [*OWNED][4], "account.delete")),
    ),
)
def test_an_erasure_that_was_killed_is_finished_by_the_same_command(
    instance: Instance, command: Command, forward: Callable[[int], None], tmp_path: Path, step: str, side: str
) -> None:
    before = contents(instance)
    account = instance.account("ada")
    store_some(instance.by_owner(account.owner))
    armed: dict[str, Any] = {"GRAPHMEM_FAILPOINTS": f"{side}:{step}=exit"}
    words = ("account", "delete", "ada", "--with-data", "--yes")
    process = forks().start(instance.services.settings, tmp_path, *words, **armed)
    assert process.wait() == failpoints.KILLED
    # The lease of the killed process has run out: tests/faces/test_jobs.py has who waits for it.
    forward(round(jobs.LEASE_SECONDS * times.SECOND))
    if (side, step) == ("after", "account.delete"):
        assert refusal(command("--json", *words)) == "RESOURCE_NOT_FOUND"
    else:
        if (side, step) != ("before", "account.close"):
            stopped = refusal(command("--json", "--account", "ada", "entities", "list"))
            assert stopped == "ACCOUNT_CONFLICT"
        assert answer(command("--json", *words))["deleted"] == "ada"
    assert contents(instance) == before


class Cut(Exception):
    """An erasure was interrupted."""


def test_an_erasure_goes_on_where_it_was_cut_between_two_batches(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(instance)
    account = instance.account("ada")
    store_some(instance.by_owner(account.owner))
    monkeypatch.setattr(erasing, "BATCH", 5)
    real, left = Database._run, [0]

    async def cut(self: Database, name: str, *rest: Any) -> Any:
        if name in OWNED or name == "owner.thin":
            left[0] -= 1
            if left[0] < 0:
                raise Cut
        return await real(self, name, *rest)

    monkeypatch.setattr(Database, "_run", cut)
    cuts = 0
    while True:
        left[0] = 8
        try:
            erase(instance, account)
            break
        except Cut:
            cuts += 1
            assert instance.loop.run(instance.accounts.by_name("ada")).is_erased
    assert cuts > 3
    assert contents(instance) == before


def profiled(instance: Instance, name: str, owner: str, **params: Any) -> tuple[int, set[str]]:
    """Run a write; return its database hits and its operators."""
    bound = cypher.bind(name, params, owner)

    async def run() -> Any:
        async with instance.services.database._driver.session() as session:
            result = await session.run("PROFILE " + cypher.query(name).text, bound)
            return (await result.consume()).profile

    def walk(node: Any) -> Any:
        yield node.get("dbHits", 0), node["operatorType"].partition("@")[0]
        for child in node.get("children", []):
            yield from walk(child)

    steps = list(walk(instance.loop.run(run())))
    return sum(hits for hits, _ in steps), {operator for _, operator in steps}


@pytest.mark.parametrize("name", mostly_long([*list(OWNED)[:-1], "owner.thin"], "owner.erase_entities"))
def test_a_batch_costs_the_same_however_much_others_have_stored(
    instance: Instance, other: Call, name: str
) -> None:
    params: dict[str, Any] = {"limit": 7}
    if name in ("owner.erase_entities", "owner.thin"):
        params["relationship_types"] = ["REFERS_TO"]
    account = instance.account("ada")
    call = instance.by_owner(account.owner)
    call("store", entities=ITEMS, relationships=LINKS)
    if name == "owner.thin":
        params["entity_id"] = call("entities.query", sort_by="observation_count")["entities"][0]["entity_id"]
    hits, operators = profiled(instance, name, account.owner, **params)
    assert not operators & SCANS
    assert hits < 1_000
    erase(instance, account)


def test_a_batch_ends_where_values_are_large(instance: Instance) -> None:
    account = instance.account("ada")
    call = instance.by_owner(account.owner)
    call("store", entities=[{"entity_type": "blob", "name": str(i), "text": "x" * 20_000} for i in range(5)])
    writes = instance.services.database.writes(account.owner)
    (first,) = instance.loop.run(writes.rows("owner.erase_transactions", limit=13))
    assert first == {"transactions": 0, "observations": 2}
    (second,) = instance.loop.run(writes.rows("owner.erase_transactions", limit=1))
    assert second == {"transactions": 0, "observations": 1}
    erase(instance, account)


def test_the_question_says_what_goes_and_no_answer_keeps_it(instance: Instance, command: Command) -> None:
    account = instance.account("ada")
    call = instance.by_owner(account.owner)
    call("store", entities=ITEMS, relationships=LINKS)
    aborted = command("account", "delete", "ada", "--with-data", stdin="n\n")
    question = " ".join(aborted.stderr.split())
    assert aborted.exit_code == 1
    assert "40 entities, 79 observations, 39 relationships, 1 transactions" in question
    assert call("server.stats")["total_entities"] == 40
    assert not instance.loop.run(instance.accounts.by_name("ada")).disabled
    erased = command("account", "delete", "ada", "--with-data", stdin="y\n")
    assert re.search(r"^entities +40 *$", erased.stdout, re.MULTILINE)
    assert "erasing the data of ada" in erased.stderr
    assert call("server.stats")["total_entities"] == 0


def test_the_data_of_the_local_account_is_never_erased(instance: Instance, command: Command) -> None:
    assert (
        refusal(command("--json", "account", "delete", "local", "--with-data", "--yes")) == "ACCOUNT_CONFLICT"
    )
    with pytest.raises(AccountConflict):
        instance.loop.run(erasing.delete_with_data(instance.services.database, "local"))
    assert not instance.loop.run(instance.accounts.by_name("local")).disabled


@pytest.mark.parametrize("words", [
    ("enable", "ada"), ("disable", "ada"), ("set-password", "ada", "--none"), ("delete", "ada", "--yes"),
])  # fmt: skip
def test_an_account_that_is_being_erased_can_only_be_erased(
    instance: Instance, command: Command, words: tuple[str, ...]
) -> None:
    account = instance.account("ada")
    instance.loop.run(instance.accounts.close("ada"))
    assert refusal(command("--json", "account", *words)) == "ACCOUNT_CONFLICT"
    assert refusal(command("--json", "--account", "ada", "auth", "code")) == "ACCOUNT_CONFLICT"
    listed = answer(command("account", "list", "--json"))["accounts"]
    assert [row["being_erased"] for row in listed if row["name"] == "ada"] == [True]
    erase(instance, account)


def actor_of_key(account: Account) -> Actor:
    """Return an actor as a process remembers it."""
    scopes = frozenset((Scope.READ, Scope.WRITE))
    return Actor(account.owner, scopes, account=account.id, method=Method.KEY, credential="key_x")


def store_as(instance: Instance, actor: Actor, **arguments: Any) -> None:
    instance.loop.run(REGISTRY["store"].run(instance.services, actor, {"entities": ITEMS[:1], **arguments}))


@pytest.mark.parametrize("stored", [True, False], ids=["owner", "no owner"])
@pytest.mark.parametrize("moment", ["closed", "erased"])
def test_a_write_that_comes_late_is_refused_and_leaves_nothing(
    instance: Instance, stored: bool, moment: str
) -> None:
    before = contents(instance)
    account = instance.account("ada")
    actor = actor_of_key(account)
    if stored:
        store_as(instance, actor)
    if moment == "closed":
        instance.loop.run(instance.accounts.close("ada"))
        instance.loop.run(instance.services.database.write("owner.close", account.owner, erased_at=1))
    else:
        erase(instance, account)
    with pytest.raises(AuthInvalid):
        store_as(instance, actor)
    if moment == "closed":
        erase(instance, account)
    assert contents(instance) == before


@pytest.mark.parametrize("step", ["write.look", "write.turn", "owner.create"])
def test_a_write_that_is_under_way_while_all_is_erased_is_refused(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = contents(instance)
    account = instance.account("ada")
    actor = actor_of_key(account)
    if step != "owner.create":
        store_as(instance, actor)
    real, erased = Database._run, list[erasing.Erased]()

    async def erase_first(self: Database, name: str, *rest: Any) -> Any:
        if name.partition("[")[0] == step and not erased:
            erased.append(erasing.Erased())
            erased.append(await erasing.delete_with_data(self, "ada"))
        return await real(self, name, *rest)

    monkeypatch.setattr(Database, "_run", erase_first)
    with pytest.raises(AuthInvalid):
        store_as(instance, actor)
    assert len(erased) == 2
    assert contents(instance) == before


def test_writes_of_many_callers_leave_nothing_behind(instance: Instance) -> None:
    before = contents(instance)
    account = instance.account("ada")
    actor = actor_of_key(account)
    store_as(instance, actor)
    refused: list[str] = []

    async def write(number: int) -> None:
        for turn in itertools.count():
            items = [{"entity_type": "note", "name": f"{number} {turn}"}]
            try:
                await REGISTRY["store"].run(instance.services, actor, {"entities": items})
            except AuthInvalid as exc:
                refused.append(exc.code)
                return

    async def run() -> None:
        writers = [asyncio.create_task(write(number)) for number in range(8)]
        await asyncio.sleep(0.5)
        await erasing.delete_with_data(instance.services.database, "ada")
        await asyncio.gather(*writers)

    instance.loop.run(run())
    assert len(refused) == 8
    assert contents(instance) == before


def test_the_data_of_a_deleted_account_is_reached_by_its_owner(instance: Instance, command: Command) -> None:
    account = instance.account("ada")
    call = instance.by_owner(account.owner)
    call("store", entities=ITEMS)
    result = command("account", "delete", "ada", "--yes")
    assert f"graphmem account create ada --owner {account.owner}" in " ".join(result.stderr.split())
    assert "--with-data" in result.stderr
    assert account.owner in answer(command("account", "list", "--json"))["owners_without_account"]
    assert account.owner in command("account", "list").stderr
    again = answer(command("account", "create", "eve", "--owner", account.owner, "--json"))
    assert again["owner"] == account.owner
    assert account.owner not in answer(command("account", "list", "--json"))["owners_without_account"]
    assert (
        refusal(command("--json", "account", "create", "x", "--owner", account.owner)) == "ACCOUNT_CONFLICT"
    )
    local = "00000000-0000-0000-0000-000000000000"
    assert refusal(command("--json", "account", "create", "x", "--owner", local)) == "ACCOUNT_CONFLICT"
    assert refusal(command("--json", "account", "create", "x", "--owner", "nobody")) == "RESOURCE_NOT_FOUND"
    assert answer(command("--account", "eve", "--json", "stats"))["total_entities"] == 40
    assert answer(command("account", "delete", "eve", "--with-data", "--yes", "--json"))["entities"] == 40
    assert call("server.stats")["total_entities"] == 0


def test_a_backup_has_no_owner_that_is_being_erased_and_restores_the_others(
    instance: Instance, tmp_path: Path
) -> None:
    account, kept = instance.account("ada"), instance.account("kept")
    for each in (account, kept):
        instance.by_owner(each.owner)("store", entities=ITEMS, relationships=LINKS)
    database, writers = instance.services.database, instance.services.writers
    full = tmp_path / "full.dump"
    instance.loop.run(dump.create(database, full, objects=None))
    instance.loop.run(instance.accounts.close("ada"))
    instance.loop.run(database.write("owner.close", account.owner, erased_at=1))
    made = instance.loop.run(dump.create(database, tmp_path / "without.dump", objects=None))
    owners = {contents.owner for contents in made.owners}
    assert kept.owner in owners
    assert account.owner not in owners
    with pytest.raises(DumpRefused):
        instance.loop.run(dump.create(database, tmp_path / "x.dump", [account.owner], objects=None))
    erase(instance, account)
    before = state_hash(instance.by_owner(kept.owner))
    restored = instance.loop.run(
        dump.restore(database, instance.services.vocabulary, writers, full, objects=instance.services.objects)
    )
    assert (restored.conflict_count, restored.observations, restored.accounts) == (0, 79, 1)
    assert state_hash(instance.by_owner(kept.owner)) == before
    call = instance.by_owner(account.owner)
    assert call("server.stats")["total_entities"] == 40
    assert call("server.check_snapshots")["healthy"]
    again = instance.loop.run(instance.accounts.by_name("ada"))
    assert (again.id, again.owner) == (account.id, account.owner)
    erase(instance, again)


def test_a_backup_during_which_an_owner_is_erased_fails(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    account = instance.account("ada")
    instance.by_owner(account.owner)("store", entities=ITEMS)
    real, erased = Database.read, list[int]()

    async def erase_first(self: Database, name: str, owner: str | None, /, *rest: Any, **params: Any) -> Any:
        if name == "dump.page" and owner == account.owner and not erased:
            erased.append(1)
            await erasing.delete_with_data(self, "ada")
        return await real(self, name, owner, *rest, **params)

    monkeypatch.setattr(Database, "read", erase_first)
    with pytest.raises(DumpRefused):
        instance.loop.run(
            dump.create(instance.services.database, tmp_path / "x.dump", [account.owner], objects=None)
        )


def test_a_batch_that_is_too_much_for_the_database_is_made_smaller(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(instance)
    account = instance.account("ada")
    store_some(instance.by_owner(account.owner))
    real, limits = Database._run, list[int]()

    async def full(self: Database, name: str, text: Any, timeout: float, params: dict[str, Any]) -> Any:
        if name == "owner.erase_entities":
            limits.append(params["args"]["limit"])
            if limits[-1] > 100:
                raise DatabaseFull
        return await real(self, name, text, timeout, params)

    monkeypatch.setattr(Database, "_run", full)
    erase(instance, account)
    assert limits[0] > 100 > limits[-1] > 0
    assert contents(instance) == before


def test_a_process_that_remembers_a_key_reads_everything_or_is_refused(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = instance.account("ada")
    key = instance.key(account)
    instance.by_owner(account.owner)("store", entities=ITEMS)
    application, real, read = instance.application(), Database._run, list[Any]()

    async def read_once() -> None:
        answer = await application._send("GET", "/stats", headers={"Authorization": f"Bearer {key}"})
        read.append(answer.json().get("total_entities", answer.status_code))

    async def run_and_read(
        self: Database, name: str, text: Any, timeout: float, params: dict[str, Any]
    ) -> Any:
        answer = await real(self, name, text, timeout, params)
        if name in ("account.close", "owner.close") or name.startswith("owner.erase"):
            await read_once()
        return answer

    async def run() -> None:
        await read_once()
        monkeypatch.setattr(Database, "_run", run_and_read)
        await erasing.delete_with_data(instance.services.database, "ada")

    instance.loop.run(run())
    assert read[0] == 40
    assert set(read) == {40, 401}
    # Before the first statement that erases, the process has forgotten the key.
    assert len(read) > 4
    assert set(read[3:]) == {401}


def test_doctor_names_an_account_whose_deletion_was_interrupted(instance: Instance) -> None:
    account = instance.account("ada")
    instance.loop.run(instance.accounts.close("ada"))
    settings = instance.services.settings
    findings = instance.loop.run(doctor_of_database._access(instance.services.database, settings))
    assert [item.status for item in findings][1:] == ["warn"]
    assert "graphmem account delete ada --with-data" in findings[1].fix
    erase(instance, account)
    assert len(instance.loop.run(doctor_of_database._access(instance.services.database, settings))) == 1
