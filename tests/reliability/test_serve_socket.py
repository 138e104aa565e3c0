"""`graphmem serve` on the socket of its data directory: commands call it, and start no second service."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from typer.testing import CliRunner

from graphmem import runtime
from graphmem.cli import serve
from graphmem.cli.main import app
from graphmem.errors import ConfigurationInvalid
from graphmem.neo4j_local.instance import Instance
from graphmem.service import beside, calling, greeting, wire
from graphmem.service.place import is_locked, place
from graphmem.settings import Settings, load
from tests.support import commands
from tests.support.commands import environment
from tests.support.local_service import call_service, is_alive, wait_for
from tests.support.service import Service, running, start, wait_until_healthy

STORE = {"entities": [{"entity_type": "person", "name": "Ada Lovelace"}], "idempotency_key": "first"}


@pytest.fixture
def service(local: Settings, owner: str) -> Iterator[Service]:
    """A running `graphmem serve` of the data directory."""
    with running(local, local.data_path, owner) as service:
        yield service


def greeted(local: Settings) -> Any:
    return calling.greet(place(local)) or {}


def command(local: Settings, *words: str) -> dict[str, Any]:
    """Return the answer of a command that is not offline."""
    environ = environment(local, local.data_path, GRAPHMEM_OFFLINE="0")
    result = CliRunner().invoke(app, [*words, "--json"], env=environ)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_commands_call_a_running_serve(local: Settings, service: Service) -> None:
    before = list(calling._children)
    stored = command(local, "store", "--entities", json.dumps(STORE["entities"]))
    assert stored["entities_created"] == 1
    with service.http() as http:
        assert http.get("/stats").json()["total_entities"] == 1
    status = command(local, "server", "status")
    assert (status["pid"], status["serves"]) == (service.process.pid, service.url.removeprefix("http://"))
    assert (status["state"], status["doing"]) == (greeting.READY, "")
    assert calling._children == before


def test_a_serve_at_any_free_port_names_the_port_that_it_bound(local: Settings, owner: str) -> None:
    service = start(local, local.data_path, owner, port=0)
    try:
        wait_for(lambda: greeted(local).get("state") == greeting.READY)
        serves = command(local, "server", "status")["serves"]
        base = f"http://{serves}"
        wait_for(lambda: f"{base}/mcp" in service.console)
        assert httpx.get(f"{base}/server-info").json()["api_base"] == base
        assert command(local, "info")["api_base"] == base
    finally:
        service.send(signal.SIGTERM)
        service.wait()


def test_stopping_the_local_service_leaves_serve_alone(local: Settings, service: Service) -> None:
    stopped = command(local, "server", "stop")
    assert not stopped["stopped"]
    assert f"`graphmem serve` (process {service.process.pid})" in stopped["message"]
    wire.send(Path(greeted(local)["socket"]), wire.Request("POST", greeting.STOP_PATH))
    assert greeted(local)["state"] == greeting.READY


def test_a_detached_serve_answers_once_it_is_told_of_and_is_stopped_by_server_stop(
    local: Settings, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without its worker, which would serve the owners of other tests.
    monkeypatch.setattr(serve, "DETACHED", commands.command(owner, "serve", "--detached"))
    told = command(local, "serve", "--detach", "--port", "0")
    assert httpx.get(f"{told['address']}/health/ready").status_code == 200
    assert (greeted(local)["pid"], Path(told["log"]).is_file()) == (told["pid"], True)
    environ = environment(local, local.data_path)
    again = CliRunner().invoke(app, ["serve", "--detach", "--port", "0"], env=environ)
    assert (again.exit_code, "`graphmem server stop`" in again.stderr) == (6, True), again.stderr
    assert command(local, "server", "stop")["stopped"]
    assert not is_alive(told["pid"])


def test_serve_takes_the_place_of_a_local_service(local: Settings, owner: str) -> None:
    before = calling.ensure(local)["pid"]
    with running(local, local.data_path, owner) as service:
        assert not is_alive(before)
        assert calling.ensure(local)["pid"] == service.process.pid
        assert f"the local service (process {before}) is stopped" in service.console


def test_after_serve_the_next_call_starts_a_local_service(local: Settings, owner: str) -> None:
    with running(local, local.data_path, owner):
        path = Path(calling.ensure(local)["socket"])
    assert not path.exists()
    assert calling.ensure(local)["serves"] is None


def test_a_killed_serve_leaves_nothing_that_stops_the_next_service(local: Settings, service: Service) -> None:
    call_service(local, "store", STORE)
    service.send(signal.SIGKILL)
    wait_for(lambda: not is_locked(place(local)))
    assert call_service(local, "store", STORE)["replayed"]


def test_a_second_serve_answers_on_tcp_only(local: Settings, service: Service, owner: str) -> None:
    second = start(local, local.data_path, owner)
    try:
        wait_until_healthy(second)
        assert greeted(local)["pid"] == service.process.pid
        assert f"`graphmem serve` at {service.url.removeprefix('http://')}" in second.console
    finally:
        second.send(signal.SIGTERM)
        second.wait()
    assert greeted(local)["state"] == greeting.READY


def test_a_program_of_another_version_does_not_replace_serve(
    local: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "__version__", "0.0.1")
    with pytest.raises(ConfigurationInvalid, match=r"this program is graphmem 0\.0\.1"):
        calling.ensure(local)
    monkeypatch.undo()
    with pytest.raises(ConfigurationInvalid, match=r"Use its settings, or use --offline"):
        calling.ensure(local.model_copy(update={"phone_region": "DE"}))
    assert greeted(local)["state"] == greeting.READY


def test_commands_need_no_token_of_a_serve_that_requires_one(local: Settings, owner: str) -> None:
    with running(local, local.data_path, owner, SERVICE_BEARER_TOKEN="t" * 32) as service:
        assert command(local, "stats")["total_entities"] == 0
        with service.http() as http:
            assert http.get("/stats", headers={"Authorization": ""}).status_code == 401


def test_a_socket_that_cannot_be_bound_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, handle: int, **record: str) -> None:
        raise OSError("no sockets here")

    messages: list[str] = []
    service_settings = load(env="test", data_dir=tmp_path)
    monkeypatch.setattr(beside, "bind", refuse)
    assert beside.take_socket(service_settings, messages.append) is None
    assert messages == ["commands cannot call this service, because it has no socket: no sockets here"]
    assert not is_locked(place(service_settings))


def test_a_call_starts_a_database_that_was_stopped_on_purpose_beside_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[Settings] = []

    async def connection(settings: Settings) -> None:
        structlog.get_logger("graphmem.neo4j").info("engine.started")
        started.append(settings)

    embedded = load(env="test", data_dir=tmp_path).model_copy(update={"neo4j_uri": None})
    ready = {**greeting.identity(embedded), "pid": 1, "state": greeting.READY, "serves": "127.0.0.1:1"}
    monkeypatch.setattr(calling, "greet", lambda service_place: ready)
    monkeypatch.setattr(runtime, "connection", connection)
    calling.ensure(embedded)
    assert not started
    Instance(embedded).stop_file.touch()
    calling.ensure(embedded)
    assert started == [embedded]
    assert capsys.readouterr().out == ""
