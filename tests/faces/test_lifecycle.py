"""Corrections, deletion and restoration, through every face."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import NotFound
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada", "phone": "1"}


@pytest.fixture
def ada(run: Call) -> str:
    """The id of a stored person."""
    return run("store", entities=[ADA])["entities"][0]["entity_id"]


def store_ada(run: Call, **fields: Any) -> dict[str, Any]:
    """Store one more observation of that person; return the answer."""
    return run("store", entities=[{**ADA, **fields}])


def test_a_correction_lasts_until_the_next_one(run: Call, ada: str) -> None:
    answer = run("entities.correct", entity_id=ada, field="phone", value="2")
    assert (answer["snapshot"]["phone"], answer["version"]) == ("2", 2)
    assert store_ada(run, phone="3")["entities"][0]["entity_snapshot_after"]["phone"] == "2"
    assert run("entities.correct", entity_id=ada, field="phone", value="4")["snapshot"]["phone"] == "4"


def test_a_correction_by_null_clears_the_field(run: Call, ada: str) -> None:
    assert "phone" not in run("entities.correct", entity_id=ada, field="phone", value=None)["snapshot"]
    assert "phone" not in store_ada(run, phone="5")["entities"][0]["entity_snapshot_after"]


def test_a_correction_is_the_provenance_of_its_field(run: Call, ada: str) -> None:
    corrected = run("entities.correct", entity_id=ada, field="phone", value="2")
    (observation,) = run("entities.provenance", entity_id=ada, field="phone")["observations"]
    assert (observation["id"], observation["kind"]) == (corrected["observation_id"], "correction")


@pytest.mark.parametrize("name", ["entities.delete", "entities.restore"])
def test_a_call_for_an_unknown_entity_is_404(call: Call, name: str) -> None:
    with pytest.raises(NotFound):
        call(name, entity_id="ent_" + "0" * 24)


def test_correcting_what_is_not_there_is_refused(call: Call) -> None:
    with pytest.raises(NotFound):
        call("entities.correct", entity_id="ent_" + "0" * 24, field="a", value=1)


def test_delete_and_restore_alternate_any_number_of_times(run: Call, ada: str) -> None:
    for round_ in range(3):
        assert run("entities.delete", entity_id=ada, reason=f"round {round_}")["state"] == "deleted"
        with pytest.raises(NotFound):
            run("entities.delete", entity_id=ada)
        assert run("entities.restore", entity_id=ada)["state"] == "live"
        with pytest.raises(NotFound):
            run("entities.restore", entity_id=ada)
    assert run("entities.get", entity_id=ada)["version"] == 7


def test_a_deleted_entity_is_in_no_answer(run: Call, ada: str) -> None:
    bob = run("store", entities=[{"entity_type": "person", "name": "Bob"}], relationships=[
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_entity_id": ada},
    ])["entities"][0]["entity_id"]  # fmt: skip
    run("entities.delete", entity_id=ada)
    for name, arguments in (
        ("entities.get", {"entity_id": ada}),
        ("entities.snapshot", {"entity_id": ada}),
        ("entities.snapshot", {"entity_id": ada, "at": "9999-01-01T00:00:00Z"}),
        ("entities.provenance", {"entity_id": ada, "field": "name"}),
        ("entities.related", {"entity_id": ada}),
        ("relationships.list", {"filters": {"entity_id": ada}}),
        ("observations.query", {"filters": {"entity_id": ada}}),
    ):
        with pytest.raises(NotFound):
            run(name, **arguments)
    for name, arguments in (
        ("entities.query", {}),
        ("entities.find", {"identifier": "Ada"}),
        ("entities.find", {"identifier": ada}),
        ("entities.related", {"entity_id": bob, "depth": 2}),
        ("relationships.list", {"filters": {"entity_id": bob}}),
        ("relationships.list", {}),
        ("relationships.list", {"filters": {"relationship_type": "works_at"}}),
        ("observations.query", {}),
        ("observations.query", {"filters": {"entity_type": "person"}}),
    ):
        assert ada not in str(run(name, **arguments)), name
    assert run("server.stats")["entities_by_type"] == {"person": 1}


def test_a_deleted_entity_is_answered_with_include_deleted(run: Call, ada: str) -> None:
    run("entities.delete", entity_id=ada)
    assert run("entities.get", entity_id=ada, include_deleted=True)["state"] == "deleted"
    assert run("entities.snapshot", entity_id=ada, include_deleted=True)["snapshot"]["name"] == "Ada"
    page = run("entities.query", include_deleted=True, include_total_count=True)
    assert ([entity["entity_id"] for entity in page["entities"]], page["total"]) == ([ada], 1)
    listed = run("observations.query", filters={"entity_id": ada}, include_deleted=True)
    assert [observation["kind"] for observation in listed["observations"]] == ["delete", "value"]
    for name in ("entities.get", "observations.query", "entities.history"):
        with pytest.raises(NotFound, match="include_deleted shows it"):
            run(name, entity_id=ada)
    history = run("entities.history", entity_id=ada, include_deleted=True)
    assert history["observations"] == listed["observations"]


def test_as_of_a_time_before_its_deletion_an_entity_is_there(run: Call, ada: str) -> None:
    before = run("entities.get", entity_id=ada)["last_observation_at"]
    run("entities.delete", entity_id=ada)
    for clock in ("at", "at_ingested"):
        then = run("entities.snapshot", entity_id=ada, **{clock: before})
        assert (then["state"], then["snapshot"]["name"]) == ("live", "Ada")


def test_a_store_onto_a_deleted_entity_is_kept_hidden_and_warned_of(run: Call, ada: str) -> None:
    run("entities.delete", entity_id=ada)
    (warning,) = store_ada(run, phone="9")["store_warnings"]
    assert (warning["code"], warning["entity_id"]) == ("ENTITY_DELETED", ada)
    assert "`graphmem entities restore`" in warning["message"]
    with pytest.raises(NotFound):
        run("entities.get", entity_id=ada)
    run("entities.restore", entity_id=ada)
    assert run("entities.get", entity_id=ada)["snapshot"]["phone"] == "9"


def test_a_value_or_a_correction_does_not_restore_a_deleted_entity(run: Call, ada: str) -> None:
    run("entities.delete", entity_id=ada)
    run_values = {"source_priority": 10_000}
    run("store", entities=[{**ADA, **run_values}])
    run("entities.correct", entity_id=ada, field="phone", value="7")
    with pytest.raises(NotFound):
        run("entities.get", entity_id=ada)


def test_a_deletion_is_replayed_by_its_key(run: Call, ada: str) -> None:
    first = run("entities.delete", entity_id=ada, idempotency_key="k")
    again = run("entities.delete", entity_id=ada, idempotency_key="k")
    assert again == {**first, "replayed": True}
