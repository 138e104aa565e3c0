"""file_path: below the directories of the setting for callers over a network; the caller's own for others."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as McpClient
from pydantic import ValidationError
from typer.testing import CliRunner

from graphmem.api.app import create_app
from graphmem.auth import accounts
from graphmem.cli.main import app as cli
from graphmem.context import Services
from graphmem.errors import (
    ConfigurationInvalid,
    FileEmpty,
    FileIsDirectory,
    FilePathRefused,
    FileTooLarge,
    InvalidInput,
    SandboxDisabled,
)
from graphmem.mcp import thin
from graphmem.mcp.protocol import ForwardedRequest
from graphmem.mcp.tools import create_server
from graphmem.settings import Settings, load
from tests.support.actors import always, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_rest, by_runner, share_services

LETTER = b"Dear Ada"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with a letter, an empty file and a folder."""
    folder = tmp_path / "inbox"
    (folder / "more").mkdir(parents=True)
    (folder / "letter.txt").write_bytes(LETTER)
    (folder / "empty").touch()
    return folder


@pytest.fixture
def rooted(loop: Loop, services: Services, owner: str, root: Path) -> Callable[..., Call]:
    """Call over REST a service whose files lie below the root."""

    def call(**changes: Any) -> Call:
        settings = services.settings.model_copy(update={"file_roots": (str(root),), **changes})
        app = create_app(dataclasses.replace(services, settings=settings), always(full_actor(owner)))
        return by_rest(loop, app, owner)

    return call


def test_a_remote_caller_names_a_file_below_a_root(rooted: Callable[..., Call], root: Path) -> None:
    run = rooted()
    stored = run("store", entities=[{"entity_type": "person", "name": "Ada"}], file_path="letter.txt")
    assert (stored["file_size"], stored["mime_type"]) == (len(LETTER), "text/plain")
    assert run("sources.get", source_id=stored["source_id"])["original_filename"] == "letter.txt"
    for path in ("letter.txt", str(root / "letter.txt")):
        assert stored["source_id"] in run("sources.url", file_path=path)["url"]
    again = run("store.unstructured", file_path=str(root / "letter.txt"), original_filename="named.txt")
    assert (again["source_id"], again["deduplicated"]) == (stored["source_id"], True)
    assert run("sources.get", source_id=stored["source_id"])["original_filename"] == "named.txt"


def test_what_a_path_below_a_root_may_say(
    rooted: Callable[..., Call], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = rooted()
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "link").symlink_to(tmp_path / "secret")
    for path in ("missing", "../secret", "link", str(tmp_path / "secret"), str(tmp_path / "missing")):
        with pytest.raises(FilePathRefused) as refused:
            run("store", file_path=path)
        assert (refused.value.status, str(tmp_path) in str(refused.value)) == (403, False)
    with pytest.raises(FileIsDirectory):
        run("store", file_path="more")
    with pytest.raises(FileEmpty, match=r"\$\.file_path"):
        run("store", file_path="empty")
    with pytest.raises(InvalidInput, match="not both"):
        run("store", file_path="letter.txt", file_content="YWJj")
    exact, less = (rooted(max_file_bytes=len(LETTER) - less) for less in (0, 1))
    assert exact("store", file_path="letter.txt")["file_size"] == len(LETTER)
    with pytest.raises(FileTooLarge) as large:
        less("store", file_path="letter.txt")
    assert large.value.details == {"file_size": len(LETTER), "max_size": len(LETTER) - 1}
    assert run("sources.list", include_total_count=True)["total"] == 1


def test_without_roots_and_in_the_sandbox_no_path_is_taken(
    rooted: Callable[..., Call], run: Call, root: Path
) -> None:
    for call in (rooted(file_roots=()), run):
        with pytest.raises(FilePathRefused):
            call("store", file_path=str(root / "letter.txt"))
    sandbox = rooted(sandbox=True)
    with pytest.raises(SandboxDisabled):
        sandbox("store", file_path="letter.txt")
    assert sandbox("store", file_content=base64.b64encode(LETTER).decode())["file_size"] == len(LETTER)


