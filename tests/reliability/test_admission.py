"""Heavy queries are few at a time: light ones go on beside them, and who finds no place is told so."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from neo4j.exceptions import ServiceUnavailable

from graphmem import cypher
from graphmem.context import Services
from graphmem.database import admission
from graphmem.database.admission import Admission
from graphmem.errors import ServiceBusy
from graphmem.registry import REGISTRY
from graphmem.settings import load
from tests.support.actors import full_actor
from tests.support.event_loop import Loop

HEAVY = (
    "relationship.reach",
    "entity.scan[asc]",
    "entity.candidates",
    "duplicate.by_type",
)


SINCE = {"created_since": "2020-01-01"}
"""Filters whose query is heavy."""


def test_what_reads_far_more_than_it_answers_is_heavy() -> None:
    assert [cypher.query(name).cost for name in HEAVY] == ["heavy"] * len(HEAVY)
    assert {cypher.query(name).cost for name in ("entity.get", "write.look", "write.turn")} == {"light"}


def test_a_page_behind_a_large_offset_is_heavy() -> None:
    assert cypher.is_light("entity.page[asc]", {"offset": 10_000})
    assert not cypher.is_light("entity.page[asc]", {"offset": 10_001})
    assert not cypher.is_light("entity.candidates", {"offset": 0})


def test_places_are_one_less_than_cores_and_one_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, places in ((1, 1), (2, 1), (8, 7)):
        monkeypatch.setattr(admission, "cores", lambda cores=cores: cores)
        assert Admission().places == places
    assert Admission(load(heavy_queries=3).heavy_queries).places == 3


def test_by_default_a_heavy_query_waits_for_fifteen_seconds(services: Services) -> None:
    assert services.settings.heavy_wait == 15.0
    assert services.database.heavy._timeout_seconds == services.settings.heavy_wait


def test_a_heavy_query_waits_for_a_place_and_a_light_one_does_not(
    loop: Loop, services: Services, owner: str, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that is given back in time is taken; beyond it the answer is a 503 to try again."""
    monkeypatch.setattr(services.database, "heavy", Admission(2, timeout_seconds=1.0))

    async def ask(http: httpx.AsyncClient) -> None:
        async with AsyncExitStack() as places:
            for _ in range(services.database.heavy.places):
                await places.enter_async_context(services.database.heavy.place())
            begin = time.monotonic()
            refused, light, behind = await asyncio.gather(
                http.post("/entities/query", json={"filters": SINCE}),
                http.post("/entities/query", json={}),
                http.post("/entities/query", json={"offset": 10_001}),
            )
            assert behind.status_code == 503
            assert time.monotonic() - begin > 0.9
            assert (light.status_code, refused.status_code) == (200, 503)
            assert refused.json()["error_code"] == "SERVICE_BUSY"
            assert refused.json()["details"]["retryable"] is True
            assert refused.headers["retry-after"]
            waiting = asyncio.create_task(http.post("/entities/query", json={"filters": SINCE}))
            await asyncio.sleep(0.3)
            assert not waiting.done()
        assert (await waiting).status_code == 200

    async def run() -> None:
        transport = httpx.ASGITransport(app)
        headers = {"authorization": f"Bearer {owner}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            await ask(http)

    loop.run(run())


def test_no_more_run_at_once_than_there_are_places(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = most = 0
    real = services.database._run

    async def counted(name: str, *rest: Any) -> Any:
        nonlocal running, most
        heavy = name == "entity.candidates"
        running += heavy
        most = max(most, running)
        try:
            return await real(name, *rest)
        finally:
            running -= heavy

    monkeypatch.setattr(services.database, "_run", counted)
    monkeypatch.setattr(services.database, "heavy", Admission(2))

    async def search() -> None:
        await REGISTRY["entities.query"].run(services, full_actor(owner), {"filters": SINCE})

    async def search_at_once() -> list[BaseException | None]:
        return await asyncio.gather(*(search() for _ in range(12)), return_exceptions=True)

    outcomes = loop.run(search_at_once())
    assert most == 2
    assert all(outcome is None or isinstance(outcome, ServiceBusy) for outcome in outcomes)
    assert None in outcomes


def test_a_query_that_waited_for_a_place_is_tried_again_as_any_other(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is no part of the time for which a read is tried again while the database fails."""
    real, failures = services.database._run, [0]

    async def failing_once(name: str, *rest: Any) -> Any:
        if name == "entity.candidates" and not failures[0]:
            failures[0] += 1
            raise ServiceUnavailable("gone for a moment")
        return await real(name, *rest)

    changed = services.settings.model_copy(update={"retry_seconds": 0.5})
    monkeypatch.setattr(services.database, "_settings", changed)
    monkeypatch.setattr(services.database, "_run", failing_once)
    monkeypatch.setattr(services.database, "heavy", Admission(1))

    async def run() -> None:
        search = REGISTRY["entities.query"].run(services, full_actor(owner), {"filters": SINCE})
        async with services.database.heavy.place():
            asked = asyncio.create_task(search)
            await asyncio.sleep(0.8)
        assert await asked

    loop.run(run())
    assert failures == [1]
