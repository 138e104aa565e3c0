"""Stores that are practised after a start: nothing of them stays, and a request stops them."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from graphmem.context import Services
from graphmem.writing import practice
from tests.support.event_loop import Loop
from tests.support.statements import counted


class StopPractice(Exception):
    """The stores waited for a request."""


def test_practised_stores_run_what_stores_run_and_leave_nothing(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    if services.database.is_sealed:
        pytest.skip("a sealed instance practises nothing")
    monkeypatch.setattr(practice, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(practice, "PAUSE_FACTOR", 0.0)
    with counted(services.database, of_requests=False) as statements:
        loop.run(practice.practise(services.database, 2))
    assert sum(name.startswith("write.turn") for name in statements) == 2
    left = "MATCH (n) WHERE n.owner = $of OR (n:Owner AND n.id = $of) RETURN count(n) AS left"
    assert loop.run(services.database.script(left, of=practice.OWNER)) == [{"left": 0}]


def test_a_request_stops_practised_stores(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.database.planning, "last_request_at", time.monotonic() + 3_600.0)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if seconds > practice.QUIET_SECONDS:
            raise StopPractice

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", sleep)
        with counted(services.database, of_requests=False) as statements, contextlib.suppress(StopPractice):
            loop.run(practice.practise(services.database))
    assert statements == []
    assert waits[0] == practice.QUIET_SECONDS
    if not services.database.is_sealed:
        assert len(waits) == 2
