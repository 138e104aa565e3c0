"""Spans by OpenTelemetry. :mod:`graphmem.observability.tracing` imports this module if a collector is set.

A separate thread sends the spans, in batches over HTTP. If the collector is slow or unreachable, spans are
lost and no request is delayed.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from graphmem import __version__
from graphmem.observability.tracing import Tracer

CLOSING_SECONDS = 3.0  # seconds that a process waits at its end until its last spans are sent
# Only the trace context of callers is passed on to other services, not their baggage.
_carrier = TraceContextTextMapPropagator()
_TRACE_HEADERS = (b"traceparent", b"tracestate")


class Spans(Tracer):
    """Makes spans and sends them to the collector of the standard ``OTEL_`` variables."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        has_name = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        resource = {SERVICE_VERSION: __version__} | ({} if has_name else {SERVICE_NAME: "graphmem"})
        # No shutdown at exit: it would wait half a minute for an unreachable collector. `close` waits less.
        self._provider = TracerProvider(resource=Resource.create(resource), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("graphmem", __version__)

    def use_globally(self) -> None:
        """Send the spans of libraries too: the MCP SDK continues the trace in a message's ``_meta``."""
        trace.set_tracer_provider(self._provider)

    def close(self) -> None:
        """Send the remaining spans, for at most ``CLOSING_SECONDS``."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSING_SECONDS)

    @contextmanager
    def request(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
        context = {
            name.decode(): value.decode("latin-1") for name, value in headers if name in _TRACE_HEADERS
        }
        attributes = {"http.request.method": method}
        with self._current(method, _carrier.extract(context), kind=SpanKind.SERVER, attributes=attributes):
            yield

    def _current(self, *args: Any, **kwargs: Any) -> AbstractContextManager[Span]:
        """Start a span, which is the current one of the block. Faults that pass are noted elsewhere."""
        return self._tracer.start_as_current_span(
            *args, record_exception=False, set_status_on_exception=False, **kwargs
        )

    def route(self, path: str) -> None:
        trace.get_current_span().set_attribute("http.route", path)

    def answered(self, status: int) -> None:
        span = trace.get_current_span()
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))

    def operation(self, name: str, face: str, outcome: str, failed: bool) -> None:
        span = trace.get_current_span()
        span.update_name(name)
        span.set_attributes({"graphmem.operation": name, "graphmem.face": face, "graphmem.outcome": outcome})
        if outcome != "ok":
            span.set_attribute("error.type", outcome)
        if failed:
            span.set_status(Status(StatusCode.ERROR))

    @contextmanager
    def statement(self, query: str, database: str) -> Iterator[None]:
        """Span a statement of a request. A statement without a request, such as a ping, has no span."""
        if not trace.get_current_span().get_span_context().is_valid:
            yield
            return
        attributes = {"db.system.name": "neo4j", "db.namespace": database, "db.operation.name": query}
        with _ended(self._tracer.start_span(query, kind=SpanKind.CLIENT, attributes=attributes)):
            yield

    @contextmanager
    def turn(self, requests: Iterable[SpanContext | None]) -> Iterator[None]:
        """Span a turn: as a child of its request, or in a new trace if it has several requests."""
        contexts = [context for context in requests if context is not None]
        parent = None
        if len(contexts) == 1:
            parent = trace.set_span_in_context(trace.NonRecordingSpan(contexts[0]))
        links, attributes = [Link(context) for context in contexts], {"graphmem.requests": len(contexts)}
        with self._current("writer.turn", parent, attributes=attributes, links=links):
            yield

    @contextmanager
    def call(self, name: str) -> Iterator[dict[str, str]]:
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT)
        headers: dict[str, str] = {}
        _carrier.inject(headers, trace.set_span_in_context(span))
        with _ended(span):
            yield headers

    def current_span(self) -> SpanContext | None:
        context = trace.get_current_span().get_span_context()
        return context if context.is_valid else None

    def trace_id(self) -> str:
        context = self.current_span()
        return "" if context is None else trace.format_trace_id(context.trace_id)


@contextmanager
def _ended(span: Span) -> Iterator[None]:
    """End a span. An exception marks it as failed, with the exception's type and without its message."""
    try:
        yield
    except BaseException as exc:
        span.set_attribute("error.type", type(exc).__name__)
        span.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        span.end()
