"""Words for types and fields in questions: "license plate", "my car", "When does the warranty end?"."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call

PEOPLE = ("Nadia Brandt", "Oskar Lund", "Piet Vos", "Lina Faro")
THINGS: tuple[dict[str, Any], ...] = (
    {"entity_type": "car", "name": "Blue Corsa", "license_plate": "HB-NB 204", "color": "blue"},
    {"entity_type": "appliance", "name": "Bosch Serie 6", "warranty_until": "2028-05-31", "room": "kitchen"},
    {"entity_type": "appliance", "name": "Miele Edition", "serialNumber": "MX 40021", "room": "bathroom"},
    {"entity_type": "pet", "name": "Momo", "species": "cat", "vet": "Dr. Hagen"},
    {"entity_type": "pet", "name": "Rex", "species": "dog", "allergies": "chicken"},
    {"entity_type": "subscription", "name": "Netflix", "price": 15.99, "renewal_date": "2027-02-01"},
    {"entity_type": "router", "name": "Fritz 7590", "wifi_password": "tulip-9932"},
    {"entity_type": "note", "title": "Garden", "text": "The end of the hedge needs cutting."},
    {
        "entity_type": "note",
        "title": "Trip to Porto",
        "text": "We want to see the harbour at the end of May.",
    },
    {"entity_type": "note", "title": "Bread", "text": "Two cups of rye flour and one of wheat."},
    {"entity_type": "note", "title": "Dishes", "text": "The white dinner plates came from grandmother."},
    {"entity_type": "book", "title": "Dune", "borrowed_from": "library"},
)
QUESTIONS = {
    "license plate": "Blue Corsa",
    "What is the license plate?": "Blue Corsa",
    "my license plate": "Blue Corsa",
    "my car": "Blue Corsa",
    "the car": "Blue Corsa",
    "What is the licence plate of my car?": "Blue Corsa",
    "mein Auto": "Blue Corsa",
    "Welches Kennzeichen hat mein Auto?": "Blue Corsa",
    "¿Cuál es la matrícula de mi coche?": "Blue Corsa",
    "la plaque de ma voiture": "Blue Corsa",
    "la targa della mia macchina": "Blue Corsa",
    "When does the warranty end?": "Bosch Serie 6",
    "Wann läuft die Garantie ab?": "Bosch Serie 6",
    "serial number": "Miele Edition",
    "What is the wifi password?": "Fritz 7590",
    "Wie lautet das WLAN-Passwort?": "Fritz 7590",
    "When do we have to renew?": "Netflix",
    "Who is allergic?": "Rex",
    "Who is our vet?": "Momo",
    "Nadia's car": "Blue Corsa",
    "When is Nadia's birthday?": "Nadia Brandt",
}  # fmt: skip


@pytest.fixture
def world(run: Call) -> Call:
    people = [{"entity_type": "person", "name": name} for name in PEOPLE]
    people[0]["birth_date"] = "1991-04-12"
    link = {"relationship_type": "OWNS", "source_index": 0, "target_index": len(PEOPLE)}
    run("store", entities=[*people, *THINGS], relationships=[link], find_duplicates=False)
    return run


def test_names_of_fields_and_types_find_what_has_them(world: Call) -> None:
    wrong: dict[str, list[str]] = {}
    for question, name in QUESTIONS.items():
        found = world("entities.query", search=question)["entities"]
        looked_up = world("entities.find", identifier=question)["entities"]
        lines = world("context.retrieve", question=question)["lines"]
        first = [each[0]["canonical_name"] if each else "" for each in (found, looked_up)]
        first.append(lines[0].split(" (")[0] if lines else "")
        if first != [name] * 3:
            wrong[question] = first
    assert not wrong, "".join(f"\nE {q}: {w}" for q, w in wrong.items())


def test_an_owned_kind_is_answered_as_the_kind(world: Call) -> None:
    for question in (
        "Which pets do we have?",
        "our pets",
        "Welche Haustiere haben wir?",
        "nuestras mascotas",
    ):
        answer = world("entities.query", search=question)
        names = [each["canonical_name"] for each in answer["entities"] if each.get("matched") == "kind"]
        assert sorted(names) == ["Momo", "Rex"], question
        assert answer["understood"]["count"] == 2
    answer = world("entities.find", identifier="Nadia's car")
    assert answer["entities"][0]["canonical_name"] == "Blue Corsa"
    assert answer["match_mode"] == "kind"


def test_a_field_by_whose_name_an_entity_is_found_is_told(world: Call) -> None:
    (hit, *_) = world("entities.find", identifier="license plate")["entities"]
    assert (hit["matched"], hit["matched_field"]) == ("text", "license_plate")
