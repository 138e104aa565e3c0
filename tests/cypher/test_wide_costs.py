"""What entities with very many fields, or very many observations, cost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from graphmem.database.driver import Database
from graphmem.registry import Services
from tests.cypher.test_costs import parts
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

FIELDS = 3_000
HITS_LIMIT = 1_000
"""Hits of the database. Reading a list once for each of its items takes more than ``FIELDS``."""


def test_a_write_to_an_entity_with_many_fields_reads_them_once(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = by_runner(loop, services, owner)
    wide = {"entity_type": "thing", "name": "wide", **{f"field_{number}": 1 for number in range(FIELDS)}}
    run("store", entities=[wide])
    looks: list[Any] = []
    original = Database._run

    async def noting(self: Database, name: Any, text: Any, *arguments: Any, **more: Any) -> Any:
        if "look" in str(name):
            looks.append((text, arguments[-1]))
        return await original(self, name, text, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_run", noting)
        run("store", entities=[{"entity_type": "thing", "name": "wide", "field_1": 2}])
    text, params = looks[0]

    async def hits() -> int:
        async with services.database._driver.session() as session:
            result = await session.run(text.replace("replan=skip", "replan=skip PROFILE", 1), params)
            plan = (await result.consume()).profile
            assert plan is not None
            return sum(part["dbHits"] for part in parts(plan))

    assert 0 < loop.run(hits()) < HITS_LIMIT


OBSERVATIONS = 1_000
ROUNDS = 10


def test_a_snapshot_of_an_earlier_time_spells_no_name_of_each_observation(
    loop: Loop, services: Services, owner: str
) -> None:
    """As of a time of recording all observations are read, and no date within them is looked for."""
    run = by_runner(loop, services, owner)
    minutes = [f"2020-01-01T{number // 60:02d}:{number % 60:02d}:00Z" for number in range(OBSERVATIONS)]
    things = [
        {"entity_type": "thing", "name": "x", "n": each, "note": each, "observed_at": each}
        for each in minutes
    ]
    for start in range(0, OBSERVATIONS, 100):
        run("store", entities=things[start : start + 100], find_duplicates=False)
    entity_id = run("entities.query", entity_type="thing")["entities"][0]["entity_id"]

    def least(**clock: str) -> float:
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            run("entities.snapshot", entity_id=entity_id, **clock)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    middle, recorded = {"at": minutes[OBSERVATIONS // 2]}, {"at_ingested": "9999-01-01T00:00:00Z"}
    assert run("entities.snapshot", entity_id=entity_id, **middle)["snapshot"]["n"] == middle["at"]
    # With the names of each observation spelled by itself it is 2.1, else .7.
    assert least(**middle) < 1.4 * least(**recorded)
