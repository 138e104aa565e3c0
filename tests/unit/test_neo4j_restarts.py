"""What a service does about its embedded database: it starts it again, whatever went wrong before."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from graphmem import neo4j_local
from graphmem.context import Services
from graphmem.errors import DatabaseUnavailable, EngineStartFailed
from graphmem.service import serving
from graphmem.settings import Settings, load


class Over(BaseException):
    """Ends the service."""


async def fails() -> None:
    raise DatabaseUnavailable


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    """A service whose database does not answer."""
    monkeypatch.setattr(serving, "WATCH_SECONDS", 0)
    database = SimpleNamespace(verify=fails)
    return cast("Services", SimpleNamespace(database=database, settings=load(env="test", data_dir=tmp_path)))


def test_no_fault_ends_the_watch_of_the_database(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[BaseException] = [
        subprocess.CalledProcessError(2, "sh"), OSError("odd"), EngineStartFailed("not now"), Over(),
    ]  # fmt: skip

    async def start(settings: Settings, **_: Any) -> None:
        raise faults.pop(0)

    monkeypatch.setattr(serving, "connection", start)
    with capture_logs() as entries, pytest.raises(Over):
        asyncio.run(serving.keep_up(services))
    assert [entry["event"].split(":")[0] for entry in entries if entry["log_level"] == "error"] == [
        "unexpected fault in keeping the embedded Neo4j up",
        "unexpected fault in keeping the embedded Neo4j up",
        "the embedded Neo4j cannot be started",
    ]


def test_a_database_stopped_on_purpose_stays_down_and_is_logged_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [True, True, True, False, True, True]
    starts: list[bool] = []

    def stopped(settings: Settings) -> bool:
        if not answers:
            raise Over
        return answers.pop(0)

    async def start(settings: Settings, *, requested: bool) -> None:
        starts.append(requested)

    monkeypatch.setattr(neo4j_local, "stopped", stopped)
    monkeypatch.setattr(serving, "connection", start)
    with capture_logs() as entries, pytest.raises(Over):
        asyncio.run(serving.keep_up(services))
    assert starts == [False]
    assert len([entry for entry in entries if "on purpose" in entry["event"]]) == 2
