"""``make bench``: what this machine does, through HTTP, with the round trips to Neo4j of each request.

It starts an embedded Neo4j and a service of its own in a temporary directory and stops both. Machines are
noisy: compare as ratios within one run, never between runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.runtime import connection
from graphmem.settings import Settings

PORT = 3581
WARMING = 2_000
FIELDS = {"title": "Weekly", "event_type": "meeting", "attendees": ["Ada", "Bo"], "outcome": "noted", "n": 1}


class Service:
    """A connection to the service under measure."""

    def __init__(self, port: int = PORT) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body)
        self.http.request(method, path, data, {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        raw = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {raw[:300]!r}")
        return json.loads(raw)

    def store(self, *items: dict[str, Any]) -> str:
        """Store items; return the id of the first one's entity."""
        return self("POST", "/store", {"entities": list(items)})["entities"][0]["entity_id"]


def latency(work: Callable[[int], Any], times: int = 300) -> tuple[float, float]:
    """Return p50 and p95 of a call, in milliseconds."""
    for i in range(10):
        work(-1 - i)
    taken = []
    for i in range(times):
        start = time.perf_counter()
        work(i)
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[18]


def rate(make: Callable[[Service, int], Any], clients: int, each: int) -> float:
    """Return the calls a second of several clients at once."""

    def client(k: int) -> None:
        service = Service()
        for i in range(each):
            make(service, k * each + i)

    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients * each / (time.perf_counter() - start)


def event(name: str) -> dict[str, Any]:
    """Return an item of five fields."""
    return {"entity_type": "event", **FIELDS, "title": name}


def measure(service: Service) -> list[tuple[str, str]]:
    """Return (what, figure) of each measure."""
    figures: list[tuple[str, str]] = []

    def tell(measure_name: str, figure: str) -> None:
        figures.append((measure_name, figure))

    def timed(measure_name: str, work: Callable[[int], Any]) -> None:
        p50, p95 = latency(work)
        tell(measure_name, f"p50 {p50:.2f} ms, p95 {p95:.2f} ms")

    entity_id = service.store(event("one"))
    # The first thousands of calls are the engine's compiler warming up: not what a running service does.
    for i in range(WARMING):
        service("POST", "/get_entity_snapshot", {"entity_id": entity_id})
        service.store(event(f"warm {i % 200}"))
    timed("GET /server-info (no round trip)", lambda i: service("GET", "/server-info"))
    timed(
        "snapshot of 1 observation",
        lambda i: service("POST", "/get_entity_snapshot", {"entity_id": entity_id}),
    )
    timed("store of one item, new entity", lambda i: service.store(event(f"new {i}")))
    timed("store of one item, known entity", lambda i: service.store(event("one")))
    tell("stores a second, 1 client", f"{rate(lambda s, i: s.store(event(f'a{i}')), 1, 300):.0f}")
    tell("stores a second, 8 clients", f"{rate(lambda s, i: s.store(event(f'b{i}')), 8, 150):.0f}")
    tell("stores a second, 32 clients", f"{rate(lambda s, i: s.store(event(f'c{i}')), 32, 60):.0f}")
    batch = rate(lambda s, i: s.store(*(event(f"d{i} {k}") for k in range(100))), 1, 20) * 100
    tell("observations a second, batches of 100", f"{batch:.0f}")
    snapshots = rate(lambda s, i: s("POST", "/get_entity_snapshot", {"entity_id": entity_id}), 8, 300)
    tell("snapshots a second, 8 clients", f"{snapshots:.0f}")
    large_id = service.store(event("many"))
    for _ in range(10):
        service.store(*(event("many") for _ in range(100)))
    timed("snapshot of 1,001 observations", lambda i: service("GET", f"/entities/{large_id}"))
    timed(
        "the same as of a time",
        lambda i: service("POST", "/get_entity_snapshot", {"entity_id": large_id, "at": "2100-01-01"}),
    )
    timed("store of one item, entity of 1,001", lambda i: service.store(event("many")))
    timed(
        "page of 100 with snapshots",
        lambda i: service("POST", "/entities/query", {"filters": {"entity_type": "event"}}),
    )
    timed(
        "look-up by name", lambda i: service("POST", "/retrieve_entity_by_identifier", {"identifier": "d3 7"})
    )
    return figures


def round_trips(log: Path) -> dict[str, int]:
    """Return the most frequent number of round trips of each operation, from the service's log."""
    counts_by_operation: dict[str, list[int]] = {}
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if entry.get("logger") == "graphmem.operation" and entry["outcome"] == "ok" and entry["round_trips"]:
            counts_by_operation.setdefault(entry["event"], []).append(entry["round_trips"])
    return {name: statistics.mode(counts) for name, counts in sorted(counts_by_operation.items())}


def starts(service_settings: Settings) -> list[tuple[str, str]]:
    """Return what a first and a second start of the database take, and its memory when idle."""
    figures = []
    for start in ("first start", "second start"):
        begin = time.perf_counter()
        asyncio.run(connection(service_settings))
        figures.append((f"Neo4j, {start}", f"{time.perf_counter() - begin:.1f} s"))
        if start == "first start":
            neo4j_local.stop(service_settings)
    time.sleep(20)
    resident = neo4j_local.status(service_settings).resident_bytes or 0
    figures.append(("Neo4j, resident when idle", f"{resident / 2**20:.0f} MiB"))
    return figures


@contextlib.contextmanager
def serving(
    service_settings: Settings, port: int = PORT, code: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a service, and its embedded database; stop both in the end.

    ``code``: another checkout, whose code runs on the same database.
    """
    folder = service_settings.data_path
    # One caller sends all that the service can answer.
    unlimited = {
        settings.variable(name): "off" for name in Settings.model_fields if name.startswith("limit_")
    }
    environment = {
        **unlimited,
        **os.environ,
        "GRAPHMEM_DATA_DIR": str(folder),
        "GRAPHMEM_PORT": str(port),
        **({} if code is None else {"PYTHONPATH": str(code)}),
    }
    errors = folder / f"serve-{port}.err"
    with errors.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "graphmem", "serve"], env=environment, stderr=err, cwd=code
        )
    try:
        while not re.search("is ready", errors.read_text()):
            if process.poll() is not None:
                raise SystemExit(errors.read_text())
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(30)
        neo4j_local.stop(service_settings)


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        service_settings = settings.load(data_dir=Path(folder), port=PORT)
        rows = starts(service_settings)
        with serving(service_settings) as process:
            rows += measure(Service())
            resident = psutil.Process(process.pid).memory_info().rss
            rows.append(("service, resident", f"{resident / 2**20:.0f} MiB"))
            trips = round_trips(Path(folder) / "logs" / "graphmem.log")
            rows += [(f"round trips of {name}", str(count)) for name, count in trips.items()]
    table = Table(title="graphmem on this machine", title_justify="left")
    table.add_column("what")
    table.add_column("figure", justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
