"""Moving and resetting an instance, killed at each change of a file: nothing is lost, a new run goes on."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphmem.cli import instance_files
from graphmem.cli.instance_files import LOCAL, move
from graphmem.cli.main import app
from graphmem.doctor.machine import data_directory
from graphmem.environment_file import FILE, NOTE, directory
from graphmem.errors import DataDirectoryRefused
from graphmem.neo4j_local.unfinished import UNFINISHED, refuse_unfinished
from graphmem.settings import load
from tests.setup.conftest import Run
from tests.support.kills import is_killed
from tests.support.power import PowerDisk, power_disk

FILES = {
    "instance.json": "{}", FILE: "GRAPHMEM_PORT=4001\n", "neo4j/data/databases/neo4j/store": "a" * 5000,
    "neo4j/data/databases/neo4j/empty": "", "neo4j/password": "secret", "objects/local/ab/abc": "file",
    "backups/one.dump": "dump", "logs/graphmem.log": "{}\n",
}  # fmt: skip
LOCALS = {"service/embedded.lock": "{}", "neo4j.lock": "", "stopped": ""}


def make(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def content(root: Path) -> dict[str, str]:
    """Return the files of a data directory that are data."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {
        str(name): path.read_text()
        for path in found
        if (name := path.relative_to(root)).parts[0] not in LOCAL and not path.name.startswith(".")
    }


def silent(line: str) -> None:
    """Tell nobody."""


def killed_moves(base: Path, start: str, disk: PowerDisk | None = None) -> int:
    """Move from ``old`` to ``new``, killed at each change in turn; return how many changes there were.

    ``start``: the directory that everybody names. ``disk``: the disk of ``base``, whose power is cut too.
    """
    for changes in itertools.count():
        root = base / str(changes)
        old, new = root / "old", root / "new"
        make(old, FILES | LOCALS)
        if start == "new":
            make(new, {NOTE: str(old), **LOCALS})
        if disk is not None:
            disk.flush()
        is_over = not is_killed(lambda old=old, new=new: move(old, new, silent), changes)
        if disk is not None:
            disk.cut()
            disk.restart()
        in_use = directory(root / start, "test")
        refuse_unfinished(in_use)
        assert content(in_use) == FILES, changes
        # Whoever uses the instance meanwhile changes it.
        more = {"neo4j/data/databases/neo4j/store": "b" * 5000, "objects/local/ab/new": "new"}
        make(in_use, more)
        (in_use / "neo4j/data/databases/neo4j/empty").unlink()
        if not is_over:
            move(in_use, new, silent)
        expected = FILES | more
        del expected["neo4j/data/databases/neo4j/empty"]
        assert (content(new), content(old)) == (expected, {}), changes
        assert {directory(root / name, "test") for name in ("old", "new")} == {new}
        assert not (new / UNFINISHED).exists()
        refuse_unfinished(new)
        with pytest.raises(DataDirectoryRefused, match="moved"):
            refuse_unfinished(old)
        if is_over:
            return changes
    raise AssertionError


def test_a_move_that_is_killed_leaves_one_whole_and_goes_on(tmp_path: Path) -> None:
    assert killed_moves(tmp_path, "old") > 20


def test_a_move_back_to_where_a_note_leads_away_does_too(tmp_path: Path) -> None:
    assert killed_moves(tmp_path, "new") > 20


# Each change is a cut, and mounts the disk again.
@pytest.mark.long
@pytest.mark.parametrize("start", ["old", "new"])
def test_a_move_in_which_the_power_is_cut_leaves_one_whole_and_goes_on(tmp_path: Path, start: str) -> None:
    with power_disk(tmp_path, 64) as disk:
        assert killed_moves(disk.folder, start, disk) > 20


