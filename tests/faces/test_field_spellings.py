"""Names of fields as people spell them, first and last names, and `contact` as another name of `person`."""

from __future__ import annotations

from typing import Any

from graphmem.context import Services
from graphmem.database import migrations
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner


def stored(run: Call, *items: dict[str, Any]) -> list[dict[str, Any]]:
    return run("store", entities=[{"entity_type": "person", **item} for item in items])["entities"]


def test_first_and_last_name_are_a_name_in_each_spelling(call: Call) -> None:
    items = [
        {"first_name": "Mia", "last_name": "Okafor"},
        {"given_name": "Mia", "family_name": "Okafor"},
        {"First Name": "Mia", "Last-Name": "Okafor", "phone": "1"},
        {"firstName": "mia", "surname": "OKAFOR"},
        {"Name": "Mia Okafor"},
        {"name": "Mia Okafor"},
    ]
    entities = stored(call, *items)
    assert len({each["entity_id"] for each in entities}) == 1
    assert {each["identity_basis"] for each in entities} == {"name"}
    entity = call("entities.get", entity_id=entities[0]["entity_id"])
    assert entity["canonical_name"] == "Mia Okafor"
    # The fields keep their spelling.
    assert {"First Name", "Last-Name", "firstName", "Name"} <= entity["snapshot"].keys()
    assert call("server.check_snapshots")["healthy"]


def test_an_id_is_stronger_than_first_and_last_name(run: Call) -> None:
    names = {"first_name": "Mia", "last_name": "Okafor"}
    first, second = stored(run, {"id": 1, **names}, {"id": 2, **names})
    assert first["entity_id"] != second["entity_id"]
    assert (first["identity_basis"], first["canonical_name"]) == ("id", "Mia Okafor")


def test_an_address_in_another_spelling_identifies_and_joins_by_rule(run: Call) -> None:
    by_label, by_name, joined = stored(
        run,
        {"E-Mail": "mia@example.org", "First name": "Mia", "Last name": "Okafor"},
        {"email": "MIA@example.org", "city": "Jos"},
        {"name": "Mia Okafor", "team": "Sales"},
    )
    assert by_label["entity_id"] == by_name["entity_id"] == joined["entity_id"]
    assert (joined["resolved_by"], joined["identity_basis"]) == ("rule", "name")
    found = run("entities.find", identifier="mia@example.org")
    assert [each["entity_id"] for each in found["entities"]] == [by_label["entity_id"]]
    assert run("server.check_snapshots")["healthy"]


def test_what_was_stored_before_is_named_and_joined_by_the_migration(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    (entity,) = stored(run, {"email": "mia@example.org", "first_name": "Mia", "last_name": "Okafor"})
    older = (
        "MATCH (entity:Entity {id: $id, owner: $o}) "
        "SET entity.canonical_name = 'mia@example.org', entity.evidence = null, entity.check = null "
        "WITH entity MATCH (:Identifier {owner: $o})-[found:IDENTIFIES]->(entity) DELETE found"
    )
    loop.run(services.database.script(older, id=entity["entity_id"], o=owner))
    (migration,) = (each for each in migrations.shipped() if each.name == "spelled_names")
    (statement,) = migration.statements
    statement = statement.replace("> $after", f"> $after AND entity.owner = '{owner}'")
    loop.run(migrations._in_batches(services.database, migration, statement))  # pyright: ignore
    loop.run(services.writers.refold_withdrawn(owner, 1_000))
    (joined,) = stored(run, {"name": "Mia Okafor"})
    assert run("entities.get", entity_id=entity["entity_id"])["canonical_name"] == "Mia Okafor"
    assert (joined["entity_id"], joined["resolved_by"]) == (entity["entity_id"], "rule")


def test_a_contact_is_a_person_unless_the_owner_has_a_schema_of_contacts(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    (person,) = stored(run, {"name": "Mia Okafor"})
    (contact,) = run("store", entities=[{"entity_type": "contacts", "name": "Mia Okafor", "phone": "1"}])[
        "entities"
    ]
    assert (contact["entity_id"], contact["entity_type"]) == (person["entity_id"], "person")
    page = run("entities.query", filters={"entity_type": "contact"})
    assert [each["entity_id"] for each in page["entities"]] == [person["entity_id"]]
    # A type of the owner's own is no other name.
    run("schemas.register", schema={"entity_type": "contact", "fields": {"name": {"type": "string"}}})
    (own,) = run("store", entities=[{"entity_type": "contact", "name": "Bo"}])["entities"]
    assert own["entity_type"] == "contact"


def test_two_people_and_a_label_are_not_proposed_as_one_of_them(run: Call) -> None:
    names = [
        "Bennet Aldous and Tarja Voss", "Bennet Aldous", "Tarja Voss", "Ann Ortega (Tech Lead)", "Ann Ortega",
        "ann ortega-speaker-2", "Speaker 1", "Speaker 2", "Lena & Piet Maas", "Piet Maas",
    ]  # fmt: skip
    stored(run, *({"name": name} for name in names))
    assert run("entities.duplicates", entity_type="person")["candidates"] == []


def test_a_single_name_is_proposed_with_the_only_longer_form_of_it(run: Call) -> None:
    (sharma, *_) = stored(run, {"name": "Priya Sharma", "email": "p@x.example"}, {"name": "Tomas Herrera"})
    (priya,) = stored(run, {"name": "Priya"})
    (candidate,) = priya["duplicate_candidates"]
    assert (candidate["entity_id"], candidate["score"]) == (sharma["entity_id"], 0.85)
    (initial,) = stored(run, {"name": "T. Herrera"})
    assert [each["canonical_name"] for each in initial["duplicate_candidates"]] == ["Tomas Herrera"]
    pairs = run("entities.duplicates", entity_type="person")["candidates"]
    assert len(pairs) == 2
    stored(run, {"name": "Priya Nair"})
    assert len(run("entities.duplicates", entity_type="person")["candidates"]) == 1
    (second,) = stored(run, {"name": "Tomas", "intent": "create_new"})
    assert [each["canonical_name"] for each in second["duplicate_candidates"]] == ["Tomas Herrera"]


def test_what_the_command_line_writes_is_of_a_human(
    loop: Loop, services: Services, owner: str, run: Call
) -> None:
    typed = by_runner(loop, services, owner, client="cli")
    (entity,) = stored(typed, {"name": "Mia Okafor"})
    typed("entities.correct", entity_id=entity["entity_id"], field="city", value="Jos")
    typed("store", entities=[{"entity_type": "person", "name": "Bo"}], observation_source="import")
    stored(run, {"name": "Cy"})
    listed = run("observations.query")["observations"]
    sources = [each["observation_source"] for each in listed][::-1]
    assert sources == ["human", "human", "import", "llm_summary"]
