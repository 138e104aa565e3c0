"""The bytes of stored files over HTTP: whole, by range, not again, and never shown by a browser."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from graphmem.api import downloads
from graphmem.api.app import create_app
from graphmem.api.downloads import CONTENT_POLICY, disposition, requested_range
from graphmem.context import Context, Services
from graphmem.errors import RangeNotSatisfiable
from graphmem.reading.source_answers import SourceRow, read_source
from tests.faces.test_http_edges import Http, envelope, http, sender
from tests.faces.test_sources import with_file
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.object_places import directory_place

__all__ = ["http"]

TEXT = bytes(range(32, 127)) * 3
TAG = f'"{hashlib.sha256(TEXT).hexdigest()}"'
PAGE = b"<!doctype html><html><script>alert(1)</script></html>"


@pytest.fixture
def address(run: Call) -> str:
    """The path of the content of a stored file."""
    return f"/sources/{run('store', **with_file(TEXT))['source_id']}/content"


def object_path(services: Services, owner: str, data: bytes) -> Path:
    """Return the file in which the object store of the run keeps some bytes."""
    place = directory_place(services.settings.data_path, services.keys)
    return place.path(owner, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("prefix", ["", "/api"])
def test_a_file_comes_back_byte_for_byte_and_inert(http: Http, address: str, prefix: str) -> None:
    answer = http("GET", prefix + address)
    assert (answer.status_code, answer.content) == (200, TEXT)
    headers = {
        "content-type": "text/plain", "content-length": str(len(TEXT)), "etag": TAG, "accept-ranges": "bytes",
        "content-disposition": "attachment; filename=\"letter.txt\"; filename*=UTF-8''letter.txt",
        "content-security-policy": CONTENT_POLICY, "x-content-type-options": "nosniff",
        "cache-control": "no-store", "x-frame-options": "DENY",
    }  # fmt: skip
    assert {name: answer.headers.get(name) for name in headers} == headers


def test_a_page_is_saved_and_not_shown(http: Http, run: Call) -> None:
    source_id = run("store", **with_file(PAGE, "evil.html"))["source_id"]
    answer = http("GET", f"/sources/{source_id}/content", headers={"Accept": "text/html"})
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert (answer.headers["content-type"], answer.content) == ("text/html", PAGE)


def test_a_media_type_that_is_none_is_not_sent(
    http: Http, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def changed(context: Context, source_id: str) -> SourceRow:
        row = await read_source(context, source_id)
        return row._replace(mime_type="text/html\r\nX-Evil: 1")

    monkeypatch.setattr(downloads, "read_source", changed)
    answer = http("GET", address)
    assert (answer.headers["content-type"], "x-evil" in answer.headers) == ("application/octet-stream", False)


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=200-", 200, 285), ("bytes=-5", 280, 285),
     ("bytes=0-", 0, 285), ("bytes=280-9999", 280, 285), ("bytes=-9999", 0, 285), ("Bytes = 1-2", 1, 3)],
)  # fmt: skip
def test_a_range_is_answered_with_its_place(
    http: Http, address: str, header: str, start: int, end: int
) -> None:
    answer = http("GET", address, headers={"Range": header})
    assert (answer.status_code, answer.content) == (206, TEXT[start:end])
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/285"
    assert (answer.headers["content-length"], answer.headers["etag"]) == (str(end - start), TAG)


@pytest.mark.parametrize(
    "header",
    ["bytes=0-1,3-4", "bytes=5-4", "bytes=-", "bytes=a-b", "lines=0-1", "bytes", "bytes=1", "", "٣-٤"],
)
def test_another_range_is_ignored(http: Http, address: str, header: str) -> None:
    answer = http("GET", address, headers={"Range": header.encode()})
    assert (answer.status_code, answer.content) == (200, TEXT)
    assert "content-range" not in answer.headers


@pytest.mark.parametrize("header", ["bytes=285-", "bytes=999-1000", "bytes=-0"])
def test_a_range_after_the_end_is_416_with_the_size(http: Http, address: str, header: str) -> None:
    answer = http("GET", address, headers={"Range": header})
    assert answer.status_code == 416
    assert envelope(answer)["details"] == {"size": 285}
    assert answer.headers["content-range"] == "bytes */285"


def test_a_range_of_an_empty_file_is_never_satisfiable() -> None:
    assert requested_range(None, 0) is None
    for header in ("bytes=0-", "bytes=0-0", "bytes=-1"):
        with pytest.raises(RangeNotSatisfiable):
            requested_range(header, 0)


@pytest.mark.parametrize(
    ("sent", "status"),
    [(TAG, 304), (f"W/{TAG}", 304), ("*", 304), (f'"x", {TAG}', 304), ('"x"', 200), ("", 200)],
)
def test_a_file_that_the_caller_has_is_not_sent_again(
    http: Http, address: str, sent: str, status: int
) -> None:
    for method in ("GET", "HEAD"):
        answer = http(method, address, headers={"If-None-Match": sent})
        assert (answer.status_code, answer.headers["etag"]) == (status, TAG)
        assert answer.content == (TEXT if (method, status) == ("GET", 200) else b"")


@pytest.mark.parametrize(
    ("sent", "status"), [(TAG, 206), (f"W/{TAG}", 200), ('"x"', 200), ("Mon, 23 Nov 2026 10:00:00 GMT", 200)]
)
def test_a_range_of_another_file_is_not_sent(http: Http, address: str, sent: str, status: int) -> None:
    answer = http("GET", address, headers={"If-Range": sent, "Range": "bytes=0-4"})
    assert (answer.status_code, len(answer.content)) == (status, 5 if status == 206 else len(TEXT))


def test_head_answers_the_headers_alone(http: Http, address: str) -> None:
    whole, head = http("GET", address), http("HEAD", address, headers={"Range": "bytes=0-4"})
    assert (head.status_code, head.content) == (200, b"")
    varying = {"x-trace-id", "ratelimit"}
    assert {*head.headers.items()} - {*whole.headers.items()} <= {
        item for item in head.headers.items() if item[0] in varying
    }


def test_a_file_of_another_owner_is_404(loop: Loop, services: Services, address: str) -> None:
    stranger = sender(loop, create_app(services, always(full_actor("somebody-else"))))
    for path in (address, "/sources/src_0123456789abcdef01234567/content", "/sources/x/content"):
        answer = stranger("GET", path)
        assert (answer.status_code, envelope(answer)["error_code"]) == (404, "RESOURCE_NOT_FOUND")
        assert stranger("HEAD", path).status_code == 404


def test_bytes_that_are_gone_are_an_error_of_the_service(
    http: Http, services: Services, owner: str, address: str
) -> None:
    object_path(services, owner, TEXT).unlink()
    answer = http("GET", address)
    assert envelope(answer)["error_code"] == "OBJECT_MISSING"
    assert "content-disposition" not in answer.headers
    assert http("HEAD", address).status_code == 503


def test_damaged_bytes_are_not_answered_as_the_file(
    http: Http, services: Services, owner: str, address: str
) -> None:
    path = object_path(services, owner, TEXT)
    kept = path.read_bytes()
    path.write_bytes(b"X" + kept[1:])
    assert envelope(http("GET", address))["error_code"] == "OBJECT_DAMAGED"
    path.write_bytes(kept[1:])
    for method, headers in (("GET", {}), ("GET", {"Range": "bytes=0-4"})):
        assert envelope(http(method, address, headers=headers))["error_code"] == "OBJECT_DAMAGED"
    assert http("HEAD", address).status_code == 503


def test_a_large_file_is_sent_in_chunks_and_never_whole_if_it_is_damaged(
    loop: Loop, services: Services, owner: str, run: Call
) -> None:
    data = os.urandom((3 << 20) + 5)
    source_id = run("store", **with_file(data))["source_id"]
    app = create_app(services, always(full_actor(owner)))
    sizes = loop.run(sent_sizes(app, f"/sources/{source_id}/content"))
    assert (sum(sizes), max(sizes), len([size for size in sizes if size])) == (len(data), 1 << 20, 4)
    path = object_path(services, owner, data)
    kept = path.read_bytes()
    path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    sizes = loop.run(sent_sizes(app, f"/sources/{source_id}/content"))
    assert 0 < sum(sizes) < len(data)


async def sent_sizes(app: Any, path: str) -> list[int]:
    """Return the size of each part of the body that an application sends, to its end or to its fault."""
    sizes: list[int] = []
    requests = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        return requests.pop() if requests else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sizes.append(len(message.get("body", b"")))

    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
        "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    # The fault of a damaged file ends the connection.
    with contextlib.suppress(Exception):
        await app(scope, receive, send)
    return sizes


@pytest.mark.parametrize(
    ("name", "plain", "whole"),
    [
        ("letter.txt", "letter.txt", "letter.txt"),
        ("../../etc/passwd", "passwd", "passwd"),
        (r"C:\Users\x\report.pdf", "report.pdf", "report.pdf"),
        ('a";x="b.txt', "a_;x=_b.txt", 'a";x="b.txt'),
        ("a\r\nX-Evil: 1.txt", "aX-Evil: 1.txt", "aX-Evil: 1.txt"),
        ("Größe 100%.txt", "Gr__e 100_.txt", "Größe 100%.txt"),
        ("photo\u202egpj.exe", "photogpj.exe", "photogpj.exe"),
        (".bashrc", "bashrc", "bashrc"),
        ("...", "src_1", "src_1"),
        ("a/", "src_1", "src_1"),
        ("\ud800.txt", "txt", "txt"),
        ("", "src_1", "src_1"),
        (None, "src_1", "src_1"),
        ("x" * 400 + ".txt", "x" * 146 + ".txt", "x" * 146 + ".txt"),
        ("x" * 400, "x" * 150, "x" * 150),
    ],
)  # fmt: skip
def test_the_name_of_a_download_is_that_of_one_file(name: str | None, plain: str, whole: str) -> None:
    header = disposition(name, "src_1")
    assert header == f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(whole, safe='')}"
    assert re.fullmatch(r"[ -~]+", header)
