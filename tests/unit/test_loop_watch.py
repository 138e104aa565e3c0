"""The watch over the event loop of a run tells which callbacks take long, and only those."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Coroutine
from typing import Any

from tests.support.loop_watch import LoopWatch

LIMIT_SECONDS = 0.05


def burn(seconds: float = 3 * LIMIT_SECONDS) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def burning() -> None:
    burn()


async def calling() -> None:
    await asyncio.sleep(0)
    await burning()
    await asyncio.sleep(0)


async def calling_in_a_thread() -> None:
    await asyncio.to_thread(burn)


def told_of(*coroutines: Coroutine[Any, Any, None]) -> list[str]:
    loop, told = asyncio.new_event_loop(), list[str]()
    with contextlib.closing(loop), LoopWatch(loop, told, LIMIT_SECONDS).watching():
        for coroutine in coroutines:
            loop.run_until_complete(coroutine)
    return told


def test_a_callback_that_takes_long_again_is_named() -> None:
    assert told_of(calling()) == []
    (told,) = told_of(calling(), calling())
    assert "calling > " in told


def test_callbacks_of_other_places_have_first_runs_of_their_own() -> None:
    assert told_of(burning(), calling()) == []


def test_the_garbage_collector_does_not_count() -> None:
    kept = [[place] for place in range(1_000_000)]

    async def collecting() -> None:
        for _ in range(3):
            gc.collect()

    assert told_of(collecting(), collecting()) == []
    assert len(kept) == 1_000_000


def test_work_in_a_thread_holds_up_nothing() -> None:
    assert told_of(calling_in_a_thread(), calling_in_a_thread(), calling_in_a_thread()) == []
