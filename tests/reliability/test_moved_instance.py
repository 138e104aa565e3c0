"""One instance with a real database: moved, merged into another, reset, and taken from its backup."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem import environment_file, neo4j_local
from tests.support.commands import UNLIMITED
from tests.support.embedded_neo4j import engine_settings, servers_of

ADA = json.dumps([{"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}])
Command = Callable[..., Any]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """Run a command on a directory in a process of its own; return its answer."""
    names = [f"GRAPHMEM_{name.upper()}" for name in UNLIMITED]
    engine = {"NEO4J_HEAP": "256m", "NEO4J_PAGE_CACHE": "64m", "NEO4J_FAST_START": "true", "OFFLINE": "1"}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {f"GRAPHMEM_{name}": value for name, value in engine.items()}

    def run(folder: Path, *words: str) -> Any:
        line = [sys.executable, "-m", "graphmem", "--json", "--data-dir", str(folder), *words]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    yield run
    for name in ("one", "two", "three"):
        neo4j_local.stop(engine_settings(tmp_path / name))


# It starts five servers and twenty processes: two minutes, eight on a busy machine.
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_an_instance_is_moved_merged_reset_and_taken_from_its_backup(
    tmp_path: Path, command: Command
) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    (note := tmp_path / "note.txt").write_text("The lighthouse opens in May.")
    stored = command(one, "store", "--entities", ADA, "--file-path", str(note))
    assert servers_of(one)

    assert command(one, "storage", "move", str(two)) == {"data_directory": str(two), "moved_from": str(one)}
    assert not servers_of(one)
    assert (one / environment_file.NOTE).read_text().strip() == str(two)
    for folder in (one, two):
        (ada,) = command(folder, "search", "ada@example.org")["entities"]
        assert ada["entity_id"] == stored["entities"][0]["entity_id"]
    assert command(one, "sources", "get", stored["source_id"])["content_hash"] == stored["content_hash"]
    assert servers_of(two)
    assert not servers_of(one)

    rows = {row["what"]: row["bytes"] for row in command(two, "storage", "info")["parts"]}
    assert all(rows[what] > 0 for what in ("database", "files", "logs"))

    assert command(three, "storage", "merge", str(one), "--dry-run")["transactions"] > 0
    assert command(three, "storage", "merge", str(one))["files"] == 1
    assert command(three, "search", "ada@example.org")["entities"][0]["entity_id"] == ada["entity_id"]
    assert servers_of(two), "a database that ran before goes on"
    assert command(three, "storage", "merge", str(two))["transactions"] == 0

    done = command(two, "reset", "--confirm", "two")
    assert (servers_of(two), Path(done["backup"]).parent) == ([], two / "backups")
    assert not (two / "neo4j").exists()
    assert command(three, "storage", "merge", str(two))["known_transactions"] > 0

    (three / "neo4j" / "password").unlink()
    assert command(three, "reset", "--yes", "--no-backup")["backup"] is None
    assert command(three, "storage", "merge", done["backup"])["transactions"] > 0
    assert command(three, "search", "ada@example.org")["entities"][0]["entity_id"] == ada["entity_id"]
