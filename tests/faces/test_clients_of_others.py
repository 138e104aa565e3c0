"""What hosts and proxies send: null for what is unset, one accepted type or none, compressed bodies."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.errors import InvalidInput
from graphmem.mcp import http as mcp_http
from tests.faces.test_http_edges import Http, envelope, sender
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.lifespans import lifespan

ADA = {"entity_type": "person", "name": "Ada Lovelace"}


@pytest.fixture
def http(loop: Loop, services: Services, owner: str) -> Iterator[Http]:
    """An application that has started."""
    app = create_app(services, always(full_actor(owner)))
    with lifespan(loop, app):
        yield sender(loop, app)


def test_null_is_an_argument_that_is_absent(run: Call) -> None:
    stored = run("store", entities=[ADA], relationships=None, idempotency_key=None, file_content=None)
    ada = stored["entities"][0]["entity_id"]
    assert run("entities.find", identifier="Ada Lovelace", limit=None)["entities"][0]["entity_id"] == ada
    assert run("context.retrieve", question="Ada Lovelace", budget=None)["lines"]
    with pytest.raises(InvalidInput):
        run("store", entities=None)


def test_null_within_fields_is_a_value(run: Call) -> None:
    entity = run("store", entities=[{**ADA, "city": "London"}])["entities"][0]["entity_id"]
    run("store", entities=[{**ADA, "city": None}])
    assert run("entities.get", entity_id=entity)["snapshot"].get("city") is None


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_entity_types", "arguments": {}},
}


@pytest.mark.parametrize(
    ("accept", "status", "answered"),
    [
        ("application/json, text/event-stream", 200, "application/json"),
        ("application/json", 200, "application/json"),
        ("*/*", 200, "application/json"),
        ("", 200, "application/json"),
        ("text/event-stream", 200, "text/event-stream"),
        ("text/html", 406, "application/json"),
    ],
)
def test_an_answer_has_a_type_that_the_client_accepts(
    http: Http, accept: str, status: int, answered: str
) -> None:
    answer = http("POST", "/mcp", json=CALL, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, answered)
    text = answer.text
    if answered == "text/event-stream":
        assert text.startswith("event: message\ndata: ")
        assert text.endswith("\n\n")
        text = text.partition("data: ")[2]
    assert ("result" in json.loads(text)) == (status == 200)


COMPRESS = {"gzip": gzip.compress, "deflate": zlib.compress, "x-gzip": gzip.compress}


@pytest.mark.parametrize("coding", COMPRESS)
def test_a_compressed_body_is_read_as_one_that_is_not(http: Http, coding: str) -> None:
    body = json.dumps({"entities": [ADA]}).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer: Any = http("POST", "/store", content=COMPRESS[coding](body), headers=headers)
    assert (answer.status_code, answer.json()["entities"][0]["entity_type"]) == (200, ADA["entity_type"])
    listed: Any = http("POST", "/mcp", content=gzip.compress(json.dumps(CALL).encode()), headers={
        **headers, "Content-Encoding": "gzip", "Accept": "application/json, text/event-stream",
    })  # fmt: skip
    assert "result" in listed.json()


@pytest.mark.parametrize(
    ("coding", "body", "status", "error_code"),
    [
        ("br", b"{}", 400, "UNSUPPORTED_MEDIA_TYPE"),
        ("gzip", b"{}", 400, "INVALID_JSON"),
        ("gzip", gzip.compress(b"{}")[:-3], 400, "INVALID_JSON"),
        ("gzip", gzip.compress(b"{}") + b"more", 400, "INVALID_JSON"),
        ("gzip", gzip.compress(b" " * 30_000_000), 413, "PAYLOAD_TOO_LARGE"),
    ],
    ids=["other coding", "not compressed", "cut", "longer", "bomb"],
)
def test_a_compressed_body_is_refused_in_words(
    http: Http, coding: str, body: bytes, status: int, error_code: str
) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer: Any = http("POST", "/entities/query", content=body, headers=headers)
    assert (answer.status_code, envelope(answer)["error_code"]) == (status, error_code)
    if coding == "br":
        assert envelope(answer)["details"]["content_encoding"] == coding
        assert "as gzip" in envelope(answer)["message"]


BATCH = [CALL, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {**CALL, "id": 2, "method": "ping"}]
VERSION = "MCP-Protocol-Version"


@pytest.mark.parametrize("headers", [{}, {VERSION: "2025-03-26"}])
def test_a_batch_is_answered_in_the_version_that_has_it(http: Http, headers: dict[str, str]) -> None:
    alone = http("POST", "/mcp", json=CALL, headers=headers).json()
    batch = http("POST", "/mcp", json=BATCH, headers=headers)
    assert batch.status_code == 200
    first, second = batch.json()
    assert first == alone
    assert (second["id"], second["result"]) == (2, {})
    silent = http("POST", "/mcp", json=BATCH[1:2], headers=headers)
    assert (silent.status_code, silent.text) == (202, "")
    for refused in ([], [CALL]):
        newer = headers if not refused else {VERSION: "2025-06-18"}
        answer = http("POST", "/mcp", json=refused, headers=newer)
        assert answer.status_code == 400
        assert "error" in answer.json()


def test_a_request_that_takes_long_tells_its_progress(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(accept: str) -> Any:
        params = {**CALL["params"], "_meta": {"progressToken": "p1"}}
        return http("POST", "/mcp", json={**CALL, "params": params}, headers={"Accept": accept})

    both = "application/json, text/event-stream"
    quick = asked(both)
    assert quick.headers["content-type"] == "application/json"
    monkeypatch.setattr(mcp_http, "PROGRESS_SECONDS", 0.0001)
    slow = asked(both)
    assert slow.headers["content-type"] == "text/event-stream"
    *told, answer = (json.loads(part.partition("data: ")[2]) for part in slow.text.strip().split("\n\n"))
    assert answer == quick.json()
    assert [each["method"] for each in told] == ["notifications/progress"] * len(told)
    assert {each["params"]["progressToken"] for each in told} == {"p1"}
    counts = [each["params"]["progress"] for each in told]
    assert counts == sorted({*counts})
    assert asked("application/json").json() == answer


def test_the_card_of_the_server_says_where_it_answers(http: Http) -> None:
    card = http("GET", "/.well-known/mcp/server-card.json").json()
    (remote,) = card["remotes"]
    assert remote["type"] == "streamable-http"
    assert http("POST", httpx.URL(remote["url"]).path, json=CALL).json()["result"]["isError"] is False
    assert len(card["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
