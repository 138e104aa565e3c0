"""``graphmem update check`` and ``graphmem scripts``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem import __version__
from graphmem.cli import update
from graphmem.cli.main import app

Asked = Callable[[str], list[list[str]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Let processes print a text; return their command lines."""

    def prepare(stdout: str) -> list[list[str]]:
        lines: list[list[str]] = []

        def run(words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
            lines.append(list(words))
            return subprocess.CompletedProcess(words, 3, stdout, "ERROR: no network\n")

        monkeypatch.setattr(subprocess, "run", run)
        return lines

    return prepare


def checked(**environ: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["update", "check", "--json"], env=environ)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_newer_version_is_told_with_the_command_that_installs_it(asked: Asked) -> None:
    lines = asked(f"graphmem (99.10.0)\nAvailable versions: 99.10.0, 99.9.1, {__version__}, 0.0.1\n")
    found = checked(GRAPHMEM_UPDATE_INDEX="https://packages.example/simple")
    assert (found["newest"], found["newer"]) == ("99.10.0", ["99.10.0", "99.9.1"])
    assert (found["installed_with"], "git -C" in found["update"]) == ("checkout", True)
    assert lines[0][-3:] == ["--index-url", "https://packages.example/simple", "graphmem"]
    asked(f"Available versions: {__version__}\n")
    assert (checked()["newest"], checked()["update"]) == (__version__, None)


def test_an_index_that_does_not_answer_is_no_fault_and_one_that_is_off_is_not_asked(asked: Asked) -> None:
    assert "no network" in (asked(""), checked()["message"])[1]
    lines = asked("")
    assert "not asked" in checked(GRAPHMEM_UPDATE_INDEX="off")["message"]
    assert lines == []


def test_the_command_that_updates_is_that_of_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "checkout", lambda: None)
    for prefix, way, words in (
        ("/home/ada/.local/share/pipx/venvs/graphmem", "pipx", "pipx upgrade graphmem"),
        ("/home/ada/.local/share/uv/tools/graphmem", "uv tool", "uv tool upgrade graphmem"),
        ("/home/ada/.cache/uv/archive-v0/x", "uvx", "uvx --refresh graphmem --version"),
        ("/home/ada/.venv", "pip", f"{sys.executable} -m pip install --upgrade graphmem"),
    ):
        monkeypatch.setattr(sys, "prefix", prefix)
        assert update._installed() == (way, words)


def test_scripts_are_the_targets_of_a_checkout_and_run_by_make(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = json.loads(CliRunner().invoke(app, ["scripts", "--json"]).stdout)
    assert listed["test"] == "Run the test suite on a real Neo4j"
    lines = asked("")
    assert CliRunner().invoke(app, ["scripts", "test"]).exit_code == 3
    assert CliRunner().invoke(app, ["scripts", "rm -rf"]).exit_code == 2
    assert [words[:2] + words[3:] for words in lines] == [["make", "-C", "test"]]
    monkeypatch.setattr(update, "checkout", lambda: None)
    assert "take a checkout" in CliRunner().invoke(app, ["scripts"], env={"COLUMNS": "200"}).stderr
