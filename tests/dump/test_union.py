"""A dump restored into what holds something gives the union of both; what contradicts is told."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import pytest

from graphmem.context import Services
from graphmem.dump import restoring
from graphmem.dump.records import Owner, RelationshipTypeRecord
from graphmem.model.fact_records import Record, TransactionRecord
from graphmem.model.identity import identity_value
from graphmem.model.ids import entity_id, transaction_id
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
from tests.support.long_cases import mostly_long

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
BYRON = {"entity_type": "person", "name": "Ada Byron"}
DELETE_RELATIONSHIP_TYPE: LiteralString = (
    "MATCH (gate:RelationshipType {name: ''}) SET gate.revision = gate.revision + 1 "
    "WITH gate MATCH (t:RelationshipType {name: $name}) DELETE t"
)


def other(call: Call) -> None:
    """Another history, of some of the same entities: it merges the other way round."""
    stored = call("store", entities=[
        {**ADA, "born": 1814}, {**BYRON, "title": "Lady"},
        {"entity_type": "company", "name": "Royal Society"},
        {"entity_type": "wine", "name": "Ridge", "hidden": 1},
    ], relationships=[{"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 2}])  # fmt: skip
    ada, byron = (entity["entity_id"] for entity in stored["entities"][:2])
    call("entities.merge", source_entity_id=ada, target_entity_id=byron)
    call("store", entities=[{"target_id": ada, "died": 1852}])


def test_the_union_of_two_histories_is_the_same_in_either_order(run: Call, dumps: Dumps) -> None:
    store_rich_example(run)
    rich_dump = dumps.create("one")
    dumps.wipe()
    other(run)
    other_dump = dumps.create("two")
    restored = dumps.restore(rich_dump)
    assert restored.conflict_count == 0
    assert restored.audited_owners == [dumps.owner]
    assert run("server.check_snapshots")["healthy"]
    first, answers = dumps.create("first"), all_answers(run)
    dumps.wipe()
    dumps.restore(rich_dump)
    dumps.restore(other_dump)
    assert run("server.check_snapshots")["healthy"]
    second = dumps.create("second")
    assert dumps.root(second) == dumps.root(first)
    if dumps.services.keys is None:
        assert first.path.read_bytes()[200:] == second.path.read_bytes()[200:]
    again = all_answers(run)
    for name, wanted in answers.items():
        # When a schema was changed last, and how often merges changed what a relationship shows, are counted.
        if not name.startswith(("schema", "relationships", "related")):
            assert again[name] == wanted, name
    for relationship, wanted in zip(
        again["relationships"]["relationships"], answers["relationships"]["relationships"], strict=True
    ):
        assert {**relationship, "version": 0} == {**wanted, "version": 0}
    dumps.wipe()
    dumps.restore(first)
    assert dumps.root(dumps.create("third")) == dumps.root(first)
    assert run("server.stats")["state_hash"] == answers["stats"]["state_hash"]


def test_a_merge_that_would_close_a_circle_has_no_effect(run: Call, dumps: Dumps) -> None:
    stored = run("store", entities=[ADA, BYRON], observed_at="2020-01-01T00:00:00Z")
    ada, byron = (entity["entity_id"] for entity in stored["entities"])
    run("entities.merge", source_entity_id=byron, target_entity_id=ada)
    first_dump = dumps.create("one")
    dumps.wipe()
    run("store", entities=[ADA, BYRON], observed_at="2020-01-01T00:00:00Z")
    run("entities.merge", source_entity_id=ada, target_entity_id=byron)
    dumps.restore(first_dump)
    # The older merge holds.
    entity = run("entities.get", entity_id=byron)
    assert entity["entity_id"] == ada
    assert run("server.check_snapshots")["healthy"]
    run("entities.unmerge", source_entity_id=byron)
    assert run("entities.get", entity_id=byron)["entity_id"] == byron


def test_a_circle_of_merges_through_others_is_not_closed(run: Call, dumps: Dumps) -> None:
    people = [ADA, BYRON, {"entity_type": "person", "name": "Countess of Lovelace"}]
    stored = run("store", entities=people, observed_at="2020-01-01T00:00:00Z")
    ada, byron, countess = (entity["entity_id"] for entity in stored["entities"])
    run("entities.merge", source_entity_id=countess, target_entity_id=ada)
    run("entities.merge", source_entity_id=ada, target_entity_id=byron)
    first_dump = dumps.create("one")
    dumps.wipe()
    run("store", entities=people, observed_at="2020-01-01T00:00:00Z")
    run("entities.merge", source_entity_id=ada, target_entity_id=countess)
    dumps.restore(first_dump)
    assert {
        run("entities.get", entity_id=entity_id)["entity_id"] for entity_id in (ada, byron, countess)
    } == {byron}
    assert run("server.check_snapshots")["healthy"]


def test_an_observation_that_both_stored_is_no_conflict(run: Call, dumps: Dumps) -> None:
    item = {**ADA, "observed_at": "2020-01-01T00:00:00Z"}
    run("store", entities=[item])
    made = dumps.create()
    dumps.wipe()
    run("store", entities=[item])
    restored = dumps.restore(made)
    assert (restored.transactions, restored.observations, restored.known_observations) == (1, 0, 1)
    assert restored.conflict_count == 0
    assert run("server.stats")["total_observations"] == 1


def test_an_observation_with_other_content_is_a_conflict(
    run: Call, dumps: Dumps, loop: Loop, services: Services
) -> None:
    stored = run("store", entities=[ADA, BYRON])
    observation = stored["entities"][0]["observation_id"]
    made = dumps.create()
    change = "MATCH (o:Observation {id: $id}) SET o.priority = 5.0"
    loop.run(services.database.script(change, id=observation))
    restored = dumps.restore(made)
    (conflict,) = restored.conflicts
    assert (conflict.kind, conflict.id) == ("observation", observation)
    assert (conflict.stored, conflict.dumped) == ({"priority": 5.0}, {"priority": 100.0})
    page = run("observations.query", limit=10)["observations"]
    assert {row["id"]: row["source_priority"] for row in page}[observation] == 5.0


def test_a_transaction_with_other_content_is_a_conflict(
    run: Call, dumps: Dumps, loop: Loop, services: Services
) -> None:
    stored = run("store", entities=[ADA])
    made = dumps.create()
    change = "MATCH (t:Transaction {id: $id}) SET t.client = 'somebody'"
    loop.run(services.database.script(change, id=stored["transaction_id"]))
    (conflict,) = dumps.restore(made).conflicts
    assert (conflict.kind, conflict.stored, conflict.dumped) == (
        "transaction", {"client": "somebody"}, {"client": "test"},
    )  # fmt: skip


def test_an_idempotency_key_stays_with_its_first_request(run: Call, dumps: Dumps) -> None:
    run("store", entities=[ADA], idempotency_key="k")
    made = dumps.create("one")
    dumps.wipe()
    run("store", entities=[BYRON], idempotency_key="k")
    later = dumps.create("two")
    first = made_transaction(dumps, made)
    roots = set[str]()
    for united in (made,), (later, made), (made, later):
        if len(united) == 2:
            dumps.wipe()
        conflicts = [conflict for each in united for conflict in dumps.restore(each).conflicts]
        assert [conflict.id for conflict in conflicts] == ["k"]
        assert dumps.restore(made).conflicts == dumps.restore(later).conflicts == []
        assert run("server.stats")["total_entities"] == 2
        assert run("store", entities=[ADA], idempotency_key="k")["transaction_id"] == first
        roots.add(dumps.root(dumps.create("union")))
    assert len(roots) == 1


def made_transaction(dumps: Dumps, made: Any) -> str:
    return next(record.id for record in dumps.records(made) if isinstance(record, TransactionRecord))


def test_a_schema_version_with_another_document_is_a_conflict(run: Call, dumps: Dumps) -> None:
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": "string"}}})
    made = dumps.create()
    dumps.wipe()
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": "number"}}})
    later = dumps.create("later")
    (conflict,) = dumps.restore(made).conflicts
    assert (conflict.kind, conflict.id) == ("schema", "wine 1.0")
    # The one that was registered first counts, whichever comes first.
    assert run("schemas.get", entity_type="wine")["fields"]["name"]["type"] == "string"
    union = dumps.create("union")
    dumps.wipe()
    dumps.restore(made)
    (conflict,) = dumps.restore(later).conflicts
    assert (conflict.kind, conflict.id) == ("schema", "wine 1.0")
    assert run("schemas.get", entity_type="wine")["fields"]["name"]["type"] == "string"
    assert dumps.root(dumps.create("other union")) == dumps.root(union)
    assert dumps.restore(later).conflicts == []


def test_the_greater_version_of_a_schema_counts(run: Call, dumps: Dumps) -> None:
    """And what was folded under the smaller one is folded again."""
    document = {"entity_type": "wine", "fields": {"name": {"type": "string"}, "year": {"type": "number"}}}
    run("schemas.register", schema=document, schema_version="2.0")
    made = dumps.create()
    dumps.wipe()
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": "string"}}})
    stored = run("store", entities=[{"entity_type": "wine", "name": "Ridge", "year": "1971"}])
    entity_id = stored["entities"][0]["entity_id"]
    assert run("entities.snapshot", entity_id=entity_id)["snapshot"] == {"name": "Ridge"}
    assert dumps.restore(made).conflict_count == 0
    assert run("entities.snapshot", entity_id=entity_id)["snapshot"] == {"name": "Ridge", "year": 1971}
    assert run("server.check_snapshots")["healthy"]


def test_another_name_of_types_means_the_one_that_had_it_first(run: Call, dumps: Dumps) -> None:
    fields = {"name": {"type": "string"}}
    run("schemas.register", schema={"entity_type": "wine", "fields": fields, "aliases": ["bottle"]})
    made = dumps.create("one")
    dumps.wipe()
    run("schemas.register", schema={"entity_type": "flask", "fields": fields, "aliases": ["bottle"]})
    later = dumps.create("two")
    for united in (made,), (made, later):
        if len(united) == 2:
            dumps.wipe()
        conflicts = [conflict for each in united for conflict in dumps.restore(each).conflicts]
        assert [(conflict.kind, conflict.id) for conflict in conflicts] == [("type_alias", "bottle")]
        dumps.services.type_aliases.forget(dumps.owner)
        stored = run("store", entities=[{"entity_type": "bottle", "name": "x"}])
        assert stored["entities"][0]["entity_type"] == "wine"


@pytest.mark.parametrize("dry_run", [True, False])
def test_another_name_that_is_a_type_here_is_told(run: Call, dumps: Dumps, dry_run: bool) -> None:
    run("schemas.register", schema={"entity_type": "wine", "fields": {}, "aliases": ["bottle"]})
    made = dumps.create()
    dumps.wipe()
    run("store", entities=[{"entity_type": "bottle", "name": "x"}])
    (conflict,) = dumps.restore(made, dry_run=dry_run).conflicts
    assert (conflict.kind, conflict.id) == ("type_alias", "bottle")
    assert "a type of its own" in conflict.message
    assert run("entities.query", entity_type="bottle")["entities"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_type_that_is_another_name_here_is_told(run: Call, dumps: Dumps, dry_run: bool) -> None:
    entity = run("store", entities=[{"entity_type": "bottle", "name": n} for n in "xy"])["entities"][0]
    made = dumps.create()
    dumps.wipe()
    run("schemas.register", schema={"entity_type": "wine", "fields": {}, "aliases": ["bottle"]})
    (conflict,) = dumps.restore(made, dry_run=dry_run).conflicts
    assert (conflict.kind, conflict.id) == ("entity_type", "bottle")
    if not dry_run:
        assert run("entities.get", entity_id=entity["entity_id"])["entity_type"] == "bottle"


def test_a_relationship_type_stays_what_it_is_here(run: Call, dumps: Dumps) -> None:
    named = "MENTORS_" + dumps.owner.replace("-", "").upper()[:20]
    run("relationship_types.register", relationship_type=named, description="first")
    link = {"relationship_type": named, "source_index": 0, "target_index": 1}
    run("store", entities=[ADA, BYRON], relationships=[link])
    made = dumps.create()
    assert made.relationship_types == 1
    run("relationship_types.register", relationship_type=named, description="second")
    (conflict,) = dumps.restore(made).conflicts
    assert (conflict.kind, conflict.id) == ("relationship_type", named)
    page = run("relationship_types.list", keyword=named)["relationship_types"]
    assert page[0]["description"] == "second"


def test_a_relationship_type_comes_back(run: Call, dumps: Dumps, loop: Loop, services: Services) -> None:
    named = "TEACHES_" + dumps.owner.replace("-", "").upper()[:20]
    run("relationship_types.register", relationship_type=named, inverse=f"{named}_X", description="d")
    link = {"relationship_type": named, "source_index": 0, "target_index": 1}
    run("store", entities=[ADA, BYRON], relationships=[link])
    made = dumps.create()
    dumps.wipe()
    loop.run(services.database.script(DELETE_RELATIONSHIP_TYPE, name=named))
    loop.run(services.vocabulary.refresh())
    planned = dumps.restore(made, dry_run=True)
    assert (planned.relationship_types, planned.conflict_count) == (1, 0)
    assert named not in loop.run(services.vocabulary.refresh()).names
    assert dumps.restore(made).relationship_types == 1
    assert run("server.stats")["relationships_by_type"] == {named: 1}
    assert dumps.root(dumps.create("again")) == dumps.root(made)


def test_a_relationship_whose_type_is_neither_here_nor_in_the_dump_has_an_own_type(
    run: Call, dumps: Dumps, loop: Loop, services: Services
) -> None:
    type_name = "PRAISES_" + dumps.owner.replace("-", "").upper()[:20]
    run("relationship_types.register", relationship_type=type_name)
    link = {"relationship_type": type_name, "source_index": 0, "target_index": 1}
    (ada, _) = (
        each["entity_id"] for each in run("store", entities=[ADA, BYRON], relationships=[link])["entities"]
    )
    made = dumps.create()
    dumps.wipe()
    loop.run(services.database.script(DELETE_RELATIONSHIP_TYPE, name=type_name))
    without = dumps.forge(made, lambda record: None if isinstance(record, RelationshipTypeRecord) else record)
    assert dumps.restore(without).conflicts == []
    (entry,) = run("relationship_types.list", keyword=type_name)["relationship_types"]
    assert (entry["origin"], entry["relationship_count"]) == ("own", 1)
    assert run("entities.related", entity_id=ada, relationship_types=[type_name])["total"] == 1
    again = dumps.create("again")
    assert (again.relationship_types, dumps.root(again)) == (0, dumps.root(dumps.create("third")))


def test_own_relationship_types_come_back_as_they_were(run: Call, dumps: Dumps) -> None:
    links = [
        {"relationship_type": name, "source_index": 0, "target_index": 1} for name in ("ADORES", "TEASES")
    ]
    run("store", entities=[ADA, BYRON], relationships=links)
    run("relationship_types.rename", relationship_type="TEASES", name="MOCKS")
    before, made = all_answers(run), dumps.create()
    assert made.relationship_types == 0
    dumps.wipe()
    assert dumps.restore(made).conflicts == []
    assert all_answers(run) == before
    assert len(run("relationships.list", filters={"relationship_type": "MOCKS"})["relationships"]) == 1
    assert dumps.root(dumps.create("again")) == dumps.root(made)


def test_a_relationship_of_an_entity_that_is_neither_here_nor_in_the_dump_is_left_out(
    run: Call, dumps: Dumps
) -> None:
    link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": 1}
    stored = run("store", entities=[ADA, BYRON], relationships=[link])["entities"]
    ada, byron = (entity["entity_id"] for entity in stored)
    made = dumps.create()
    dumps.wipe()
    without = dumps.forge(made, lambda record: None if getattr(record, "subject_id", "") == byron else record)
    (conflict,) = dumps.restore(without).conflicts
    assert f"the observation needs the entity {byron}, which the database lacks" in conflict.message
    assert run("entities.query")["entities"][0]["entity_id"] == ada
    assert dumps.restore(made).conflict_count == 0
    assert run("server.stats")["total_relationships"] == 1


def test_a_forged_dump_takes_nothing_from_another_owner(
    run: Call, dumps: Dumps, loop: Loop, services: Services
) -> None:
    stored = run("store", entities=[ADA])
    made, thief = dumps.create(), f"{dumps.owner}-thief"

    def change(record: Record, **more: str) -> Record:
        if isinstance(record, Owner):
            return Owner(id=thief)
        return record.model_copy(update=more) if isinstance(record, TransactionRecord) else record

    restored = dumps.restore(dumps.forge(made, change))
    assert [conflict.kind for conflict in restored.conflicts] == ["transaction"]
    restored = dumps.restore(dumps.forge(made, partial(change, id=transaction_id())))
    ((kind, message),) = [(conflict.kind, conflict.message) for conflict in restored.conflicts]
    assert (kind, "another owner has this id" in message) == ("observation", True)
    assert by_runner(loop, services, thief)("server.stats")["total_entities"] == 0
    assert run("entities.get", entity_id=stored["entities"][0]["entity_id"])["version"] == 1


def test_a_service_writes_on_while_a_dump_is_restored(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphmem import dump
    from graphmem.dump import batches

    monkeypatch.setattr(batches, "BATCH_TRANSACTIONS_LIMIT", 2 if LONG else 6)
    store_rich_example(run)
    made = dumps.create()
    dumps.wipe()
    done = asyncio.Event()

    async def write(name: str) -> int:
        number = 0
        while not done.is_set() or number < 5:
            number += 1
            item = {**ADA, name: number}
            await REGISTRY["store"].run(services, full_actor(owner), {"entities": [item]})
        return number

    async def both() -> Any:
        clients = [asyncio.create_task(write(name)) for name in ("a", "b")]
        try:
            restored = await dump.restore(
                services.database,
                services.vocabulary,
                services.writers,
                made.path,
                objects=services.objects,
                keys=services.keys,
            )
        finally:
            done.set()
        return restored, sum(await asyncio.gather(*clients))

    restored, written = loop.run(both())
    assert restored.conflict_count == 0
    assert run("server.stats")["sequence"] == restored.transactions + written
    assert run("server.check_snapshots", auto_fix=True)["unchecked"] == 0
    assert run("server.check_snapshots")["healthy"]
    assert run("entities.find", identifier="ada@example.org")["entities"]


def test_the_conflicts_that_are_told_are_bounded(
    run: Call, dumps: Dumps, loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "REPORTED_CONFLICTS_LIMIT", 2)
    run("store", entities=[{"entity_type": "person", "name": f"n{i}"} for i in range(5)])
    made = dumps.create()
    loop.run(
        services.database.script(
            "MATCH (o:Observation) WHERE o.owner = $o SET o.priority = 1.0", o=dumps.owner
        )
    )
    restored = dumps.restore(made)
    assert (restored.conflict_count, len(restored.conflicts)) == (5, 2)


# What another history said first


def united(run: Call, dumps: Dumps, *, parted: bool) -> dict[str, str]:
    """Make a history whose first facts stand in its last transaction: another one said them later.

    Args:
        parted: whether what needs an entity and what says it are restored by different writes.
    """
    company = {"entity_type": "company", "name": "Royal Society"}
    request = {"entities": [ADA, BYRON, company], "observed_at": "2020-01-01T00:00:00Z"}
    ada, byron, society = (entity["entity_id"] for entity in run("store", **request)["entities"])
    run("entities.merge", source_entity_id=byron, target_entity_id=ada)
    made = run("relationships.create", relationship_type="WORKS_AT", source_entity_id=ada,
               target_entity_id=society, metadata={"since": 1843})  # fmt: skip
    run("relationships.delete", relationship_key=made["relationship_key"])
    run("relationships.restore", relationship_key=made["relationship_key"])
    run("entities.delete", entity_id=society)
    if parted:
        stored = run("store", entities=[{"entity_type": "thing", "n": n} for n in range(2)])
        source, target = (entity["entity_id"] for entity in stored["entities"])
        run("entities.merge", source_entity_id=source, target_entity_id=target)
    first = dumps.create("one")
    dumps.wipe()
    run("store", **request)
    assert dumps.restore(first).conflict_count == 0
    return {"ada": ada, "byron": byron, "society": society, "key": made["relationship_key"]}


@pytest.mark.parametrize("parted", mostly_long([False, True], True))
def test_what_needs_an_entity_waits_until_it_is_there(run: Call, dumps: Dumps, parted: bool) -> None:
    ids = united(run, dumps, parted=parted)
    whole, answers = dumps.create("whole"), all_answers(run)
    assert run("entities.get", entity_id=ids["byron"])["entity_id"] == ids["ada"]
    dumps.wipe()
    restored = dumps.restore(whole)
    assert (restored.conflict_count, restored.known_observations) == (0, 0)
    assert restored.observations == whole.manifest.contents["owners"][0]["observations"]
    assert run("server.check_snapshots")["healthy"]
    assert run("entities.get", entity_id=ids["byron"])["entity_id"] == ids["ada"]
    again = all_answers(run)
    for name in ("entities", "observations", "stats"):
        assert again[name] == answers[name]
    assert [relationship["is_live"] for relationship in again["relationships"]["relationships"]] == [
        relationship["is_live"] for relationship in answers["relationships"]["relationships"]
    ]
    assert dumps.root(dumps.create("again")) == dumps.root(whole)
    nothing = dumps.restore(whole)
    assert (nothing.observations, nothing.transactions, nothing.conflict_count) == (0, 0, 0)
    run("entities.restore", entity_id=ids["society"])
    run("entities.unmerge", source_entity_id=ids["byron"])
    assert run("entities.get", entity_id=ids["byron"])["entity_id"] == ids["byron"]
    assert run("server.check_snapshots")["healthy"]


def people(run: Call) -> dict[str, Any]:
    page = run("entities.query", entity_type="person")
    return {each["entity_id"]: each["canonical_name"] for each in page["entities"]}


def test_the_union_of_two_databases_parts_alike(run: Call, dumps: Dumps) -> None:
    nils, berit = ({**ADA, "name": name} for name in ("Nils Holmvik", "Berit Holmvik"))
    acme = {"entity_type": "company", "name": "Acme"}
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    run("store", entities=[nils, acme], relationships=[link])
    first = dumps.create("first")
    dumps.wipe()
    run("store", entities=[berit, acme], relationships=[link])
    second = dumps.create("second")
    dumps.restore(first)
    assert run("server.check_snapshots")["healthy"]
    one_way = people(run), dumps.root(dumps.create("one"))
    dumps.wipe()
    dumps.restore(first)
    dumps.restore(second)
    assert (people(run), dumps.root(dumps.create("other"))) == one_way
    assert len(one_way[0]) == 2
    assert run("server.check_snapshots")["healthy"]


@pytest.mark.parametrize("is_smaller_first", [True, False])
def test_the_union_knows_every_id_that_a_part_might_have_had_in_either_order(
    run: Call, dumps: Dumps, owner: str, is_smaller_first: bool
) -> None:
    names = ("Nils Holmvik", "N. Holmvik", "Nills Holmvik", "Niels Holmvik")
    id_of = {
        name: entity_id(owner, "person", "email+name", [ADA["email"], identity_value(name)]) for name in names
    }
    smallest, *_, largest = sorted(names, key=id_of.__getitem__)
    berit = {**ADA, "name": "Berit Holmvik"}
    paths: list[Path] = []
    for name in (smallest, largest) if is_smaller_first else (largest, smallest):
        stored = run("store", entities=[berit, {**ADA, "name": name}])
        assert stored["entities"][1]["entity_id"] == id_of[name]
        paths.append(dumps.create(name).path)
        dumps.wipe()
    for order in (paths, paths[::-1]):
        for path in order:
            dumps.restore(path)
        assert run("entities.get", entity_id=id_of[largest])["parted_into"] == [id_of[smallest]]
        assert len(people(run)) == 2
        assert run("server.check_snapshots")["healthy"]
        dumps.wipe()
    # So does a store that moves nothing.
    run("store", entities=[berit, {**ADA, "name": smallest}])
    run("store", entities=[{**ADA, "name": largest}])
    assert run("entities.get", entity_id=id_of[largest])["parted_into"] == [id_of[smallest]]
    assert run("server.check_snapshots")["healthy"]
