"""A service in a process of its own, started as users start it, on the database of this run.

Run as a module (``python -m tests.support.service OWNER serve …``) this file is the ``graphmem`` command with
another default owner, so that tests that share a database see nothing of each other. With
``OWNER_BY_TOKEN`` in place of the owner, the bearer token of each call names the owner.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from graphmem import settings as graphmem_settings
from graphmem.settings import Settings
from tests.support import reached_outcomes

READY_SECONDS = 120
STOP_SECONDS = 30.0
LOCAL_SERVICE = "local-service"
"""In place of a command: be the local service of the environment's settings."""
OWNER_BY_TOKEN = "each"
"""Instead of an owner: the bearer token names it, call by call."""


@dataclass(slots=True)
class Service:
    """A running service: where it is, who owns what it stores, and what it says."""

    url: str
    owner: str
    process: subprocess.Popen[bytes]
    folder: Path
    token: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of its JSON log file."""
        path = self.folder / "logs" / "graphmem.log"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    @property
    def console(self) -> str:
        """What it wrote to stderr and stdout."""
        return (self.folder / "console").read_text("utf-8", errors="replace")

    def http(self, **kwargs: Any) -> httpx.Client:
        """Return a client of it."""
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=60.0, **kwargs)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Return its exit code once it has ended."""
        return self.process.wait(seconds)


def free_port() -> int:
    """Return a port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(settings: Settings, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment in which a command reaches the database of this run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == reached_outcomes.VARIABLE or not name.startswith(("GRAPHMEM_", "NEO4J_"))
    }
    where = {
        "NEO4J_USERNAME": settings.neo4j_username,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
    }
    if settings.neo4j_uri:
        where["NEO4J_URI"] = settings.neo4j_uri
    else:
        # An embedded Neo4j of this folder.
        own = ("neo4j_heap", "neo4j_page_cache", "neo4j_fast_start", "cache_dir")
        embedded = {f"GRAPHMEM_{name.upper()}": getattr(settings, name) for name in own}
        where = {name: str(value) for name, value in embedded.items() if value is not None}
    own_process = {"GRAPHMEM_DATA_DIR": str(folder), "GRAPHMEM_ENV": "test", "GRAPHMEM_OFFLINE": "1"}
    return {**kept, **where, **own_process, **more}


def command(owner: str, *words: str) -> list[str]:
    """Return the command line of ``graphmem`` for an owner of its own."""
    return [sys.executable, "-m", "tests.support.service", owner, *words]


def start(settings: Settings, folder: Path, owner: str, port: int | None = None, **variables: str) -> Service:
    """Start a service; it is not up yet."""
    port = free_port() if port is None else port
    token = variables.get("SERVICE_BEARER_TOKEN")
    with (folder / "console").open("ab") as console:
        process = subprocess.Popen(
            command(owner, "serve", "--port", str(port)),
            env=environment(settings, folder, **variables),
            stdout=console,
            stderr=console,
        )
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Service(f"http://127.0.0.1:{port}", owner, process, folder, token, headers)


@contextlib.contextmanager
def running(settings: Settings, folder: Path, owner: str, **variables: str) -> Iterator[Service]:
    """Start a service, wait until it is healthy, and stop it at the end."""
    service = start(settings, folder, owner, None, **variables)
    process = service.process
    try:
        wait_until_healthy(service)
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until_listening(port: int) -> None:
    """Wait until a service listens, without sending it a request."""
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nobody listens at port {port}")


def wait_until_healthy(service: Service) -> None:
    """Wait until a service, and its database, answer."""
    end = time.monotonic() + READY_SECONDS
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{service.url}/health/ready", timeout=2.0).is_success:
                return
        if service.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"the service is not up: {service.console}")
        time.sleep(0.05)


def owner_by_token(settings: Settings, authorization: str | None) -> Any:
    """Return the actor of a request: its bearer token is the owner."""
    from tests.support.actors import full_actor

    return full_actor((authorization or "").removeprefix("Bearer "))


async def no_work(services: Any) -> None:
    """Do none of the worker's work."""


if __name__ == "__main__":
    owner = sys.argv.pop(1)
    if owner == OWNER_BY_TOKEN:
        from graphmem import auth

        auth.authenticate = owner_by_token
    else:
        graphmem_settings.DEFAULT_OWNER = owner
        # Its worker would do the work that other tests leave in the database for a process that they kill.
        from graphmem import worker

        worker.work = no_work
        # A local service that this process starts is the same owner's.
        from graphmem.service import calling

        calling.COMMAND = command(owner, LOCAL_SERVICE)
    # The default owner is read when the package is imported.
    reached_outcomes.install_if_wanted()
    if sys.argv[1:] == [LOCAL_SERVICE]:
        from graphmem.service.process import main
    else:
        from graphmem.cli.main import main

    main()
