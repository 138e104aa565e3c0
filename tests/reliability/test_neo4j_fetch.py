"""Fetching the engine: only what the lock names, whole or not at all, and clear words for what goes wrong."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from jgo.maven import PythonResolver

from graphmem import neo4j_local
from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import download, engine_jars, jar_list, private_files
from graphmem.settings import Settings
from tests.support.embedded_neo4j import FakeRepository, engine_settings


class TestFetch:
    @pytest.fixture
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRepository:
        """A repository of three jars and the lock that fits it."""
        fake = FakeRepository()
        fake.content = {f"{name}-1.0.jar": name.encode() * 100_000 for name in ("one", "two", "three")}
        (tmp_path / "locks").mkdir()
        fake.lock(tmp_path / "locks")
        monkeypatch.setattr(jar_list, "LOCK_DIRECTORY", tmp_path / "locks")
        monkeypatch.setattr(PythonResolver, "download", lambda self, artifact: fake.download(self, artifact))
        monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
        jar_list.read.cache_clear()
        return fake

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Iterator[Settings]:
        yield engine_settings(tmp_path / "data", cache_dir=tmp_path / "cache", neo4j_version="test")
        jar_list.read.cache_clear()

    def test_fetches_once_and_tells_how_far_it_is(self, repository, settings):
        progress: list[tuple[str, int, int]] = []
        class_path = neo4j_local.fetch(settings, lambda *each: progress.append(each))
        assert [path.name for path in class_path] == ["one-1.0.jar", "three-1.0.jar", "two-1.0.jar"]
        assert progress[-1] == ("Neo4j 1.2.3", 1_100_000, 1_100_000)
        assert [done for _, done, _ in progress] == sorted(done for _, done, _ in progress)
        assert neo4j_local.fetch(settings) == class_path
        assert len(repository.downloads) == 3
        assert stat.S_IMODE(class_path[0].parent.stat().st_mode) == 0o700

    def test_ordinary_start_reads_no_jar(self, repository, settings, monkeypatch):
        neo4j_local.fetch(settings)
        monkeypatch.setattr(private_files, "sha256", lambda path: pytest.fail("it read the jar"))
        neo4j_local.fetch(settings)

    @pytest.mark.parametrize("damage", [b"one" * 50_000, b"eno" * 100_000, None])
    def test_damaged_jar_is_fetched_again_alone(self, repository, settings, damage):
        jar = neo4j_local.fetch(settings)[0]
        (jar.parent / "classes-x.jsa").touch()
        jar.unlink() if damage is None else jar.write_bytes(damage)
        assert neo4j_local.fetch(settings)[0].read_bytes() == repository.content[jar.name]
        assert repository.downloads.count(jar.name) == 2
        assert len(repository.downloads) == 4
        assert not list(jar.parent.glob("*.jsa"))

    def test_damaged_download_is_tried_once_more_then_refused(self, repository, settings):
        repository.content["two-1.0.jar"] = b"owt" * 100_000
        with pytest.raises(EngineFetchFailed, match=r"two-1\.0\.jar arrived with another content"):
            neo4j_local.fetch(settings)
        assert repository.downloads.count("two-1.0.jar") == 2
        assert not (engine_jars.directory(settings) / "two-1.0.jar").exists()
        assert not list(engine_jars.directory(settings).glob(".partial-*"))

    def test_jar_that_is_not_in_the_lock_is_not_on_the_class_path(self, repository, settings):
        neo4j_local.fetch(settings)
        (engine_jars.directory(settings) / "another-1.0.jar").write_bytes(b"x")
        assert "another-1.0.jar" not in {path.name for path in neo4j_local.fetch(settings)}

    def test_no_network(self, repository, settings):
        repository.faults = [requests.ConnectionError("refused")] * 12
        with pytest.raises(EngineFetchFailed, match=r"no connection.*https_proxy") as error:
            neo4j_local.fetch(settings)
        assert "http://" not in str(error.value)

    def test_one_hiccup_of_the_network_is_borne(self, repository, settings):
        repository.faults = [requests.ReadTimeout("slow"), RuntimeError("not found")]
        assert len(neo4j_local.fetch(settings)) == 3

    @pytest.mark.parametrize(
        ("code", "words"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "may not read or write")]
    )
    def test_cache_cannot_be_written(self, repository, settings, code, words):
        repository.faults = [OSError(code, os.strerror(code))] * 3
        with pytest.raises(EngineFetchFailed, match=f"{words}.*GRAPHMEM_CACHE_DIR"):
            neo4j_local.fetch(settings)
        repository.faults = []
        assert len(neo4j_local.fetch(settings)) == 3

    def test_too_little_space_is_said_before(self, repository, settings, monkeypatch):
        usage = type("Usage", (), {"free": 1_000_000})
        monkeypatch.setattr(engine_jars.shutil, "disk_usage", lambda path: usage)
        with pytest.raises(EngineFetchFailed, match=r"needs 1 MB in .* free some space"):
            neo4j_local.fetch(settings)
        assert repository.downloads == []

    def test_what_a_killed_fetch_left_is_cleared(self, repository, settings):
        left = engine_jars.directory(settings) / ".partial-dead" / "one"
        left.mkdir(parents=True)
        (left / "one-1.0.jar").write_bytes(b"on")
        assert neo4j_local.fetch(settings)[0].read_bytes() == repository.content["one-1.0.jar"]
        assert not left.exists()

    def test_another_process_fetches_for_too_long(self, repository, settings, monkeypatch):
        monkeypatch.setattr(engine_jars, "FETCH_LOCK_TIMEOUT_SECONDS", 0.1)
        home = engine_jars.directory(settings)
        home.mkdir(parents=True)
        with (
            engine_jars.filelock.FileLock(f"{home}.lock"),
            pytest.raises(EngineFetchFailed, match="another process has been fetching"),
        ):
            neo4j_local.fetch(settings)


def test_shipped_locks_are_complete_and_name_no_place():
    for version in jar_list.versions():
        read = jar_list.read(version)
        assert read.release.startswith(version)
        assert len({jar.name for jar in read.jars}) == len(read.jars)
        assert {"neo4j", "neo4j-server", "neo4j-browser"} <= {jar.artifact for jar in read.jars}
        assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in read.jars)
        text = (jar_list.LOCK_DIRECTORY / f"engine-{version}.lock.toml").read_text()
        assert not [part for part in ("://", "/home/", "/root/", "/Users/") if part in text]
