"""What a process counts and times, for ``GET /metrics`` in the text format of Prometheus.

Labels are of bounded sets only: names of operations, queries and error codes, never of owners, types or ids.
Each thing is counted in one place: requests in the registry's runner, statements in
:mod:`graphmem.database.driver`, turns in the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from graphmem import __version__

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
STATEMENT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
TURN_REQUESTS = (1, 2, 5, 10, 20, 50, 100, 200)
TURN_OBSERVATIONS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
TURNS = ("committed", "nothing", "lost", "looked_again", "failed")
"""What becomes of a turn: written; nothing was to be written; another process wrote first; what it saw was
torn or folded under earlier rules; the database failed. But for the first two, it is taken again."""


M = TypeVar("M", Counter, Histogram)


class Metrics:
    """The counts of one process: a registry of its own, so that several can live side by side."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        Gauge(
            "graphmem_build_info", "Always 1; its label is the version.", ["version"], registry=registry
        ).labels(__version__).set(1)
        self._requests = _by_labels(Counter(
            "graphmem_requests", "Calls of operations, by face and outcome: ok, or the error's code.",
            ["operation", "face", "outcome"], registry=registry,
        ))  # fmt: skip
        self._request_seconds = _by_labels(Histogram(
            "graphmem_request_seconds", "Seconds that a call of an operation took, waits included.",
            ["operation"], buckets=REQUEST_SECONDS, registry=registry,
        ))  # fmt: skip
        self._responses = _by_labels(Counter(
            "graphmem_http_responses", "HTTP answers by status, those that reached no operation included.",
            ["status"], registry=registry,
        ))  # fmt: skip
        self._statements = _by_labels(Histogram(
            "graphmem_database_statement_seconds", "Seconds until a statement to the database was answered.",
            ["query"], buckets=STATEMENT_SECONDS, registry=registry,
        ))  # fmt: skip
        self._database_errors = _by_labels(Counter(
            "graphmem_database_errors", "Statements that the database failed for good, by the error's code.",
            ["code"], registry=registry,
        ))  # fmt: skip
        self.read_retries = Counter(
            "graphmem_database_read_retries", "Reads that were sent again, because the database failed.",
            registry=registry,
        )  # fmt: skip
        turns = Counter(
            "graphmem_writer_turns",
            "Turns of writers, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.turns = {outcome: turns.labels(outcome) for outcome in TURNS}
        self._turn_requests = Histogram(
            "graphmem_writer_turn_requests", "Requests that a turn held.",
            buckets=TURN_REQUESTS, registry=registry,
        )  # fmt: skip
        self._turn_observations = Histogram(
            "graphmem_writer_turn_observations", "Observations that a turn held.",
            buckets=TURN_OBSERVATIONS, registry=registry,
        )  # fmt: skip
        self._gauges(registry)

    def _gauges(self, registry: CollectorRegistry) -> None:
        self.waiting = Gauge(
            "graphmem_writer_waiting_requests", "Requests that wait for a turn of their owner's writer.",
            registry=registry,
        )  # fmt: skip
        self.connections = Gauge(
            "graphmem_database_connections", "Connections to the database that are open.", registry=registry
        )
        self.connections_in_use = Gauge(
            "graphmem_database_connections_in_use",
            "Connections to the database that work.",
            registry=registry,
        )
        self.connections_max = Gauge(
            "graphmem_database_connections_max", "Connections that there may be to the database.",
            registry=registry,
        )  # fmt: skip
        self.backlog = Gauge(
            "graphmem_worker_backlog", "What waited when the worker last looked, as far as one look sees.",
            ["work"], registry=registry,
        )  # fmt: skip
        self.worked = Counter(
            "graphmem_worker_done", "Entities that the worker has folded, given a vector or indexed.",
            ["work"], registry=registry,
        )  # fmt: skip

    def request(self, operation: str, face: str, outcome: str, seconds: float) -> None:
        """Count a call of an operation."""
        self._requests(operation, face, outcome).inc()
        self._request_seconds(operation).observe(seconds)

    def response(self, status: int) -> None:
        """Count an HTTP answer."""
        self._responses(str(status)).inc()

    def statement(self, query: str, seconds: float) -> None:
        """Count a statement to the database."""
        self._statements(query).observe(seconds)

    def database_error(self, code: str) -> None:
        """Count a statement that the database failed."""
        self._database_errors(code).inc()

    def turn(self, requests: int, observations: int) -> None:
        """Count what a turn of a writer holds."""
        self._turn_requests.observe(requests)
        self._turn_observations.observe(observations)

    def text(self) -> bytes:
        """Return everything in the text format."""
        return generate_latest(self.registry)


def _by_labels(metric: M) -> Callable[..., M]:
    """Return how to reach the metric of some labels; remembered, as that costs more than counting."""
    known: dict[tuple[str, ...], M] = {}

    def labelled(*labels: str) -> M:
        found = known.get(labels)
        if found is None:
            found = known[labels] = metric.labels(*labels)
        return found

    return labelled
