"""People who share an e-mail address are several, whatever comes first."""

from __future__ import annotations

from itertools import permutations
from typing import Any, LiteralString

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.model import shared_addresses
from graphmem.model.ids import entity_id
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.rule_merging import Audited

ADDRESS = "post@holmvik.example"
NILS = {"entity_type": "person", "name": "Nils Holmvik", "email": ADDRESS, "phone": "+45 91"}
BERIT = {"entity_type": "person", "name": "Berit Holmvik", "email": ADDRESS, "phone": "+45 92"}


def shown(run: Call) -> dict[str, Any]:
    """Return the people that lists show, by id, with their names and telephones."""
    page = run("entities.query", entity_type="person", include_snapshots=True)
    return {
        each["entity_id"]: (each["canonical_name"], each["snapshot"].get("phone"))
        for each in page["entities"]
    }


def test_two_people_of_one_address_are_two(run: Call, audited: Audited) -> None:
    stored = run("store", entities=[NILS, BERIT])
    nils, berit = (each["entity_id"] for each in stored["entities"])
    assert shown(run) == {nils: ("Nils Holmvik", "+45 91"), berit: ("Berit Holmvik", "+45 92")}
    assert audited(False) == {}


@pytest.mark.parametrize(
    "label", ["full_name", "fullName", "canonical_name", "display_name", "Vor- und Nachname"]
)
@pytest.mark.parametrize("other_label", [None, "name"])
def test_two_requests_with_names_under_other_labels_are_about_two(
    run: Call, audited: Audited, label: str, other_label: str | None
) -> None:
    for person, said in ((NILS, label), (BERIT, other_label or label)):
        fields = {said if name == "name" else name: value for name, value in person.items()}
        run("store", entities=[fields])
    assert sorted(phone for _, phone in shown(run).values()) == ["+45 91", "+45 92"]
    assert audited(False) == {}


@pytest.mark.parametrize(
    "damage",
    [
        "n.parting = 'x'",
        "n.parting = '\"x\"'",
        "n.parting = '[]'",
        "n.parting = null",
        "n.parted_into = null",
    ],
)
def test_who_shares_an_address_is_derived_anew(
    run: Call, audited: Audited, loop: Loop, services: Services, owner: str, damage: LiteralString
) -> None:
    run("store", entities=[NILS, BERIT])

    def script(text: LiteralString) -> list[dict[str, Any]]:
        query = f"MATCH (n:Entity {{owner: $owner}}) WHERE n.unlisted IS NOT NULL {text}"
        return loop.run(services.database.script(query, owner=owner))

    stored = "RETURN n.parting AS parting, n.parted_into AS parted_into"
    before = script(stored)
    script(f"SET {damage}")
    health = run("server.check_snapshots", auto_fix=True)
    assert (health["stale"], script(stored)) == (1, before)
    assert audited(True) == {}


@pytest.mark.parametrize("order", [*permutations((NILS, BERIT))])
def test_any_order_and_any_batches_give_the_same_people(run: Call, audited: Audited, order: Any) -> None:
    for item in order:
        run("store", entities=[item])
    expected = {each["entity_id"] for each in run("store", entities=[NILS, BERIT])["entities"]}
    assert {*shown(run)} == expected
    assert audited(False) == {}


def test_the_id_of_the_address_says_who_shares_it(run: Call) -> None:
    (alone,) = run("store", entities=[NILS])["entities"]
    stored = run("store", entities=[BERIT])
    (berit,) = (each["entity_id"] for each in stored["entities"])
    (nils,) = shown(run).keys() - {berit}
    answer = run("entities.get", entity_id=alone["entity_id"])
    assert answer["entity_id"] == alone["entity_id"]
    assert answer["parted_into"] == sorted([nils, berit])
    assert answer["snapshot"] == {}
    (warning,) = stored["store_warnings"]
    assert (warning["code"], warning["shared_with"]) == ("SHARED_IDENTIFIER", [nils])
    found = run("entities.find", identifier=ADDRESS)
    assert {each["entity_id"] for each in found["entities"]} == {nils, berit}
    assert "2 entities share" in found["hint"]
    phone = run("entities.find", identifier="What is Nils Holmvik's phone?")
    assert [each["entity_id"] for each in phone["entities"]] == [nils]


