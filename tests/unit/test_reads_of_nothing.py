"""A read of a data directory without a database: it is refused, and it creates nothing."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphmem.auth import Scope
from graphmem.cli.main import app
from graphmem.registry import REGISTRY, Face
from tests.contract.command_list import example_line

READS = [
    example_line(operation).removeprefix("graphmem ")
    for operation in REGISTRY.values()
    if Face.CLI in operation.faces and operation.scope is Scope.READ
]


@pytest.mark.parametrize("line", [*READS, "rebuild", "backup create FILE", "db info", "db stop", "logs"])
def test_a_read_of_a_mistyped_directory_creates_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    mistyped = tmp_path / "mistyped"
    words = shlex.split(line.replace("FILE", str(tmp_path / "facts.dump")))
    result = CliRunner().invoke(app, ["--data-dir", str(mistyped), *words])
    if line not in ("db stop", "logs"):
        assert result.exit_code == 6, result.output
        assert f"thereisnodatabasein{mistyped}" in re.sub(r"\s", "", result.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_read_of_nothing_says_how_to_mend_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    result = CliRunner().invoke(app, ["--data-dir", str(tmp_path / "x"), "--json", "entities", "list"])
    envelope = json.loads(result.stderr)
    assert (result.exit_code, envelope["error_code"]) == (6, "DATA_DIRECTORY_REFUSED")
    assert envelope["details"] == {"data_dir": str(tmp_path / "x")}
    for fix in ("--data-dir", "GRAPHMEM_DATA_DIR", "graphmem db start"):
        assert fix in envelope["message"]


def test_a_stop_of_nothing_names_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    result = CliRunner().invoke(app, ["--data-dir", str(tmp_path / "x"), "--json", "db", "stop"])
    assert json.loads(result.stdout) == {
        "stopped": False,
        "message": f"no Neo4j was running for {tmp_path / 'x'}",
    }
