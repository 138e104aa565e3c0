"""``python -m tests.bench.cpu``: the CPU that the service takes for one request, without Neo4j.

One client sends each request with a bearer token over one connection, in turns with the others. A figure
is the median of its rounds, in microseconds of all threads of the service, and beside it the multiple of that
for ``GET /health``, which reads nothing. ``--beside FOLDER`` measures the code of another checkout in the
same turns, on the same database: compare within one run, never between runs.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphmem import settings
from tests.bench.credentials import TOKEN
from tests.bench.run import PORT, event, serving

WARMING_CALLS, ROUNDS, CALLS = 400, 12, 50
HEALTH = "GET /health"
GOALS = {"snapshot": 2.6, "look-up by e-mail": 2.8, "relationships of an entity": 3.0, "neighbourhood": 3.2}
"""How many times ``GET /health`` a read may take."""
ENTITIES = 60


@dataclass
class Measured:
    """A service under measure: its process, a connection to it, and the figures of its requests."""

    pid: int
    port: int
    microseconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    rates: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def __post_init__(self) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return its answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        self._http.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._http.getresponse()
        raw = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {raw[:300]!r}")
        return json.loads(raw)

    def used(self) -> float:
        """Return the microseconds of CPU that all threads took: finer than the clock of a process."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000

    def measure(self, name: str, call: Callable[[Measured, int], Any]) -> None:
        """Call some times, and keep what one call took."""
        before, start = self.used(), time.perf_counter()
        for i in range(CALLS):
            call(self, i)
        self.rates.setdefault(name, []).append(CALLS / (time.perf_counter() - start))
        self.microseconds.setdefault(name, []).append((self.used() - before) / CALLS)


def requests(service: Measured) -> dict[str, Callable[[Measured, int], Any]]:
    """Store what the requests read; return them by name."""
    items = [event(f"ring {i}") for i in range(ENTITIES)]
    people = [
        {"entity_type": "person", "name": f"Ada {i}", "email": f"ada{i}@example.org"} for i in range(ENTITIES)
    ]
    stored = service("POST", "/store", {"entities": [*items, *people], "find_duplicates": False})
    ids = [entity["entity_id"] for entity in stored["entities"][:ENTITIES]]
    ends = [(entity, ids[(i + away) % ENTITIES]) for i, entity in enumerate(ids) for away in (1, 8, 22)]
    related = [
        {"relationship_type": "REFERS_TO", "source_entity_id": source, "target_entity_id": target}
        for source, target in ends
    ]
    service("POST", "/create_relationships", {"relationships": related})

    def store(to: Measured, i: int) -> Any:
        return to("POST", "/store", {"entities": [event(f"new {time.monotonic_ns()}")]})

    def one(i: int) -> str:
        return ids[i % ENTITIES]

    by_email, around = "/retrieve_entity_by_identifier", "/retrieve_graph_neighborhood"
    return {
        HEALTH: lambda to, i: to("GET", "/health"),
        "snapshot": lambda to, i: to("GET", f"/entities/{one(i)}"),
        "look-up by e-mail": lambda to, i: to(
            "POST", by_email, {"identifier": f"ada{i % ENTITIES}@example.org"}
        ),
        "relationships of an entity": lambda to, i: to("GET", f"/entities/{one(i)}/relationships"),
        "neighbourhood": lambda to, i: to("POST", around, {"node_id": one(i)}),
        "store of one entity": store,
    }


def table(services: dict[str, Measured]) -> Table:
    """Return the figures of all services as a table."""
    figures = Table(title="CPU of the service per request", title_justify="left")
    figures.add_column("request")
    for name in services:
        for column in (f"{name}, µs", "times /health", "a second"):
            figures.add_column(column, justify="right")
    figures.add_column("goal", justify="right")
    for request in next(iter(services.values())).microseconds:
        cells: list[str] = []
        for service in services.values():
            used = statistics.median(service.microseconds[request])
            health = statistics.median(service.microseconds[HEALTH])
            rate = statistics.median(service.rates[request])
            cells += [f"{used:.0f}", f"{used / health:.2f}", f"{rate:.0f}"]
        figures.add_row(request, *cells, f"{GOALS[request]:g}" if request in GOALS else "")
    return figures


def main() -> None:
    """Measure and print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--beside", type=Path, help="another checkout, whose code is measured too")
    beside: Path | None = options.parse_args().beside
    os.environ["SERVICE_BEARER_TOKEN"] = TOKEN
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        own = settings.load(data_dir=Path(folder), port=PORT)
        services = {"this code": Measured(running.enter_context(serving(own)).pid, PORT)}
        if beside is not None:
            process = running.enter_context(serving(own, PORT + 1, beside.resolve()))
            services["beside"] = Measured(process.pid, PORT + 1)
        calls = requests(services["this code"])
        for service in services.values():
            for call in calls.values():
                for i in range(WARMING_CALLS):
                    call(service, i)
        for turn in range(ROUNDS):
            in_turn = list(services.values())[:: -1 if turn % 2 else 1]
            for name, call in calls.items():
                for service in in_turn:
                    service.measure(name, call)
    Console().print(table(services))


if __name__ == "__main__":
    main()
