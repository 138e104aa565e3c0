"""The pace of the worker: at once while much waits, else now and then."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from graphmem import worker
from graphmem.metrics import Metrics


class Served:
    metrics = Metrics()


@pytest.mark.parametrize(
    ("done", "rests"),
    [
        ([0, 0], [worker.INTERVAL, worker.INTERVAL]),
        ([3, 40], [worker.INTERVAL, worker.INTERVAL]),
        ([1_000, 64, 3], [0, 0, worker.INTERVAL]),
    ],
)
def test_a_few_that_wait_are_not_taken_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, done: list[int], rests: list[float]
) -> None:
    rested: list[float] = []

    class Over(BaseException):
        pass

    async def rest(seconds: float) -> None:
        rested.append(round(seconds, 1))
        if len(rested) == len(done):
            raise Over

    async def place_once(services: Any) -> int:
        return done[len(rested)]

    monkeypatch.setattr(worker.asyncio, "sleep", rest)
    with pytest.raises(Over):
        asyncio.run(worker._again(cast("Any", Served), place_once))
    assert rested == rests
