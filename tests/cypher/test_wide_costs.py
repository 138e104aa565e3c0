"""What a turn reads of an entity with very many fields: it may not grow with the square of their number."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.context import Services
from graphmem.database.driver import Database
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
