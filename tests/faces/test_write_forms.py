"""The forms of the write statements: a turn runs the smallest form that writes its decisions."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.context import Services
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.faulty_database import faulty_services

ADA = {"entity_type": "person", "name": "Ada"}
ACME = {"entity_type": "company", "name": "Acme"}
LINK = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}


@pytest.fixture
def statements(loop: Loop, services: Services, owner: str) -> Any:
    """Call an operation; return its answer and the names of the statements that writers sent."""
    with faulty_services(loop, services) as (faulty, database):
        run = by_runner(loop, faulty, owner)

        def of(name: str, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
            database.names.clear()
            return run(name, **arguments), [each for each in database.names if each.startswith("write.")]

        yield of


def test_entities_alone_are_written_by_the_plain_form(statements: Any) -> None:
    _, names = statements("store", entities=[ADA, ACME])
    assert names == ["write.look[plain]", "write.turn[plain]"]
    answer, names = statements("store", entities=[{**ADA, "town": "London"}])
    assert names == ["write.look[plain]", "write.turn[plain]"]
    assert answer["entities"][0]["version"] == 2


def test_events_and_new_relationships_are_written_by_the_linked_form(statements: Any, run: Call) -> None:
    _, names = statements("store", entities=[{**ADA, "born": "1815-12-10"}])
    assert names == ["write.look[plain]", "write.turn[linked]"]
    answer, names = statements("store", entities=[ADA, ACME], relationships=[LINK])
    assert names == ["write.look[plain]", "write.turn[linked]"]
    (link,) = answer["relationships_created"]
    assert run("relationships.get", relationship_id=link["relationship_key"])["target_entity_id"]
    _, names = statements("relationships.delete", relationship_key=link["relationship_key"])
    assert names == ["write.look[plain]", "write.turn"]
    assert run("relationships.list")["relationships"] == []


def test_what_is_merged_is_read_and_written_whole(statements: Any, run: Call) -> None:
    twin = {**ADA, "intent": "create_new"}
    answer, _ = statements("store", entities=[ADA, twin, ACME])
    ada, other, acme = (entity["entity_id"] for entity in answer["entities"])
    _, names = statements("entities.merge", source_entity_id=other, target_entity_id=ada)
    # What else has the name of the entity decides whether the rule merges it, and so does what that bears:
    # it is read as well.
    assert names == ["write.look", "write.look", "write.look", "write.turn"]
    for subject in (ada, other):
        fields = {"town": f"London {subject}"}
        _, names = statements("observations.create", entity_id=subject, fields=fields)
        assert names == ["write.look[plain]", "write.look", "write.turn[plain]"]
        assert run("entities.get", entity_id=ada)["snapshot"]["town"] == fields["town"]
    link = {"relationship_type": "WORKS_AT", "source_entity_id": other, "target_entity_id": acme}
    _, names = statements("store", entities=[ACME], relationships=[link])
    assert names[:2] == ["write.look[plain]", "write.look"]
    related = run("relationships.list", entity_id=ada)["relationships"]
    assert [each["source_entity_id"] for each in related] == [ada]
