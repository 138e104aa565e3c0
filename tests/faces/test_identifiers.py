"""Identifiers: what is looked up answers itself or nothing, in look-ups and in searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

IBAN = "DE89 3704 0044 0532 0130 00"
CARD = "4111 1111 1111 1111"


def names(answer: dict[str, Any]) -> list[str]:
    return [item["canonical_name"] for item in answer["entities"]]


def note(run: Call, name: str, **fields: Any) -> str:
    item = {"entity_type": "note", "canonical_name": name, **fields}
    return run("store", entities=[item], find_duplicates=False)["entities"][0]["entity_id"]


@pytest.mark.parametrize(
    ("looked_up", "has", "others"),
    [
        (
            "ada@example.org",
            "write to <Ada@example.org>, please",
            ["ada@example.org.uk", "mary-ada@example.org", "https://ada.example.org/", "ada example org"],
        ),
        ("https://acme.example/jobs", "see acme.example/jobs.", ["https://acme.example/jobs/42"]),
        (
            "INV-2024-001",
            "Please pay INV-2024-001 soon.",
            ["INV-2024-001-B", "INV-2024-0010", "XINV-2024-001", "INV-2024-00", "a/INV-2024-001"],
        ),
        (
            "01 23 45 67 32",
            "call 01 23 45 67 32 or write",
            ["phone 01 23 45 67 89, fax 01 98 76 54 32", "01 23 45 67 32 10"],
        ),
        ("47110815", "No. 47110815!", ["47110815.5", "147110815", "+47110815", "$47110815"]),
        (IBAN, f"IBAN: {IBAN}.", ["DE89 3704 0044 0532 0130 01", f"{IBAN[:-3]}", "DE89 3704"]),
        (IBAN.replace(" ", ""), f"IBAN: {IBAN}.", ["DE89 3704 0044 0532 0130 01"]),
        (IBAN.replace(" ", "-"), f"IBAN: {IBAN}.", ["DE89370400440532013001"]),
        (CARD, CARD.replace(" ", ""), [f"{CARD} 1111", "4111 1111 1111"]),
    ],
)
def test_an_identifier_finds_itself_alone(run: Call, looked_up: str, has: str, others: list[str]) -> None:
    """No identifier is the beginning or the end of another one."""
    for number, text in enumerate(others):
        note(run, f"other {number}", text=text)
    for operation, argument in (("entities.find", "identifier"), ("entities.query", "search")):
        assert names(run(operation, **{argument: looked_up})) == []
    note(run, "one that has it", text=has)
    for operation, argument in (("entities.find", "identifier"), ("entities.query", "search")):
        assert names(run(operation, **{argument: looked_up})) == ["one that has it"]


def test_the_words_of_a_number_stand_in_a_row_in_one_value(run: Call) -> None:
    note(run, "Office", phone="01 23 45 67 89", fax="01 98 76 54 32")
    assert names(run("entities.find", identifier="01 23 45 67 32")) == []
    answer = run("entities.find", identifier="01 98 76 54 32")
    assert (names(answer), answer["match_mode"]) == (["Office"], "identifier")


@pytest.mark.parametrize("spelled", [IBAN, IBAN.replace(" ", ""), IBAN.replace(" ", "-"), IBAN.lower()])
def test_an_external_id_is_the_same_with_and_without_blanks_and_hyphens(run: Call, spelled: str) -> None:
    for stored in (IBAN, IBAN.replace(" ", "")):
        note(run, stored, external_id=stored)
    answer = run("entities.find", identifier=spelled)
    assert sorted(names(answer)) == sorted([IBAN, IBAN.replace(" ", "")])
    assert answer["match_mode"] == "identifier"


def test_a_code_is_the_same_with_and_without_hyphens_in_the_same_places(run: Call) -> None:
    for stored in ("INV-2024-001", "INV-2024-0011", "INV-20240-01"):
        note(run, stored, number=stored)
    for spelled in ("INV-2024-001", "INV2024001", "inv2024001"):
        assert names(run("entities.find", identifier=spelled)) == ["INV-2024-001"]
    assert names(run("entities.find", identifier="INV-2024001")) == []


@pytest.mark.parametrize("number", ["DE89 3704 0044 0532 0130 01", "4111 1111 1111 1112", "AB12 CD34 EF57"])
def test_a_grouped_number_that_nobody_has_answers_nothing(run: Call, number: str) -> None:
    note(run, "Accounts", text="a bank account number, an order number, a card number")
    note(run, "Payments", iban=IBAN, card=CARD, order_number="AB12 CD34 EF56")
    for operation, argument in (("entities.find", "identifier"), ("entities.query", "search")):
        assert names(run(operation, **{argument: number})) == []


@pytest.mark.parametrize(
    "date", ["2024-05-08", "2024/05/08", "08.05.2024", "8 May 2024", "May 8, 2024", "2024-05-08T14:00:00Z"]
)
def test_a_date_is_no_identifier_and_matches_however_it_is_written(run: Call, date: str) -> None:
    note(run, "Visit", at="2024-05-08T14:00:00Z")
    note(run, "Later", at="2024-05-09T14:00:00Z", text="2024 05 08")
    note(run, "Before", at="2024-05-18", text="INV-2024-05-08")
    for operation, argument in (("entities.find", "identifier"), ("entities.query", "search")):
        assert names(run(operation, **{argument: date}))[:1] == ["Visit"]
    assert names(run("entities.find", identifier=date)) == ["Visit"]


def test_a_day_and_a_month_find_what_is_written_in_words(run: Call) -> None:
    note(run, "In words", text="we met on 8 May 2024 in Rome")
    note(run, "As digits", text="we met on 2024-05-08, in Oslo")
    note(run, "Another month", text="we met on 2024-06-08, in Oslo")
    for looked_up in ("2024-05-08", "2024-05"):
        assert sorted(names(run("entities.find", identifier=looked_up))) == ["As digits", "In words"]


FIELDS = {
    "order_number": "ORD-77", "iban": IBAN, "sku": "TB-0042", "isbn": "978-3-16-148410-0",
    "tracking_number": "1Z999AA10123456784", "serial_number": "SN4711-0815-22",
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_a_whole_value_of_any_field_is_an_identifier_of_its_entity(run: Call, field: str) -> None:
    value = FIELDS[field]
    run("store", entities=[{"entity_type": "order", "title": "Chairs", field: value}])
    note(run, "Letter", text=f"about {value}, as we said")
    for looked_up in (value, value.lower()):
        answer = run("entities.find", identifier=looked_up)
        assert (names(answer), answer["match_mode"], answer["total"]) == (["Chairs"], "identifier", 1), (
            looked_up
        )
        (first,) = answer["entities"]
        assert (first["matched"], first["matched_field"], first["score"]) == ("field", field, 1.0)
        assert "match" not in answer
        assert "match" not in first
        assert [item["canonical_name"] for item in answer["resembling"]] == ["Letter"]
    page = run("entities.query", search=value)
    assert names(page) == ["Chairs", "Letter"]
    assert [item.get("matched_field") for item in page["entities"]] == [field, None]
    assert page["entities"][1]["match"] == "resemblance"


def test_a_field_that_a_schema_names_as_identity_identifies(run: Call) -> None:
    schema = {"fields": {"badge": "string", "team": "string"}, "canonical_name_fields": ["badge"]}
    run("schemas.register", entity_type="guard", schema=schema)
    run("store", entities=[{"entity_type": "guard", "badge": "Blue Falcon", "team": "North Gate"}])
    note(run, "Letter", text="the blue falcon stands at the north gate")
    answer = run("entities.find", identifier="blue falcon")
    assert (len(names(answer)), answer["match_mode"]) == (1, "identifier")
    first = answer["entities"][0]
    assert (first["entity_type"], first["matched"], first["matched_field"]) == ("guard", "field", "badge")
    answer = run("entities.find", identifier="north gate")
    assert (answer["match_mode"], answer["match"]) == ("text", "resemblance")


def test_a_restriction_reaches_what_an_identifier_proposes(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    """The list of one strategy is cut before the filters, unless they reach the query."""
    items = [{"entity_type": "note", "title": f"Note {i}", "text": "CODE-2026 agreed"} for i in range(12)]
    items.append({"entity_type": "company", "name": "Acme"})
    link = {"relationship_type": "REFERS_TO", "source_index": 7, "target_index": 12}
    stored = run("store", entities=items, relationships=[link], find_duplicates=False)["entities"]
    limits = Limits(search_list=5, search_identified=5)
    limited = by_runner(loop, replace(services, limits=limits), owner)
    related = {"related_to": stored[12]["entity_id"]}
    for search in ("CODE-2026", "agreed"):
        page = limited("entities.query", search=search, filters=related, include_total_count=True)
        assert (names(page), page["total"]) == (["Note 7"], 1), search
    # Where a list was cut, the answer says so, and counts nothing.
    title = {"snapshot_filters": {"title": {"op": "eq", "value": "Note 7"}}}
    page = limited("entities.query", search="CODE-2026", filters=title, include_total_count=True)
    assert (page["exact"], page.get("total")) == (False, None)
    page = run("entities.query", search="CODE-2026", filters=title, include_total_count=True)
    assert (names(page), page["total"]) == (["Note 7"], 1)
    assert "exact" not in page


def test_a_year_finds_dates_and_words_in_a_list_with_filters(run: Call) -> None:
    items = [{"entity_type": "note", "title": f"Note {i}", "day": f"2026-01-{i + 1:02}"} for i in range(6)]
    items += [{"entity_type": "company", "name": "Acme"}, {"entity_type": "note", "title": "20261"}]
    link = {"relationship_type": "REFERS_TO", "source_index": 3, "target_index": 6}
    stored = run("store", entities=items, relationships=[link], find_duplicates=False)["entities"]
    assert len(names(run("entities.query", search="2026"))) == 6
    related = {"related_to": stored[6]["entity_id"]}
    page = run("entities.query", search="2026", filters=related, include_total_count=True)
    assert (names(page), page["total"]) == (["Note 3"], 1)
