"""A collector of traces: a small HTTP server that reads what the OpenTelemetry protocol sends it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

WAIT = 15.0


@dataclass(frozen=True)
class Span:
    """One span, as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    status: int
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Collector:
    """What has arrived so far."""

    url: str
    spans: list[Span] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)

    def wait(self, fits: Callable[[Span], bool], count: int = 1) -> list[Span]:
        """Return the spans that fit, once there are enough of them."""
        end = time.monotonic() + WAIT
        while len(spans := [span for span in self.spans if fits(span)]) < count:
            assert time.monotonic() < end, [(span.name, span.trace) for span in self.spans]
            time.sleep(0.02)
        return spans

    def take(self, body: bytes) -> None:
        """Read one request."""
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _values(of_resource.resource.attributes)
            for scope in of_resource.scope_spans:
                self.spans += [_seen(span, resource) for span in scope.spans]


def _seen(span: Any, resource: dict[str, Any]) -> Span:
    links = tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links)
    return Span(
        span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.kind,
        span.status.code, links, _values(span.attributes), resource,
    )  # fmt: skip


def _values(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in attributes
    }


@contextlib.contextmanager
def running_collector() -> Iterator[Collector]:
    """Run a collector."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.paths.add(self.path)
            collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextlib.contextmanager
def silent_address() -> Iterator[str]:
    """Give the address of something that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
