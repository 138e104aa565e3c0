"""The metrics of a process, for ``GET /metrics`` in the text format of Prometheus.

Labels have few values only: names of operations and queries, error codes; never owners, types or ids. Each
metric is counted in one place: requests in the registry's runner, statements in
:mod:`graphmem.database.driver`, turns in the writer.
"""

from collections.abc import Sequence
from functools import cache

import prometheus_client as prometheus
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from graphmem import __version__

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
STATEMENT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
TURN_REQUESTS = (1, 2, 5, 10, 20, 50, 100, 200)
TURN_OBSERVATIONS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
TURNS = ("committed", "nothing", "lost", "looked_again", "failed")
"""Outcomes of a turn. After the last three it is repeated.

``lost``: another process wrote first. ``looked_again``: a commit fell into its look, or snapshots were folded
by earlier rules. ``failed``: the database failed.
"""


class Metrics:
    """The metrics of one process. Each instance has its own registry, so that tests can make several. Those
    with labels are functions from labels to a metric, which cache: a look-up costs more than a count."""

    def __init__(self) -> None:
        self.registry = registry = prometheus.CollectorRegistry()
        for collector in (prometheus.ProcessCollector, prometheus.PlatformCollector, prometheus.GCCollector):
            collector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> prometheus.Counter:
            return prometheus.Counter(f"graphmem_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> prometheus.Gauge:
            return prometheus.Gauge(f"graphmem_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: Sequence[float], *labels: str) -> prometheus.Histogram:
            return prometheus.Histogram(f"graphmem_{name}", text, labels, buckets=buckets, registry=registry)

        gauge("build_info", "Always 1; its label is the version.", "version").labels(__version__).set(1)
        text = "Calls of operations, by face and outcome: ok, or the error's code."
        self.requests = cache(counter("requests", text, "operation", "face", "outcome").labels)
        text = "Seconds that a call of an operation took, waits included."
        self.request_seconds = cache(histogram("request_seconds", text, REQUEST_SECONDS, "operation").labels)
        text = "HTTP answers by status, including those that reached no operation."
        self.responses = cache(counter("http_responses", text, "status").labels)
        name, text = "database_statement_seconds", "Seconds until a statement to the database was answered."
        self.statements = cache(histogram(name, text, STATEMENT_SECONDS, "query").labels)
        text = "Failed statements, by the error's code, without those that succeeded at a retry."
        self.database_errors = cache(counter("database_errors", text, "code").labels)
        self.read_retries = counter("database_read_retries", "Retries of reads after the database failed.")
        text = "Retries of writes that the database rolled back because of a deadlock."
        self.write_retries = counter("database_write_retries", text)
        turns = counter("writer_turns", "Turns of writers, by outcome.", "outcome")
        self.turns = {outcome: turns.labels(outcome) for outcome in TURNS}
        self.turn_requests = histogram("writer_turn_requests", "Requests in a turn.", TURN_REQUESTS)
        text = "Observations in a turn."
        self.turn_observations = histogram("writer_turn_observations", text, TURN_OBSERVATIONS)
        text = "Requests that wait for a turn of their owner's writer."
        self.waiting = gauge("writer_waiting_requests", text)
        self.connections = gauge("database_connections", "Connections to the database that are open.")
        text = "Connections to the database that are in use."
        self.connections_in_use = gauge("database_connections_in_use", text)
        self.connections_max = gauge("database_connections_max", "Limit of connections to the database.")
        text = "Items that waited at the worker's last check, up to the limit of one check."
        self.backlog = gauge("worker_backlog", text, "work")
        text = "Entities that the worker has folded or given a vector."
        self.worked = counter("worker_done", text, "work")

    def text(self) -> bytes:
        return prometheus.generate_latest(self.registry)
