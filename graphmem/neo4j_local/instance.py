"""The data directory of an instance: its files, ports, password and lock.

<data directory>/
  graphmem.env      settings that the environment does not have (0600)
  data-at           leads to another directory that has the data
  unfinished.json   exists while a reset or a move is not finished: the database does not start
  instance.json     format of this directory, Neo4j release, ports
  stopped           exists while the server is down because somebody stopped it on purpose
  neo4j.lock        locked by the process that starts or stops the server, until that process ends
  neo4j/            Neo4j's home (0700): conf, data, logs, run
    password        of the user ``neo4j`` (0600)
    run/server.json process id of the server while it runs
"""

import json
import random
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import filelock

from graphmem.errors import DataDirectoryRefused, EngineStartFailed
from graphmem.neo4j_local import archive, config, private_files
from graphmem.neo4j_local.jar_list import Lock
from graphmem.neo4j_local.unfinished import refuse_unfinished
from graphmem.settings import Settings

FORMAT = 1
"""Format of the data directory. It is raised when an older graphmem could no longer use the directory."""

STORE_LOCK_TIMEOUT_SECONDS = 5.0
"""A killed server may keep its files locked for so long: its threads end after its process is gone."""

# Below the ports that Linux and macOS use for outgoing connections.
PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class InstanceLogin:
    """The addresses and the login of an instance: ``uri`` (bolt) for programs, ``browser_url`` for people."""

    uri: str
    username: str
    password: str = field(repr=False)
    browser_url: str
    database: str = "neo4j"


class Facts(NamedTuple):
    """The content of instance.json."""

    format: int
    release: str
    bolt_port: int
    http_port: int
    created_at: str


