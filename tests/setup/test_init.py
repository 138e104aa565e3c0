"""`graphmem init`: each part is made once, found again by every command, and taken back."""

from __future__ import annotations

import itertools
import json
import plistlib
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import graphmem.cli.me
from graphmem.cli import initializing
from graphmem.cli.main import app
from graphmem.cli.session import Session
from graphmem.environment_file import FILE, NOTE
from graphmem.service import calling
from graphmem.settings import load
from tests.setup.conftest import Run
from tests.support.kills import is_killed

URI = "bolt://db.example.org:7687"
OTHERS = '{"mcpServers": {"other": {"command": "x"}}}  '
KEPT = "# mine\nGRAPHMEM_PORT=4001\n"


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The databases that were tried or opened: none is started."""
    addresses: list[str | None] = []
    for name in ("_on_database", "open_instance"):
        monkeypatch.setattr(initializing, name, lambda chosen, *work: addresses.append(chosen.neo4j_uri))
    return addresses


def init(run: Run, *words: str, stdin: str = "") -> dict[str, Any]:
    result = run("init", "--json", *words, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_what_is_chosen_is_found_by_every_command_and_kept_as_it_is(
    home: Path, run: Run, tried: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".cursor").mkdir()
    monkeypatch.setenv("NEO4J_PASSWORD", "it's secret")
    words = ("--yes", "--data-dir", str(home / "big"), "--neo4j-uri", URI, "--at-login")
    assert init(run, *words)["agents"][0]["result"] == "added"
    monkeypatch.delenv("NEO4J_PASSWORD")
    chosen = load()
    assert (chosen.data_path, chosen.neo4j_uri) == (home / "big", URI)
    assert (chosen.neo4j_password.get_secret_value(), tried) == ("it's secret", [URI, URI])
    assert stat.S_IMODE((home / "big" / FILE).stat().st_mode) == 0o600
    assert "it's secret" not in run("settings").stdout

    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    again = init(run, *words)
    assert [again["settings"], again["login"]["result"], again["agents"][0]["result"]] == ["as asked"] * 3
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before

    (home / "big" / FILE).write_text(KEPT + (home / "big" / FILE).read_text())
    assert init(run, "--yes", "--embedded", "--no-agents", "--no-at-login")["settings"] == "changed"
    assert (load().neo4j_uri, load().data_path, load().port) == (None, home / "big", 4001)
    assert (home / "big" / FILE).read_text().startswith(KEPT)
    assert not list((home / ".config").rglob("graphmem*"))


def written(home: Path) -> dict[str, str]:
    """Return the files below a home directory, with its own path as HOME; a log is none of them."""
    paths = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".log")
    return {str(path.relative_to(home)): path.read_text().replace(str(home), "HOME") for path in paths}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.long)])
def test_an_init_that_is_killed_leaves_each_file_whole_and_the_next_one_goes_on(
    step: int, home: Path, run: Run, tried: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[dict[str, str]] = []
    for changes in itertools.count(0, step):
        user = home / str(changes)
        monkeypatch.setenv("HOME", str(user))
        foreign = {user / ".cursor/mcp.json": OTHERS, user / ".codex/config.toml": 'model = "o3"  # mine\n'}
        foreign[user / "big" / FILE] = KEPT
        for path, text in foreign.items():
            path.parent.mkdir(parents=True)
            path.write_text(text)
        words = ["init", "--yes", "--data-dir", str(user / "big"), "--neo4j-uri", URI, "--at-login"]
        is_over = not is_killed(
            lambda words=words: CliRunner().invoke(app, words, catch_exceptions=False), changes
        )
        # Each file is as it was, or has what is added to it; what reads them finds no half of either.
        assert json.loads((user / ".cursor/mcp.json").read_text())["mcpServers"]["other"] == {"command": "x"}
        assert 'model = "o3"  # mine' in (user / ".codex/config.toml").read_text()
        assert (user / "big" / FILE).read_text().startswith(KEPT)
        assert load().data_path in (user / "big", user / ".local/share/graphmem/development")
        assert {row["result"] for row in init(run, *words[1:])["agents"]} <= {"added", "as asked"}
        ends.append({name: text for name, text in written(user).items() if "setup.json" not in name})
        assert (ends[-1] if changes == 0 else without_remains(ends[-1])) == ends[0], changes
        assert run("setup", "--undo").exit_code == 0
        assert all(path.read_text() == text for path, text in foreign.items() if path.name != FILE), changes
        if is_over:
            assert changes > 20
            return


def without_remains(files: dict[str, str]) -> dict[str, str]:
    """Leave out the temporary files beside those that a kill kept from getting their names."""
    return {name: text for name, text in files.items() if not re.search(r"/\.[^/]+\.\w{8}$", name)}


def test_a_wait_for_the_database_is_told(
    home: Path, run: Run, tried: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, told = list[str](), threading.Event()

    def tell(line: str) -> None:
        lines.append(line)
        told.set()

    def patient(_: Session) -> dict[str, Any]:
        assert told.wait(60)
        return {"canonical_name": "Ada"}

    monkeypatch.setattr(calling, "TELL_SECONDS", 0.01)
    monkeypatch.setattr(initializing, "tell_progress", tell)
    monkeypatch.setattr(graphmem.cli.me, "me", patient)
    assert init(run, "--yes", "--neo4j-uri", URI, "--no-agents", "--me", "Ada")["me"] == "Ada"
    assert lines[0] == "storing who you are … 0 s"


def test_a_database_that_does_not_answer_is_not_kept(home: Path, run: Run) -> None:
    result = run("init", "--yes", "--neo4j-uri", "bolt://127.0.0.1:1", "--no-agents")
    assert result.exit_code != 0
    assert not list(home.rglob(FILE))


def test_a_terminal_is_asked_and_enter_takes_what_is_shown(
    home: Path, run: Run, tried: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("init")
    assert (refused.exit_code, "--yes" in refused.stderr) == (6, True)
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda *_: True, raising=False)
    (home / ".codex").mkdir()
    answer = init(run, stdin="\n\n\n\n\n\n")
    assert [row["result"] for row in answer["agents"]] == ["added"]
    assert ("login" in answer, "me" in answer, answer["settings"]) == (False, False, "written")


def test_data_is_moved_by_another_command(home: Path, run: Run, tried: list[str | None]) -> None:
    (load().data_path / "objects").mkdir(parents=True)
    result = run("init", "--yes", "--no-agents", "--data-dir", str(home / "other"))
    assert (result.exit_code, "storage move" in " ".join(result.stderr.split())) == (6, True)
    assert not list(home.rglob(NOTE))


def test_start_at_login_is_a_file_that_each_system_reads(
    home: Path, run: Run, tried: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".config" / "systemd" / "user" / "graphmem-demo.service"
    odd = home / 'a %h "$x'
    init(run, "--yes", "--no-agents", "--at-login")
    result = run("--env", "demo", "--data-dir", str(odd), "init", "--yes", "--no-agents", "--at-login")
    assert (result.exit_code, "graphmem-demo" in result.stdout) == (0, True)
    line = next(line for line in path.read_text().splitlines() if line.startswith("ExecStart="))
    assert line.endswith(f'"--env" "demo" "--data-dir" "{home}/a %%h \\"$$x" "serve"')
    assert (path.parent / "default.target.wants" / path.name).resolve() == path
    if shutil.which("systemd-analyze"):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
        verify = ["systemd-analyze", "--user", "verify", "--man=no", str(path)]
        assert subprocess.run(verify, capture_output=True, text=True, check=False).stderr == ""

    monkeypatch.setattr(sys, "platform", "darwin")
    init(run, "--yes", "--no-agents", "--at-login")
    (job,) = [plistlib.loads(each.read_bytes()) for each in home.rglob("*.plist")]
    assert (job["ProgramArguments"][-1], job["RunAtLoad"]) == ("serve", True)
    init(run, "--yes", "--no-agents", "--no-at-login")
    assert not list(home.rglob("*.plist"))
