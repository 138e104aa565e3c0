"""What a service does before somebody waits: plans of statements, and stores that are rolled back."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from typing import Any

import pytest
from neo4j.exceptions import Neo4jError

from graphmem import cypher
from graphmem.context import Services
from graphmem.database.driver import NOBODY
from graphmem.writing import supposing
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long
from tests.support.statements import counted


class StopPractice(Exception):
    """The stores waited for a request."""


def test_practised_stores_run_what_stores_run_and_leave_nothing(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    if services.database.is_sealed:
        pytest.skip("a sealed instance practises nothing")
    monkeypatch.setattr(supposing, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(supposing, "PAUSE_FACTOR", 0.0)
    with counted(services.database, of_requests=False) as statements:
        loop.run(supposing.practise(services.database, 2))
    assert sum(name.startswith("write.turn") for name in statements) == 2
    left = "MATCH (n) WHERE n.owner = $of OR (n:Owner AND n.id = $of) RETURN count(n) AS left"
    assert loop.run(services.database.script(left, of=NOBODY)) == [{"left": 0}]


def test_a_request_stops_practised_stores(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.database.planning, "last_request_at", time.monotonic() + 3_600.0)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if seconds > supposing.QUIET_SECONDS:
            raise StopPractice

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", sleep)
        with counted(services.database, of_requests=False) as statements, contextlib.suppress(StopPractice):
            loop.run(supposing.practise(services.database))
    assert statements == []
    assert waits[0] == supposing.QUIET_SECONDS
    if not services.database.is_sealed:
        assert len(waits) == 2


FORMS = ("write.turn[plain]", "entity.page[asc]", "owner.create", "search.follow")


@pytest.mark.parametrize("name", mostly_long(FORMS, "entity.page[asc]"))
def test_a_statement_that_was_planned_beforehand_is_not_planned_again(
    loop: Loop, services: Services, name: str
) -> None:
    database, owner = services.database, str(uuid.uuid4())
    params = database.bound(name, dict.fromkeys(cypher.query(name).params), owner)

    async def first_run(*, planned: bool) -> float:
        """Return the seconds of the first run of a text that the server does not know."""
        text: Any = f"{database.query_text(name)}\n// {uuid.uuid4()}"
        if planned:
            await database.explain(text, params)
        start = time.monotonic()
        with contextlib.suppress(Neo4jError):
            await database._run(name, text, 60.0, params)
        return time.monotonic() - start

    async def both() -> tuple[float, float]:
        runs = [(await first_run(planned=True), await first_run(planned=False)) for _ in range(5)]
        return min(each for each, _ in runs), min(each for _, each in runs)

    planned, fresh = loop.run(both())
    assert planned < fresh / 2, (planned, fresh)
    left = "MATCH (n:Owner {id: $of}) RETURN count(n) AS left"
    assert loop.run(database.script(left, of=NOBODY)) == [{"left": 0}]
