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


ME: dict[str, Any] = {
    "entity_type": "person", "name": "Vera Holm", "self": True, "phone": "+49 30 5550 188",
    "address": "Kastanienallee 5", "birthday": "1983-07-21", "height": "169 cm", "weight": "61 kg",
    "salary": "51000 EUR", "employer": "Nordbau",
    "allergies": "penicillin", "languages": ["Danish"], "shoe_size": 40, "blood_type": "0+",
}  # fmt: skip
OWN_THINGS: tuple[dict[str, Any], ...] = (
    {
        "entity_type": "phone",
        "name": "Fairphone 5",
        "serial_number": "FP5-70921",
        "color": "green",
        "warranty": "2027",
    },
    {"entity_type": "laptop", "name": "Framework 13", "serial_number": "FRA-8841"},
    {
        "entity_type": "cat",
        "name": "Mogens",
        "birthday": "2020-01-01",
        "chip_number": "2089941",
        "weight": "5 kg",
    },
    {"entity_type": "person", "name": "Jens Holm", "phone": "+49 30 5550 199", "birthday": "1980-03-03"},
)
OF_SELF = {
    "address": "Where do I live?|Wo wohne ich?|Où est-ce que j'habite ?|¿Dónde vivo?|Où habité-je ?",
    "employer": "Where do I work?|Wo arbeite ich?|¿Dónde trabajo?",
    "birthday": "When was I born?|Wann bin ich geboren?|Quand suis-je née ?|¿Cuándo nací?",
    "height": "How tall am I?|Wie groß bin ich?|Combien je mesure ?|¿Cuánto mido?",
    "salary": "How much do I earn?|Wie viel verdiene ich?|Combien est-ce que je gagne ?|¿Cuánto gano?",
    "languages": "Which languages do I speak?|Welche Sprachen spreche ich?|¿Qué idiomas hablo?",
    "allergies": "What am I allergic to?|À quoi suis-je allergique ?|¿A qué soy alérgica?",
    "shoe_size": "my shoe size|Welche Schuhgröße habe ich?|Quelle est ma pointure ?|¿Qué número calzo?",
    "blood_type": "What is my blood type?|Welche Blutgruppe habe ich?",
    "phone": "my phone number|my phone|meine Telefonnummer|mon numéro de téléphone|mi número de teléfono",
}
OF_THINGS = {
    "Fairphone 5": (
        "serial number of my phone|my phone's serial number|What color is my phone?|"
        "When does the warranty of my phone end?|"
        "Seriennummer meines Handys|"
        "numéro de série de mon téléphone|número de serie de mi teléfono"
    ),
    "Framework 13": "serial number of Jens's laptop|What is the serial number of Jens Holm's laptop?",
    "Mogens": "What is the chip number of my cat?|How old is my cat?|Chipnummer meiner Katze",
    "Jens Holm": "Wer ist mein Mann?|Wie heißt mein Mann?|phone of my husband|¿Quién es mi marido?",
}


def test_first_persons_ask_of_who_asks_and_possessives_of_what_they_have(run: Call) -> None:
    links = [
        {"relationship_type": kind, "source_index": source, "target_index": target}
        for kind, source, target in (("MARRIED_TO", 0, 4), ("OWNS", 0, 1), ("OWNS", 4, 2))
    ]
    run("store", entities=[ME, *OWN_THINGS], relationships=links, find_duplicates=False)
    wrong: dict[str, str] = {}
    expected = {
        question: f"Vera Holm|{field}" for field, every in OF_SELF.items() for question in every.split("|")
    }
    expected |= {question: f"{name}|" for name, every in OF_THINGS.items() for question in every.split("|")}
    for question, right in expected.items():
        name, field = right.split("|")
        line = run("context.retrieve", question=question)["lines"][:1]
        first = [each["canonical_name"] for each in run("entities.query", search=question)["entities"][:1]]
        is_right = line and line[0].startswith(f"{name} (") and f"): {field}" in line[0]
        if not is_right or first != [name]:
            wrong[question] = f"{line} {first}"
    assert not wrong, "".join(f"\nE {q}: {w}" for q, w in wrong.items())
