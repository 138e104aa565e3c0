"""A number of its own identifies a thing, whatever comes first."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.rule_merging import Audited

SENT = {"entity_type": "invoice", "number": "R-17", "amount": 500, "status": "sent"}
PAID = {"entity_type": "invoice", "invoice_no": "r-17", "status": "paid"}
OF_ACME = {"entity_type": "invoice", "vendor": "Acme", "number": "R-17", "currency": "EUR"}
OF_BETA = {"entity_type": "invoice", "vendor": "Beta", "number": "R-17"}


def shown(run: Call, entity_type: str = "invoice") -> list[dict[str, Any]]:
    """Return the snapshots that a list shows, by their texts."""
    page = run("entities.query", entity_type=entity_type, include_snapshots=True)
    return sorted((each["snapshot"] for each in page["entities"]), key=str)


def store(run: Call, items: list[dict[str, Any]]) -> None:
    """Store items one after the other, each observed a day later than the one before it."""
    for day, item in enumerate(items, 1):
        run("store", entities=[{**item, "observed_at": f"2026-01-{day:02}"}])


def test_an_invoice_that_is_paid_later_is_one(run: Call, audited: Audited) -> None:
    first, second = (run("store", entities=[item])["entities"][0] for item in (SENT, PAID))
    assert (first["entity_id"], first["identity_basis"]) == (second["entity_id"], "number")
    (invoice,) = shown(run)
    assert (invoice["status"], invoice["amount"]) == ("paid", 500)
    assert audited(False) == {}


@pytest.mark.parametrize(
    "item",
    [
        {"entity_type": "order", "order_no": 7},
        {"entity_type": "contract", "contract_number": "C 7"},
        {"entity_type": "offer", "Angebotsnummer": "A-7"},
        {"entity_type": "booking", "booking_reference": "X7Y8"},
        {"entity_type": "ticket", "ticket_id": 7},
        {"entity_type": "policy", "insurer": "Allianz", "policy number": "P7"},
        {"entity_type": "device", "serial": "S7"},
        {"entity_type": "pet", "microchip": "276 098 1"},
        {"entity_type": "car", "license plate": "B-AB 7"},
        {"entity_type": "book", "ISBN": "978-3-16-148410-0"},
        {"entity_type": "product", "SKU": "T-7"},
        {"entity_type": "account", "IBAN": "DE89 3704 0044 0532 0130 00"},
        {"entity_type": "company", "VAT ID": "DE 123"},
    ],
    ids=lambda item: item["entity_type"],
)
def test_what_has_a_number_of_its_own_is_one_by_it(run: Call, item: dict[str, Any]) -> None:
    names = [{**item, "name": name, "email": f"{name}@example.org"} for name in ("ann", "bo")]
    assert len({run("store", entities=[each])["entities"][0]["entity_id"] for each in names}) == 1
    bare = {
        name: value.replace(" ", "").replace("-", "") if isinstance(value, str) else value
        for name, value in item.items()
    }
    if item["entity_type"] in ("book", "account", "pet", "car"):
        assert run("store", entities=[bare])["entities"][0]["action"] == "matched_existing"


@pytest.mark.parametrize("entity_type", ["person", "contact", "employee"])
def test_no_number_identifies_a_person(run: Call, entity_type: str) -> None:
    people = [
        {"entity_type": entity_type, "name": name, "number": 7, "vat_id": "DE 7"} for name in ("Ann", "Bo")
    ]
    assert len({each["entity_id"] for each in run("store", entities=people)["entities"]}) == 2


def test_the_number_of_another_thing_identifies_no_invoice(run: Call) -> None:
    invoices = [
        {"entity_type": "invoice", "amount": amount, "iban": "DE1", "customer_number": 7, "order_no": 8}
        for amount in (1, 2)
    ]
    assert len({each["entity_id"] for each in run("store", entities=invoices)["entities"]}) == 2


def test_a_number_without_a_digit_identifies_nothing(run: Call) -> None:
    invoices = [{"entity_type": "invoice", "number": "n/a", "amount": amount} for amount in (1, 2)]
    assert len({each["entity_id"] for each in run("store", entities=invoices)["entities"]}) == 2


@pytest.mark.parametrize("order", [*permutations((SENT, PAID, OF_ACME))])
def test_a_number_joins_the_one_issuer_that_has_it(run: Call, audited: Audited, order: Any) -> None:
    store(run, order)
    (invoice,) = shown(run)
    assert (invoice["vendor"], invoice["amount"]) == ("Acme", 500)
    assert audited(False) == {}


@pytest.mark.parametrize("order", [*permutations((SENT, OF_ACME, OF_BETA))])
def test_of_two_issuers_of_one_number_what_has_none_belongs_to_neither(
    run: Call, audited: Audited, order: Any
) -> None:
    store(run, order)
    assert {each.get("vendor") for each in shown(run)} == {"Acme", "Beta", None}
    assert audited(False) == {}


@pytest.mark.parametrize(
    "customers", [("Kern", "Kern"), ("Kern", "Lind")], ids=["one customer", "two customers"]
)
def test_oneself_issues_a_number_towards_a_customer(run: Call, audited: Audited, customers: Any) -> None:
    store(run, [{**SENT, "customer": customers[0]}, {**PAID, "client": customers[1]}])
    assert len(shown(run)) == len({*customers})
    assert audited(False) == {}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("currency", ("EUR", "USD")),
        ("invoice_date", ("2026-01-05", "2025-01-05")),
        ("counterparty", ("Kern", "Lind")),
    ],
)
def test_what_is_said_beside_a_number_parts_it(
    run: Call, audited: Audited, field: str, values: tuple[str, str]
) -> None:
    for order in permutations(({**SENT, field: values[0]}, {**SENT, field: values[1]}, PAID)):
        store(run, [*order])
    assert sorted(each[field] for each in shown(run) if field in each) == sorted(values)
    # What fits both belongs to neither.
    assert len(shown(run)) == 3
    assert audited(False) == {}


@pytest.mark.parametrize(
    "order", [*permutations(({**SENT, "currency": "EUR"}, {**SENT, "currency": "USD"}, OF_ACME))]
)
def test_the_part_of_a_number_that_fits_an_issuer_joins_it(run: Call, audited: Audited, order: Any) -> None:
    store(run, order)
    invoices = shown(run)
    assert [(each["currency"], each.get("vendor")) for each in invoices] == [("EUR", "Acme"), ("USD", None)]
    assert audited(False) == {}


def test_a_contradiction_with_an_issuer_keeps_a_number_apart(run: Call, audited: Audited) -> None:
    for order in permutations((OF_ACME, {**SENT, "currency": "USD"})):
        store(run, [*order])
    assert len(shown(run)) == 2
    assert audited(False) == {}


def test_a_name_is_no_contradiction(run: Call, audited: Audited) -> None:
    product = {"entity_type": "product", "sku": "T-7"}
    store(run, [{**product, "name": "Chair"}, {**product, "name": "Chair, blue", "vendor": "Acme"}])
    assert len(shown(run, "product")) == 1
    store(run, [{"entity_type": "product", "name": "Chair", "price": 5}])
    assert [each["price"] for each in shown(run, "product")] == [5]
    assert audited(False) == {}


def test_a_registered_schema_decides_before_a_number(run: Call) -> None:
    run(
        "schemas.register",
        entity_type="invoice",
        schema_definition={
            "fields": {"number": {"type": "string"}, "year": {"type": "number"}},
            "canonical_name_fields": ["number", "year"],
        },
        activate=True,
    )
    items = [{**SENT, "year": year} for year in (2025, 2026)]
    assert len({each["entity_id"] for each in run("store", entities=items)["entities"]}) == 2
