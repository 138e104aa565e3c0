"""Traces of requests, statements and turns, where an OpenTelemetry collector is named; else nothing at all.

``OTEL_EXPORTER_OTLP_ENDPOINT`` and the other standard variables say where spans go and which. Without one,
OpenTelemetry is not even imported, and each function here costs a comparison. Spans name operations and
queries; parameters and values are in none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from graphmem.observability.spans import Spans

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_log = structlog.get_logger("graphmem.tracing")
_nothing: AbstractContextManager[Any] = contextlib.nullcontext()
_spans: Spans | None = None


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment names a collector and does not switch traces off."""
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    none = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
    return not (off or none) and any(environment.get(name, "").strip() for name in ENDPOINTS)


def start() -> None:
    """Begin to send spans, if a collector is named; what is wrong with that is logged and stops nobody."""
    global _spans
    if not wanted() or _spans is not None:
        return
    from graphmem.observability.spans import Spans

    try:
        _spans = Spans()
        _spans.everywhere()
    except Exception as exc:
        _log.warning("no traces are sent: see the OTEL_ variables", reason=str(exc)[:500])


def stop() -> None:
    """Send what is left, for a moment at most, and end."""
    global _spans
    if _spans is not None:
        _spans.close()
        _spans = None


def request(method: str, headers: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[Any]:
    """Span an HTTP request, under the caller's own span if it sends one."""
    return _nothing if _spans is None else _spans.request(method, headers)


def route(path: str) -> None:
    """Say which route the HTTP request under way takes: its pattern, not what stands in it."""
    if _spans is not None:
        _spans.route(path)


def answered(status: int) -> None:
    """Say what the HTTP request under way was answered."""
    if _spans is not None:
        _spans.answered(status)


def operation(name: str, face: str, outcome: str, failed: bool) -> None:
    """Name the request under way by its operation; ``failed`` if the service is to blame for the outcome."""
    if _spans is not None:
        _spans.operation(name, face, outcome, failed)


def statement(query: str, database: str) -> AbstractContextManager[Any]:
    """Span a statement to the database that is made for a request or a turn."""
    return _nothing if _spans is None else _spans.statement(query, database)


def turn(requests: Iterable[Any]) -> AbstractContextManager[Any]:
    """Span a turn of a writer, linked to the requests that it serves, each as :func:`here` was there."""
    return _nothing if _spans is None else _spans.turn(requests)


def call(name: str) -> AbstractContextManager[dict[str, str]]:
    """Span a call of another service; give the headers that carry the trace there."""
    return contextlib.nullcontext({}) if _spans is None else _spans.call(name)


def here() -> Any:
    """Return what links to the span under way, ``None`` without one."""
    return None if _spans is None else _spans.here()


def trace_id() -> str:
    """Return the id of the trace under way, empty without one."""
    return "" if _spans is None else _spans.trace_id()
