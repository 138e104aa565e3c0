"""Interpretations: what callers read in sources, with the place of each field in the file."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import IdempotencyMismatch, NotFound, StoreRefused
from graphmem.model import canonical, ids
from tests.faces.test_sources import with_file
from tests.support.faces import Call

TOTAL = {"page": 2, "start": 17, "end": 29, "quote": "Total 120.50"}
INVOICE: dict[str, Any] = {
    "entity_type": "invoice",
    "invoice_number": "2026-17",
    "amount": 120.5,
    "span": {"page": 2},
    "spans": {"amount": TOTAL, "invoice_number": {"line": 3}},
}


def stored(run: Call) -> str:
    """Store a file that nobody interprets; return the id of its source."""
    entities = [{"entity_type": "note", "title": "there is an invoice"}]
    return run("store", entities=entities, **with_file(b"an invoice", "invoice.txt"))["source_id"]


def test_an_agent_says_what_it_read_and_where(run: Call, owner: str) -> None:
    source_id = stored(run)
    source = run("sources.get", source_id=source_id)
    answer = run(
        "interpretations.create", source_id=source_id, entities=[INVOICE], model="some-model",
        interpretation_config={"prompt": 3},
    )  # fmt: skip
    (item,) = answer["entities"]
    config_hash = canonical.digest({"prompt": 3})
    expected_id = ids.interpretation_id(source_id, "agent", "1", config_hash, 0)
    assert answer["interpretation_id"] == expected_id
    assert (answer["entities_created"], answer["observations_created"]) == (1, 1)
    assert item["entity_snapshot_after"] == {"invoice_number": "2026-17", "amount": 120.5}

    listed = run("observations.query", entity_id=item["entity_id"])["observations"]
    (observation,) = listed
    assert (observation["source_id"], observation["interpretation_id"]) == (source_id, expected_id)
    assert (observation["source_priority"], observation["specificity_score"]) == (0.0, 0.5)
    assert observation["observed_at"] == source["created_at"]
    assert observation["span"] == {
        "page": 2, "fields": {"amount": TOTAL, "invoice_number": {"line": 3}},
    }  # fmt: skip

    provenance = run("entities.provenance", entity_id=item["entity_id"], field="amount")
    place = {"observation_id": observation["id"], "source_id": source_id}
    assert provenance["places"] == [{**place, **TOTAL}]
    provenance = run("entities.provenance", entity_id=item["entity_id"], field="invoice_number")
    assert provenance["places"] == [{**place, "line": 3, "quote": "2026-17"}]

    interpretation = run("interpretations.get", interpretation_id=expected_id)
    assert interpretation["status"] == "completed"
    assert interpretation["interpretation_config"] == {"prompt": 3}
    assert (interpretation["model"], interpretation["run"]) == ("some-model", 0)
    assert (interpretation["observations_created"], interpretation["entities_created"]) == (1, 1)
    assert interpretation["transaction_id"] == answer["transaction_id"]
    assert interpretation["completed_at"] == answer["recorded_at"]


def test_a_field_without_a_place_has_that_of_its_item(run: Call) -> None:
    source_id = stored(run)
    item = {**INVOICE, "spans": {}}
    answer = run("interpretations.create", source_id=source_id, entities=[item])
    entity_id = answer["entities"][0]["entity_id"]
    (place,) = run("entities.provenance", entity_id=entity_id, field="amount")["places"]
    assert place["page"] == 2
    assert "quote" not in place


def test_what_callers_store_has_no_place(run: Call) -> None:
    answer = run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    entity_id = answer["entities"][0]["entity_id"]
    assert "places" not in run("entities.provenance", entity_id=entity_id, field="name")


def test_runs_of_one_interpreter_are_numbered(run: Call) -> None:
    source_id = stored(run)
    arguments = {"source_id": source_id, "entities": [INVOICE]}
    first = run("interpretations.create", **arguments)
    second = run("interpretations.create", **arguments)
    other = run("interpretations.create", **arguments, interpretation_config={"prompt": 4})
    page = run("interpretations.list", source_id=source_id, include_total_count=True)
    rows = page["interpretations"]
    assert page["total"] == 3
    assert [(row["interpretation_id"], row["run"]) for row in rows] == [
        (other["interpretation_id"], 0), (second["interpretation_id"], 1), (first["interpretation_id"], 0),
    ]  # fmt: skip
    newest, *_ = run("interpretations.list", limit=1)["interpretations"]
    assert newest == rows[0]
    assert run("interpretations.list", status="failed")["interpretations"] == []


def test_a_repeat_with_the_same_key_is_the_same_interpretation(run: Call) -> None:
    arguments = {"source_id": stored(run), "entities": [INVOICE], "idempotency_key": "reading"}
    first = run("interpretations.create", **arguments)
    again = run("interpretations.create", **arguments)
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert again["interpretation_id"] == first["interpretation_id"]
    assert again["observations_created"] == 0
    with pytest.raises(IdempotencyMismatch):
        run("interpretations.create", **{**arguments, "interpretation_config": {"prompt": 2}})
    assert len(run("interpretations.list")["interpretations"]) == 1


@pytest.mark.parametrize(
    ("places", "path"),
    [
        ({"span": {"page": 0}}, "$.entities[0].span.page"),
        ({"span": {"colour": "red"}}, "$.entities[0].span.colour"),
        ({"span": "page 2"}, "$.entities[0].span"),
        ({"span": {"start": 5, "end": 4}}, "$.entities[0].span.end"),
        ({"spans": {"colour": {"page": 1}}}, "$.entities[0].spans.colour"),
        ({"spans": [1]}, "$.entities[0].spans"),
        ({"spans": {"amount": {"quote": "x" * 1001}}}, "$.entities[0].spans.amount.quote"),
    ],
)
def test_a_wrong_place_is_refused_and_nothing_is_stored(run: Call, places: Any, path: str) -> None:
    source_id = stored(run)
    with pytest.raises(StoreRefused) as raised:
        run("interpretations.create", source_id=source_id, entities=[{**INVOICE, **places}])
    assert [(issue["code"], issue["path"]) for issue in raised.value.details["issues"]] == [
        ("ERR_SPAN", path)
    ]
    assert run("interpretations.list")["interpretations"] == []


def test_an_interpretation_needs_a_source_of_the_owner(run: Call) -> None:
    with pytest.raises(NotFound):
        run("interpretations.create", source_id=ids.source_id("another", "0" * 64), entities=[INVOICE])
    with pytest.raises(NotFound):
        run("interpretations.get", interpretation_id="int_" + "0" * 24)


def test_a_later_statement_of_a_caller_wins_over_an_older_reading(run: Call) -> None:
    stated = {"entity_type": "invoice", "invoice_number": "2026-17", "amount": 99}
    entity_id = run("store", entities=[stated])["entities"][0]["entity_id"]
    source_id = stored(run)
    item = {**INVOICE, "observed_at": "2020-01-01"}
    run("interpretations.create", source_id=source_id, entities=[item])
    assert run("entities.snapshot", entity_id=entity_id)["snapshot"]["amount"] == 99