def test_relationships_and_corrections_belong_to_who_speaks_alone(run: Call, audited: Audited) -> None:
    acme = {"entity_type": "company", "name": "Acme"}
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    first = run("store", entities=[NILS, acme], relationships=[link])
    address = first["entities"][0]["entity_id"]
    run("entities.correct", entity_id=address, field="phone", value="+45 99")
    run("store", entities=[BERIT])
    assert audited(False) == {}
    run(
        "store",
        entities=[{**BERIT, "city": "Oslo"}, {"entity_type": "company", "name": "Beta"}],
        relationships=[link],
    )
    people = {name: entity_id for entity_id, (name, _) in shown(run).items()}
    works_at = {
        name: [
            each["target_entity_id"]
            for each in run("relationships.list", entity_id=entity_id)["relationships"]
        ]
        for name, entity_id in people.items()
    }
    assert {name: len(targets) for name, targets in works_at.items()} == {
        "Nils Holmvik": 1,
        "Berit Holmvik": 1,
        "+45 99": 0,
    }
    assert audited(False) == {}


@pytest.mark.parametrize(
    "order",
    [*permutations((NILS, BERIT, {**NILS, "name": "N. Holmvik"}, {**NILS, "name": "Nora Holmvik"}))][::5],
)
def test_what_fits_two_people_stays_with_the_address(run: Call, audited: Audited, order: Any) -> None:
    for item in order:
        run("store", entities=[item])
    (address,) = {
        each["entity_id"]
        for each in run("store", entities=[{"entity_type": "person", "email": ADDRESS}])["entities"]
    }
    assert {name for name, _ in shown(run).values()} == {
        "Nils Holmvik",
        "Berit Holmvik",
        "Nora Holmvik",
        "N. Holmvik",
    }
    assert run("entities.get", entity_id=address)["canonical_name"] == "N. Holmvik"
    assert audited(False) == {}


def test_a_father_and_a_son_of_one_name_are_two_by_their_birthdays(run: Call, audited: Audited) -> None:
    father, son = ({**NILS, "birthday": birthday} for birthday in ("1950-01-02", "1980-03-04"))
    run("store", entities=[father])
    run("store", entities=[BERIT])
    run("store", entities=[son])
    assert len(shown(run)) == 3
    # Day and month exchanged are one birthday.
    run("store", entities=[{**NILS, "birthday": "1950-02-01"}])
    assert len(shown(run)) == 3
    assert audited(False) == {}


def test_a_part_whose_id_changes_says_which_it_is_now(run: Call, audited: Audited) -> None:
    people = [{**NILS, "name": f"{given} Holmvik"} for given in ("Nils", "N", "Nills", "Niels")]
    run("store", entities=[BERIT])
    told = {run("store", entities=[item])["entities"][0]["entity_id"] for item in people}
    (nils,) = {each for each, (name, _) in shown(run).items() if name != "Berit Holmvik"}
    for each in told - {nils}:
        assert run("entities.get", entity_id=each)["parted_into"] == [nils]
    assert audited(False) == {}


@pytest.mark.parametrize("is_last_first", [False, True])
def test_what_is_said_by_the_id_of_a_part_stays_with_the_person_when_the_id_changes(
    run: Call, audited: Audited, owner: str, is_last_first: bool
) -> None:
    names = sorted(
        ("nils holmvik", "n holmvik", "nills holmvik", "niels holmvik"),
        key=lambda name: entity_id(owner, "person", "email+name", [ADDRESS, name]), reverse=is_last_first,
    )  # fmt: skip
    run("store", entities=[BERIT])
    (told,) = run("store", entities=[{**NILS, "name": names[0]}])["entities"]
    acme = {"entity_type": "company", "name": "Acme"}
    link = {"relationship_type": "WORKS_AT", "source_entity_id": told["entity_id"], "target_index": 0}
    run("store", entities=[acme], relationships=[link])
    run("entities.correct", entity_id=told["entity_id"], field="phone", value="+45 99")
    for name in names[1:]:
        run("store", entities=[{**NILS, "name": name}])
    assert {phone for _, phone in shown(run).values()} == {"+45 99", "+45 92"}
    (nils,) = {each for each, (_, phone) in shown(run).items() if phone == "+45 99"}
    # So does what is said by an id of the person from then on.
    corrected = run("entities.correct", entity_id=told["entity_id"], field="city", value="Oslo")
    run("entities.correct", entity_id=nils, field="phone", value="+45 98")
    link = {**link, "relationship_type": "OWNS"}
    run("store", entities=[acme], relationships=[link])
    page = run("entities.query", entity_type="person", include_snapshots=True)
    (known,) = (each["snapshot"] for each in page["entities"] if each["entity_id"] == nils)
    assert (known["phone"], known["city"], corrected["entity_id"]) == ("+45 98", "Oslo", nils)
    links = run("relationships.list", entity_id=nils)["relationships"]
    assert {each["relationship_type"] for each in links} == {"WORKS_AT", "OWNS"}
    assert len(page["entities"]) == 2
    assert audited(False) == {}