@pytest.mark.parametrize("value", ["inbox", "/a/../b", "/a//b", "/ok,relative"])
def test_a_root_is_an_absolute_path(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_FILE_ROOTS", value)
    with pytest.raises((ConfigurationInvalid, ValidationError)):
        load(env="test")
    monkeypatch.setenv("GRAPHMEM_FILE_ROOTS", "/srv/inbox, /srv/scans/")
    assert load(env="test").file_roots == ("/srv/inbox", "/srv/scans/")


def test_a_server_of_mcp_reads_no_file_of_a_caller(
    loop: Loop, services: Services, owner: str, root: Path
) -> None:
    async def call() -> dict[str, Any]:
        server = create_server(services, lambda: full_actor(owner), "core")
        async with McpClient(server) as client:
            answer = await client.call_tool("store", {"file_path": str(root / "letter.txt")})
            return json.loads(answer.content[0].text)  # type: ignore[union-attr]

    assert loop.run(call())["error_code"] == "FILE_PATH_REFUSED"


def test_the_client_of_the_local_service_sends_the_content(
    root: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    answered, wire = os.pipe()
    monkeypatch.setattr(
        thin.calling, "send", lambda *args, **_: (sent.append(json.loads(args[1].body)), (200, b"{}"))[1]
    )
    client = thin.StdioClient(settings, wire)
    for tool in ("store", "list_sources"):
        params = {"name": tool, "arguments": {"file_path": str(root / "letter.txt")}}
        client._forward(ForwardedRequest(1, "tools/call", params, "2025-11-25", False))
    os.close(answered)
    os.close(wire)
    assert sent[0]["params"]["arguments"] == {
        "file_content": base64.b64encode(LETTER).decode(), "original_filename": "letter.txt",
    }  # fmt: skip
    assert "file_path" in sent[1]["params"]["arguments"]


def test_a_command_reads_the_file_of_its_user(
    loop: Loop, services: Services, owner: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_services(monkeypatch, loop, services)
    monkeypatch.setattr(accounts, "local_actor", lambda *_: full_actor(owner, client="test"))
    settings = services.settings
    environment = {
        "NEO4J_URI": settings.neo4j_uri,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
        "GRAPHMEM_DATA_DIR": str(settings.data_path),
    }

    def store(*words: str) -> tuple[int, dict[str, Any]]:
        words = ("--offline", "--json", "store", *words)
        result = CliRunner().invoke(cli, words, env=environment)
        return result.exit_code, json.loads(result.stdout or result.stderr)

    code, stored = store("--file-path", str(root / "letter.txt"))
    assert (code, stored["file_size"]) == (0, len(LETTER))
    code, again = store(
        "--file", str(root / "letter.txt"), "--entities", '[{"entity_type": "x", "name": "a"}]'
    )
    assert (code, again["source_id"], again["entities_created"]) == (0, stored["source_id"], 1)
    (root / "request.json").write_text('[{"entity_type": "x", "name": "b"}]')
    code, request = store("--file", str(root / "request.json"))
    assert (code, request["entities_created"], "source_id" in request) == (0, 1, False)
    twice = store("--file", str(root / "letter.txt"), "--file-path", str(root / "letter.txt"))
    assert (twice[0], twice[1]["error_code"]) == (2, "VALIDATION_INVALID_FORMAT")
    for path, error, exit_code in (
        ("missing", "FILE_NOT_FOUND", 4), ("more", "FILE_IS_DIRECTORY", 2), ("empty", "FILE_EMPTY", 2),
    ):  # fmt: skip
        for option in ("--file-path", "--file"):
            code, refused = store(option, str(root / path))
            assert (code, refused["error_code"]) == (exit_code, error)
    run = by_runner(loop, services, owner)
    assert run("sources.list", include_total_count=True)["total"] == 1
