"""``graphmem backup``, as people and programs run it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.dump import create
from graphmem.dump.container import DumpWriter
from graphmem.errors import DumpRefused
from graphmem.neo4j_local.private_files import new_file
from graphmem.settings import Settings
from tests.support.commands import environment
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.permissions import deny

Command = Callable[..., Result]


@pytest.fixture
def command(settings: Settings) -> Command:
    """Run a command as a person would."""
    variables = environment(settings, settings.data_path)

    def run(*words: str | Path, **more: str) -> Result:
        return CliRunner().invoke(app, ["backup", *map(str, words)], env={**variables, **more})

    return run


@pytest.fixture
def dumped(command: Command, run: Call, owner: str, tmp_path: Path) -> Path:
    """A dump of one person."""
    run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}], idempotency_key="k")
    path = tmp_path / "a.dump"
    made = command("create", path, "--owner", owner, "--json")
    assert made.exit_code == 0, made.stderr
    return path


def test_a_dump_is_made_verified_and_restored(
    command: Command, run: Call, owner: str, dumped: Path, dumps: Dumps
) -> None:
    verified = json.loads(command("verify", dumped, "--json").stdout)
    assert (verified["owners"], verified["transactions"], verified["observations"]) == (1, 1, 1)
    assert verified["bytes"] == dumped.stat().st_size
    dumps.wipe()
    planned = json.loads(command("restore", dumped, "--dry-run", "--json").stdout)
    assert (planned["dry_run"], planned["observations"]) == (True, 1)
    assert run("server.stats")["total_entities"] == 0
    restored = json.loads(command("restore", dumped, "--json").stdout)
    assert (restored["observations"], restored["conflicts"], restored["root"]) == (1, 0, verified["root"])
    assert run("server.stats")["total_entities"] == 1


def test_a_directory_gets_a_dated_file(command: Command, run: Call, owner: str, tmp_path: Path) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}])
    made = json.loads(command("create", tmp_path, "--owner", owner, "--json").stdout)
    assert [str(path) for path in tmp_path.iterdir()] == [made["path"]]
    assert made["path"].endswith("Z.dump")


def test_people_see_bars_and_a_table(command: Command, owner: str, dumped: Path) -> None:
    made = command("create", dumped, "--owner", owner, "--force")
    assert made.exit_code == 0
    assert "observations" in made.stderr
    assert "root" in made.stdout
    assert "verify" in command("verify", dumped).stderr
    assert "known_observations" in command("restore", dumped).stdout


def test_a_file_that_is_there_is_not_replaced(command: Command, owner: str, dumped: Path) -> None:
    before = dumped.read_bytes()
    refused = command("create", dumped, "--owner", owner, "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stderr.splitlines()[-1])["error_code"] == "DUMP_REFUSED"
    assert "--force" in refused.stderr
    assert dumped.read_bytes() == before


def test_a_dump_is_not_replaced_by_one_of_nothing(
    command: Command, settings: Settings, dumped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(database: Any) -> AsyncIterator[str]:
        for name in ():
            yield name

    monkeypatch.setattr(Database, "owners", nobody)
    before = dumped.read_bytes()
    refused = command("create", dumped, "--force", "--json")
    envelope = json.loads(refused.stderr.splitlines()[-1])
    assert (refused.exit_code, envelope["error_code"]) == (2, "DUMP_REFUSED")
    assert "NEO4J_URI" in envelope["message"]
    assert (dumped.read_bytes(), list(tmp_path.iterdir())) == (before, [dumped])
    assert command("create", tmp_path / "new.dump", "--force").exit_code == 0


def test_what_a_killed_backup_left_is_removed_by_the_next(
    command: Command, owner: str, dumped: Path, tmp_path: Path
) -> None:
    left = {
        ".a.dump.0123abcd": False,
        ".a.dump.0123abcdef": True,
        ".b.dump.0123abcd": True,
        "a.dump.0123abcd": True,
    }
    for name in left:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".a.dump.00000000").touch()
    assert command("create", dumped, "--owner", owner, "--force").exit_code == 0
    kept = {name for name, kept in left.items() if kept} | {".a.dump.00000000", "a.dump"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_damage_is_told_with_where_it_is(command: Command, dumped: Path) -> None:
    data = bytearray(dumped.read_bytes())
    data[len(data) // 2] ^= 4
    dumped.write_bytes(data)
    for words in (("verify", dumped), ("restore", dumped)):
        refused = command(*words, "--json")
        assert refused.exit_code == 2
        envelope = json.loads(refused.stderr.splitlines()[-1])
        assert envelope["error_code"] == "DUMP_DAMAGED"
        assert envelope["details"]["byte"] > 0


def test_what_is_no_file_is_told(command: Command, tmp_path: Path) -> None:
    refused = command("verify", tmp_path / "nowhere", "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stderr.splitlines()[-1])["error_code"] == "DUMP_REFUSED"


@pytest.mark.parametrize("words", [("create",), ("verify",), ("restore",), ("restore", "--dry-run")])
@pytest.mark.parametrize("name", ["hidden/a.dump", "hidden", f"{'x' * 300}.dump"])
def test_a_path_that_cannot_be_used_is_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str
) -> None:
    (tmp_path / "hidden").mkdir()
    with monkeypatch.context() as patch:
        deny(patch, tmp_path / "hidden")
        refused = command(*words, tmp_path / name, "--json")
    envelope = json.loads(refused.stderr.splitlines()[-1])
    assert (refused.exit_code, refused.stdout, envelope["error_code"]) == (2, "", "DUMP_REFUSED")
    assert str(tmp_path / name) in envelope["message"]


def test_conflicts_are_listed_and_exit_with_5(
    command: Command, dumped: Path, dumps: Dumps, loop: Loop, services: Services
) -> None:
    change = "MATCH (o:Observation) WHERE o.owner = $o SET o.priority = 1.0"
    loop.run(services.database.script(change, o=dumps.owner))
    restored = command("restore", dumped, "--json")
    assert restored.exit_code == 5
    assert json.loads(restored.stdout)["conflicts"] == 1
    envelope = json.loads(restored.stderr.splitlines()[-1])
    assert envelope["error_code"] == "DUMP_CONFLICTS"
    (conflict,) = envelope["details"]["conflicts"]
    assert (conflict["here"], conflict["dump"]) == ({"priority": 1.0}, {"priority": 100.0})
    assert "with other content" in " ".join(command("restore", dumped).stderr.split())


def test_a_restore_refuses_the_address_of_a_service(command: Command, dumped: Path) -> None:
    refused = command("restore", dumped, GRAPHMEM_BASE_URL="http://127.0.0.1:1")
    assert refused.exit_code == 6
    assert "run it there" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_appears_while_a_dump_is_made_is_not_replaced(
    run: Call,
    owner: str,
    tmp_path: Path,
    loop: Loop,
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    has_links: bool,
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", Mock(side_effect=PermissionError))
    run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}])
    path = tmp_path / "a.dump"

    def write_meanwhile(stage: str, done: int, total: int | None) -> None:
        path.write_text("of another process")

    with pytest.raises(DumpRefused, match="was created meanwhile"):
        loop.run(create(services.database, path, [owner], objects=None, progress=write_meanwhile))
    assert [file.read_text() for file in tmp_path.iterdir()] == ["of another process"]


def test_of_two_dumps_with_one_name_the_first_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.dump"

    def both() -> None:
        with (
            new_file(path, False, DumpRefused) as later,
            new_file(path, False, DumpRefused) as earlier,
        ):
            earlier.write(b"earlier")
            later.write(b"later")

    # Each looks for the file before the other one has its name.
    monkeypatch.setattr(Path, "exists", lambda _: False)
    with pytest.raises(DumpRefused, match="was created meanwhile"):
        both()
    monkeypatch.undo()
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"earlier"]


def test_a_dump_is_compressed_beside_the_event_loop(
    run: Call, owner: str, tmp_path: Path, loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}])
    threads, add = [], DumpWriter.add

    def noted(writer: DumpWriter, record: bytes) -> None:
        threads.append(threading.current_thread())
        add(writer, record)

    async def make() -> threading.Thread:
        await create(services.database, tmp_path / "a.dump", [owner], objects=None)
        return threading.current_thread()

    monkeypatch.setattr(DumpWriter, "add", noted)
    assert loop.run(make()) not in threads
    assert len(threads) >= 3


def test_a_directory_is_no_name_of_a_dump(owner: str, tmp_path: Path, loop: Loop, services: Services) -> None:
    with pytest.raises(DumpRefused, match="is a directory"):
        loop.run(create(services.database, tmp_path, [owner], objects=None, force=True))
    assert list(tmp_path.iterdir()) == []