def test_a_refused_request_parts_nobody(run: Call, audited: Audited) -> None:
    (nils,) = run("store", entities=[NILS])["entities"]
    with pytest.raises(GraphmemError):
        run("store", entities=[BERIT, {"target_id": "ent_" + 24 * "0", "name": "nobody"}])
    assert shown(run).keys() == {nils["entity_id"]}
    assert "parted_into" not in run("entities.get", entity_id=nils["entity_id"])


def test_both_ends_of_a_relationship_may_be_at_addresses_that_people_share(
    run: Call, audited: Audited
) -> None:
    ann, bo = ({**NILS, "name": name, "email": "post@dahl.example"} for name in ("Ann Dahl", "Bo Dahl"))
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1}
    run("store", entities=[NILS, ann], relationships=[link])
    for item in (BERIT, bo):
        run("store", entities=[item])
        assert audited(False) == {}
    people = {name: entity_id for entity_id, (name, _) in shown(run).items()}
    (known,) = run("relationships.list", entity_id=people["Nils Holmvik"])["relationships"]
    assert {known["source_entity_id"], known["target_entity_id"]} == {
        people["Nils Holmvik"],
        people["Ann Dahl"],
    }


def test_another_family_name_is_the_same_person_with_a_warning(run: Call) -> None:
    def codes(name: str) -> list[str]:
        person = {"entity_type": "person", "name": name, "email": "ann@schulz.example"}
        answer = run("store", entities=[person])
        ids.add(answer["entities"][0]["entity_id"])
        return [each["code"] for each in answer.get("store_warnings", ())]

    ids = set[str]()
    assert codes("Ann Schulz") == []
    for same in ("Schulz, Ann", "Dr. Ann Schulz", "Ann Schultz", "Ann", "Ann Marie Schulz", "A. Schulz"):
        assert codes(same) == [], same
    assert codes("Ann Meier") == ["OTHER_FAMILY_NAME"]
    # From now on it is one of those that the person had.
    assert codes("Ann Meier-Schulz") == []
    assert len(ids) == 1


def test_an_address_with_a_name_or_as_a_link_is_stored_with_a_warning(run: Call) -> None:
    emails = ('"Cy Lund" <cy@lund.example>', "cy@lund.example", "mailto:CY@lund.example")
    people = [
        {"entity_type": "person", "name": f"Cy Lund {i}", "email": email} for i, email in enumerate(emails)
    ]
    answer = run("store", entities=people)
    warnings = [each for each in answer["store_warnings"] if each["code"] == "EMAIL_WITH_NAME"]
    assert [(each["index"], each["field"]) for each in warnings] == [(0, "email"), (2, "email")]
    assert [each["entity_id"] for each in warnings] == [answer["entities"][i]["entity_id"] for i in (0, 2)]
    entities = run("entities.find", identifier="cy@lund.example")["entities"]
    assert {each["entity_id"] for each in entities} == {each["entity_id"] for each in answer["entities"]}


def test_the_changes_are_those_of_the_people(run: Call) -> None:
    for item in (NILS, BERIT):
        run("store", entities=[item])
    changes = run("changes.list")["changes"]
    assert {each["event_type"] for each in changes} == {"entity.created"}
    assert {each["entity_id"]: each["name"] for each in changes} == {
        entity_id: name for entity_id, (name, _) in shown(run).items()
    }


