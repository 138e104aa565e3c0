"""``graphmem doctor`` on the database and what is around it: each is broken, and named with what to do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem import __version__, auth, runtime
from graphmem import settings as graphmem_settings
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.database import migrations
from graphmem.database.driver import Database
from graphmem.doctor import database
from graphmem.embedding.model_service import RemoteEmbedder
from graphmem.errors import DatabaseTimeout
from graphmem.settings import Settings
from graphmem.worker import claim
from tests.support import onnx_folder
from tests.support.actors import full_actor
from tests.support.commands import environment
from tests.support.doctor import SECRET, Examine, failed_findings
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.killed_services import until
from tests.support.language_model import running_language_model
from tests.support.sealed_database import of_client
from tests.support.service import Service, free_port


def test_a_sound_installation_fails_nowhere(look: Examine) -> None:
    findings = look()
    assert [finding for finding in findings if finding.status == "fail"] == []
    checks = {finding.check for finding in findings}
    assert checks >= {
        "versions", "settings", "access", "data directory", "disk", "database", "schema", "indexes", "memory",
        "clock", "vectors", "consistency", "embedding", "language model", "service",
    }  # fmt: skip


# The database


def test_a_database_that_does_not_answer_fails(look: Examine) -> None:
    findings = look(neo4j_uri=f"bolt://127.0.0.1:{free_port()}", retry_seconds=1)
    assert failed_findings(findings, "database")[0][0] == "fail"
    assert "schema" not in {finding.check for finding in findings}


def test_a_wrong_password_fails_and_is_not_shown(look: Examine) -> None:
    findings = look(neo4j_password=SECRET)
    assert "refuses the user" in str(failed_findings(findings, "database"))
    assert SECRET not in str(findings)


def test_an_address_that_is_none_fails_and_its_secrets_are_not_shown(look: Examine) -> None:
    findings = look(neo4j_uri=f"ftp://me:{SECRET}@127.0.0.1")
    assert failed_findings(findings, "settings")[0][0] == "fail"
    assert SECRET not in str(findings)


def test_a_database_that_is_too_old_fails(look: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Database.script
    version = "4.4.1"

    async def script(self: Database, text: Any, /, **params: Any) -> list[dict[str, Any]]:
        if "dbms.components" in text:
            return [{"version": version, "edition": "community"}]
        return await real(self, text, **params)

    monkeypatch.setattr(Database, "script", script)
    assert failed_findings(look(), "database") == [("fail", "Neo4j 4.4.1 community answers: it is too old")]
    version = "2025.04.0"
    assert failed_findings(look(), "database")[0][0] == "warn"


@pytest.mark.parametrize(("ahead", "status"), [(10, "warn"), (-3_600, "fail")])
def test_clocks_that_differ_are_told(
    look: Examine, monkeypatch: pytest.MonkeyPatch, ahead: int, status: str
) -> None:
    real = time.time

    class Clock:
        time = staticmethod(lambda: real() + ahead)

    monkeypatch.setattr(database, "time", Clock)
    assert failed_findings(look(), "clock")[0][0] == status


def test_a_query_that_may_take_all_memory_is_told(look: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Database.script

    async def script(self: Database, text: Any, /, **params: Any) -> list[dict[str, Any]]:
        rows = await real(self, text, **params)
        if "SHOW SETTINGS" in text:
            assert {"name": "db.memory.transaction.max", "value": "128.00MiB"} in rows
            return [{"name": "db.memory.transaction.max", "value": "0B"}]
        return rows

    monkeypatch.setattr(Database, "script", script)
    assert "one query can use all of it" in str(failed_findings(look(), "memory"))


# Vectors and services


@contextlib.contextmanager
def program(answer: Callable[[str], tuple[int, bytes]]) -> Iterator[str]:
    """Run a program that answers each path with a status and a body; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a program that answers everything with 200 and a word."""
    with program(lambda path: (200, b'"hi"')) as address:
        yield address


def test_a_model_that_is_not_the_databases_is_told_and_one_that_is_away_fails(
    look: Examine, loop: Loop, services: Services, silent: str
) -> None:
    (row,) = loop.run(services.database.script("MATCH (n:Model {use: 'meaning'}) RETURN count(n) AS n"))
    findings = look(embedding_url=f"http://me:{SECRET}@127.0.0.1:{free_port()}/v1", embedding_timeout=2)
    assert failed_findings(findings, "embedding")[0][0] == "fail"
    if row["n"]:
        assert "text-embedding-3-small" in str(failed_findings(findings, "vectors"))
    assert SECRET not in str(findings)
    assert "something else than vectors" in str(failed_findings(look(embedding_url=silent), "embedding"))


def test_a_model_of_the_settings_that_the_database_uses_is_no_other_one(
    look: Examine, loop: Loop, services: Services
) -> None:
    address = f"http://127.0.0.1:{free_port()}/v1"
    settings = graphmem_settings.load(embedding_url=address)
    embedder = RemoteEmbedder(settings)
    try:
        loop.run(claim(replace(services, embedder=embedder)))
        findings = look(embedding_url=address, embedding_timeout=1)
        assert "these settings say" not in str(failed_findings(findings, "vectors"))
    finally:
        loop.run(claim(services))
        loop.run(embedder.close())


def test_a_model_in_a_folder_is_named_and_one_that_is_not_here_is_not_fetched(
    look: Examine, loop: Loop, services: Services, tmp_path: Path
) -> None:
    pytest.importorskip("fastembed", reason="needs pip install 'graphmem[fastembed]'")
    folder = onnx_folder.make(tmp_path / "words")
    (found,) = [each for each in look(embedder=f"fastembed:{folder}") if each.check == "embedding"]
    assert (found.status, found.what) == ("ok", f"fastembed:{folder} makes vectors")
    loop.run(claim(services))
    findings = look(embedder=f"fastembed:{folder}")
    assert "'fastembed words " in str(failed_findings(findings, "vectors"))
    findings = look(embedder="fastembed:BAAI/bge-small-en-v1.5", cache_dir=tmp_path)
    ((status, what),) = failed_findings(findings, "embedding")
    assert (status, "GRAPHMEM_OFFLINE" in what) == ("fail", True)


def test_a_language_model_that_reads_nothing_fails_and_its_key_is_not_shown(look: Examine) -> None:
    with running_language_model() as model:
        options = {"llm_url": model.url, "llm_model": "reader-1", "llm_key": SECRET}
        assert failed_findings(look(**options), "language model") == []
        model.statuses = [401]
        ((status, what),) = failed_findings(look(**options), "language model")
    assert (status, "answers 401" in what) == ("fail", True)
    assert SECRET not in what


def test_a_service_is_found_with_its_version(look: Examine, service: Service) -> None:
    port = int(service.url.rpartition(":")[2])
    assert failed_findings(look(port=port), "service") == []

    def message() -> str:
        return next(finding.what for finding in look(base_url=service.url) if finding.check == "service")

    # A service is not ready while its database is busy: see the test of one that is not ready.
    until(lambda: message().endswith(service.url))


def test_a_service_that_is_away_or_another_program_fails(look: Examine, silent: str) -> None:
    assert "none answers" in str(failed_findings(look(base_url=f"http://127.0.0.1:{free_port()}"), "service"))
    assert "another program" in str(failed_findings(look(port=int(silent.rpartition(":")[2])), "service"))
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        assert failed_findings(look(port=mute.getsockname()[1]), "service") == []


def test_a_service_that_is_not_ready_fails(look: Examine) -> None:
    about = json.dumps({"name": "graphmem", "version": __version__}).encode()
    with program(lambda path: (200, about) if path == "/server-info" else (503, b"{}")) as address:
        ((status, message),) = failed_findings(look(base_url=address), "service")
    assert (status, f"the service at {address} is not ready (503)" in message) == ("fail", True)


def test_a_service_of_another_version_is_told(
    look: Examine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.doctor.around.__version__", "9.9.9")
    assert failed_findings(look(base_url=service.url), "service")[0][0] == "warn"


# The command


def test_the_command_prints_for_people_and_programs_and_says_by_its_exit_code(
    settings: Settings, tmp_path: Path, run: Call
) -> None:
    where = environment(settings, tmp_path / "data")
    where |= {"GRAPHMEM_PROT": SECRET, "GRAPHMEM_PORT": str(free_port())}
    people = CliRunner().invoke(app, ["doctor"], env=where)
    assert (people.exit_code, people.stderr) == (0, "")
    assert "Rename it to GRAPHMEM_PORT" in " ".join(people.stdout.split())
    password = settings.neo4j_password.get_secret_value()
    assert password not in people.stdout
    assert not (tmp_path / "data").exists()
    down = where | {"NEO4J_URI": f"bolt://127.0.0.1:{free_port()}"}
    programs = CliRunner().invoke(app, ["doctor", "--json"], env=down)
    answer = json.loads(programs.stdout)
    assert (programs.exit_code, programs.stderr, answer["ok"]) == (1, "", False)
    assert {finding["status"] for finding in answer["findings"] if finding["check"] == "database"} == {"fail"}
    assert all(set(finding) == {"check", "status", "what", "fix"} for finding in answer["findings"])
    assert password not in programs.stdout


def test_deep_compares_what_is_derived(
    look: Examine, run: Call, owner: str, loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "local_actor", lambda client: full_actor(owner, client))
    # Looking starts and migrates nothing.
    monkeypatch.setattr(runtime, "connection", lambda *_: pytest.fail("it was to be started"))
    monkeypatch.setattr(migrations, "apply", lambda *_: pytest.fail("it was to be migrated"))
    answer = run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    assert failed_findings(look(deep=True), "consistency") == []
    broken = "MATCH (n:Entity {id: $id}) SET n.canonical_name = 'Eve'"
    loop.run(services.database.script(broken, id=answer["entities"][0]["entity_id"]))
    findings = look(deep=True)
    assert failed_findings(findings, "consistency")[0][0] == "fail"
    assert "Run graphmem rebuild." in [finding.fix for finding in findings]


def test_a_comparison_that_is_broken_off_is_a_finding(look: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise DatabaseTimeout

    monkeypatch.setattr("graphmem.reading.snapshot_check.audit", fail)
    findings = look(deep=True)
    assert [status for status, _ in failed_findings(findings, "consistency")] == ["fail"]
    assert "did not answer in time" in str(findings)
    assert {"schema", "embedding", "service"} <= {finding.check for finding in findings}


# The status, and a backup over HTTP


def test_the_status_and_a_backup_are_the_same_over_the_socket_and_over_http(
    settings: Settings, service: Service, tmp_path: Path
) -> None:
    with service.http() as http:
        person = {"entity_type": "person", "name": "Ada Lovelace"}
        http.post("/store", json={"entities": [person]}).raise_for_status()
    where = environment(settings, service.folder, GRAPHMEM_OFFLINE="0")
    seen: list[dict[str, Any]] = []
    remote = where | of_client(settings)
    for words, env in (([], where), (["--base-url", service.url], remote)):
        result = CliRunner().invoke(app, [*words, "status", "--json"], env=env)
        assert result.exit_code == 0, result.stderr
        seen.append(json.loads(result.stdout))
    for found in seen:
        assert (found["service"]["running"], found["database"]["running"]) == (True, True)
        assert found["stored"]["entities"] >= 1
        assert found["last_write"]["at"]
        assert found["waiting"] is not None
    assert seen[0]["service"]["pid"] == service.process.pid
    for words, env in (([], where), (["--base-url", service.url], remote)):
        # Both sign with the key of an agent, and there is no such key.
        no_key = {**env, "GRAPHMEM_AGENT_KEY": str(tmp_path / "none.json")}
        result = CliRunner().invoke(app, [*words, "status", "--json"], env=no_key)
        assert "CREDENTIALS_REFUSED" in result.stdout + result.stderr
    people = CliRunner().invoke(app, ["status"], env=where).stdout
    assert f"process {service.process.pid}" in people
    words = ["--base-url", service.url, "backup", "create", str(tmp_path), "--owner", service.owner, "--json"]
    result = CliRunner().invoke(app, words, env=remote)
    assert result.exit_code == 0, result.stderr
    made = json.loads(result.stdout)
    assert (made["owners"], Path(made["path"]).parent) == (1, tmp_path)
    listed = CliRunner().invoke(app, ["--base-url", service.url, "backup", "list", "--json"], env=remote)
    assert [each["path"] for each in json.loads(listed.stdout)["backups"]] == [made["path"]]
    words = ["--base-url", service.url, "backup", "create", str(tmp_path / "no.dump"), "--owner", "nobody"]
    assert "DUMP_REFUSED" in CliRunner().invoke(app, words, env=remote).stderr
    assert [path.name for path in tmp_path.iterdir()] == [Path(made["path"]).name]


def test_the_status_of_nothing_starts_nothing_and_says_what_is_wrong(tmp_path: Path) -> None:
    where = {"GRAPHMEM_DATA_DIR": str(tmp_path / "data"), "GRAPHMEM_ENV": "test", "GRAPHMEM_PROT": "1"}
    found = json.loads(CliRunner().invoke(app, ["status", "--json"], env=where).stdout)
    assert (found["service"], found["database"]["running"]) == ({"running": False}, False)
    assert [problem["check"] for problem in found["problems"]] == ["settings"]
    assert not (tmp_path / "data").exists()
    away = ["--base-url", f"http://127.0.0.1:{free_port()}", "status"]
    people = CliRunner().invoke(app, away, env=where)
    assert (people.exit_code, "SERVICE_UNREACHABLE" in people.stdout) == (0, True), people.stdout
