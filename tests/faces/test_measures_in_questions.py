"""The most, the least and sums in questions; who owes whom; and what somebody is in a relationship."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.walks import walk_over

BILLS = (
    ("B-1", "Own Ltd", "Rival", "1.200,00 EUR", "sent"),
    ("B-2", "Own Ltd", "Tailor", "90 EUR", "paid"),
    ("B-3", "Miller", "Own Ltd", "300 EUR", "open"),
    ("B-4", "Miller", "Own Ltd", "45 USD", "open"),
    ("B-5", "Own Ltd", "Rival", "7.000 EUR", "cancelled"),
)


@pytest.fixture
def world(run: Call) -> Call:
    entities: list[dict[str, Any]] = [
        {"entity_type": "person", "name": "Ida Own", "self": True},
        {"entity_type": "company", "name": "Own Ltd"},
        {"entity_type": "person", "name": "Ron Day", "birthday": "1990-01-01"},
        {"entity_type": "person", "name": "Sue Fox", "birthday": "1980-01-01"},
        {"entity_type": "company", "name": "Rival"},
        *(
            {"entity_type": "invoice", "title": title, "vendor": vendor, "customer": customer,
             "amount": amount, "status": status}
            for title, vendor, customer, amount, status in BILLS
        ),
    ]  # fmt: skip
    links: list[dict[str, Any]] = [
        {"relationship_type": "OWNS", "source_index": 0, "target_index": 1},
        {"relationship_type": "WORKS_AT", "source_index": 2, "target_index": 1,
         "metadata": {"role": "head cook"}},
        {"relationship_type": "WORKS_AT", "source_index": 3, "target_index": 4,
         "metadata": {"role": "driver"}},
        {"relationship_type": "REPORTS_TO", "source_index": 3, "target_index": 0},
        {"relationship_type": "EX_HUSBAND_OF", "source_index": 2, "target_index": 0},
    ]  # fmt: skip
    run("store", entities=entities, relationships=links, find_duplicates=False)
    return run


@walk_over(
    "question, names, says",
    [
        ("the largest unpaid invoice", ["B-1"], "largest: 1, 1200 EUR"),
        ("What do I owe?", ["B-3", "B-4"], ": 2"),
        ("Who owes us money?", ["B-1"], ": 1"),
        ("How much does Rival owe us?", ["B-1"], "the sum of 1 is 1200 EUR"),
        ("How much are the unpaid invoices?", ["B-1", "B-3", "B-4"], "the sum of 3 is 1500 EUR and 45 USD"),
        ("What is the largest invoice?", ["B-1"], "1200 EUR"),
        ("Does Sue Fox have unpaid invoices?", [], ": 0"),
        ("the second largest unpaid invoice", ["B-3"], "largest: 1, 300 EUR"),
        ("invoices over 300 EUR", ["B-1", "B-5"], "over 300 EUR"),
        ("unpaid invoices of less than 1.000 EUR", ["B-3"], "less than 1.000 EUR"),
        ("How many people work for us?", ["Ron Day", "Sue Fox"], ": 2"),
        ("How many employees do we have?", ["Ron Day", "Sue Fox"], ": 2"),
        ("How many people work at Rival?", ["Sue Fox"], ": 1"),
    ],
)
def test_values_of_a_kind_are_compared_and_added(
    world: Call, question: str, names: list[str], says: str
) -> None:
    page = world("entities.query", search=question)
    of_kind = [each["canonical_name"] for each in page["entities"] if each.get("matched") == "kind"]
    assert sorted(of_kind) == names
    assert says in page["understood"]["sentence"]
    assert (
        page["understood"]["sentence"] == world("search.explain", search=question)["understood"]["sentence"]
    )


@walk_over(
    "question, first",
    [
        ("Who is our head cook?", "Ron Day"),
        ("the driver of Rival", "Sue Fox"),
        ("the cook of Own Ltd", "Ron Day"),
        ("Ida Own's driver", "Sue Fox"),
        ("Who is my ex-husband?", "Ron Day"),
        ("my former husband", "Ron Day"),
        ("our oldest employee", "Sue Fox"),
        ("our youngest employee", "Ron Day"),
    ],
)
def test_a_role_may_stand_in_a_relationship(world: Call, question: str, first: str) -> None:
    assert world("entities.query", search=question)["entities"][0]["canonical_name"] == first


def test_nobody_has_the_role_that_a_friend_has_elsewhere(world: Call) -> None:
    friend = {"entity_type": "person", "name": "Ulf Ray"}
    links = [{"relationship_type": "FRIEND_OF", "source_index": 0, "target_index": 1}]
    world("store", entities=[friend, {"entity_type": "person", "name": "Sue Fox"}], relationships=links)
    page = world("entities.query", search="Ulf Ray's driver")["entities"]
    assert all("match" in each or each["canonical_name"] == "Ulf Ray" for each in page)


def test_a_name_that_its_signs_tell_apart_comes_first(run: Call) -> None:
    courses = [{"entity_type": "course", "name": name} for name in ("C# for all", "C++ for all", "C course")]
    run("store", entities=courses, find_duplicates=False)
    for question, first in (
        ("When does the C++ course start?", "C++ for all"),
        ("the C# course", "C# for all"),
    ):
        page = run("entities.query", search=question)["entities"]
        assert (page[0]["canonical_name"], page[0]["matched"]) == (first, "name_part")


def test_what_is_not_known_of_a_named_entity_is_said_first(world: Call) -> None:
    question = "What is the phone number of Sue Fox?"
    line = world("context.retrieve", question=question)["lines"][0]
    assert "): phone number: not known; " in line
    first = world("context.retrieve", question=question, format="fields")["lines"][0]
    assert (first["field"], first["value"], first["note"]) == ("phone number", None, "not known")
    assert "not known" not in world("context.retrieve", question="birthday of Sue Fox")["lines"][0]
    assert (
        "phone number: not known" in world("context.retrieve", question="Sue Fox's phone number")["lines"][0]
    )
    # A note says it, and another is about somebody else.
    world("store", entities=[{"entity_type": "note", "title": "The phone number of Ron is on the fridge"}])
    for name, is_known in (("Sue Fox", False), ("Ron Day", True)):
        (line, *_) = world("context.retrieve", question=f"What is the phone number of {name}?")["lines"]
        assert (line.startswith(name), "not known" in line) == (True, not is_known), line
