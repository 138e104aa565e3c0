"""A company that is renamed is one, under its new name."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.rule_merging import Audited

OLD = {"entity_type": "company", "name": "Alfa Kontor", "phone": "+49 30 1"}
NEW = {"entity_type": "company", "name": "Beta Kontor", "city": "Kiel"}


def store(run: Call, items: Any) -> None:
    """Store items one after the other, each observed a day later than the one before it."""
    for day, item in enumerate(items, 1):
        run("store", entities=[{**item, "observed_at": f"2026-01-{day:02}"}])


@pytest.mark.parametrize(
    "renamed",
    [
        {**NEW, "formerly": "Alfa Kontor"},
        {**NEW, "previous_name": ["Alfa Kontor"]},
        {**NEW, "name": "Alfa Kontor, now Beta Kontor"},
        {**NEW, "name": "Beta Kontor (formerly Alfa Kontor)"},
    ],
    ids=["formerly", "previous_name", "now", "in brackets"],
)
@pytest.mark.parametrize("places", [*permutations(range(3))])
def test_a_renamed_company_is_one_under_its_new_name(
    run: Call, audited: Audited, renamed: Any, places: tuple[int, ...]
) -> None:
    store(run, [(OLD, NEW, renamed)[place] for place in places])
    (company,) = run("entities.query", entity_type="company", include_snapshots=True)["entities"]
    assert company["canonical_name"] == "Beta Kontor"
    assert (company["snapshot"]["phone"], company["snapshot"]["city"]) == ("+49 30 1", "Kiel")
    assert run("entities.find", identifier="Alfa Kontor")["entities"][0]["entity_id"] == company["entity_id"]
    assert audited(False) == {}


@pytest.mark.parametrize(
    "order", [*permutations((OLD, {**NEW, "vat_id": "DE 1"}, {**NEW, "formerly": "Alfa Kontor"}))]
)
def test_a_renamed_company_joins_that_of_its_number(run: Call, audited: Audited, order: Any) -> None:
    store(run, order)
    page = run("entities.query", entity_type="company")
    assert [each["canonical_name"] for each in page["entities"]] == ["Beta Kontor"]
    assert audited(False) == {}
