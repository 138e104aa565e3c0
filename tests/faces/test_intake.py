"""Large bodies with files: JSON with base64, and forms; their limits, and how many are read at a time."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import httpx
import pytest

from graphmem.api import intake
from graphmem.api.app import create_app
from graphmem.api.body import longest_content
from graphmem.context import Services
from graphmem.errors import FileContentInvalid
from graphmem.registry import REGISTRY
from graphmem.storing import received_files
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call

JSON = {"Content-Type": "application/json"}
MOST = 2_048
"""Bytes of a body without a file, in the service of these tests."""
FILE_MOST = 30_000
Http = Callable[..., httpx.Response]


def body(data: bytes, **more: Any) -> bytes:
    """Return a request with a file."""
    return json.dumps({"file_content": base64.b64encode(data).decode(), **more}).encode()


async def in_chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    """Send a body without its length, in chunks of ``size`` bytes."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test reaches quickly."""
    monkeypatch.setattr(intake, "ALLOWANCE_BYTES", 1_024)
    monkeypatch.setattr(intake, "WAIT_SECONDS", 0.2)


@pytest.fixture
def http(loop: Loop, services: Services, owner: str, small: None) -> Iterator[Http]:
    """Send a request to an application with these limits."""
    limits = {"max_body_bytes": MOST, "max_file_bytes": FILE_MOST, "body_timeout": 1.0}
    settings = services.settings.model_copy(update=limits)
    app = create_app(dataclasses.replace(services, settings=settings), always(full_actor(owner)))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def send(method: str, path: str, **request: Any) -> httpx.Response:
        return loop.run(client.request(method, path, **request))

    send.client = client  # type: ignore[attr-defined]
    yield send
    loop.run(client.aclose())


