"""Two processes on one owner, and readers beside writers: nothing is lost, nobody sees half a write."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, LiteralString

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.database import relationship_vocabulary
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from graphmem.settings import Settings
from graphmem.writing import TurnLimits, Writers
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faulty_database import faulty_services, lost
from tests.support.rule_merging import Audited

ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}


async def ask(where: Services, owner: str, name: str, **arguments: Any) -> dict[str, Any]:
    return canonical.decode(await REGISTRY[name].run(where, full_actor(owner), arguments))


@pytest.fixture
def second(loop: Loop, settings: Settings) -> Iterator[Services]:
    """The services of another process."""
    opened = open_services(settings)
    yield loop.run(opened.__aenter__())
    loop.run(opened.__aexit__(None, None, None))


def locks(services: Services) -> float:
    """Return how many turns of some services took the lock of their owner."""
    name = "graphmem_database_statement_seconds_count"
    return services.metrics.registry.get_sample_value(name, {"query": "owner.lock"}) or 0


def test_two_processes_on_one_owner_lose_nothing(
    loop: Loop, services: Services, second: Services, owner: str
) -> None:
    # Small turns, so that the two meet often.
    limits = TurnLimits(requests=4)
    services, second = (
        replace(each, writers=Writers(each.database, each.settings, each.embedder, limits))
        for each in (services, second)
    )

    async def both() -> list[dict[str, Any]]:
        items = [{"entity_type": "thing", "name": f"n{i % 5}", f"f{i}": i} for i in range(200)]
        where = (services, second)
        stores = (ask(where[i % 2], owner, "store", entities=[item]) for i, item in enumerate(items))
        return await asyncio.gather(*stores)

    answers = loop.run(both())
    assert len({answer["recorded_at"] for answer in answers}) == 200
    query = "MATCH (t:Transaction) WHERE t.owner = $o RETURN t.sequence AS n ORDER BY n"
    assert [row["n"] for row in loop.run(services.database.script(query, o=owner))] == list(range(1, 201))
    page = loop.run(ask(services, owner, "entities.query"))
    fields = {name for entity in page["entities"] for name in entity["snapshot"]} - {"name"}
    assert fields == {f"f{i}" for i in range(200)}
    assert [entity["version"] for entity in page["entities"]] == [40] * 5


def test_two_processes_merge_by_rule_what_one_process_merges(
    loop: Loop, services: Services, second: Services, audited: Audited, owner: str
) -> None:
    limits = TurnLimits(requests=3)
    both = [
        replace(each, writers=Writers(each.database, each.settings, each.embedder, limits))
        for each in (services, second)
    ]
    names = ("Ada Lovelace", "Lovelace, Ada", "Tom King", "Tom Kign", "Mary Shelley", "Robert Miller")
    items = [{"entity_type": "person", "name": names[i % 6], "note": i} for i in range(12)]
    items += [{**items[i % 6], "email": f"{(0, 0, 1, 1, 2, 3)[i % 6]}@example.org"} for i in range(24)]

    async def stored(owner: str, *where: Services) -> list[str]:
        """Store all items at once, each in a process in turn; return what each leads to in the end."""
        stores = (
            ask(where[i % len(where)], owner, "store", entities=[item], find_duplicates=False)
            for i, item in enumerate(items)
        )
        answers = [answer["entities"][0] for answer in await asyncio.gather(*stores)]
        homes = [each.get("home_entity_id", each["entity_id"]) for each in answers]
        shown = [await ask(services, owner, "entities.get", entity_id=home) for home in homes]
        return [each["entity_id"] for each in shown]

    alone, shared = loop.run(stored(str(uuid.uuid4()), services)), loop.run(stored(owner, *both))
    groups = [[ids.index(entity_id) for entity_id in ids] for ids in (alone, shared)]
    assert groups[0] == groups[1]
    assert len(set(groups[0])) < len({(item["name"], item.get("email")) for item in items})
    assert audited(True) == {}


@pytest.mark.parametrize("form", ["write.look", "write.look[plain]"])
def test_the_sequence_is_read_before_what_is_decided_on(loop: Loop, services: Services, form: str) -> None:
    """A sequence that is read after the entities may be that of a commit that they do not show.

    The turn would then undo that commit.
    """
    plan = loop.run(_plan(services, cypher.query(form).text))
    # Operators run from the leaves up, and of two branches the left one first.
    late = [details for details in _ancestors(plan, "entity:Entity") if "owner.sequence" in details]
    assert not late


@pytest.mark.parametrize("replayed", [True, False])
def test_a_commit_that_is_seen_in_part_is_not_built_on(
    loop: Loop,
    services: Services,
    second: Services,
    owner: str,
    replayed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader may see the owner's revision of another process's commit before an index finds its nodes."""
    looks: list[list[dict[str, Any]]] = []
    real = second.database.read

    async def read(name: str, *args: Any, **params: Any) -> list[dict[str, Any]]:
        rows = await real(name, *args, **params)
        if not name.startswith("write.look"):
            return rows
        looks.append(rows)
        # The first look, before the commit, is what the second one sees beside the new revision.
        return rows if len(looks) != 2 else [{**looks[0][0], "owner": rows[0]["owner"]}]

    def ada(**fields: Any) -> dict[str, Any]:
        return {"entities": [{"entity_type": "person", "name": "Ada", **fields}]}

    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        await ask(second, owner, "store", entities=[{"entity_type": "person", "name": "Mary"}])
        monkeypatch.setattr(second.database, "read", read)
        await ask(second, owner, "store", **ada(born=1815), idempotency_key="k", commit=False)
        answer = await ask(services, owner, "store", **ada(born=1815), idempotency_key="k")
        more: dict[str, Any] = {"born": 1815, "idempotency_key": "k"} if replayed else {"died": 1852}
        key = more.pop("idempotency_key", None)
        again = await ask(second, owner, "store", **ada(**more), idempotency_key=key)
        assert again["replayed"] == replayed
        assert (again["transaction_id"] == answer["transaction_id"]) == replayed
        (first,) = answer["entities"]
        return more, await ask(services, owner, "entities.get", entity_id=first["entity_id"])

    more, entity = loop.run(both())
    assert entity["snapshot"] == {"name": "Ada", "born": 1815, **more}
    assert entity["version"] == entity["observation_count"] == (1 if replayed else 2)
    assert loop.run(ask(services, owner, "server.check_snapshots"))["healthy"]


