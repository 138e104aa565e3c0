"""The local service: one per data directory, started by whoever needs it, replaced when it must be."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem import __version__
from graphmem.api.app import create_app
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.cli.main import app
from graphmem.client.agent_signing import keep_key
from graphmem.context import Services
from graphmem.errors import ConfigurationInvalid, DataDirectoryRefused, InvalidInput, ServiceUnreachable
from graphmem.service import calling, greeting, wire
from graphmem.service import place as places
from graphmem.service.place import Place, is_locked, place
from graphmem.settings import Settings
from tests.support.commands import command, environment
from tests.support.imports import HEAVY, imported
from tests.support.local_service import call_service, is_alive, local_settings, started_for, wait_for
from tests.support.permissions import deny

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
STORE = {"entities": [ADA], "idempotency_key": "first"}
OTHER_VERSION = "import graphmem; graphmem.__version__ = '0.0.1'; import graphmem.service.__main__"


def store(local: Settings) -> dict[str, Any]:
    return call_service(local, "store", STORE)


def total(local: Settings) -> int:
    return call_service(local, "server.stats", {})["total_entities"]


def send_half(path: str) -> socket.socket:
    """Begin a store on the socket and hold back the last byte of its body."""
    body = json.dumps(STORE).encode()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    headers = {"Host": "localhost", "Content-Length": len(body), **wire.secret_headers(Path(path))}
    lines = [
        "POST /store HTTP/1.1",
        "Content-Type: application/json",
        *(f"{each}: {headers[each]}" for each in headers),
    ]
    head = "\r\n".join([*lines, "", ""])
    connection.sendall(head.encode() + body[:-1])
    return connection


def finish(connection: socket.socket) -> bytes:
    """Send the last byte and return the answer."""
    connection.sendall(b"}")
    answer = b""
    while part := connection.recv(65536):
        answer += part
    connection.close()
    return answer


def test_a_call_starts_the_service_and_further_calls_use_it(spawned: Settings) -> None:
    messages: list[str] = []
    assert calling.greet(place(spawned)) is None
    first = calling.ensure(spawned, messages.append)
    assert (first["version"], first["state"]) == (__version__, greeting.READY)
    assert store(spawned)["entities_created"] == 1
    assert store(spawned)["replayed"]
    assert total(spawned) == 1
    assert calling.ensure(spawned)["pid"] == first["pid"]
    assert all("…" in line for line in messages)


def test_the_socket_is_for_this_user_only_and_gone_after_a_stop(local: Settings) -> None:
    path = Path(calling.ensure(local)["socket"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert calling.stop(local)
    assert not path.exists()
    assert not calling.stop(local)


def test_an_error_is_the_same_as_in_process(local: Settings) -> None:
    with pytest.raises(InvalidInput) as raised:
        call_service(local, "store", {"entities": [{"entity_type": "person", "observed_at": "never"}]})
    assert raised.value.details["issues"]
    assert raised.value.trace_id


def test_the_socket_serves_rest_and_mcp_and_tcp_has_no_greeting(local: Settings, services: Services) -> None:
    path = Path(calling.ensure(local)["socket"])
    assert wire.send(path, wire.Request("GET", "/stats"))[0] == 200
    ping = wire.request_of(("POST", "/mcp"), {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    accept = {"Accept": "application/json, text/event-stream"}
    assert wire.send(path, ping, accept)[0] == 200
    over_tcp = {getattr(route, "path", "") for route in create_app(services).router.routes}
    assert over_tcp.isdisjoint({greeting.PATH, greeting.STOP_PATH})


def test_the_socket_wants_the_secret_that_lies_beside_it(
    local: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(calling.ensure(local)["socket"])
    assert stat.S_IMODE(wire.secret_file(path).stat().st_mode) == 0o600
    for headers in ({}, {wire.SECRET_HEADER: "another"}, {wire.SECRET_HEADER: ""}):
        monkeypatch.setattr(wire, "secret_headers", lambda path, headers=headers: headers)
        for url in ("/stats", "/mcp", "/store"):
            status, body = wire.send(path, wire.Request("POST", url, b"{}"))
            assert (status, json.loads(body)["error_code"]) == (401, "AUTH_REQUIRED")
    # A program of another version may know no secret: it asks for the version, and for the end.
    assert wire.send(path, wire.Request("GET", greeting.PATH))[0] == 200


def test_a_killed_service_is_started_again_and_nothing_is_lost(local: Settings) -> None:
    assert store(local)["entities_created"] == 1
    left = calling.ensure(local)
    os.kill(left["pid"], signal.SIGKILL)
    wait_for(lambda: not is_locked(place(local)))
    assert Path(left["socket"]).is_socket()
    assert total(local) == 1
    assert store(local)["replayed"]
    assert calling.ensure(local)["pid"] != left["pid"]


def test_of_many_that_start_at_once_one_serves_and_the_others_end(local: Settings) -> None:
    barrier = threading.Barrier(4)

    def begin() -> int:
        barrier.wait()
        return calling.start(local, place(local)).pid

    with ThreadPoolExecutor(4) as pool:
        started = set(pool.map(lambda _: begin(), range(4)))
    serving = calling.ensure(local)["pid"]
    # The caller may have started one more, before any of the others had the lock.
    wait_for(lambda: [pid for pid in {*started, serving} if is_alive(pid)] == [serving])


def test_callers_that_start_at_once_share_one_service(local: Settings) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: calling.ensure(local)["pid"], range(4)))) == 1


def test_a_service_of_another_version_is_replaced_after_its_requests(
    spawned: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = calling.COMMAND
    monkeypatch.setattr(calling, "COMMAND", [sys.executable, "-c", OTHER_VERSION])
    monkeypatch.setattr(calling, "__version__", "0.0.1")
    older = calling.ensure(spawned)
    monkeypatch.setattr(calling, "COMMAND", own)
    monkeypatch.setattr(calling, "__version__", __version__)
    connection = send_half(older["socket"])
    wait_for(lambda: (calling.greet(place(spawned)) or {}).get("requests") == 1)
    with ThreadPoolExecutor(1) as pool:
        newer = pool.submit(calling.ensure, spawned)
        wait_for(lambda: not Path(older["socket"]).exists())
        assert is_alive(older["pid"])
        assert finish(connection).startswith(b"HTTP/1.1 200 ")
        assert newer.result()["version"] == __version__
    assert not is_alive(older["pid"])


def test_a_program_older_than_the_installed_version_does_not_replace_for_ever(
    local: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    calling.ensure(local)
    monkeypatch.setattr(calling, "__version__", "0.0.1")
    with pytest.raises(ConfigurationInvalid, match=r"0\.0\.1.*start this program again"):
        calling.ensure(local)


def test_other_settings_are_named_and_nothing_is_done(local: Settings, tmp_path: Path) -> None:
    serving = calling.ensure(local)["pid"]
    other = local.model_copy(update={"phone_region": "DE"})
    with pytest.raises(
        ConfigurationInvalid, match="GRAPHMEM_PHONE_REGION is DE for this command and not set"
    ):
        call_service(other, "store", STORE)
    assert total(local) == 0
    assert calling.ensure(local)["pid"] == serving


def test_an_idle_service_ends_and_the_next_call_starts_it(local: Settings) -> None:
    brief = local.model_copy(update={"service_idle_seconds": 0.3})
    first = calling.ensure(brief)["pid"]
    wait_for(lambda: not is_locked(place(brief)))
    # One that ends so soon may end before a busy machine sends the call.
    assert store(local)["entities_created"] == 1
    assert not is_alive(first)


def test_a_request_under_way_keeps_the_service_and_is_finished_before_a_stop(local: Settings) -> None:
    brief = local.model_copy(update={"service_idle_seconds": 1.0})
    connection = None
    while connection is None:
        # On a busy machine the service may be idle for too long before the request comes.
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            connection = send_half(calling.ensure(brief)["socket"])
    wait_for(lambda: (calling.greet(place(brief)) or {}).get("requests") == 1)
    time.sleep(brief.service_idle_seconds)
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(calling.stop, brief)
        wait_for(lambda: calling.greet(place(brief)) is None)
        assert finish(connection).startswith(b"HTTP/1.1 200 ")
        assert stopped.result()


def test_a_failed_start_is_told_to_the_caller(local: Settings) -> None:
    local.data_path.mkdir()
    (local.data_path / "logs").touch()
    with pytest.raises(DataDirectoryRefused, match="logs"):
        calling.ensure(local)
    (local.data_path / "logs").unlink()
    assert store(local)["entities_created"] == 1


def test_a_start_that_failed_before_a_call_is_tried_again(local: Settings) -> None:
    local.data_path.mkdir()
    (local.data_path / "logs").touch()
    where = place(local)
    calling.start(local, where)
    wait_for(lambda: where.console.exists() and "cannot start" in where.console.read_text())
    (local.data_path / "logs").unlink()
    assert store(local)["entities_created"] == 1


def test_a_service_that_ends_at_its_start_is_reported_with_its_last_lines(
    spawned: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "COMMAND", [sys.executable, "-c", "raise SystemExit('no such module')"])
    with pytest.raises(ServiceUnreachable) as raised:
        calling.ensure(spawned)
    assert raised.value.details["log"] == ["no such module"]


def test_a_service_that_hangs_is_named_and_a_stop_ends_it(
    local: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = calling.ensure(local)["pid"]
    monkeypatch.setattr(calling, "GREETING_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(calling, "STOP_SECONDS", 1.0)
    os.kill(serving, signal.SIGSTOP)
    with pytest.raises(ServiceUnreachable, match=rf"process {serving}.*graphmem server stop"):
        calling.ensure(local)
    assert calling.stop(local.model_copy(update={"shutdown_seconds": 0.5}))
    wait_for(lambda: not is_alive(serving))


def test_a_path_too_long_for_a_socket_is_served_elsewhere(
    settings: Settings, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = local_settings(settings, tmp_path / ("d" * 100) / "data")
    with started_for(monkeypatch, owner, long):
        path = Path(calling.ensure(long)["socket"])
        assert len(os.fsencode(path)) <= places.SOCKET_PATH_BYTES_LIMIT
        assert long.data_path not in path.parents
        assert total(long) == 0
    assert not path.exists()


def test_a_short_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir(mode=0o755)
    open_folder.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    monkeypatch.setattr(places, "SOCKET_PATH_BYTES_LIMIT", len(os.fsencode(open_folder)) + 40)
    monkeypatch.setattr(places, "_short_folders", lambda: [open_folder, link])
    with pytest.raises(DataDirectoryRefused, match="not a folder of this user only"):
        Place(tmp_path / ("d" * 100), "embedded").socket()


def test_a_data_directory_without_a_right_is_refused(local: Settings) -> None:
    local.data_path.touch()
    with pytest.raises(DataDirectoryRefused, match="name another directory"):
        calling.ensure(local)


def test_commands_use_the_service_and_offline_does_not(local: Settings, owner: str) -> None:
    environ = environment(local, local.data_path, GRAPHMEM_OFFLINE="0", GRAPHMEM_SHUTDOWN_SECONDS="5")

    def answer(*words: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, [*words, "--json"], env=environ)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    assert answer("--offline", "stats")
    assert not answer("server", "status")["running"]
    stored = answer("store", "--entities", json.dumps([ADA]))
    status = answer("server", "status")
    assert (status["running"], status["state"]) == (True, greeting.READY)
    assert answer("entities", "get", stored["entities"][0]["entity_id"])["snapshot"]["name"] == ADA["name"]
    assert answer("server", "start")["pid"] == status["pid"]
    refused = CliRunner().invoke(app, ["entities", "get", "ent_0", "--json"], env=environ)
    assert refused.exit_code in (2, 4)
    assert json.loads(refused.stderr)["trace_id"]
    logged = CliRunner().invoke(app, ["logs", "--log", "graphmem"], env=environ)
    assert "entities.get" in logged.stdout
    stopped = answer("server", "stop")
    assert stopped["stopped"]
    assert f"(process {status['pid']}) of {local.data_path};" in stopped["message"]
    again = answer("server", "stop")
    assert (again["stopped"], str(local.data_path) in again["message"]) == (False, True)


def test_who_has_a_key_signs_over_the_socket_and_beside_it(
    local: Settings, owner: str, tmp_path: Path
) -> None:
    key = PrivateAgentKey.generated("ES256")
    keep_key(str(tmp_path / "key.json"), key)
    agent = local.model_copy(update={"agent_key": str(tmp_path / "key.json")})

    def arguments(name: str) -> dict[str, Any]:
        return {"entities": [{"entity_type": "person", "name": name}]}

    call_service(agent, "store", arguments("Over Socket"))
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "store", "arguments": arguments("Over Stdio")},
    }  # fmt: skip
    headers = {"Accept": "application/json, text/event-stream"}
    assert calling.send(agent, wire.request_of(("POST", "/mcp/core"), message), headers)[0] == 200
    written = call_service(local, "observations.query", {})["observations"]
    assert [each["provenance"]["agent"] for each in written] == [key.public.thumbprint] * 2
    call_service(local, "store", arguments("Unsigned"))
    words = command(owner, "--json", "store", "--entities", json.dumps(arguments("Offline")["entities"]))
    variables = environment(local, local.data_path, GRAPHMEM_AGENT_KEY=str(tmp_path / "key.json"))
    subprocess.run(words, env=variables, check=True, capture_output=True)
    written = call_service(local, "observations.query", {})["observations"]
    assert sorted(each["provenance"]["agent"] for each in written) == sorted(
        ["anonymous", *[key.public.thumbprint] * 3]
    )


def test_a_command_that_calls_the_service_imports_no_operations(local: Settings) -> None:
    store(local)
    environ = environment(local, local.data_path, GRAPHMEM_OFFLINE="0", GRAPHMEM_SHUTDOWN_SECONDS="5")
    modules, answer = imported("entities", "list", environ={**environ, "COLUMNS": "120"})
    assert ADA["name"] in answer
    assert not modules & HEAVY


def test_a_data_directory_that_the_system_refuses_is_named(
    local: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.data_path.mkdir()
    with monkeypatch.context() as patch:
        deny(patch, local.data_path)
        with pytest.raises(DataDirectoryRefused, match=str(local.data_path)):
            calling.ensure(local)
    assert store(local)["entities_created"] == 1


def test_each_database_has_a_service_of_its_own(tmp_path: Path) -> None:
    def name(**overrides: object) -> str:
        return place(local_settings(Settings(), tmp_path, **overrides)).name

    names = {
        name(),
        name(neo4j_uri="bolt://a:1"),
        name(neo4j_uri="bolt://b:1"),
        name(neo4j_uri="bolt://a:1", neo4j_database="b"),
    }
    assert len(names) == 4


def test_the_environment_of_the_service_holds_the_settings_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHMEM_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("NEO4J_URI", "bolt://elsewhere:1")
    service_settings = Settings(data_dir=tmp_path, sandbox=True, allowed_hosts=("a", "b")).model_copy(
        update={"neo4j_uri": None}
    )
    environ = calling.environment(service_settings)
    assert {"GRAPHMEM_BASE_URL", "NEO4J_URI"}.isdisjoint(environ)
    for name in set(os.environ) - set(environ):
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert Settings() == service_settings.model_copy(update={"base_url": None})
