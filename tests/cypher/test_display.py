"""What the Neo4j Browser shows of entities: their names and their labels, kept true by every writer."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from graphmem.context import Services
from graphmem.database import migrations
from tests.support.event_loop import Loop
from tests.support.faces import Call

SHIP = {"entity_type": "spaceship", "name": "Heart of Gold"}


@pytest.fixture
def shown(loop: Loop, services: Services, owner: str) -> Any:
    """Return a function that reads the names and the labels of the owner's entities, by id."""
    query = "MATCH (n:Entity {owner: $owner}) RETURN n.id AS id, n.name AS name, labels(n) AS labels"
    return lambda: {
        row["id"]: (row["name"], sorted({*row["labels"]} - {"Entity"}))
        for row in loop.run(services.database.script(query, owner=owner))
    }


def test_entities_have_their_names_and_only_shipped_types_have_a_label(run: Call, shown: Any) -> None:
    items = [
        {"entity_type": "person", "name": "Ada"},
        {"entity_type": "transaction", "external_id": "T-1"},
        SHIP,
    ]
    ids = [item["entity_id"] for item in run("store", entities=items)["entities"]]
    assert [shown()[entity_id] for entity_id in ids] == [
        ("Ada", ["Person"]), ("T-1", ["BankTransaction"]), ("Heart of Gold", []),
    ]  # fmt: skip


def test_every_writer_keeps_the_name_and_the_label(run: Call, shown: Any) -> None:
    items = [
        {"entity_type": "person", "name": "Ada", "email": "a@x.example"},
        {"entity_type": "company", "name": "A"},
    ]
    ada, contact = (item["entity_id"] for item in run("store", entities=items)["entities"])
    run("entities.correct", entity_id=ada, field="name", value="Ada King")
    assert shown() == {ada: ("Ada King", ["Person"]), contact: ("A", ["Company"])}
    run("entities.merge", source_entity_id=ada, target_entity_id=contact)
    run("store", entities=[{"target_id": contact, "canonical_name": "Countess"}])
    assert shown() == {ada: ("Ada King", ["Person"]), contact: ("Countess", ["Company"])}
    run("entities.unmerge", source_entity_id=ada)
    run("entities.delete", entity_id=contact)
    run("entities.restore", entity_id=contact)
    assert shown() == {ada: ("Ada King", ["Person"]), contact: ("Countess", ["Company"])}
    assert run("server.check_snapshots")["healthy"]


def test_an_older_database_gets_names_and_labels_in_batches(
    run: Call, shown: Any, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [{"entity_type": "person", "name": f"P{number}"} for number in range(5)]
    run("store", entities=[*people, SHIP])
    before = shown()
    script = services.database.script
    loop.run(script("MATCH (n:Entity {owner: $owner}) REMOVE n:Person, n.name", owner=owner))
    assert set(map(repr, shown().values())) == {"(None, [])"}
    (migration,) = (each for each in migrations.shipped() if each.version == 11)
    (statement,) = migration.statements
    small_batches = statement.replace("2000", "2").replace(
        "> $after", f"> $after AND entity.owner = '{owner}'"
    )
    monkeypatch.setattr(migrations, "REPORT_SECONDS", -1.0)
    with structlog.testing.capture_logs() as logged:
        loop.run(migrations._in_batches(services.database, migration, small_batches))  # pyright: ignore
    assert [line["nodes"] for line in logged] == [2, 4, 6, 6]
    assert shown() == before