def test_the_revision_of_an_own_write_is_built_on_without_the_lock(
    loop: Loop, services: Services, second: Services, owner: str
) -> None:
    def locks_of_a_store(where: Services) -> float:
        before = locks(where)
        loop.run(ask(where, owner, "store", entities=[ADA]))
        return locks(where) - before

    assert [locks_of_a_store(services) for _ in range(3)] == [0, 0, 0]
    assert [locks_of_a_store(second) for _ in range(3)] == [1, 0, 0]
    assert locks_of_a_store(services) == 1


def _ancestors(tree: list[Any], mark: str) -> list[str]:
    """Return the details of the operators that come after one whose details hold ``mark``."""
    details, *children = tree
    for child in children:
        ancestors = _ancestors(child, mark)
        if ancestors or mark in child[0]:
            return [*ancestors, details]
    return []


async def _plan(services: Services, text: LiteralString) -> list[Any]:
    async with services.database._driver.session() as session:
        names = ("keys", "transactions", "entities", "observations", "relationships", "types")
        none: dict[str, Any] = {name: [] for name in names}
        result = await session.run("EXPLAIN " + text, {"owner": "", "args": none, **none})
        summary = await result.consume()
    return _tree(summary.plan)


def _tree(plan: Any) -> list[Any]:
    return [plan["args"].get("Details", ""), *(_tree(child) for child in plan.get("children", []))]


def test_a_turn_that_lost_twice_takes_the_lock(loop: Loop, services: Services, owner: str) -> None:
    losses = TurnLimits().losses_before_lock
    with faulty_services(loop, services) as (faulty, database):
        database.faults = [lost] * losses
        answer = loop.run(ask(faulty, owner, "store", entities=[ADA]))
        assert (len(database.turns), locks(faulty)) == (losses + 1, 1)
    assert answer["entities_created"] == 1


def test_a_reader_never_sees_half_of_a_write(loop: Loop, services: Services, owner: str) -> None:
    """The values of an answer and the observations behind them are of one version; no read fails."""
    target = {"entity_type": "thing", "name": "t"}
    filling = "x" * 300

    async def race() -> tuple[dict[int, tuple[int, str]], list[dict[str, Any]]]:
        written: dict[int, tuple[int, str]] = {}
        seen: list[dict[str, Any]] = []
        done = asyncio.Event()
        (first,) = (await ask(services, owner, "store", entities=[target]))["entities"]

        async def read() -> None:
            while not done.is_set():
                seen.append(await ask(services, owner, "entities.get", entity_id=first["entity_id"]))

        readers = [asyncio.create_task(read()) for _ in range(6 if LONG else 3)]
        for i in range(120 if LONG else 40):
            fields = {f"f{j}": f"{i}:{filling}" for j in range(20)} | {f"g{999 - i}": f"{i}:"}
            (item,) = (await ask(services, owner, "store", entities=[{**target, **fields}]))["entities"]
            written[item["version"]] = (i, item["observation_id"])
        done.set()
        await asyncio.gather(*readers)
        return written, seen

    written, seen = loop.run(race())
    for answer in (answer for answer in seen if answer["version"] > 1):
        i, observation_id = written[answer["version"]]
        assert {answer["snapshot"][f"f{j}"] for j in range(20)} == {f"{i}:{filling}"}
        assert {answer["provenance"][f"f{j}"] for j in range(20)} == {observation_id}
        assert len(answer["snapshot"]) == 21 + answer["version"] - 1


@pytest.fixture
def new_type(loop: Loop, services: Services) -> Iterator[str]:
    """A relationship type that nobody registered yet; gone after the test."""
    name = f"T{uuid.uuid4().hex.upper()}"
    yield name
    loop.run(services.database.script("MATCH (n:RelationshipType) WHERE n.name = $n DELETE n", n=name))


