"""``graphmem sources content``: in process, over the socket and over TCP, the same bytes or none."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.model import canonical
from graphmem.objects import new_object_store
from graphmem.settings import Settings, load
from tests.faces.test_sources import with_file
from tests.support.commands import command, environment
from tests.support.event_loop import Loop
from tests.support.faces import by_cli
from tests.support.object_places import directory_place
from tests.support.sealed_database import of_client
from tests.support.service import Service

DATA = os.urandom((2 << 20) + 7)
Content = Callable[..., Result]


@pytest.fixture(params=["in process", "socket", "tcp"])
def content(
    request: pytest.FixtureRequest, loop: Loop, services: Services, settings: Settings, service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> Content:  # fmt: skip
    """Run the command; the data is that of the running service and of its owner."""
    words: list[str] = []
    if request.param == "in process":
        objects = new_object_store(load(env="test", data_dir=service.folder), services.keys)
        by_cli(loop, replace(services, objects=objects), monkeypatch, service.owner)
        variables = environment(settings, service.folder, GRAPHMEM_OFFLINE="1")
    else:
        variables = environment(settings, service.folder, GRAPHMEM_OFFLINE="0")
        if request.param == "tcp":
            words, variables = ["--base-url", service.url], variables | of_client(settings)
    return lambda *more: CliRunner().invoke(app, [*words, "sources", "content", *more], env=variables)


@pytest.fixture
def source_id(service: Service) -> Iterator[str]:
    """The id of a file of the service."""
    with service.http() as http:
        yield http.post("/store", json=with_file(DATA)).raise_for_status().json()["source_id"]


def test_the_bytes_go_to_stdout_or_to_a_file(content: Content, source_id: str, tmp_path: Path) -> None:
    result = content(source_id)
    assert (result.exit_code, result.stdout_bytes == DATA) == (0, True), result.stderr
    file = tmp_path / "out.bin"
    result = content(source_id, "--output", str(file), "--json")
    assert canonical.decode(result.stdout) == {
        "file": str(file), "file_size": len(DATA), "content_hash": hashlib.sha256(DATA).hexdigest()
    }  # fmt: skip
    assert (file.read_bytes() == DATA, file.stat().st_mode & 0o777) == (True, 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["out.bin"]


def test_a_file_is_replaced_only_if_that_is_wanted(content: Content, source_id: str, tmp_path: Path) -> None:
    file = tmp_path / "out.bin"
    file.write_text("mine")
    for target in (file, tmp_path):
        result = content(source_id, "--output", str(target))
        assert (result.exit_code, file.read_text()) == (2, "mine"), result.stderr
    assert content(source_id, "--output", str(file), "--force").exit_code == 0
    assert file.read_bytes() == DATA
    assert content(source_id, "--output", str(tmp_path / "no" / "out.bin")).exit_code == 2


def test_an_error_leaves_no_file(
    content: Content, source_id: str, service: Service, services: Services, tmp_path: Path
) -> None:
    file = tmp_path / "out.bin"
    result = content("src_0123456789abcdef01234567", "--output", str(file), "--json")
    assert (result.exit_code, canonical.decode(result.stderr)["error_code"]) == (4, "RESOURCE_NOT_FOUND")
    place = directory_place(service.folder, services.keys)
    stored = place.path(service.owner, hashlib.sha256(DATA).hexdigest())
    kept = stored.read_bytes()
    stored.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    try:
        result = content(source_id, "--output", str(file), "--json")
        code = canonical.decode(result.stderr)["error_code"]
        assert code in ("OBJECT_DAMAGED", "SERVICE_UNREACHABLE"), result.stderr
        assert [*tmp_path.iterdir()] == []
    finally:
        stored.write_bytes(kept)


def test_range_and_head_answer_over_a_real_connection(service: Service, source_id: str) -> None:
    with service.http() as http:
        head = http.head(f"/sources/{source_id}/content")
        assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(DATA)), b"")
        part = http.get(f"/sources/{source_id}/content", headers={"Range": "bytes=5-9"})
        assert (part.status_code, part.content) == (206, DATA[5:10])
        url = http.get("/get_file_url", params={"path": source_id}).json()["url"]
        assert http.get(url).content == DATA


def test_a_reader_that_has_enough_is_no_fault(service: Service, source_id: str, settings: Settings) -> None:
    variables = environment(settings, service.folder, GRAPHMEM_OFFLINE="0")
    words = [*command(service.owner), "sources", "content", source_id]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10) == DATA[:10]
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
