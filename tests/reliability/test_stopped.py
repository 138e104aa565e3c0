"""A database that somebody stops on purpose stays down under a service, until somebody asks for it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from graphmem import neo4j_local
from graphmem.cli.main import app
from graphmem.service.serving import WATCH_SECONDS
from tests.support.commands import environment
from tests.support.embedded_neo4j import engine_settings, servers_of, wait_for
from tests.support.killed_services import KillableService


# A database of its own is started three times. The parts have quick tests: that of Neo4j's restarts leaves a
# stopped database so, tests/reliability/test_neo4j_local.py starts and stops one by commands.
@pytest.mark.long
def test_a_database_that_was_stopped_stays_so_until_it_is_asked_for(tmp_path: Path) -> None:
    settings = engine_settings(tmp_path / "data", cache_dir=os.environ.get("GRAPHMEM_CACHE_DIR"))
    victims = KillableService(settings, GRAPHMEM_RETRY_SECONDS="1")

    def db(command: str) -> Result:
        return CliRunner().invoke(app, ["db", command, "--json"], env=environment(settings, victims.folder))

    def healthy() -> bool:
        return httpx.get(f"{victims.url}/health/ready", timeout=30).is_success

    try:
        victims.start()
        victims.up()
        assert '"stopped":true' in db("stop").stdout
        time.sleep(4 * WATCH_SECONDS)
        assert servers_of(victims.folder) == []
        answer = httpx.get(f"{victims.url}/stats", timeout=30, headers={"Authorization": "Bearer x"})
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        assert victims.service
        lines = [line for line in victims.service.log if "on purpose" in line["event"]]
        assert len(lines) == 1

        assert db("start").exit_code == 0
        wait_for(healthy)
        # From now on it is kept up again.
        victims.kill("neo4j")
        wait_for(lambda: servers_of(victims.folder))
        wait_for(healthy)
    finally:
        victims.close()
    assert not neo4j_local.stopped(settings)
