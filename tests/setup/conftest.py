"""A home directory and a project of their own for each test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graphmem.cli.main import app

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory; the working directory is a project in it."""
    folder = tmp_path / "home"
    (folder / "project").mkdir(parents=True)
    monkeypatch.setattr("sys.platform", "linux")
    for name in os.environ:
        if name.startswith(("GRAPHMEM_", "NEO4J_", "XDG_", "SERVICE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder / "project")
    return folder


@pytest.fixture
def run(home: Path) -> Run:
    """Run a command; the answer has its output and exit code."""

    def invoke(*words: str, stdin: str = "") -> Result:
        return CliRunner().invoke(app, list(words), input=stdin)

    return invoke
