"""An embedded Neo4j for tests: settings with a data directory of its own, a probe, and faults to inject.

Run as a program it is another process that wants the database: ``python embedded_neo4j.py DATA_DIR [never]``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString

import neo4j
import psutil
from jgo.maven import Artifact

from graphmem import neo4j_local
from graphmem.settings import Settings, load

WAIT = 60.0  # seconds; the longest that any wait of these tests may take
START_SECONDS = 500.0
"""For how long a server may start: longer than a busy machine needs."""


def engine_settings(data_dir: Path, **overrides: Any) -> Settings:
    """Return settings for a quick server on a data directory, with jars from the user's own cache."""
    return load(
        data_dir=data_dir,
        **{
            "neo4j_heap": "256m",
            "neo4j_page_cache": "64m",
            "neo4j_fast_start": True,
            "neo4j_start_timeout": START_SECONDS,
            **overrides,
        },
    )


def query(
    connection: neo4j_local.InstanceLogin, text: LiteralString, **parameters: Any
) -> list[dict[str, Any]]:
    """Run one statement on a driver of its own."""
    auth = (connection.username, connection.password)
    with neo4j.GraphDatabase.driver(
        connection.uri, auth=auth, connection_timeout=5, max_transaction_retry_time=0
    ) as driver:
        answer = driver.execute_query(text, parameters, database_=connection.database)
        return [record.data() for record in answer.records]


def probe(connection: neo4j_local.InstanceLogin) -> None:
    """Succeed once the database answers."""
    query(connection, "RETURN 1 AS number")


def servers_of(data_dir: Path) -> list[int]:
    """Return the process ids of all servers on a data directory."""
    marker = f"--home-dir={data_dir / 'neo4j'}"
    process_ids = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if (
                marker in command
                and Path(command[0]).name == "java"
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                process_ids.append(process.pid)
        except psutil.Error:
            continue
    return process_ids


def wait_for(what: Callable[[], Any], seconds: float = WAIT) -> Any:
    """Return the first truthy answer, within a bound."""
    tick = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if answer := what():
            return answer
        tick.wait(0.05)
    raise AssertionError(f"not so within {seconds} s")


class FakeRepository:
    """Stands in for Maven Central: serves ``content`` by file name, and lists the names of its downloads."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.downloads: list[str] = []
        self.faults: list[Exception] = []

    def download(self, resolver: Any, artifact: Artifact) -> Path:
        """Do what ``PythonResolver.download`` does, without a network."""
        self.downloads.append(artifact.filename)
        if self.faults:
            raise self.faults.pop(0)
        content, path = self.content[artifact.filename], artifact.cached_path
        assert path is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with resolver.progress_callback(artifact.filename, len(content)) as update:
            path.write_bytes(content)
            update(len(content))
        return path

    def lock(self, folder: Path) -> None:
        """Write ``engine-test.lock.toml`` for what is served now."""
        lines = ['[engine]\nrelease = "1.2.3"\nmain = "Main"\n\n[jars]\n']
        for name, content in self.content.items():
            artifact, version = name.removesuffix(".jar").rsplit("-", 1)
            digest = hashlib.sha256(content).hexdigest()
            lines.append(f'"org.x:{artifact}:{version}" = {{ size = {len(content)}, sha256 = "{digest}" }}\n')
        (folder / "engine-test.lock.toml").write_text("".join(lines))


def _never(connection: neo4j_local.InstanceLogin) -> None:
    raise ConnectionError("this probe never succeeds")


if __name__ == "__main__":
    settings = engine_settings(Path(sys.argv[1]))
    connection = neo4j_local.ensure(settings, _never if "never" in sys.argv else probe)
    sys.stdout.write(json.dumps({"uri": connection.uri, "pid": neo4j_local.status(settings).pid}))
