"""A dump restored where nothing is gives everything back: the same answers, the same hash, the same bytes."""

from __future__ import annotations

import base64
import random
import stat
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.dump import CreateResult, RestoreResult, container
from graphmem.errors import DumpDamaged, DumpRefused, IdempotencyMismatch
from graphmem.model import canonical
from graphmem.model.fact_records import Record, SchemaRecord
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
from tests.support.object_places import listing

pytestmark = pytest.mark.timeout(500)
"""The first test that looks at the round trip makes it."""
FACTS = {
    "Observation": (
        {"owner", "size", "entity_id", "relationship_key", "excluded", "moved_to", "moved_by"},
        {"id", "kind", "entity_type", "identity_basis", "observed_at", "recorded_at", "fields", "values",
         "priority", "specificity", "observation_source", "agent", "source_id", "interpretation_id",
         "places"},
    ),
    "Interpretation": (
        {"owner", "config_hash", "status", "recorded_at"},
        {"id", "source_id", "interpreter", "version", "config", "run", "model", "parser", "created_at",
         "started_at", "warnings", "observations", "entities", "relationships"},
    ),
    "Exclusion": ({"owner", "recorded_at"}, {"id", "kind", "subject_kind", "subject", "reason"}),
    "Dismissal": ({"owner", "recorded_at"}, {"id", "kind", "entity_a", "entity_b", "reason"}),
    "Split": (
        {"owner", "recorded_at", "excluded"},
        {"id", "source", "target", "observations", "subjects", "reason"},
    ),
    "Source": ({"owner", "recorded_at", "excluded", "reader"}, {"id", "content_hash", "size", "mime_type"}),
    "Transaction": (
        {"owner", "sequence", "excluded"},
        {
            "id", "recorded_at", "operation", "client", "by", "idempotency_key", "request_hash", "answer",
            "expected",
        },
    ),
}  # fmt: skip
"""Of each kind of fact, what is derived and what a dump has: what is written and in neither would be lost."""


@dataclass
class RoundTrip:
    """What was seen while a rich state was dumped, lost and restored."""

    before: dict[str, Any]
    properties: dict[str, set[str]]
    first: CreateResult
    total_after_wipe: int
    damage: BaseException | None
    sequence_after_damage: int
    planned: RestoreResult
    sequence_after_plan: int
    restored: RestoreResult
    after: dict[str, Any]
    again: RestoreResult
    after_again: dict[str, Any]
    roots: tuple[str, str]
    is_healthy: bool


@pytest.fixture(scope="module")
def trip(loop: Loop, services: Services, tmp_path_factory: pytest.TempPathFactory) -> RoundTrip:
    """One rich state for the tests that look at its restore from different sides."""
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    dumps = Dumps(loop, services, owner, tmp_path_factory.mktemp("trip"))
    store_rich_example(run)
    properties = properties_of_facts(loop, services, owner)
    before, first = all_answers(run), dumps.create("first")
    dumps.wipe()
    total_after_wipe = run("server.stats")["total_entities"]
    damage = damage_of_restore(dumps, first)
    sequence_after_damage = run("server.stats")["sequence"]
    planned = dumps.restore(first, dry_run=True)
    sequence_after_plan = run("server.stats")["sequence"]
    restored, after = dumps.restore(first), all_answers(run)
    again, after_again = dumps.restore(first), all_answers(run)
    roots = dumps.root(first), dumps.root(dumps.create("second"))
    report = run("server.check_snapshots")
    return RoundTrip(
        before, properties, first, total_after_wipe, damage, sequence_after_damage, planned,
        sequence_after_plan, restored, after, again, after_again, roots, report["healthy"],
    )  # fmt: skip


def damage_of_restore(dumps: Dumps, made: CreateResult) -> BaseException | None:
    """Return what a restore of a damaged copy raises."""
    data = bytearray(made.path.read_bytes())
    data[-60] ^= 1
    damaged = made.path.with_name("damaged")
    damaged.write_bytes(data)
    try:
        dumps.restore(damaged)
    except DumpDamaged as exc:
        return exc
    return None


def test_everything_comes_back(trip: RoundTrip) -> None:
    assert trip.total_after_wipe == 0
    assert (trip.restored.conflict_count, trip.restored.audited_owners) == (0, [])
    for name, wanted in trip.before.items():
        assert trip.after[name] == wanted, name
    assert trip.roots[0] == trip.roots[1]
    assert trip.is_healthy


