"""Identifiers within questions: one that nobody has is answered by nothing similar to the rest of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call

IBAN = "DE89 3704 0044 0532 0130 00"


def names(answer: dict[str, Any]) -> list[str]:
    return [item["canonical_name"] for item in answer["entities"]]


def note(run: Call, name: str, **fields: Any) -> str:
    item = {"entity_type": "note", "canonical_name": name, **fields}
    return run("store", entities=[item], find_duplicates=False)["entities"][0]["entity_id"]


ORDERS = "the status of an order, the phone of somebody, an invoice for chairs, an account"
UNKNOWN = [
    "Status of INV-2024-999?", "Order 4711", "Who has +44 20 7946 0019?", "What about ORD-77?",
    "Whose IBAN is DE89 3704 0044 0532 0130 01?", "Is ticket #4711 open?",
    "Who paid with 4111 1111 1111 1112?",
    "Who owns https://acme.example/jobs?", "invoice number 47110815",
]  # fmt: skip


@pytest.mark.parametrize("question", UNKNOWN)
def test_an_identifier_within_a_question_that_nobody_has_answers_nothing_similar(
    run: Call, question: str
) -> None:
    note(run, "Orders", text=ORDERS)
    note(run, "More", text=f"{ORDERS}, of INV-2024-998, +44 20 7946 0018")
    answer = run("entities.find", identifier=question)
    assert (names(answer), answer["match_mode"]) == ([], "none")
    # A list has the rest of the question, and says that it is only that.
    page = run("entities.query", search=question)
    assert {item["match"] for item in page["entities"]} <= {"resemblance"}


@pytest.mark.parametrize("question", ["Status of INV-2024-999?", "Who mentions ORD-77 and why?"])
def test_what_mentions_an_identifier_answers_the_question_that_has_it(run: Call, question: str) -> None:
    note(run, "Letter", text="We wait for INV-2024-999 and ORD-77.")
    note(run, "Orders", text=ORDERS)
    answer = run("entities.find", identifier=question)
    assert (names(answer), answer["match"]) == (["Letter"], "resemblance")


def test_beside_what_a_question_names_nothing_similar_stands_for_an_unknown_identifier(run: Call) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Tom Ek"}])
    note(run, "Paid", text="did somebody pay the invoice, and when did he pay it")
    answer = run("entities.find", identifier="When did Tom Ek pay INV-2024-999?")
    assert (names(answer), answer.get("resembling")) == (["Tom Ek"], None)


@pytest.mark.parametrize(
    "question",
    [
        "3 bedrooms", "the 2024 budget", "room 12 keys", "the iPhone 15 case", "the 600 mm mirror",
        "plans for Q3", "a meeting at 10:30", "a run of 5km",
    ],
)  # fmt: skip
def test_small_numbers_and_quantities_in_a_question_are_no_identifiers(run: Call, question: str) -> None:
    note(run, "It", text=f"notes on {question} of ours")
    note(run, "Not it", text="an unrelated text about singing birds")
    assert names(run("entities.find", identifier=question)) == ["It"]


@pytest.mark.parametrize("value", ["ORD-77", IBAN, "978-3-16-148410-0", "1Z999AA10123456784"])
def test_a_whole_value_of_any_field_answers_a_question(run: Call, value: str) -> None:
    run("store", entities=[{"entity_type": "order", "title": "Chairs", "reference": value}])
    note(run, "Letter", text=f"about {value}, as we said")
    answer = run("entities.find", identifier=f"What is the status of {value}?")
    assert (names(answer), answer["match_mode"], answer["total"]) == (["Chairs"], "identifier", 1)
    assert answer["entities"][0]["matched_by"] == value
    assert [item["canonical_name"] for item in answer["resembling"]] == ["Letter"]


@pytest.mark.parametrize("spelled", [IBAN, IBAN.replace(" ", ""), IBAN.lower()])
def test_an_external_id_in_a_question_is_the_same_with_and_without_blanks(run: Call, spelled: str) -> None:
    for stored in (IBAN, IBAN.replace(" ", "")):
        note(run, stored, external_id=stored)
    answer = run("entities.find", identifier=f"Whose is {spelled}?")
    assert sorted(names(answer)) == sorted([IBAN, IBAN.replace(" ", "")])
    assert answer["match_mode"] == "identifier"


def test_a_list_has_what_the_identifier_names_and_what_else_the_question_does(run: Call) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Tom Ek"}])
    run("store", entities=[{"entity_type": "order", "title": "Chairs", "reference": "ORD-77"}])
    page = run("entities.query", search="Did Tom Ek pay ORD-77?")
    assert {item["canonical_name"]: item["matched"] for item in page["entities"]} == {
        "Tom Ek": "name", "Chairs": "field"
    }  # fmt: skip
    page = run("entities.query", search="Did Tom Ek pay ORD-78?")
    assert (names(page)[0], page["entities"][0]["matched"]) == ("Tom Ek", "name")
    assert page["hint"] == "no entity has the identifier ORD-78"