class Instance:
    """The files of one data directory. Its methods raise :class:`DataDirectoryRefused` for a directory that a
    newer graphmem or another program made, that is damaged, or that is in use."""

    def __init__(self, settings: Settings) -> None:
        self.root = settings.data_path
        self.home = self.root / "neo4j"
        self.databases = self.home / "data" / "databases"
        self.console = self.home / "logs" / "console.log"
        self.log = self.home / "logs" / "neo4j.log"
        self.run_file = self.home / "run" / "server.json"
        self.stop_file = settings.stop_file
        self._facts_file = self.root / "instance.json"
        self._password_file = self.home / "password"

    @contextmanager
    def lock(self, timeout: float) -> Iterator[None]:
        """Hold the lock for a start or stop of the server; ``filelock.Timeout`` after ``timeout`` seconds."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with filelock.FileLock(self.root / "neo4j.lock", timeout, mode=0o600, poll_interval=0.05):
            yield

    def facts(self) -> Facts | None:
        """Read instance.json; None if the directory holds no instance."""
        try:
            data = json.loads(self._facts_file.read_text())
            if data["format"] > FORMAT:
                raise DataDirectoryRefused(
                    f"{self.root} was made by a newer graphmem (format {data['format']}, this graphmem reads "
                    f"{FORMAT}): upgrade graphmem, or set GRAPHMEM_DATA_DIR to another directory"
                )
            return Facts(**data)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as exc:
            raise DataDirectoryRefused(
                f"{self._facts_file} is damaged: put it back from a backup, or set GRAPHMEM_DATA_DIR to "
                "another directory"
            ) from exc

    def connection(self, facts: Facts) -> InstanceLogin:
        """Return the addresses and the login of the instance; refused if the password file is missing."""
        try:
            password = self._password_file.read_text().strip()
        except FileNotFoundError as exc:
            raise DataDirectoryRefused(
                f"{self._password_file} is missing, and without it the database is closed: put it back "
                "from a backup, or set GRAPHMEM_DATA_DIR to another directory"
            ) from exc
        browser = f"http://127.0.0.1:{facts.http_port}/browser/"
        return InstanceLogin(f"bolt://127.0.0.1:{facts.bolt_port}", "neo4j", password, browser)

    def prepare(self, settings: Settings, lock: Lock, class_path: list[Path], avoid: set[int]) -> Facts:
        """Make or check the directory and write the server's configuration. The caller holds the lock."""
        facts = self._checked(lock)
        self._refuse_if_open(self.databases / "store_lock")
        bolt = _port(facts.bolt_port, avoid)
        facts = facts._replace(bolt_port=bolt, http_port=_port(facts.http_port, avoid | {bolt}))
        for name in ("", "conf", "logs", "run", "run/tmp", "data", "data/dbms"):
            private_files.private_directory(self.home / name)
        server_id = self.home / "data" / "server_id"
        if server_id.exists() and not server_id.stat().st_size:
            # Neo4j writes it without a flush. Cut power may leave it empty: then Neo4j ends at each start.
            server_id.unlink()
        auth = self.home / "data" / "dbms" / "auth.ini"
        if not self.databases.exists():
            if not self._password_file.exists():
                private_files.write_private(self._password_file, secrets.token_urlsafe(32))
            private_files.write_private(auth, config.auth_ini(self._password_file.read_text()))
        conf = config.neo4j_conf(settings, facts.bolt_port, facts.http_port)
        private_files.write_private(self.home / "conf" / "neo4j.conf", conf)
        options = archive.options(class_path, self.home) + config.java_options(
            settings, self.home, class_path
        )
        private_files.write_private(self.home / "conf" / "java.args", config.argument_file(options))
        private_files.write_private(self._facts_file, json.dumps(facts._asdict(), indent=2))
        return facts

    def _checked(self, lock: Lock) -> Facts:
        """Return the facts for a start of this release. The ports are those of the last start, 0 if none."""
        refuse_unfinished(self.root)
        facts = self.facts()
        if facts is None:
            if self.databases.exists():
                raise DataDirectoryRefused(
                    f"{self.home} holds a database that graphmem did not make: set GRAPHMEM_DATA_DIR to "
                    "another directory"
                )
            facts = Facts(FORMAT, lock.release, 0, 0, datetime.now(UTC).isoformat(timespec="seconds"))
        if _numbers(facts.release) > _numbers(lock.release):
            raise DataDirectoryRefused(
                f"{self.root} was last opened by Neo4j {facts.release}, which {lock.release} cannot read: "
                "upgrade graphmem or set GRAPHMEM_NEO4J_VERSION, or GRAPHMEM_DATA_DIR to another directory"
            )
        return facts._replace(release=lock.release)

    def _refuse_if_open(self, store_lock: Path) -> None:
        """Refuse if any program has the database files open, even a program that this user cannot see."""
        import fcntl  # Windows has no such module; an embedded server is refused there earlier

        deadline = time.monotonic() + STORE_LOCK_TIMEOUT_SECONDS
        while store_lock.exists():
            with store_lock.open("r+b") as file:
                try:
                    return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except (BlockingIOError, PermissionError) as exc:
                    if time.monotonic() > deadline:
                        raise DataDirectoryRefused(
                            f"another program has the database in {self.home / 'data'} open: stop it (a "
                            "second container on the same volume, or a Neo4j pointed at it), then try again"
                        ) from exc
            time.sleep(0.1)
        return None


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


def _port(preferred: int, avoid: set[int]) -> int:
    """Return the preferred port if it is free, otherwise another free port."""
    for _ in range(4 if preferred and preferred not in avoid else 0):
        if _is_free(preferred):
            return preferred
        time.sleep(0.1)  # a server that was just killed may still have it
    for port in random.sample(PORTS, 200):
        if port not in avoid and _is_free(port):
            return port
    raise EngineStartFailed(
        "no free port was found on 127.0.0.1 between 20000 and 31999: close some programs"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Without it, a port whose last connection closed a minute ago counts as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    with socket.socket() as probe:  # macOS binds 127.0.0.1 even if another program has bound all addresses
        return probe.connect_ex(("127.0.0.1", port)) != 0
