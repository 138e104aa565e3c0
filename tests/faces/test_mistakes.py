"""What was corrected was a mistake, unless the correction says since when: questions for the past."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import InvalidInput
from tests.support.faces import Call


def store(run: Call, city: str, observed_at: str) -> str:
    item = {"entity_type": "person", "name": "Ines Sorel", "city": city, "observed_at": observed_at}
    return run("store", entities=[item])["entities"][0]["entity_id"]


def cities(run: Call, question: str) -> list[Any]:
    """Return the values of the city in a context, the answering one first, then those it calls earlier."""
    lines = run("context.retrieve", question=question, format="fields")["lines"]
    lines = [each for each in lines if each["field"] == "city"]
    earlier = [each["value"] for line in lines for each in line.get("earlier", ())]
    return list(dict.fromkeys([*(each["value"] for each in lines), *earlier]))


def test_what_was_corrected_is_no_earlier_value_and_stays_in_the_history(run: Call) -> None:
    entity_id = store(run, "Bremen", "2023-05-01")
    store(run, "Kiell", "2025-02-01")
    run("entities.correct", entity_id=entity_id, field="city", value="Kiel")
    assert cities(run, "Where did Ines Sorel live before Kiel?") == ["Bremen", "Kiel"]
    assert cities(run, "Where did Ines Sorel live in 2025?")[0] == "Kiel"
    assert cities(run, "Where did Ines Sorel live in 2024?")[0] == "Bremen"
    history = run("entities.history", entity_id=entity_id, field="city")["observations"]
    assert [(each["kind"], each["fields"]["city"]) for each in history] == [
        ("correction", "Kiel"), ("value", "Kiell"), ("value", "Bremen"),
    ]  # fmt: skip


def test_what_was_corrected_since_a_day_was_so_until_then(run: Call) -> None:
    entity_id = store(run, "Bremen", "2023-05-01")
    corrected = run("entities.correct", entity_id=entity_id, field="city", value="Kiel", since="2025-03-01")
    assert corrected["snapshot"]["city"] == "Kiel"
    assert cities(run, "Where did Ines Sorel live before Kiel?")[0] == "Bremen"
    assert cities(run, "Where did Ines Sorel live in 2024?")[0] == "Bremen"
    at = ("2025-02-28", "2025-03-01")
    assert [run("entities.snapshot", entity_id=entity_id, at=each)["snapshot"]["city"] for each in at] == [
        "Bremen", "Kiel",
    ]  # fmt: skip
    store(run, "Bremen", "2025-12-01")
    assert run("entities.snapshot", entity_id=entity_id)["snapshot"]["city"] == "Kiel"


def test_a_correction_of_the_only_value_leaves_no_earlier_one(run: Call) -> None:
    entity_id = store(run, "Kiell", "2025-02-01")
    run("entities.correct", entity_id=entity_id, field="city", value="Kiel")
    assert "Kiell" not in cities(run, "Where did Ines Sorel live before?")
    assert cities(run, "Where did Ines Sorel live in 2025?") == ["Kiel"]
    with pytest.raises(InvalidInput, match="since"):
        run("entities.correct", entity_id=entity_id, field="city", release=True, since="2025-03-01")


def test_a_correction_that_clears_names_what_takes_back(run: Call) -> None:
    entity_id = store(run, "Kiel", "2025-02-01")
    (warning,) = run("entities.correct", entity_id=entity_id, field="city", value=None)["store_warnings"]
    assert "undo" in warning["message"]
    assert "withdraw" in warning["message"]
