"""Traces of requests, statements and turns.

``OTEL_EXPORTER_OTLP_ENDPOINT`` and the other standard variables name an OpenTelemetry collector. With one,
:func:`start` returns :class:`graphmem.observability.otel_spans.Spans`, which sends spans. Without one, it
returns :data:`NO_TRACES`, which does nothing: OpenTelemetry is not even imported.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import structlog

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_log = structlog.get_logger("graphmem.tracing")
_nothing: Final[AbstractContextManager[Any]] = contextlib.nullcontext()


class Tracer:
    """Makes no spans. Spans name operations and queries; parameters and values are in none."""

    def close(self) -> None:
        """Send the last spans, for a moment at most."""

    def request(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[Any]:
        """Span an HTTP request, under the caller's own span if the headers name one."""
        return _nothing

    def route(self, path: str) -> None:
        """Set the route of the current HTTP request: its pattern, without the values in it."""

    def answered(self, status: int) -> None:
        """Set the status of the current HTTP request."""

    def operation(self, name: str, face: str, outcome: str, failed: bool) -> None:
        """Name the current request by its operation; ``failed``: the service is to blame for it."""

    def statement(self, query: str, database: str) -> AbstractContextManager[Any]:
        """Span a statement to the database that is sent for a request or a turn."""
        return _nothing

    def turn(self, requests: Iterable[Any]) -> AbstractContextManager[Any]:
        """Span a turn of a writer, with links to the requests that it serves (:meth:`current_span`)."""
        return _nothing

    def call(self, name: str) -> AbstractContextManager[dict[str, str]]:
        """Span a call of another service; yield the headers that continue the trace there."""
        return contextlib.nullcontext({})

    def current_span(self) -> Any:
        """Return a link to the current span, ``None`` without one."""
        return None

    def trace_id(self) -> str:
        """Return the id of the current trace, empty without one."""
        return ""


NO_TRACES: Final = Tracer()


def is_enabled(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment names a collector and does not switch traces off."""
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    none = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
    return not (off or none) and any(environment.get(name, "").strip() for name in ENDPOINTS)


def start() -> Tracer:
    """Return what makes spans. A fault in the OTEL_ variables is logged, and then no spans are made."""
    if not is_enabled():
        return NO_TRACES
    # OpenTelemetry's SDK takes longer to import than the rest of a service: only who sends spans imports it.
    from graphmem.observability.otel_spans import Spans

    try:
        spans = Spans()
        spans.use_globally()
    except Exception as exc:
        _log.warning("no traces are sent: see the OTEL_ variables", reason=str(exc)[:500])
        return NO_TRACES
    return spans
