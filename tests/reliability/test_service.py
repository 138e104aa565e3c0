"""The service as a process: how it starts, what it logs, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from graphmem.context import Services
from graphmem.settings import Settings
from tests.support import faces
from tests.support.commands import command, environment
from tests.support.event_loop import Loop
from tests.support.long_cases import mostly_long
from tests.support.service import Service, running, spawn, until_end

TOKEN = "canary-token-0123456789-abcdefghijklmnopqrstuvwxyz"
BODY = json.dumps({"entities": [{"entity_type": "thing", "name": "slow"}]}).encode()


@contextmanager
def begun(service: Service) -> Iterator[socket.socket]:
    """Begin a store and hold back the last byte of its body."""
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        head = f"POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(BODY)}\r\n"
        head += service.head
        connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + BODY[:-1])
        # The service answers another request, so it has read this one.
        assert httpx.get(f"{service.url}/health").is_success
        yield connection


def received(connection: socket.socket) -> bytes:
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


# The end


def test_a_request_under_way_is_finished_before_the_end(
    settings: Settings, tmp_path: Path, owner: str, loop: Loop, services: Services
) -> None:
    with running(settings, tmp_path, owner) as service:
        with begun(service) as connection:
            service.send(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                service.wait(0.5)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{service.url}/health", timeout=2)
            connection.sendall(BODY[-1:])
            answer = received(connection)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert service.wait() == 0
        assert "Traceback" not in service.console
    assert faces.by_runner(loop, services, owner)("server.stats")["total_entities"] == 1


def test_request_that_does_not_end_is_given_up_in_time_without_a_traceback(
    settings: Settings, tmp_path: Path, owner: str
) -> None:
    with running(settings, tmp_path, owner, GRAPHMEM_SHUTDOWN_SECONDS="1") as service, begun(service):
        begin = time.monotonic()
        service.send(signal.SIGTERM)
        assert service.wait() == 0
        assert time.monotonic() - begin > 0.5
        assert "Traceback" not in service.console


def test_a_second_interrupt_ends_it_at_once(settings: Settings, tmp_path: Path, owner: str) -> None:
    service = spawn(settings, tmp_path, owner, GRAPHMEM_SHUTDOWN_SECONDS="300")
    with until_end(service), begun(service):
        service.send(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            service.wait(0.5)
        service.send(signal.SIGINT)
        service.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_idle_service_with_open_connections_announces_itself_and_ends_at_once(
    settings: Settings, tmp_path: Path, owner: str, number: signal.Signals
) -> None:
    with (
        running(settings, tmp_path, owner, GRAPHMEM_SHUTDOWN_SECONDS="300") as service,
        service.http() as http,
    ):
        # It answers before it has printed that it is ready.
        while "is ready" not in service.console or str(tmp_path) not in service.console:
            assert service.process.poll() is None, service.console
            time.sleep(0.05)
        assert f"{service.url}/mcp" in service.console
        # Only its owner may read the log.
        assert (tmp_path / "logs").stat().st_mode & 0o077 == 0
        assert http.get("/health").is_success
        service.send(number)
        assert service.wait() == 0


@pytest.mark.parametrize("number", mostly_long([signal.SIGTERM, signal.SIGKILL], signal.SIGKILL))
def test_what_was_acknowledged_is_there_whatever_ends_the_service(
    settings: Settings, tmp_path: Path, owner: str, loop: Loop, services: Services, number: signal.Signals
) -> None:
    acknowledged: list[str] = []
    ended = threading.Event()

    def store(worker: int) -> None:
        with service.http() as http:
            for i in range(10_000):
                name = f"{worker}-{i}"
                try:
                    answer = http.post("/store", json={"entities": [{"entity_type": "thing", "name": name}]})
                except httpx.TransportError:
                    break
                if not answer.is_success:
                    break
                acknowledged.append(name)
        ended.set()

    with running(settings, tmp_path, owner) as service:
        workers = [threading.Thread(target=store, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        end = time.monotonic() + 20
        while len(acknowledged) < 40 and time.monotonic() < end:
            ended.wait(0.05)
        service.send(number)
        service.wait()
        for worker in workers:
            worker.join(30)
    assert len(acknowledged) >= 40
    call = faces.by_runner(loop, services, owner)
    kept, offset = set(), 0
    while page := call("entities.query", limit=500, offset=offset)["entities"]:
        kept |= {entity["canonical_name"] for entity in page}
        offset += 500
    assert set(acknowledged) <= kept
    stats = call("server.stats")
    assert stats["sequence"] == stats["total_entities"] == len(kept)


# The start


def test_a_port_that_is_taken_is_told(settings: Settings, tmp_path: Path, owner: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            command(owner, "serve", "--port", str(port)),
            env=environment(settings, tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (result.returncode, result.stdout) == (6, "")
    message = " ".join(result.stderr.split())
    assert f"127.0.0.1:{port} cannot be bound" in message
    assert "--port" in message
    assert "Traceback" not in message


# Logs


def test_every_line_of_a_request_has_its_trace_and_none_has_a_secret(
    settings: Settings, tmp_path: Path, owner: str
) -> None:
    with running(settings, tmp_path, owner, SERVICE_BEARER_TOKEN=TOKEN) as service:
        with service.http() as http:
            traces = [
                http.get("/stats", params={"limit": "canary-query"}),
                http.get("/nowhere/x", params={"code": "canary-query"}),
                http.get("/entities/canary-in-path", params={"sig": "canary-query"}),
                http.post("/store", json={"entities": [{"entity_type": "thing", "x": "canary-body"}]}),
                http.post("/store", content=b'{"canary-body'),
                http.get("/stats", headers={"Authorization": "Bearer canary-wrong"}),
                http.get("/stats", headers={"Authorization": "", "Cookie": "canary-cookie"}),
                http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            ]
        service.send(signal.SIGTERM)
        assert service.wait() == 0
        lines, console = service.log, service.console
    everything = json.dumps(lines) + console
    for canary in (TOKEN, "canary-query", "canary-body", "canary-in-path", "canary-wrong", "canary-cookie"):
        assert canary not in everything, canary
    assert "Traceback" not in everything
    trace_ids = {line.get("trace_id") for line in lines}
    for answer in traces:
        assert answer.headers["x-trace-id"] in trace_ids or answer.request.url.path == "/mcp"
    service_lines = [
        line for line in lines if line["logger"] in ("graphmem.operation", "graphmem.http", "graphmem.graph")
    ]
    assert service_lines
    assert all(len(line["trace_id"]) == 32 for line in service_lines)
    assert {"timestamp", "level", "event", "logger"} <= set.intersection(*(set(line) for line in lines))
