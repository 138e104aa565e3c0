"""One damaged sealed entity: lists, searches and contexts answer the others, and say what they leave out."""

from __future__ import annotations

from typing import LiteralString

import pytest

from graphmem.context import Services
from graphmem.errors import DataDamaged, DecryptionFailed
from graphmem.search.search_copies import SearchCopies
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.search_copies import with_copies

CUT: LiteralString = (
    "MATCH (entity:Entity {id: $id}) SET entity[$name] = "
    "CASE WHEN $name = 'values' THEN [value IN entity.values | left(value, size(value) - 8)] "
    "ELSE left(entity[$name], size(entity[$name]) - 8) END"
)

SWAP: LiteralString = (
    "MATCH (one:Entity {id: $one}), (other:Entity {id: $other}) WITH one, other, one.name_key AS key "
    "SET one.name_key = other.name_key, other.name_key = key"
)


@pytest.mark.parametrize("name", ["values", "canonical_name", "sealed_text"])
def test_one_damaged_sealed_entity_takes_no_other_from_the_answers(
    loop: Loop, sealed_services: Services, owner: str, name: str
) -> None:
    run = by_runner(loop, sealed_services, owner)
    people = [{"entity_type": "person", "name": each, "city": "Turin"} for each in ("Ada", "Grace", "Edith")]
    link = {"relationship_type": "KNOWS", "source_index": 1, "target_index": 2}
    stored = run("store", entities=people, relationships=[link])["entities"]
    ada, grace, edith = (each["entity_id"] for each in stored)
    loop.run(sealed_services.database.script(CUT, id=ada, name=name))
    fresh = fresh_process(loop, sealed_services, owner)
    # A process that has a copy reads what changed.
    follows = fresh_process(loop, sealed_services, owner)
    follows("entities.query", search="Turin")
    for call in (fresh, follows):
        searched = call("entities.query", search="Turin")
        assert {each["entity_id"] for each in searched["entities"]} - {ada} == {grace, edith}
        assert ada in {each["entity_id"] for each in searched["left_out"]}
    assert fresh("context.retrieve", question="Who lives in Turin?")["lines"]
    found = fresh("entities.find", identifier="Grace")
    assert [each["entity_id"] for each in found["entities"]] == [grace]
    listed = fresh("entities.query", entity_type="person")
    if name != "sealed_text":
        assert {each["entity_id"] for each in listed["entities"]} == {grace, edith}
        ((named, reason),) = [(each["entity_id"], each["reason"]) for each in listed["left_out"]]
        assert (named, ada in reason) == (ada, True)
        with pytest.raises((DataDamaged, DecryptionFailed), match=ada):
            fresh("entities.snapshot", entity_id=ada)
    else:
        assert len(listed["entities"]) == 3
    assert fresh("entities.snapshot", entity_id=grace)["canonical_name"] == "Grace"


def test_a_filter_by_a_name_names_the_entity_whose_folded_name_was_exchanged(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    run = by_runner(loop, sealed_services, owner)
    people = [{"entity_type": "person", "name": each} for each in ("Ada", "Grace")]
    ada, grace = (each["entity_id"] for each in run("store", entities=people)["entities"])
    loop.run(sealed_services.database.script(SWAP, one=ada, other=grace))
    for name, entity_id in (("Ada", ada), ("Grace", grace)):
        answer = run("entities.query", name=name)
        assert (answer["entities"], [each["entity_id"] for each in answer["left_out"]]) == ([], [entity_id])
    run("server.check_snapshots", auto_fix=True)
    assert [each["entity_id"] for each in run("entities.query", name="Ada")["entities"]] == [ada]
    # What has the name through a member alone is no damage.
    run("entities.merge", source_entity_id=grace, target_entity_id=ada)
    assert "left_out" not in run("entities.query", name="Grace")


def test_what_identifies_an_entity_is_mended_where_its_value_does_not_open(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    run = by_runner(loop, sealed_services, owner)
    person = {"entity_type": "person", "name": "Ada", "email": "ada@example.org"}
    ada = run("store", entities=[person])["entities"][0]["entity_id"]
    damage: LiteralString = (
        "MATCH (:Entity {id: $id})<-[:IDENTIFIES]-(n:Identifier) "
        "SET n.value = left(n.value, size(n.value) - 8)"
    )
    loop.run(sealed_services.database.script(damage, id=ada))
    assert not run("server.check_snapshots")["healthy"]
    assert run("server.check_snapshots", auto_fix=True)["healthy"]
    assert run("server.check_snapshots")["healthy"]
    entities = run("entities.find", identifier="ada@example.org")["entities"]
    assert [each["entity_id"] for each in entities] == [ada]


def test_a_list_by_name_leaves_out_the_entity_whose_folded_name_does_not_open(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    run = by_runner(loop, sealed_services, owner)
    people = [{"entity_type": "person", "name": each} for each in ("Ada", "Grace")]
    ada, grace = (each["entity_id"] for each in run("store", entities=people)["entities"])
    damage: LiteralString = (
        "MATCH (n:Entity {id: $id}) SET n.name_key = left(n.name_key, size(n.name_key) - 8)"
    )
    loop.run(sealed_services.database.script(damage, id=ada))
    answer = run("entities.query", sort_by="canonical_name")
    assert [each["entity_id"] for each in answer["entities"]] == [grace]
    assert [each["entity_id"] for each in answer["left_out"]] == [ada]


def fresh_process(loop: Loop, services: Services, owner: str) -> Call:
    """Return the operations of a process that has read nothing yet."""
    limits = Limits(copy_wait_seconds=60.0, passages_wait_seconds=60.0)
    copies = SearchCopies(services.database, 100_000_000)
    return by_runner(loop, with_copies(services, copies, limits=limits), owner)
