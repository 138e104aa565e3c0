"""A database that a check of an agent started, and that nobody used, ends with its service."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem import neo4j_local
from graphmem.cli import setup
from graphmem.service import calling
from graphmem.service.place import is_locked, place
from tests.support import warm_data
from tests.support.commands import environment
from tests.support.embedded_neo4j import engine_settings, servers_of
from tests.support.local_service import call_service, wait_for

pytestmark = pytest.mark.long  # it starts an embedded Neo4j twice


def test_a_database_that_a_check_started_ends_with_the_service_and_one_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    warm_data.bring(folder)
    settings = engine_settings(folder, env="test", service_idle_seconds=1.0)
    monkeypatch.setenv("GRAPHMEM_SERVICE_IDLE_SECONDS", "1")
    for name, value in environment(settings, folder).items():
        if name != "GRAPHMEM_OFFLINE":
            monkeypatch.setenv(name, value)
    try:
        words = [sys.executable, "-m", "graphmem", "mcp"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as checked:
            assert checked.stdin is not None
            assert checked.stdout is not None
            checked.stdin.write(json.dumps(setup.HELLO).encode() + b"\n")
            checked.stdin.flush()
            assert b"serverInfo" in checked.stdout.readline()
            wait_for(lambda: servers_of(folder))
        wait_for(lambda: not is_locked(place(settings)))
        assert servers_of(folder) == []
        call_service(settings, "server.stats", {})
        wait_for(lambda: not is_locked(place(settings)))
        assert len(servers_of(folder)) == 1
    finally:
        calling.stop(settings)
        neo4j_local.stop(settings)
