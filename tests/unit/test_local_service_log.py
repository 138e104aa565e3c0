"""The log of a local service: it is open before the embedded database is launched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from graphmem import neo4j_local, settings
from graphmem.errors import EngineStartFailed
from graphmem.observability import logs
from graphmem.service import process
from graphmem.service.front import Front
from graphmem.settings import Settings


@pytest.fixture
def service_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """The settings of a service whose embedded database ends as soon as it is launched."""

    def launch(settings: Settings, progress: object) -> None:
        structlog.get_logger("graphmem.neo4j").info("engine.started")
        raise EngineStartFailed("Neo4j ended as soon as it was started")

    monkeypatch.setattr(neo4j_local, "launch", launch)
    monkeypatch.setattr(process, "FAILURE_SECONDS", 0.0)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    yield settings.load(env="test", data_dir=tmp_path)
    logs.configure(settings.load(env="test", log_level="warning"), None)


def test_the_launch_of_the_database_is_in_the_log(service_settings: Settings) -> None:
    async def live() -> None:
        async def end() -> None: ...

        await process._live(
            service_settings, Front(service_settings, service_settings.data_path / "socket"), end
        )

    asyncio.run(live())
    lines = (service_settings.data_path / "logs" / logs.FILE).read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events == ["engine.started", "the local service cannot start"]
