"""Spans by OpenTelemetry, imported by :mod:`graphmem.observability.tracing` where a collector is named.

They are sent by a thread of their own, in batches over HTTP. A collector that is slow or away costs spans,
never a request.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from graphmem import __version__
from graphmem.observability.tracing import Tracer

CLOSING_SECONDS = 3.0
"""Seconds that the end of a process waits for its last spans to be sent."""
# Of what callers send, only the trace goes on to others: baggage is between them and us.
_carrier = TraceContextTextMapPropagator()
_CARRIED = (b"traceparent", b"tracestate")


class Spans(Tracer):
    """Makes spans, and sends them where the standard variables say."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        known = {SERVICE_VERSION: __version__} | ({} if named else {SERVICE_NAME: "graphmem"})
        # What it registers for the end of the process would wait half a minute for a collector that is away.
        self._provider = TracerProvider(resource=Resource.create(known), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("graphmem", __version__)

    def everywhere(self) -> None:
        """Have the spans of libraries sent too: the MCP SDK's carry on the trace in a message's ``_meta``."""
        trace.set_tracer_provider(self._provider)

    def close(self) -> None:
        """Send what is left, for ``CLOSING_SECONDS`` at most."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSING_SECONDS)

    @contextmanager
    def request(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
        """Span an HTTP request."""
        carried = {name.decode(): value.decode("latin-1") for name, value in headers if name in _CARRIED}
        span = self._tracer.start_span(
            method,
            _carrier.extract(carried),
            SpanKind.SERVER,
            attributes={"http.request.method": method},
        )
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield

    def route(self, path: str) -> None:
        """Say which route the HTTP request under way takes."""
        trace.get_current_span().set_attribute("http.route", path)

    def answered(self, status: int) -> None:
        """Say what the HTTP request under way was answered."""
        span = trace.get_current_span()
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))

    def operation(self, name: str, face: str, outcome: str, failed: bool) -> None:
        """Name the request under way."""
        span = trace.get_current_span()
        span.update_name(name)
        span.set_attributes({"graphmem.operation": name, "graphmem.face": face, "graphmem.outcome": outcome})
        if outcome != "ok":
            span.set_attribute("error.type", outcome)
        if failed:
            span.set_status(Status(StatusCode.ERROR))

    @contextmanager
    def statement(self, query: str, database: str) -> Iterator[None]:
        """Span a statement. What nobody asked for, such as a look at whether the database is up, has none."""
        if not trace.get_current_span().get_span_context().is_valid:
            yield
            return
        known = {"db.system.name": "neo4j", "db.namespace": database, "db.operation.name": query}
        with _ended(self._tracer.start_span(query, kind=SpanKind.CLIENT, attributes=known)):
            yield

    @contextmanager
    def turn(self, requests: Iterable[SpanContext | None]) -> Iterator[None]:
        """Span a turn: below its request if it has but one, else in a trace of its own."""
        served = [one for one in requests if one is not None]
        above = None
        if len(served) == 1:
            above = trace.set_span_in_context(trace.NonRecordingSpan(served[0]))
        span = self._tracer.start_span(
            "writer.turn",
            above,
            attributes={"graphmem.requests": len(served)},
            links=[Link(one) for one in served],
        )
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield

    @contextmanager
    def call(self, name: str) -> Iterator[dict[str, str]]:
        """Span a call of another service."""
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT)
        headers: dict[str, str] = {}
        _carrier.inject(headers, trace.set_span_in_context(span))
        with _ended(span):
            yield headers

    def current_span(self) -> SpanContext | None:
        """Return a link to the current span."""
        context = trace.get_current_span().get_span_context()
        return context if context.is_valid else None

    def trace_id(self) -> str:
        """Return the id of the current trace."""
        context = self.current_span()
        return "" if context is None else trace.format_trace_id(context.trace_id)


@contextmanager
def _ended(span: Span) -> Iterator[None]:
    """End a span, as failed where it is left by an exception, of which it says the kind alone."""
    try:
        yield
    except BaseException as exc:
        span.set_attribute("error.type", type(exc).__name__)
        span.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        span.end()
