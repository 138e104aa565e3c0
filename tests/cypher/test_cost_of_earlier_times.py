"""What a snapshot of an earlier time costs: each observation that decides on it is looked at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.model import times
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

OBSERVATIONS = 1_000
DAY = 86_400 * times.SECOND
START = times.parse("2020-01-01")
MIDDLE = START + OBSERVATIONS // 2 * DAY
MOST_HITS = {"entity.recompute": 7 * (OBSERVATIONS // 2 + 2), "entity.evidence": 10 * (OBSERVATIONS + 2)}
"""The most hits of the statements that reduce or look for merges. An observation takes its index entry, the
properties of its edge and its fields; of an entity that was merged, the edge is also asked whether it merges.
A rule merges by all that is known, whatever the time. What merged an entity is asked only where another one
has, or had, a key of it."""


@pytest.fixture(scope="module")
def observed(loop: Loop, services: Services) -> tuple[str, Call, str]:
    """An owner, its operations, and an entity with an observation on each of many days."""
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    stored = run("store", entities=[{"entity_type": "person", "name": "Ada"}], observed_at="2019-01-01")
    entity_id = stored["entities"][0]["entity_id"]
    for first in range(0, OBSERVATIONS, 250):
        items = [
            {
                "target_id": entity_id, "mood": f"mood {n}", "score": n, "note": f"note {n}",
                "observed_at": times.render(START + n * DAY),
            }
            for n in range(first, first + 250)
        ]  # fmt: skip
        run("store", entities=items, find_duplicates=False)
    return owner, run, entity_id


def hits(plan: dict[str, Any]) -> int:
    return plan.get("dbHits", 0) + sum(map(hits, plan.get("children", [])))


def steps(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the steps of a plan that read something, each with its hits and rows."""
    if plan.get("dbHits"):
        details = plan.get("args", {}).get("Details", "")
        yield f"{plan['operatorType']}: {plan['dbHits']} hits, {plan.get('rows')} rows, {details:.200}"
    for child in plan.get("children", []):
        yield from steps(child)


def test_a_snapshot_of_an_earlier_time_looks_at_each_observation_once(
    loop: Loop, services: Services, observed: tuple[str, Call, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, run, entity_id = observed
    params, read = dict[str, dict[str, Any]](), Database.read

    async def noted(self: Database, name: str, *more: Any, **given: Any) -> Any:
        params[name] = given
        return await read(self, name, *more, **given)

    async def profile(name: str) -> dict[str, Any]:
        async with services.database._driver.session() as session:
            text = "PROFILE " + services.database.query_text(name, None)
            result = await session.run(text, cypher.bind(name, params[name], owner))
            return (await result.consume()).profile or {}

    def statements() -> set[str]:
        """Read a snapshot, and return its statements that reduce or look for merges."""
        params.clear()
        snapshot = run("entities.snapshot", entity_id=entity_id, at=times.render(MIDDLE))
        assert (snapshot["snapshot"]["score"], snapshot["observation_count"]) == (500, 502)
        assert snapshot["provenance"]["score"] != snapshot["provenance"]["name"]
        for name in params.keys() & MOST_HITS:
            profiled = loop.run(profile(name))
            assert hits(profiled) < MOST_HITS[name], "\n".join(steps(profiled))
        return params.keys() & MOST_HITS

    monkeypatch.setattr(Database, "read", noted)
    assert statements() == {"entity.recompute"}
    # The name is a key of both from now on.
    run("store", entities=[{"entity_type": "person", "name": "Ada", "email": "ada@example.org"}])
    assert statements() == MOST_HITS.keys()
