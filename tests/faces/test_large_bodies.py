"""Files of the largest size, sent to a service over TCP: what they cost, and that others are answered."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from graphmem.api.intake import ALLOWANCE_BYTES
from graphmem.ingest.document import FILE_BYTES_LIMIT
from tests.support.service import Service

JSON = {"Content-Type": "application/json"}
UPLOADS = 4
"""Twice as many as are read at a time; the others wait, and take no memory meanwhile."""
MEGABYTE = 1 << 20
HEALTH_SECONDS = 30.0
"""Others are answered while files are uploaded. How soon depends on the machine: this is no figure."""


class Watch:
    """What a thread sees of a service meanwhile: the greatest memory, and the longest wait for an answer."""

    def __init__(self) -> None:
        self.before = self.most = 0
        self.longest = 0.0


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) * 1024


@contextlib.contextmanager
def watching(service: Service) -> Iterator[Watch]:
    """Watch a service until the end of the block."""
    pid, stop, watch = service.process.pid, threading.Event(), Watch()
    watch.before = watch.most = resident(pid)

    def look() -> None:
        with service.http() as http:
            asked = 0.0
            while not stop.is_set():
                watch.most = max(watch.most, resident(pid))
                if time.monotonic() - asked > 0.1:
                    asked = time.monotonic()
                    assert http.get("/health").status_code == 200
                    watch.longest = max(watch.longest, time.monotonic() - asked)
                time.sleep(0.002)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()


@pytest.fixture(scope="module")
def large() -> bytes:
    """A JSON body with a file of the largest size."""
    return b'{"file_content": "' + base64.b64encode(bytes(FILE_BYTES_LIMIT)) + b'"}'


def test_large_json_bodies_cost_bounded_memory_and_others_are_answered(
    service: Service, large: bytes
) -> None:
    def upload(number: int) -> int:
        with service.http() as http:
            while True:
                answer = http.post("/store/unstructured", content=large, headers=JSON, timeout=300)
                if answer.status_code != 503:
                    return answer.status_code

    with watching(service) as watch, ThreadPoolExecutor(UPLOADS) as pool:
        assert list(pool.map(upload, range(UPLOADS))) == [200] * UPLOADS
    assert watch.most < 900 * MEGABYTE
    assert watch.longest < HEALTH_SECONDS


def test_a_form_with_the_largest_file_takes_little_memory(service: Service) -> None:
    with service.http() as http, watching(service) as watch:
        answer = http.post("/store", files={"file": ("zeros", bytes(FILE_BYTES_LIMIT))}, timeout=300)
    assert (answer.status_code, answer.json()["file_size"]) == (200, FILE_BYTES_LIMIT)
    assert watch.most - watch.before < 32 * MEGABYTE
    assert watch.longest < HEALTH_SECONDS
    with service.http() as http:
        refused = http.post("/store", files={"file": ("zeros", bytes(FILE_BYTES_LIMIT + 1))}, timeout=300)
    assert (refused.status_code, refused.json()["error_code"]) == (413, "INGESTION_FILE_TOO_LARGE")


def test_a_body_that_is_announced_as_too_large_is_refused_before_it_is_sent(service: Service) -> None:
    where = urlsplit(service.url)
    size = 4 * -(-FILE_BYTES_LIMIT // 3) + ALLOWANCE_BYTES + 1
    head = "POST /entities/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += service.head
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 413 ")
        # A sender that reads the answer at the end gets it as well.
        for _ in range(size // 65_536):
            connection.sendall(bytes(65_536))
        connection.sendall(bytes(size % 65_536))
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        rest = b""
        while part := connection.recv(65_536):
            rest += part
    assert b'"ok":true' in rest


def test_a_body_without_a_length_is_refused_while_it_is_read(service: Service) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(75):
            yield bytes(MEGABYTE)

    with service.http() as http:
        refused = http.post("/store", content=parts(), headers=JSON, timeout=120)
    assert (refused.status_code, refused.json()["error_code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert httpx.get(f"{service.url}/health").status_code == 200
