"""What hosts and proxies send: null for what is unset, one accepted type or none, compressed bodies."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.errors import InvalidInput
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