def code(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of a refusal."""
    return answer.status_code, answer.json().get("error_code", "")


@pytest.mark.parametrize("path", ["/store", "/api/store", "/store/unstructured", "/parse_file"])
def test_a_file_may_be_as_large_as_its_limit_and_no_larger(http: Http, path: str) -> None:
    for size in (FILE_MOST - 1, FILE_MOST):
        stored = http("POST", path, content=body(b"x" * size), headers=JSON)
        assert (stored.status_code, stored.json().get("file_size")) == (200, size), stored.text
    for size in (FILE_MOST + 1, FILE_MOST + 700, FILE_MOST + 10_000):
        refused = http("POST", path, content=body(b"x" * size), headers=JSON)
        assert code(refused) == (413, "INGESTION_FILE_TOO_LARGE")
        assert refused.json()["details"] == {"file_size": size, "max_size": FILE_MOST}


def test_a_body_is_refused_for_its_file_only_where_that_is_too_large(http: Http) -> None:
    large = [FILE_MOST + 1, 2 * FILE_MOST + 7, 5 * FILE_MOST]
    cases: list[tuple[bytes, str]] = [
        *((body(b"x" * size, name="a"), "INGESTION_FILE_TOO_LARGE") for size in large),
        (json.dumps({"name": "x" * 5 * FILE_MOST}).encode(), "PAYLOAD_TOO_LARGE"),
        (body(b"x" * 10, name="x" * 5 * FILE_MOST), "PAYLOAD_TOO_LARGE"),
        (body(b"x" * FILE_MOST, name="x" * MOST), "PAYLOAD_TOO_LARGE"),
    ]
    for arguments, expected in cases:
        call = {"name": "store", "arguments": json.loads(arguments)}
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accept = {**JSON, "Accept": "application/json, text/event-stream"}
        refusals = [
            http("POST", "/store", content=arguments, headers=JSON),
            http("POST", "/store", content=in_chunks(arguments, 1_001), headers=JSON),
            http("POST", "/mcp", content=json.dumps(rpc).encode(), headers=accept),
        ]
        for refused in refusals:
            assert code(refused) == (413, expected), refused.text
            if expected == "INGESTION_FILE_TOO_LARGE":
                size = len(base64.b64decode(json.loads(arguments)["file_content"]))
                assert refused.json()["details"] == {"file_size": size, "max_size": FILE_MOST}


def test_the_file_is_the_one_that_was_sent(http: Http, run: Call) -> None:
    data = bytes(range(256)) * 100
    content = base64.b64encode(data).decode()
    bodies = {
        "plain": f'{{"file_content": "{content}", "original_filename": "a"}}',
        "spaced": f'{{ "original_filename":"a" ,\n"file_content"\t:  "{content}" }}',
        "escaped": json.dumps({"file_content": content}).replace("/", "\\/"),
        "nested": json.dumps({
            "entities": [{"entity_type": "x", "name": "n", "file_content": "short \"file_content\": \"y\""}],
            "file_content": content,
        }),
    }  # fmt: skip
    for name, text in bodies.items():
        stored = http("POST", "/store", content=text.encode(), headers=JSON)
        assert stored.status_code == 200, (name, stored.text)
        assert stored.json()["file_size"] == len(data), name
        (source,) = run("sources.list")["sources"]
        assert source["source_id"] == stored.json()["source_id"]
    (entity,) = run("entities.query")["entities"]
    assert entity["snapshot"]["file_content"] == 'short "file_content": "y"'


@pytest.mark.parametrize(
    "text",
    [
        b" " * (MOST + 1),
        b'{"entities": [' + b"[]," * MOST + b"[]]}",
        b'{"file_content": "YWJj", "x": "' + b"y" * MOST + b'"}',
        b'{"entities": [{"file_content": "' + b"y" * 3 * MOST + b'"}]}',
        b'{"file_content": ' + b"[" * 2 * MOST,
        b'{"file_content": "' + b"y" * 2 * MOST,
    ],
    ids=["spaces", "lists", "beside", "nested", "brackets", "open"],
)
def test_what_is_beside_a_file_has_the_limit_of_every_body(http: Http, text: bytes) -> None:
    assert code(http("POST", "/store", content=text, headers=JSON)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_for_another_operation_has_the_limit_of_every_body(http: Http) -> None:
    refused = http("POST", "/entities/query", content=body(b"x" * MOST), headers=JSON)
    assert (code(refused), refused.json()["details"]["max_size"]) == ((413, "PAYLOAD_TOO_LARGE"), MOST)


def test_a_large_file_that_is_no_base64_is_refused_as_a_small_one(http: Http) -> None:
    for content in ("!" * 4_000, "A" * 4_001, "ä" * 4_000, "A" * 3_999 + "\\n"):
        text = f'{{"file_content": "{content}"}}'.encode()
        assert code(http("POST", "/store", content=text, headers=JSON)) == (400, "FILE_CONTENT_INVALID")


def test_padding_within_the_content_is_refused_wherever_it_stands() -> None:
    part = received_files.BASE64_CHARACTERS
    for place in (part, 2 * part, 2 * part - 8):
        content = bytearray(b"A" * 3 * part)
        content[place - 2 : place] = b"=="
        with pytest.raises(FileContentInvalid):
            received_files.decoded(memoryview(content), len(content))
        with pytest.raises(FileContentInvalid):
            received_files.decoded(content.decode(), len(content))
    data = bytes(range(256)) * 12_289
    assert received_files.decoded(base64.b64encode(data).decode(), len(data)).read() == data


def test_of_large_bodies_two_are_read_at_a_time(
    http: Http, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: httpx.AsyncClient = http.client  # type: ignore[attr-defined]
    running_now, most, release, three = 0, 0, asyncio.Event(), asyncio.Event()
    real = REGISTRY["store"].function

    async def slow(context: Any, arguments: Any) -> Any:
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        if running_now == 3:
            three.set()
        await release.wait()
        running_now -= 1
        return await real(context, arguments)

    object.__setattr__(REGISTRY["store"], "function", slow)

    async def chunks(data: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(data), 500):
            yield data[start : start + 500]

    async def attempt() -> None:
        nonlocal running_now
        text = body(b"x" * 10_000)
        large = [
            asyncio.create_task(client.post("/store", content=content, headers=JSON))
            for content in (text, chunks(text), text, chunks(text))
        ]
        await asyncio.sleep(0.05)
        # Others do not wait for them.
        answer = asyncio.create_task(client.post("/store", content=body(b"small"), headers=JSON))
        await asyncio.wait_for(three.wait(), 60)
        # Two of the large ones wait for their turn, and give up.
        refused = [await each for each in islice(asyncio.as_completed(large, timeout=60), 2)]
        assert [each.status_code for each in refused] == [503, 503]
        assert running_now == 3
        release.set()
        answers = await asyncio.gather(*large)
        statuses = sorted(each.status_code for each in answers)
        assert statuses == [200, 200, 503, 503]
        busy = next(each for each in answers if each.status_code == 503)
        assert (busy.json()["error_code"], busy.headers["Retry-After"]) == ("SERVICE_BUSY", "1")
        assert (await answer).status_code == 200
        for _ in range(2):
            again = await asyncio.gather(
                *(client.post("/store", content=text, headers=JSON) for _ in range(2))
            )
            assert [each.status_code for each in again] == [200] * 2

    try:
        loop.run(attempt())
    finally:
        object.__setattr__(REGISTRY["store"], "function", real)


def test_a_form_stores_a_file(http: Http, run: Call) -> None:
    entities = json.dumps([{"entity_type": "person", "name": "Ada"}])
    stored = http(
        "POST", "/store", files={"file": ("letter.txt", b"Dear Ada", "text/plain")},
        data={"entities": entities, "observed_at": "1843-07-10", "find_duplicates": "false"},
    ).json()  # fmt: skip
    assert (stored["file_size"], stored["entities_created"]) == (8, 1)
    source = run("sources.get", source_id=stored["source_id"])
    assert [(each["name"], each["mime_type"]) for each in source["names"]] == [("letter.txt", "text/plain")]
    arguments = json.dumps({"entities": json.loads(entities), "original_filename": "named", "commit": False})
    for parts in (
        {"files": {"file": ("x", b"other", None)}, "data": {"arguments": arguments}},
        {"files": {"arguments": (None, arguments, "application/json"), "file": ("x", b"other")}},
    ):
        planned = http("POST", "/store", **parts).json()
        assert (planned["commit"], planned["entities_created"], planned["file_size"]) == (False, 0, 5)
    alone = http("POST", "/store/unstructured", files={"file": ("a.csv", b"a,b\n1,2\n")}).json()
    assert (alone["mime_type"], alone["store_warnings"]) == ("text/csv", [])
    parsed = http("POST", "/parse_file", files={"file": ("a.csv", b"a,b\n1,2\n")}, data={"limit": "3"}).json()
    assert (parsed["text"], parsed["format"]) == ("a,b", "csv")
    # A form of a page without a choice.
    chosen = b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--x\r\n'
    rest = f'Content-Disposition: form-data; name="entities"\r\n\r\n{entities}\r\n--x--\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    form = http("POST", "/store", content=chosen + rest, headers=headers)
    assert (form.status_code, "source_id" in form.json()) == (200, False)


def test_the_file_of_a_form_may_be_as_large_as_its_limit_and_no_larger(http: Http) -> None:
    stored = http("POST", "/store", files={"file": ("x", b"x" * FILE_MOST)})
    assert (stored.status_code, stored.json()["file_size"]) == (200, FILE_MOST)
    for size in (FILE_MOST + 1, FILE_MOST + 5_000):
        refused = http("POST", "/store", files={"file": ("x", b"x" * size)})
        assert code(refused) == (413, "INGESTION_FILE_TOO_LARGE")
        assert refused.json()["details"] == {"file_size": size, "max_size": FILE_MOST}
    refused = http(
        "POST", "/store", data={"a": "x" * (MOST - 10), "b": "y" * 20}, files={"file": ("x", b"x")}
    )
    assert code(refused) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("parts", "refusal"),
    [
        ({"files": {"picture": ("x", b"x")}}, "VALIDATION_INVALID_FORMAT"),
        ({"files": [("file", ("x", b"x")), ("file", ("y", b"y"))]}, "VALIDATION_INVALID_FORMAT"),
        ({"files": {"file": ("x", b"")}}, "FILE_EMPTY"),
        ({"files": {"file": ("x", b"x")}, "data": {"unknown": "x"}}, "ERR_UNKNOWN_FIELD"),
        ({"files": {"file": ("x", b"x")}, "data": {"entities": "[nonsense"}}, "INVALID_JSON"),
        ({"files": {"file": ("x", b"x")}, "data": {"arguments": "7"}}, "INVALID_JSON"),
        ({"files": {"file": ("x", b"x")}, "data": {"file_path": "x"}}, "VALIDATION_INVALID_FORMAT"),
        ({"files": {"file": ("x", b"x")}, "data": {"file_content": "YQ=="}}, "VALIDATION_INVALID_FORMAT"),
        ({"content": b"nonsense", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
         "VALIDATION_INVALID_FORMAT"),
        ({"content": b"nonsense", "headers": {"Content-Type": "multipart/form-data"}},
         "VALIDATION_INVALID_FORMAT"),
        ({"content": b"--x\r\n\r\nno name\r\n--x--",
          "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
         "VALIDATION_INVALID_FORMAT"),
    ],
)  # fmt: skip
def test_a_form_that_is_no_request_is_refused(http: Http, parts: dict[str, Any], refusal: str) -> None:
    refused = http("POST", "/store", **parts)
    assert code(refused)[1] == refusal, refused.text


@pytest.mark.parametrize("kept", ["entities", "file", "both"])
def test_a_form_without_its_closing_boundary_is_refused(http: Http, run: Call, kept: str) -> None:
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="cut.txt"\r\n\r\nnever stored'
    entities = (
        b'--x\r\nContent-Disposition: form-data; name="entities"\r\n\r\n'
        b'[{"entity_type": "person", "name": "Never Stored"}]'
    )
    content = {
        "entities": entities + b"\r\n" + file,
        "file": file + b"\r\n" + entities,
        "both": file + b"\r\n" + entities + b"\r\n--x\r\n",
    }[kept]
    refused = http(
        "POST", "/store", content=content, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert code(refused) == (400, "VALIDATION_INVALID_FORMAT"), refused.text
    assert run("sources.list")["sources"] == []
    assert run("entities.query")["entities"] == []


def test_no_other_operation_takes_a_form(http: Http) -> None:
    assert code(http("POST", "/entities/query", files={"file": ("x", b"x")})) == (
        400,
        "UNSUPPORTED_MEDIA_TYPE",
    )


def test_the_search_for_the_file_never_fails() -> None:
    for text in (
        b"",
        b'"file_content"',
        b'"file_content":',
        b'"file_content" "',
        b'"file_content":"',
        b'"file_content":7',
    ):
        assert longest_content(bytearray(text)) == (0, 0)
    begin = time.monotonic()
    for part in (b'"file_content"', b'"file_content":', b'"file_content":""', b'"file_content" '):
        longest_content(bytearray(part * (4_000_000 // len(part))))
        longest_content(bytearray(part + b" " * 8_000_000))
    # Looking again and again would take hours.
    assert time.monotonic() - begin < 60
    text = b'{"file_content":"ab","x":{"file_content" : "abc"}}'
    start, end = longest_content(bytearray(text))
    assert text[start:end] == b"abc"
