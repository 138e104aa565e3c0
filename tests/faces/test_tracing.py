"""Traces as a collector gets them, from a service in a process of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from mcp import Client
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from graphmem.embedding.model_service import RemoteEmbedder
from graphmem.observability.otel_spans import CLOSING_SECONDS, Spans
from graphmem.settings import Settings, load
from tests.support.event_loop import Loop
from tests.support.service import Service, running
from tests.support.trace_collector import Collector, Span, running_collector, silent_address

SERVER, CLIENT, ERROR = 2, 3, 2
Traced = tuple[Service, Collector]


@pytest.fixture(scope="module")
def traced(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """A service that sends its traces to a collector."""
    folder = tmp_path_factory.mktemp("traced")
    with running_collector() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with running(settings, folder, str(uuid.uuid4()), **variables) as service:
            yield service, collector


def carried() -> tuple[str, str, str]:
    """Return a trace, a span of it, and the header that says so."""
    trace, span = uuid.uuid4().hex, uuid.uuid4().hex[:16]
    return trace, span, f"00-{trace}-{span}-01"


def by_name(spans: list[Span]) -> dict[str, Span]:
    return {span.name: span for span in spans}


def test_a_request_its_turn_and_its_statements_are_spans_of_the_callers_trace(traced: Traced) -> None:
    service, collector = traced
    trace, caller, header = carried()
    secret = f"zebra{uuid.uuid4().hex}"
    with service.http() as http:
        body = {"entities": [{"entity_type": "note", "title": secret, "text": secret}]}
        answer = http.post("/store", json=body, headers={"traceparent": header})
    assert answer.headers["x-trace-id"] == trace
    # Whether a key guards the instance is asked every few seconds.
    spans = by_name(collector.wait(lambda span: span.trace == trace and span.name != "account.guarded", 6))
    assert set(spans) == {
        "store",
        "writer.turn",
        "write.look[plain]",
        "owner.create",
        "write.turn[plain]",
        "duplicate.near",
    }
    store, turn, look = spans["store"], spans["writer.turn"], spans["write.look[plain]"]
    assert (store.parent, store.kind, store.status) == (caller, SERVER, 0)
    assert store.attributes["http.route"] == "/store"
    assert store.attributes["graphmem.outcome"] == "ok"
    assert (turn.parent, turn.links) == (store.id, ((trace, store.id),))
    assert (look.parent, look.kind) == (turn.id, CLIENT)
    assert look.attributes == {
        "db.system.name": "neo4j", "db.namespace": "neo4j", "db.operation.name": "write.look[plain]",
    }  # fmt: skip
    assert store.resource["service.name"] == "graphmem"
    assert collector.paths == {"/v1/traces"}
    assert secret not in str(collector.spans)
    (line,) = [line for line in service.log if line["event"] == "store" and line["trace_id"] == trace]
    assert line["outcome"] == "ok"


def test_a_refusal_says_which_and_is_not_the_services_fault(traced: Traced) -> None:
    service, collector = traced
    trace, _, header = carried()
    with service.http() as http:
        answer = http.get("/entities/ent_000000000000000000000000", headers={"traceparent": header})
    assert answer.json()["trace_id"] == trace
    (span,) = collector.wait(lambda span: span.trace == trace and span.name == "entities.get")
    assert span.attributes["error.type"] == "RESOURCE_NOT_FOUND"
    assert (span.attributes["http.response.status_code"], span.status) == (404, 0)
    assert span.attributes["http.route"] == "/entities/{entity_id}"


def test_what_reaches_no_operation_is_a_span_too(traced: Traced) -> None:
    service, collector = traced
    trace, _, header = carried()
    with service.http() as http:
        http.get("/nowhere", headers={"traceparent": header})
    (span,) = collector.wait(lambda span: span.trace == trace and span.name != "account.guarded")
    assert (span.name, span.attributes["http.response.status_code"]) == ("GET", 404)


@pytest.mark.parametrize("header", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "\xe9" * 40])
def test_a_header_that_is_none_begins_a_trace(traced: Traced, header: str) -> None:
    service, collector = traced
    with service.http() as http:
        answer = http.get("/schemas", headers=[(b"traceparent", header.encode("latin-1"))])
    assert answer.status_code == 200
    (span,) = collector.wait(lambda s: s.trace == answer.headers["x-trace-id"] and s.name == "schemas.list")
    assert span.parent == ""


def test_what_the_caller_does_not_sample_is_not_sent(traced: Traced) -> None:
    service, collector = traced
    trace, _, header = carried()
    with service.http() as http:
        answer = http.get("/schemas", headers={"traceparent": f"{header[:-2]}00"})
        assert answer.headers["x-trace-id"] == trace
        after = http.get("/schemas").headers["x-trace-id"]
    collector.wait(lambda span: span.trace == after and span.name == "schemas.list")
    assert not [span for span in collector.spans if span.trace == trace]


def test_a_tool_is_a_span_of_the_trace_in_its_meta(traced: Traced, loop: Loop) -> None:
    service, collector = traced
    trace, caller, header = carried()

    async def call() -> Any:
        async with Client(service.mcp()) as client:
            return await client.call_tool("list_entity_types", {}, meta={"traceparent": header})

    assert not loop.run(call()).is_error
    spans = collector.wait(lambda span: span.trace == trace, 2)
    (tool,) = [span for span in spans if span.name == "schemas.list"]
    assert (tool.parent, tool.kind) == (caller, SERVER)
    assert tool.attributes["graphmem.face"] == "mcp"
    assert {span.parent for span in spans if span.kind == CLIENT} == {tool.id}
    assert [line for line in service.log if line["event"] == "schemas.list" and line["trace_id"] == trace]


def test_a_tool_is_a_span_of_the_trace_of_its_http_request(traced: Traced) -> None:
    service, collector = traced
    trace, caller, header = carried()
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "list_entity_types", "arguments": {}},
    }  # fmt: skip
    headers = {"traceparent": header, "Accept": "application/json, text/event-stream"}
    with service.http() as http:
        assert http.post("/mcp", json=call, headers=headers).status_code == 200
    spans = by_name(
        collector.wait(lambda span: span.trace == trace and span.name in ("POST", "schemas.list"), 2)
    )
    assert spans["POST"].parent == caller
    assert spans["schemas.list"].parent == spans["POST"].id


def test_a_turn_links_to_all_that_it_serves(traced: Traced, loop: Loop) -> None:
    service, collector = traced

    async def stores() -> list[str]:
        async with httpx.AsyncClient(base_url=service.url, headers=service.headers, timeout=60) as http:
            bodies = [{"entities": [{"entity_type": "note", "title": f"together {n}"}]} for n in range(30)]
            answers = await asyncio.gather(*(http.post("/store", json=body) for body in bodies))
        return [answer.headers["x-trace-id"] for answer in answers]

    traces = set(loop.run(stores()))
    store_spans = collector.wait(lambda span: span.trace in traces and span.name == "store", 30)
    ours = {(span.trace, span.id) for span in store_spans}
    turns = collector.wait(lambda span: span.name == "writer.turn" and bool(ours & set(span.links)))
    for _ in range(100):
        if {link for turn in turns for link in turn.links} >= ours:
            break
        time.sleep(0.05)
        turns = collector.wait(lambda span: span.name == "writer.turn" and bool(ours & set(span.links)))
    assert {link for turn in turns for link in turn.links} >= ours
    together = [turn for turn in turns if len(turn.links) > 1]
    assert together
    assert all(turn.parent == "" and turn.trace not in traces for turn in together)
    assert all(turn.attributes["graphmem.requests"] == len(turn.links) for turn in turns)


def test_a_look_that_nobody_asked_for_is_no_span(traced: Traced) -> None:
    _, collector = traced
    time.sleep(0.5)
    assert not [span for span in collector.spans if span.kind == CLIENT and not span.parent]
    assert not [span for span in collector.spans if span.name == "server.ping" and not span.parent]


def test_a_collector_that_never_answers_disturbs_nobody(settings: Settings, tmp_path: Any) -> None:
    with silent_address() as url:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
        with running(settings, tmp_path, str(uuid.uuid4()), **variables) as service:
            with service.http() as http:
                http.get("/schemas")
                start = time.monotonic()
                for _ in range(20):
                    assert http.get("/schemas").status_code == 200
                assert time.monotonic() - start < 10
            signal_time = time.monotonic()
            service.send(signal.SIGTERM)
            assert service.wait() == 0
            assert time.monotonic() - signal_time < CLOSING_SECONDS + 10
    lines = [line for line in service.console.splitlines() if "opentelemetry" in line or "xport" in line]
    assert lines == []


def test_the_trace_goes_on_to_the_service_that_makes_vectors(loop: Loop) -> None:
    exporter = InMemorySpanExporter()
    spans = Spans(exporter)
    trace, _, header = carried()
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        vector = {"index": 0, "embedding": [1.0] * 256}
        return httpx.Response(200, content=json.dumps({"data": [vector]}))

    async def ask() -> None:
        embedder = RemoteEmbedder(load(embedding_url="http://127.0.0.1:9/v1"), spans)
        embedder._service._client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        with spans.request("POST", [(b"traceparent", header.encode()), (b"baggage", b"private=1")]):
            await embedder.embed(["a text"])
        await embedder.close()

    loop.run(ask())
    spans.close()
    made = {span.name: span for span in exporter.get_finished_spans()}
    embeddings, request = made["embeddings"], made["POST"]
    assert embeddings.context
    assert embeddings.parent
    assert request.context
    assert sent[0].headers["traceparent"] == f"00-{trace}-{embeddings.context.span_id:016x}-01"
    assert "baggage" not in sent[0].headers
    assert embeddings.parent.span_id == request.context.span_id


def test_without_a_collector_opentelemetry_is_not_loaded() -> None:
    code = """
import os, sys, graphmem.api.app, graphmem.runtime, graphmem.cli.serve
from graphmem.observability import tracing
for more in {}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}:
    os.environ |= more and {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **more}
    assert tracing.start() is tracing.NO_TRACES
    assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")], more
    for name in more:
        del os.environ[name]
tracer = tracing.start()
assert "opentelemetry.sdk.trace" in sys.modules
tracer.close()
"""
    subprocess.run([sys.executable, "-c", code], env={"PATH": ""}, check=True, timeout=60)
