"""`graphmem storage merge`, killed at each change of a file, and from the backup of what does not start."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.cli import storage
from graphmem.cli.main import app
from graphmem.neo4j_local import backup_record
from graphmem.settings import Settings, load
from tests.support.commands import environment
from tests.support.dumps import Dumps
from tests.support.faces import Call
from tests.support.kills import is_killed


# Each kill is a restore, a merge, a second merge and a backup, so the ordinary run has a few of them.
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_merge_that_is_killed_loses_nothing_and_the_next_run_goes_on(
    step: int, run: Call, owner: str, dumps: Dumps, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Grace Hopper"}], file_content="QQ==")
    own = dumps.create("own").path
    dumps.wipe()
    run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}], file_content="Qg==")
    theirs = dumps.create("theirs").path
    other = dumps.folder / "other"
    other.mkdir()

    def answer(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        if words[0] == "backup":
            shutil.copyfile(theirs, words[2])
        return subprocess.CompletedProcess(words, 0, '{"running": true}', "")

    monkeypatch.setattr(storage, "_run", answer)
    roots = set[str]()
    for changes in itertools.count(0, step):
        folder = dumps.folder / str(changes)
        where = environment(settings, folder)

        def command(*words: str, where: dict[str, str] = where) -> Any:
            result = CliRunner().invoke(app, ["--json", *words], env=where, catch_exceptions=False)
            assert result.exit_code == 0, result.stderr
            return json.loads(result.stdout)

        dumps.wipe()
        command("backup", "restore", str(own))
        is_over = not is_killed(lambda run=command: run("storage", "merge", str(other)), changes)
        names = {row["canonical_name"] for row in run("entities.query")["entities"]}
        assert "Grace Hopper" in names, changes
        command("storage", "merge", str(other))
        made = command("backup", "create", str(folder / "union.dump"), "--owner", owner)
        assert (made["transactions"], made["files"], made["files_missing"]) == (2, 2, 0), changes
        assert not (folder / storage.FILE).exists()
        roots.add(dumps.root(Path(made["path"])))
        if is_over:
            assert (len(roots), changes > 9, list(other.iterdir())) == (1, True, [])
            return


def test_of_an_instance_that_does_not_start_the_newest_backup_of_all_owners_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHMEM_ENV", "test")
    other = load(data_dir=tmp_path / "other")
    told: list[str] = []
    for name, owners in (("old", ()), ("all", ()), ("one", ("ada",))):
        path = backup_record.folder(other) / f"{name}.dump"
        path.write_text(name)
        backup_record.note(other, path, root="", owners=owners)
    (backup_record.folder(other) / "copied.dump").write_text("of nobody knows what")
    own = load(data_dir=tmp_path / "own")
    with storage.dump_of(other.data_path, own, told.append) as (taken, keys):
        assert (taken.name, keys) == ("all.dump", None)
    assert str(taken) in told[-1]
