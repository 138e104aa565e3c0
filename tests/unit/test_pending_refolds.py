"""What waits to be folded again is counted beside the reads that ask for it, and not at each of them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from graphmem.database.driver import Database, round_trips
from graphmem.database.owner_cache import PendingRefolds
from graphmem.errors import DatabaseUnavailable, NotFound


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class FakeDatabase:
    """Counts what it is asked, and answers how much waits."""

    def __init__(self, pending: int = 0, fault: Exception | None = None) -> None:
        self.pending, self.fault, self.calls = pending, fault, 0
        self.gate = asyncio.Event()
        self.gate.set()

    def reads(self, owner: str) -> FakeDatabase:
        return self

    async def only(self, name: str, row: Any) -> Any:
        self.calls += 1
        pending = self.pending
        assert round_trips.get(None) is None
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return pending, 0


def counting(database: FakeDatabase) -> PendingRefolds:
    return PendingRefolds(cast("Database", database))


async def read() -> str:
    return "answer"


@in_loop
async def test_a_process_remembers_that_nothing_waits() -> None:
    database = FakeDatabase()
    pending = counting(database)
    assert [await pending.beside("o", read()) for _ in range(3)] == [("answer", 0)] * 3
    assert database.calls == 1
    pending.forget("o")
    database.pending = 2
    assert await pending.beside("o", read()) == ("answer", 2)
    assert await pending.beside("o", read()) == ("answer", 2)
    assert database.calls == 3


@in_loop
async def test_what_was_counted_before_a_withdrawal_is_not_remembered_after_it() -> None:
    database = FakeDatabase()
    pending = counting(database)
    database.gate.clear()
    reading = asyncio.create_task(pending.beside("o", read()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    pending.forget("o")
    database.pending = 1
    database.gate.set()
    assert await reading == ("answer", 0)
    assert await pending.beside("o", read()) == ("answer", 1)


@in_loop
async def test_a_read_that_fails_says_its_own_error_and_one_that_cannot_be_counted_fails() -> None:
    pending = counting(FakeDatabase(fault=DatabaseUnavailable("down")))

    async def fail() -> str:
        raise NotFound("none")

    with pytest.raises(NotFound):
        await pending.beside("o", fail())
    with pytest.raises(DatabaseUnavailable):
        await pending.beside("o", read())
