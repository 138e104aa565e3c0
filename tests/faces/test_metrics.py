"""The metrics of a process, and who may read them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from graphmem import __version__, cypher, worker
from graphmem.api.app import create_app
from graphmem.api.openapi import document
from graphmem.auth import Actor, Scope
from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.errors import CATALOGUE, DatabaseUnavailable, GraphmemError
from graphmem.mcp import memory_tools
from graphmem.model.reduction import Torn
from graphmem.neo4j_local import InstanceLogin
from graphmem.observability import logs
from graphmem.observability.metrics import TURNS, Metrics
from graphmem.registry import REGISTRY
from graphmem.settings import DEFAULT_OWNER, Settings
from tests.faces.conftest import TOKEN, Together
from tests.faces.test_http_edges import Http, envelope, sender
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.faulty_database import Write, faulty_services, lost
from tests.support.tcp_proxy import proxied

Counted = Callable[..., float]
ANN = [{"entity_type": "person", "name": "Ann"}]


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Read the text as Prometheus does."""
    families = text_string_to_metric_families(text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


@pytest.fixture
def counted(services: Services) -> Counted:
    """How much a count has risen since the test began."""
    return counts_from_now(services.metrics)


def counts_from_now(metrics: Metrics) -> Counted:
    """Return a function that returns how much a count has risen since this call."""

    def read(name: str, labels: dict[str, str]) -> float:
        return samples(metrics.text().decode()).get((name, frozenset(labels.items())), 0.0)

    before = samples(metrics.text().decode())
    return lambda name, **labels: read(name, labels) - before.get((name, frozenset(labels.items())), 0.0)


@pytest.fixture
def http(loop: Loop, services: Services, owner: str) -> Http:
    return sender(loop, create_app(services, always(full_actor(owner))))


def test_what_is_answered_is_text_that_prometheus_reads(http: Http) -> None:
    answer = http("GET", "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = samples(answer.text)
    assert values["graphmem_build_info", frozenset({("version", __version__)})] == 1
    assert values["process_resident_memory_bytes", frozenset()] > 1e7
    assert http("GET", "/api/metrics").status_code == 200


def test_calls_are_counted_by_operation_face_and_outcome(
    rest: Call, mcp: Call, run: Call, counted: Counted
) -> None:
    for face, call in (("rest", rest), ("mcp", mcp), ("cli", run)):
        call("entities.query", limit=1)
        with pytest.raises(GraphmemError):
            call("entities.get", entity_id="ent_000000000000000000000000")
        labels = {"operation": "entities.get", "face": face}
        assert counted("graphmem_requests_total", **labels, outcome="RESOURCE_NOT_FOUND") == 1
        assert counted("graphmem_requests_total", **labels, outcome="ok") == 0
        assert counted("graphmem_requests_total", operation="entities.query", face=face, outcome="ok") == 1
    assert counted("graphmem_request_seconds_count", operation="entities.query") == 3
    assert 0 < counted("graphmem_request_seconds_sum", operation="entities.query") < 30


def test_answers_that_reach_no_operation_are_counted_too(http: Http, counted: Counted) -> None:
    http("GET", "/nowhere")
    http("POST", "/entities/query", content=b"{", headers={"Content-Type": "application/json"})
    assert counted("graphmem_http_responses_total", status="404") == 1
    assert counted("graphmem_http_responses_total", status="400") == 1


def test_statements_are_counted_by_query(run: Call, counted: Counted) -> None:
    run("store", entities=ANN)
    for query in ("write.look[plain]", "owner.create", "write.turn[plain]"):
        assert counted("graphmem_database_statement_seconds_count", query=query) == 1
    assert counted("graphmem_database_statement_seconds_sum", query="write.turn[plain]") > 0


def test_turns_are_counted_with_what_they_hold(run: Call, together: Together, counted: Counted) -> None:
    run("store", entities=ANN, idempotency_key="k")
    assert counted("graphmem_writer_turns_total", outcome="committed") == 1
    run("store", entities=ANN, idempotency_key="k")
    assert counted("graphmem_writer_turns_total", outcome="nothing") == 1
    together("store", [{"entities": [{"entity_type": "note", "title": f"{n}"}] * 2} for n in range(20)])
    assert counted("graphmem_writer_turn_requests_sum") == 22
    assert counted("graphmem_writer_turn_observations_sum") == 42
    assert 3 <= counted("graphmem_writer_turn_requests_count") <= 22


def test_a_cancelled_call_is_counted_and_logged_as_cancelled(
    loop: Loop, services: Services, owner: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancel() -> None:
        call = asyncio.create_task(REGISTRY["server.stats"].run(services, full_actor(owner), {}))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    lines: list[tuple[str, str]] = []
    monkeypatch.setattr(logs, "operation", lambda name, said: lines.append((name, said["outcome"])))
    loop.run(cancel())
    assert lines == [("server.stats", "cancelled")]
    requests = {"operation": "server.stats", "face": "cli"}
    assert counted("graphmem_requests_total", **requests, outcome="cancelled") == 1
    assert counted("graphmem_requests_total", **requests, outcome="ok") == 0


def test_turns_that_are_lost_torn_or_failed_are_counted(loop: Loop, services: Services, owner: str) -> None:
    async def unavailable(write: Write) -> Any:
        raise DatabaseUnavailable

    async def torn(write: Write) -> Any:
        raise Torn("ent_1")

    with faulty_services(loop, services) as (faulty, database):
        counted = counts_from_now(database.metrics)
        run = by_runner(loop, faulty, owner)
        run("store", entities=ANN)
        database.faults = [lost, unavailable, torn]
        run("store", entities=[{"entity_type": "note", "title": "once"}])
    for outcome in ("lost", "failed", "looked_again"):
        assert counted("graphmem_writer_turns_total", outcome=outcome) == 1, outcome
    assert counted("graphmem_writer_turns_total", outcome="committed") == 2


def test_what_waits_for_a_writer_is_told(loop: Loop, services: Services, owner: str) -> None:
    waiting: list[int] = []
    with faulty_services(loop, services) as (faulty, database):

        async def counting(write: Write) -> Any:
            waiting.append(faulty.writers.waiting())
            assert f"graphmem_writer_waiting_requests {float(waiting[-1])}" in faulty.metrics.text().decode()
            return await write()

        async def stores() -> None:
            calls = [{"entities": [{"entity_type": "note", "title": f"{n}"}] * 600} for n in range(3)]
            await asyncio.gather(*(REGISTRY["store"].run(faulty, full_actor(owner), call) for call in calls))

        database.faults = [counting] * 3
        loop.run(stores())
        assert max(waiting) == 2
        assert faulty.writers.waiting() == 0


def test_reads_that_are_tried_again_and_statements_that_fail_are_counted(
    settings: Settings, loop: Loop
) -> None:
    async def work() -> str:
        async with proxied(settings.neo4j_uri or "") as proxy:
            password = settings.neo4j_password.get_secret_value()
            hasty = settings.model_copy(update={"retry_seconds": 1.0})
            address = InstanceLogin(proxy.uri, settings.neo4j_username, password, "", settings.neo4j_database)
            graph = Database(address, hasty, Metrics())
            await graph.verify()
            proxy.refuse()
            with pytest.raises(DatabaseUnavailable):
                await graph.read("server.ping", None)
            text = graph.metrics.text().decode()
            await graph.close()
            return text

    values = samples(loop.run(work()))
    assert values["graphmem_database_read_retries_total", frozenset()] >= 2
    assert values["graphmem_database_errors_total", frozenset({("code", "DB_CONNECTION_FAILED")})] == 1


def test_connections_to_the_database_are_told(services: Services, loop: Loop) -> None:
    async def work() -> list[float]:
        reads = [asyncio.create_task(services.database.read("server.ping", None)) for _ in range(5)]
        seen = []
        while not all(read.done() for read in reads):
            values = samples(services.metrics.text().decode())
            seen.append(values["graphmem_database_connections_in_use", frozenset()])
            await asyncio.sleep(0)
        values = samples(services.metrics.text().decode())
        assert values["graphmem_database_connections_in_use", frozenset()] == 0
        assert values["graphmem_database_connections", frozenset()] >= max(seen)
        assert values["graphmem_database_connections_max", frozenset()] == services.settings.pool_size
        return seen

    assert max(loop.run(work())) >= 2


def test_what_the_worker_does_is_counted(
    loop: Loop, services: Services, counted: Counted, owner: str
) -> None:
    looks: list[int] = []

    class Enough(BaseException):
        """Ends the worker's endless round."""

    async def one_pass(services: Services) -> int:
        looks.append(len(looks))
        if len(looks) > 3:
            raise Enough
        return looks[-1]

    async def work() -> None:
        with pytest.raises(Enough):
            await worker.repeat(services, worker.WorkKind("fold", one_pass))

    loop.run(work())
    assert counted("graphmem_worker_done_total", work="fold") == 3
    loop.run(worker.make_vectors(services, owner))
    assert 'graphmem_worker_backlog{work="vector"}' in services.metrics.text().decode()


def test_no_label_says_whose_data_it_is(run: Call, rest: Call, services: Services, owner: str) -> None:
    secret = f"zebra{uuid.uuid4().hex}"
    answer = run("store", entities=[{"entity_type": secret, "name": secret, secret: secret}])
    rest("entities.get", entity_id=answer["entities"][0]["entity_id"])
    with pytest.raises(GraphmemError):
        rest("schemas.get", entity_type=f"{secret}x")
    text = services.metrics.text().decode()
    for hidden in (secret, owner, answer["entities"][0]["entity_id"]):
        assert hidden not in text
    allowed = {
        "operation": {*REGISTRY, *(operation.name for operation in memory_tools.OPERATIONS.values())},
        "face": {"rest", "mcp", "cli"},
        "outcome": {"ok", "cancelled", *CATALOGUE, *TURNS},
        "query": {*cypher.names(), "script", "explain", "commit"}, "code": set(CATALOGUE),
        "work": {kind.name for kind in worker.KINDS}, "status": {str(n) for n in range(600)},
    }  # fmt: skip
    for name, labels in samples(text):
        if name.startswith("graphmem_") and name != "graphmem_build_info":
            for label, value in labels - {(k, v) for k, v in labels if k == "le"}:
                assert value in allowed[label], (name, label, value)


def test_metrics_are_refused_without_the_token(loop: Loop, services: Services) -> None:
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    http = sender(loop, create_app(replace(services, settings=settings)))
    for path in ("/metrics", "/api/metrics"):
        assert envelope(http("GET", path))["error_code"] == "AUTH_REQUIRED"
        assert http("GET", path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_metrics_are_refused_to_the_scopes_read_and_write(loop: Loop, services: Services) -> None:
    mine = Actor(owner=DEFAULT_OWNER, scopes=frozenset({Scope.READ, Scope.WRITE}))
    http = sender(loop, create_app(services, always(mine)))
    assert envelope(http("GET", "/metrics"))["error_code"] == "FORBIDDEN"


def test_metrics_are_refused_to_pages_and_hosts_that_are_foreign(loop: Loop, services: Services) -> None:
    http: Callable[..., httpx.Response] = sender(loop, create_app(services))
    assert http("GET", "/metrics", headers={"Host": "rebound.example"}).status_code == 403
    assert http("GET", "/metrics", headers={"Origin": "https://page.example"}).status_code == 403


def test_the_description_of_the_service_has_the_metrics() -> None:
    assert "text/plain" in document()["paths"]["/metrics"]["get"]["responses"]["200"]["content"]
