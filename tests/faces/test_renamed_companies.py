"""A company that is renamed is one, under its new name."""

from __future__ import annotations

import json
from itertools import cycle, permutations, product
from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.long_cases import mostly_long
from tests.support.rule_merging import Audited

OLD = {"entity_type": "company", "name": "Alfa Kontor", "phone": "+49 30 1"}
NEW = {"entity_type": "company", "name": "Beta Kontor", "city": "Kiel"}


def store(run: Call, items: Any) -> None:
    """Store items one after the other, each observed a day later than the one before it."""
    for day, item in enumerate(items, 1):
        run("store", entities=[{**item, "observed_at": f"2026-01-{day:02}"}])


RENAMED = {
    "formerly": {**NEW, "formerly": "Alfa Kontor"},
    "previous_name": {**NEW, "previous_name": ["Alfa Kontor"]},
    "now": {**NEW, "name": "Alfa Kontor, now Beta Kontor"},
    "in brackets": {**NEW, "name": "Beta Kontor (formerly Alfa Kontor)"},
}
ORDERS = [*permutations(range(3))]


@pytest.mark.parametrize(
    ("how", "places"), mostly_long(product(RENAMED, ORDERS), *zip(cycle(RENAMED), ORDERS, strict=False))
)
def test_a_renamed_company_is_one_under_its_new_name(
    run: Call, audited: Audited, how: str, places: tuple[int, ...]
) -> None:
    store(run, [(OLD, NEW, RENAMED[how])[place] for place in places])
    (company,) = run("entities.query", entity_type="company", include_snapshots=True)["entities"]
    assert company["canonical_name"] == "Beta Kontor"
    assert (company["snapshot"]["phone"], company["snapshot"]["city"]) == ("+49 30 1", "Kiel")
    assert run("entities.find", identifier="Alfa Kontor")["entities"][0]["entity_id"] == company["entity_id"]
    assert audited(False) == {}


@pytest.mark.parametrize("entity_type", ["company", "organization", "supplier"])
@pytest.mark.parametrize("numbered", [None, 0, 1])
def test_so_is_a_company_of_another_type_and_with_a_number_under_either_name(
    run: Call, audited: Audited, entity_type: str, numbered: int | None
) -> None:
    items = [OLD, NEW, RENAMED["formerly"]]
    if numbered is not None:
        items[numbered] = {**items[numbered], "vat_id": "DE 1"}
    for number, order in enumerate(permutations(items)):
        text = json.dumps(order).replace("Kontor", f"Kontor {number}").replace("DE 1", f"DE 1{number}")
        store(run, [{**item, "entity_type": entity_type} for item in json.loads(text)])
    page = run("entities.query", entity_type=entity_type)
    names = sorted(each["canonical_name"] for each in page["entities"])
    assert names == [f"Beta Kontor {number}" for number in range(6)]
    assert audited(False) == {}


@pytest.mark.parametrize(
    "order", [*permutations((OLD, {**NEW, "vat_id": "DE 1"}, {**NEW, "formerly": "Alfa Kontor"}))]
)
def test_a_renamed_company_joins_that_of_its_number(run: Call, audited: Audited, order: Any) -> None:
    store(run, order)
    page = run("entities.query", entity_type="company")
    assert [each["canonical_name"] for each in page["entities"]] == ["Beta Kontor"]
    assert audited(False) == {}


FIRST = {"entity_type": "company", "name": "Alfa Kontor", "phone": "+49 30 1"}
SECOND = [
    {**FIRST, "name": "Beta Kontor", "formerly": "Alfa Kontor"},
    {**FIRST, "name": "Alfa Kontor, now Beta Kontor"},
]
THIRD = [
    {"entity_type": "company", "name": "Gamma Kontor", "previous_name": "Beta Kontor"},
    {"entity_type": "company", "name": "Beta Kontor, now Gamma Kontor"},
    {"entity_type": "company", "name": "Gamma Kontor (formerly Beta Kontor)"},
]
TWICE = [[FIRST, second, third] for second, third in product(SECOND, THIRD)]
TWICE += [[*SECOND, *THIRD[:2]], [FIRST, SECOND[0], {**THIRD[0], "formerly": ["Alfa Kontor", "Beta Kontor"]}]]


@pytest.mark.parametrize(
    ("items", "at_once"),
    mostly_long(product(range(len(TWICE)), [False, True]), (0, False), (4, False), (5, True), (7, False)),
)
def test_a_company_that_is_renamed_twice_is_one_under_its_newest_name(
    run: Call, audited: Audited, items: int, at_once: bool
) -> None:
    orders = [*permutations(TWICE[items])]
    for number, order in enumerate(orders if not at_once else orders[::5]):
        # Other names, so that the orders do not meet.
        named = [json.loads(json.dumps(item).replace("Kontor", f"Kontor {number}")) for item in order]
        for batch in [named] if at_once else [[each] for each in named]:
            run("store", entities=batch)
        page = run("entities.query", entity_type="company", limit=100)
        names = sorted(each["canonical_name"] for each in page["entities"])
        assert names == sorted(f"Gamma Kontor {each}" for each in range(number + 1)), order
    assert audited(False) == {}


def test_companies_that_were_called_what_the_other_is_stay_two(run: Call, audited: Audited) -> None:
    names = ["Alfa Kontor", "Beta Kontor", "Gamma Kontor"]
    for count in (2, 3):
        circle = names[:count]
        for name, former in zip(circle, [*circle[1:], circle[0]], strict=True):
            run(
                "store",
                entities=[
                    {"entity_type": "company", "name": f"{name} {count}", "formerly": f"{former} {count}"}
                ],
            )
    assert len(run("entities.query", entity_type="company")["entities"]) == 5
    assert audited(False) == {}