def test_idempotency_keys_are_replayed_after_a_restore(run: Call, dumps: Dumps) -> None:
    item = {"entity_type": "person", "name": "Ada"}
    first = run("store", entities=[item], idempotency_key="k")
    made = dumps.create()
    dumps.wipe()
    dumps.restore(made)
    again = run("store", entities=[item], idempotency_key="k")
    assert again["replayed"]
    assert again["transaction_id"] == first["transaction_id"]
    with pytest.raises(IdempotencyMismatch):
        run("store", entities=[{**item, "born": 1815}], idempotency_key="k")


def test_keys_of_files_stand_for_their_bytes_after_a_restore(run: Call, dumps: Dumps) -> None:
    first = run("store", file_content="YWJj", file_idempotency_key="f")
    made = dumps.create()
    dumps.wipe()
    dumps.restore(made)
    again = run("store", file_content="YWJj", file_idempotency_key="f")
    assert (again["source_id"], again["deduplicated"]) == (first["source_id"], True)
    with pytest.raises(IdempotencyMismatch):
        run("store", file_content="YWJk", file_idempotency_key="f")


def test_schema_with_keys_without_effect_of_an_earlier_version_comes_back_as_it_was(
    run: Call, dumps: Dumps
) -> None:
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": "string"}}})

    def earlier(record: Record) -> Record:
        if not isinstance(record, SchemaRecord):
            return record
        document = canonical.decode(record.document)
        document["fields"]["name"]["preserveCase"] = True
        text = canonical.encode({**document, "query_synonyms": {"vin": ["wine"]}})
        return record.model_copy(update={"document": text})

    forged = dumps.forge(dumps.create(), earlier)
    dumps.wipe()
    assert dumps.restore(forged).conflict_count == 0
    assert dumps.root(dumps.create("second")) == dumps.root(forged)
    read = run("schemas.get", entity_type="wine")
    assert read["query_synonyms"] == {"vin": ["wine"]}
    run("schemas.update", entity_type="wine", new_fields={"year": "number"})
    assert run("schemas.get", entity_type="wine")["query_synonyms"] == {"vin": ["wine"]}


def test_a_second_restore_adds_nothing(trip: RoundTrip) -> None:
    again = trip.again
    assert (again.transactions, again.observations, again.schemas, again.conflict_count) == (0, 0, 0, 0)
    assert again.known_observations == trip.first.owners[0].counts["observations"]
    assert trip.after_again == trip.after


def test_a_dry_run_writes_nothing(trip: RoundTrip) -> None:
    assert trip.sequence_after_plan == 0
    for name in ("owners", "transactions", "observations", "schemas", "conflict_count"):
        assert getattr(trip.planned, name) == getattr(trip.restored, name), name


