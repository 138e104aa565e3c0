"""What both ways of serving do beside answering, and what they say of themselves."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner

from graphmem import runtime
from graphmem.auth.credentials import Guard
from graphmem.cli import serve
from graphmem.cli.main import app
from graphmem.errors import ConfigurationInvalid
from graphmem.observability import logs
from graphmem.service import serving
from graphmem.settings import Settings, load

ANY_PORT = {"GRAPHMEM_PORT": "0", "GRAPHMEM_ENV": "test"}
TENDING = (serving, "warm"), (serving, "keep_up"), (serving, "work")


def until_cancelled(name: str, events: list[str]) -> Callable[[Any], Awaitable[None]]:
    async def task(services: Any) -> None:
        events.append(f"{name} begins")
        if name == "warm":
            services.database.planning.planned.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append(f"{name} ends")

    return task


def test_a_service_tends_its_database_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    names = ["keep_up", "warm", "work"]

    @contextlib.asynccontextmanager
    async def opened(settings: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        planning = SimpleNamespace(planned=asyncio.Event())
        database = SimpleNamespace(planning=planning, reads=lambda _: None, writes=lambda _: None)
        feed = SimpleNamespace(end=lambda: None)
        yield SimpleNamespace(database=database, settings=settings, guard=Unguarded(), of=lambda _: feed)
        events.append("closed")

    async def answer(*_: Any) -> None:
        for _turn in range(5):
            await asyncio.sleep(0)
        events.append("answered")

    for module, name in TENDING:
        monkeypatch.setattr(module, name, until_cancelled(name, events))
    monkeypatch.setattr(runtime, "open_services", opened)
    monkeypatch.setattr("graphmem.api.app.create_app", lambda services: None)
    monkeypatch.setattr(serve._RestServer, "serve", answer)
    monkeypatch.setattr(logs, "configure", lambda *_, **__: None)
    monkeypatch.setattr(serve.beside, "take_socket", lambda *_, **__: None)
    monkeypatch.setattr(serve.neo4j_local, "launch", lambda *_: None)

    serve.serve(load(env="test", data_dir=tmp_path, port=0))

    assert sorted(events[: len(names)]) == [f"{name} begins" for name in names]
    assert events[len(names)] == "answered"
    assert sorted(events[len(names) + 1 : -1]) == [f"{name} ends" for name in names]
    assert events[-1] == "closed"


def test_a_service_in_the_background_does_not_go_on_without_the_socket_by_which_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "configure", lambda *_, **__: None)
    monkeypatch.setattr(serve.beside, "take_socket", lambda *_, **__: None)
    with pytest.raises(ConfigurationInvalid, match="socket"):
        serve.serve(load(env="test", data_dir=tmp_path, port=0), detached=True)


def test_a_token_for_a_sealed_instance_is_refused_before_a_service_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keys.json").write_text("{}")
    taken: list[Settings] = []
    monkeypatch.setattr(serve.beside, "take_socket", lambda settings, *_, **__: taken.append(settings))
    settings = load(data_dir=tmp_path, env="test", port=0, bearer_token="t" * 40)
    with pytest.raises(ConfigurationInvalid, match="mcp-token"):
        serve.serve(settings)
    assert taken == []


def test_the_worker_waits_until_the_first_queries_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    for module, name in TENDING:
        monkeypatch.setattr(module, name, until_cancelled(f"{name} alone", events))
    planned = asyncio.Event()
    services: Any = SimpleNamespace(database=SimpleNamespace(planning=SimpleNamespace(planned=planned)))

    async def tended() -> None:
        async with serving.background_work(services):
            await asyncio.sleep(0.02)
            assert sorted(events) == ["keep_up alone begins", "warm alone begins"]
            planned.set()
            await asyncio.sleep(0.02)
            assert events[2:] == ["work alone begins"]

    asyncio.run(tended())


def a_file_in_its_place(data: Path) -> None:
    data.touch()


def a_file_in_the_place_of_the_logs(data: Path) -> None:
    data.mkdir()
    (data / "logs").touch()


def a_log_that_is_a_directory(data: Path) -> None:
    (data / "logs" / logs.FILE).mkdir(parents=True)


@pytest.mark.parametrize(
    ("way", "spoil"),
    [
        ("serve", a_file_in_its_place),
        ("serve", a_file_in_the_place_of_the_logs),
        ("serve", a_log_that_is_a_directory),
        ("mcp", a_file_in_its_place),
    ],
)
def test_a_data_directory_that_cannot_be_used_is_refused(
    way: str, spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    spoil(tmp_path / "data")
    refused = CliRunner().invoke(app, ["--json", "--data-dir", str(tmp_path / "data"), way], env=ANY_PORT)
    error = json.loads(refused.stderr)
    assert (refused.exit_code, refused.stdout, error["error_code"]) == (6, "", "DATA_DIRECTORY_REFUSED")
    assert "name another directory" in error["message"]


@pytest.mark.parametrize(
    ("code", "fix"), [(errno.EACCES, "give it permission"), (errno.EROFS, "name another directory")]
)
@pytest.mark.parametrize(("way", "folder"), [("serve", "logs"), ("mcp", "service")])
def test_a_data_directory_that_may_not_be_written_is_refused(
    way: str, folder: str, code: int, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anywhere, so the answer of the system is put in its place.
    def fail(path: Path, *_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(Path, "mkdir", fail)
    refused = CliRunner().invoke(app, ["--json", "--data-dir", str(tmp_path / "data"), way], env=ANY_PORT)
    error = json.loads(refused.stderr)
    assert (refused.exit_code, refused.stdout, error["error_code"]) == (6, "", "DATA_DIRECTORY_REFUSED")
    assert fix in error["message"]
    assert str(tmp_path / "data" / folder) in error["message"]


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """Answer nobody."""


class Unguarded(Guard):
    """Knows an instance without a password and without a key."""

    def __init__(self) -> None:
        """Ask no database."""

    async def is_open(self, settings: Settings) -> bool:
        return settings.may_be_open


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_address_that_was_bound_is_announced_once_statements_are_planned(
    host: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(env="test", data_dir=tmp_path, host=host, port=0)
    config = uvicorn.Config(nothing, host=host, port=0, lifespan="off", log_config=None)

    async def begin() -> int:
        planned = asyncio.Event()
        server = serve._RestServer(config, settings, planned, Unguarded(), lambda: None)
        config.load()
        server.lifespan = config.lifespan_class(config)
        try:
            await server.startup()
        except SystemExit:
            pytest.skip(f"this machine has no {host}")
        port = server.servers[0].sockets[0].getsockname()[1]
        await asyncio.sleep(0.01)
        assert "ready" not in capsys.readouterr().err
        planned.set()
        await asyncio.sleep(0.01)
        await server.shutdown()
        return port

    port = asyncio.run(begin())
    output = capsys.readouterr()
    assert output.out == ""
    assert port > 0
    assert f"http://{address}:{port}/mcp" in output.err


def test_an_address_that_is_taken_is_told_as_it_is_written(tmp_path: Path) -> None:
    refused = CliRunner().invoke(
        app, ["--json", "serve", "--host", "2001:db8::1"],
        env=ANY_PORT | {"GRAPHMEM_DATA_DIR": str(tmp_path), "SERVICE_BEARER_TOKEN": "x" * 32},
    )  # fmt: skip
    assert "[2001:db8::1]:0 cannot be bound" in json.loads(refused.stderr)["message"]
