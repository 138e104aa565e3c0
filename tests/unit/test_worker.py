"""The pace of the worker: at once while much waits, else now and then."""

from __future__ import annotations

import asyncio
from dataclasses import replace
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
    ("name", "done", "pauses"),
    [
        ("vector", [0, 0], [worker.INTERVAL_SECONDS, worker.INTERVAL_SECONDS]),
        ("vector", [64, 8, 63], [0, worker.INTERVAL_SECONDS, worker.INTERVAL_SECONDS]),
        ("fold", [5_000, 1], [worker.INTERVAL_SECONDS, worker.INTERVAL_SECONDS]),
    ],
)
def test_a_pass_is_followed_at_once_only_after_a_full_batch(
    monkeypatch: pytest.MonkeyPatch, name: str, done: list[int], pauses: list[float]
) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(round(seconds, 1))
        if len(paused) == len(done):
            raise Over

    async def run(services: Any) -> int:
        return done[len(paused)]

    (kind,) = (replace(kind, run=run) for kind in worker.KINDS if kind.name == name)
    monkeypatch.setattr(worker.asyncio, "sleep", pause)
    with pytest.raises(Over):
        asyncio.run(worker.repeat(cast("Any", Served), kind))
    assert paused == pauses


def test_a_database_that_is_away_is_told_of_once_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [DatabaseUnavailable(), DatabaseUnavailable(), 1, DatabaseUnavailable(), DatabaseUnavailable()]

    async def pause(seconds: float) -> None:
        if not answers:
            raise Over

    async def run(services: Any) -> int:
        answer = answers.pop(0)
        if isinstance(answer, GraphmemError):
            raise answer
        return answer

    monkeypatch.setattr(worker.asyncio, "sleep", pause)
    with capture_logs() as logged, pytest.raises(Over):
        asyncio.run(worker.repeat(cast("Any", Served), worker.WorkKind("fold", run)))
    assert [line["log_level"] for line in logged] == ["warning", "debug", "warning", "debug"]
