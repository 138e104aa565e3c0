"""Heavy queries that wait for a place: callers take turns, the line is bounded, and nobody loses a place."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from graphmem.database.admission import Admission
from graphmem.errors import ServiceBusy


class Crowd:
    """Queries of callers that note in which order they ran."""

    def __init__(self, admission: Admission, seconds: float = 0.001) -> None:
        self.admission = admission
        self.seconds = seconds
        self.order: list[str] = []
        self.running = self.most = 0

    async def query(self, caller: str) -> None:
        async with self.admission.place(caller):
            self.running += 1
            self.most = max(self.most, self.running)
            self.order.append(caller)
            await asyncio.sleep(self.seconds)
            self.running -= 1

    async def queries(self, callers: str) -> list[str]:
        """Send one query after the other of each caller, all at once; return the refused callers."""
        outcomes = await asyncio.gather(*map(self.query, callers), return_exceptions=True)
        assert all(outcome is None or isinstance(outcome, ServiceBusy) for outcome in outcomes)
        return [caller for caller, outcome in zip(callers, outcomes, strict=True) if outcome is not None]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


def test_a_hundred_queries_of_ten_milliseconds_are_all_answered() -> None:
    async def scenario() -> None:
        crowd = Crowd(Admission(1), 0.01)
        begin = time.monotonic()
        assert await crowd.queries("a" * 150) == []
        assert (len(crowd.order), crowd.most) == (150, 1)
        # Longer than the second after which they were once refused.
        assert time.monotonic() - begin > 1.4

    run(scenario())


def test_a_caller_has_at_most_its_places_and_others_take_what_is_left() -> None:
    async def scenario() -> None:
        crowd = Crowd(Admission(3, of_owner=2), 0.01)
        assert await crowd.queries("aaaabc") == []
        assert (crowd.order[:3], crowd.most) == (["a", "a", "b"], 3)
        assert crowd.order.index("c") < 5
        # All places are free again.
        assert await crowd.queries("dd") == []

    run(scenario())


def test_callers_take_turns_however_many_queries_one_of_them_sends() -> None:
    async def scenario() -> None:
        crowd = Crowd(Admission(1))
        assert await crowd.queries("aaaaaabbc") == []
        assert "".join(crowd.order) == "aabcabaaa"

    run(scenario())


def test_beyond_the_limit_the_caller_with_most_queries_is_refused() -> None:
    async def scenario() -> None:
        crowd = Crowd(Admission(1, waiting_limit=4))
        # One runs and four wait; then the newest of the caller with most of them goes.
        assert await crowd.queries("aaaaaabb") == ["a"] * 3
        assert sorted(crowd.order) == ["a", "a", "a", "b", "b"]
        assert await crowd.queries("ccccc") == []

    run(scenario())


def test_a_query_that_waited_too_long_is_refused_and_told_so() -> None:
    async def scenario() -> None:
        admission = Admission(1, timeout_seconds=0.05)
        async with admission.place("a"):
            with pytest.raises(ServiceBusy, match=r"it waited for 0.05 seconds.*try again") as refused:
                async with admission.place("b"):
                    pass
        assert refused.value.details == {"places": 1, "wait_seconds": 0.05}
        crowd = Crowd(admission)
        assert await crowd.queries("abab") == []

    run(scenario())


def test_a_query_that_is_cancelled_leaves_the_line_and_loses_no_place() -> None:
    async def scenario() -> None:
        admission = Admission(1, timeout_seconds=5.0)
        crowd = Crowd(admission, 0.01)
        tasks = [asyncio.create_task(crowd.query("a")) for _ in range(6)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await tasks[0]
        # This one has just been given the place, and has not run yet.
        tasks[2].cancel()
        for task in tasks[3:]:
            await task
        for task in tasks[1:3]:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert crowd.most == 1
        assert await crowd.queries("abc") == []

    run(scenario())
