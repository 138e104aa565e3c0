"""The clock is set back, and forward; two processes have clocks of their own: one order, nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem import interpretation
from graphmem.context import Services
from graphmem.model import times
from graphmem.settings import Settings
from tests.reliability.test_interpretation_queue import FILE
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.forked_services import forks
from tests.support.service import free_port, until_listening

HOUR = 3600 * 1_000_000
THING = {"entity_type": "thing", "name": "t"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How far the clock is off, in microseconds: the last element counts."""
    off, real = [0], times.now
    monkeypatch.setattr(times, "now", lambda: real() + off[-1])
    return off


@pytest.mark.parametrize(
    "steps", [[0, -HOUR], [0, HOUR, 0], [0, 48 * HOUR, 0, -HOUR], [-HOUR, 0, -24 * HOUR]], ids=str
)
def test_a_clock_that_is_set_hides_nothing_and_confuses_no_order(
    rest: Call, clock: list[int], steps: list[int]
) -> None:
    recorded: list[str] = []
    for number, step in enumerate(steps):
        clock.append(step)
        for count in range(3):
            recorded.append(rest("store", entities=[{**THING, "n": 10 * number + count}])["recorded_at"])
    assert all(earlier < later for earlier, later in pairwise(recorded))
    (entity,) = rest("entities.query")["entities"]
    subject = {"entity_id": entity["entity_id"]}
    # The last one that was written is the newest, whatever the clock said.
    assert entity["snapshot"]["n"] == 10 * (len(steps) - 1) + 2
    values = [10 * number + count for number in range(len(steps)) for count in range(3)]
    for moment, value in zip(recorded, values, strict=True):
        for argument in ("at", "at_ingested"):
            assert rest("entities.snapshot", **subject, **{argument: moment})["snapshot"]["n"] == value
    listed = rest("observations.query", filters=subject)["observations"]
    assert [observation["recorded_at"] for observation in listed] == recorded[::-1]
    assert [observation["fields"]["n"] for observation in listed] == values[::-1]


def test_changes_after_the_clock_went_back_hold(rest: Call, clock: list[int]) -> None:
    stored = rest(
        "store",
        entities=[{**THING, "n": 1}, {"entity_type": "thing", "name": "u"}],
        relationships=[{"relationship_type": "PART_OF", "source_index": 0, "target_index": 1}],
    )
    source_id, target_id = (item["entity_id"] for item in stored["entities"])
    (edge,) = (made["relationship_key"] for made in stored["relationships_created"])
    clock.append(-HOUR)
    rest("entities.correct", entity_id=source_id, field="n", value=2)
    assert rest("entities.get", entity_id=source_id)["snapshot"]["n"] == 2
    rest("relationships.delete", relationship_key=edge)
    assert rest("relationships.list")["relationships"] == []
    rest("relationships.restore", relationship_key=edge)
    assert len(rest("relationships.list")["relationships"]) == 1
    for _ in range(2):
        rest("entities.delete", entity_id=source_id)
        assert [item["entity_id"] for item in rest("entities.query")["entities"]] == [target_id]
        rest("entities.restore", entity_id=source_id)
        assert len(rest("entities.query")["entities"]) == 2
    rest("entities.merge", source_entity_id=source_id, target_entity_id=target_id)
    assert len(rest("entities.query")["entities"]) == 1
    rest("entities.unmerge", source_entity_id=source_id)
    assert rest("entities.get", entity_id=source_id)["snapshot"]["n"] == 2
    assert rest("server.check_snapshots")["healthy"]


def test_a_time_that_the_service_gave_is_no_future_to_it(rest: Call, clock: list[int]) -> None:
    recorded = rest("store", entities=[{**THING, "n": 1}])["recorded_at"]
    clock.append(-HOUR)
    (entity,) = rest("store", entities=[{**THING, "n": 2, "observed_at": recorded}])["entities"]
    assert rest("entities.get", entity_id=entity["entity_id"])["observation_count"] == 2


@pytest.mark.usefixtures("own_interpretations")
def test_a_file_that_was_stored_before_the_clock_went_back_is_interpreted(
    rest: Call, clock: list[int], loop: Loop, services: Services
) -> None:
    clock.append(48 * HOUR)
    assert rest("store", **FILE)["interpretation"]["status"] == "pending"
    clock.append(0)
    loop.run(interpretation.run_next(services))
    assert [row["status"] for row in rest("interpretations.list")["interpretations"]] == ["completed"]


@pytest.fixture
def late(settings: Settings, tmp_path: Path, owner: str) -> Iterator[httpx.Client]:
    """A service whose clock is an hour behind."""
    port = free_port()
    process = forks().start(settings, tmp_path, "serve", "--port", str(port), clock=-HOUR)
    try:
        until_listening(port)
        headers = {"Authorization": f"Bearer {owner}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60.0) as http:
            yield http
    finally:
        process.kill()


def test_processes_whose_clocks_differ_have_one_order(rest: Call, late: httpx.Client) -> None:
    recorded: list[str] = []

    def store(count: int) -> dict[str, Any]:
        items = [{**THING, "n": count}]
        if count % 2:
            return rest("store", entities=items)
        answer = late.post("/store", json={"entities": items})
        assert answer.is_success, answer.text
        return answer.json()

    # Its clock is behind: what it writes alone says so.
    stored = store(0)
    subject_id = stored["entities"][0]["entity_id"]
    assert times.parse(stored["recorded_at"]) < times.now() - HOUR // 2
    for count in range(1, 12):
        stored = store(count)
        recorded.append(stored["recorded_at"])
        assert stored["entities"][0]["entity_id"] == subject_id
        # Each sees what the other wrote, at once.
        assert rest("entities.get", entity_id=subject_id)["snapshot"]["n"] == count
        assert late.get(f"/entities/{subject_id}").json()["snapshot"]["n"] == count
    assert all(earlier < later for earlier, later in pairwise(recorded))
    moment = {"entity_id": subject_id, "at": recorded[-1]}
    assert late.post("/get_entity_snapshot", json=moment).json()["snapshot"]["n"] == 11
