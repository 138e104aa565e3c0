"""The backups that graphmem notes: listing, removing the oldest, and saying that one is due."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graphmem.doctor import machine
from graphmem.neo4j_local import backup_record
from graphmem.neo4j_local.backup_record import Backup
from graphmem.settings import Settings, load


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    return load(data_dir=tmp_path / "data")


def made(chosen: Settings, name: str, *owners: str, folder: Path | None = None) -> Backup:
    """Write a file, and note it as a backup."""
    path = (folder or backup_record.folder(chosen)) / name
    path.write_bytes(b"facts")
    return backup_record.note(chosen, path, root="00", owners=owners)


def test_the_oldest_of_the_same_kind_and_folder_are_removed_and_nothing_else(
    chosen: Settings, tmp_path: Path
) -> None:
    names = "1.dump", "2.dump", "3.dump", "4.dump"
    of_one_owner, elsewhere = made(chosen, "owner.dump", "ada"), made(chosen, "0.dump", folder=tmp_path)
    foreign = backup_record.folder(chosen) / "graphmem-20200101T000000Z.dump"
    foreign.write_bytes(b"facts")
    noted = [made(chosen, name) for name in names]
    # One that somebody replaced is not as graphmem wrote it.
    noted[0].file(chosen).write_bytes(b"something else")
    removed = backup_record.remove_oldest(chosen, noted[-1], keep=2)
    assert [path.name for path in removed] == ["2.dump"]
    left = {path.name for path in backup_record.folder(chosen).iterdir()}
    assert left == {"1.dump", "3.dump", "4.dump", "owner.dump", foreign.name}
    there = [each.path for each in backup_record.backups(chosen) if each.is_there(chosen)]
    assert there == ["backups/4.dump", "backups/3.dump", elsewhere.path, of_one_owner.path]


def test_backups_move_with_the_data_directory_and_those_of_a_service_stand_apart(
    chosen: Settings, tmp_path: Path
) -> None:
    remote = chosen.model_copy(update={"base_url": "https://memory.example.org"})
    made(remote, "remote.dump")
    made(chosen, "again.dump")
    own = made(chosen, "again.dump")
    with (chosen.data_path / backup_record.FILE).open("a") as file:
        file.write('{"path": "cut sho')
    assert [each.path for each in backup_record.backups(remote)] == ["backups/remote.dump"]
    assert backup_record.backups(chosen) == [own]
    chosen.data_path.rename(tmp_path / "moved")
    moved = load(data_dir=tmp_path / "moved")
    assert [each.is_there(moved) for each in backup_record.backups(moved)] == [True]


def test_a_backup_is_due_some_days_after_the_last_one_of_all_owners_or_after_the_database_was_made(
    chosen: Settings,
) -> None:
    now = datetime.now(UTC)
    assert backup_record.due_since(chosen, now) is None
    chosen.data_path.mkdir()
    old = (now - timedelta(days=30)).isoformat()
    facts = {"format": 1, "release": "5.26.30", "bolt_port": 1, "http_port": 2, "created_at": old}
    (chosen.data_path / "instance.json").write_text(json.dumps(facts))
    made(chosen, "owner.dump", "ada")
    found = machine.backup(chosen)
    assert (found.status, found.fix) == ("warn", "Run graphmem backup create.")
    assert machine.backup(chosen.model_copy(update={"backup_days": 0})).status == "ok"
    made(chosen, "all.dump")
    assert machine.backup(chosen).status == "ok"
    in_days = now + timedelta(days=7, minutes=1)
    assert backup_record.due_since(chosen, in_days) is not None