def test_a_copy_that_is_not_whole_is_never_opened(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    make(old, FILES)
    assert is_killed(lambda: move(old, new, silent), 8)
    with pytest.raises(DataDirectoryRefused, match="storage move"):
        refuse_unfinished(new)
    new.chmod(0o700)
    (finding,) = data_directory(load(data_dir=new))  # pyright: ignore[reportGeneralTypeIssues]
    assert (finding.status, "storage move" in finding.fix) == ("fail", True)


def test_a_copy_that_differs_and_a_directory_with_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    make(old, FILES)
    (old / "objects" / "elsewhere").symlink_to("local")
    for target in (old, old / "neo4j"):
        with pytest.raises(DataDirectoryRefused):
            move(old, target, silent)
    make(new, {"mine": "x"})
    with pytest.raises(DataDirectoryRefused, match="not empty"):
        move(old, new, silent)
    (new / "mine").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(instance_files, "copy_file", lambda source, target: target.write_text("wrong"))
        with pytest.raises(DataDirectoryRefused, match="differs"):
            move(old, new, silent)
    assert directory(old, "test") == old
    move(old, new, silent)
    assert content(new)["objects/local/ab/abc"] == "file"
    assert os.readlink(new / "objects" / "elsewhere") == str(old / "objects" / "local")


@pytest.fixture
def instance(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Make the n-th instance, which commands find by the environment. None of them has a server."""
    monkeypatch.setattr(instance_files, "stopped", lambda chosen: contextlib.nullcontext())

    def made(number: int) -> Path:
        root = home / str(number) / "notes"
        make(root, {**FILES, "backups.jsonl": "{}\n"} | LOCALS)
        (root / "instance.json").unlink()
        monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(root))
        return root

    return made


@pytest.mark.parametrize("kept", [(), (FILE,)])
def test_a_reset_that_is_killed_goes_on_and_nothing_half_is_opened(
    instance: Callable[[int], Path], kept: tuple[str, ...]
) -> None:
    words = ["reset", "--no-backup", "--confirm", "notes", *(["--keep-settings"] if kept else [])]
    # What is kept changes little, so every third kill is enough of it.
    for changes in itertools.count(step=3 if kept else 1):
        root = instance(changes)
        before = content(root)

        def run(*words: str) -> None:
            result = CliRunner().invoke(app, list(words), catch_exceptions=False)
            assert result.exit_code == 0, result.output

        is_over = not is_killed(lambda run=run: run(*words), changes)
        if not is_over:
            if content(root) == before and not (root / UNFINISHED).exists():
                refuse_unfinished(root)
            else:
                with pytest.raises(DataDirectoryRefused, match="graphmem reset"):
                    refuse_unfinished(root)
            run(*(words if not (root / UNFINISHED).exists() else ["reset"]))
        assert set(content(root)) == {"backups/one.dump", "backups.jsonl", *kept}, changes
        assert not (root / UNFINISHED).exists()
        if is_over:
            assert changes > 10
            return


def test_a_reset_says_what_goes_and_asks_for_the_name(instance: Callable[[int], Path], run: Run) -> None:
    root = instance(0)
    before = content(root)
    for words in ((), ("--confirm", "other", "--yes"), ("--confirm", "")):
        result = run("reset", "--no-backup", *words)
        assert (result.exit_code, "--confirm notes" in " ".join(result.stderr.split())) == (6, True)
        assert all(word in result.stderr for word in ("database", "logs", "files"))
    assert content(root) == before
    assert json.loads(run("reset", "--no-backup", "--yes", "--json").stdout)["backup"] is None
    assert run("reset", "--yes").exit_code == 6


def test_a_backup_that_fails_stops_a_reset(
    instance: Callable[[int], Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = instance(0)
    before = content(root)
    monkeypatch.setenv("GRAPHMEM_NEO4J_VERSION", "0.1")
    result = run("reset", "--yes")
    assert (result.exit_code, "--no-backup" in result.stderr) == (6, True)
    after = content(root)
    assert all(after[name] == before[name] for name in before if not name.startswith("logs"))


def test_a_database_of_others_is_not_reset(
    instance: Callable[[int], Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance(0)
    monkeypatch.setenv("NEO4J_URI", "bolt://db.example.org:7687")
    assert "empty it there" in " ".join(run("reset", "--yes").stderr.split())