def test_a_restore_that_was_broken_off_goes_on(
    run: Call, dumps: Dumps, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphmem.dump import batches

    monkeypatch.setattr(batches, "BATCH_TRANSACTIONS_LIMIT", 2 if LONG else 5)
    store_rich_example(run)
    before, made = all_answers(run), dumps.create()
    dumps.wipe()
    patience, restored = 0, False
    while not restored:
        patience += 1
        left = [patience]

        def broken_off(stage: str, done: int, total: int | None, left: list[int] = left) -> None:
            left[0] -= stage == "restore" and total is None
            if left[0] < 0:
                raise KeyError("killed")

        try:
            dumps.restore(made, broken_off)
            restored = True
        except KeyError:
            assert patience < 30
    assert patience > 3
    assert all_answers(run) == before
    assert dumps.root(dumps.create("after")) == dumps.root(made)


def test_large_values_are_dumped_and_restored(run: Call, dumps: Dumps) -> None:
    for number in range(4):
        run("store", entities=[{"entity_type": "note", "name": str(number), "text": f"{number}" * 3_000_000}])
    made = dumps.create()
    assert len(made.manifest.chunks) >= 4
    before = run("server.stats")
    dumps.wipe()
    assert dumps.restore(made).observations == 4
    assert run("server.stats") == before


def test_several_owners_are_dumped_in_order(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str
) -> None:
    names = sorted([owner, f"{owner}-x", f"0-{owner}"])
    for name in reversed(names):
        by_runner(loop, services, name)("store", entities=[{"entity_type": "person", "name": name}])
    made = dumps.create("several", *reversed(names))
    assert [entry.owner for entry in made.owners] == names
    assert dumps.root(made) == dumps.root(dumps.create("again", *names))
    assert dumps.restore(made).owners == 3


def test_a_dump_of_an_owner_without_data_is_refused(dumps: Dumps) -> None:
    with pytest.raises(DumpRefused, match="has stored nothing"):
        dumps.create("dump", "nobody-at-all")
    assert not list(dumps.folder.iterdir())


def test_a_file_is_its_owners_alone_and_is_not_replaced_unasked(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str
) -> None:
    from graphmem import dump

    run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    made = dumps.create()
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert made.size == made.path.stat().st_size
    with pytest.raises(DumpRefused, match="--force"):
        loop.run(dump.create(services.database, made.path, [owner], objects=None))
    with pytest.raises(DumpRefused, match="cannot be written"):
        loop.run(dump.create(services.database, dumps.folder / "nowhere" / "x", [owner], objects=None))
    assert [path.name for path in dumps.folder.iterdir()] == ["dump"]


def test_a_damaged_dump_restores_nothing(trip: RoundTrip) -> None:
    assert trip.damage is not None
    assert trip.sequence_after_damage == 0


DAMAGES = 100 if LONG else 10


def test_a_damaged_dump_changes_nothing_of_a_living_instance(run: Call, dumps: Dumps) -> None:
    ada = {"entity_type": "person", "name": "Ada Lovelace"}
    run("store", entities=[ada], file_content=base64.b64encode(bytes(range(256)) * 400).decode())
    made = dumps.create("whole")
    dumps.wipe()
    run("store", entities=[{**ada, "born": 1815}], file_content="QQ==")
    objects = dumps.loop.run(listing(dumps.services.objects, dumps.owner))
    before, dice, data = all_answers(run), random.Random(2), made.path.read_bytes()
    for number in range(DAMAGES):
        place = dice.randrange(len(data))
        damaged = made.path.with_name("damaged")
        other = bytes([data[place] ^ dice.randrange(1, 256)])
        rest = (other + data[place + 1 :], b"", data[place + 1 :], other + data[place:])[number % 4]
        damaged.write_bytes(data[:place] + rest)
        with pytest.raises((DumpDamaged, DumpRefused)):
            dumps.restore(damaged)
    assert all_answers(run) == before
    assert dumps.loop.run(listing(dumps.services.objects, dumps.owner)) == objects
    assert dumps.restore(made).transactions == 1
    assert run("server.check_snapshots")["healthy"]


def properties_of_facts(loop: Loop, services: Services, owner: str) -> dict[str, set[str]]:
    """Return the properties that the facts of an owner have, by label."""
    found: dict[str, set[str]] = {}
    for label in FACTS:
        query: Any = (
            f"MATCH (n:{label}) WHERE n.owner = $o UNWIND keys(n) AS k RETURN collect(DISTINCT k) AS k"
        )
        (row,) = loop.run(services.database.script(query, o=owner))
        found[label] = set(row["k"])
    return found


def test_every_property_of_a_fact_is_in_the_dump(trip: RoundTrip) -> None:
    assert trip.properties == {label: derived | dumped for label, (derived, dumped) in FACTS.items()}


def test_a_dump_during_writes_is_of_one_moment(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clients write on while the dump is made, page by page; it is what was known at its moment."""
    import asyncio

    from graphmem import dump
    from graphmem.dump import creating
    from graphmem.registry import REGISTRY
    from tests.support.actors import full_actor

    monkeypatch.setattr(creating, "PAGE_TRANSACTIONS", 3)
    path, begun, stop = dumps.folder / "moving", asyncio.Event(), asyncio.Event()

    async def write(name: str) -> int:
        number = 0
        while not stop.is_set():
            number += 1
            items = [{"entity_type": "person", "name": f"n{number % 7}", name: number}]
            await REGISTRY["store"].run(services, full_actor(owner), {"entities": items})
            if number == 5:
                begun.set()
        return number

    async def both() -> Any:
        clients = [asyncio.create_task(write(name)) for name in ("a", "b")]
        await asyncio.wait_for(begun.wait(), 60)
        try:
            made = await dump.create(services.database, path, [owner], objects=services.objects)
        finally:
            stop.set()
        return made, sum(await asyncio.gather(*clients))

    made, written = loop.run(both())
    assert made.owners[0].counts["transactions"] < written
    then = container.times.render(made.owners[0].recorded_at)
    page = run("entities.query")["entities"]
    wanted = {
        entity["entity_id"]: run("entities.snapshot", entity_id=entity["entity_id"], at_ingested=then)
        for entity in page
    }
    dumps.wipe()
    dumps.restore(made)
    assert run("server.stats")["sequence"] == made.owners[0].counts["transactions"]
    for entity_id, snapshot in wanted.items():
        if not snapshot["observation_count"]:
            continue
        answer = run("entities.snapshot", entity_id=entity_id)
        for name in ("snapshot", "provenance", "version", "observation_count"):
            assert answer[name] == snapshot[name]
