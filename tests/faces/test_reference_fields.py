"""Reference fields of schemas: the relationships that their values make, move and end."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput
from tests.support.audits import differences
from tests.support.event_loop import Loop
from tests.support.faces import Call

BILL = {
    "fields": {"name": "string", "vendor": "string", "payer": "string", "approvers": "array"},
    "canonical_name_fields": ["name"],
    "reference_fields": [
        {"field": "vendor", "target_entity_type": "companies", "relationship_type": "billed by"},
        {"field": "payer", "target_entity_type": "person", "relationship_type": "PAID_BY"},
        {"field": "approvers", "target_entity_type": "person", "relationship_type": "APPROVED_BY"},
    ],
}


@pytest.fixture
def bills(run: Call) -> None:
    run("schemas.register", entity_type="bill", schema=BILL)


def bill(**fields: Any) -> dict[str, Any]:
    return {"entity_type": "bill", "name": "B-1", **fields}


def edges(run: Call, **clocks: Any) -> set[tuple[str, str, str]]:
    """Return the live relationships by type and the names of their ends."""
    page = run("relationships.list", limit=100, expand_entities=True, **clocks)
    names = {each["entity_id"]: each["canonical_name"] for each in page["related_entities"]}
    return {
        (each["relationship_type"], names[each["source_entity_id"]], names[each["target_entity_id"]])
        for each in page["relationships"]
    }


def test_a_value_makes_its_relationship_and_what_it_names(run: Call, bills: None) -> None:
    person = {"entity_type": "person", "name": "Ada", "email": "ada@x.org"}
    ada = run("store", entities=[person])["entities"][0]["entity_id"]
    items = [bill(vendor="Acme", payer="ADA@x.org", approvers=["Ben", ada])]
    planned = run("store", entities=items, dry_run=True)
    assert len(planned["relationships_created"]) == 4
    assert edges(run) == set()
    stored = run("store", entities=items, idempotency_key="1")
    assert edges(run) == {
        ("BILLED_BY", "B-1", "Acme"), ("SETTLES", "Ada", "B-1"),
        ("APPROVED_BY", "B-1", "Ben"), ("APPROVED_BY", "B-1", "Ada"),
    }  # fmt: skip
    assert {each["action"] for each in stored["relationships_created"]} == {"created"}
    # Observed by the transaction that says so; a repeat stores nothing.
    again = run("store", entities=items, idempotency_key="1")
    assert (again["replayed"], again["entities_created"]) == (True, 0)
    assert run("store", entities=[bill(vendor="acme")])["entities_created"] == 0


def test_a_changed_value_ends_its_relationship_in_whatever_order_it_comes(run: Call, bills: None) -> None:
    said = [
        (bill(vendor="Acme"), "2024-01-01T00:00:00Z"),
        (bill(vendor="Beta", payer="Ada"), "2024-02-01T00:00:00Z"),
        (bill(payer=None), "2024-03-01T00:00:00Z"),
    ]
    for number, order in enumerate(itertools.permutations(said)):
        code = f"C-{number}"
        for item, observed_at in order:
            run("store", entities=[{**item, "name": code}], observed_at=observed_at)
        assert {each for each in edges(run) if each[1] == code} == {("BILLED_BY", code, "Beta")}, order
        then = {each for each in edges(run, at="2024-01-15T00:00:00Z") if each[1] == code}
        assert then == {("BILLED_BY", code, "Acme")}, order
    run("entities.correct", entity_id=_id(run, "C-0"), field="vendor", value="Gamma")
    assert ("BILLED_BY", "C-0", "Gamma") in edges(run)
    assert ("BILLED_BY", "C-0", "Beta") not in edges(run)
    assert run("store", entities=[{**bill(vendor="Beta"), "name": "C-0"}])["relationships_created"] == []


def _id(run: Call, name: str) -> str:
    (found,) = run("entities.query", entity_type="bill", search=name, limit=1)["entities"]
    return found["entity_id"]


def test_one_request_may_move_a_reference_many_times(run: Call, bills: None) -> None:
    both = run("store", entities=[bill(vendor="Acme"), {**bill(vendor="Acme"), "name": "B-2"}])
    assert len(both["relationships_created"]) == 2
    run("store", entities=[bill(vendor="Beta"), bill(vendor="Gamma"), bill(vendor="Acme")])
    shown = run("entities.get", entity_id=_id(run, "B-1"))["snapshot"]["vendor"]
    assert {each[2] for each in edges(run) if each[1] == "B-1"} == {shown}


def test_what_names_nothing_is_told_and_not_linked(run: Call, bills: None) -> None:
    run("schemas.register", entity_type="proof", schema={
        "fields": {"name": "string", "of": "string", "about": "string"}, "canonical_name_fields": ["name"],
        "reference_fields": [
            {"field": "of", "target_entity_type": "invoice", "relationship_type": "PROVES"},
            {"field": "about", "target_entity_type": "proof", "relationship_type": "ABOUT"},
        ],
    })  # fmt: skip
    stored = run("store", entities=[{"entity_type": "proof", "name": "P", "of": "INV-7", "about": "P"}])
    told = [each for each in stored["store_warnings"] if each["code"] == "REFERENCE_NOT_LINKED"]
    assert [(each["index"], each["field"]) for each in told] == [(0, "of"), (0, "about")]
    missing = run("store", entities=[bill(vendor="ent_" + "0" * 24)])
    assert [each["code"] for each in missing["store_warnings"]] == ["REFERENCE_NOT_LINKED"]
    assert edges(run) == set()


def test_a_withdrawn_file_takes_its_references_with_it(
    run: Call, loop: Loop, services: Services, owner: str, bills: None
) -> None:
    run("store", entities=[bill(vendor="Acme")], observed_at="2024-01-01T00:00:00Z")
    content = base64.b64encode(b"x").decode()
    stored = run(
        "store", entities=[bill(vendor="Beta")], file_content=content, observed_at="2024-02-01T00:00:00Z"
    )
    assert edges(run) == {("BILLED_BY", "B-1", "Beta")}
    run("sources.withdraw", source_id=stored["source_id"], reason="wrong")
    assert edges(run) == {("BILLED_BY", "B-1", "Acme")}
    assert not any(differences(loop, services, owner, deep=True).values())


def test_a_reference_is_a_field_a_type_and_a_name(run: Call) -> None:
    good = {"field": "vendor", "target_entity_type": "company", "relationship_type": "SOLD_BY"}
    for wrong in ({"field": "seller"}, {"target_entity_type": "9"}, {"relationship_type": "!"}, {"kind": 1}):
        with pytest.raises(InvalidInput):
            run(
                "schemas.register", entity_type="offer",
                schema={"fields": {"vendor": "string"}, "reference_fields": [{**good, **wrong}]},
            )  # fmt: skip
    run("schemas.register", entity_type="offer", schema={"fields": {"name": "string", "vendor": "string"}})
    run("schemas.update", entity_type="offer", reference_fields=[good])
    assert run("schemas.get", entity_type="offer")["reference_fields"] == [good]
    run("store", entities=[{"entity_type": "offer", "name": "O", "vendor": "Acme"}])
    assert edges(run) == {("SOLD_BY", "O", "Acme")}
    run("schemas.update", entity_type="offer", fields_to_remove=["vendor"])
    assert not run("schemas.get", entity_type="offer").get("reference_fields")
