"""A service in a process of its own, on the database of this run."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from graphmem.observability import logs
from graphmem.settings import Settings
from tests.support.commands import command, environment
from tests.support.forked_services import ForkedProcess, forks
from tests.support.sealed_database import bearing, token_of

READY_SECONDS = 500
"""Longer than a busy machine needs: the limit of the test ends a wait before."""
STOP_SECONDS = 30.0
PORTS_FROM, PORTS_EACH, PORT_RANGES = 18_000, 1_800, 8
"""The ports of services: where they begin, how many each process of a run has, and of how many processes."""


@dataclass(slots=True)
class Service:
    """A running service: its address, the owner of its data, its process, its folder and its token."""

    url: str
    owner: str
    process: ForkedProcess | subprocess.Popen[bytes]
    folder: Path
    token: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of its JSON log file, those of the operations that ended just now included."""
        if self.process.poll() is None:
            time.sleep(2 * logs.WAIT_SECONDS)
        path = self.folder / "logs" / "graphmem.log"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    @property
    def console(self) -> str:
        """The output of the service to stderr and stdout."""
        return (self.folder / "console").read_text("utf-8", errors="replace")

    def http(self, **kwargs: Any) -> httpx.Client:
        """Return an HTTP client of the service."""
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=60.0, **kwargs)

    @property
    def head(self) -> str:
        """The lines of a raw request that have its headers."""
        return "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())

    def mcp(self, path: str = "/mcp") -> Any:
        """Return what a client of the SDK calls the service by."""
        url = self.url + path
        if not self.headers:
            return url
        return streamable_http_client(url, http_client=create_mcp_http_client(headers=self.headers))

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Return the exit code once the service has ended."""
        return self.process.wait(seconds)


def free_port() -> int:
    """Return a port that nobody has just now, and that this process got from here for no other service.

    Each process of a run has a range of its own, below the ports that connections and services without a
    port of their own get: else another one could take it before the service does. A service that starts has
    not taken its port yet, so the range is gone through in turn.
    """
    while True:
        port = next(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _ports() -> Iterator[int]:
    """Yield the ports of this process in turn, again and again, from one at random."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PORT_RANGES
    first = random.randrange(PORTS_EACH)
    for step in itertools.count(first):
        yield PORTS_FROM + number * PORTS_EACH + step % PORTS_EACH


PORTS = _ports()


def start(
    settings: Settings,
    folder: Path,
    owner: str,
    port: int | None = None,
    *,
    worker: bool = False,
    oauth: Mapping[str, Any] | None = None,
    **variables: Any,
) -> Service:
    """Start a service; it is not up yet.

    Args:
        worker: whether it does the work that nobody waits for.
        oauth: arguments of ``tests.support.oauth_changes.install``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    port = free_port() if port is None else port
    if (token := token_of(settings)) is None:
        token = variables.get("SERVICE_BEARER_TOKEN")
    else:
        # A sealed instance takes no other token than its own.
        variables.pop("SERVICE_BEARER_TOKEN", None)
    words = ("serve", "--port", str(port))
    process = forks().start(settings, folder, *words, owner=owner, worker=worker, oauth=oauth, **variables)
    return Service(f"http://127.0.0.1:{port}", owner, process, folder, token, bearing(token))


def spawn(settings: Settings, folder: Path, owner: str, **variables: str) -> Service:
    """Start a service as users start it, with a Python of its own; it is not up yet."""
    port = free_port()
    with (folder / "console").open("ab") as console:
        process = subprocess.Popen(
            command(owner, "serve", "--port", str(port)),
            env=environment(settings, folder, **variables),
            stdout=console,
            stderr=console,
        )
    token = token_of(settings)
    return Service(f"http://127.0.0.1:{port}", owner, process, folder, token, bearing(token))


@contextlib.contextmanager
def until_end(service: Service) -> Iterator[Service]:
    """Wait until a service is healthy, and stop it at the end."""
    try:
        wait_until_healthy(service)
        yield service
    finally:
        if service.process.poll() is None:
            service.process.terminate()
            try:
                service.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                service.process.kill()
                service.process.wait()


@contextlib.contextmanager
def running(settings: Settings, folder: Path, owner: str, **variables: Any) -> Iterator[Service]:
    """Start a service, wait until it is healthy, and stop it at the end."""
    with until_end(start(settings, folder, owner, None, worker=False, **variables)) as service:
        yield service


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
