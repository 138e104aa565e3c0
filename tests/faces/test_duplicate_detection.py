"""``duplicate_detection_fields`` of a schema: what is compared, and from which score a pair is proposed."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import SchemaRefused
from tests.support.faces import Call

FIELDS = {
    "name": {"type": "string"}, "label": {"type": "string"}, "vintage": {"type": "number"},
    "email": {"type": "string"},
}  # fmt: skip


def register(run: Call, **settings: Any) -> dict[str, Any]:
    return run("schemas.register", schema={"entity_type": "wine", "fields": FIELDS, **settings})


def wines(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"entity_type": "wine", "intent": "create_new", **item} for item in items]


def proposed(run: Call, **arguments: Any) -> list[dict[str, Any]]:
    return run("entities.duplicates", entity_type="wine", **arguments)["candidates"]


def test_only_the_declared_fields_are_compared(run: Call) -> None:
    register(run, duplicate_detection_fields=["label", "vintage"])
    same = {"label": "Ridge Monte Bello", "vintage": 1971}
    run("store", entities=wines({"name": "A", **same}, {"name": "Quite another", **same}))
    run("store", entities=wines({"name": "Opus One"}, {"name": "Opus One"}))
    (pair,) = proposed(run)
    assert pair["score"] == 0.98
    assert [reason["field"] for reason in pair["reasons"]] == ["label", "vintage"]
    assert pair["matched_fields"] == ["label", "vintage"]


def test_a_difference_in_a_declared_field_is_a_doubt(run: Call) -> None:
    register(run, duplicate_detection_fields=["label", "vintage"])
    label = {"label": "Ridge Monte Bello"}
    run("store", entities=wines({**label, "vintage": 1971}, {**label, "vintage": 1984}))
    assert proposed(run) == []
    (pair,) = proposed(run, threshold=0.8)
    assert (pair["score"], pair["matched_fields"]) == (0.84, ["label"])


def test_the_usual_fields_keep_what_they_mean(run: Call) -> None:
    register(run, duplicate_detection_fields=["email"])
    email = {"email": "cellar@example.org"}
    run("store", entities=wines({"name": "A", **email}, {"name": "B", **email, "label": "x"}))
    (pair,) = proposed(run)
    assert [reason["field"] for reason in pair["reasons"]] == ["email"]


def test_the_threshold_of_a_schema_holds_unless_the_call_has_one(run: Call) -> None:
    register(run, duplicate_detection_threshold=0.98)
    run("store", entities=wines({"name": "Opus One"}, {"name": "Opus One"}))
    assert proposed(run) == []
    assert len(proposed(run, threshold=0.85)) == 1
    run("store", entities=[{"entity_type": "thing", "intent": "create_new", "name": "x"} for _ in range(2)])
    assert run("entities.duplicates")["total"] == 1


def test_a_store_follows_the_schema_too(run: Call) -> None:
    register(run, duplicate_detection_threshold=0.98)
    first, second = run("store", entities=wines({"name": "Opus One"}, {"name": "Opus One"}))["entities"]
    assert not {"duplicate_candidates"} & {*first, *second}
    register(run, duplicate_detection_threshold=0.9)
    (third,) = run("store", entities=wines({"name": "Opus One"}))["entities"]
    assert {each["entity_id"] for each in third["duplicate_candidates"]} == {
        first["entity_id"], second["entity_id"],
    }  # fmt: skip
    register(run, duplicate_detection_fields=["label"])
    (fourth,) = run("store", entities=wines({"name": "Opus One"}))["entities"]
    assert "duplicate_candidates" not in fourth


def test_what_the_keys_say_has_an_effect_and_no_warning(run: Call) -> None:
    answer = register(run, duplicate_detection_fields=["label"], duplicate_detection_threshold=0.9)
    assert "NO_EFFECT" not in str(answer)
    shown = run("schemas.get", entity_type="wine")
    assert (shown["duplicate_detection_fields"], shown["duplicate_detection_threshold"]) == (["label"], 0.9)


@pytest.mark.parametrize(
    ("detection", "path"),
    [
        ({"duplicate_detection_fields": ["label", "cellar"]}, "$.schema.duplicate_detection_fields[1]"),
        ({"duplicate_detection_fields": ["label", "label"]}, "$.schema.duplicate_detection_fields"),
        ({"duplicate_detection_fields": [7]}, "$.schema.duplicate_detection_fields[0]"),
        ({"duplicate_detection_threshold": 0.4}, "$.schema.duplicate_detection_threshold"),
        ({"duplicate_detection_threshold": "high"}, "$.schema.duplicate_detection_threshold"),
    ],
)
def test_what_does_not_fit_is_refused(run: Call, detection: dict[str, Any], path: str) -> None:
    with pytest.raises(SchemaRefused) as refused:
        register(run, **detection)
    assert path in [issue["path"] for issue in refused.value.details["issues"]]
