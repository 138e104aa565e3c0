"""Files that are read and then written keep what two processes write into them at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem import environment_file
from graphmem.cli import initializing
from graphmem.cli.agents import config_files, kept_files
from graphmem.cli.agents.config_files import FileChange
from graphmem.cli.initializing import Choices
from graphmem.cli.session import Session
from graphmem.errors import ConfigurationInvalid
from graphmem.neo4j_local import private_files
from graphmem.sealing import InstanceKeys, RootKey, instance_keys

Beside = Callable[[Any, str, Callable[[], object]], threading.Thread]
PATIENCE_SECONDS = 0.3
"""Seconds that one writer gives the other: a lock has the other wait for longer."""


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Beside:
    """Have another writer begin, and end if it can, at the next call of a function of a module."""

    def begin(module: Any, name: str, write: Callable[[], object]) -> threading.Thread:
        other, real = threading.Thread(target=write), getattr(module, name)

        def called(*given: Any) -> Any:
            answer = real(*given) if name == "kept" else None
            if other.ident is None:
                other.start()
                other.join(PATIENCE_SECONDS)
            return real(*given) if name != "kept" else answer

        monkeypatch.setattr(module, name, called)
        return other

    return begin


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data directory."""
    for module in (kept_files, config_files):
        monkeypatch.setattr(module, "data_folder", lambda: tmp_path)
    return tmp_path


def test_members_that_two_processes_keep_are_both_kept(folder: Path, beside: Beside) -> None:
    other = beside(kept_files, "kept", lambda: kept_files.keep("a.json", "theirs", 2))
    kept_files.keep("a.json", "ours", 1)
    other.join()
    assert kept_files.kept("a.json") == {"ours": 1, "theirs": 2}


def test_a_file_that_two_processes_change_is_changed_by_one(folder: Path, beside: Beside) -> None:
    path, refused = folder / "settings.json", list[Exception]()

    def change(text: str) -> None:
        try:
            config_files.apply(FileChange(path, None, text, {"hash": text}))
        except ConfigurationInvalid as exc:
            refused.append(exc)

    other = beside(config_files, "keep", lambda: change("theirs"))
    change("ours")
    other.join()
    assert (path.read_text(), len(refused)) == ("ours", 1)
    assert kept_files.kept(config_files.RECORDS) == {str(path): {"hash": "ours"}}


def test_of_two_processes_that_seal_an_instance_one_makes_its_keys(tmp_path: Path, beside: Beside) -> None:
    path, roots, refused = tmp_path / "keys.json", [RootKey.new(), RootKey.new()], list[Exception]()

    def create(root: RootKey) -> None:
        try:
            InstanceKeys.create(path, root)
        except ConfigurationInvalid as exc:
            refused.append(exc)

    other = beside(instance_keys, "write_private", lambda: create(roots[1]))
    create(roots[0])
    other.join()
    assert len(refused) == 1
    assert instance_keys.read_record(path).root_key == roots[0].id


def test_an_init_keeps_the_database_that_another_one_chose_meanwhile(
    tmp_path: Path, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initializing, "_on_database", lambda *_: None)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    session = Session(overrides={"env": "test", "data_dir": tmp_path})
    theirs = Choices(database="bolt://theirs:7687", login={"neo4j_password": "secret"})
    other = beside(private_files, "write_private", lambda: initializing._database(session, theirs))
    initializing._database(session, Choices())
    other.join()
    assert environment_file.read(tmp_path)["NEO4J_URI"] == "bolt://theirs:7687"
