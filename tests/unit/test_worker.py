"""The pace of the worker: at once while much waits, else now and then."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from graphmem import worker
from graphmem.errors import DatabaseUnavailable, GraphmemError
from graphmem.observability.metrics import Metrics


class Served:
    metrics = Metrics()


class Over(BaseException):
    """Ends the worker."""


@pytest.mark.parametrize(
    ("kind", "done", "rests"),
    [
        ("place_once", [0, 0], [worker.INTERVAL, worker.INTERVAL]),
        ("place_once", [1_000, 64, 999], [0, worker.INTERVAL, worker.INTERVAL]),
        ("understand_once", [64, 63], [0, worker.INTERVAL]),
        ("work_once", [5_000, 1], [worker.INTERVAL, worker.INTERVAL]),
    ],
)
def test_a_few_that_wait_are_not_taken_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, kind: str, done: list[int], rests: list[float]
) -> None:
    rested: list[float] = []

    async def rest(seconds: float) -> None:
        rested.append(round(seconds, 1))
        if len(rested) == len(done):
            raise Over

    async def once(services: Any) -> int:
        return done[len(rested)]

    once.__name__ = kind

    monkeypatch.setattr(worker.asyncio, "sleep", rest)
    with pytest.raises(Over):
        asyncio.run(worker._again(cast("Any", Served), once))
    assert rested == rests


def test_a_database_that_is_away_is_told_of_once_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [DatabaseUnavailable(), DatabaseUnavailable(), 1, DatabaseUnavailable(), DatabaseUnavailable()]

    async def rest(seconds: float) -> None:
        if not answers:
            raise Over

    async def work_once(services: Any) -> int:
        answer = answers.pop(0)
        if isinstance(answer, GraphmemError):
            raise answer
        return answer

    monkeypatch.setattr(worker.asyncio, "sleep", rest)
    with capture_logs() as said, pytest.raises(Over):
        asyncio.run(worker._again(cast("Any", Served), work_once))
    assert [one["log_level"] for one in said] == ["warning", "debug", "warning", "debug"]
