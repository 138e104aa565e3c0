"""`graphmem encryption enable` and `disable`: the same data in another directory, with nothing lost."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.cli import instance_conversion
from graphmem.cli.instance_conversion import other_directory
from graphmem.cli.instance_files import KEPT, end_move, replace
from graphmem.cli.main import app
from graphmem.environment_file import NOTE, directory
from graphmem.neo4j_local.unfinished import UNFINISHED, refuse_unfinished
from graphmem.settings import KEY_FILE, load
from tests.support.kills import is_killed

CANARY = "zephyrquartz"


def silent(line: str) -> None:
    """Tell nobody."""


def test_a_change_of_directories_that_is_killed_goes_on_and_backups_stay(tmp_path: Path) -> None:
    old_files = {"instance.json": "old", "neo4j/data/store": "a", "objects/ab/abc": "file"}
    kept = {"backups/one.dump": "dump", "backups.jsonl": "{}", KEY_FILE: "keys"}
    for changes in itertools.count():
        old, new = tmp_path / str(changes) / "old", tmp_path / str(changes) / "new"
        for root, files in ((old, old_files | kept), (new, {"instance.json": "new"})):
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
        is_over = not is_killed(
            lambda old=old, new=new: replace(old, new, "encryption enable", silent), changes
        )
        in_use = directory(old, "test")
        if in_use == old:
            path = other_directory(load(env="test", data_dir=old), new, "sealed")
            refuse_unfinished(path)
            assert {name: (old / name).read_text() for name in old_files | kept} == old_files | kept
            replace(old, new, "encryption enable", silent)
        else:
            refuse_unfinished(in_use)
            assert end_move(in_use, silent) is not is_over
        assert directory(old, "test") == new
        assert {path.name for path in old.iterdir()} - {NOTE} == {name.split("/")[0] for name in kept} <= KEPT
        assert not (new / UNFINISHED).exists()
        assert not end_move(new, silent)
        if is_over:
            assert changes > 5
            return


@pytest.mark.parametrize("names", ["it", "inside", "a way"])
def test_a_directory_that_cannot_take_the_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    monkeypatch.setenv("GRAPHMEM_ROOT_KEY_DIR", str(tmp_path / "root-keys"))
    data, other = tmp_path / "data", tmp_path / "other"
    other.mkdir()
    (other / NOTE).write_text(f"{data}\n")
    target = {"it": data, "inside": data / "sealed", "a way": other}[names]
    words = ["--offline", "--json", "--data-dir", str(data), "encryption", "enable", str(target)]
    refused = CliRunner().invoke(app, words)
    assert json.loads(refused.stderr.splitlines()[-1])["error_code"] == "DATA_DIRECTORY_REFUSED"
    assert not (data / KEY_FILE).exists()
    assert not (tmp_path / "root-keys").exists()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_an_instance_is_sealed_and_unsealed_and_holds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHMEM_ROOT_KEY_DIR", str(tmp_path / "root-keys"))
    monkeypatch.setenv("GRAPHMEM_NEO4J_FAST_START", "true")
    data = tmp_path / "data"

    def command(*words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, ["--offline", "--json", "--data-dir", str(data), *words])
        assert done.exit_code == code, (done.output, done.exception)
        return json.loads((done.stdout if code == 0 else done.stderr).splitlines()[-1])

    (tmp_path / "note.txt").write_text(f"The {CANARY} sings.")
    person = {"entity_type": "person", "name": f"Ada {CANARY}", "email": f"{CANARY}@example.org"}
    try:
        stored = command("store", "--entities", json.dumps([person]), "--file", str(tmp_path / "note.txt"))
        snapshot = command("entities", "get", stored["entities"][0]["entity_id"])

        # What another program stores meanwhile is found missing, and the data stays where it is.
        restore = instance_conversion._restore

        def store_meanwhile(chosen: Any, target: Any) -> None:
            restore(chosen, target)
            command("store", "--entities", json.dumps([{"entity_type": "note", "title": CANARY}]))

        with monkeypatch.context() as patched:
            patched.setattr(instance_conversion, "_restore", store_meanwhile)
            assert command("encryption", "enable", code=6)["error_code"] == "DATA_DIRECTORY_REFUSED"
        assert directory(data, "development") == data

        # Again, it goes on: what is there already is known.
        done = command("encryption", "enable")
        sealed = Path(done["data_directory"])
        assert done["replaces"] == str(data)
        assert command("encryption", "status")["sealed"]
        assert command("entities", "get", snapshot["entity_id"]) == snapshot
        command("db", "stop")
        for folder in (data, sealed):
            for path in folder.rglob("*"):
                assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path

        done = command("encryption", "disable")
        assert not command("encryption", "status")["sealed"]
        assert command("entities", "get", snapshot["entity_id"]) == snapshot
        assert (sealed / KEY_FILE).exists()
        assert directory(data, "development") == Path(done["data_directory"])
    finally:
        for folder in (data, tmp_path / "data-sealed", tmp_path / "data-sealed-clear"):
            CliRunner().invoke(app, ["--data-dir", str(folder), "db", "stop"])
