"""Which runs of a statement count as the first one of a server's life."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import neo4j.exceptions

from graphmem.database.admission import Admission
from graphmem.database.driver import Database
from graphmem.database.driver_errors import FirstRunTimeout, translate
from graphmem.database.first_runs import FIRST_RUN_SECONDS, TEXTS_LIMIT, FirstRuns
from graphmem.database.planning import Planning
from graphmem.errors import DatabaseTimeout, ServiceBusy


def test_a_text_that_ran_is_no_first_run_until_a_connection_is_lost() -> None:
    runs = FirstRuns()
    assert runs.expects("RETURN 1")
    runs.finished("RETURN 1", runs.server_life)
    assert not runs.expects("RETURN 1")
    assert runs.expects("RETURN 2")
    runs.failed(neo4j.exceptions.ClientError("a fault of the statement"))
    assert not runs.expects("RETURN 1")
    runs.failed(neo4j.exceptions.ServiceUnavailable("gone"))
    assert runs.expects("RETURN 1")


def test_a_run_that_began_before_a_connection_was_lost_does_not_count() -> None:
    runs = FirstRuns()
    began = runs.server_life
    runs.failed(ConnectionResetError())
    runs.finished("RETURN 1", began)
    assert runs.expects("RETURN 1")


def test_texts_beyond_the_limit_are_forgotten_by_their_last_run() -> None:
    runs = FirstRuns()
    for number in range(TEXTS_LIMIT):
        runs.finished(f"RETURN {number}", runs.server_life)
    runs.finished("RETURN 0", runs.server_life)
    runs.finished("RETURN 'more'", runs.server_life)
    assert [runs.expects(f"RETURN {text}") for text in ("0", "1", "2", "'more'")] == [
        False, True, False, False,
    ]  # fmt: skip


def test_slow_planning_that_ended_before_a_read_began_does_not_explain_the_reads_time() -> None:
    runs = FirstRuns()
    runs.planned_slowly("RETURN 1", at=100.0)
    assert runs.was_planned_since(99.0, "RETURN 1")
    assert not runs.was_planned_since(101.0, "RETURN 1")
    assert not runs.was_planned_since(99.0, "RETURN 2")


def test_a_first_run_that_takes_too_long_says_that_the_database_plans() -> None:
    error = translate(FirstRunTimeout())
    assert isinstance(error, DatabaseTimeout)
    assert "first run of a statement" in str(error)


def test_a_heavy_query_waits_while_a_first_run_holds_the_place() -> None:
    """The database plans for seconds: to refuse others meanwhile would blame them for it."""

    async def second_place(*, first_run: bool) -> str:
        admission = Admission(1, timeout_seconds=0.05)

        async def first() -> None:
            async with admission.place(first_run=first_run):
                await asyncio.sleep(0.3)

        holder = asyncio.create_task(first())
        await asyncio.sleep(0)
        try:
            async with admission.place():
                return "place"
        except ServiceBusy:
            return "refused"
        finally:
            await holder

    assert asyncio.run(second_place(first_run=True)) == "place"
    assert asyncio.run(second_place(first_run=False)) == "refused"


def test_a_query_may_take_long_until_it_has_run_and_its_planning_is_waited_for() -> None:
    async def ask() -> None:
        runs = FirstRuns()
        planning = Planning(
            cast(Database, SimpleNamespace(first_runs=runs, query_text=lambda name: f"TEXT {name}"))
        )
        runs.finished("EXPLAIN TEXT q", runs.server_life)
        assert await planning.seconds_for("q", 2.0) == FIRST_RUN_SECONDS
        runs.finished("TEXT q", runs.server_life)
        assert await planning.seconds_for("q", 2.0) == 2.0
        planned = planning._under_way["TEXT q"] = asyncio.Event()
        asking = asyncio.create_task(planning.seconds_for("q", 2.0))
        await asyncio.sleep(0.01)
        assert not asking.done()
        planned.set()
        assert await asking == 2.0

    asyncio.run(ask())