def test_it_holds_at_every_time_and_after_a_withdrawal(run: Call, audited: Audited) -> None:
    first = run("store", entities=[NILS])["recorded_at"]
    second = run("store", entities=[BERIT])
    (berit,) = (each["entity_id"] for each in second["entities"])
    (nils,) = shown(run).keys() - {berit}
    for clock in ("at", "at_ingested"):
        assert run("entities.snapshot", entity_id=nils, **{clock: first})["snapshot"]["phone"] == "+45 91"
    assert (
        run("entities.snapshot", entity_id=berit, at_ingested=second["recorded_at"])["canonical_name"]
        == "Berit Holmvik"
    )
    run("writings.withdraw", transaction_id=second["transaction_id"])
    assert shown(run).keys() == {nils}
    assert audited(False) == {}
    run("writings.reinstate", transaction_id=second["transaction_id"])
    assert shown(run).keys() == {nils, berit}
    assert audited(False) == {}


def test_an_address_of_a_role_joins_no_names(run: Call, audited: Audited) -> None:
    sender = {"entity_type": "person", "email": "Notifications+7@forge.example"}
    (single,) = run("store", entities=[{**sender, "name": "Ada Lovelace"}])["entities"]
    assert "parted_into" not in run("entities.get", entity_id=single["entity_id"])
    # At a person's own address these two names are one.
    run(
        "store",
        entities=[{**sender, "name": "A. Lovelace"}, {**sender, "name": "Ada Lovelace", "city": "London"}],
    )
    assert {name for name, _ in shown(run).values()} == {"Ada Lovelace", "A. Lovelace"}
    assert audited(False) == {}


def test_more_names_than_can_be_compared_join_nothing(
    run: Call, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_addresses, "FORMS_LIMIT", 3)
    people = [{**NILS, "name": name} for name in ("Ada Berg", "A. Berg", "Eva Dahl", "Uwe Ek", "Per Frost")]
    run("store", entities=people[:3])
    assert len(shown(run)) == 2
    run("store", entities=people[3:])
    assert len(shown(run)) == len(people)
    assert audited(False) == {}


CARD = {**NILS, "observed_at": "2026-01-01", "external_id": "urn:uuid:7d1e2f00"}
RENAMED_CARD = {**CARD, "name": "Tore Holmvik", "observed_at": "2026-02-01"}


@pytest.mark.parametrize(
    "order", [*permutations((CARD, RENAMED_CARD, BERIT, {**NILS, "observed_at": "2026-01-02"}))][::5]
)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_record_that_says_another_name_is_about_the_same_person(
    run: Call, audited: Audited, order: Any, at_once: bool
) -> None:
    for entities in [[*order]] if at_once else [[each] for each in order]:
        run("store", entities=entities)
    assert sorted(name for name, _ in shown(run).values()) == ["Berit Holmvik", "Tore Holmvik"]
    assert audited(False) == {}


def test_what_is_said_by_id_parts_nobody(run: Call, audited: Audited) -> None:
    (nils,) = (each["entity_id"] for each in run("store", entities=[NILS])["entities"])
    run("entities.correct", entity_id=nils, field="name", value="Berit Holmvik")
    run("store", entities=[{"target_id": nils, "name": "Carl Berg"}])
    run("store", entities=[{**NILS, "city": "Oslo"}])
    assert shown(run).keys() == {nils}
    assert audited(False) == {}
    run("store", entities=[BERIT])
    # What was said by id stays with the address: nobody knows of whom it was.
    assert len(run("entities.get", entity_id=nils)["parted_into"]) == 2
    assert audited(False) == {}


def test_a_rule_of_the_owner_that_names_the_address_decides_alone(run: Call, audited: Audited) -> None:
    fields = {"name": {"type": "string"}, "email": {"type": "string"}, "phone": {"type": "string"}}
    run(
        "schemas.register",
        schema={"entity_type": "person", "canonical_name_fields": ["email"], "fields": fields},
    )
    run("store", entities=[NILS])
    run("store", entities=[BERIT])
    assert len(shown(run)) == 1
    assert audited(False) == {}