def test_a_type_registered_by_one_process_is_used_by_the_other_at_once(
    loop: Loop, services: Services, second: Services, owner: str, new_type: str
) -> None:
    pair = [{"entity_type": "person", "name": name} for name in ("Ada", "Mary")]
    relation = {"relationship_type": new_type, "source_index": 0, "target_index": 1}

    async def both() -> None:
        # Each has just read the vocabulary, and would not look again by itself for some seconds.
        for where in (services, second):
            await where.vocabulary.refresh()
        await ask(services, owner, "relationship_types.register", relationship_type=new_type)
        answer = await ask(second, owner, "store", entities=pair, relationships=[relation])
        (made,) = answer["relationships_created"]
        assert made["relationship_type"] == new_type

    loop.run(both())


@pytest.mark.parametrize("way", ["all", "one", "listed", "deleted"])
def test_what_one_process_wrote_with_a_new_type_the_other_finds_at_once(
    loop: Loop,
    services: Services,
    second: Services,
    owner: str,
    new_type: str,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The other process does not read the types again by itself before it is asked.
    monkeypatch.setattr(relationship_vocabulary, "REMEMBERED_SECONDS", 600.0)
    pair = [{"entity_type": "person", "name": name} for name in ("Ada", "Mary")]
    relation = {"relationship_type": new_type, "source_index": 0, "target_index": 1}

    async def both() -> None:
        await second.vocabulary.refresh()
        await ask(services, owner, "relationship_types.register", relationship_type=new_type)
        answer = await ask(services, owner, "store", entities=pair, relationships=[relation])
        ada = answer["entities"][0]["entity_id"]
        (key,) = (relationship["relationship_key"] for relationship in answer["relationships_created"])
        assert new_type not in (await second.vocabulary.current()).names
        if way == "listed":
            page = await ask(second, owner, "relationships.list", relationship_type=new_type)
        elif way == "deleted":
            await ask(second, owner, "relationships.delete", relationship_key=key)
            page = await ask(services, owner, "entities.related", entity_id=ada)
            assert page["relationships"] == []
            return
        else:
            types = {"relationship_types": [new_type]} if way == "one" else {}
            page = await ask(second, owner, "entities.related", entity_id=ada, **types)
        assert [relationship["relationship_key"] for relationship in page["relationships"]] == [key]

    loop.run(both())


def test_two_processes_register_at_the_same_time(
    loop: Loop, services: Services, second: Services, owner: str, new_type: str
) -> None:
    async def both() -> list[dict[str, Any]]:
        where = (services, second)
        requests = [{"relationship_type": new_type, "description": "x"}] * 10
        calls = (
            ask(where[i % 2], owner, "relationship_types.register", **request)
            for i, request in enumerate(requests)
        )
        return await asyncio.gather(*calls)

    answers = loop.run(both())
    assert sorted(answer["created"] for answer in answers) == [False] * 9 + [True]


def test_a_type_whose_revision_is_seen_before_it_is_not_registered_twice(
    loop: Loop,
    services: Services,
    second: Services,
    owner: str,
    new_type: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register, request = "relationship_types.register", {"relationship_type": new_type}
    assert loop.run(ask(services, owner, register, **request))["created"]
    vocabulary = second.vocabulary
    whole, reads = loop.run(vocabulary.refresh()), list[relationship_vocabulary.Known]()

    async def refresh() -> relationship_vocabulary.Known:
        # The index lacks the type of the newest revision at the first read.
        kinds = {name: kind for name, kind in whole.kinds.items() if name != new_type}
        reads.append(whole if reads else replace(whole, kinds=kinds))
        return reads[-1]

    monkeypatch.setattr(vocabulary, "refresh", refresh)
    assert not loop.run(ask(second, owner, register, **request))["created"]
    assert len(reads) == 2


def test_two_processes_part_people_of_one_address_as_one_does(
    loop: Loop, services: Services, second: Services, audited: Audited, owner: str
) -> None:
    names = ("Ann Berg", "Bo Berg", "A. Berg", "Axel Berg", "Carl Berg", "Ann Dahl")
    # A person with two names is called by the newest: the dates say which, not the order of arrival.
    items = [
        {"entity_type": "person", "name": names[i % 6], "email": "post@berg.example"}
        | {"observed_at": f"2026-01-{i + 1:02}T00:00:00Z"}
        for i in range(18)
    ]

    async def people(owner: str, *where: Services) -> set[str]:
        """Store all items at once, each in a process in turn; return the names of the people."""
        stores = (
            ask(where[i % len(where)], owner, "store", entities=[item], find_duplicates=False)
            for i, item in enumerate(items)
        )
        await asyncio.gather(*stores)
        page = await ask(services, owner, "entities.query")
        return {each["canonical_name"] for each in page["entities"]}

    both = loop.run(people(owner, services, second))
    assert both == loop.run(people(str(uuid.uuid4()), services))
    assert audited(True) == {}
